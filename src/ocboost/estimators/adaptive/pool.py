"""The pool: hypotheses that come and go, driven by OCB with forgetting, and the last rows."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree, matrix_from, matrix_tree
from ocboost._kernels.arrays import Floats, Int8s
from ocboost.estimators.adaptive.members import PoolChange
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.classifier_file import classifier_from_tree, classifier_tree
from ocboost.estimators.committee import equal_parts, learn_hypotheses, spans
from ocboost.estimators.growth import Growth
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.joined import join_tightly
from ocboost.learners.stumps import StumpLearner
from ocboost.streams.recent_rows import RecentRows
from ocboost.streams.rows import Rows, stack_matrices

ROWS_KEPT = 4000
ROWS_PER_STEP = 20  # learnt at once; growth reads α as often
FORGETTING, HEAD_OF_DRIVER = 0.995, 500


def growing_classifier(n_hypotheses: int, seed: int, estimator: Any = None) -> OCBClassifier:
    """The OCB that drives a pool, unfitted: it forgets, and grows by up to half of its hypotheses."""
    return OCBClassifier(
        estimator,
        n_hypotheses,
        forgetting=FORGETTING,
        head=HEAD_OF_DRIVER,
        grow=Growth(max(2, n_hypotheses * 3 // 2), every=ROWS_PER_STEP),
        random_state=seed,
    )


def beside_learnt(
    given: Hypotheses, rows: Rows, n_classes: int, n_hypotheses: int, seed: int
) -> tuple[Hypotheses, list[slice]]:
    """Given hypotheses, an equal part for each class, and learnt ones beside them up to ``n_hypotheses``."""
    n_boosters = 1 if n_classes == 2 else n_classes
    parts = equal_parts(len(given), n_boosters)
    learnt, columns = learn_hypotheses(
        StumpLearner(),
        rows.X,
        rows.codes,
        rows.weights,
        None,
        n_boosters=n_boosters,
        n_hypotheses=max(1, n_hypotheses - parts[0].stop),
        budget=None,
        rng=np.random.default_rng(seed),
        n_jobs=None,
    )
    sets = [join_tightly([given[own], learnt[found]]) for own, found in zip(parts, columns, strict=True)]
    return join_tightly(sets), spans(sets)


def detached_row(X: Any) -> Any:
    """A row to keep: not a view, which would keep all the rows that it came with. Sparse rows are none."""
    return X.copy() if isinstance(X, np.ndarray) else X


class Pool:
    """A growing `OCBClassifier` that learns in blocks of twenty rows, and the rows that newcomers answer."""

    def __init__(self, driver: OCBClassifier) -> None:
        self.driver = driver
        self.recent = RecentRows(ROWS_KEPT)
        self._waiting: list[tuple[Any, int, float]] = []
        self._changes: list[PoolChange] = []

    @property
    def hypotheses(self) -> Hypotheses:
        """The present hypotheses."""
        return self.driver.committee_.hypotheses

    @property
    def columns(self) -> list[slice]:
        """The hypotheses of each class."""
        return self.driver.committee_.columns

    @property
    def alphas(self) -> list[Floats]:
        """The weights of the OCB that drives it."""
        return self.driver.committee_.alphas

    def answers(self, X: Any) -> Int8s:
        """The answers of its hypotheses, (n, J)."""
        return self.hypotheses.answers(X)

    def learn(self, X: Any, code: int, weight: float) -> list[PoolChange] | None:
        """Take in a row. At the end of a block it learns, and gives the changes; None in between."""
        self._waiting.append((detached_row(X), code, weight))
        if len(self._waiting) < ROWS_PER_STEP:
            return None
        rows = self._block()
        self._waiting = []
        self.recent.take(rows)
        self._changes = []
        committee = self.driver.committee_
        committee.on_change = self._note_change  # type: ignore[misc]
        try:
            self.driver.learn_rows(rows)
        finally:
            del committee.on_change
        return self._changes

    def _block(self) -> Rows:
        Xs, codes, weights = zip(*self._waiting, strict=True)
        return Rows(stack_matrices(list(Xs)), codes=np.array(codes), weights=np.array(weights))

    def _note_change(
        self, booster: int, keep: NDArray[np.intp], n_added: int, origin: NDArray[np.int64]
    ) -> None:
        recent = self.recent.last(ROWS_KEPT)
        now = (self.columns, self.hypotheses, recent)
        self._changes.append(PoolChange(booster, keep, n_added, origin, *now))

    @property
    def nbytes(self) -> int:
        """Bytes of the boosters, and of the rows kept."""
        grower = self.driver.grower_
        rows = self.recent.nbytes + (0 if grower is None else grower.nbytes)
        return rows + sum(booster.nbytes for booster in self.driver.boosters_)

    def copy(self) -> Self:
        """An independent copy; the hypotheses and rows, which never change, are shared."""
        other = type(self)(copy.copy(self.driver))
        other.recent, other._waiting = copy.copy(self.recent), list(self._waiting)
        return other

    # Files ------------------------------------------------------------------------------------------------

    def tree(self) -> Tree:
        """What a file holds."""
        block = self._block() if self._waiting else None
        return {
            "driver": classifier_tree(self.driver),
            "recent": self.recent.tree(),
            "waiting": None if block is None else matrix_tree(block.X),
            "codes": np.zeros(0, np.int64) if block is None else block.codes,
            "weights": np.zeros(0) if block is None else block.weights,
        }

    @classmethod
    def from_tree(cls, fields: Fields, n_features: int, n_classes: int) -> Self:
        """A pool of what `tree` gave."""

        def read_driver(one: Fields) -> OCBClassifier:
            one.take("schema"), one.take("history")
            clf: OCBClassifier = classifier_from_tree(one, OCBClassifier)
            fits = clf.n_features_in_ == n_features and len(clf.classes_) == n_classes
            one.require(fits and clf.grower_ is not None, "it does not fit")
            growth = clf.grow
            fits = isinstance(growth, Growth) and growth.every == ROWS_PER_STEP
            one.require(fits and clf.committee_.offset is None, "it grows otherwise than it should")
            return clf

        pool = cls(fields.read("driver", read_driver))
        pool.recent = fields.read("recent", lambda one: RecentRows.from_tree(one, n_features, n_classes))
        fields.require(pool.recent.capacity == ROWS_KEPT, "it keeps another number of rows")
        codes = fields.array("codes", np.int64, (None,))
        weights = fields.array("weights", np.float64, codes.shape)
        fits = len(codes) < ROWS_PER_STEP and ((codes >= 0) & (codes < n_classes)).all()
        fields.require(
            bool(fits and (weights >= 0.0).all() and np.isfinite(weights).all()), "its rows do not fit"
        )
        if len(codes):
            X = matrix_from(fields, "waiting", len(codes), n_features)
            pool._waiting = [(X[i : i + 1], int(codes[i]), float(weights[i])) for i in range(len(codes))]
        else:
            fields.require(fields.takes("waiting", None), "its rows have no labels")
        return pool
