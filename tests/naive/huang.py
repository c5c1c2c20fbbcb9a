"""Huang and others' incremental boosting in plain loops, which keep every example."""

from __future__ import annotations

import math

import ocboost
from tests.support.makers import decayed_weights


class PlainHuang:
    """The same in plain loops: every example is kept, and the loss is written down as it stands."""

    def __init__(self, J, *, share=0.8, window=500, absorb=True, every=10, max_steps=20, tolerance=1e-3,
                 smoothing=1.0, forgetting=1.0):  # fmt: skip
        self.J, self.share, self.window, self.absorb = J, share, window, absorb
        self.every, self.max_steps, self.tolerance = every, max_steps, tolerance
        self.smoothing, self.forgetting = smoothing, forgetting
        self.examples = []  # (margins, weight, label, number)
        self.offline = 0  # how many of them were offline
        self.alpha, self.length = [0.0] * J, 1.0

    def parts(self):
        """(weight at present, margins, label) of the past's examples and of the window's."""
        n = len(self.examples)
        past, held = [], []
        for number, (row, weight, label) in enumerate(self.examples, 1):
            now = (weight * self.forgetting ** (n - number), row, label)
            if number <= self.offline:
                past.append(now)
            elif weight > 0:
                held.append(now)
        if len(held) > self.window:
            gone, held = held[: -self.window], held[-self.window :]
            if self.absorb:
                past += gone
        return past, held

    def terms(self, alpha):
        """Each term of L with its gradient relative to it."""
        past, held = self.parts()
        off, on = sum(w for w, _, _ in past), sum(w for w, _, _ in held)
        u = self.share * min(1.0, on / self.window)
        v = (1.0 - self.share) * min(1.0, off / self.window)
        result = []
        for side in (1, -1):
            mass = sum(w for w, _, label in past if label == side)
            if mass == 0.0 or v == 0.0:
                continue
            term, slope = v / (u + v) * mass / off, []
            for j in range(self.J):
                right = sum(w for w, row, label in past if label == side and row[j] == 1)
                p = (right / mass * (off + on) + self.smoothing) / (off + on + 2.0 * self.smoothing)
                up, down = p * math.exp(-alpha[j]), (1.0 - p) * math.exp(alpha[j])
                term *= up + down
                slope.append((down - up) / (up + down))
            result.append((term, slope))
        for w, row, _ in held:
            if u == 0.0:
                continue
            q = self.smoothing / (off + on + 2.0 * self.smoothing)
            term, slope = u / (u + v) * w / on, []
            for j in range(self.J):
                same = (1.0 - q) * math.exp(-alpha[j] * row[j])
                flipped = q * math.exp(alpha[j] * row[j])
                term *= same + flipped
                slope.append(row[j] * (flipped - same) / (same + flipped))
            result.append((term, slope))
        return result

    def objective(self, alpha):
        return math.log(sum(term for term, _ in self.terms(alpha)))

    def gradient(self, alpha):
        terms = self.terms(alpha)
        total = sum(term for term, _ in terms)
        return [sum(term * slope[j] for term, slope in terms) / total for j in range(self.J)]

    def start(self, margins, weights, labels):
        for row, weight, label in zip(margins, weights, labels, strict=True):
            self.examples.append((row, weight, label))
        self.offline = len(self.examples)
        present = decayed_weights(len(margins), self.forgetting, weights)
        self.alpha = list(ocboost.adaboost_weights(margins, smoothing=self.smoothing, sample_weight=present))

    def update_many(self, margins, weights, labels, batch_size):
        for start in range(0, len(margins), batch_size):
            due = False
            for i in range(start, min(start + batch_size, len(margins))):
                self.examples.append((margins[i], weights[i], labels[i]))
                number = len(self.examples)
                due = due or number <= self.every or number % self.every == 0
            if due and self.terms(self.alpha):
                self.descend()

    def descend(self):
        for _ in range(self.max_steps):
            gradient = self.gradient(self.alpha)
            if max(abs(g) for g in gradient) <= self.tolerance:
                return
            low, square = self.objective(self.alpha), sum(g * g for g in gradient)
            t = self.length
            while True:
                trial = [a - t * g for a, g in zip(self.alpha, gradient, strict=True)]
                if self.objective(trial) <= low - 1e-4 * t * square:
                    break
                t /= 2
            change = [b - a for a, b in zip(gradient, self.gradient(trial), strict=True)]
            moved = [-t * g for g in gradient]
            self.length = sum(m * c for m, c in zip(moved, change, strict=True)) / sum(c * c for c in change)
            self.alpha = trial
