"""The most recent rows of a stream with their labels, as they came: dense or sparse, in bounded memory."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .fields import Fields, Tree
from .matrix_file import matrix_from, matrix_tree

BLOCK = 256  # rows kept together: fewer than twice so many more than asked for are held


class RecentRows:
    """At least the last ``capacity`` rows, their codes and their weights.

    Examples
    --------
    >>> recent = RecentRows(2)
    >>> for i in range(5):
    ...     recent.take(np.array([[float(i)]]), np.array([i]), np.ones(1))
    >>> X, codes, _ = recent.last(3)
    >>> X.ravel(), codes
    (array([2., 3., 4.]), array([2, 3, 4]))
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._blocks: list[tuple[Any, NDArray[np.int64], NDArray[np.float64]]] = []
        self._few: list[tuple[Any, NDArray[np.int64], NDArray[np.float64]]] = []  # not yet a block
        self._n_few = 0

    def __len__(self) -> int:
        return self._n_few + sum(len(codes) for _, codes, _ in self._blocks)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return sum(_bytes(X) + codes.nbytes + w.nbytes for X, codes, w in (*self._blocks, *self._few))

    def take(self, X: Any, codes: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """More rows; the oldest leave when there are enough without them."""
        if len(codes) > self.capacity:
            last = slice(len(codes) - self.capacity, None)
            X, codes, weights = X[last], codes[last], weights[last]
            self._blocks, self._few, self._n_few = [], [], 0  # or there would be a gap
        start = 0
        while start < len(codes):
            part = slice(start, start + BLOCK - self._n_few)
            self._few.append((X[part].copy(), codes[part].copy(), weights[part].copy()))
            start += len(codes[part])
            self._n_few += len(codes[part])
            if self._n_few == BLOCK:
                self._blocks.append(_together(self._few))
                self._few, self._n_few = [], 0
                while len(self) - len(self._blocks[0][1]) >= self.capacity:
                    del self._blocks[0]

    def resize(self, capacity: int) -> None:
        """Keep another number of rows from now on.

        More do not bring back what might have been gone already: one that was read from a file has it not.
        """
        if capacity > self.capacity and len(self) > self.capacity:
            kept = self.last(self.capacity)
            self._blocks, self._few, self._n_few = [], [], 0
            self.take(*kept)
        self.capacity = capacity

    def last(self, n: int) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """The last n rows, oldest first, with their codes and weights."""
        parts: list[tuple[Any, NDArray[np.int64], NDArray[np.float64]]] = []
        missing = n
        for X, codes, weights in (*self._few[::-1], *self._blocks[::-1]):
            if missing <= 0:
                break
            skip = slice(max(0, len(codes) - missing), None)
            parts.append((X[skip], codes[skip], weights[skip]))
            missing -= len(codes)
        return _together(parts[::-1])

    def __copy__(self) -> Self:
        other = type(self)(self.capacity)
        other._blocks, other._few, other._n_few = list(self._blocks), list(self._few), self._n_few
        return other

    def tree(self) -> Tree:
        """What a file holds: the rows that may still be asked for."""
        n = min(len(self), self.capacity)
        if n == 0:
            return {
                "capacity": self.capacity,
                "rows": None,
                "codes": np.empty(0, np.int64),
                "weights": np.empty(0),
            }
        X, codes, weights = self.last(n)
        return {"capacity": self.capacity, "rows": matrix_tree(X), "codes": codes, "weights": weights}

    @classmethod
    def from_tree(cls, fields: Fields, n_features: int, n_classes: int) -> Self:
        """Rows of what `tree` gave; whatever makes no sense is a `ModelFileError`."""
        recent = cls(fields.count("capacity", 0, 1 << 40))
        codes = fields.array("codes", np.int64, (None,))
        weights = fields.array("weights", np.float64, codes.shape)
        fields.require(len(codes) <= recent.capacity, "there are more rows than may be kept")
        fields.require(((codes >= 0) & (codes < n_classes)).all(), "codes must be those of its classes")
        fields.require(((weights >= 0.0) & np.isfinite(weights)).all(), "weights must not be negative")
        if len(codes):
            recent.take(matrix_from(fields, "rows", len(codes), n_features), codes, weights)
        else:
            fields.require(fields.takes("rows", None), "there are rows without codes")
        return recent


def stacked(rows: list[Any]) -> Any:
    """Matrices under one another; sparse if one of them is."""
    if len(rows) == 1:
        return rows[0]
    if all(isinstance(each, np.ndarray) for each in rows):
        return np.concatenate(rows)
    from scipy.sparse import csr_matrix, vstack

    return vstack([csr_matrix(each) if isinstance(each, np.ndarray) else each for each in rows], format="csr")


def _together(
    parts: list[tuple[Any, NDArray[np.int64], NDArray[np.float64]]],
) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
    return (
        stacked([X for X, _, _ in parts]),
        np.concatenate([codes for _, codes, _ in parts]),
        np.concatenate([weights for _, _, weights in parts]),
    )


def _bytes(X: Any) -> int:
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
