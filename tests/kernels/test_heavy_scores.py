"""The scores q_i = Σ_j j/J · d_ij / (W⁺_j + W⁻_j), eight coordinates at once or not, against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels import heavy, scaled
from ocboost._kernels.bits import pack_rows
from ocboost._kernels.head import MAX_DRIFT
from ocboost.boosters.sketch.state import empty_head
from tests.naive.kernels import expected_scores, sums_of
from tests.support.makers import random_margins


def found_scores(margins, logs, alpha, W_logs):
    """By the kernel, from logarithms of the weights and of the sums."""
    n, J = margins.shape
    head = empty_head(J, (n + 63) // 64)
    pack_rows(margins, head.words, 0)
    head.weight[:n], head.weight_unit[:n] = scaled_numbers(logs)
    estimate = heavy.make_estimate(J, 1, n)
    estimate.alpha[...] = alpha
    estimate.exp_alpha[...] = np.exp(np.where(np.abs(alpha) < MAX_DRIFT, alpha, 0.0))
    estimate.W[...], estimate.W_unit[...] = scaled_numbers(W_logs)
    q = np.full(64 * ((n + 63) // 64), np.nan)
    heavy.score(head, n, estimate, q)
    assert (q[n:] == 0.0).all()
    return q[:n]


def scaled_numbers(logs):
    unit = np.rint(np.where(logs > -np.inf, logs, 0.0) / scaled.LOG_UNIT).astype(int)
    return np.exp(logs - unit * scaled.LOG_UNIT), unit


def check(margins, logs, alpha, W_logs):
    expected = expected_scores(margins, logs, alpha, W_logs)
    tolerance = 1e-12 * (1 + np.abs(alpha).sum() + np.abs(W_logs[np.isfinite(W_logs)]).max())
    np.testing.assert_allclose(
        found_scores(margins, logs, alpha, W_logs), expected, rtol=tolerance, atol=1e-300
    )


@pytest.mark.parametrize("J", [1, 5, 7, 8, 9, 16, 23, 40])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_scores_of_any_width(n, J):
    rng = np.random.default_rng([n, J])
    with np.errstate(divide="ignore"):
        logs = np.log(rng.random(n) * (rng.random(n) < 0.9))
    check(random_margins(rng, n, J), logs, rng.normal(0.0, 0.7, J), rng.normal(3.0, 1.0, J))


@pytest.mark.parametrize("size", [20.0, 60.0, 150.0, 199.0, 200.0, 201.0, 900.0])
def test_scores_where_weights_leave_the_range(size):
    # W is what the examples weigh and a little more, so that it has all units on its way.
    rng = np.random.default_rng(520)
    margins, alpha = random_margins(rng, 150, 60, 0.4, 0.6), rng.choice([0.1, -0.2], 60)
    alpha[rng.integers(0, 60, 6)] = size
    logs = rng.normal(0.0, 3.0, 150)
    check(margins, logs, alpha, sums_of(margins, logs, alpha) + rng.random(60))


@pytest.mark.parametrize("size", [1.0, 12.0, 24.0, 30.0])
def test_weights_that_fall_and_come_back(size):
    # No eight coordinates are out of range, but 32 of them are: e^-768 is no double.
    rng = np.random.default_rng(525)
    margins = np.where(np.arange(72) < 32, 1, -1) * np.ones((100, 1), np.int8)
    margins[::2] = np.where(np.arange(72) % 2, 1, -1)
    alpha, logs = np.full(72, size), rng.normal(0.0, 1.0, 100)
    W_logs = sums_of(margins, logs, alpha)
    check(margins.astype(np.int8), logs, alpha, W_logs)


def test_scores_where_the_sums_are_of_another_unit_for_a_while():
    rng = np.random.default_rng(521)
    margins, alpha = random_margins(rng, 130, 48), rng.normal(0.0, 0.5, 48)
    W_logs = np.full(48, 2.0)
    W_logs[13] = W_logs[30:34] = 200.0
    check(margins, np.zeros(130), alpha, W_logs)


def test_scores_of_examples_that_need_units_of_their_own():
    rng = np.random.default_rng(522)
    margins, alpha = random_margins(rng, 200, 33), rng.normal(0.0, 0.5, 33)
    check(margins, rng.uniform(-400.0, 10.0, 200), alpha, rng.normal(5.0, 1.0, 33))


def test_coordinates_without_weight_add_nothing():
    rng = np.random.default_rng(523)
    margins, alpha = random_margins(rng, 70, 24), rng.normal(0.0, 0.5, 24)
    W_logs = np.full(24, 4.0)
    W_logs[[3, 17]] = -np.inf
    check(margins, np.zeros(70), alpha, W_logs)
    assert not found_scores(margins, np.zeros(70), alpha, np.full(24, -np.inf)).any()


def test_equal_examples_have_equal_scores_wherever_they_are():
    rng = np.random.default_rng(524)
    margins = np.repeat(random_margins(rng, 1, 31), 300, axis=0)
    q = found_scores(margins, np.full(300, 0.3), rng.normal(0.0, 1.0, 31), rng.normal(3.0, 1.0, 31))
    assert (q == q[0]).all()
