"""Winnow: against explicit weights in a plain loop, and Littlestone's kind of bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ocboost.errors import InputError
from ocboost.lineage import Perceptron, Winnow
from tests.naive.stepping import PlainWinnow, learn_in_batches
from tests.support.makers import random_margins


@pytest.mark.parametrize("J", [1, 2, 9, 40])
@pytest.mark.parametrize(("rate", "margin"), [(0.1, 0.0), (0.7, 0.0), (0.05, 0.1), (0.2, 0.5)])
@pytest.mark.parametrize("batch_size", [1, 4, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_the_plain_loop(J, rate, margin, batch_size, weighted):
    rng = np.random.default_rng(410)
    margins = random_margins(rng, 150, J, 0.3, 0.8)
    weight = rng.uniform(0, 2, 150) if weighted else np.ones(150)
    fast, plain = Winnow(J, rate=rate, margin=margin), PlainWinnow(J, rate, margin)
    for start in range(0, 150, 50):
        part = slice(start, start + 50)
        fast.update_many(margins[part], batch_size=batch_size, sample_weight=weight[part])
        learn_in_batches(plain, margins[part], weight[part], batch_size)
        np.testing.assert_allclose(fast.alpha, plain.alpha, rtol=0, atol=1e-9)
    assert plain.steps > 2


def separable(rng, n, J, k):
    """Margins of hypotheses of which the first k decide the label by majority."""
    answers = rng.choice([-1, 1], (n, J))
    return answers * np.sign(answers[:, :k].sum(axis=1, keepdims=True))


def mistakes(booster, margins):
    count = 0
    for row in margins:
        count += row @ booster.alpha <= 1e-9
        booster.update(row)
    return count


@pytest.mark.parametrize(("k", "J"), [(1, 30), (3, 200), (3, 600), (5, 600)])
@pytest.mark.parametrize("seed", range(3))
def test_the_mistake_bound(seed, k, J):
    # log(2J) / (rate · δ - log cosh(rate)), with δ = 1/k; at the rate 1/k that is less than 2 k² log(2J).
    margins = separable(np.random.default_rng(seed), 1500, J, k)
    rate = 1 / k
    bound = math.log(2 * J) / (rate / k - math.log(math.cosh(rate)))
    assert bound < 2 * k**2 * math.log(2 * J)
    booster = Winnow(J, rate=rate)
    made = mistakes(booster, margins)
    assert 2 <= made <= bound
    if k == 3:
        assert (margins[-500:] @ booster.alpha > 0).all()  # it has learnt the target


def test_irrelevant_hypotheses_cost_a_perceptron_more():
    found = {}
    for J in (100, 800):
        margins = separable(np.random.default_rng(411), 1500, J, 3)
        found[J] = mistakes(Winnow(J, rate=1 / 3), margins), mistakes(Perceptron(J), margins)
    assert found[800][0] <= 2 * found[100][0]
    assert found[800][1] > 2.5 * found[100][1]
    assert found[800][1] > 5 * found[800][0]


def test_a_known_answer():
    booster = Winnow(2, rate=math.log(2))
    booster.update([1, -1])  # a tie: u = (2, ½), v = (½, 2)
    np.testing.assert_allclose(booster.alpha, np.array([1, -1]) / math.sqrt(2), atol=1e-15)
    booster.update([1, -1])  # right: nothing changes
    np.testing.assert_allclose(booster.alpha, np.array([1, -1]) / math.sqrt(2), atol=1e-15)
    booster.update([1, 1])  # a tie again: u = (4, 1), v = (¼, 1)
    np.testing.assert_allclose(booster.alpha, [1, 0], atol=1e-15)
    booster.update([-1, 1])  # wrong: u = (2, 2), v = (½, ½)
    np.testing.assert_allclose(booster.alpha, np.array([1, 1]) / math.sqrt(2), atol=1e-15)


def test_a_batch_is_judged_by_the_weights_before_it():
    # The second row would be right after the first one's step, and counts half as a row of a batch of two.
    rows = [[1, 1, -1], [1, 1, 1]]
    batch, twice = Winnow(3), Winnow(3)
    batch.update_many(rows, batch_size=2)
    np.testing.assert_allclose(batch.alpha, np.array([1, 1, 0]) / math.sqrt(2), atol=1e-15)
    twice.update_many(rows)
    np.testing.assert_allclose(twice.alpha, np.array([1, 1, -1]) / math.sqrt(3), atol=1e-15)


def test_a_tie_of_many_votes_is_a_tie_however_it_rounds():
    # 0.1-like votes that cancel exactly only in real numbers.
    rng = np.random.default_rng(412)
    for _ in range(50):
        J = int(rng.integers(2, 20))
        booster = Winnow(2 * J, rate=float(rng.uniform(0.01, 1.0)))
        row = rng.choice([-1, 1], 2 * J)
        booster.update(row)
        tie = row * rng.permutation(np.repeat([1, -1], J))
        before = booster.alpha
        booster.update(tie)
        assert np.abs(booster.alpha - before).max() > 0.01


def test_alpha_has_length_one_and_extreme_exponents_choose():
    booster = Winnow(4, rate=1.0)
    booster.update([1, 1, 1, -1], sample_weight=1e8)
    np.testing.assert_allclose(booster.alpha, [0.5, 0.5, 0.5, -0.5], atol=1e-15)
    booster.update([1, -1, -1, 1], sample_weight=1e7)  # wrong by 4 votes: only the first gains
    np.testing.assert_allclose(booster.alpha, [1, 0, 0, 0], atol=1e-15)
    booster = Winnow.from_margins(random_margins(np.random.default_rng(413), 300, 20))
    assert np.linalg.norm(booster.alpha) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("rate", [1e-6, 1.0, 1e6])
def test_the_heaviest_weights_add_up(rate):
    booster = Winnow(3, rate=rate)
    booster.update([1, 1, 1], sample_weight=1.7e308)
    booster.update([1, -1, -1], sample_weight=1.7e308)
    np.testing.assert_array_equal(booster.alpha, [1, 0, 0])
    booster.update_many([[-1, -1, 1]] * 3, sample_weight=[1.7e308] * 3)
    assert np.isfinite(booster.alpha).all()
    assert booster.alpha[2] > 0.4


@pytest.mark.parametrize("rate", [0, -0.1, np.nan, np.inf, "fast", True, 1e7])
def test_a_wrong_rate_is_refused(rate):
    with pytest.raises(InputError, match=r"rate must be a (finite )?number of more than 0 and at most 1e"):
        Winnow(3, rate=rate)


@pytest.mark.parametrize("margin", [-0.1, 1.0, np.nan, None])
def test_a_wrong_margin_is_refused(margin):
    with pytest.raises(InputError, match=r"margin must be a (finite )?number of at least 0 and at most 0.99"):
        Winnow(3, margin=margin)
