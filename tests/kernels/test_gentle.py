"""Rounds of GentleBoost over binned features, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.gentle import gentle_stump, reweigh
from tests.naive.gentle import every_stump, reweighed, squared_error

N_BINS = 5


def drawn(seed, n=40, F=6):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, N_BINS, (F, n)).astype(np.uint8)
    labels = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    weights = rng.random(n)
    return bins, labels, weights / weights.sum()


def found(bins, chosen, labels, weights):
    sums, leaves = np.full(2 * N_BINS, 7.0), np.full(2, 7.0)
    at, cut = gentle_stump(bins, np.array(chosen), N_BINS, weights, weights * labels, sums, leaves)
    return at, cut, leaves


@pytest.mark.parametrize("chosen", [range(6), [1, 4, 5], [3]])
@pytest.mark.parametrize("seed", range(8))
def test_no_stump_leaves_a_smaller_squared_error(seed, chosen):
    bins, labels, weights = drawn(seed)
    at, cut, leaves = found(bins, list(chosen), labels, weights)
    ordered = sorted(every_stump(bins, chosen, N_BINS, weights, labels), key=lambda each: each[0])
    least, f, best_cut, answers = ordered[0]
    assert ordered[1][0] - least > 1e-9  # no other is as good
    assert (at, cut) == (f, best_cut)
    np.testing.assert_allclose(leaves, answers, rtol=0, atol=1e-12)
    assert squared_error(bins[at], cut, leaves, weights, labels) == pytest.approx(least, abs=1e-12)


def test_of_equally_good_ones_the_first():
    bins, labels, weights = drawn(1)
    at, cut, _ = found(bins, [2, 5], labels, weights)
    bins[3] = bins[4] = bins[at]
    assert found(bins, [3, 4, at], labels, weights)[:2] == (3, cut)
    # Cuts between which no example lies are the same stump.
    empty = bins.copy()
    empty[0] = np.where(labels > 0, 4, 1)
    assert found(empty, [0], labels, weights)[:2] == (0, 1)


def test_a_side_of_no_weight_answers_nothing():
    bins, labels, weights = drawn(2)
    bins[0] = 4
    at, cut, leaves = found(bins, [0], labels, weights)
    assert (at, cut, leaves[0]) == (0, 0, 0.0)
    assert leaves[1] == pytest.approx(weights @ labels)
    bins[0, 0], weights[0] = 0, 1e-14  # one example of a weight that is lost in rounding
    assert found(bins, [0], labels, weights)[2][0] == 0.0


@pytest.mark.parametrize("answers", [(0.7, -0.2), (-0.98, 0.98), (0.0, 0.3)])
def test_weights_after_a_round(answers):
    bins, labels, weights = drawn(3)
    want = reweighed(bins[2], 1, answers, labels, weights)
    signed = np.empty_like(weights)
    reweigh(bins[2], 1, np.array(answers), labels, weights, signed)
    np.testing.assert_allclose(weights, want, rtol=1e-12)
    np.testing.assert_array_equal(signed, weights * labels)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
