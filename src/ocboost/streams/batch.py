"""A few consecutive rows of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Rows of a stream, one after the other.

    Attributes
    ----------
    X : (n, F) float64 array
        The features, C-contiguous; a missing number is NaN.
    y : (n,) array or None
        The labels: int64, float64, bool or str objects, by the schema. None if there is no label column.
        Where a label is missing stands 0, NaN, False or "".
    known : (n,) bool array
        Which rows have a label.
    first : int
        The number of the first row in the stream, counted from 0.
    """

    X: NDArray[np.float64]
    y: NDArray[Any] | None
    known: NDArray[np.bool_]
    first: int

    def __len__(self) -> int:
        return len(self.X)

    def parted(self, n: int) -> tuple[Batch, Batch]:
        """The first n rows, and the others; either may be empty."""
        n = max(0, min(n, len(self)))
        first, rest = slice(n), slice(n, None)
        y = (None, None) if self.y is None else (self.y[first], self.y[rest])
        return (
            Batch(self.X[first], y[0], self.known[first], self.first),
            Batch(self.X[rest], y[1], self.known[rest], self.first + n),
        )
