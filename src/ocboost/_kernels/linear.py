"""Steps of linear rules along margins: logistic regression, perceptron, passive-aggressive.

Every rounding is as written: a rule that asks for the sign of a sum must not depend on how it was added up.
"""

from __future__ import annotations

import math

from ocboost._kernels.compile import exact, plain
from ocboost._kernels.memory import Floats, Int8Matrix

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
def linear_steps(rows: Int8Matrix, weights: Floats, rule: int, rate: float, coef: Floats) -> None:
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
