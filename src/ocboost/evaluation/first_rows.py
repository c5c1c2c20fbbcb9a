"""What every method of a comparison starts from: the first rows, and hypotheses learnt from them."""

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

SHARE_PER_SEED = 0.8  # of the first rows, for every seed but 0
FULL_HISTORY: dict[str, Any] = {"forgetting": 1.0, "tail": True, "head": "auto"}


class FirstRows:
    """The first rows of a stream, as one seed has them, and the hypotheses learnt from them.

    ``codes`` are places in ``classes``, all labels of the stream; ``hypotheses`` is the number of stumps, for
    each class if they are more than two. Seed 0, or ``all_rows``, takes all of the rows. Other seeds take 0.8
    of them, drawn without replacement and left in their order, and one row at least of each class: so
    repeats differ, also those of methods that draw nothing.
    """

    def __init__(
        self,
        X: Any,
        codes: NDArray[np.int64],
        classes: Sequence[Any],
        *,
        hypotheses: int = 100,
        seed: int = 0,
        all_rows: bool = False,
    ) -> None:
        rows = rows_of_seed(codes, 0 if all_rows else seed)
        self.X, self.codes = X[rows], codes[rows]
        self._deployed = False
        self.classes = list(classes)
        self.hypotheses = hypotheses
        self.seed = seed

    @classmethod
    def of_model(cls, classifier: OCBClassifier, rows: Rows | None = None, *, seed: int = 0) -> Self:
        """Start from a deployed model, with the rows it was fitted on, if they are there."""
        X = np.empty((0, 0)) if rows is None else rows.X
        codes = np.empty(0, np.int64) if rows is None else rows.codes
        n, classes = len(classifier.hypotheses_), classifier.classes_.tolist()
        made = cls(X, codes, classes, hypotheses=n, seed=seed, all_rows=True)
        made.classifier = classifier
        made.view = rows
        made._deployed = True
        return made

    def replaced_by(self, rows: Rows) -> FirstRows:
        """The same with other rows, all of them."""
        same = {"hypotheses": self.hypotheses, "seed": self.seed}
        return FirstRows(rows.X, rows.codes, self.classes, all_rows=True, **same)

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
        """Whether OCB weighs the hypotheses, as it does unless a deployed model has another booster."""
        from ocboost.boosters.sketch.sketch import BoostingSketch

        return self.classifier.committee_.kind is BoostingSketch

    @cached_property
    def _with_ocb(self) -> OCBClassifier:
        """The classifier with weights by OCB; not to be changed."""
        return self.classifier if self.has_ocb else self.classifier.with_booster("ocb", self.view)

    @cached_property
    def _with_newest(self) -> OCBClassifier:
        """The same whose heads hold the newest rows, as a window needs them; not to be changed."""
        return self._with_ocb if self._deployed else self.fitted(keep="newest")

    def ocb_with(self, settings: Mapping[str, Any]) -> OCBClassifier:
        """A copy of the classifier that continues from its weights with these memory settings."""
        memory = {**FULL_HISTORY, **settings}
        initial = self._with_ocb if memory["tail"] else self._with_newest
        classifier: OCBClassifier = copy.copy(initial).set_params(**memory)
        return classifier

    def boosted_by(self, booster: Booster) -> OCBClassifier:
        """A classifier over the same hypotheses with this booster, trained on the rows.

        A deployed model of the same booster keeps what it has learnt.
        """
        clf = self.classifier
        same = clf.committee_.kind is type(booster) and booster.has_settings(clf.boosters_[0].given_settings)
        if self._deployed and same:
            return copy.copy(clf)
        return clf.with_booster(booster, self.view)

    def fitted(self, **parameters: Any) -> OCBClassifier:
        """A new classifier, learnt from the rows, with these parameters of `OCBClassifier`."""
        from ocboost.estimators.classifier import OCBClassifier

        clf = OCBClassifier(n_hypotheses=self.hypotheses, random_state=self.seed, **parameters)
        classes = np.array(self.classes)
        return clf.partial_fit(self.X, classes[self.codes], classes=classes)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean of each feature where it is known, 0 where it never is."""
        known = ~np.isnan(self.X)
        return np.asarray(np.where(known, self.X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def rows_of_seed(codes: NDArray[np.int64], seed: int) -> NDArray[np.intp]:
    """Which of the first rows a seed takes, in order.

    >>> rows_of_seed(np.array([0, 0, 1, 1, 1]), 0)
    array([0, 1, 2, 3, 4])
    >>> len(rows_of_seed(np.array([0, 0, 1, 1, 1]), 1))
    4
    """
    n = len(codes)
    if seed == 0:
        return np.arange(n)
    rng = np.random.default_rng([seed, 80])
    chosen = np.zeros(n, np.bool_)
    chosen[rng.permutation(n)[: max(1, round(SHARE_PER_SEED * n))]] = True
    for code in np.unique(codes):
        if not chosen[codes == code].any():
            chosen[np.argmax(codes == code)] = True
    return np.flatnonzero(chosen)
