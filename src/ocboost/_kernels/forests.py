"""Three forests that roll over the latest rows of a stream: each builds a tree now and then for its oldest.

Forest f builds a tree after every ``EVERY[f]`` rows, from the last ``WINDOW[f]`` of them. How many rows were
seen says which trees there are, so that nothing random is carried from row to row.
"""

from __future__ import annotations

import math

import numpy as np

from ocboost._kernels.arrays import Bytes, Floats, Int8s, Int32s, Ints, Whole, Words
from ocboost._kernels.compile import exact, plain
from ocboost._kernels.forest_trees import (
    DEPTH,
    EVERY,
    FIRST_LEAF,
    FIRST_NODE,
    FORESTS,
    MOST_LEAVES,
    MOST_NODES,
    TREES,
    Nodes,
    build_tree,
    code_of,
    make_edges,
)

EARLY_EDGES = (min(EVERY), 50, 100, 200, 500)  # rows seen when they are computed: for the first tree …
EDGES_EVERY = 1000  # … and from then on
FADING = 0.01  # of a leaf's counts, when a row of weight one comes
HEAVIEST = 1e6  # weights count as this at most, or their squares would overflow


@exact
def _below_node(x: Floats, nodes: Nodes, root: Whole, at: Whole) -> Whole:
    """The child that x goes to; a leaf stays."""
    node = nodes[root + at]
    left = np.int64(node["left"])
    child = left + (0 if x[np.uint32(node["feature"])] <= node["threshold"] else 1)
    return child if left >= 0 else at


@exact
def _find_leaves(x: Floats, nodes: Nodes, leaves: Ints) -> None:
    """The leaves that x falls into in all trees, those of forests that are not full included.

    Five trees at a time: each step waits for memory, and five can wait together.
    """
    for f in range(FORESTS):
        size = MOST_NODES[f]
        for half in range(2):
            t = half * 5
            r = FIRST_NODE[f] + t * size
            a = b = c = d = e = 0
            for _ in range(DEPTH[f]):
                a = _below_node(x, nodes, r, a)
                b = _below_node(x, nodes, r + size, b)
                c = _below_node(x, nodes, r + 2 * size, c)
                d = _below_node(x, nodes, r + 3 * size, d)
                e = _below_node(x, nodes, r + 4 * size, e)
            at = FIRST_LEAF[f] + t * MOST_LEAVES[f] - 1
            t += f * TREES
            leaves[t] = at - nodes[r + a]["left"]
            leaves[t + 1] = at + MOST_LEAVES[f] - nodes[r + size + b]["left"]
            leaves[t + 2] = at + 2 * MOST_LEAVES[f] - nodes[r + 2 * size + c]["left"]
            leaves[t + 3] = at + 3 * MOST_LEAVES[f] - nodes[r + 3 * size + d]["left"]
            leaves[t + 4] = at + 4 * MOST_LEAVES[f] - nodes[r + 4 * size + e]["left"]


@exact
def _alive(seen: Whole, f: Whole) -> Whole:
    """How many trees forest f has."""
    return min(TREES, seen // EVERY[f])


@exact
def _count(leaves: Ints, code: Whole, weight: float, seen: Whole, counts: Floats) -> None:
    """Let the leaves that a row falls into fade, and add it."""
    weight = min(weight, 1.0)
    keep = 1.0 - FADING * weight
    for f in range(FORESTS):
        for t in range(_alive(seen, f)):
            leaf = leaves[f * TREES + (t + 1) % TREES]
            for k in range(counts.shape[1]):
                counts[leaf, k] *= keep
            counts[leaf, code] += weight


@exact
def _edges_due(seen: Whole) -> bool:
    for early in EARLY_EDGES:
        if seen == early:
            return True
    return bool(seen % EDGES_EVERY == 0)


@plain
def learn_rows(
    X: Floats,
    y: Ints,
    sample_weight: Floats,
    clock: Words,
    rows: Floats,
    labels: Int32s,
    weights: Floats,
    codes: Bytes,
    edges: Floats,
    splits: Int8s,
    nodes: Nodes,
    counts: Floats,
) -> None:
    """Take in rows one by one, and build the trees that are due and still there at the end.

    ``clock`` has the seed and how many rows were seen before. The other arrays that keep rows are a ring that
    has room for all of them, or for as many as are ever kept. Rows of weight zero are passed over.
    """
    capacity, n_features = rows.shape
    leaves = np.empty(FORESTS * TREES, np.int64)
    seen = np.int64(clock[1])
    end = seen
    for i in range(y.size):
        end += sample_weight[i] > 0.0
    for i in range(y.size):
        weight = min(sample_weight[i], HEAVIEST)
        if weight > 0.0:
            x = X[i]
            _find_leaves(x, nodes, leaves)
            _count(leaves, y[i], weight, seen, counts)
            at = seen % capacity
            labels[at], weights[at] = y[i], weight
            for f in range(n_features):
                rows[at, f] = x[f]
                codes[f, at] = code_of(edges, f, x[f])
            seen += 1
            if _edges_due(seen):
                make_edges(rows, seen, edges, splits, codes)
            for f in range(FORESTS):
                if seen % EVERY[f] == 0 and seen // EVERY[f] > end // EVERY[f] - TREES:
                    build_tree(f, clock[0], seen, labels, weights, codes, edges, splits, nodes, counts)
    clock[1] = np.uint64(seen)


@plain
def forest_logits(X: Floats, clock: Words, nodes: Nodes, counts: Floats, out: Floats) -> None:
    """The logarithm of the mean of the class probabilities of each forest's trees; uniform without trees."""
    n_classes = counts.shape[1]
    prior, seen = 0.5 / n_classes, np.int64(clock[1])
    leaves = np.empty(FORESTS * TREES, np.int64)
    for i in range(X.shape[0]):
        _find_leaves(X[i], nodes, leaves)
        for f in range(FORESTS):
            trees = _alive(seen, f)
            for k in range(n_classes):
                out[i, f, k] = 0.0 if trees else 1.0
            for t in range(trees):
                leaf = leaves[f * TREES + (t + 1) % TREES]
                total = 0.5
                for k in range(n_classes):
                    total += counts[leaf, k]
                scale = 1.0 / total
                for k in range(n_classes):
                    out[i, f, k] += (counts[leaf, k] + prior) * scale
            total = 0.0
            for k in range(n_classes):
                total += out[i, f, k]
            for k in range(n_classes):
                out[i, f, k] = math.log(out[i, f, k] / total)
