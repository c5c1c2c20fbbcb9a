"""Batch AdaBoost, its sums, and the exact incremental form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from tests.naive import sketch as naive
from tests.support.makers import correlated_columns, random_margins

SHAPES = [(1, 1), (7, 3), (60, 12), (200, 64), (130, 65), (65, 130)]


@pytest.mark.parametrize("smoothing", [1.0, 0.01, 25.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "J"), SHAPES)
def test_weights_agree_with_the_plain_loop(n, J, weighted, smoothing):
    rng = np.random.default_rng([n, J])
    margins = random_margins(rng, n, J)
    weight = rng.uniform(0.0, 3.0, n) if weighted else None
    alpha = ocboost.adaboost_weights(margins, smoothing=smoothing, sample_weight=weight)
    expected = naive.adaboost_weights(margins, smoothing=smoothing, sample_weight=weight)
    assert alpha.shape == (J,)
    assert alpha.dtype == np.float64
    np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-11)


def test_weights_agree_with_fifty_digits():
    rng = np.random.default_rng(3)
    margins = correlated_columns(rng, 80, 40)
    expected = naive.adaboost_weights_decimal(margins, smoothing=1e-6)
    np.testing.assert_allclose(
        ocboost.adaboost_weights(margins, smoothing=1e-6), expected, rtol=0, atol=1e-11
    )


@pytest.mark.parametrize("right", [0, 1, 5, 10])
def test_one_column_is_the_smoothed_log_odds(right):
    margins = np.where(np.arange(10) < right, 1, -1)[:, None]
    (alpha,) = ocboost.adaboost_weights(margins, smoothing=0.5)
    assert alpha == pytest.approx(0.5 * math.log((right + 0.5) / (10 - right + 0.5)), abs=1e-14)


def test_no_smoothing_and_no_errors_uses_the_smallest_normal_float():
    (alpha,) = ocboost.adaboost_weights(np.ones((8, 1)), smoothing=0.0)
    assert alpha == pytest.approx(0.5 * (math.log(8) - math.log(naive.SMALLEST_NORMAL)), rel=1e-12)


def test_no_weight_at_all_gives_zero():
    margins = random_margins(np.random.default_rng(0), 20, 5)
    np.testing.assert_array_equal(ocboost.adaboost_weights(margins, sample_weight=np.zeros(20)), np.zeros(5))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_type_and_layout_of_the_margins_do_not_matter(dtype, layout):
    margins = random_margins(np.random.default_rng(4), 90, 17)
    expected = ocboost.adaboost_weights(margins)
    if layout == "strided":
        given = np.repeat(margins, 2, axis=1).astype(dtype)[:, ::2]
    else:
        given = np.array(margins, dtype=dtype, order=layout)
    np.testing.assert_array_equal(ocboost.adaboost_weights(given), expected)


def test_a_list_of_lists_is_a_matrix():
    rows = [[1, -1], [1, 1], [-1, 1]]
    np.testing.assert_array_equal(ocboost.adaboost_weights(rows), ocboost.adaboost_weights(np.array(rows)))


@st.composite
def weighted_margins(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, J = draw(st.integers(1, 30)), draw(st.integers(1, 12))
    return rng, random_margins(rng, n, J), rng.integers(0, 4, n).astype(float)


@given(weighted_margins())
def test_a_whole_weight_is_that_many_copies(case):
    _, margins, weight = case
    copies = np.repeat(margins, weight.astype(int), axis=0)
    if len(copies) == 0:
        return
    np.testing.assert_allclose(
        ocboost.adaboost_weights(margins, sample_weight=weight),
        ocboost.adaboost_weights(copies),
        rtol=0,
        atol=1e-11,
    )


@given(weighted_margins())
def test_the_order_of_the_rows_does_not_matter(case):
    rng, margins, weight = case
    shuffled = rng.permutation(len(margins))
    np.testing.assert_allclose(
        ocboost.adaboost_weights(margins[shuffled], sample_weight=weight[shuffled]),
        ocboost.adaboost_weights(margins, sample_weight=weight),
        rtol=0,
        atol=1e-11,
    )


@given(weighted_margins())
def test_turning_a_hypothesis_round_turns_only_its_weight_round(case):
    rng, margins, weight = case
    signs = rng.choice([-1, 1], margins.shape[1]).astype(np.int8)
    np.testing.assert_allclose(
        ocboost.adaboost_weights(margins * signs, sample_weight=weight),
        ocboost.adaboost_weights(margins, sample_weight=weight) * signs,
        rtol=0,
        atol=1e-11,
    )


@given(weighted_margins(), st.sampled_from([1e-3, 7.0, 1e6]))
def test_only_the_ratio_of_weight_and_smoothing_matters(case, scale):
    _, margins, weight = case
    np.testing.assert_allclose(
        ocboost.adaboost_weights(margins, sample_weight=weight * scale, smoothing=scale),
        ocboost.adaboost_weights(margins, sample_weight=weight),
        rtol=0,
        atol=1e-11,
    )


@pytest.mark.parametrize("order", [None, 1, 4, 12])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_agree_with_the_plain_loop(order, weighted):
    rng = np.random.default_rng(8)
    margins = random_margins(rng, 70, 12)
    weight = rng.uniform(0.0, 3.0, 70) if weighted else None
    sums = ocboost.adaboost_sums(margins, order=order, smoothing=0.3, sample_weight=weight)
    alpha, W_plus, W_minus = naive.adaboost_sums(margins, order=order, smoothing=0.3, sample_weight=weight)
    np.testing.assert_allclose(sums.alpha, alpha, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sums.W_plus, W_plus, rtol=1e-11, atol=0)
    np.testing.assert_allclose(sums.W_minus, W_minus, rtol=1e-11, atol=0)


def test_the_weight_that_leaves_a_coordinate_enters_the_next():
    margins = correlated_columns(np.random.default_rng(9), 150, 30)
    sums = ocboost.adaboost_sums(margins)
    W_plus, W_minus = np.diag(sums.W_plus), np.diag(sums.W_minus)
    leaving = W_plus * np.exp(-sums.alpha) + W_minus * np.exp(sums.alpha)
    assert (W_plus + W_minus)[0] == pytest.approx(150)
    np.testing.assert_allclose((W_plus + W_minus)[1:], leaving[:-1], rtol=1e-12)


def test_incremental_adaboost_is_adaboost_after_every_example():
    rng = np.random.default_rng(10)
    margins, weight = random_margins(rng, 40, 9), rng.uniform(0, 2, 40)
    booster = ocboost.IncrementalAdaBoost(9, smoothing=0.2)
    np.testing.assert_array_equal(booster.alpha, np.zeros(9))
    for n, (row, w) in enumerate(zip(margins, weight, strict=True), start=1):
        booster.update(row, sample_weight=w)
        expected = naive.adaboost_weights(margins[:n], smoothing=0.2, sample_weight=weight[:n])
        np.testing.assert_allclose(booster.alpha, expected, rtol=0, atol=1e-11)
        assert booster.n_seen == n


def test_incremental_adaboost_takes_many_at_once():
    rng = np.random.default_rng(11)
    margins, weight = random_margins(rng, 300, 70), rng.uniform(0, 2, 300)
    booster = ocboost.IncrementalAdaBoost(70)
    booster.update_many(margins[:100], sample_weight=weight[:100])
    booster.update_many(margins[100:], sample_weight=weight[100:])
    expected = naive.adaboost_weights(margins, sample_weight=weight)
    np.testing.assert_allclose(booster.alpha, expected, rtol=0, atol=1e-11)
    assert booster.n_seen == 300


def test_approximation_error_by_hand():
    assert ocboost.approximation_error([1.0, 1.0], [1.0, 3.0]) == pytest.approx(0.25)
    assert ocboost.approximation_error([1.0, -1.0], [1.0, 1.0]) == pytest.approx(0.5)
    assert ocboost.approximation_error([1.0, 0.0], [-1.0, 0.0]) == pytest.approx(1.0)


@given(weighted_margins())
def test_approximation_error_is_a_bounded_scale_free_distance(case):
    rng, margins, _ = case
    a, b = rng.normal(size=margins.shape[1]), rng.normal(size=margins.shape[1])
    error = ocboost.approximation_error(a, b)
    assert error == pytest.approx(naive.approximation_error(a, b), abs=1e-14)
    assert error == pytest.approx(ocboost.approximation_error(b, a), abs=1e-14)
    assert error == pytest.approx(ocboost.approximation_error(3 * a, 0.2 * b), abs=1e-14)
    assert 0 <= error <= 1 + 1e-14
    assert ocboost.approximation_error(a, 5 * a) == pytest.approx(0, abs=1e-15)
