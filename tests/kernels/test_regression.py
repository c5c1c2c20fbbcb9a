"""Softmax regression on features, against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ocboost._kernels.regression import dense_learn, dense_scores, sparse_learn, sparse_scores, standardise
from tests.naive.regression import NaiveDense, NaiveSparse

RATES = np.array([0.1, 0.01])
WEIGHTS = [0.0625, 1.0, 3.0, 1e6]


class Dense:
    """The arrays of the kernels."""

    def __init__(self, F, K):
        self.weights = np.zeros((2, 1 if K == 2 else K, F + 1))
        self.means, self.variances, self.counts = np.zeros(F), np.zeros(F), np.zeros(F)
        self.z, self.room, self.K = np.full(F + 1, np.nan), np.full((2, K), np.nan), K

    def scores(self, x):
        standardise(x, self.means, self.variances, self.z)
        out = np.full((2, self.K), np.nan)
        dense_scores(self.z, self.weights, out)
        return out

    def learn(self, x, code, weight=1.0):
        standardise(x, self.means, self.variances, self.z)
        scales = (self.means, self.variances, self.counts)
        dense_learn(x, self.z, code, weight, RATES, self.weights, *scales, self.room)


def strange_columns(rng, n):
    """Plain, large, tiny, constant, seldom other than 0, missing, with outliers, and beginning with one."""
    x = rng.normal(size=(n, 10))
    x[:, 1] = 1e9 + 1e3 * x[:, 1]
    x[:, 2] *= 1e-200
    x[:, 3] = 5.0
    x[:, 4] = rng.random(n) < 0.01
    x[rng.random(n) < 0.3, 5] = np.nan
    x[:, 6] = np.nan
    x[rng.random(n) < 0.02, 7] = 1e30
    x[n // 2, 8], x[: n // 2, 8] = -1e308, 0.0
    x[0, 9] = 1e30
    return x


@pytest.mark.parametrize("K", [2, 3, 7])
def test_dense_rows(K):
    rng = np.random.default_rng(K)
    X = strange_columns(rng, 400)
    dense, twin = Dense(10, K), NaiveDense(10, K, RATES)
    for x in X:
        code, weight = int(rng.integers(K)), float(rng.choice(WEIGHTS))
        np.testing.assert_allclose(dense.scores(x), twin.scores(x), rtol=1e-9, atol=1e-9)
        dense.learn(x, code, weight)
        twin.learn(x, code, weight)
    np.testing.assert_allclose(dense.means, [c.mean for c in twin.columns], rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(dense.variances, [c.variance for c in twin.columns], rtol=1e-7, atol=1e-300)
    np.testing.assert_array_equal(dense.counts, [c.n for c in twin.columns])
    np.testing.assert_allclose(dense.weights, twin.weights, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("K", [2, 3, 7])
def test_sparse_rows(K):
    rng = np.random.default_rng(K)
    weights, room, out = np.zeros((2, 1 if K == 2 else K, 13)), np.empty((2, K)), np.empty((2, K))
    twin = NaiveSparse(12, K, RATES)
    for i in range(300):
        x = rng.normal(size=12) * (rng.random(12) < 0.3) * rng.choice([1e-200, 1.0, 1e200])
        x[i % 12] = (np.nan, 0.0, 1.0)[i % 3]
        x *= i % 50 > 0  # some rows are empty
        row = csr_matrix(x)
        columns, values = row.indices.astype(np.int64), row.data
        sparse_scores(columns, values, weights, out)
        np.testing.assert_allclose(out, twin.scores(x), rtol=1e-9, atol=1e-9)
        code, weight = int(rng.integers(K)), float(rng.choice(WEIGHTS))
        sparse_learn(columns, values, code, weight, RATES, weights, room)
        twin.learn(x, code, weight)
    np.testing.assert_allclose(weights, twin.weights, rtol=1e-9, atol=1e-9)


def test_means_and_variances_are_those_of_the_rows():
    X = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 1e-5, 1e5] + [0.0, 3.0, -1e6]
    dense = Dense(3, 2)
    for x in X:
        dense.learn(x, 0)
    # Not exactly: the third row may be more than eight deviations of the first two away.
    np.testing.assert_allclose((dense.means - X.mean(axis=0)) / X.std(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(dense.variances, X.var(axis=0), rtol=0.02)


@pytest.mark.parametrize("at", [0, 1, 2, 500])
@pytest.mark.parametrize("usual", ["noise", "constant", "seldom"])
@pytest.mark.parametrize("outlier", [1e30, -1e300])
def test_one_absurd_number_does_not_spoil_a_column(at, usual, outlier):
    """The column still tells classes apart some hundred rows later."""
    rng = np.random.default_rng(0)
    dense, y = Dense(1, 2), rng.integers(0, 2, 1500)
    x = {"noise": rng.normal(size=1500), "constant": np.full(1500, 3.0), "seldom": rng.random(1500) < 0.1}[
        usual
    ]
    x = x + np.where(np.arange(1500) > 600, 2.0 * y, 0.0)
    x[at] = outlier
    for value, code in zip(x, y, strict=True):
        dense.learn(np.array([value]), int(code))
    assert np.isfinite(dense.weights).all()
    base = 3.0 if usual == "constant" else 0.0
    low, high = (dense.scores(np.array([base + more])) for more in (0.0, 2.0))
    assert (high[:, 1] - low[:, 1] > 0.7).all()
    assert dense.variances[0] < 100.0


def test_any_numbers_give_finite_scores():
    rng = np.random.default_rng(0)
    dense = Dense(3, 3)
    for _ in range(3000):
        x = rng.choice([0.0, 1.0, -1.7e308, 1.7e308, 5e-324, np.nan, 1e-160], 3)
        dense.learn(x, int(rng.integers(3)), float(rng.choice(WEIGHTS)))
        assert np.isfinite(dense.scores(x)).all()
    for array in (dense.weights, dense.means, dense.variances):
        assert np.isfinite(array).all()
    assert (dense.variances >= 0.0).all()


def test_a_linear_rule_is_learnt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 1e4, 0.0, 5.0]
    y = (X[:, 0] + (X[:, 1] - 1e4) / 100.0 > 0.0).astype(int)
    dense, right = Dense(4, 2), np.zeros(2)
    for i, (x, code) in enumerate(zip(X, y, strict=True)):
        if i >= 1000:
            right += dense.scores(x).argmax(axis=1) == code
        dense.learn(x, int(code))
    assert (right / 2000 > 0.97).all()
