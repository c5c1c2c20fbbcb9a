"""Oza and Russell's online boosting with fixed hypotheses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from tests.naive import sketch as naive
from tests.support.makers import decayed_weights, random_margins


@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("batch_size", [1, 7, 200])
@pytest.mark.parametrize("smoothing", [1.0, 0.01])
@pytest.mark.parametrize("J", [1, 12, 70])
def test_agrees_with_the_plain_loop(J, smoothing, batch_size, weighted, forgetting):
    rng = np.random.default_rng(100)
    margins = random_margins(rng, 120, J)
    weight = rng.uniform(0, 2, 120) if weighted else None
    fast = ocboost.OzaRussell(J, smoothing=smoothing, forgetting=forgetting)
    plain = naive.NaiveOzaRussell(J, smoothing=smoothing, forgetting=forgetting)
    for start in range(0, 120, 40):
        part = slice(start, start + 40)
        for booster in (fast, plain):
            w = None if weight is None else weight[part]
            booster.update_many(margins[part], batch_size=batch_size, sample_weight=w)
        expected = plain.alpha
        assert np.abs(fast.alpha - expected).max() / np.abs(expected).max() < 1e-9
        assert fast.n_seen == plain.n_seen


def test_a_loop_of_update_is_update_many(saved_bytes):
    rng = np.random.default_rng(101)
    margins, weight = random_margins(rng, 200, 30), rng.uniform(0, 2, 200)
    looped, at_once = (ocboost.OzaRussell(30, forgetting=0.99) for _ in range(2))
    for row, w in zip(margins, weight, strict=True):
        looped.update(row, sample_weight=w)
    at_once.update_many(margins, sample_weight=weight)
    assert saved_bytes(looped) == saved_bytes(at_once)
    np.testing.assert_array_equal(looped.alpha, at_once.alpha)


def test_the_first_coordinate_is_adaboost():
    margins = random_margins(np.random.default_rng(102), 300, 6)
    booster = ocboost.OzaRussell(6)
    booster.update_many(margins)
    exact = ocboost.adaboost_weights(margins)
    assert booster.alpha[0] == pytest.approx(exact[0], abs=1e-12)
    assert np.abs(booster.alpha - exact).max() > 1e-3  # and the others are not


def test_reading_changes_no_state(saved_bytes):
    booster = ocboost.OzaRussell(6)
    booster.update_many(random_margins(np.random.default_rng(103), 50, 6))
    before = saved_bytes(booster)
    np.testing.assert_array_equal(booster.alpha, booster.alpha)
    assert saved_bytes(booster) == before


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40))
def test_merging_adds_the_sums(seed, n_a, n_b):
    rng = np.random.default_rng(seed)
    sides = []
    for n in (n_a, n_b):
        margins = random_margins(rng, n, 7)
        fast, plain = ocboost.OzaRussell(7), naive.NaiveOzaRussell(7)
        for booster in (fast, plain):
            booster.update_many(margins)
        sides.append((fast, plain))
    (a, plain_a), (b, plain_b) = sides
    both = a.merge(b)
    np.testing.assert_array_equal(both.alpha, b.merge(a).alpha)
    np.testing.assert_allclose(both.alpha, plain_a.merge(plain_b).alpha, rtol=0, atol=1e-11)
    assert both.n_seen == n_a + n_b
    assert (a.n_seen, b.n_seen) == (n_a, n_b)


def test_merging_with_an_empty_booster_changes_nothing(saved_bytes):
    booster = ocboost.OzaRussell.from_margins(random_margins(np.random.default_rng(108), 30, 7))
    empty = ocboost.OzaRussell(7)
    for merged in (booster.merge(empty), empty.merge(booster), booster + empty):
        assert saved_bytes(merged) == saved_bytes(booster)


def test_decay_weighs_the_past_less():
    margins = random_margins(np.random.default_rng(104), 100, 7)
    fast, plain = ocboost.OzaRussell(7), naive.NaiveOzaRussell(7)
    for booster in (fast, plain):
        booster.update_many(margins[:50])
        booster.decay(0.1)
        booster.update_many(margins[50:])
    np.testing.assert_allclose(fast.alpha, plain.alpha, rtol=0, atol=1e-11)


def test_forgetting_weighs_each_example_by_its_age():
    margins = random_margins(np.random.default_rng(105), 100, 1)
    booster = ocboost.OzaRussell(1, forgetting=0.95)
    booster.update_many(margins, batch_size=9)
    expected = naive.adaboost_weights(margins, sample_weight=decayed_weights(100, 0.95))
    assert booster.alpha[0] == pytest.approx(expected[0], abs=1e-12)


def test_a_saved_booster_goes_on_as_before(tmp_path):
    margins = random_margins(np.random.default_rng(106), 1200, 25)
    booster = ocboost.OzaRussell(25, smoothing=0.3, forgetting=0.999)
    booster.update_many(margins[:200])
    booster.save(tmp_path / "oza.model")
    loaded = ocboost.OzaRussell.load(tmp_path / "oza.model")
    assert (loaded.smoothing, loaded.forgetting, loaded.n_seen) == (0.3, 0.999, 200)
    for row in margins[200:]:
        booster.update(row)
        loaded.update(row)
        np.testing.assert_array_equal(loaded.alpha, booster.alpha)


@pytest.mark.parametrize(
    "margins", [np.ones((300, 200)), -np.ones((300, 200)), np.tile([[1], [-1]], (150, 200))]
)
@pytest.mark.parametrize("smoothing", [1.0, 0.0])
def test_finite_on_one_sided_streams(smoothing, margins):
    booster = ocboost.OzaRussell(200, smoothing=smoothing)
    booster.update_many(margins)
    assert np.isfinite(booster.alpha).all()


def test_extreme_and_zero_weights_are_finite():
    margins = random_margins(np.random.default_rng(107), 40, 30)
    weight = np.tile([1e300, 1e-300, 0.0, 1.0], 10)
    for batch_size in (1, 40):
        booster = ocboost.OzaRussell(30)
        booster.update_many(margins[:20], batch_size=batch_size, sample_weight=weight[:20])
        assert np.isfinite(booster.alpha).all()
        booster.decay(1e-200)
        booster.update_many(margins[20:], batch_size=batch_size, sample_weight=weight[20:])
        assert np.isfinite(booster.alpha).all()
    empty = ocboost.OzaRussell(30)
    np.testing.assert_array_equal(empty.alpha, np.zeros(30))
    empty.update_many(margins, sample_weight=np.zeros(40))
    np.testing.assert_array_equal(empty.alpha, np.zeros(30))
