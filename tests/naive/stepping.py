"""Winnow, EG± and the linear rules in plain loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def learn_in_batches(plain, margins, weight, batch_size):
    """Let a twin learn a batch at a time."""
    for first in range(0, len(margins), batch_size):
        part = slice(first, first + batch_size)
        plain.batch(margins[part], weight[part])


class PlainWinnow:
    """Two weights for each hypothesis, multiplied as the rule says."""

    def __init__(self, J, rate, margin):
        self.exponents = [Fraction(0)] * J  # exact: hypotheses that gain and lose must come back to 1
        self.rate, self.margin = rate, margin
        self.steps = 0

    def batch(self, rows, weights):
        difference = self.difference
        size = sum(abs(d) for d in difference)
        steps = [Fraction(0)] * len(difference)
        for row, w in zip(rows, weights, strict=True):
            vote = sum(int(m) * d for m, d in zip(row, difference, strict=True))
            if vote <= self.margin * size + 1e-12 * size:
                self.steps += 1
                for j, m in enumerate(row):
                    steps[j] += Fraction(float(w)) * int(m) / len(rows)
        self.exponents = [e + s for e, s in zip(self.exponents, steps, strict=True)]

    @property
    def difference(self):
        u = [math.exp(self.rate * float(e)) for e in self.exponents]
        v = [math.exp(-self.rate * float(e)) for e in self.exponents]
        return [a - b for a, b in zip(u, v, strict=True)]

    @property
    def alpha(self):
        difference = np.array(self.difference)
        return difference / max(math.sqrt((difference**2).sum()), 1e-300)


class PlainEG:
    """The paper's two vectors of weights, which add up to U."""

    def __init__(self, J, rate, norm, loss):
        self.plus, self.minus = [norm / (2 * J)] * J, [norm / (2 * J)] * J
        self.rate, self.norm, self.loss = rate, norm, loss
        self.total_loss = 0.0

    def slope(self, f):
        if self.loss == "square":
            self.total_loss += (1 - f) ** 2
            return 2 * (f - 1)
        self.total_loss += math.log1p(math.exp(-2 * f))
        return -2 / (1 + math.exp(2 * f))

    def batch(self, rows, weights):
        J = len(self.plus)
        s = [0.0] * J
        for row, w in zip(rows, weights, strict=True):
            f = sum(int(row[j]) * (self.plus[j] - self.minus[j]) for j in range(J))
            slope = self.slope(f)
            for j in range(J):
                s[j] += self.rate * self.norm * w * slope * int(row[j]) / len(rows)
        plus = [self.plus[j] * math.exp(-s[j]) for j in range(J)]
        minus = [self.minus[j] * math.exp(s[j]) for j in range(J)]
        total = sum(plus) + sum(minus)
        self.plus = [self.norm * p / total for p in plus]
        self.minus = [self.norm * p / total for p in minus]

    @property
    def alpha(self):
        return np.array(self.plus) - np.array(self.minus)


class PlainLinear:
    """Steps along the margins."""

    def __init__(self, J, step):
        self.c, self.step = [0.0] * J, step

    def update(self, row, w):
        f = sum(c * int(m) for c, m in zip(self.c, row, strict=True))
        length = w * self.step(f, len(row))
        self.c = [c + length * int(m) for c, m in zip(self.c, row, strict=True)]


STEPS = {
    "logistic": lambda f, J: 0.2 / (1 + math.exp(f)),
    "perceptron": lambda f, J: 1.0 if f <= 0 else 0.0,
    "passive-aggressive": lambda f, J: min(1.0, max(0.0, 1 - f) / J),
    "passive-aggressive, C": lambda f, J: min(0.01, max(0.0, 1 - f) / J),
}
