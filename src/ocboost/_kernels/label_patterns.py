"""Patterns of the labels alone: how frequent each has been lately, and which follows which."""

from __future__ import annotations

import math

from ocboost._kernels.arrays import Floats
from ocboost._kernels.compile import plain

MIN_RATE = 1e-5


@plain
def pattern_scores(rates: Floats, follows: Floats, last: int, out: Floats) -> None:
    """The log of each running rate, and of (count + ½) of what followed the last label.

    ``rates`` is (n, K), ``follows`` (K + 1, K): its last row is for the time before the first label.
    """
    n, K = rates.shape
    for r in range(n):
        for k in range(K):
            out[r, k] = math.log(max(rates[r, k], MIN_RATE))
    for k in range(K):
        out[n, k] = math.log(follows[last, k] + 0.5)


@plain
def learn_pattern(
    rates: Floats, memory: Floats, follows: Floats, fading: float, last: int, code: int, weight: float
) -> None:
    """Count a label that came after ``last``, the newest label known when its row was predicted."""
    n, K = rates.shape
    part = min(weight, 1.0)
    for r in range(n):
        step = part * (1.0 - memory[r])
        for k in range(K):
            rates[r, k] += step * ((1.0 if k == code else 0.0) - rates[r, k])
    for k in range(K):
        follows[last, k] *= 1.0 - part * (1.0 - fading)
    follows[last, code] += part
