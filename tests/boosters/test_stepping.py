"""What all boosters that learn by steps promise: the same methods, with any rule."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost.lineage
from ocboost._core import file_format
from ocboost.errors import InputError, ModelFileError
from ocboost.lineage import EGPlusMinus, OnlineLogistic, PassiveAggressive, Perceptron, Winnow
from tests.support.makers import random_margins
from tests.support.saved_trees import arrays_of

MADE = {
    "winnow": Winnow,
    "thick winnow": partial(Winnow, rate=0.4, margin=0.1),
    "eg": EGPlusMinus,
    "eg square": partial(EGPlusMinus, rate=0.05, norm=2.0, loss="square"),
    "logistic": partial(OnlineLogistic, rate=0.1),
    "perceptron": Perceptron,
    "passive-aggressive": partial(PassiveAggressive, C=0.02),
}
SCIKIT = ("logistic", "perceptron", "passive-aggressive")

every = pytest.mark.parametrize("name", MADE)


def stream(seed, n=120, J=17):
    rng = np.random.default_rng(seed)
    return random_margins(rng, n, J), np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0, 2, n))


@every
def test_a_loop_of_update_is_update_many(name, saved_bytes):
    margins, weight = stream(400)
    looped, at_once = MADE[name](17), MADE[name](17)
    for row, w in zip(margins, weight, strict=True):
        looped.update(row, sample_weight=w)
    at_once.update_many(margins[:50], sample_weight=weight[:50])
    at_once.update_many(margins[50:], sample_weight=weight[50:])
    assert saved_bytes(looped) == saved_bytes(at_once)
    np.testing.assert_array_equal(looped.alpha, at_once.alpha)
    assert looped.n_seen == 120


@every
def test_pieces_are_the_whole(name, saved_bytes, monkeypatch):
    margins, weight = stream(401)
    whole, pieces = MADE[name](17), MADE[name](17)
    whole.update_many(margins, batch_size=6, sample_weight=weight)
    monkeypatch.setattr("ocboost.boosters.base.WORK_PER_CALL", 4 * 17 * 13)
    pieces.update_many(margins, batch_size=6, sample_weight=weight)
    assert saved_bytes(whole) == saved_bytes(pieces)


@every
def test_it_starts_from_margins_one_by_one(name, saved_bytes):
    margins, weight = stream(402)
    parameters = MADE[name].keywords if isinstance(MADE[name], partial) else {}
    kind = type(MADE[name](1))
    one_by_one = MADE[name](17)
    one_by_one.update_many(margins, sample_weight=weight)
    assert saved_bytes(kind.from_margins(margins, sample_weight=weight, **parameters)) == saved_bytes(
        one_by_one
    )


@every
def test_nothing_learnt_is_no_weight(name):
    booster = MADE[name](4)
    np.testing.assert_array_equal(booster.alpha, np.zeros(4))
    booster.update_many(np.ones((3, 4)), sample_weight=np.zeros(3))
    np.testing.assert_array_equal(booster.alpha, np.zeros(4))
    assert booster.n_seen == 3


@every
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), J=st.integers(1, 12))
def test_permuted_and_mirrored_columns_have_permuted_and_mirrored_weights(name, seed, n, J):
    # A hypothesis turned round has the opposite weight; numbering means nothing.
    rng = np.random.default_rng(seed)
    margins = random_margins(rng, n, J, 0.1, 0.9)
    order, sides = rng.permutation(J), rng.choice([-1, 1], J)
    one, other = MADE[name](J), MADE[name](J)
    one.update_many(margins)
    other.update_many((margins * sides)[:, order])
    np.testing.assert_allclose(other.alpha, (one.alpha * sides)[order], rtol=0, atol=1e-9)


@every
def test_reading_and_copying_change_no_state(name, saved_bytes):
    margins, _ = stream(403)
    booster = MADE[name](17)
    booster.update_many(margins[:60])
    before = saved_bytes(booster)
    booster.alpha[:] = 7.0  # what is given out is the reader's own
    for other in (booster.copy(), copy.copy(booster), copy.deepcopy(booster)):
        assert saved_bytes(other) == before
        assert type(other) is type(booster)
        other.update_many(margins[60:])
        assert saved_bytes(other) != before
        assert saved_bytes(booster) == before


@every
def test_a_saved_booster_goes_on_as_before(name, tmp_path, saved_bytes):
    margins, weight = stream(404)
    booster = MADE[name](17)
    booster.update_many(margins[:50], sample_weight=weight[:50])
    booster.save(tmp_path / "booster")
    loaded = type(booster).load(tmp_path / "booster")
    assert repr(loaded) == repr(booster)
    assert loaded.n_seen == 50
    for row in margins[50:]:
        for each in (booster, loaded):
            each.update(row)
        np.testing.assert_array_equal(loaded.alpha, booster.alpha)
    assert saved_bytes(loaded) == saved_bytes(booster)


@every
def test_repr_and_size(name):
    booster = MADE[name](3)
    assert (
        eval(repr(booster), vars(ocboost.lineage) | {type(booster).__name__: type(booster)}).given_settings
        == booster.given_settings
    )
    assert booster.nbytes == 3 * 8


def reseal(path, change):
    """Rewrite a saved booster after a change of what it holds, as a hostile writer would."""
    kind, tree = file_format.load_any(path)
    change(tree)
    file_format.save(path, kind, tree)


def first(value):
    def change(tree):
        next(iter(arrays_of(tree).values()))[0] = value

    return change


def parameter(**changes):
    return lambda tree: tree.update(changes)


def state(value):
    return lambda tree: tree.update(dict.fromkeys((key for (key,) in arrays_of(tree)), value))


HOSTILE = {
    "NaN": (first(np.nan), "must be finite"),
    "infinite": (first(-np.inf), "must be finite"),
    "beyond": (first(1e300), "must be finite, within"),
    "n_seen": (parameter(n_seen=-1), "n_seen must be a whole number from 0"),
    "n_seen true": (parameter(n_seen=True), "n_seen must be a whole number from 0"),
    "wide": (parameter(n_hypotheses=5), "has the wrong shape"),
    "huge": (parameter(n_hypotheses=10**12), "has the wrong shape"),
    "unknown": (parameter(colour="red"), "entries that are not known: 'colour'"),
    "no n": (lambda tree: tree.pop("n_hypotheses"), "n_hypotheses is missing"),
    "more": (parameter(extra=np.zeros(4)), "entries that are not known: 'extra'"),
    "none": (lambda tree: [tree.pop(key) for (key,) in arrays_of(tree)], "is missing"),
    "no array": (state([0.0] * 4), "has the wrong shape or type"),
    "whole": (state(np.zeros(4, np.int64)), "has the wrong shape or type"),
}


@pytest.mark.parametrize("what", HOSTILE)
@every
def test_a_hostile_file_is_refused(name, what, tmp_path):
    change, message = HOSTILE[what]
    booster = MADE[name](4)
    booster.update_many(stream(405, 20, 4)[0])
    booster.save(tmp_path / "booster")
    reseal(tmp_path / "booster", change)
    with pytest.raises(ModelFileError, match=message):
        type(booster).load(tmp_path / "booster")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("winnow", {"rate": -1.0}),
        ("winnow", {"margin": "wide"}),
        ("eg", {"rate": "fast"}),
        ("eg", {"norm": 0}),
        ("eg", {"loss": ["logistic"]}),
        ("logistic", {"rate": None}),
        ("passive-aggressive", {"C": 1e300}),
    ],
)
def test_a_file_with_parameters_out_of_range_is_refused(name, changes, tmp_path):
    MADE[name](4).save(tmp_path / "booster")
    reseal(tmp_path / "booster", parameter(**changes))
    with pytest.raises(ModelFileError, match=f"is not a valid model: {next(iter(changes))} must be"):
        type(MADE[name](4)).load(tmp_path / "booster")


def test_one_kind_is_not_another(tmp_path):
    Winnow(4).save(tmp_path / "booster")
    with pytest.raises(ModelFileError, match=r"Winnow.*EGPlusMinus"):
        EGPlusMinus.load(tmp_path / "booster")


@pytest.mark.parametrize("kind", [Winnow, EGPlusMinus, OnlineLogistic, Perceptron, PassiveAggressive])
@pytest.mark.parametrize("wrong", [0, -3, 2.5, True, None, 10**30])
def test_n_hypotheses_is_a_count(kind, wrong):
    with pytest.raises(InputError, match="n_hypotheses must be a whole number from 1 to 16777216; got "):
        kind(wrong)


@every
def test_wrong_margins_and_weights_change_nothing(name, saved_bytes):
    booster = MADE[name](4)
    booster.update([1, 1, -1, 1])
    before = saved_bytes(booster)
    for margins, weight, message in (
        ([[1, 1, 0, 1]], None, "margins must be -1 and \\+1"),
        ([[1, 1, 1]], None, "one column for each of the 4"),
        (np.ones((2, 4)), [1.0, -1.0], "not negative; got -1.0 for example 1"),
        (np.ones((2, 4)), [np.nan, 1.0], "finite"),
    ):
        with pytest.raises(InputError, match=message):
            booster.update_many(margins, sample_weight=weight)
    with pytest.raises(InputError, match="batch_size"):
        booster.update_many(np.ones((2, 4)), batch_size=0)
    assert saved_bytes(booster) == before


@pytest.mark.parametrize("batch_size", [1, 5, 100])
@every
def test_weights_of_any_size_leave_alpha_finite(name, batch_size):
    rng = np.random.default_rng(406)
    margins = random_margins(rng, 60, 9)
    weight = rng.choice([0.0, 1e-300, 5e-324, 1.0, 1e100 if name in SCIKIT else 1.7e308], 60)
    booster = MADE[name](9)
    booster.update_many(margins, batch_size=batch_size, sample_weight=weight)
    assert np.isfinite(booster.alpha).all()
    assert np.abs(booster.alpha).max() > 0
    booster.update_many(np.concatenate([margins, -margins]), batch_size=batch_size)
    assert np.isfinite(booster.alpha @ margins.T).all()


@every
@pytest.mark.parametrize("weight", [1e-300, 1e-6, 1e9])
@pytest.mark.parametrize("side", [1, -1])
def test_a_long_one_sided_stream_leaves_alpha_finite(name, weight, side):
    booster = MADE[name](5)
    booster.update_many(np.full((5000, 5), side), sample_weight=np.full(5000, weight))
    assert np.isfinite(booster.alpha).all()
    if name != "eg square" or weight < 1e9:  # steps that long overshoot, and it goes to and fro
        assert (np.sign(booster.alpha) == side).all()


@pytest.mark.parametrize("name", SCIKIT)
def test_weights_that_would_overflow_are_refused(name, saved_bytes):
    booster = MADE[name](4)
    before = saved_bytes(booster)
    with pytest.raises(InputError, match=r"sample_weight must be at most 1e\+100 .* for example 2"):
        booster.update_many(np.ones((3, 4)), sample_weight=[1.0, 1e99, 1e101])
    assert saved_bytes(booster) == before


def test_names_come_when_asked_for():
    assert set(ocboost.lineage.__all__) <= set(dir(ocboost.lineage))
    with pytest.raises(AttributeError, match="no attribute 'Perceptrons'"):
        ocboost.lineage.Perceptrons  # noqa: B018
