"""Building the trees of rolling forests (`ocboost._kernels.forests`), and how they lie in memory.

A tree is a list of nodes, level by level, the children of a node beside each other. A row goes left if its
value is at most the threshold, and right if it is larger or missing. For building, values are counted in
``BINS`` bins between edges: the code of x is how many edges lie below it, and the last code means missing.
A tree's random numbers depend on the seed and its serial number alone. Everything is computed with each
rounding as written, so that a twin in plain Python builds the same trees.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from ocboost._kernels.arrays import Bytes, Floats, Int8s, Int32s, Ints, Whole, Words
from ocboost._kernels.bits import ONE
from ocboost._kernels.compile import exact, instruction, plain

WINDOW = (4000, 1000, 300)
EVERY = (200, 50, 20)
DEPTH = (8, 8, 6)
FORESTS = len(WINDOW)
TREES = 10  # of each forest
MOST_NODES = tuple(2 ** (depth + 1) - 1 for depth in DEPTH)
MOST_LEAVES = tuple(2**depth for depth in DEPTH)
FIRST_NODE = tuple(TREES * sum(MOST_NODES[:f]) for f in range(FORESTS + 1))  # of each forest, then their end
FIRST_LEAF = tuple(TREES * sum(MOST_LEAVES[:f]) for f in range(FORESTS + 1))
KEPT = max(WINDOW)  # rows

BINS = 64
MISSING_BIN = BINS - 1  # the code of NaN
EDGES = BINS - 1  # of each feature; those that are not needed, and the last in any case, are infinite
SAMPLE = 1000  # rows that edges are computed from, at most

MOST_FEATURES = 24  # that a node looks at
LEAST_LEAF = 3  # rows, those drawn twice counted twice
GAIN = 1.0 + 1e-9  # a split must raise Σn²/n by more than rounding

#: ``left`` is the place of the left child within the tree; at a leaf it is -1 - its number there.
NODE = np.dtype([("threshold", "f8"), ("left", "i4"), ("feature", "i4")])
Nodes: TypeAlias = NDArray[np.void]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32 = (np.uint64(shift) for shift in (11, 27, 30, 31, 32))

#: The probabilities that a Poisson number of mean one is at most 0, 1, 2 …
POISSON = tuple(math.exp(-1.0) * sum(1.0 / math.factorial(i) for i in range(k + 1)) for k in range(12))


@exact
def _scrambled(z: Any) -> Any:
    """The last step of splitmix64."""
    z = (z ^ (z >> _S30)) * _FACTOR
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@exact
def _draw(state: Words) -> Any:
    """The next 64 random bits (splitmix64)."""
    state[0] += _GOLDEN
    return _scrambled(state[0])


@exact
def _below(state: Words, n: Whole) -> Whole:
    """A random number from 0 to n - 1."""
    return np.int64(((_draw(state) >> _S32) * np.uint64(n)) >> _S32)


@exact
def _poisson(state: Words) -> Whole:
    """A Poisson number of mean one, of at most 12."""
    u = np.float64(_draw(state) >> _S11) * 2.0**-53
    count = 0
    while count < 12 and u >= POISSON[count]:
        count += 1
    return count


@instruction
def _lowest_bit(typing_context: Any, word: Any) -> tuple[Any, Any]:
    """The number of the lowest bit that is set in a word, which must have one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@exact
def code_of(edges: Floats, f: Whole, x: float) -> Whole:
    """How many edges of feature f lie below x."""
    if x != x:
        return MISSING_BIN
    code = 0
    for step in (32, 16, 8, 4, 2, 1):
        code += step if edges[f, code + step - 1] < x else 0
    return code


@plain
def code_rows(rows: Floats, edges: Floats, codes: Bytes) -> None:
    """Compute the codes of rows, a line for each feature."""
    for f in range(rows.shape[1]):
        for i in range(rows.shape[0]):
            codes[f, i] = code_of(edges, f, rows[i, f])


