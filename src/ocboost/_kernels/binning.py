"""Features cut into at most 255 bins: where the edges lie, and which bin a value falls into.

Value x is in bin b when it is above edge b - 1 and at most edge b, so that the stump "x <= edge" is the same
as "bin <= its number". Missing values have a bin of their own, `MISSING`.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Flags, Floats, Ints, Reals
from ocboost._kernels.compile import exact, plain

MISSING = 255
MAX_BINS = 255  # bins of values
EACH_ONCE = np.empty(0, np.int64)  # the counts of values that stand as often as they occur


@exact
def _between(low: float, high: float) -> float:
    """A number t with low <= t < high, halfway where rounding and infinity leave that possible."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle and middle < high else low


@exact
def _run(values: Reals, counts: Ints, start: int, zeros: int) -> tuple[float, int, int]:
    """The distinct value at ``start``, how often it occurs, and where the next one begins.

    ``zeros`` of the values are zeros that are not in the array, and come where they belong.
    """
    n = values.size
    if zeros > 0 and (start == n or values[start] > 0.0):
        return 0.0, zeros, start
    value = values[start]
    end, count = start, 0
    while end < n and values[end] == value:
        count += counts[end] if counts.size > 0 else 1
        end += 1
    if value == 0.0:
        return 0.0, count + zeros, end
    return value, count, end


@plain
def edges_of(values: Reals, counts: Ints, zeros: int, most: int, edges: Floats) -> int:
    """Edges that cut sorted values, none of them NaN, into at most ``most`` bins; how many edges.

    ``counts`` says how often each value occurs; without any it is once. With at most ``most`` distinct values
    each has its bin. Else a value that alone would fill a bin gets one of its own, and the rest are shared
    out so that the bins hold about as many values each.
    """
    n = values.size
    total = zeros + (counts.sum() if counts.size > 0 else n)
    distinct, heavy, light = 0, 0, 0
    at, left = 0, zeros
    while at < n or left > 0:
        value, count, at = _run(values, counts, at, left)
        if value == 0.0:
            left = 0
        distinct += 1
        if count * most >= total:
            heavy += 1
        else:
            light += count
    separate = distinct <= most
    made = 0
    before = 0.0  # the value before this one
    held = 0  # values in the bin that is being filled
    share = light / max(1, most - heavy)
    at, left = 0, zeros
    while (at < n or left > 0) and made < most - 1:
        value, count, at = _run(values, counts, at, left)
        if value == 0.0:
            left = 0
        is_heavy = count * most >= total
        room = most - made - heavy  # bins left for light values, this one included
        if held > 0 and (separate or held >= share or (is_heavy and room > 1)):
            edges[made] = _between(before, value)
            made += 1
            if not is_heavy:
                share = light / max(1, most - made - heavy)
            held = 0
        if is_heavy:
            heavy -= 1
            held = total  # nothing joins it
        else:
            held += count
            light -= count
        before = value
    return made


@exact
def _bin(x: float, edges: Floats) -> int:
    """How many edges lie below x; there are 255, the unused ones infinite."""
    b = 0
    for k in range(7, -1, -1):
        b += (x > edges[b + (1 << k) - 1]) << k
    return b


@plain
def bin_column(values: Reals, edges: Floats, out: Bytes) -> bool:
    """Write the bin of each value; whether any is missing."""
    missing = False
    for i in range(values.size):
        x = values[i]
        if np.isnan(x):
            out[i] = MISSING
            missing = True
        else:
            out[i] = _bin(x, edges)
    return missing


@plain
def count_values(column: Reals, values: Floats, counts: Ints, n: int) -> tuple[int, int, int]:
    """Count the distinct values of a column, which are kept sorted: n of them, as many as there is room for.

    Gives how many there are then, at which row there was no room for another (the length of the column if
    there always was), and how many rows before it were missing.
    """
    n_missing = 0
    for i in range(column.size):
        x = column[i]
        if np.isnan(x):
            n_missing += 1
            continue
        low, high = 0, n
        while low < high:
            middle = (low + high) >> 1
            if values[middle] < x:
                low = middle + 1
            else:
                high = middle
        if low == n or values[low] != x:
            if n == values.size:
                return n, i, n_missing
            for k in range(n, low, -1):
                values[k], counts[k] = values[k - 1], counts[k - 1]
            values[low], counts[low] = x, 0
            n += 1
        counts[low] += 1
    return n, column.size, n_missing


@plain
def bin_sparse(
    start: Ints,
    data: Reals,
    ordered: Reals,
    n: int,
    most: int,
    first: int,
    last: int,
    bins: Bytes,
    zero: Bytes,
    n_bins: Ints,
    missing: Flags,
    edges: Floats,
    n_edges: Ints,
) -> int:
    """Bin the stored entries of columns first to last of a CSC matrix of n rows; what is not stored is zero.

    ``ordered`` has each column's entries sorted, NaN last.
    Writes each entry's bin, each column's bin of zero, its number of bins, and its edges, one column's
    after the other's; gives how many edges there are.
    """
    padded = np.empty(MISSING)
    made = 0
    for f in range(first, last):
        column = data[start[f] : start[f + 1]]
        k = column.size
        while k > 0 and np.isnan(ordered[start[f] + k - 1]):
            k -= 1
        padded[:] = np.inf
        count = edges_of(ordered[start[f] : start[f] + k], EACH_ONCE, n - column.size, most, padded)
        zero[f] = _bin(0.0, padded)
        n_bins[f] = count + 1
        n_edges[f] = count
        missing[f] = k < column.size and (k > 0 or column.size < n)
        edges[made : made + count] = padded[:count]
        made += count
        for e in range(column.size):
            x = column[e]
            bins[start[f] + e] = MISSING if np.isnan(x) else _bin(x, padded)
    return made
