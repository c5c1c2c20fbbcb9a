"""Decision stumps: their answers on a block of rows.

The features in use are first laid out feature by feature; then each stump is one contiguous comparison.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.compile import exact, kernel


@kernel
def gather_dense(X: NDArray[np.floating], used: NDArray[np.int64], out: NDArray[np.floating]) -> None:
    """The features ``used`` of the rows X, one contiguous line for each."""
    for i in range(X.shape[0]):
        row = X[i]
        for u in range(used.size):
            out[u, i] = row[used[u]]


@kernel
def gather_sparse(
    data: NDArray[np.floating],
    indices: NDArray[np.integer],
    indptr: NDArray[np.integer],
    place: NDArray[np.int64],
    out: NDArray[np.floating],
) -> None:
    """The same from rows of a CSR matrix; ``place`` is where a feature goes, or -1. Repeated entries add."""
    out[:] = 0
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            u = place[indices[k]]
            if u >= 0:
                out[u, i] += data[k]


@exact
def _missing_right(x: NDArray[np.floating], threshold: float, left: int, out: NDArray[np.int8]) -> None:
    for i in range(x.size):
        out[i] = np.int8(left) if x[i] <= threshold else np.int8(-left)  # NaN is never <=


@exact
def _missing_left(x: NDArray[np.floating], threshold: float, left: int, out: NDArray[np.int8]) -> None:
    for i in range(x.size):
        out[i] = np.int8(-left) if x[i] > threshold else np.int8(left)  # NaN is never >


@kernel
def answer_stumps(
    lines: NDArray[np.floating],
    line: NDArray[np.int64],
    threshold: NDArray[np.floating],
    left: NDArray[np.int8],
    missing: NDArray[np.int8],
    block: NDArray[np.int8],
) -> None:
    """Answer left_j where the feature is at most threshold_j, -left_j above it, missing_j where it is NaN."""
    for j in range(line.size):
        if missing[j] == left[j]:
            _missing_left(lines[line[j]], threshold[j], left[j], block[j])
        else:
            _missing_right(lines[line[j]], threshold[j], left[j], block[j])


@kernel
def answer_row(
    row: NDArray[np.float64],
    feature: NDArray[np.int64],
    threshold: NDArray[np.float64],
    left: NDArray[np.int8],
    missing: NDArray[np.int8],
    out: NDArray[np.int8],
) -> None:
    """The same for one row as it came, which needs no lines."""
    for j in range(feature.size):
        x = row[feature[j]]
        below = x <= threshold[j]
        if x != x:
            out[j] = missing[j]
        else:
            out[j] = left[j] if below else np.int8(-left[j])
