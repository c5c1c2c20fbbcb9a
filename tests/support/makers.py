"""Margin matrices for the tests, all drawn from a generator that the test seeds."""

from __future__ import annotations

import numpy as np

import ocboost


def independent_columns(rng, n, p):
    """n rows of independent margins; column j is +1 with chance p[j]."""
    p = np.asarray(p)
    return np.where(rng.random((n, len(p))) < p, 1, -1).astype(np.int8)


def random_margins(rng, n, J, low=0.3, high=0.9):
    """Independent columns whose chances of +1 are drawn between `low` and `high`."""
    return independent_columns(rng, n, rng.uniform(low, high, J))


def correlated_columns(rng, n, J, agreement=0.7):
    """Columns that each copy one hidden sign with chance `agreement`, so that neighbours agree."""
    hidden = np.where(rng.random((n, 1)) < 0.6, 1, -1)
    copies = rng.random((n, J)) < agreement
    noise = np.where(rng.random((n, J)) < 0.55, 1, -1)
    return np.where(copies, hidden, noise).astype(np.int8)


def drifting(rng, n, J, matrices=3, step=0.1):
    """The paper's synthetic stream: matrices of n rows, each column's chance perturbed between them."""
    p = rng.random(J)
    blocks = []
    for _ in range(matrices):
        blocks.append(independent_columns(rng, n, p))
        p = np.clip(p + rng.uniform(-step, step, J), 0.0, 1.0)
    return np.concatenate(blocks)


def decayed_weights(n, forgetting, sample_weight=None):
    """What each of n examples weighs once the last has come: w_i λ^(n-i)."""
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return weights * forgetting ** np.arange(n - 1, -1, -1.0)


def newest(n_hypotheses, **options):
    """A sketch that keeps the newest examples, whatever its head."""
    return ocboost.BoostingSketch(n_hypotheses, **{"keep": "newest", **options})


def newest_from(margins, **options):
    """The same, started from a first set."""
    return ocboost.BoostingSketch.from_margins(margins, **{"keep": "newest", **options})
