"""What every method of a comparison starts from: the first rows, and hypotheses learnt from them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost.estimators.decisions import DECISIONS, Decision, decision_of, is_balanced
from ocboost.streams.rows import Rows

if TYPE_CHECKING:
    from ocboost.boosters.base import Booster
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
    from ocboost.estimators.classifier import OCBClassifier

SHARE_PER_SEED = 0.8  # of the first rows, for every seed but 0
FULL_HISTORY: dict[str, Any] = {"forgetting": 1.0, "tail": True, "head": "auto"}


class FirstRows:
    """The first rows of a stream, as one seed has them, and the hypotheses learnt from them.

    ``codes`` are places in ``classes``, all labels of the stream; ``hypotheses`` is the number of stumps, for
    each class if they are more than two. Seed 0, or ``all_rows``, takes all of the rows. Other seeds take 0.8
    of them, drawn without replacement and left in their order, and one row at least of each class: so
    repeats differ, also those of methods that draw nothing. ``decisions`` are the class weights, threshold or
    costs of every classifier.
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
        decisions: Mapping[str, Any] | None = None,
    ) -> None:
        rows = rows_of_seed(codes, 0 if all_rows else seed)
        self.X, self.codes = X[rows], codes[rows]
        self._deployed = False
        self.deployed_adaptive: AdaptiveClassifier | None = None  # not to be changed
        self.has_hypotheses = True
        self.classes = list(classes)
        self.hypotheses = hypotheses
        self.seed = seed
        self.decisions = dict(decisions or {})

    @classmethod
    def of_model(
        cls, classifier: OCBClassifier | AdaptiveClassifier, rows: Rows | None = None, *, seed: int = 0
    ) -> Self:
        """Start from a deployed model, with the rows it was fitted on, if they are there.

        What weighs hypotheses starts from those of an `AdaptiveClassifier` and the OCB that drives them.
        """
        from ocboost.estimators.classifier import OCBClassifier

        X = np.empty((0, 0)) if rows is None else rows.X
        codes = np.empty(0, np.int64) if rows is None else rows.codes
        boosted = classifier if isinstance(classifier, OCBClassifier) else weighing_part(classifier)
        n = classifier.n_hypotheses if boosted is None else len(boosted.hypotheses_)
        made = cls(X, codes, classifier.classes_.tolist(), hypotheses=n, seed=seed, all_rows=True)
        made.decisions = {name: getattr(classifier, name) for name in DECISIONS}
        if boosted is not None:
            made.classifier = boosted if boosted is classifier else boosted.set_params(**made.decisions)
        made.has_hypotheses = boosted is not None
        if not isinstance(classifier, OCBClassifier):
            made.deployed_adaptive = classifier
        made.view = rows
        made._deployed = True
        return made

    def replaced_by(self, rows: Rows) -> FirstRows:
        """The same with other rows, all of them."""
        same: dict[str, Any] = {
            "hypotheses": self.hypotheses,
            "seed": self.seed,
            "decisions": self.decisions,
        }
        return FirstRows(rows.X, rows.codes, self.classes, all_rows=True, **same)

    @property
    def decision(self) -> Decision | None:
        """How a contender predicts that is no classifier of ocboost: classes are not balanced then."""
        given = {name: value for name, value in self.decisions.items() if not is_balanced(value)}
        return decision_of(np.array(self.classes), **given)

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

        return self.has_hypotheses and self.classifier.committee_.kind is BoostingSketch

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

        clf = OCBClassifier(
            n_hypotheses=self.hypotheses, random_state=self.seed, **{**self.decisions, **parameters}
        )
        classes = np.array(self.classes)
        return clf.partial_fit(self.X, classes[self.codes], classes=classes)

    def adaptive(self) -> AdaptiveClassifier:
        """An adaptive classifier to begin with.

        A deployed one goes on. Any other deployed model becomes a member, beside hypotheses that are found in
        the rows, or in the stream where there are none.
        """
        from ocboost.estimators.adaptive.classifier import ENOUGH_ROWS, AdaptiveClassifier

        if self.deployed_adaptive is not None:
            return copy.copy(self.deployed_adaptive)
        classes, seed = np.array(self.classes), self.seed
        if not self._deployed:
            clf = AdaptiveClassifier(n_hypotheses=self.hypotheses, random_state=seed, **self.decisions)
            return clf.partial_fit(self.X, classes[self.codes], classes=classes)
        if len(np.unique(self.codes)) < 2 or len(self.codes) < ENOUGH_ROWS:
            return AdaptiveClassifier.from_fitted(self.classifier, random_state=seed, **self.decisions)
        return AdaptiveClassifier.from_fitted(
            self.classifier, self.X, classes[self.codes], random_state=seed, **self.decisions
        )

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean of each feature where it is known, 0 where it never is."""
        known = ~np.isnan(self.X)
        return np.asarray(np.where(known, self.X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def weighing_part(classifier: AdaptiveClassifier) -> OCBClassifier | None:
    """A copy of the OCB that drives an adaptive classifier's hypotheses; None before it has any."""
    pool = classifier.bank_.pool
    if pool is None:
        return None
    found = copy.copy(pool.driver)
    found.set_params(grow=None).follow_settings()
    found.classes_ = classifier.classes_
    return found


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
