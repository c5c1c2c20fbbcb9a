"""Oza and Russell's online boosting in plain loops, over a toy that learns."""

from __future__ import annotations

import math
import random

import numpy as np
from sklearn.utils import check_random_state

from ocboost.estimators.base_learners import NO_ANSWER, BaseLearner
from ocboost.lineage import OzaRussellClassifier


class Counts(BaseLearner):
    """A toy: how much weight each class has had where one feature has this sign."""

    def __init__(self, feature=0):
        self.feature = feature
        self.counts = {}

    def begin(self, n_features, n_classes, rng):
        other = type(self)(self.feature)
        other.counts = {side: [0.0] * n_classes for side in (False, True)}
        return other

    def learn(self, example, code, weight=1.0):
        self.counts[bool(example.X[0, self.feature] > 0)][code] += weight

    def answer(self, example):
        here = self.counts[bool(example.X[0, self.feature] > 0)]
        return here.index(max(here)) if max(here) > 0 else NO_ANSWER

    def probabilities(self, X, names):
        rows = [self.counts[side] for side in (X[:, self.feature] > 0).tolist()]
        return np.array([[count / (sum(row) or 1.0) for count in row] for row in rows])


class Plain:
    """OnlineBoost as published, in plain loops over the toy; ε added to both sums, as `OzaRussell` does."""

    def __init__(self, features, M, K, *, smoothing, forgetting=1.0, weight_of_draw=None):
        self.tables = [[{} for _ in features] for _ in range(M)]
        self.features, self.K, self.smoothing, self.forgetting = features, K, smoothing, forgetting
        self.draw = weight_of_draw or (lambda lam: lam)
        self.sc = [[0.0] * len(features) for _ in range(M)]
        self.sw = [[0.0] * len(features) for _ in range(M)]
        self.best = [0] * M
        self.N = 0.0

    def answer(self, m, p, x):
        row = self.tables[m][p].get(x[self.features[p]] > 0)
        return None if row is None else row.index(max(row))

    def learn(self, x, y, w=1.0):
        self.N = self.N * self.forgetting + w
        for sums in (self.sc, self.sw):
            for m, row in enumerate(sums):
                sums[m] = [value * self.forgetting for value in row]
        lam = w
        for m, tables in enumerate(self.tables):
            k = self.draw(lam)
            for p, feature in enumerate(self.features):
                if k > 0:
                    tables[p].setdefault(x[feature] > 0, [0.0] * self.K)[y] += k
                (self.sc if self.answer(m, p, x) == y else self.sw)[m][p] += lam
            self.best[m] = self.sw[m].index(min(self.sw[m]))
            b = self.best[m]
            sc, sw = self.sc[m][b], self.sw[m][b]
            extra = self.smoothing * ((sc + sw) / self.N)
            if self.answer(m, b, x) == y:
                lam = lam / (2 * (sc + extra)) * (sc + extra + (sw + extra))
            else:
                lam = lam / (2 * (sw + extra)) * (sc + extra + (sw + extra))

    def sums(self):
        return [[row[b] for row, b in zip(side, self.best, strict=True)] for side in (self.sc, self.sw)]

    def vote(self, m):
        sc, sw = self.sc[m][self.best[m]], self.sw[m][self.best[m]]
        extra = self.smoothing * ((sc + sw) / self.N)
        return math.log((sc + extra) / (sw + extra))

    def shares(self, m, x):
        """The probabilities of the one chosen: how often each class came on this side."""
        row = self.tables[m][self.best[m]].get(x[self.features[self.best[m]]] > 0, [0.0] * self.K)
        return [count / sum(row) if sum(row) else 0.0 for count in row]

    def scores(self, x, *, soft):
        """What each class gets of half the votes: by members' answers, or by their probabilities."""
        alphas = [self.vote(m) / 2 for m in range(len(self.tables))]
        if self.K > 2:
            alphas = [max(alpha, 0.0) for alpha in alphas]
            if max(alphas) == 0.0:  # nobody has a vote: the first member's, however small
                alphas[0] = 1e-6
        scores = [0.0] * self.K
        for m, alpha in enumerate(alphas):
            answer = self.answer(m, self.best[m], x)
            for c in range(self.K):
                scores[c] += alpha * (self.shares(m, x)[c] if soft else float(answer == c))
        return scores


def some_examples(seed, n, d=4, K=2):
    """Rows of ±1-like features of which the first few say something about the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    X = rng.normal(size=(n, d))
    X[:, : d - 1] += np.where(codes[:, None] % 2 > 0, 0.6, -0.6)
    return X, codes


class RiversDraws:
    """Draws as River's booster does with this seed, behind what is asked of numpy's generator."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def poisson(self, lam):
        from river.utils.random import poisson

        return poisson(lam, self.rng)

    def integers(self, _high):
        return 0


def boosted_by_river(monkeypatch, X, y, n_models, **parameters):
    """River's booster over its naive Bayes, and ours without smoothing over the same, with the same draws."""
    from river.ensemble import AdaBoostClassifier
    from river.naive_bayes import GaussianNB

    theirs = AdaBoostClassifier(GaussianNB(), n_models=n_models, seed=11)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        theirs.learn_one(dict(enumerate(x)), label)
    monkeypatch.setattr(
        "ocboost.estimators.oza_russell_classifier.np.random.default_rng", lambda _seed: RiversDraws(11)
    )
    return theirs, OzaRussellClassifier(GaussianNB(), n_models, smoothing=0.0, **parameters).fit(X, y)


def stream_of(seed):
    """The generator that a classifier with this random_state draws from."""
    return np.random.default_rng(check_random_state(seed).randint(1 << 31))
