"""Logits, and the maps that calibrate them: 25 knots, each counts how often a logit near it came true.

Logits of two classes are (0, z); of more they are log-probabilities, not less than -`FLOOR`, centred.
"""

from __future__ import annotations

import math

from ocboost._kernels.arrays import Floats
from ocboost._kernels.compile import exact

FLOOR = 12.0  # logits are within ± this
N_KNOTS = 25
REACH = 4.0  # knots lie within ± this, in units of an expert's mean |logit|
KNOTS_PER_UNIT = (N_KNOTS - 1) / (2.0 * REACH)


@exact
def logistic(z: float) -> float:
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@exact
def within(z: float, bound: float) -> float:
    return min(max(z, -bound), bound)


@exact
def log_odds(p: float) -> float:
    p = min(max(p, 6e-6), 1.0 - 6e-6)
    return within(math.log(p / (1.0 - p)), FLOOR)


@exact
def normalise(z: Floats) -> None:
    """Turn scores into logits, in place."""
    K = z.size
    if K == 2:
        z[1] = within(z[1] - z[0], FLOOR)
        z[0] = 0.0
        return
    top = z[0]
    for k in range(1, K):
        top = max(top, z[k])
    total = 0.0
    for k in range(K):
        total += math.exp(z[k] - top)
    shift = math.log(total)
    mean = 0.0
    for k in range(K):
        z[k] = max((z[k] - top) - shift, -FLOOR)
        mean += z[k]
    mean /= K
    for k in range(K):
        z[k] -= mean


@exact
def softmax(z: Floats, p: Floats) -> None:
    K = z.size
    if K == 2:
        p[1] = logistic(z[1] - z[0])
        p[0] = logistic(z[0] - z[1])
        return
    top = z[0]
    for k in range(1, K):
        top = max(top, z[k])
    total = 0.0
    for k in range(K):
        p[k] = math.exp(z[k] - top)
        total += p[k]
    for k in range(K):
        p[k] /= total


@exact
def _knot_level(i: int, scale: float, levels: Floats, counts: Floats, prior: float) -> float:
    """The value of a map at a knot; the identity where it has learnt nothing."""
    return levels[i] if counts[i] > prior else (i / KNOTS_PER_UNIT - REACH) * scale


@exact
def mapped(u: float, scale: float, levels: Floats, counts: Floats, prior: float) -> float:
    """A logit after a map: linear between knots, of slope one beyond them."""
    t = (u / scale + REACH) * KNOTS_PER_UNIT
    if t <= 0.0 or t >= N_KNOTS - 1:
        i = 0 if t <= 0.0 else N_KNOTS - 1
        knot = (i / KNOTS_PER_UNIT - REACH) * scale
        return within(u + _knot_level(i, scale, levels, counts, prior) - knot, FLOOR)
    i = int(t)
    a = t - i
    low = _knot_level(i, scale, levels, counts, prior)
    high = _knot_level(i + 1, scale, levels, counts, prior)
    return within((1.0 - a) * low + a * high, FLOOR)


@exact
def _teach_knot(
    i: int,
    share: float,
    hit: float,
    scale: float,
    rates: Floats,
    levels: Floats,
    counts: Floats,
    prior: float,
    limit: float,
) -> None:
    if share <= 0.0:
        return
    if counts[i] <= prior:
        rates[i] = logistic((i / KNOTS_PER_UNIT - REACH) * scale)
    n = min(counts[i] + share, limit)
    rates[i] += min(share / n, 1.0) * (hit - rates[i])
    counts[i] = n
    levels[i] = log_odds(rates[i])


@exact
def teach_map(
    u: float,
    hit: float,
    weight: float,
    scale: float,
    rates: Floats,
    levels: Floats,
    counts: Floats,
    prior: float,
    limit: float,
) -> None:
    """Let a map learn whether an event of logit u was a hit, 1 or 0: the two knots beside u count it."""
    t = min(max((u / scale + REACH) * KNOTS_PER_UNIT, 0.0), N_KNOTS - 1.0)
    i = min(int(t), N_KNOTS - 2)
    a = t - i
    _teach_knot(i, weight * (1.0 - a), hit, scale, rates, levels, counts, prior, limit)
    _teach_knot(i + 1, weight * a, hit, scale, rates, levels, counts, prior, limit)


@exact
def binary_logit(z: Floats, p: Floats, k: int) -> float:
    """What the map of class k sees: z of two classes, log p_k / (1 - p_k) of more."""
    return z[1] - z[0] if z.size == 2 else log_odds(p[k])


@exact
def calibrate(
    z: Floats, p: Floats, scale: float, levels: Floats, counts: Floats, prior: float, out: Floats
) -> None:
    """Logits after the maps, (n_maps, N_KNOTS); one map of two classes, one for each of more."""
    if z.size == 2:
        out[0] = 0.0
        out[1] = mapped(z[1] - z[0], scale, levels[0], counts[0], prior)
        return
    for k in range(z.size):
        level = mapped(log_odds(p[k]), scale, levels[k], counts[k], prior)
        out[k] = math.log(logistic(level))
    normalise(out)
