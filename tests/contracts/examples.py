"""Rows and margins that the contracts share."""

from __future__ import annotations

from functools import cache

import numpy as np

from ocboost.boosters import BOOSTERS


@cache
def rows(n=260, K=2, seed=0):
    """Four features of which two matter, and labels of K classes, the first K of them all different."""
    rng = np.random.default_rng([seed, K])
    X = rng.normal(size=(n, 4)).round(3)
    score = X[:, 0] + 0.6 * np.where(np.arange(n) < n // 2, X[:, 1], -X[:, 2]) + 0.4 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, K) / K))
    y[:K] = np.arange(K)
    X.flags.writeable = y.flags.writeable = False
    return X, y


@cache
def weights(n=260, seed=0):
    """Weights of all sizes, some of them 0."""
    drawn = np.random.default_rng([seed, 9]).choice([0.0, 0.3, 1.0, 2.5], n)
    drawn.flags.writeable = False
    return drawn


@cache
def margins(n, J, seed=0):
    """Margins of columns that agree now and then, and labels of the examples."""
    rng = np.random.default_rng([seed, J])
    hidden = np.where(rng.random((n, 1)) < 0.65, 1, -1)
    found = np.where(rng.random((n, J)) < 0.6, hidden, rng.choice([-1, 1], (n, J))).astype(np.int8)
    labels = rng.choice([-1, 1], n)
    found.flags.writeable = labels.flags.writeable = False
    return found, labels


def booster(name, J):
    """An empty booster of a registered name."""
    registered = BOOSTERS[name]
    return registered.load()(J, **registered.settings)


def is_hinted(error):
    """Whether a message says what must be, and what to do about it: two sentences on one line."""
    text = str(error)
    return "\n" not in text and text.endswith((".", "?", ")")) and ". " in text
