"""Streams for FilterBoost, and its state as bytes."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from ocboost._core.file_format import to_bytes
from ocboost.estimators.filterboost_file import filterboost_tree


def noisy(n, seed=0, noise=0.5, F=3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, F)), 2)
    return X, np.where(X[:, 0] + 0.7 * X[:, 1] + noise * rng.normal(size=n) > 0, 1, -1)


def separable(n, seed=0, flipped=0.0):
    """One threshold tells the classes apart, but for a share of the labels."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 1)), 1)
    return X, np.where((X[:, 0] > 0) != (rng.random(n) < flipped), 1, -1)


def base_of(random_state):
    return int(check_random_state(random_state).randint(1 << 31))


def state_of(clf):
    """All there is to a FilterBoost, as bytes."""
    return to_bytes("x", filterboost_tree(clf))


def cut(clf, X, y, sizes, classes):
    at = 0
    for size in [*sizes, len(y)]:
        if at < len(y):
            clf.partial_fit(X[at : at + size], y[at : at + size], classes)
        at += size
    return clf
