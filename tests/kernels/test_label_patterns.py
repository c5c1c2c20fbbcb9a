"""Patterns of labels, against a twin that counts from the beginning each time."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.label_patterns import MIN_RATE, learn_pattern, pattern_scores
from tests.naive.label_patterns import NaivePatterns

MEMORIES, FADING, DISTANCES = np.array([0.98, 0.8]), 0.995, 4


class Patterns:
    """The arrays of the kernels."""

    def __init__(self, K):
        self.K, self.rates, self.follows = K, np.full((2, K), 1.0 / K), np.zeros((K + 1, K))
        self.by_distance = np.zeros((DISTANCES, K + 1, K))

    def learn(self, last, code, weight=1.0, since=0):
        counts = (self.follows, self.by_distance)
        learn_pattern(self.rates, MEMORIES, *counts, FADING, last, since, code, weight)

    def scores(self, last, since=0, has_distances=False):
        out = np.full((4, self.K), np.nan)
        counts = (self.rates, self.follows, self.by_distance)
        pattern_scores(*counts, last, since, has_distances, out)
        return out


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_and_what_they_follow(K, weighted):
    rng = np.random.default_rng(K)
    patterns, twin = Patterns(K), NaivePatterns(K, MEMORIES, FADING, DISTANCES)
    for i in range(150):
        last, code = int(rng.integers(K + 1)), int(rng.integers(K) * (rng.random() < 0.8))
        weight = float(rng.choice([0.1, 1.0, 50.0])) if weighted else 1.0
        if i % 15 == 0:
            for each in range(K + 1):
                for how in ((0, False), (0, True), (2, True), (3, True), (100, True)):
                    np.testing.assert_allclose(
                        patterns.scores(each, *how), twin.scores(each, *how), rtol=1e-9, atol=1e-9
                    )
        since = int(rng.integers(6))
        patterns.learn(last, code, weight, since)
        twin.learn(last, code, weight, since)
    np.testing.assert_allclose(patterns.rates.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_a_class_that_never_comes_again_stays_possible():
    patterns = Patterns(3)
    for _ in range(20_000):
        patterns.learn(1, 1)
    out = patterns.scores(1)
    assert (out[:2, [0, 2]] == np.log(MIN_RATE)).all()
    np.testing.assert_allclose(out[2], np.log([0.5, 200.5, 0.5]), rtol=1e-6)
    assert (patterns.scores(3)[2] == np.log(0.5)).all()  # nothing has followed it


def test_a_cycle_of_labels_is_learnt_and_by_distance_where_they_come_together():
    patterns = Patterns(3)
    for i in range(300):
        patterns.learn((i // 3 * 3 - 1) % 3, i % 3, since=i % 3)  # known every third row
    for since in range(3):
        out = patterns.scores(2, since, has_distances=True)
        assert out[3].argmax() == since
        assert np.ptp(out[3]) > 4.0
        assert np.ptp(out[2]) < 0.1
    patterns = Patterns(3)
    for i in range(300):
        patterns.learn((i - 1) % 3, i % 3)
    for last in range(3):
        assert patterns.scores(last)[2].argmax() == (last + 1) % 3
