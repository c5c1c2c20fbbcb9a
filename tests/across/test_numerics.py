"""α stays finite and bounded for every input, and is not clipped where the exact value is a float."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from ocboost._kernels.tail import CORRECTIONS, KEEPS_TOTAL
from tests.naive import sketch as naive
from tests.support.makers import decayed_weights, independent_columns, random_margins

UNBOUNDED = [name for name, does in CORRECTIONS.items() if not does & KEEPS_TOTAL]


def assert_bounded(alpha, total, smoothing):
    """What the balanced correction promises: |α_j| ≤ ½ log(1 + Σw/ε)."""
    assert np.isfinite(alpha).all()
    if smoothing == 0 or total == 0:
        return
    bound = 0.5 * np.logaddexp(0.0, math.log(total) - math.log(smoothing))
    assert np.abs(alpha).max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize(("head", "batch_size"), [(1, 1), (1, 64), (50, 1)])
@pytest.mark.parametrize("smoothing", [1.0, 1e-6])
def test_a_thousand_copies_of_one_hypothesis(smoothing, head, batch_size):
    rng = np.random.default_rng(70)
    margins = np.repeat(independent_columns(rng, 150, [0.7]), 1000, axis=1)
    sketch = ocboost.BoostingSketch(1000, head=head, smoothing=smoothing)
    sketch.update_many(margins, batch_size=batch_size)
    assert_bounded(sketch.alpha, 150, smoothing)
    # The first copy says it all: AdaBoost gives the others nothing, up to smoothing.
    exact = ocboost.adaboost_weights(margins, smoothing=smoothing)
    assert sketch.alpha[0] == pytest.approx(exact[0], abs=1e-12)
    assert_bounded(exact, 150, smoothing)


@pytest.mark.parametrize(("head", "batch_size"), [(1, 1), (1, 50), (30, 1), (30, 64), (1000, 1)])
@pytest.mark.parametrize("smoothing", [1.0, 1e-9, 0.0])
@pytest.mark.parametrize("J", [3, 60, 300])
def test_always_right_always_wrong_and_alternating(J, smoothing, head, batch_size):
    n = 200
    always_right = np.ones((n, J))
    always_wrong = -always_right
    alternating_columns = np.tile([1.0, -1.0], J)[:J] * always_right
    alternating_rows = np.tile([[1.0], [-1.0]], (n // 2, J))
    chequered = alternating_rows * alternating_columns
    mixed = np.where(np.arange(J) % 3 == 0, 1.0, np.where(np.arange(J) % 3 == 1, -1.0, alternating_rows))
    for margins in (always_right, always_wrong, alternating_columns, alternating_rows, chequered, mixed):
        sketch = ocboost.BoostingSketch(J, head=head, smoothing=smoothing)
        sketch.update_many(margins, batch_size=batch_size)
        assert_bounded(sketch.alpha, n, smoothing)
        first = naive.adaboost_weights_decimal(margins[:, :1], smoothing=smoothing)[0]
        assert sketch.alpha[0] == pytest.approx(first, abs=1e-11)


@pytest.mark.parametrize("smoothing", [1.0, 1e-9, 0.0])
def test_hypotheses_that_are_never_wrong_are_worth_the_same_from_any_head(smoothing):
    # All examples are alike, so the corrections are exact and the tail must agree with AdaBoost.
    margins = np.ones((120, 25))
    expected = naive.adaboost_weights_decimal(margins, smoothing=smoothing)
    for head, batch_size in [(1, 1), (1, 16), (10, 1), (200, 1)]:
        sketch = ocboost.BoostingSketch(25, head=head, smoothing=smoothing)
        sketch.update_many(margins, batch_size=batch_size)
        np.testing.assert_allclose(sketch.alpha, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", [None, 50])
def test_three_thousand_hypotheses(order):
    rng = np.random.default_rng(71)
    margins = independent_columns(rng, 100, rng.uniform(0.5, 0.65, 3000))
    sketch = ocboost.BoostingSketch(3000, order=order)
    sketch.update_many(margins, batch_size=10)
    assert_bounded(sketch.alpha, 100, 1.0)
    assert np.abs(sketch.alpha).max() > 0.01
    exact = ocboost.adaboost_weights(margins)
    assert_bounded(exact, 100, 1.0)
    np.testing.assert_allclose(sketch.alpha[:1], exact[:1], rtol=0, atol=1e-12)


def test_three_thousand_hypotheses_that_separate_the_data():
    # 100 rows and 3,000 columns: the weights of the last coordinate are beyond a float's range.
    rng = np.random.default_rng(72)
    margins = independent_columns(rng, 100, rng.uniform(0.6, 0.9, 3000))
    sketch = ocboost.BoostingSketch(3000, head=200, smoothing=1e-3)
    sketch.update_many(margins)
    exact = ocboost.adaboost_weights(margins, smoothing=1e-3)
    np.testing.assert_allclose(sketch.alpha, exact, rtol=0, atol=1e-10)
    assert (exact @ margins.T).min() > 745  # e^-745 is the smallest float there is
    assert np.abs(exact[-1000:]).max() > 0.01
    assert_bounded(exact, 100, 1e-3)


def test_weights_below_the_smallest_float_still_count():
    # The same with few enough examples for fifty digits to be computed.
    rng = np.random.default_rng(73)
    margins = independent_columns(rng, 12, rng.uniform(0.6, 0.95, 900))
    expected = naive.adaboost_weights_decimal(margins, smoothing=1e-6)
    assert (expected @ margins.T).min() > 745
    for head, batch_size in [(13, 1), (1, 12), (6, 12)]:
        sketch = ocboost.BoostingSketch(900, head=head, smoothing=1e-6)
        sketch.update_many(margins, batch_size=batch_size)
        np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ocboost.adaboost_weights(margins, smoothing=1e-6), expected, rtol=0, atol=1e-9)


def test_ten_million_examples():
    rng = np.random.default_rng(74)
    J, n, chunk = 4, 10_000_000, 1_000_000
    patterns = np.array(list(itertools.product([1, -1], repeat=J)), dtype=np.int8)
    counts = np.zeros(len(patterns))
    sketch = ocboost.BoostingSketch(J)
    chances = rng.dirichlet(np.ones(len(patterns)))
    for _ in range(n // chunk):
        drawn = rng.choice(len(patterns), size=chunk, p=chances)
        counts += np.bincount(drawn, minlength=len(patterns))
        sketch.update_many(patterns[drawn], batch_size=50_000)
    exact = naive.adaboost_weights(patterns, sample_weight=counts)
    assert sketch.n_seen == n
    # The first coordinate is a count, exact to the last example (a float32 sum would have stopped).
    assert sketch.alpha[0] == pytest.approx(exact[0], rel=1e-11)
    assert_bounded(sketch.alpha, n, 1.0)
    assert naive.approximation_error(exact, sketch.alpha) < 1e-3


def test_millions_of_single_examples_lose_no_weight():
    n = 2_000_000
    margins = np.ones((n, 1), dtype=np.int8)
    margins[::10] = -1
    sketch = ocboost.BoostingSketch(1)
    sketch.update_many(margins)
    expected = 0.5 * math.log((0.9 * n + 1) / (0.1 * n + 1))
    assert sketch.alpha[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("head", [1, 20, 400])
@pytest.mark.parametrize("batch_size", [1, 64])
def test_strong_forgetting_with_many_hypotheses(batch_size, head):
    rng = np.random.default_rng(75)
    margins = independent_columns(rng, 900, rng.uniform(0.5, 0.65, 400))
    sketch = ocboost.BoostingSketch(400, head=head, forgetting=0.9)
    for start in range(0, 900, 300):
        sketch.update_many(margins[start : start + 300], batch_size=batch_size)
        assert_bounded(sketch.alpha, 10.0, 1.0)
    weight = decayed_weights(900, 0.9)
    assert sketch.alpha[0] == pytest.approx(
        naive.adaboost_weights(margins[:, :1], sample_weight=weight)[0], abs=1e-10
    )
    if head == 400:  # what is in the tail weighs 0.9^350 and less
        exact = ocboost.adaboost_weights(margins, sample_weight=weight)
        np.testing.assert_allclose(sketch.alpha, exact, rtol=0, atol=1e-9)


def test_forgetting_outlasts_the_range_of_a_float():
    # 0.9^20,000 is 1e-915; what is left is the weight of the last hundred or so.
    margins = random_margins(np.random.default_rng(76), 20_000, 5)
    expected = naive.adaboost_weights(margins[-400:], sample_weight=decayed_weights(400, 0.9))
    for head, batch_size in [(30_000, 1), (10_000, 1), (500, 1), (500, 2000)]:
        sketch = ocboost.BoostingSketch(5, head=head, forgetting=0.9)
        sketch.update_many(margins, batch_size=batch_size)
        np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-9)


def extreme_weights():
    """A dozen examples, every other one 10^600 times as heavy as its neighbour."""
    rng = np.random.default_rng(77)
    margins = random_margins(rng, 12, 10)
    margins[:, 3] = np.where(np.arange(12) % 2 == 0, 1, -1)  # right on the heavy ones only
    return margins, np.where(np.arange(12) % 2 == 0, 1e300, 1e-300)


@pytest.mark.parametrize("smoothing", [0.0, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("swapped", [False, True])
def test_weights_side_by_side_are_exact_where_the_arithmetic_is(swapped, smoothing):
    margins, weight = extreme_weights()
    if swapped:
        weight = 1.0 / weight
    expected = naive.adaboost_weights_decimal(margins, smoothing=smoothing, sample_weight=weight)
    alpha = ocboost.adaboost_weights(margins, smoothing=smoothing, sample_weight=weight)
    np.testing.assert_allclose(alpha, expected, rtol=1e-11, atol=1e-11)
    for head, batch_size in [(13, 1), (13, 4), (1, 12)]:
        sketch = ocboost.BoostingSketch(10, head=head, smoothing=smoothing)
        sketch.update_many(margins, batch_size=batch_size, sample_weight=weight)
        np.testing.assert_allclose(sketch.alpha, expected, rtol=1e-10, atol=1e-10)


def test_a_weight_ratio_of_1e600_is_not_clipped():
    margins, weight = extreme_weights()
    sketch = ocboost.BoostingSketch(1, head=20, smoothing=0.0)
    sketch.update_many(margins[:, 3:4], sample_weight=weight)
    assert sketch.alpha[0] == pytest.approx(300 * math.log(10), rel=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("head", "batch_size"), [(1, 1), (1, 5), (4, 1), (4, 7)])
def test_weights_side_by_side_in_the_tail_stay_bounded(head, batch_size, swapped, smoothing):
    margins, weight = extreme_weights()
    if swapped:
        weight = 1.0 / weight
    sketch = ocboost.BoostingSketch(10, head=head, smoothing=smoothing)
    for repeat in range(1, 4):
        sketch.update_many(margins, batch_size=batch_size, sample_weight=weight)
        assert_bounded(sketch.alpha, repeat * weight.sum(), smoothing)
    if smoothing:
        first = naive.adaboost_weights_decimal(
            np.tile(margins[:, :1], (3, 1)), smoothing=smoothing, sample_weight=np.tile(weight, 3)
        )
        assert sketch.alpha[0] == pytest.approx(first[0], abs=1e-10)


@pytest.mark.parametrize("correction", UNBOUNDED)
def test_weights_side_by_side_are_never_nan(correction):
    margins, weight = extreme_weights()
    for head, batch_size in [(1, 1), (4, 1), (1, 12)]:
        sketch = ocboost.BoostingSketch(10, head=head, smoothing=0.0, correction=correction)
        for _ in range(3):
            sketch.update_many(margins, batch_size=batch_size, sample_weight=weight)
            assert np.isfinite(sketch.alpha).all()


@pytest.mark.parametrize("head", [1, 5, 100])
def test_zero_weight(head):
    margins = random_margins(np.random.default_rng(78), 40, 8)
    sketch = ocboost.BoostingSketch(8, head=head)
    sketch.update_many(margins[:20], sample_weight=np.zeros(20))
    np.testing.assert_array_equal(sketch.alpha, np.zeros(8))
    assert sketch.n_seen == 20
    sketch.update_many(margins[20:])
    assert_bounded(sketch.alpha, 20, 1.0)
    if head == 100:
        np.testing.assert_allclose(sketch.alpha, naive.adaboost_weights(margins[20:]), rtol=0, atol=1e-12)
    before = sketch.alpha.copy()
    sketch.update(margins[0], sample_weight=0.0)
    np.testing.assert_allclose(sketch.alpha, before, rtol=0, atol=1e-9)


@pytest.mark.parametrize("head", [1, 20, 300])
def test_decay_to_almost_nothing(head):
    margins = random_margins(np.random.default_rng(79), 250, 8)
    sketch = ocboost.BoostingSketch.from_margins(margins[:100], head=head)
    for _ in range(5):
        sketch.decay(1e-200)
        assert_bounded(sketch.alpha, 100, 1.0)
    np.testing.assert_allclose(sketch.alpha, np.zeros(8), rtol=0, atol=1e-12)
    sketch.update_many(margins[100:], batch_size=250)
    np.testing.assert_allclose(sketch.alpha, naive.adaboost_weights(margins[100:]), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("head", "batch_size"), [(1, 1), (1, 20), (10, 1), (500, 1)])
def test_no_smoothing(head, batch_size):
    rng = np.random.default_rng(80)
    margins = random_margins(rng, 200, 30, low=0.02, high=0.98)
    sketch = ocboost.BoostingSketch(30, head=head, smoothing=0.0)
    for start in range(0, 200, 20):
        sketch.update_many(margins[start : start + 20], batch_size=batch_size)
        assert np.isfinite(sketch.alpha).all()
    if head == 500:
        expected = naive.adaboost_weights_decimal(margins, smoothing=0.0)
        np.testing.assert_allclose(sketch.alpha, expected, rtol=1e-9, atol=1e-9)


def test_a_tiny_smoothing_is_not_rounded_away():
    for n, smoothing in [(100, 1e-300), (100, 1e-30), (3, 5e-324)]:
        sketch = ocboost.BoostingSketch(1, smoothing=smoothing)
        sketch.update_many(np.ones((n, 1)))
        expected = naive.adaboost_weights_decimal(np.ones((n, 1)), smoothing=smoothing)
        assert sketch.alpha[0] == pytest.approx(expected[0], rel=1e-9)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 9, 40]),
    st.sampled_from([1, 3, 16]),
    st.sampled_from([1, 8, 50]),
    st.sampled_from([0.9, 1.0]),
    st.sampled_from([0.0, 1e-12, 0.3, 10.0]),
    st.sampled_from([0.0, 5.0, 300.0]),
)
def test_bounded_for_any_stream(seed, J, head, batch_size, forgetting, smoothing, spread):
    rng = np.random.default_rng(seed)
    margins = random_margins(rng, 100, J, low=0.0, high=1.0)
    weight = 10.0 ** rng.uniform(-spread, spread, 100) * (rng.random(100) < 0.9)
    sketch = ocboost.BoostingSketch(J, head=head, forgetting=forgetting, smoothing=smoothing)
    sketch.update_many(margins, batch_size=batch_size, sample_weight=weight)
    assert_bounded(sketch.alpha, decayed_weights(100, forgetting, weight).sum(), smoothing)
    assert not sketch.diverged


@pytest.mark.parametrize("correction", UNBOUNDED)
def test_unbounded_corrections_from_a_warm_start_have_not_diverged(correction):
    rng = np.random.default_rng(83)
    margins = independent_columns(rng, 2000, rng.uniform(0.5, 0.65, 400))
    sketch = ocboost.BoostingSketch.from_margins(margins[:1500], correction=correction)
    sketch.update_many(margins[1500:])
    assert not sketch.diverged
    exact = ocboost.adaboost_weights(margins)
    assert naive.approximation_error(exact, sketch.alpha) < (0.3 if correction == "listing" else 0.06)


@pytest.mark.parametrize("correction", UNBOUNDED)
def test_unbounded_corrections_saturate_and_say_so(correction):
    rng = np.random.default_rng(81)
    margins = independent_columns(rng, 600, rng.uniform(0.5, 0.65, 400))
    sketch = ocboost.BoostingSketch(400, smoothing=0.01, correction=correction)
    balanced = ocboost.BoostingSketch(400, smoothing=0.01)
    for start in range(0, 600, 150):
        for booster in (sketch, balanced):
            booster.update_many(margins[start : start + 150])
            assert np.isfinite(booster.alpha).all()
        assert np.abs(sketch.alpha).max() <= 1000
    assert sketch.diverged
    assert not balanced.diverged
    assert_bounded(balanced.alpha, 600, 0.01)


@pytest.mark.parametrize("correction", UNBOUNDED)
@pytest.mark.parametrize("batch_size", [1, 16])
def test_unbounded_corrections_meet_the_hard_cases_without_nan(batch_size, correction):
    rng = np.random.default_rng(82)
    copies = np.repeat(independent_columns(rng, 200, [0.7]), 200, axis=1)
    right = np.ones((200, 200))
    chequered = np.tile([[1, -1], [-1, 1]], (100, 100))
    for margins in (copies, right, -right, chequered, independent_columns(rng, 200, rng.random(200))):
        for smoothing in (1.0, 0.0):
            sketch = ocboost.BoostingSketch(200, smoothing=smoothing, correction=correction)
            sketch.update_many(margins, batch_size=batch_size)
            assert np.isfinite(sketch.alpha).all()
            assert np.abs(sketch.alpha).max() <= 1000
