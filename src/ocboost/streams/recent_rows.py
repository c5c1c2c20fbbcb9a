"""The most recent rows of a stream with their classes and weights, dense or sparse, in bounded memory."""

from __future__ import annotations

from typing import Self

import numpy as np

from ocboost._core.codec import Fields, Tree, matrix_from, matrix_tree
from ocboost.streams.rows import Rows, join_rows

ROWS_PER_BLOCK = 256  # fewer than twice this many rows are held beyond the capacity


class RecentRows:
    """At least the last ``capacity`` rows, their codes and their weights.

    >>> recent = RecentRows(2)
    >>> for i in range(5):
    ...     recent.take(Rows.of(np.array([[float(i)]]), [i]))
    >>> recent.last(3).X.ravel(), recent.last(3).codes
    (array([2., 3., 4.]), array([2, 3, 4]))
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._clear()

    def _clear(self) -> None:
        self._blocks: list[Rows] = []
        self._newest: list[Rows] = []  # not yet a block
        self._n_newest = 0

    def __len__(self) -> int:
        return self._n_newest + sum(map(len, self._blocks))

    @property
    def parts(self) -> list[Rows]:
        """All rows that are held, oldest first."""
        return [*self._blocks, *self._newest]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return sum(rows.nbytes for rows in self.parts)

    def take(self, rows: Rows) -> None:
        """Add rows, and drop the oldest ones where there are enough without them."""
        if len(rows) > self.capacity:
            rows = rows[len(rows) - self.capacity :]
            self._clear()  # or there would be a gap
        at = 0
        while at < len(rows):
            part = rows[at : at + ROWS_PER_BLOCK - self._n_newest]
            at += len(part)
            copied = Rows(part.X.copy(), codes=part.codes.copy(), weights=part.weights.copy())
            self._newest.append(copied)
            self._n_newest += len(part)
            if self._n_newest == ROWS_PER_BLOCK:
                self._blocks.append(join_rows(self._newest))
                self._newest, self._n_newest = [], 0
                while len(self) - len(self._blocks[0]) >= self.capacity:
                    del self._blocks[0]

    def resize(self, capacity: int) -> None:
        """Change the capacity.

        Rows beyond the old capacity are dropped first: one that was read from a file does not have them.
        """
        if capacity > self.capacity and len(self) > self.capacity:
            rows = self.last(self.capacity)
            self._clear()
            self.take(rows)
        self.capacity = capacity

    def last(self, n: int) -> Rows:
        """The last n rows, oldest first."""
        parts: list[Rows] = []
        missing = n
        for rows in (*self._newest[::-1], *self._blocks[::-1]):
            if missing <= 0:
                break
            parts.append(rows[max(0, len(rows) - missing) :])
            missing -= len(rows)
        return join_rows(parts[::-1])

    def __copy__(self) -> Self:
        other = type(self)(self.capacity)
        other._blocks, other._newest, other._n_newest = [*self._blocks], [*self._newest], self._n_newest
        return other

    def tree(self) -> Tree:
        """The rows within the capacity, for a file."""
        n = min(len(self), self.capacity)
        rows = self.last(n) if n else None
        return {
            "capacity": self.capacity,
            "rows": None if rows is None else matrix_tree(rows.X),
            "codes": np.empty(0, np.int64) if rows is None else rows.codes,
            "weights": np.empty(0) if rows is None else rows.weights,
        }

    @classmethod
    def from_tree(cls, fields: Fields, n_features: int, n_classes: int) -> Self:
        """The inverse of `tree`; entries that make no sense are a `ModelFileError`."""
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
