"""Neighbours by answers, one row after the other."""

from __future__ import annotations

import math

from ocboost._kernels.neighbours import SMOOTH_EACH, SMOOTH_MEAN


class NaiveNeighbours:
    def __init__(self, n_classes, windows, widths, experts):
        self.K, self.windows, self.widths, self.experts = n_classes, windows, widths, experts
        self.kept = []  # answers, code, weight; the newest last

    def learn(self, answers, code, weight):
        self.kept.append((list(answers), code, min(weight, 1.0)))

    def scores(self, answers):
        answers, found = list(answers), []
        for w, t in self.experts:
            votes = [0.0] * self.K
            for row, code, weight in self.kept[-self.windows[w] :]:
                d = sum(a != b for a, b in zip(row, answers, strict=True))
                votes[code] += weight * math.exp(-d / (self.widths[t] * max(len(answers), 1)))
            mean = sum(votes) / self.K
            found.append([math.log(v + SMOOTH_MEAN * mean + SMOOTH_EACH) for v in votes])
        return found
