"""Decision stumps: their answers on a block of rows.

The features in use are first laid out feature by feature; then each stump is one contiguous comparison.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Floats, Int8s, Integers, Ints, Reals
from ocboost._kernels.compile import exact, kernel


@kernel
def gather_dense(X: Reals, used: Ints, out: Reals) -> None:
    """The features ``used`` of the rows X, one contiguous line for each."""
    for i in range(X.shape[0]):
        row = X[i]
        for u in range(used.size):
            out[u, i] = row[used[u]]


@kernel
def gather_sparse(data: Reals, indices: Integers, indptr: Integers, place: Ints, out: Reals) -> None:
    """The same from rows of a CSR matrix; ``place`` is where a feature goes, or -1. Repeated entries add."""
    out[:] = 0
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            u = place[indices[k]]
            if u >= 0:
                out[u, i] += data[k]


@exact
def _missing_right(x: Reals, threshold: float, left: int, out: Int8s) -> None:
    for i in range(x.size):
        out[i] = np.int8(left) if x[i] <= threshold else np.int8(-left)  # NaN is never <=


@exact
def _missing_left(x: Reals, threshold: float, left: int, out: Int8s) -> None:
    for i in range(x.size):
        out[i] = np.int8(-left) if x[i] > threshold else np.int8(left)  # NaN is never >


@kernel
def answer_stumps(
    lines: Reals, line: Ints, threshold: Reals, left: Int8s, missing: Int8s, block: Int8s
) -> None:
    """Answer left_j where the feature is at most threshold_j, -left_j above it, missing_j where it is NaN."""
    for j in range(line.size):
        if missing[j] == left[j]:
            _missing_left(lines[line[j]], threshold[j], left[j], block[j])
        else:
            _missing_right(lines[line[j]], threshold[j], left[j], block[j])


@kernel
def answer_row(
    row: Floats, feature: Ints, threshold: Floats, left: Int8s, missing: Int8s, out: Int8s
) -> None:
    """The same for a single row, which needs no lines."""
    for j in range(feature.size):
        x = row[feature[j]]
        below = x <= threshold[j]
        if x != x:
            out[j] = missing[j]
        else:
            out[j] = left[j] if below else np.int8(-left[j])
