"""Rows of features: checked once, and laid out feature by feature for hypotheses that look at single ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..kernels.stumps import gather_dense, gather_sparse

MOST_FEATURES = (1 << 31) - 1
PRECISIONS = ("double", "single")
DOUBLE = np.dtype(np.float64)  # asked for by `is`, it takes nanoseconds


def as_features(X: Any, *, sparse: bool, what: str) -> Any:
    """Check rows of features: C-contiguous float32 or float64, or CSR where ``what`` accepts that.

    >>> as_features([[1, 2]], sparse=False, what="Stumps")
    array([[1., 2.]])
    """
    if hasattr(X, "tocsr"):
        if not sparse:
            raise InputError(f"X must be a dense array for {what}; got a sparse matrix. Use X.toarray().")
        X = X.tocsr()
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    try:
        X = np.asarray(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must be a matrix of numbers; {error}. Encode text first.") from None
    return np.ascontiguousarray(X)


def rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above: for float32 features the comparison is then the same."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    return np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)


class FeatureLines:
    """The features in use, each as one contiguous line over the rows of a block.

    Parameters
    ----------
    used : array of whole numbers
        The features, without repeats.
    n_features : int
        Features of a row.
    precision : {"double", "single"}
        "single" rounds to float32, as scikit-learn's trees do.
    """

    def __init__(self, used: NDArray[np.int64], n_features: int, precision: str) -> None:
        self._used = used
        self._n_features = n_features
        self._precision = precision
        self._place: NDArray[np.int64] | None = None

    def gather(self, X: Any) -> NDArray[Any]:
        """The features of these rows, (used, rows), as float32 or float64."""
        lines = np.empty(
            (self._used.size, X.shape[0]), np.float32 if self._precision == "single" else X.dtype
        )
        if isinstance(X, np.ndarray):
            gather_dense(X, self._used, lines)
        else:
            gather_sparse(X.data, X.indices, X.indptr, self._places(), lines)
        return lines

    def _places(self) -> NDArray[np.int64]:
        if self._place is None:
            place = np.full(self._n_features, -1)
            place[self._used] = np.arange(self._used.size)
            self._place = place
        return self._place