@plain
def make_edges(rows: Floats, seen: Whole, edges: Floats, splits: Int8s, codes: Bytes) -> None:
    """Compute the edges of all features from the rows kept, and the rows' codes.

    With at most `EDGES` distinct values they lie between all of them, otherwise between bins of about as many
    rows each. ``splits`` says which features have more than one bin.
    """
    capacity, n_features = rows.shape
    n = min(seen, capacity)
    every = (n + SAMPLE - 1) // SAMPLE
    sample = np.empty(SAMPLE, np.float64)
    for f in range(n_features):
        m, missing = 0, False
        for i in range(0, n, every):
            x = rows[i, f]
            if x == x:
                sample[m] = x
                m += 1
            else:
                missing = True
        values = sample[:m]
        values.sort()
        distinct = 1 if m else 0
        for i in range(1, m):
            if values[i] != values[i - 1]:
                distinct += 1
        count, i, bins = 0, 0, EDGES
        while i < m:
            stop = i + 1 if distinct <= EDGES else i + (m - i + bins - 1) // bins
            while stop < m and values[stop] == values[stop - 1]:
                stop += 1
            if stop < m:
                low, high = values[stop - 1], values[stop]
                middle = 0.5 * low + 0.5 * high
                edges[f, count] = middle if low <= middle < high else low
                count += 1
                bins -= 1
            i = stop
        for e in range(count, EDGES):
            edges[f, e] = np.inf
        splits[f] = count > 0 or (missing and m > 0)
    code_rows(rows[:n], edges, codes)


@exact
def _between(low: Any, high: Any) -> Whole:
    """The last code to go left: halfway between two filled bins; below the missing ones, all values."""
    return EDGES - 1 if high == MISSING_BIN else (np.int64(low) + np.int64(high) - 1) // 2


@exact
def _best(
    bins: Any,
    histogram: Floats,
    filled: Ints,
    total: Floats,
    left: Floats,
    whole: float,
    size: Whole,
    best: float,
) -> tuple[float, Whole, Whole]:
    """The best split between filled bins, if it is better: Σn²/n, the last code to go left, how many rows do.

    The histogram is left empty.
    """
    so_far, near, previous = 0.0, 0, np.uint64(0)
    best_code, best_size = 0, 0
    for k in range(left.size):
        left[k] = 0.0
    while bins:
        code = np.uint64(_lowest_bit(bins))
        bins &= bins - ONE
        if near >= LEAST_LEAF and size - near >= LEAST_LEAF:
            here, there = 0.0, 0.0
            for k in range(left.size):
                here += left[k] * left[k]
                right = total[k] - left[k]
                there += right * right
            score = here / so_far + there / (whole - so_far)
            if score > best:
                best, best_code, best_size = score, _between(previous, code), near
        for k in range(left.size):
            left[k] += histogram[code, k]
            so_far += histogram[code, k]
            histogram[code, k] = 0.0
        near += filled[code]
        filled[code] = 0
        previous = code
    return best, best_code, best_size


@exact
def _best_of_two(
    bins: Any, histogram: Floats, filled: Ints, total: Floats, whole: float, size: Whole, best: float
) -> tuple[float, Whole, Whole]:
    """`_best` for two classes, without loops over them."""
    so_far, near, previous = 0.0, 0, np.uint64(0)
    best_code, best_size = 0, 0
    first, second = 0.0, 0.0
    all_first, all_second = total[0], total[1]
    while bins:
        code = np.uint64(_lowest_bit(bins))
        bins &= bins - ONE
        if near >= LEAST_LEAF and size - near >= LEAST_LEAF:
            first_right, second_right = all_first - first, all_second - second
            here = first * first + second * second
            there = first_right * first_right + second_right * second_right
            score = here / so_far + there / (whole - so_far)
            if score > best:
                best, best_code, best_size = score, _between(previous, code), near
        first += histogram[code, 0]
        second += histogram[code, 1]
        so_far += histogram[code, 0]
        so_far += histogram[code, 1]
        histogram[code, 0] = histogram[code, 1] = 0.0
        near += filled[code]
        filled[code] = 0
        previous = code
    return best, best_code, best_size


