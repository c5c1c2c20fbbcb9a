"""Features with noise, missing values or few levels, and labels that depend on some of them."""

from __future__ import annotations

import numpy as np


def noisy(n, F, seed, *, missing=0.0, levels=None):
    """Features of which some matter, labels of which a fifth are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F))
    score = X[:, : max(1, F // 2)].sum(axis=1) + 0.3 * X[:, -1] ** 2
    y = np.where((score > 0) ^ (rng.random(n) < 0.2), 1, -1).astype(np.int8)
    if levels:
        X = np.round(X * levels) / levels
    X[rng.random(X.shape) < missing] = np.nan
    return X, y
