"""The linear rules: the same as scikit-learn's own on answers and labels, and as plain loops on margins."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, SGDClassifier

from ocboost.errors import InputError
from ocboost.estimators.committee import probabilities
from ocboost.lineage import OnlineLogistic, PassiveAggressive, Perceptron
from tests.naive.stepping import STEPS, PlainLinear
from tests.support.makers import independent_columns, random_margins

PA1 = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 8)


def scikit(**settings):
    return SGDClassifier(penalty=None, fit_intercept=False, shuffle=False, **settings)


def passive_aggressive(C):
    if PA1:
        return scikit(loss="hinge", learning_rate="pa1", eta0=C)
    from sklearn.linear_model import PassiveAggressiveClassifier

    return PassiveAggressiveClassifier(C=C, fit_intercept=False, shuffle=False)


CASES = {
    "logistic": (
        lambda J: OnlineLogistic(J, rate=0.2),
        lambda: scikit(loss="log_loss", learning_rate="constant", eta0=0.2),
        lambda coef: coef / 2,
    ),
    "perceptron": (
        Perceptron,
        lambda: scikit(loss="perceptron", learning_rate="constant", eta0=1.0),
        lambda coef: coef / np.linalg.norm(coef),
    ),
    "passive-aggressive": (PassiveAggressive, lambda: passive_aggressive(1.0), lambda coef: coef),
    "passive-aggressive, C": (
        lambda J: PassiveAggressive(J, C=0.01),
        lambda: passive_aggressive(0.01),
        lambda coef: coef,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_scikit_learn_on_answers_and_labels(name, weighted):
    if weighted and name.startswith("passive") and not PA1:
        pytest.skip("the old PassiveAggressiveClassifier takes no weights")
    make, make_model, scaled = CASES[name]
    rng = np.random.default_rng(430)
    margins = random_margins(rng, 300, 12)
    y = rng.choice([-1, 1], 300)
    weight = rng.uniform(0.1, 2, 300) if weighted else None
    booster, model = make(12), make_model()
    for start in range(0, 300, 60):
        part = slice(start, start + 60)
        w = None if weight is None else weight[part]
        booster.update_many(margins[part], sample_weight=w)
        weights = {} if w is None else {"sample_weight": w}
        model.partial_fit((margins[part] * y[part, None]).astype(float), y[part], classes=[-1, 1], **weights)
        np.testing.assert_allclose(booster.alpha, scaled(model.coef_[0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("J", [1, 5, 30])
def test_agrees_with_the_plain_loop(name, J):
    rng = np.random.default_rng(431)
    margins, weight = random_margins(rng, 100, J), rng.choice([0.0, 0.5, 1.0, 2.0], 100)
    booster, plain = CASES[name][0](J), PlainLinear(J, STEPS[name])
    for row, w in zip(margins, weight, strict=True):
        booster.update(row, sample_weight=w)
        plain.update(row, w)
    np.testing.assert_allclose(booster.alpha, CASES[name][2](np.array(plain.c)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_batch_size_changes_nothing(name, saved_bytes):
    margins = random_margins(np.random.default_rng(432), 90, 6)
    one_by_one, batches = CASES[name][0](6), CASES[name][0](6)
    one_by_one.update_many(margins)
    batches.update_many(margins, batch_size=8)
    assert saved_bytes(one_by_one) == saved_bytes(batches)


@pytest.mark.parametrize("name", CASES)
def test_the_state_of_numpys_generator_is_left_alone(name):
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    CASES[name][0](6).update_many(random_margins(np.random.default_rng(433), 30, 6))
    assert np.random.random() == expected  # noqa: NPY002


def test_votes_of_logistic_regression_are_half_its_log_odds():
    rng = np.random.default_rng(434)
    margins, y = random_margins(rng, 200, 8), rng.choice([-1, 1], 200)
    answers = (margins * y[:, None]).astype(float)
    booster, model = OnlineLogistic(8), scikit(loss="log_loss", learning_rate="constant", eta0=0.03)
    booster.update_many(margins)
    model.partial_fit(answers, y, classes=[-1, 1])
    np.testing.assert_allclose(
        probabilities(answers @ booster.alpha), model.predict_proba(answers), rtol=0, atol=1e-12
    )


def test_stationary_data_end_at_batch_logistic_regression():
    rng = np.random.default_rng(435)
    margins = independent_columns(rng, 40_000, [0.85, 0.75, 0.65, 0.55, 0.5, 0.4])
    y = rng.choice([-1, 1], 40_000)
    batch = LogisticRegression(C=1e6, fit_intercept=False).fit(margins * y[:, None], y)
    booster, mean = OnlineLogistic(6, rate=0.01), np.zeros(6)
    booster.update_many(margins[:10_000])
    for start in range(10_000, 40_000, 100):
        booster.update_many(margins[start : start + 100])
        mean += booster.alpha / 300
    np.testing.assert_allclose(mean, batch.coef_[0] / 2, rtol=0, atol=0.03)


def test_passive_aggressive_makes_the_vote_one():
    rng = np.random.default_rng(436)
    booster = PassiveAggressive(7)
    for row in random_margins(rng, 50, 7):
        before = booster.alpha
        booster.update(row)
        if row @ before < 1:
            assert row @ booster.alpha == pytest.approx(1.0, abs=1e-12)
        else:
            np.testing.assert_array_equal(booster.alpha, before)


def test_a_perceptron_has_no_scale():
    margins = random_margins(np.random.default_rng(437), 200, 9)
    plain, heavy = Perceptron(9), Perceptron(9)
    plain.update_many(margins)
    for row in margins:
        heavy.update(row, sample_weight=2.0**300)  # its squares are beyond a double
    np.testing.assert_array_equal(plain.alpha, heavy.alpha)
    assert np.linalg.norm(plain.alpha) == pytest.approx(1.0, abs=1e-14)


def test_a_perceptron_ends_on_separable_data():
    # Novikoff: at most k J mistakes for a majority of k.
    rng = np.random.default_rng(438)
    answers = rng.choice([-1, 1], (300, 40))
    margins = answers * np.sign(answers[:, :3].sum(axis=1, keepdims=True))
    booster, count = Perceptron(40), 0
    for row in np.tile(margins, (6, 1)):
        count += row @ booster.alpha <= 1e-12
        booster.update(row)
    assert count <= 3 * 40
    assert (margins @ booster.alpha > 0).all()


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan, np.inf, "auto", True, 1e7])
def test_wrong_rates_are_refused(wrong):
    for kind, name in ((OnlineLogistic, "rate"), (PassiveAggressive, "C")):
        with pytest.raises(InputError, match=f"{name} must be a (finite )?number of more than 0"):
            kind(3, **{name: wrong})
