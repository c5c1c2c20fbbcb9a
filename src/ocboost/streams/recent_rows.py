"""The most recent rows of a stream with their labels, as they came: dense or sparse, in bounded memory."""

from __future__ import annotations

from typing import Self

import numpy as np

from ocboost._core.codec import Fields, Tree, matrix_from, matrix_tree
from ocboost.streams.rows import Rows, joined

BLOCK = 256  # rows kept together: fewer than twice so many more than asked for are held


class RecentRows:
    """At least the last ``capacity`` rows, their codes and their weights.

    Examples
    --------
    >>> recent = RecentRows(2)
    >>> for i in range(5):
    ...     recent.take(Rows.of(np.array([[float(i)]]), [i]))
    >>> recent.last(3).X.ravel(), recent.last(3).codes
    (array([2., 3., 4.]), array([2, 3, 4]))
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._blocks: list[Rows] = []
        self._few: list[Rows] = []  # not yet a block
        self._n_few = 0

    def __len__(self) -> int:
        return self._n_few + sum(map(len, self._blocks))

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return sum(rows.nbytes for rows in (*self._blocks, *self._few))

    def take(self, rows: Rows) -> None:
        """More rows; the oldest leave when there are enough without them."""
        if len(rows) > self.capacity:
            rows = rows[len(rows) - self.capacity :]
            self._blocks, self._few, self._n_few = [], [], 0  # or there would be a gap
        at = 0
        while at < len(rows):
            part = rows[at : at + BLOCK - self._n_few]
            at += len(part)
            own = Rows(part.X.copy(), codes=part.codes.copy(), weights=part.weights.copy())  # nothing else
            self._few.append(own)
            self._n_few += len(part)
            if self._n_few == BLOCK:
                self._blocks.append(joined(self._few))
                self._few, self._n_few = [], 0
                while len(self) - len(self._blocks[0]) >= self.capacity:
                    del self._blocks[0]

    def resize(self, capacity: int) -> None:
        """Keep another number of rows from now on.

        More do not bring back what might have been gone already: one that was read from a file has it not.
        """
        if capacity > self.capacity and len(self) > self.capacity:
            kept = self.last(self.capacity)
            self._blocks, self._few, self._n_few = [], [], 0
            self.take(kept)
        self.capacity = capacity

    def last(self, n: int) -> Rows:
        """The last n rows, oldest first, with their codes and weights."""
        parts: list[Rows] = []
        missing = n
        for rows in (*self._few[::-1], *self._blocks[::-1]):
            if missing <= 0:
                break
            parts.append(rows[max(0, len(rows) - missing) :])
            missing -= len(rows)
        return joined(parts[::-1])

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
        rows = self.last(n)
        return {
            "capacity": self.capacity,
            "rows": matrix_tree(rows.X),
            "codes": rows.codes,
            "weights": rows.weights,
        }

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
            X = matrix_from(fields, "rows", len(codes), n_features)
            recent.take(Rows(X, codes=codes, weights=weights))
        else:
            fields.require(fields.takes("rows", None), "there are rows without codes")
        return recent