@plain
def build_tree(
    forest: Whole,
    seed: Any,
    seen: Whole,
    labels: Int32s,
    weights: Floats,
    codes: Bytes,
    edges: Floats,
    splits: Int8s,
    nodes: Nodes,
    counts: Floats,
) -> None:
    """Build the tree that a forest is due to have after ``seen`` rows, in the place of its oldest."""
    capacity, n_features, n_classes = labels.size, edges.shape[0], counts.shape[1]
    serial = seen // EVERY[forest]
    root = FIRST_NODE[forest] + serial % TREES * MOST_NODES[forest]
    first_leaf = FIRST_LEAF[forest] + serial % TREES * MOST_LEAVES[forest]
    state = np.empty(1, np.uint64)
    state[0] = _scrambled(seed + _GOLDEN * np.uint64(1 + FORESTS * serial + forest))

    # A sample with replacement of the window, the oldest row first.
    n = min(seen, WINDOW[forest])
    row, label, weight = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.float64)
    times, spare = np.empty(n, np.uint32), np.empty((3, n), np.uint32)
    spare_weight = np.empty(n, np.float64)
    m, drawn = 0, 0
    at = (seen - n) % capacity
    for _ in range(n):
        count = _poisson(state)
        if count:
            row[m], label[m], times[m], weight[m] = at, labels[at], count, count * weights[at]
            m += 1
            drawn += count
        at += 1
        if at == capacity:
            at = 0

    usable = np.empty(n_features, np.int64)
    n_usable = 0
    for f in range(n_features):
        if splits[f]:
            usable[n_usable] = f
            n_usable += 1
    tried = min(n_usable, MOST_FEATURES, max(2, int(0.6 * n_features)))

    start, stop = np.empty(MOST_NODES[forest], np.int64), np.empty(MOST_NODES[forest], np.int64)
    size, depth = np.empty(MOST_NODES[forest], np.int64), np.zeros(MOST_NODES[forest], np.int64)
    histogram, filled = np.zeros((BINS, n_classes)), np.zeros(BINS, np.int64)
    total, left = np.empty(n_classes), np.empty(n_classes)
    start[0], stop[0], size[0] = 0, m, drawn
    n_nodes, n_leaves, v = 1, 0, 0
    while v < n_nodes:
        begin, end = start[v], stop[v]
        for k in range(n_classes):
            total[k] = 0.0
        for i in range(begin, end):
            total[label[i]] += weight[i]
        whole, squares, present = 0.0, 0.0, 0
        for k in range(n_classes):
            whole += total[k]
            squares += total[k] * total[k]
            present += total[k] > 0.0
        best_feature, best_code, best_size, best = -1, 0, 0, 0.0
        if present > 1 and depth[v] < DEPTH[forest] and size[v] >= 2 * LEAST_LEAF:
            best = squares / whole * GAIN
            for u in range(tried):
                other = u + _below(state, n_usable - u)
                f = usable[other]
                usable[other] = usable[u]
                usable[u] = f
                bins = np.uint64(0)  # a bit for each that is not empty
                for i in range(begin, end):
                    here = np.uint64(codes[f, row[i]])
                    histogram[here, label[i]] += weight[i]
                    filled[here] += times[i]
                    bins |= ONE << here
                if n_classes == 2:
                    score, code, near = _best_of_two(bins, histogram, filled, total, whole, size[v], best)
                else:
                    score, code, near = _best(bins, histogram, filled, total, left, whole, size[v], best)
                if score > best:
                    best, best_feature, best_code, best_size = score, f, code, near
        node = nodes[root + v]
        if best_feature < 0:
            node["threshold"], node["feature"], node["left"] = 0.0, 0, -1 - n_leaves
            for k in range(n_classes):
                counts[first_leaf + n_leaves, k] = total[k]
            n_leaves += 1
        else:
            node["threshold"], node["feature"] = edges[best_feature, best_code], best_feature
            node["left"] = n_nodes
            near, far = begin, 0
            for i in range(begin, end):
                if codes[best_feature, row[i]] <= best_code:
                    row[near], label[near] = row[i], label[i]
                    times[near], weight[near] = times[i], weight[i]
                    near += 1
                else:
                    spare[0, far], spare[1, far] = row[i], label[i]
                    spare[2, far], spare_weight[far] = times[i], weight[i]
                    far += 1
            for i in range(far):
                row[near + i], label[near + i] = spare[0, i], spare[1, i]
                times[near + i], weight[near + i] = spare[2, i], spare_weight[i]
            start[n_nodes], stop[n_nodes] = begin, near
            start[n_nodes + 1], stop[n_nodes + 1] = near, end
            size[n_nodes], size[n_nodes + 1] = best_size, size[v] - best_size
            depth[n_nodes] = depth[n_nodes + 1] = depth[v] + 1
            n_nodes += 2
        v += 1
