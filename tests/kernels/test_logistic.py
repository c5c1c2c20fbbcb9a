"""The loss of several logistic models and its slopes, against the plain twin."""

import numpy as np
import pytest

from ocboost._kernels.logistic import loss_and_slopes
from tests.naive.logistic import loss_and_slopes as plain_loss_and_slopes


def problem(n, p, m, seed=0, wide=1.0):
    rng = np.random.default_rng(seed)
    answers = rng.choice(np.array([-1, 1], np.int8), (n, p))
    theta = (wide * rng.normal(0, 0.3, (m, p))).astype(np.float32)
    weights = rng.uniform(0.0, 1.0, (n, m))
    return answers, theta, rng.normal(0, 1, (n, m)), weights, weights * rng.random((n, 1))


def found(answers, theta, offset, weights, pulled):
    slopes, sums = np.full(theta.shape, np.nan, np.float32), np.full(len(theta), np.nan)
    loss = loss_and_slopes(answers, theta, offset, weights, pulled, slopes, sums)
    return loss, slopes, sums


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 11])
@pytest.mark.parametrize(("p", "m"), [(1, 1), (7, 5), (40, 2)])
def test_as_one_answer_after_the_other(n, p, m):
    given = problem(n, p, m, seed=n)
    for own, plain in zip(found(*given), plain_loss_and_slopes(*map(np.ndarray.tolist, given)), strict=True):
        np.testing.assert_allclose(own, plain, rtol=1e-5, atol=1e-5)


def test_scores_far_from_zero_lose_what_they_are_wrong_by():
    given = problem(9, 30, 3, wide=40.0)
    for own, plain in zip(found(*given), plain_loss_and_slopes(*map(np.ndarray.tolist, given)), strict=True):
        np.testing.assert_allclose(own, plain, rtol=1e-5, atol=1e-4)


def test_scores_that_exp_would_overflow_at():
    answers, theta, offset, weights, pulled = problem(6, 8, 2)
    offset[:3], offset[3:] = 5000.0, -5000.0
    loss, slopes, sums = found(answers, theta, offset, weights, pulled)
    assert np.isfinite(loss)
    assert np.isfinite(slopes).all()
    np.testing.assert_allclose(sums, weights[:3].sum(axis=0) - pulled.sum(axis=0))


def test_a_row_that_weighs_nothing_says_nothing():
    given = problem(10, 12, 3)
    for array in given[3:]:
        array[4, 1] = 0.0
    before = found(*given)
    given[2][4, 1] += 3.0
    for a, b in zip(before, found(*given), strict=True):
        np.testing.assert_array_equal(a, b)
