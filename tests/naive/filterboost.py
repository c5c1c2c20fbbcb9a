"""FilterBoost as the paper writes it, one example at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ocboost.estimators.binary_filterboost import MAX_FAILED_TESTS


class TheEndError(Exception):
    """Of boosting, or of the stream."""


def plain_filterboost(X, y, learner, seed, T, *, epsilon=0.05, delta=0.05, tau=0.5, sample=500, most=100_000):
    """The paper's Filter, getEdge and FilterBoost, with our two departures; y is ±1."""
    y = np.asarray(y, dtype=np.int8)
    luck = np.random.default_rng([*seed, 0])
    oracle = iter(range(len(y)))
    found, alphas, counts = [], [], {"seen": 0, "accepted": 0}
    state = {}

    def score(i):
        total = 0.0
        for h, alpha in zip(found, alphas, strict=True):
            total += alpha * int(h.answers(X[i : i + 1])[0, 0])
        return total

    def call_filter():
        state["r"] += 1
        delta_r = state["delta_t"] / (state["r"] * (state["r"] + 1))
        i = 0
        while i < 2 / epsilon * math.log(1 / delta_r):
            row = next(oracle, None)
            if row is None:
                raise TheEndError("stream")
            counts["seen"] += 1
            i += 1
            if luck.random() < 1 / (1 + math.exp(y[row] * score(row))):
                counts["accepted"] += 1
                return row
        raise TheEndError("filter")

    def get_edge(h):
        m = n = 0
        u, rho = 0.0, math.inf
        while abs(u) < rho * (1 + 1 / tau):
            if n == most:
                return None
            row = call_filter()
            n += 1
            m += h.answers(X[row : row + 1])[0, 0] == y[row]
            u = m / n - 0.5
            rho = math.sqrt(math.log(n * (n + 1) / state["delta_t"]) / (2 * n))
        return u / (1 + tau)

    failed = 0
    try:
        for t in itertools.count(1):
            if len(found) == T:
                raise TheEndError("enough")
            state.update(r=0, delta_t=delta / (3 * t * (t + 1)))
            rows = []
            while len(rows) < sample:
                row = call_filter()
                if len(rows) < sample // 2 or {int(y[i]) for i in [*rows, row]} == {-1, 1}:
                    rows.append(row)
            rng = np.random.default_rng([*seed, 1, t])
            h = learner.learn(X[rows], y[rows], n_hypotheses=1, rng=rng)
            edge = get_edge(h)
            failed = failed + 1 if edge is None else 0
            if edge is not None:
                found.append(h)
                alphas.append(0.5 * math.log((0.5 + edge) / (0.5 - edge)))
            elif failed == MAX_FAILED_TESTS:
                raise TheEndError("zero")
    except TheEndError as end:
        return found, alphas, counts, str(end)
