"""The most recent rows of a stream with their labels, as they came: dense or sparse, in bounded memory."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .rows import Rows, joined
from .storage import Arrays, require

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

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """What a file holds: the rows that may still be asked for."""
        n = min(len(self), self.capacity)
        parameters: dict[str, Any] = {"capacity": self.capacity, "n": n}
        if n == 0:
            return parameters, {}
        rows = self.last(n)
        return parameters, {**matrix_parts(rows.X), "codes": rows.codes, "weights": rows.weights}

    @classmethod
    def from_parts(cls, parameters: Any, arrays: Arrays, n_features: int, n_classes: int, name: str) -> Self:
        """Rows of what `parts` gave; whatever makes no sense is a `ModelFileError`."""
        known = isinstance(parameters, dict) and set(parameters) == {"capacity", "n"}
        require(known, name, "its recent rows are not known")
        capacity, n = parameters["capacity"], parameters["n"]
        fits = type(capacity) is int and type(n) is int and 0 <= n <= capacity < 1 << 40
        require(fits, name, "its recent rows are not known")
        recent = cls(capacity)
        if n:
            arrays = dict(arrays)
            codes, weights = arrays.pop("codes", np.empty(0)), arrays.pop("weights", np.empty(0))
            X = matrix_from_parts(arrays, n, n_features, name)
            fits = codes.dtype == np.int64 and codes.shape == (n,)
            fits = fits and bool(((codes >= 0) & (codes < n_classes)).all())
            require(fits, name, "its recent codes do not fit")
            fits = weights.dtype == np.float64 and weights.shape == (n,)
            fits = fits and bool(((weights >= 0.0) & np.isfinite(weights)).all())
            require(fits, name, "its recent weights do not fit")
            recent.take(Rows(X, codes=codes, weights=weights))
        else:
            require(not arrays, name, "its recent rows are not known")
        return recent


def matrix_parts(X: Any) -> Arrays:
    """A dense or a CSR matrix as arrays."""
    if isinstance(X, np.ndarray):
        return {"rows": X}
    return {
        "data": X.data,
        "indices": X.indices.astype(np.int64),
        "indptr": X.indptr.astype(np.int64),
    }


def matrix_from_parts(arrays: Arrays, n: int, n_features: int, name: str) -> Any:
    """A matrix of what `matrix_parts` gave."""
    what = "its recent rows do not fit"
    if set(arrays) == {"rows"}:
        X = arrays["rows"]
        fits = X.dtype in (np.float32, np.float64) and X.shape == (n, n_features)
        require(fits and not np.isinf(X).any(), name, what)
        return X
    require(set(arrays) == {"data", "indices", "indptr"}, name, what)
    data, indices, indptr = (arrays[key] for key in ("data", "indices", "indptr"))
    fits = data.dtype in (np.float32, np.float64) and indices.dtype == indptr.dtype == np.int64
    fits = fits and data.ndim == indices.ndim == 1 and indptr.shape == (n + 1,) and data.size == indices.size
    require(fits, name, what)
    ordered = indptr[0] == 0 and indptr[-1] == data.size and bool((np.diff(indptr) >= 0).all())
    inside = bool(((indices >= 0) & (indices < n_features)).all()) and not np.isinf(data).any()
    require(bool(ordered) and inside, name, what)
    from scipy.sparse import csr_matrix

    return csr_matrix((data, indices, indptr), shape=(n, n_features))
