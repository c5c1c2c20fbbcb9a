"""Trees with splits by category in plain loops: one row, one tree, one node after the other."""

from __future__ import annotations

import math

import numpy as np

NEARLY_ZERO = float(np.float32(1e-35))


def coded(nodes, row):
    """A row as the trees see it: its categories replaced by their places, its other missing values by NaN."""
    row = [float(np.float32(x)) if nodes.precision == "single" else float(x) for x in row]
    if not math.isnan(nodes.missing):
        missing = float(np.float32(nodes.missing)) if nodes.precision == "single" else nodes.missing
        row = [math.nan if x == missing else x for x in row]
    listed = {c: list(values) for c, values in nodes.codes.items()}
    listed |= {c: list(range(len(texts))) for c, texts in nodes.vocabularies.items()}
    for column, values in listed.items():
        row[column] = float(values.index(row[column])) if row[column] in values else math.nan
    return row


def goes_left(nodes, v, x):
    """Whether a value goes left at node v."""
    to_the_left = bool(nodes.missing_left[v])
    if math.isnan(x):
        return to_the_left
    if nodes.category[v] >= 0:
        words = nodes.sets[nodes.category[v]]
        inside = {32 * w + b for w, word in enumerate(words.tolist()) for b in range(32) if word >> b & 1}
        return x >= 0 and not math.isinf(x) and int(x) in inside
    if nodes.zero_missing[v] and abs(x) <= NEARLY_ZERO:
        return to_the_left
    return x <= nodes.threshold[v]


def leaves(nodes, X):
    """The number of the leaf that each row comes to in each tree, (n, T)."""
    number = {v: i for i, v in enumerate(np.flatnonzero(nodes.feature < 0).tolist())}
    out = np.empty((len(X), nodes.root.size), np.int64)
    for i, row in enumerate(X):
        row = coded(nodes, row)
        for t, v in enumerate(nodes.root):
            while nodes.feature[v] >= 0:
                v = (nodes.left if goes_left(nodes, v, row[nodes.feature[v]]) else nodes.right)[v]
            out[i, t] = number[int(v)]
    return out


def sums(model, X):
    """The sums of a model's leaves, tree after tree, (n, G)."""
    out = np.tile(model.start, (len(X), 1))
    for i, at in enumerate(leaves(model.nodes, X)):
        for t, leaf in enumerate(at):
            for v, value in enumerate(model.value[leaf]):
                k = model.group[t] + v
                total = out[i, k] + value
                out[i, k] = np.float32(total) if model.single_sums else total
    return out / model.divisor
