"""Softmax regression on features, in plain NumPy: standardised as they come, or sparse at unit length."""

from __future__ import annotations

import math

import numpy as np

from ocboost._kernels import regression as kernels


class NaiveColumn:
    """Mean and variance of one feature over about 2,000 rows."""

    def __init__(self):
        self.mean, self.variance, self.n = 0.0, 0.0, 0

    def z(self, x):
        if math.isnan(x) or self.variance == 0.0:
            return 0.0
        return float(np.clip((x - self.mean) / math.sqrt(self.variance), -kernels.CLIP, kernels.CLIP))

    def learn(self, x, weight):
        if math.isnan(x):
            return
        x = float(np.clip(x, -1e140, 1e140))
        if self.n <= kernels.FIRST_ROWS and abs(self.mean) > kernels.ABSURD_START * max(abs(x), 1.0):
            self.__init__()  # what came first was absurd
        self.n = min(self.n + 1, int(kernels.MEMORY))
        if self.n == 1:
            self.mean = x
            return
        part, gap, size = min(weight, 1.0) / self.n, x - self.mean, max(abs(self.mean), 1.0)
        if self.variance > 0.0:
            most = kernels.MAX_DEVIATION * math.sqrt(self.variance)
        elif abs(gap) > kernels.ABSURD * size:
            most = kernels.MAX_DEVIATION * size
        else:
            most = abs(gap)
        gap = math.copysign(min(abs(gap), most), gap)
        self.mean += part * gap
        # Of a mixture of the past, with weight 1 - part, and the row.
        self.variance = (1.0 - part) * self.variance + part * (1.0 - part) * gap**2


def scores_of(weights, z):
    """w·z of each rate and class; of two classes the first has 0."""
    votes = weights @ z
    return np.hstack([np.zeros((len(votes), 1)), votes]) if votes.shape[1] == 1 else votes


def probabilities(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class NaiveDense:
    def __init__(self, n_features, n_classes, rates):
        self.K, self.rates = n_classes, rates
        self.columns = [NaiveColumn() for _ in range(n_features)]
        self.weights = np.zeros((len(rates), 1 if n_classes == 2 else n_classes, n_features + 1))

    def z(self, x):
        return np.array([*(c.z(value) for c, value in zip(self.columns, x, strict=True)), 1.0])

    def scores(self, x):
        return scores_of(self.weights, self.z(x))

    def learn(self, x, code, weight):
        z, target = self.z(x), np.arange(self.K) == code
        gradient = target - probabilities(self.scores(x))
        for r, rate in enumerate(self.rates):
            step = rate * min(weight, 10.0) / (1.0 + z @ z / len(self.columns))
            own = gradient[r, 1:] if self.K == 2 else gradient[r]
            self.weights[r] += step * np.outer(own, z)
        for column, value in zip(self.columns, x, strict=True):
            column.learn(value, weight)


class NaiveSparse:
    """Rows are dense here, zeros and missing numbers left out."""

    def __init__(self, n_features, n_classes, rates):
        self.K, self.rates = n_classes, rates
        self.weights = np.zeros((len(rates), 1 if n_classes == 2 else n_classes, n_features + 1))

    def z(self, x):
        x = np.nan_to_num(np.asarray(x), nan=0.0)
        top = np.abs(x).max(initial=0.0)
        unit = x if top == 0.0 else (x / top) / np.linalg.norm(x / top)
        return np.append(unit, 1.0)

    def scores(self, x):
        return scores_of(self.weights, self.z(x))

    def learn(self, x, code, weight):
        z = self.z(x)
        gradient = (np.arange(self.K) == code) - probabilities(self.scores(x))
        z[-1] = 0.1  # the intercept has the rate of dense rows
        for r, rate in enumerate(self.rates):
            own = gradient[r, 1:] if self.K == 2 else gradient[r]
            self.weights[r] += rate * min(weight, 10.0) * np.outer(own, z)
