"""A plain twin of `OCBClassifier(grow=…)` over stumps in a window, where AdaBoost's weights are exact.

Nothing is shared with the package but the learner, which is given. A hypothesis is a tuple of feature,
threshold, answer at or below it and answer to NaN; rows are kept as they come, and every weight is solved
from the start.
"""

from __future__ import annotations

import math

import numpy as np

from tests.naive import sketch as naive


def answer(stump, x):
    feature, threshold, left, missing = stump
    if math.isnan(x[feature]):
        return missing
    return left if x[feature] <= threshold else -left


def as_tuples(stumps):
    return list(
        zip(
            stumps.feature.tolist(),
            stumps.threshold.tolist(),
            stumps.left.tolist(),
            stumps.missing.tolist(),
            strict=True,
        )
    )


class NaiveGrowth:
    """Filter, learn, try, append, retire; one row at a time.

    ``pools`` are the stumps of each booster, and ``settings`` a dict of budget, sample, candidates, test,
    delta and every.
    """

    def __init__(self, pools, X, codes, window, settings, learner, seed):
        self.pools = [list(pool) for pool in pools]
        self.K = len(pools)
        self.window, self.settings, self.learner = window, settings, learner
        self.rows = [np.array(x, dtype=float) for x in X]
        self.codes, self.weights = list(codes), [1.0] * len(X)
        self.filter = np.random.Generator(np.random.PCG64([seed, 0]))
        self.luck = np.random.Generator(np.random.PCG64([seed, 1]))
        self.since = self.n_grown = self.n_retired = 0
        self.samples = [[] for _ in range(self.K)]
        self.candidates = [None] * self.K
        self.tested = [[] for _ in range(self.K)]  # for each hard row, which candidates were right
        self.alphas = self.solved()
        self.worth = [[abs(a) for a in alpha] for alpha in self.alphas]

    def label(self, code, k):
        return 1 if code == (1 if self.K == 1 else k) else -1

    def solved(self):
        """AdaBoost on the window's margins."""
        alphas = []
        recent = range(max(0, len(self.rows) - self.window), len(self.rows))
        for k, pool in enumerate(self.pools):
            margins = [
                [self.label(self.codes[i], k) * answer(stump, self.rows[i]) for stump in pool] for i in recent
            ]
            alphas.append(naive.adaboost_weights(margins, sample_weight=[self.weights[i] for i in recent]))
        return alphas

    def take(self, x, code, weight=1.0):
        """One row; whether α was read after it."""
        self.rows.append(np.array(x, dtype=float))
        self.codes.append(code)
        self.weights.append(weight)
        self.since += 1
        if self.since < self.settings["every"]:
            return False
        self.since = 0
        self.look()
        return True

    def look(self):
        n = self.settings["every"]
        luck = self.filter.random((n, self.K))
        for k in range(self.K):
            found = []
            for i in range(n):
                place = len(self.rows) - n + i
                x, y = self.rows[place], self.label(self.codes[place], k)
                F = sum(a * answer(h, x) for a, h in zip(self.alphas[k], self.pools[k], strict=True))
                if luck[i, k] < min(self.weights[place], 1.0) / (1.0 + math.exp(y * F)):
                    found.append(self.hard(k, x, y))
            for new in found:
                if new:
                    self.grow(k, new)
        self.alphas = self.solved()
        for k, alpha in enumerate(self.alphas):
            self.worth[k] = [
                abs(a) if worth is None else 0.99 * worth + 0.01 * abs(a)
                for worth, a in zip(self.worth[k], alpha, strict=True)
            ]

    def hard(self, k, x, y):
        """One row that the filter let through; the candidates that pass, if their test ends with it."""
        passed = []
        if self.candidates[k] is not None:
            self.tested[k].append([answer(stump, x) == y for stump in self.candidates[k]])
            if len(self.tested[k]) == self.settings["test"]:
                bound = math.sqrt(math.log(1 / self.settings["delta"]) / (2 * self.settings["test"]))
                for j, stump in enumerate(self.candidates[k]):
                    share = sum(right[j] for right in self.tested[k]) / self.settings["test"]
                    if share - 0.5 >= bound:
                        passed.append(stump)
                self.candidates[k], self.tested[k] = None, []
        self.samples[k].append((x, y))
        if len(self.samples[k]) >= self.settings["sample"] and self.candidates[k] is None:
            rows, labels = zip(*self.samples[k], strict=True)
            if len(set(labels)) == 2:
                learnt = self.learner.learn(
                    np.array(rows),
                    np.array(labels, np.int8),
                    n_hypotheses=self.settings["candidates"],
                    rng=self.luck,
                )
                self.candidates[k] = as_tuples(learnt)
            self.samples[k] = []
        return passed

    def grow(self, k, new):
        budget = self.settings["budget"]
        new = new[: budget - 1]
        pool, worth = self.pools[k] + new, self.worth[k] + [None] * len(new)
        while len(pool) > budget:
            known = [(w, j) for j, w in enumerate(worth) if w is not None]
            _, least = min(known)
            del pool[least], worth[least]
            self.n_retired += 1
        self.pools[k], self.worth[k] = pool, worth
        self.n_grown += len(new)
