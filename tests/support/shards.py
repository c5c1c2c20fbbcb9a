"""Shards in threads of this process, whose sums wait for each other, and fits over them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ocboost._shards.chunks import MemoryChunk
from ocboost._shards.collective import Collective
from ocboost._shards.facts import Facts
from ocboost._shards.features import BinnedFeatures
from ocboost._shards.fit import agree, fit_shard, sketches_of, stumps_in
from ocboost._shards.plan import FitPlan
from ocboost._shards.settings import as_sketch_settings


class ThreadCollective(Collective):
    """One of several shards; all of them share ``parts`` and the barrier."""

    def __init__(self, rank, parts, barrier):
        self.rank, self.size, self._parts, self._barrier = rank, len(parts), parts, barrier

    def sum(self, values):
        self._parts[self.rank] = values.copy()
        self._barrier.wait(60)
        total = np.sum(np.stack(self._parts), axis=0)
        self._barrier.wait(60)
        return total


def together(task, n_shards):
    """What ``task(rank, collective)`` gives on each of several shards that run at once."""
    parts, barrier = [None] * n_shards, threading.Barrier(n_shards)

    def one(rank):
        try:
            return task(rank, ThreadCollective(rank, parts, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(n_shards) as pool:
        return list(pool.map(one, range(n_shards)))


def plan_of(
    X, y, weights=None, *, n_hypotheses=30, edges=None, gini=False, balanced=False, most=255, **settings
):
    """The plan of a fit over all rows."""
    facts = Facts(X.shape[1])
    facts.take(X, y, weights)
    classes = sorted(facts.counts)
    edges = facts.edges(most) if edges is None else edges
    how = {"head": "auto", "memory": None, "smoothing": "auto", **settings}
    return FitPlan(
        np.array([facts.counts[c] for c in classes]),
        np.array([float(facts.weights[c]) for c in classes]),
        BinnedFeatures.of(edges, facts.has_missing),
        n_hypotheses,
        as_sketch_settings(n_hypotheses, **how),
        balanced=balanced,
        gini=gini,
    )


def chunk_of(plan, X, codes, weights):
    """Some rows as a chunk, those without weight left out."""
    if weights is not None:
        some = weights > 0.0
        X, codes, weights = X[some], codes[some], weights[some]
    return MemoryChunk(plan.features.bin_rows(np.ascontiguousarray(X)), codes, weights)


def fit_over_shards(X, y, weights, shards, plan, *, n_threads=1):
    """Fit rows that are cut into shards, each a list of arrays of row numbers; stumps, α, sketches."""
    codes = np.unique(y, return_inverse=True)[1]

    def task(rank, collective):
        chunks = [
            chunk_of(plan, X[rows], codes[rows], None if weights is None else weights[rows])
            for rows in shards[rank]
        ]
        return fit_shard([c for c in chunks if c.n], plan, collective, n_threads=n_threads)

    found = together(task, len(shards))
    assert agree(found)
    return stumps_in(plan, found[0]), [part.weighted.alpha for part in found[0]], sketches_of(plan, found)


def some_shards(n, n_shards, n_chunks, seed):
    """Row numbers dealt out at random: to shards, and in each to chunks; some may get none."""
    rng = np.random.default_rng(seed)
    shard, chunk = rng.integers(0, n_shards, n), rng.integers(0, n_chunks, n)
    return [[np.flatnonzero((shard == s) & (chunk == c)) for c in range(n_chunks)] for s in range(n_shards)]


def some_rows(n=600, seed=0, n_features=6, n_classes=2, values=9):
    """Rows with ties, missing values, a constant column and one that is mostly missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, n_features)).astype(float)
    X[:, 1] /= 7.0
    X[:, -1] = 3.0
    X[rng.random((n, n_features)) < 0.1] = np.nan
    if n_features > 3:
        X[rng.random(n) < 0.9, 2] = np.nan
    score = np.nan_to_num(X[:, 0]) + 5 * np.nan_to_num(X[:, 1]) * (np.nan_to_num(X[:, 3 % n_features]) > 3)
    y = np.digitize(score + rng.normal(0, 2, n), np.quantile(score, np.arange(1, n_classes) / n_classes))
    return X, y
