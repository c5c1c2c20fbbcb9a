"""Patterns of labels, counted anew from the list of all labels each time."""

from __future__ import annotations

import math

from ocboost._kernels.label_patterns import MIN_RATE


class NaivePatterns:
    """``memories`` are those of running frequencies, ``fading`` that of what followed a label."""

    def __init__(self, n_classes, memories, fading, n_distances=1):
        self.K, self.memories, self.fading = n_classes, memories, fading
        self.farthest = n_distances - 1
        self.seen = []  # the label before, the predictions since then, the label, the weight

    def learn(self, last, code, weight, since=0):
        self.seen.append((last, min(since, self.farthest), code, min(weight, 1.0)))

    def frequency(self, k, memory):
        left, total = 1.0, 0.0  # what later labels have left of the weight of earlier ones
        for _, _, code, weight in reversed(self.seen):
            part = weight * (1.0 - memory)
            total += left * part * (code == k)
            left *= 1.0 - part
        return total + left / self.K

    def followed(self, last, k, since=None):
        left, total = 1.0, 0.0
        for before, distance, code, weight in reversed(self.seen):
            if before == last and since in (None, distance):
                total += left * weight * (code == k)
                left *= 1.0 - weight * (1.0 - self.fading)
        return total

    def scores(self, last, since=0, has_distances=False):
        found = [
            [math.log(max(self.frequency(k, m), MIN_RATE)) for k in range(self.K)] for m in self.memories
        ]
        found.append([math.log(self.followed(last, k) + 0.5) for k in range(self.K)])
        since = min(since, self.farthest)
        by_distance = [math.log(self.followed(last, k, since) + 0.5) for k in range(self.K)]
        return [*found, by_distance if has_distances else [0.0] * self.K]
