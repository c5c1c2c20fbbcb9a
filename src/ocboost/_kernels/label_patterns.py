"""Patterns of the labels alone: how frequent each has been lately, and which follows which."""

from __future__ import annotations

import math

from ocboost._kernels.arrays import Floats
from ocboost._kernels.compile import plain

MIN_RATE = 1e-5


@plain
def pattern_scores(
    rates: Floats,
    follows: Floats,
    by_distance: Floats,
    last: int,
    since: int,
    has_distances: bool,
    out: Floats,
) -> None:
    """The log of each running rate, and of (count + ½) of what followed the last label.

    ``rates`` is (n, K), ``follows`` (K + 1, K): its last row is for the time before the first label.
    ``by_distance``, (D, K + 1, K), counts separately by the predictions since the last label came.
    """
    n, K = rates.shape
    for r in range(n):
        for k in range(K):
            out[r, k] = math.log(max(rates[r, k], MIN_RATE))
    for k in range(K):
        out[n, k] = math.log(follows[last, k] + 0.5)
        out[n + 1, k] = 0.0
    if has_distances:
        counts = by_distance[min(since, by_distance.shape[0] - 1), last]
        for k in range(K):
            out[n + 1, k] = math.log(counts[k] + 0.5)


@plain
def learn_pattern(
    rates: Floats,
    memory: Floats,
    follows: Floats,
    by_distance: Floats,
    fading: float,
    last: int,
    since: int,
    code: int,
    weight: float,
) -> None:
    """Count a label whose row was predicted ``since`` predictions after ``last``, the newest label then."""
    n, K = rates.shape
    part = min(weight, 1.0)
    for r in range(n):
        step = part * (1.0 - memory[r])
        for k in range(K):
            rates[r, k] += step * ((1.0 if k == code else 0.0) - rates[r, k])
    counts = by_distance[min(since, by_distance.shape[0] - 1), last]
    for k in range(K):
        follows[last, k] *= 1.0 - part * (1.0 - fading)
        counts[k] *= 1.0 - part * (1.0 - fading)
    follows[last, code] += part
    counts[code] += part
