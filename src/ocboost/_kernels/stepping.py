"""Steps along margins: the multiplicative rules Winnow and EG±, and linear rules.

In the multiplicative ones each hypothesis has one exponent θ_j, and its weights are exp(±θ_j). Every rounding
is as written: a rule that asks for the sign of a sum must not depend on how it was added up.
"""

from __future__ import annotations

import math

from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.compile import exact, plain

MAX_STEP = 1e200  # of a step, but for its slope: however many there are, they add up to a number
MAX_EXPONENT = 1e250  # where no exponent, and no count, gets by such steps
ZERO_VOTE = 1e-12  # of Σ|vote|: as far as a sum of votes of nothing is from 0 by rounding


@exact
def differences(x: Floats, rate: float, votes: Floats) -> tuple[float, float]:
    """votes_j = (exp(θ_j) - exp(-θ_j)) / exp(max|θ|), θ = rate · x; gives Σ|votes|, and Σ of the other sign.

    Nothing overflows, and a small θ_j keeps its digits.
    """
    top = 0.0
    for j in range(x.size):
        top = max(top, abs(rate * x[j]))
    apart, together = 0.0, 0.0
    for j in range(x.size):
        size = abs(rate * x[j])
        larger = math.exp(size - top)
        vote = -larger * math.expm1(-2.0 * size)
        apart += vote
        together += larger + larger * math.exp(-2.0 * size)
        votes[j] = vote if x[j] >= 0.0 else -vote
    return apart, together


@exact
def _move(x: Floats, steps: Floats) -> None:
    for j in range(x.size):
        x[j] += steps[j]


@plain
def winnow_batches(
    rows: Int8s,
    weights: Floats,
    batch_size: int,
    rate: float,
    margin: float,
    counts: Floats,
    votes: Floats,
    steps: Floats,
) -> None:
    """Take in examples, the mean step of ``batch_size`` of them at once; ``votes`` and ``steps`` are room."""
    n, J = rows.shape
    apart, _ = differences(counts, rate, votes)
    for start in range(0, n, batch_size):
        stop = min(start + batch_size, n)
        moved = False
        for i in range(start, stop):
            total = 0.0
            for j in range(J):
                total += rows[i, j] * votes[j]
            length = min(weights[i], MAX_STEP) / (stop - start)
            if total > (margin + ZERO_VOTE) * apart or length == 0.0:
                continue
            if not moved:
                steps[:] = 0.0
                moved = True
            for j in range(J):
                steps[j] += length * rows[i, j]
        if moved:
            _move(counts, steps)
            apart, _ = differences(counts, rate, votes)


@exact
def _push(f: float, square: bool) -> float:
    """-L'(f), the slope of the loss at the margin f: of (1 - f)², or of log(1 + exp(-2f))."""
    if square:
        return 2.0 * (1.0 - f)
    return 2.0 / (1.0 + math.exp(min(2.0 * f, 700.0)))


@plain
def eg_batches(
    rows: Int8s,
    weights: Floats,
    batch_size: int,
    rate: float,
    norm: float,
    square: bool,
    theta: Floats,
    votes: Floats,
    steps: Floats,
) -> None:
    """Take in examples, the mean step of ``batch_size`` of them at once; ``votes`` and ``steps`` are room."""
    n, J = rows.shape
    _, together = differences(theta, 1.0, votes)
    for start in range(0, n, batch_size):
        stop = min(start + batch_size, n)
        steps[:] = 0.0
        for i in range(start, stop):
            total = 0.0
            for j in range(J):
                total += rows[i, j] * votes[j]
            length = min(rate * norm * weights[i], MAX_STEP) / (stop - start)
            length *= _push(norm * total / together, square)
            for j in range(J):
                steps[j] += length * rows[i, j]
        _move(theta, steps)
        _, together = differences(theta, 1.0, votes)


@plain
def eg_advance(
    row: Int8s,
    weight: float,
    rate: float,
    norm: float,
    square: bool,
    theta: Floats,
    votes: Floats,
    together: float,
    alpha: Floats,
) -> float:
    """Take in one example as `eg_batches` does, where ``votes`` and ``together`` are those of θ before it.

    Where ``together`` is 0 they are not known yet. They become those of θ after it; gives ``together``, and
    writes α as `eg_alpha` does.
    """
    J = row.size
    if together == 0.0:
        _, together = differences(theta, 1.0, votes)
    total = 0.0
    for j in range(J):
        total += row[j] * votes[j]
    length = min(rate * norm * weight, MAX_STEP) / 1
    length *= _push(norm * total / together, square)
    for j in range(J):
        theta[j] += length * row[j]
    _, together = differences(theta, 1.0, votes)
    for j in range(J):
        alpha[j] = votes[j] * (norm / together)
    return together


@plain
def winnow_alpha(counts: Floats, rate: float, alpha: Floats) -> None:
    """The differences of the two weights, in units of their Euclidean norm."""
    apart, _ = differences(counts, rate, alpha)
    if apart == 0.0:
        return
    squares = 0.0
    for j in range(counts.size):
        alpha[j] /= apart
        squares += alpha[j] * alpha[j]
    length = math.sqrt(squares)
    for j in range(counts.size):
        alpha[j] /= length


@plain
def eg_alpha(theta: Floats, norm: float, alpha: Floats) -> None:
    """α_j = U (exp(θ_j) - exp(-θ_j)) / Σ_l (exp(θ_l) + exp(-θ_l))."""
    _, together = differences(theta, 1.0, alpha)
    for j in range(theta.size):
        alpha[j] *= norm / together


LOGISTIC, PERCEPTRON, PASSIVE_AGGRESSIVE = range(3)


@exact
def _step(rule: int, rate: float, f: float, J: int) -> float:
    """How far an example of weight one moves the weights, its margin being f."""
    if rule == LOGISTIC:
        return rate / (1.0 + math.exp(f)) if f < 700.0 else 0.0
    if rule == PERCEPTRON:
        return rate if f <= 0.0 else 0.0
    return min(rate, max(0.0, 1.0 - f) / J)


@plain
def linear_steps(rows: Int8s, weights: Floats, rule: int, rate: float, coef: Floats) -> None:
    """Take in examples one by one: ``c ← c + w · step(c·m) · m``."""
    n, J = rows.shape
    for i in range(n):
        f = 0.0
        for j in range(J):
            f += coef[j] * rows[i, j]
        step = weights[i] * _step(rule, rate, f, J)
        if step != 0.0:
            for j in range(J):
                coef[j] += step * rows[i, j]
