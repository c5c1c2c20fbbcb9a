"""The kernels of rolling forests, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels import forest_trees as kernels
from ocboost._kernels.forest_trees import EVERY, FIRST_LEAF, FIRST_NODE, MOST_LEAVES, MOST_NODES
from ocboost.estimators.adaptive.forests import RollingForests
from tests.naive import forests as naive
from tests.naive.forests import NaiveForests


def rows_of(n, F, K, seed, kind="plain"):
    """Rows with ties, missing values, a constant column and weights, as the kind says."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F))
    score = X[:, 0] * X[:, -1] + 0.3 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, K) / K))
    weights = np.ones(n)
    if kind == "mixed":
        X[:, 0] = np.round(X[:, 0], 1)
        X[:, 1] = 7.0
        X[:, 2] = np.where(rng.random(n) < 0.7, 0.0, X[:, 2])
        X[rng.random((n, F)) < 0.1] = np.nan
        X[:, 3] = np.where(rng.random(n) < 0.3, np.nan, 1e30)
        X[rng.random(n) < 0.01, -1] = 1e30
        weights = np.where(rng.random(n) < 0.1, 0.0, rng.exponential(size=n))
        weights[rng.random(n) < 0.01] = 1e9
    return X, y.astype(np.int64), weights


def as_nested(forests, f, slot):
    """A tree of the kernels in the twin's form."""
    first, leaves = FIRST_NODE[f] + slot * MOST_NODES[f], FIRST_LEAF[f] + slot * MOST_LEAVES[f]

    def nested(v):
        node = forests._nodes[first + v]
        left = int(node["left"])
        if left < 0:
            return {"counts": forests._counts[leaves - 1 - left].tolist()}
        return {
            "feature": int(node["feature"]),
            "threshold": float(node["threshold"]),
            "left": nested(left),
            "right": nested(left + 1),
        }

    return nested(0)


def n_leaves(tree):
    return 1 if "counts" in tree else n_leaves(tree["left"]) + n_leaves(tree["right"])


def assert_same_trees(forests, twin):
    n = len(twin.history)
    assert forests.n_seen == n
    for f in range(3):
        last = n // EVERY[f]
        serials = range(max(1, last - 9), last + 1)
        assert len(twin.forests[f]) == len(serials)
        for serial, tree in zip(serials, twin.forests[f], strict=True):
            assert as_nested(forests, f, serial % 10) == tree


@pytest.mark.parametrize(
    ("n", "F", "K", "kind"),
    [
        (130, 2, 2, "plain"),
        (420, 5, 2, "mixed"),
        (420, 6, 4, "mixed"),
        (230, 45, 3, "plain"),
        (260, 1, 2, "plain"),
    ],
)
def test_trees_and_logits_are_those_of_plain_loops(n, F, K, kind):
    X, y, weights = rows_of(n, F, K, seed=n + F, kind=kind)
    forests, twin = RollingForests(F, K, seed=3), NaiveForests(F, K, seed=3)
    out = np.empty((3, K))
    for i in range(n):
        if i % 9 == 0:
            forests.logits(X[i], out)
            np.testing.assert_allclose(out, twin.logits(X[i].tolist()), rtol=0, atol=1e-13)
        forests.learn(X[i], int(y[i]), float(weights[i]))
        twin.learn(X[i].tolist(), int(y[i]), float(weights[i]))
    assert_same_trees(forests, twin)
    assert all(n_leaves(tree) > 2 for forest in twin.forests for tree in forest)  # or little was compared


def test_a_ring_that_has_gone_round_gives_the_same_trees(monkeypatch):
    n, F, K = 5010, 2, 2
    X, y, weights = rows_of(n, F, K, seed=1)
    forests, twin = RollingForests(F, K, seed=1 << 63), NaiveForests(F, K, seed=1 << 63)
    forests.learn_many(X, y, weights)
    tree = NaiveForests.tree
    # What is not there at the end need not be built.
    alive = lambda self, f: len(self.history) // EVERY[f] > n // EVERY[f] - 10  # noqa: E731
    one_leaf = {"counts": [0.0] * K}
    monkeypatch.setattr(
        NaiveForests, "tree", lambda self, f: tree(self, f) if alive(self, f) and f else one_leaf
    )
    for i in range(n):
        if i == n - 11:  # the last tree of the large forest, of 4000 rows
            monkeypatch.setattr(NaiveForests, "tree", tree)
        twin.learn(X[i].tolist(), int(y[i]), float(weights[i]))
    for f in (1, 2):
        for back in range(10):
            assert as_nested(forests, f, (n // EVERY[f] - back) % 10) == twin.forests[f][-1 - back]
    assert as_nested(forests, 0, (n // EVERY[0]) % 10) == twin.forests[0][-1]


def test_edges_lie_between_all_values_or_share_the_rows():
    rng = np.random.default_rng(0)
    n = 900
    rows = np.stack(
        [
            rng.integers(0, 60, n).astype(float),  # few values
            rng.normal(size=n),
            np.where(rng.random(n) < 0.8, 0.0, rng.normal(size=n)),  # one heavy value
            np.full(n, 5.0),
            np.where(rng.random(n) < 0.5, 1.0, np.nextafter(1.0, 2.0)),
            np.where(rng.random(n) < 0.5, -1.7e308, 1.7e308),
            np.full(n, np.nan),
            np.where(rng.random(n) < 0.5, np.nan, 2.0),
        ],
        axis=1,
    )
    F = rows.shape[1]
    edges, splits = np.zeros((F, kernels.EDGES)), np.zeros(F, np.int8)
    codes = np.zeros((F, n), np.uint8)
    kernels.make_edges(rows, n, edges, splits, codes)
    for f in range(F):
        values = [value for value in rows[:, f].tolist() if value == value]
        expected = naive.edges_of(values)
        np.testing.assert_array_equal(edges[f], expected + [np.inf] * (kernels.EDGES - len(expected)))
    assert splits.tolist() == [1, 1, 1, 0, 1, 1, 0, 1]
    below = (edges[:, :, None] < rows.T[:, None, :]).sum(axis=1)
    np.testing.assert_array_equal(codes, np.where(np.isnan(rows.T), kernels.MISSING_BIN, below))
    assert np.bincount(codes[1]).max() <= 16  # 900 rows in 63 bins
    assert np.unique(codes[2]).size > 50  # the heavy value takes one bin, the others share the rest
    assert codes.max(where=~np.isnan(rows.T), initial=0) < kernels.MISSING_BIN


def test_bootstrap_numbers_have_the_distribution_of_poisson():
    random = naive.Random(5, 1, 7)
    drawn = np.bincount([random.poisson() for _ in range(20000)], minlength=5)[:5] / 20000
    np.testing.assert_allclose(drawn, [0.368, 0.368, 0.184, 0.061, 0.015], atol=0.01)
