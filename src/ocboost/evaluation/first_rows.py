"""What every method of a comparison begins with: the first rows, and hypotheses learnt from them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost.streams.rows import Rows

if TYPE_CHECKING:
    from ocboost.boosters.base import Booster
    from ocboost.estimators.classifier import OCBClassifier

SHARE = 0.8  # of the first rows, for every seed but 0
MEMORY: dict[str, Any] = {"forgetting": 1.0, "tail": True, "head": "auto"}  # all of it


class Start:
    """The first rows of a stream, as one seed has them.

    Parameters
    ----------
    X : array of shape (n, F)
    codes : array of shape (n,)
        The place of each row's label in ``classes``.
    classes : sequence
        All labels of the stream.
    hypotheses : int, default 100
        Stumps to learn, for each class if they are more than two.
    seed : int, default 0
        0 takes all of the rows. Others take 0.8 of them, drawn without replacement and left in their order,
        and one row at least of each class: so repeats differ, also those of methods that draw nothing.
    whole : bool, default False
        Take all of the rows with any seed.
    """

    def __init__(
        self,
        X: Any,
        codes: NDArray[np.int64],
        classes: Sequence[Any],
        *,
        hypotheses: int = 100,
        seed: int = 0,
        whole: bool = False,
    ) -> None:
        rows = some_of(codes, 0 if whole else seed)
        self.X, self.codes = X[rows], codes[rows]
        self._deployed = False
        self.classes = list(classes)
        self.hypotheses = hypotheses
        self.seed = seed

    @classmethod
    def of(cls, classifier: OCBClassifier, rows: Rows | None = None, *, seed: int = 0) -> Self:
        """The start of those who follow a model, with the rows it was fitted on, if they are there."""
        X = np.empty((0, 0)) if rows is None else rows.X
        codes = np.empty(0, np.int64) if rows is None else rows.codes
        made = cls(
            X,
            codes,
            classifier.classes_.tolist(),
            hypotheses=len(classifier.hypotheses_),
            seed=seed,
            whole=True,
        )
        made.classifier = classifier
        made.view = rows
        made._deployed = True
        return made

    @property
    def labels(self) -> NDArray[Any]:
        """The labels of the rows."""
        return np.array(self.classes)[self.codes]

    @cached_property
    def view(self) -> Rows | None:
        """The rows, to learn from; None where there are none."""
        return Rows.of(self.X, self.codes)

    @cached_property
    def classifier(self) -> OCBClassifier:
        """Stumps and their weights, learnt from the rows; not to be changed."""
        return self.fitted()

    @property
    def has_ocb(self) -> bool:
        """Whether OCB weighs them, as it does unless they are a deployed model of another booster."""
        from ocboost.boosters.sketch.sketch import BoostingSketch

        return self.classifier.committee_.kind is BoostingSketch

    @cached_property
    def _sketched(self) -> OCBClassifier:
        """The same weighed by OCB."""
        if self.has_ocb:
            return self.classifier
        return self.classifier.with_booster("ocb", self.view)

    @cached_property
    def _with_newest(self) -> OCBClassifier:
        """The same whose heads hold the newest rows, as a window wants them; not to be changed."""
        return self._sketched if self._deployed else self.fitted(keep="newest")

    def following(self, settings: Mapping[str, Any]) -> OCBClassifier:
        """A classifier of its own that goes on from the first one's weights with this memory."""
        memory = {**MEMORY, **settings}
        begun = self._sketched if memory["tail"] else self._with_newest
        following: OCBClassifier = copy.copy(begun).set_params(**memory)
        return following

    def weighed(self, booster: Booster) -> OCBClassifier:
        """A classifier of its own whose hypotheses are weighed by a booster, begun with the rows.

        A deployed model of the same booster goes on from what it knows.
        """
        clf = self.classifier
        same = clf.committee_.kind is type(booster) and booster.made_with(clf.boosters_[0].chosen)
        if self._deployed and same:
            return copy.copy(clf)
        return clf.with_booster(booster, self.view)

    def fitted(self, **parameters: Any) -> OCBClassifier:
        """A classifier of its own, learnt from the rows, with these parameters of `OCBClassifier`."""
        from ocboost.estimators.classifier import OCBClassifier

        clf = OCBClassifier(n_hypotheses=self.hypotheses, random_state=self.seed, **parameters)
        return clf.partial_fit(self.X, self.labels, classes=np.array(self.classes))

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean of each feature where it is known, 0 where it never is."""
        known = ~np.isnan(self.X)
        return np.asarray(np.where(known, self.X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def some_of(codes: NDArray[np.int64], seed: int) -> NDArray[np.intp]:
    """Which of the first rows a seed takes, in order.

    >>> some_of(np.array([0, 0, 1, 1, 1]), 0)
    array([0, 1, 2, 3, 4])
    >>> len(some_of(np.array([0, 0, 1, 1, 1]), 1))
    4
    """
    n = len(codes)
    if seed == 0:
        return np.arange(n)
    rng = np.random.default_rng([seed, 80])
    chosen = np.zeros(n, np.bool_)
    chosen[rng.permutation(n)[: max(1, round(SHARE * n))]] = True
    for code in np.unique(codes):
        if not chosen[codes == code].any():
            chosen[np.argmax(codes == code)] = True
    return np.flatnonzero(chosen)
