"""95 % bounds: of shares and counts by sums of probabilities, of pictures by a bootstrap in plain loops."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

from ocboost.cascade.bounds import (
    count_bounds,
    hit_bounds,
    rate_bounds,
    resampled,
    resampled_sums,
    share_bounds,
)

BOUNDS = importlib.import_module("ocboost.cascade.bounds")


def binomial(n, p, ks):
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in ks)


def poisson(mean, ks):
    return sum(math.exp(-mean) * mean**k / math.factorial(k) for k in ks)


def plain_draws(n):
    """The pictures of every resample."""
    rng = np.random.default_rng(BOUNDS.SEED)
    return [[int(i) for i in rng.integers(0, n, n)] for _ in range(BOUNDS.RESAMPLES)]


def plain_rates(counts, of):
    rates = []
    for draw in plain_draws(len(counts)):
        total = sum(int(of[i]) for i in draw)
        if total:
            rates.append(sum(int(counts[i]) for i in draw) / total)
    return rates


class TestShares:
    @pytest.mark.parametrize(("k", "n"), [(1, 2), (1, 40), (17, 40), (39, 40), (300, 458)])
    def test_each_bound_leaves_a_fortieth(self, k, n):
        low, high = share_bounds(k, n)
        assert 0 < low < k / n < high < 1
        assert binomial(n, low, range(k, n + 1)) == pytest.approx(0.025)
        assert binomial(n, high, range(k + 1)) == pytest.approx(0.025)

    @pytest.mark.parametrize("n", [1, 3, 40, 458])
    def test_none_and_all_have_one_bound_of_a_twentieth(self, n):
        low, high = share_bounds(0, n)
        assert low == 0
        assert (1 - high) ** n == pytest.approx(0.05)
        assert share_bounds(n, n) == pytest.approx((1 - high, 1))

    def test_none_of_458_windows(self):
        assert share_bounds(0, 458)[1] == pytest.approx(0.0065, abs=5e-5)

    def test_nothing_looked_at_says_nothing(self):
        assert share_bounds(0, 0) == (0, 1)


class TestCounts:
    @pytest.mark.parametrize("k", [1, 2, 10, 60])
    def test_each_bound_leaves_a_fortieth(self, k):
        low, high = count_bounds(k)
        assert low < k < high
        assert 1 - poisson(low, range(k)) == pytest.approx(0.025)
        assert poisson(high, range(k + 1)) == pytest.approx(0.025)

    def test_none(self):
        low, high = count_bounds(0)
        assert low == 0
        assert math.exp(-high) == pytest.approx(0.05)


class TestResamples:
    def test_sums_are_those_of_a_plain_loop(self):
        values = np.random.default_rng(1).integers(-5, 9, (7, 3))
        expected = [[sum(int(values[i, k]) for i in draw) for k in range(3)] for draw in plain_draws(7)]
        np.testing.assert_array_equal(resampled_sums(values), expected)

    @pytest.mark.parametrize("at_once", [1, 23, 7 * BOUNDS.RESAMPLES])
    def test_blocks_change_nothing(self, monkeypatch, at_once):
        values = np.random.default_rng(1).integers(0, 9, (7, 2))
        expected = resampled_sums(values)
        monkeypatch.setattr(BOUNDS, "AT_ONCE", at_once)
        np.testing.assert_array_equal(resampled_sums(values), expected)

    def test_rates_leave_out_draws_of_nothing(self):
        counts, of = np.array([1, 0, 0]), np.array([2, 0, 0])
        rates = resampled(counts, of)
        np.testing.assert_array_equal(rates, plain_rates(counts, of))
        assert set(rates.tolist()) == {0.5}
        assert len(rates) < BOUNDS.RESAMPLES


def wider(exact, rates):
    low, high = np.quantile(rates, [0.025, 0.975])
    assert low < exact[0] or high > exact[1]  # else the test could not tell
    return min(exact[0], low), max(exact[1], high)


class TestHits:
    def test_misses_that_are_spread_evenly(self):
        faces, misses = np.full(20, 4), np.tile([1, 0, 1, 1], 5)
        assert hit_bounds(misses, faces) == share_bounds(65, 80)

    def test_misses_that_come_together(self):
        faces = np.tile([4, 1, 0, 7], 5)
        misses = np.where(np.arange(20) % 3 == 0, faces, 0)
        found = hit_bounds(misses, faces)
        exact = share_bounds(60 - int(misses.sum()), 60)
        assert found == pytest.approx(wider(exact, plain_rates(faces - misses, faces)))

    @pytest.mark.parametrize("missed", [0, 1])
    def test_all_found_or_all_missed(self, missed):
        faces = np.array([3, 0, 9])
        assert hit_bounds(missed * faces, faces) == share_bounds(12 * (1 - missed), 12)

    def test_one_picture(self):
        assert hit_bounds(np.array([2]), np.array([5])) == share_bounds(3, 5)

    def test_faces_missed_together_are_covered(self):
        """In most of a hundred draws of pictures that are dark or not, and in fewer by the exact bounds."""
        rng = np.random.default_rng(0)
        faces, covered, exactly = np.full(30, 5), 0, 0
        for _ in range(100):
            misses = rng.binomial(faces, np.where(rng.random(30) < 0.3, 0.9, 0.05))
            low, high = hit_bounds(misses, faces)
            covered += low <= 1 - (0.3 * 0.9 + 0.7 * 0.05) <= high
            low, high = share_bounds(150 - int(misses.sum()), 150)
            exactly += low <= 1 - (0.3 * 0.9 + 0.7 * 0.05) <= high
        assert covered >= 90 > exactly


class TestRates:
    def test_counts_like_poisson(self):
        counts, of = np.tile([0, 1, 2, 1], 5), np.full(20, 7)
        low, high = count_bounds(20)
        assert rate_bounds(counts, of) == (low / 140, high / 140)

    def test_counts_that_come_together(self):
        counts, of = np.tile([9, 0, 0, 0, 1], 6), np.tile([7, 9], 15)
        low, high = count_bounds(60)
        expected = wider((low / 240, high / 240), plain_rates(counts, of))
        assert rate_bounds(counts, of) == pytest.approx(expected)

    def test_larger_pictures_may_have_more(self):
        counts, of = np.array([1, 20, 2, 40, 1, 21]), np.array([10, 200, 20, 400, 10, 200])
        low, high = count_bounds(85)
        assert rate_bounds(counts, of) == (low / 840, high / 840)

    def test_as_many_in_smaller_pictures_are_more(self):
        counts, of = np.full(6, 5), np.array([1, 100, 1, 100, 1, 100])
        low, high = count_bounds(30)
        expected = wider((low / 303, high / 303), plain_rates(counts, of))
        assert rate_bounds(counts, of) == pytest.approx(expected)

    def test_none_and_one_picture(self):
        assert rate_bounds(np.zeros(20, np.int64), np.ones(20, np.int64)) == pytest.approx(
            (0, 2.9957 / 20), rel=1e-4
        )
        low, high = count_bounds(3)
        assert rate_bounds(np.array([3]), np.array([2])) == (low / 2, high / 2)
