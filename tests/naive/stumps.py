"""What stumps answer, and what each round of boosting over them must have chosen, in plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest


def plain_cuts(x):
    """Every cut of a feature: halfway between neighbouring distinct values, and above all of them."""
    values = sorted({v for v in x.tolist() if not math.isnan(v)})
    return [(a + b) / 2 for a, b in itertools.pairwise(values)] + [math.inf]


def plain_scores(X, signed):
    """By how much the best stump of each feature and cut is more right than wrong."""
    scores = {}
    for f in range(X.shape[1]):
        x, lost = X[:, f], np.isnan(X[:, f])
        for t in plain_cuts(x):
            low, high = ~lost & (x <= t), ~lost & (x > t)
            scores[f, t] = abs(signed[low].sum() - signed[high].sum()) + abs(signed[lost].sum())
    return scores


def plain_purity(rows, d, y):
    """Weight times (p₊² + p₋²) of some examples: what Gini impurity takes from their weight."""
    total = d[rows].sum()
    return sum(d[rows & (y == label)].sum() ** 2 for label in (-1, 1)) / total if total > 0.0 else 0.0


def plain_gini(X, d, y):
    """The purity of each feature, cut and side of the missing values, and the two sides."""
    splits = {}
    for f in range(X.shape[1]):
        x, lost = X[:, f], np.isnan(X[:, f])
        for t in plain_cuts(x):
            for to_left in (False, True) if lost.any() else (False,):
                low, high = (x <= t) | (lost & to_left), (x > t) | (lost & (not to_left))
                if low.any() and high.any():
                    splits[f, t, to_left] = plain_purity(low, d, y) + plain_purity(high, d, y), low, high
    return splits


def check_each_round_by_gini(stumps, X, y, weights=None):
    """Follow the stumps found, and see in every round that no cut leaves less impurity."""
    w = np.ones(len(y)) if weights is None else weights
    one = 1.0 / max(w.sum(), np.count_nonzero(w))
    d = w / w.sum()
    answers = stumps.answers(X)
    n_clear = 0
    for j in range(len(stumps)):
        splits = plain_gini(X, d, y)
        best = max(score for score, _, _ in splits.values())
        near = [key for key, (score, _, _) in splits.items() if score > best - 1e-9]
        fitting = []
        for key in near:
            _, low, high = splits[key]
            want = np.where(low, np.sign((d * y)[low].sum()), np.sign((d * y)[high].sum()))
            if (want[d > 0.0] == answers[d > 0.0, j]).all():
                fitting.append(key)
        assert fitting
        constant = len(set(answers[:, j].tolist())) == 1
        if len(near) == 1:
            (f, t, _) = near[0]
            assert stumps.feature[j] == f
            assert stumps.threshold[j] == (math.inf if constant else t)
            n_clear += 1
        right = answers[:, j] == y
        plus, minus = d[right].sum(), d[~right].sum()
        d = d * np.exp(-0.5 * math.log((plus + one) / (minus + one)) * np.where(right, 1.0, -1.0))
        d /= d.sum()
    return n_clear


def check_each_round(stumps, X, y, weights=None, exact=True):
    """Follow the stumps found, and see in every round that none would have been better."""
    w = np.ones(len(y)) if weights is None else weights
    one = 1.0 / max(w.sum(), np.count_nonzero(w))
    d = w / w.sum()
    answers = stumps.answers(X)
    for j in range(len(stumps)):
        scores = plain_scores(X, d * y)
        right = answers[:, j] == y
        got = d[right].sum() - d[~right].sum()
        best = max(scores.values())
        assert got == pytest.approx(best, abs=1e-12)
        if exact:
            assert (stumps.feature[j], stumps.threshold[j]) in scores
            assert scores[int(stumps.feature[j]), float(stumps.threshold[j])] == pytest.approx(
                best, abs=1e-12
            )
            first = min(k for k, s in scores.items() if s > best - 1e-13)
            unclear = [s for s in scores.values() if best - 1e-10 < s <= best - 1e-13]
            if not unclear:
                assert (int(stumps.feature[j]), float(stumps.threshold[j])) == first
        plus, minus = d[right].sum(), d[~right].sum()
        alpha = 0.5 * math.log((plus + one) / (minus + one))
        d = d * np.exp(-alpha * np.where(right, 1.0, -1.0))
        d /= d.sum()


def plain_answers(stumps, X):
    """One comparison at a time, in the precision the stumps are defined in."""
    out = np.empty((X.shape[0], len(stumps)), np.int8)
    for i, row in enumerate(X):
        for j, f in enumerate(stumps.feature):
            x, t = float(row[f]), float(stumps.threshold[j])
            if stumps.precision == "single":
                with np.errstate(over="ignore"):
                    x = float(np.float32(x))
            if math.isnan(x):
                out[i, j] = stumps.missing[j]
            else:
                out[i, j] = stumps.left[j] if x <= t else -stumps.left[j]
    return out
