"""Rolling forests as a member of the bank: which columns they see, of wide and of sparse rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats, Int8s
from ocboost.estimators.adaptive.forests import RollingForests
from ocboost.estimators.adaptive.members import Member, OneRow
from ocboost.streams.rows import Rows

MAX_COLUMNS_OF_TREES = 200


class ForestMember(Member):
    """Three rolling forests over all columns, or over 200 of them, chosen on the first rows.

    Of sparse rows those that are filled most often, of dense ones those where the classes are furthest from
    the mean, in standard deviations.
    """

    group = "forests"

    def __init__(self, n_features: int, n_classes: int, *, sparse: bool, seed: int) -> None:
        self._F, self._K = n_features, n_classes
        self.needs_pool = sparse or n_features > MAX_COLUMNS_OF_TREES
        size = min(n_features, MAX_COLUMNS_OF_TREES)
        self._columns = np.arange(size)
        self.forests = RollingForests(size, n_classes, seed)

    @property
    def experts(self) -> tuple[str, ...]:
        """By the rows that their trees are built from."""
        return ("forest-4000", "forest-1000", "forest-300")

    def _dense(self, row: OneRow) -> Floats:
        if row.x is not None:
            return row.x[self._columns] if self.needs_pool else row.x
        assert row.columns is not None
        assert row.values is not None
        x = np.zeros(self.forests.n_features)
        places = np.minimum(np.searchsorted(self._columns, row.columns), len(x) - 1)
        seen = self._columns[places] == row.columns
        x[places[seen]] = row.values[seen]
        return x

    def scores(self, row: OneRow, out: Floats) -> None:
        """Their log-probabilities."""
        self.forests.logits(self._dense(row), out)

    def learn(self, row: OneRow, code: int, weight: float) -> None:
        """Count in the leaves, and build the trees that are due."""
        self.forests.learn(self._dense(row), code, weight)

    def begin(self, rows: Rows, answers: Int8s | None) -> None:
        """Choose the columns where there are too many, and learn the first rows."""
        if self.needs_pool:
            self._columns = _best_columns(rows.X, rows.codes, self.forests.n_features)
        X = rows.X[:, self._columns] if self.needs_pool else rows.X
        if not isinstance(X, np.ndarray):
            X = X.toarray()
        self.forests.learn_many(np.ascontiguousarray(X, np.float64), rows.codes, rows.weights.copy())

    def importances(self, n_features: int) -> Floats:
        """How much the splits on each feature lower the Gini index."""
        found = np.zeros((len(self.experts), n_features))
        found[:, self._columns] = self.forests.importances()
        return found

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {"columns": self._columns}

    @property
    def nbytes(self) -> int:
        """Bytes of the forests."""
        return self.forests.nbytes

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.forests = self.forests.copy()
        return other

    def tree(self) -> Tree:
        """What a file holds."""
        return {"columns": self._columns, "forests": self.forests.tree()}

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        size = self.forests.n_features
        columns = fields.array("columns", np.int64, (size,))
        inside = columns[0] >= 0 and columns[-1] < self._F and (np.diff(columns) > 0).all()
        fields.require(bool(inside), "its columns do not fit")
        self._columns = columns
        self.forests = fields.read("forests", lambda one: RollingForests.from_tree(one, size, self._K))


def _best_columns(X: Any, codes: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """The n columns for trees to look at, in order."""
    if not isinstance(X, np.ndarray):
        filled = np.bincount(X.indices, minlength=X.shape[1])
        return np.sort(np.argsort(-filled, kind="stable")[:n])
    known = np.isfinite(X)
    counts = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, X, 0.0)
    values /= np.maximum(np.abs(values).max(axis=0), 1e-300)  # no square overflows
    values = np.where(known, values - values.sum(axis=0) / counts, 0.0)
    spread = np.sqrt((values * values).sum(axis=0) / counts)
    between = sum(np.abs(values[codes == code].sum(axis=0)) for code in np.unique(codes))
    worth = np.where(spread > 0.0, between / np.maximum(spread, 1e-300), 0.0)
    return np.sort(np.argsort(-worth, kind="stable")[:n])
