"""Patterns of labels, counted anew from the list of all labels each time."""

from __future__ import annotations

import math

from ocboost._kernels.label_patterns import MIN_RATE


class NaivePatterns:
    """``memories`` are those of running frequencies, ``fading`` that of what followed a label."""

    def __init__(self, n_classes, memories, fading):
        self.K, self.memories, self.fading = n_classes, memories, fading
        self.seen = []  # the label before, the label, the weight

    def learn(self, last, code, weight):
        self.seen.append((last, code, min(weight, 1.0)))

    def frequency(self, k, memory):
        left, total = 1.0, 0.0  # what later labels have left of the weight of earlier ones
        for _, code, weight in reversed(self.seen):
            part = weight * (1.0 - memory)
            total += left * part * (code == k)
            left *= 1.0 - part
        return total + left / self.K

    def followed(self, last, k):
        left, total = 1.0, 0.0
        for before, code, weight in reversed(self.seen):
            if before == last:
                total += left * weight * (code == k)
                left *= 1.0 - weight * (1.0 - self.fading)
        return total

    def scores(self, last):
        found = [
            [math.log(max(self.frequency(k, m), MIN_RATE)) for k in range(self.K)] for m in self.memories
        ]
        return [*found, [math.log(self.followed(last, k) + 0.5) for k in range(self.K)]]
