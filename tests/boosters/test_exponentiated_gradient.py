"""EG±: against explicit w⁺ and w⁻ in a plain loop, Kivinen and Warmuth's bound, and logistic regression."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost.errors import InputError
from ocboost.lineage import EGPlusMinus
from tests.naive.stepping import PlainEG, learn_in_batches
from tests.support.makers import independent_columns, random_margins


@pytest.mark.parametrize("J", [1, 3, 25])
@pytest.mark.parametrize("loss", ["logistic", "square"])
@pytest.mark.parametrize(("rate", "norm"), [("auto", 10.0), (0.1, 1.0), (0.02, 3.0)])
@pytest.mark.parametrize("batch_size", [1, 4, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_the_plain_loop(J, loss, rate, norm, batch_size, weighted):
    rng = np.random.default_rng(420)
    margins = random_margins(rng, 120, J, 0.3, 0.8)
    weight = rng.uniform(0, 2, 120) if weighted else np.ones(120)
    fast = EGPlusMinus(J, rate=rate, norm=norm, loss=loss)
    plain = PlainEG(J, 1 / (3 * norm**2) if rate == "auto" else rate, norm, loss)
    for start in range(0, 120, 40):
        part = slice(start, start + 40)
        fast.update_many(margins[part], batch_size=batch_size, sample_weight=weight[part])
        learn_in_batches(plain, margins[part], weight[part], batch_size)
        np.testing.assert_allclose(fast.alpha, plain.alpha, rtol=0, atol=1e-9)


def test_a_known_answer():
    booster = EGPlusMinus(2, rate=0.5, norm=2.0)
    booster.update([1, -1])  # f = 0, L' = -1: θ = 0.5 · 2 · (1, -1)
    expected = 2.0 * math.sinh(1.0) / (2.0 * math.cosh(1.0))
    np.testing.assert_allclose(booster.alpha, [expected, -expected], atol=1e-15)
    booster = EGPlusMinus(1, rate=0.5, norm=1.0, loss="square")
    booster.update([1])  # f = 0, L' = -2: θ = 0.5 · 1 · 2
    np.testing.assert_allclose(booster.alpha, [math.tanh(1.0)], atol=1e-15)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 15),
    st.floats(1e-3, 1e5),
    st.sampled_from(["logistic", "square"]),
    st.sampled_from([1e-9, 1.0, 1e9]),
)
def test_the_norm_never_exceeds_U(seed, J, norm, loss, heavy):
    rng = np.random.default_rng(seed)
    booster = EGPlusMinus(J, norm=norm, loss=loss, rate=0.1)
    for row in random_margins(rng, 30, J, 0.0, 1.0):
        booster.update(row, sample_weight=heavy)
        assert np.abs(booster.alpha).sum() <= norm * (1 + 1e-12)


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_the_square_loss(seed, noise, norm):
    # At 1 / (3 U²) its loss is at most 3 (that of any α of norm U, plus U² log(2J)).
    rng = np.random.default_rng(seed)
    J = 200
    answers = rng.choice([-1, 1], (600, J))
    y = answers[:, 0] * np.where(rng.random(600) < noise, -1, 1)
    margins = answers * y[:, None]
    booster, own = EGPlusMinus(J, norm=norm, loss="square"), 0.0
    for row in margins:
        own += (1 - row @ booster.alpha) ** 2
        booster.update(row)
    best = min(((1 - size * margins[:, 0]) ** 2).sum() for size in np.linspace(0, norm, 50))
    assert own <= 3 * (best + norm**2 * math.log(2 * J))
    if noise == 0.0 and norm == 1.0:
        assert own < 50  # of 600 at α = 0


def test_the_update_descends_the_loss():
    # A small step lowers the loss of its own example.
    rng = np.random.default_rng(421)
    for loss, of in (("logistic", lambda f: np.logaddexp(0, -2 * f)), ("square", lambda f: (1 - f) ** 2)):
        booster = EGPlusMinus(12, norm=2.0, rate=1e-3, loss=loss)
        for row in random_margins(rng, 200, 12, 0.2, 0.9):
            before = of(row @ booster.alpha)
            booster.update(row)
            assert of(row @ booster.alpha) < before


def test_stationary_data_end_at_logistic_regression():
    # Independent columns: the best weights for the logistic loss are half the log-odds of each.
    rng = np.random.default_rng(422)
    p = np.array([0.85, 0.75, 0.65, 0.55, 0.5, 0.4])
    booster = EGPlusMinus(6, rate=2e-4, norm=10.0)
    margins = independent_columns(rng, 60_000, p)
    booster.update_many(margins[:20_000])
    mean = np.zeros(6)
    for start in range(20_000, 60_000, 100):
        booster.update_many(margins[start : start + 100])
        mean += booster.alpha / 400
    np.testing.assert_allclose(mean, 0.5 * np.log(p / (1 - p)), rtol=0, atol=0.04)


def test_few_relevant_hypotheses_among_many_are_found():
    rng = np.random.default_rng(423)
    booster = EGPlusMinus(1000)
    booster.update_many(independent_columns(rng, 2000, [0.85] * 4 + [0.5] * 996))
    assert booster.alpha[:4].min() > 0.3
    assert np.abs(booster.alpha[4:]).max() < 0.1


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_the_heaviest_weights_add_up(loss, batch_size):
    booster = EGPlusMinus(3, rate=1e6, norm=1e6, loss=loss)
    rows = [[1, 1, 1], [1, -1, -1], [1, 1, -1], [-1, 1, 1]] * 5
    booster.update_many(rows, batch_size=batch_size, sample_weight=[1.7e308] * 20)
    assert np.isfinite(booster.alpha).all()
    assert 0 < np.abs(booster.alpha).sum() <= 1e6 * (1 + 1e-12)


@pytest.mark.parametrize("rate", [0, -0.1, np.nan, np.inf, None, True, 1e7])
def test_a_wrong_rate_is_refused(rate):
    with pytest.raises(InputError, match=r"rate must be a (finite )?number of more than 0"):
        EGPlusMinus(3, rate=rate)


def test_a_wrong_name_of_a_rate_is_refused():
    with pytest.raises(InputError, match='rate must be a number or "auto"; got \'best\'\\. "auto" is 1 / '):
        EGPlusMinus(3, rate="best")


@pytest.mark.parametrize("norm", [0, -1.0, np.inf, "auto", 1e9])
def test_a_wrong_norm_is_refused(norm):
    with pytest.raises(
        InputError, match=r"norm must be a (finite )?number of more than 0 and at most 1e\+06"
    ):
        EGPlusMinus(3, norm=norm)


@pytest.mark.parametrize("loss", ["hinge", None, 2, ["square"]])
def test_a_wrong_loss_is_refused(loss):
    with pytest.raises(InputError, match=r'loss must be "logistic" or "square"; got .*"square" is the paper'):
        EGPlusMinus(3, loss=loss)


def test_a_norm_whose_square_is_no_number():
    with pytest.raises(InputError, match=r'rate must be a number where norm is below 1e-150.*got "auto"'):
        EGPlusMinus(2, norm=1e-160)
    booster = EGPlusMinus(2, norm=1e-160, rate=0.1)
    booster.update([1, -1])
    assert np.isfinite(booster.alpha).all()
