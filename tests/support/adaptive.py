"""Small adaptive classifiers and streams to test them with."""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
from scipy.sparse import csr_matrix

from ocboost import AdaptiveClassifier
from tests.support.thread_stress import saved as state

__all__ = ["classifier", "fitted", "same", "sparse_stream", "state", "stream"]


@cache
def stream(n=400, K=2, F=4, seed=0):
    """Rows with missing numbers, and labels of K classes that turn half-way."""
    rng = np.random.default_rng([seed, K, F])
    X = rng.normal(size=(n, F)).round(2)
    score = np.where(np.arange(n) < n // 2, X[:, 0] + 0.5 * X[:, 1], X[:, 1] - X[:, 2])
    score += 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = np.digitize(score, np.nanquantile(score, np.arange(1, K) / K))
    X.flags.writeable = y.flags.writeable = False
    return X, y


@cache
def sparse_stream(n=400, K=2, F=30, seed=0):
    """The same with many zeros."""
    rng = np.random.default_rng([seed, K, F])
    X = np.where(rng.random((n, F)) < 0.2, rng.integers(1, 4, (n, F)), 0.0)
    X[:5] = 0.0
    y = (X[:, 0] + X[:, 1] > X[:, 2]).astype(int) if K == 2 else rng.integers(0, K, n)
    return csr_matrix(X), y


def classifier(**settings):
    """An unfitted one."""
    return AdaptiveClassifier(**{"n_hypotheses": 10, "random_state": 0, **settings})


@cache
def _fitted(K, n, sparse, settings):
    X, y = sparse_stream(K=K) if sparse else stream(K=K)
    return classifier(**dict(settings)).fit(X[:n], y[:n])


def fitted(K=2, n=100, sparse=False, **settings):
    """One that was fitted on the first rows of a stream."""
    return copy.copy(_fitted(K, n, sparse, tuple(settings.items())))


def same(a, b):
    """Whether two have learnt the same to the last bit."""
    return state(a) == state(b)
