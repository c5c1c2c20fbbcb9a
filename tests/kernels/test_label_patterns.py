"""Patterns of labels, against a twin that counts from the beginning each time."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.label_patterns import MIN_RATE, learn_pattern, pattern_scores
from tests.naive.label_patterns import NaivePatterns

MEMORIES, FADING = np.array([0.98, 0.8]), 0.995


def empty(K):
    return np.full((2, K), 1.0 / K), np.zeros((K + 1, K))


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_and_what_they_follow(K, weighted):
    rng = np.random.default_rng(K)
    (rates, follows), twin = empty(K), NaivePatterns(K, MEMORIES, FADING)
    for i in range(150):
        last, code = int(rng.integers(K + 1)), int(rng.integers(K) * (rng.random() < 0.8))
        weight = float(rng.choice([0.1, 1.0, 50.0])) if weighted else 1.0
        if i % 10 == 0:
            out = np.empty((3, K))
            for each in range(K + 1):
                pattern_scores(rates, follows, each, out)
                np.testing.assert_allclose(out, twin.scores(each), rtol=1e-9, atol=1e-9)
        learn_pattern(rates, MEMORIES, follows, FADING, last, code, weight)
        twin.learn(last, code, weight)
    np.testing.assert_allclose(rates.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_a_class_that_never_comes_again_stays_possible():
    rates, follows = empty(3)
    for _ in range(20_000):
        learn_pattern(rates, MEMORIES, follows, FADING, 1, 1, 1.0)
    out = np.empty((3, 3))
    pattern_scores(rates, follows, 1, out)
    assert (out[:2, [0, 2]] == np.log(MIN_RATE)).all()
    np.testing.assert_allclose(out[2], np.log([0.5, 200.5, 0.5]), rtol=1e-6)
    pattern_scores(rates, follows, 3, out)  # nothing has followed it
    assert (out[2] == np.log(0.5)).all()


def test_a_cycle_of_labels_is_learnt():
    rates, follows = empty(3)
    for i in range(300):
        learn_pattern(rates, MEMORIES, follows, FADING, (i - 1) % 3, i % 3, 1.0)
    out = np.empty((3, 3))
    for last in range(3):
        pattern_scores(rates, follows, last, out)
        assert out[2].argmax() == (last + 1) % 3
        assert np.ptp(out[2]) > 4.0
