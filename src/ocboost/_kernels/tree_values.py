"""Trees of other libraries: walked for the values or the answers of their leaves.

Unlike `ocboost._kernels.trees`, a split may be by category, and zero may count as missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.arrays import Floats, Int8s, Int32s, Ints, Reals, UInt32s, Whole
from ocboost._kernels.compile import exact, plain

#: A node. At a leaf ``feature`` is -1 and ``left`` the row of its values. A row goes left where ``x <=
#: threshold`` or, if ``bits`` > 0, where bit x of the set that starts at word ``first`` is 1.
TREE_NODE = np.dtype(
    [
        ("threshold", "f8"),
        ("left", "i4"),
        ("right", "i4"),
        ("feature", "i4"),
        ("flags", "u4"),
        ("first", "i4"),
        ("bits", "i4"),
    ]
)
MISSING_LEFT, ZERO_MISSING = 1, 2  # flags
ZERO = float(np.float32(1e-35))  # LightGBM: what is not larger is zero
_ROWS_AT_ONCE = 256  # they and a tree stay in the cache


@exact
def _leaf_of(X: Reals, i: int, node: NDArray[np.void], words: UInt32s, start: Whole) -> Whole:
    """The row of values of the leaf that row i of X comes to."""
    at = np.int64(start)
    while node[at]["feature"] >= 0:
        x, flags = X[i, node[at]["feature"]], node[at]["flags"]
        if x != x:
            goes_left = (flags & np.uint32(MISSING_LEFT)) != 0
        elif node[at]["bits"] > 0:
            goes_left = False
            if 0.0 <= x < node[at]["bits"]:
                code = np.int64(x)
                word = words[node[at]["first"] + (code >> 5)]
                goes_left = ((word >> np.uint32(code & 31)) & np.uint32(1)) != 0
        elif (flags & np.uint32(ZERO_MISSING)) != 0 and -ZERO <= x <= ZERO:
            goes_left = (flags & np.uint32(MISSING_LEFT)) != 0
        else:
            goes_left = x <= node[at]["threshold"]
        at = np.int64(node[at]["left"] if goes_left else node[at]["right"])
    return node[at]["left"]


@plain
def add_leaf_values(
    X: Reals,
    node: NDArray[np.void],
    words: UInt32s,
    root: Int32s,
    group: Int32s,
    value: Floats,
    single: bool,
    out: Floats,
) -> None:
    """Add the values of each row's leaves to ``out``, tree t's from column ``group[t]`` on.

    The trees are added in their order; ``single`` rounds every sum to float32, as XGBoost does.
    """
    n = X.shape[0]
    for begin in range(0, n, _ROWS_AT_ONCE):
        end = min(n, begin + _ROWS_AT_ONCE)
        for t in range(root.size):
            for i in range(begin, end):
                leaf = _leaf_of(X, i, node, words, root[t])
                for v in range(value.shape[1]):
                    total = out[i, group[t] + v] + value[leaf, v]
                    out[i, group[t] + v] = np.float32(total) if single else total


@plain
def answer_leaves(
    X: Reals, node: NDArray[np.void], words: UInt32s, root: Int32s, answer: Int8s, block: Int8s
) -> None:
    """The answer of each row's leaf in tree t goes to line t of the block."""
    for t in range(root.size):
        for i in range(X.shape[0]):
            block[t, i] = answer[_leaf_of(X, i, node, words, root[t])]


@plain
def code_columns(X: Floats, missing: float, column: Ints, first: Ints, value: Floats, code: Floats) -> None:
    """Put NaN for ``missing``; in column c its values' codes, and NaN for others.

    The sorted values of ``column[c]`` are those from ``first[c]`` to ``first[c + 1]``.
    """
    for i in range(X.shape[0]):
        if missing == missing:
            for j in range(X.shape[1]):
                if X[i, j] == missing:
                    X[i, j] = np.nan
        for c in range(column.size):
            x, low, high = X[i, column[c]], first[c], first[c + 1]
            while low < high:
                middle = (low + high) // 2
                if value[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            known = low < first[c + 1] and value[low] == x
            X[i, column[c]] = code[low] if known else np.nan
