"""Regression on features: dense and sparse rows, strange columns, and files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ocboost import ModelFileError
from ocboost.estimators.adaptive.members import OneRow
from ocboost.estimators.adaptive.regression import RATES, SPARSE_FACTOR, FeatureRegression
from tests.naive.regression import NaiveDense, NaiveSparse
from tests.support.adaptive_members import from_file, new_member, resumed, scores_of


def dense_row(x):
    return OneRow(np.asarray(x, float)[None], None, 0)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_learns_as_its_twin(K, sparse):
    rng = np.random.default_rng(K)
    member = FeatureRegression(5, K, sparse=sparse)
    rates = np.array(RATES) * (SPARSE_FACTOR if sparse else 1.0)
    twin = (NaiveSparse if sparse else NaiveDense)(5, K, rates)
    for _ in range(200):
        x = rng.normal(size=5) * (rng.random(5) < 0.5)
        row = OneRow(csr_matrix(x), None, 0) if sparse else dense_row(x)
        code, weight = int(rng.integers(K)), float(rng.choice([0.5, 1.0]))
        np.testing.assert_allclose(scores_of(member, row, K), twin.scores(x), rtol=1e-9, atol=1e-9)
        member.learn(row, code, weight)
        twin.learn(x, code, weight)
    assert member.experts == ("features-0.1", "features-0.01")


def test_an_empty_sparse_row_has_the_intercept_alone():
    member = FeatureRegression(3, 2, sparse=True)
    for i in range(100):
        member.learn(OneRow(csr_matrix((1, 3)), None, 0), int(i % 5 > 0), 1.0)
    out = scores_of(member, OneRow(csr_matrix((1, 3)), None, 0), 2)
    assert (out[:, 1] > 0.0).all()
    assert (member.tree()["weights"][:, :, :3] == 0.0).all()


def accuracy(X, y, first=500):
    """Of each rate, predicting before learning."""
    member, right = FeatureRegression(X.shape[1], 2, sparse=False), []
    for x, code in zip(X, y, strict=True):
        right.append(scores_of(member, dense_row(x), 2).argmax(axis=1) == code)
        member.learn(dense_row(x), int(code), 1.0)
    return np.mean(right[first:], axis=0)


def separable(n=1500):
    X = np.random.default_rng(0).normal(size=(n, 3)) * [1.0, 1e4, 1e-4]
    return X, (X[:, 0] + X[:, 1] / 1e4 + X[:, 2] * 1e4 > 0.0).astype(int)


@pytest.mark.parametrize("at", [0, 1, 5, 300])
def test_one_number_of_1e30_costs_little(at):
    X, y = separable()
    usual = accuracy(X, y)
    X[at, 0] = 1e30
    assert (usual > 0.93).all()
    assert (accuracy(X, y) > usual - 0.02).all()


def test_columns_that_are_constant_or_missing_cost_little():
    X, y = separable()
    usual = accuracy(X, y)
    more = np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), np.nan), np.zeros(len(X))])
    assert (accuracy(more, y) > usual - 0.02).all()
    X[np.random.default_rng(1).random(X.shape) < 0.02] = np.nan
    assert (accuracy(X, y) > usual - 0.05).all()


def test_a_column_that_is_constant_until_1e30_comes_is_of_use_afterwards():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = np.where(np.arange(2000) < 1000, 0.0, y + 0.1 * rng.normal(size=2000))
    x[900] = 1e30
    assert (accuracy(x[:, None], y, first=1300) > 0.95).all()


def test_a_column_far_from_zero_is_standardised_at_once():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    for offset, scale in ((1.7e18, 1e12), (-1e9, 1e3), (1e-9, 1e-12)):
        x = offset + scale * (4.0 * y + rng.normal(size=600))
        assert (accuracy(x[:, None], y, first=200) > 0.93).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weights", 1e101, "weights must be at most"),
        ("weights", np.nan, "weights must be finite"),
        ("means", -1e160, "means must be at most"),
        ("variances", -1.0, "variances and counts must not be negative"),
        ("variances", 1e301, "variances must be at most"),
        ("counts", -1.0, "variances and counts must not be negative"),
    ],
)
def test_a_file_that_it_never_wrote_is_refused(name, value, message):
    member = new_member("features", 2)
    rng = np.random.default_rng(0)
    for _ in range(50):
        member.learn(dense_row(rng.choice([-1.7e308, 0.0, 1.7e308], 4)), int(rng.integers(2)), 1e9)
    tree = from_file(member)
    resumed("features", 2, tree)
    tree[name].flat[1] = value
    with pytest.raises(ModelFileError, match=message):
        resumed("features", 2, tree)
