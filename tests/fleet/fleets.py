"""Models and rows for the tests of fleets."""

from __future__ import annotations

from functools import cache

import numpy as np

from ocboost import OCBClassifier


@cache
def rows(n=1500, n_keys=9, K=2, seed=0, n_features=5):
    """Features, labels and keys: each key has a weight of its own, and some keys come seldom."""
    rng = np.random.default_rng([seed, K])
    X = rng.normal(size=(n, n_features)).round(2)
    share = 1.0 / np.arange(1, n_keys + 1)
    keys = rng.choice(n_keys, n, p=share / share.sum())
    w = rng.normal(size=n_features) + rng.normal(size=(n_keys, n_features))
    score = (X * w[keys]).sum(axis=1) + 0.3 * rng.normal(size=n) + 0.5 * (keys % 3 - 1)
    y = np.digitize(score, np.quantile(score, np.arange(1, K) / K))
    return X, np.array(["no", "maybe", "yes", "never"])[y] if K != 2 else y, [f"key {k}" for k in keys]


@cache
def model(K=2, J=12, n=200, **options):
    """A classifier fitted on the first rows."""
    X, y, _ = rows(K=K)
    return OCBClassifier(n_hypotheses=J, random_state=0, **options).fit(X[:n], y[:n])


def records(fleet):
    """Every key with its bytes, and what all share."""
    with fleet._store.reading() as txn:
        shared = {name: fleet._store.get(txn, name) for name in (b"state", b"common", b"model", b"window")}
        return {key: bytes(record) for key, record in fleet._store.records(txn)}, shared
