"""Examples, offsets and hypotheses for the tests of offsets."""

from __future__ import annotations

import numpy as np

from ocboost.hypotheses import Stumps
from ocboost.offsets import LinearOffset


def examples(n_classes=2, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 2)
    score = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n)
    cuts = [0.0] if n_classes == 2 else np.linspace(-1.2, 1.2, n_classes - 1)
    return X, np.digitize(score, cuts)


COEF = np.random.default_rng(5).normal(size=(10, 4)) / 2
INTERCEPT = np.linspace(-0.5, 0.4, 10)


def linear(n_classes):
    """A score that is right now and then."""
    if n_classes == 2:
        return LinearOffset([0.7, 0.0, 0.3, 0.0], -0.2)
    return LinearOffset(COEF[:n_classes], INTERCEPT[:n_classes])


def zero(n_classes):
    return lambda X: np.zeros(X.shape[0] if n_classes == 2 else (X.shape[0], n_classes))


def pool(n=20):
    rng = np.random.default_rng(3)
    return Stumps(rng.integers(4, size=n), rng.normal(size=n), rng.choice([-1, 1], n), n_features=4)


def assert_same(a, b, X):
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
