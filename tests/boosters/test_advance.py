"""`Booster.advance`, for whoever owns a booster alone: as `update`, and α at once."""

import numpy as np
import pytest

from ocboost import BoostingSketch
from ocboost.boosters.registry import BOOSTERS
from ocboost.boosters.sketch.newest import NewestStore

J = 9


def margins_and_weights(n=150, seed=0):
    rng = np.random.default_rng(seed)
    margins = np.where(rng.random((n, J)) < np.linspace(0.4, 0.8, J), 1, -1).astype(np.int8)
    return margins, rng.choice([0.0, 0.5, 1.0, 3.0], n)


def made(name):
    registered = BOOSTERS[name]
    kind = registered.load()
    return kind.create(J, {**kind(1).given_settings, **registered.settings})


@pytest.mark.parametrize("name", BOOSTERS)
def test_it_is_update(name):
    margins, weights = margins_and_weights()
    labels = np.where(np.random.default_rng(1).random(len(margins)) < 0.5, 1, -1).astype(np.int8)
    ahead, plain = made(name), made(name)
    for i in range(len(margins)):
        alpha = ahead.advance(margins[i : i + 1], weights[i : i + 1], labels[i : i + 1])
        plain.update(margins[i], weights[i], labels[i])
        np.testing.assert_allclose(alpha, plain.alpha, rtol=1e-11, atol=1e-13)
    assert ahead.n_seen == plain.n_seen == len(margins)
    np.testing.assert_array_equal(ahead.alpha, plain.alpha)


@pytest.mark.parametrize("name", BOOSTERS)
def test_several_at_once_are_one_after_the_other(name):
    margins, weights = margins_and_weights()
    labels = np.ones(len(margins), np.int8)
    at_once, plain = made(name), made(name)
    at_once.advance(margins, weights.copy(), labels)
    plain.update_many(margins, sample_weight=weights, labels=labels)
    np.testing.assert_array_equal(at_once.alpha, plain.alpha)


@pytest.mark.parametrize("name", BOOSTERS)
def test_saved_in_the_middle_it_continues_to_the_last_bit(name, tmp_path):
    margins, weights = margins_and_weights()
    booster, labels = made(name), np.ones((len(margins), 1), np.int8)
    for i in range(70):
        booster.advance(margins[i : i + 1], weights[i : i + 1], labels[i])
    booster.save(tmp_path / "booster.ocb")
    others = [type(booster).load(tmp_path / "booster.ocb"), booster.copy()]
    for i in range(70, len(margins)):
        alpha = booster.advance(margins[i : i + 1], weights[i : i + 1], labels[i])
        for other in others:
            found = other.advance(margins[i : i + 1], weights[i : i + 1], labels[i])
            np.testing.assert_array_equal(found, alpha)


# Short windows, which have their margins as numbers ---------------------------------------------------------


@pytest.mark.parametrize("head", [1, 7, 20, 64])
@pytest.mark.parametrize("smoothing", [1e-3, 1.0, 50.0])
def test_a_short_window_is_solved_by_numbers(head, smoothing):
    margins, weights = margins_and_weights(200, seed=2)
    sketch = BoostingSketch(J, head=head, tail=False, smoothing=smoothing)
    for i in range(len(margins)):
        alpha = sketch.advance(margins[i : i + 1], weights[i : i + 1], None)
        np.testing.assert_allclose(alpha, sketch.alpha, rtol=1e-9, atol=1e-12)
    assert sketch._store._window is not None


def test_other_ways_of_learning_in_between():
    margins, weights = margins_and_weights()
    ahead, plain = made("ocb-window-20"), made("ocb-window-20")
    for i in range(len(margins)):
        if i % 7 == 3:
            ahead.update(margins[i], weights[i])
        else:
            alpha = ahead.advance(margins[i : i + 1], weights[i : i + 1], None)
        plain.update(margins[i], weights[i])
        if i % 7 != 3:
            np.testing.assert_allclose(alpha, plain.alpha, rtol=1e-11, atol=1e-13)


def test_decayed_or_scaled_weights_are_solved_as_ever():
    margins, _ = margins_and_weights()
    for heavy in (1.0, 1e200):
        ahead, plain = made("ocb-window-20"), made("ocb-window-20")
        for i in range(60):
            if i == 30:
                ahead.decay(0.5), plain.decay(0.5)
            alpha = ahead.advance(margins[i : i + 1], np.array([heavy]), None)
            plain.update(margins[i], heavy)
            np.testing.assert_allclose(alpha, plain.alpha, rtol=1e-11, atol=1e-13)


def test_a_window_of_nothing_but_zero_weights():
    sketch = made("ocb-window-20")
    alpha = sketch.advance(np.ones((1, J), np.int8), np.zeros(1), None)
    np.testing.assert_array_equal(alpha, np.zeros(J))


def test_many_hypotheses_of_the_same_answer_stay_finite():
    n = 3000
    sketch = BoostingSketch(n, head=20, tail=False, smoothing=1e-3)
    rows = np.where(np.random.default_rng(3).random((25, 1)) < 0.7, 1, -1).astype(np.int8)
    for row in rows:
        alpha = sketch.advance(np.repeat(row[None], n, axis=1), np.ones(1), None)
        assert np.isfinite(alpha).all()
    np.testing.assert_allclose(alpha, sketch.alpha, rtol=1e-6, atol=1e-9)


def test_longer_windows_and_tails_have_none():
    assert isinstance(made("ocb-window-200")._store, NewestStore)
    for sketch in (made("ocb-window-200"), BoostingSketch(J, head=20, tail=False, smoothing=0.0)):
        sketch.advance(np.ones((1, J), np.int8), np.ones(1), None)
        assert sketch._store._window is None
