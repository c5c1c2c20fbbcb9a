"""Softmax regression on the features themselves, by stochastic gradients, at several rates at once.

Dense rows are standardised by running means and variances, clipped, and a missing number is the mean. Sparse
rows are scaled to unit length instead.
"""

from __future__ import annotations

import math

from ocboost._kernels.arrays import Floats, Ints
from ocboost._kernels.compile import exact, kernel, plain

CLIP = 4.0
MEMORY = 2000.0  # rows that means and variances are over
MAX_DEVIATION = 8.0  # standard deviations: what a row may add to them
ABSURD = 1e6  # times |mean|, and 1: too far from a column that has been constant
ABSURD_START = 1e12  # times |x|, and 1: what the mean of the first rows cannot be
FIRST_ROWS = 10.0


@plain
def standardise(x: Floats, means: Floats, variances: Floats, out: Floats) -> None:
    """z-scores of a row within ± CLIP, 0 where a number is missing, and a 1 for the intercept."""
    F = x.size
    for f in range(F):
        value = 0.0
        if x[f] == x[f] and variances[f] > 0.0:
            value = min(max((x[f] - means[f]) / math.sqrt(variances[f]), -CLIP), CLIP)
        out[f] = value
    out[F] = 1.0


@exact
def _follow(x: Floats, means: Floats, variances: Floats, counts: Floats, weight: float) -> None:
    """Update the means and variances by a row; far-off numbers are drawn in first.

    Where a column has been constant nothing says what is far off but the size of its numbers. A first number
    that is absurd beside the next ones is forgotten: a variance that is too large is useless for long, one
    that is too small grows soon.
    """
    for f in range(x.size):
        if x[f] != x[f]:
            continue
        value = min(max(x[f], -1e140), 1e140)
        if counts[f] <= FIRST_ROWS and abs(means[f]) > ABSURD_START * max(abs(value), 1.0):
            counts[f] = means[f] = variances[f] = 0.0
        n = min(counts[f] + 1.0, MEMORY)
        counts[f] = n
        if n == 1.0:
            means[f] = value
            continue
        rate = min(weight, 1.0) / n
        gap = value - means[f]
        bound = MAX_DEVIATION * math.sqrt(variances[f])
        if bound == 0.0:
            size = max(abs(means[f]), 1.0)
            bound = ABSURD * size if abs(gap) <= ABSURD * size else MAX_DEVIATION * size
        gap = min(max(gap, -bound), bound)
        means[f] += rate * gap
        variances[f] = (1.0 - rate) * (variances[f] + rate * gap * gap)


@kernel
def dense_scores(z: Floats, weights: Floats, out: Floats) -> None:
    """w·z of each class, (rates, K); of two classes the first has 0. ``weights`` is (rates, maps, F + 1)."""
    n_rates, n_maps, n = weights.shape
    for r in range(n_rates):
        if n_maps == 1:
            out[r, 0] = 0.0
        for k in range(n_maps):
            row = weights[r, k]
            total = 0.0
            for f in range(n):
                total += row[f] * z[f]
            out[r, k if n_maps > 1 else 1] = total


@exact
def _push(scores: Floats, k: int, own: int, code: int) -> float:
    """1[y = k] - p_k, from the scores of one rate."""
    top = scores[0]
    for i in range(1, scores.size):
        top = max(top, scores[i])
    total = 0.0
    for i in range(scores.size):
        total += math.exp(scores[i] - top)
    return (1.0 if code == own else 0.0) - math.exp(scores[own] - top) / total


@plain
def dense_learn(
    x: Floats,
    z: Floats,
    code: int,
    weight: float,
    rates: Floats,
    weights: Floats,
    means: Floats,
    variances: Floats,
    counts: Floats,
    scores: Floats,
) -> None:
    """A step of each rate along a row z that `standardise` gave, and the means and variances of x."""
    dense_scores(z, weights, scores)
    n_rates, n_maps, n = weights.shape
    square = 0.0
    for f in range(n):
        square += z[f] * z[f]
    shrink = 1.0 + square / (n - 1)
    for r in range(n_rates):
        step = rates[r] * min(weight, 10.0) / shrink
        for k in range(n_maps):
            own = k if n_maps > 1 else 1
            push = step * _push(scores[r], k, own, code)
            row = weights[r, k]
            for f in range(n):
                row[f] += push * z[f]
    _follow(x, means, variances, counts, weight)


@exact
def _length(values: Floats) -> float:
    """The length of a row, at least a tiny number; no square overflows."""
    top = 0.0
    for i in range(values.size):
        if values[i] == values[i]:
            top = max(top, abs(values[i]))
    if top == 0.0:
        return 1.0
    square = 0.0
    for i in range(values.size):
        if values[i] == values[i]:
            square += (values[i] / top) * (values[i] / top)
    return top * math.sqrt(square)


@plain
def sparse_scores(columns: Ints, values: Floats, weights: Floats, out: Floats) -> None:
    """The same for a sparse row of unit length; the last weight is the intercept."""
    n_rates, n_maps, n = weights.shape
    length = _length(values)
    for r in range(n_rates):
        if n_maps == 1:
            out[r, 0] = 0.0
        for k in range(n_maps):
            row = weights[r, k]
            total = row[n - 1]
            for i in range(columns.size):
                if values[i] == values[i]:
                    total += row[columns[i]] * (values[i] / length)
            out[r, k if n_maps > 1 else 1] = total


@plain
def sparse_learn(
    columns: Ints, values: Floats, code: int, weight: float, rates: Floats, weights: Floats, scores: Floats
) -> None:
    """A step of each rate along a sparse row."""
    sparse_scores(columns, values, weights, scores)
    n_rates, n_maps, n = weights.shape
    length = _length(values)
    for r in range(n_rates):
        step = rates[r] * min(weight, 10.0)
        for k in range(n_maps):
            own = k if n_maps > 1 else 1
            push = step * _push(scores[r], k, own, code)
            row = weights[r, k]
            for i in range(columns.size):
                if values[i] == values[i]:
                    row[columns[i]] += push * (values[i] / length)
            row[n - 1] += push / 10.0
