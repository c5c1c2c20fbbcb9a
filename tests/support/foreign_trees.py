"""Rows for trees of other libraries, and random trees with every kind of split."""

from __future__ import annotations

import numpy as np

from ocboost.foreign.trees.nodes import TreeNodes

NAMES = np.array(["red", "green", "blue", "white", *(f"colour {k}" for k in range(10))])
N_TEXTS = 20


def examples(n_classes, n=300, missing=True, category=None, seed=0):
    """Rows of 5 numbers, of which one column may be categories from 0 to 19, and their classes."""
    rng = np.random.default_rng(seed + n_classes)
    X = np.round(rng.normal(size=(n, 5)), 2)
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)
    if category is not None:
        X[:, category] = rng.integers(0, N_TEXTS, n)
        score += X[:, category] % 3 - 1
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, NAMES[y]


def probes(X, n=300, category=None, missing=True):
    """Rows of the same values, many one step of float32 or float64 beside them; unknown categories."""
    rng = np.random.default_rng(9)
    Z = X[rng.integers(0, len(X), (n, X.shape[1])), np.arange(X.shape[1])]
    which = rng.random(Z.shape)
    beside = np.nextafter(Z.astype(np.float32), np.float32(9)).astype(np.float64)
    Z = np.where(which < 0.2, beside, Z)
    Z = np.where((which > 0.2) & (which < 0.4), np.nextafter(Z, -9), Z)
    Z[which > 0.95] = 0.0
    if category is not None:
        Z[:, category] = rng.integers(0, N_TEXTS + 4, n)
    if missing:
        Z[rng.random(Z.shape) < 0.1] = np.nan
    return Z


def midpoints(trees, n=300, n_columns=5):
    """Rows of values on the thresholds of scikit-learn's trees, and one step beside them."""
    cuts = np.concatenate([each.tree_.threshold[each.tree_.children_left >= 0] for each in trees])
    cuts = cuts[np.isfinite(cuts)]  # one that only parts off NaN is at infinity
    single = cuts.astype(np.float32)
    near = [cuts, np.nextafter(cuts, 9), np.nextafter(cuts, -9), single, np.nextafter(single, np.float32(9))]
    values = np.concatenate([*near, np.nextafter(single, np.float32(-9))])
    return np.random.default_rng(2).choice(values, (n, n_columns))


def random_nodes(rng, n_trees=5, splits=6, **settings):
    """Random trees over 4 columns, of which the last holds categories, with every kind of split."""
    arrays = {name: [] for name in ("feature", "threshold", "left", "right", "missing_left")}
    arrays |= {"zero_missing": [], "category": []}
    roots, sets = [], []

    def node():
        for name, column in arrays.items():
            column.append(0 if name in ("threshold", "missing_left", "zero_missing") else -1)
        return len(arrays["left"]) - 1

    for _ in range(n_trees):
        leaves = [node()]
        roots.append(leaves[0])
        for _ in range(int(rng.integers(0, splits + 1))):
            v = leaves.pop(int(rng.integers(len(leaves))))
            arrays["feature"][v] = int(rng.integers(4))
            arrays["threshold"][v] = float(rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0]))
            arrays["missing_left"][v] = int(rng.integers(2))
            if arrays["feature"][v] == 3 and rng.random() < 0.8:
                arrays["category"][v] = len(sets)
                sets.append(rng.integers(0, 1 << 32, int(rng.integers(1, 3)), dtype=np.uint32))
            else:
                arrays["zero_missing"][v] = int(rng.integers(2))
            arrays["left"][v], arrays["right"][v] = node(), node()
            leaves += [arrays["left"][v], arrays["right"][v]]
    return TreeNodes(rng.permutation(roots), **arrays, sets=sets, n_columns=4, **settings)


def random_rows(rng, n=200):
    """Rows for `random_nodes`: on and beside thresholds, zeros of all sizes, categories known and unknown."""
    values = np.array([-1.0, -0.5, 0.0, -0.0, 1e-36, -1e-34, 0.5, 1.0, 2.0, np.inf, -np.inf, 1e300])
    values = np.concatenate([values, np.nextafter(values, 1e301), np.nextafter(values, -1e301)])
    X = rng.choice(values, (n, 4))
    X[:, 3] = rng.choice([*range(70), -1, -0.5, 0.5, 1e18, np.inf, -np.inf], n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X
