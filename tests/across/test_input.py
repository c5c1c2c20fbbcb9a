"""Bad input: the message says what was wrong, and nothing is half-applied."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

import ocboost
from ocboost.errors import InputError, OcboostError
from tests.support.makers import random_margins

GOOD = random_margins(np.random.default_rng(90), 6, 4)


def spoilt(value, dtype=float):
    margins = GOOD.astype(dtype)
    margins[3, 1] = value
    return margins


# What is given as margins (six rows of four), and what the message must say.
BAD_MARGINS = {
    "zero": (spoilt(0, int), r"margins must .*-1.*\+1.*got 0 at row 3, column 1"),
    "two": (spoilt(2, int), r"margins must .*-1.*\+1.*got 2 at row 3, column 1"),
    "float": (spoilt(0.5), r"margins must .*-1.*\+1.*got 0\.5 at row 3, column 1"),
    "almost one": (spoilt(1 + 1e-12), r"margins must .*-1.*\+1.* at row 3, column 1"),
    "nan": (spoilt(np.nan), r"margins must .*-1.*\+1.*got nan at row 3, column 1"),
    "infinite": (spoilt(np.inf), r"margins must .*-1.*\+1.*got inf at row 3, column 1"),
    "large": (spoilt(257, int), r"margins must .*-1.*\+1.*got 257 at row 3, column 1"),
    "unsigned": (spoilt(255, np.uint8) | 1, r"margins must .*-1.*\+1"),
    "booleans": (GOOD > 0, r"margins must .*-1.*\+1.*bool"),
    "text": (GOOD.astype(str), r"margins must .*-1.*\+1"),
    "objects": (np.full((6, 4), None), r"margins must .*-1.*\+1"),
    "complex": (GOOD.astype(complex), r"margins must .*-1.*\+1"),
    "too narrow": (GOOD[:, :3], r"margins must .*4.*3"),
    "too wide": (np.hstack([GOOD, GOOD]), r"margins must .*4.*8"),
    "one row": (GOOD[0], r"margins must .*matrix"),
    "three axes": (GOOD[None], r"margins must .*matrix"),
    "no rows": (GOOD[:0], r"margins must .*at least one example"),
    "ragged": ([[1, -1, 1, 1], [1, -1]], r"margins must "),
    "nothing": (None, r"margins must "),
}

BAD_WEIGHTS = {
    "negative": ([1, 1, -0.5, 1, 1, 1], r"sample_weight must .*-0\.5"),
    "nan": ([1, 1, np.nan, 1, 1, 1], r"sample_weight must .*nan"),
    "infinite": ([1, 1, np.inf, 1, 1, 1], r"sample_weight must .*inf"),
    "too few": ([1, 1, 1], r"sample_weight must .*6.*3"),
    "too many": (np.ones(7), r"sample_weight must .*6.*7"),
    "two axes": (np.ones((6, 1)), r"sample_weight must "),
    "text": (["a"] * 6, r"sample_weight must "),
}


def make_sketch():
    sketch = ocboost.BoostingSketch(4, head=3, forgetting=0.9)
    sketch.update_many(random_margins(np.random.default_rng(91), 10, 4))
    return sketch


def make_oza_russell():
    booster = ocboost.OzaRussell(4, forgetting=0.9)
    booster.update_many(random_margins(np.random.default_rng(91), 10, 4))
    return booster


MAKERS = pytest.mark.parametrize("make", [make_sketch, make_oza_russell])


@MAKERS
@pytest.mark.parametrize("name", BAD_MARGINS)
def test_update_many_refuses_bad_margins(name, make, saved_bytes):
    margins, message = BAD_MARGINS[name]
    booster = make()
    before, alpha = saved_bytes(booster), booster.alpha.copy()
    with pytest.raises(InputError, match=message):
        booster.update_many(margins, batch_size=2)
    assert saved_bytes(booster) == before
    np.testing.assert_array_equal(booster.alpha, alpha)


@pytest.mark.parametrize("name", [name for name in BAD_MARGINS if name not in ("too narrow", "too wide")])
def test_batch_adaboost_refuses_bad_margins(name):
    margins, message = BAD_MARGINS[name]
    for compute in (
        ocboost.adaboost_weights,
        ocboost.adaboost_sums,
        ocboost.BoostingSketch.from_margins,
        ocboost.OzaRussell.from_margins,
    ):
        with pytest.raises(InputError, match=message):
            compute(margins)


@MAKERS
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1, -1, 0, 1], r"must .*-1.*\+1.*got 0"),
        ([1, -1, np.nan, 1], r"must .*-1.*\+1.*got nan"),
        ([1, -1, 0.25, 1], r"must .*-1.*\+1.*got 0\.25"),
        ([True, False, True, True], r"must .*-1.*\+1.*bool"),
        ([1, -1, 1], r"must .*4.*3"),
        ([1, -1, 1, 1, 1], r"must .*4.*5"),
        ([[1, -1, 1, 1]], r"must "),
        (1, r"must "),
    ],
)
def test_update_refuses_a_bad_row(row, message, make, saved_bytes):
    booster = make()
    before = saved_bytes(booster)
    with pytest.raises(InputError, match=message):
        booster.update(row)
    assert saved_bytes(booster) == before


@MAKERS
@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_update_many_refuses_bad_weights(name, make, saved_bytes):
    weight, message = BAD_WEIGHTS[name]
    booster = make()
    before = saved_bytes(booster)
    with pytest.raises(InputError, match=message):
        booster.update_many(GOOD, batch_size=2, sample_weight=weight)
    assert saved_bytes(booster) == before


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_batch_adaboost_refuses_bad_weights(name):
    weight, message = BAD_WEIGHTS[name]
    for compute in (ocboost.adaboost_weights, ocboost.adaboost_sums):
        with pytest.raises(InputError, match=message):
            compute(GOOD, sample_weight=weight)


@MAKERS
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "heavy", [1.0, 2.0]])
def test_update_refuses_a_bad_weight(weight, make, saved_bytes):
    booster = make()
    before = saved_bytes(booster)
    with pytest.raises(InputError, match="sample_weight must "):
        booster.update(GOOD[0], sample_weight=weight)
    assert saved_bytes(booster) == before


def test_one_bad_margin_at_the_end_of_many_applies_nothing(saved_bytes):
    margins = random_margins(np.random.default_rng(92), 5000, 4).astype(float)
    margins[-1, -1] = 0
    sketch = make_sketch()
    before = saved_bytes(sketch)
    with pytest.raises(InputError, match=r"got 0(\.0)? at row 4999, column 3"):
        sketch.update_many(margins, batch_size=3)
    assert saved_bytes(sketch) == before


def test_one_bad_weight_at_the_end_of_many_applies_nothing(saved_bytes):
    margins = random_margins(np.random.default_rng(93), 5000, 4)
    weight = np.ones(5000)
    weight[-1] = -1
    sketch = make_sketch()
    before = saved_bytes(sketch)
    with pytest.raises(InputError, match=r"sample_weight must .*-1.*4999"):
        sketch.update_many(margins, sample_weight=weight)
    assert saved_bytes(sketch) == before


@MAKERS
@pytest.mark.parametrize("batch_size", [0, -3, 1.5, "all", None, True, np.nan])
def test_batch_size(batch_size, make, saved_bytes):
    booster = make()
    before = saved_bytes(booster)
    with pytest.raises(InputError, match="batch_size must "):
        booster.update_many(GOOD, batch_size=batch_size)
    assert saved_bytes(booster) == before


@MAKERS
@pytest.mark.parametrize("factor", [-0.5, np.nan, np.inf, "half", None])
def test_decay(factor, make, saved_bytes):
    booster = make()
    before = saved_bytes(booster)
    with pytest.raises(InputError, match="factor must "):
        booster.decay(factor)
    assert saved_bytes(booster) == before


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_hypotheses", 0),
        ("n_hypotheses", -2),
        ("n_hypotheses", 2.5),
        ("n_hypotheses", "many"),
        ("n_hypotheses", True),
        ("n_hypotheses", 10**30),
        ("order", -1),
        ("order", 5),
        ("order", 1.5),
        ("order", "full"),
        ("order", True),
        ("head", 0),
        ("head", -1),
        ("head", 2.5),
        ("head", "automatic"),
        ("head", None),
        ("head", True),
        ("head", 2**70),
        ("tail", "yes"),
        ("tail", None),
        ("smoothing", -0.1),
        ("smoothing", np.nan),
        ("smoothing", np.inf),
        ("smoothing", "some"),
        ("smoothing", None),
        ("forgetting", 0.0),
        ("forgetting", -0.5),
        ("forgetting", 1.1),
        ("forgetting", np.nan),
        ("forgetting", "fast"),
        ("correction", "Balanced"),
        ("correction", "paper"),
        ("correction", None),
        ("correction", 1),
        ("correction", ["own"]),
    ],
)
def test_arguments_out_of_range(parameter, value):
    arguments = {"n_hypotheses": 4, parameter: value}
    with pytest.raises(InputError, match=rf"^{parameter} must .*{re.escape(repr(value))}") as caught:
        ocboost.BoostingSketch(**arguments)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, OcboostError)
    if parameter in ("n_hypotheses", "smoothing", "forgetting"):
        with pytest.raises(InputError, match=rf"^{parameter} must "):
            ocboost.OzaRussell(**arguments)
    if parameter != "n_hypotheses":
        del arguments["n_hypotheses"]
        with pytest.raises(InputError, match=rf"^{parameter} must "):
            ocboost.BoostingSketch.from_margins(GOOD, **arguments)


def test_a_whole_number_beyond_all_floats():
    with pytest.raises(InputError, match="smoothing must be a finite number of at least 0; got inf"):
        ocboost.BoostingSketch(4, smoothing=10**400)


def test_numpy_integers_are_integers():
    sketch = ocboost.BoostingSketch(
        np.int64(4), order=np.int32(2), head=np.int64(3), smoothing=np.float32(0.5)
    )
    sketch.update_many(GOOD, batch_size=np.int64(2))
    assert (sketch.n_hypotheses, sketch.order, sketch.head, sketch.smoothing) == (4, 2, 3, 0.5)


def test_the_parameters_can_be_read_and_not_changed():
    sketch = ocboost.BoostingSketch(
        4, order=2, head=3, tail=False, smoothing=0.5, forgetting=0.9, correction="own"
    )
    expected = {
        "n_hypotheses": 4,
        "order": 2,
        "head": 3,
        "tail": False,
        "smoothing": 0.5,
        "forgetting": 0.9,
        "correction": "own",
    }
    for name, value in expected.items():
        assert getattr(sketch, name) == value
        with pytest.raises(AttributeError):
            setattr(sketch, name, value)
    assert ocboost.BoostingSketch(4).order == 4


@pytest.mark.parametrize("parameter", ["smoothing"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "some"])
def test_arguments_of_batch_adaboost(parameter, value):
    for compute in (ocboost.adaboost_weights, ocboost.adaboost_sums):
        with pytest.raises(InputError, match=rf"{parameter} must "):
            compute(GOOD, **{parameter: value})
    with pytest.raises(InputError, match=rf"{parameter} must "):
        ocboost.IncrementalAdaBoost(4, **{parameter: value})


@pytest.mark.parametrize("order", [-1, 5, 1.5])
def test_order_of_the_sums(order):
    with pytest.raises(InputError, match="order must "):
        ocboost.adaboost_sums(GOOD, order=order)


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        ("n_hypotheses", {"n_hypotheses": 5}),
        ("order", {"order": 2}),
        ("correction", {"correction": "own"}),
        ("smoothing", {"smoothing": 0.25}),
        ("forgetting", {"forgetting": 0.5}),
        ("tail", {"tail": False}),
        ("keep", {"keep": "heavy"}),
    ],
)
def test_merging_what_does_not_match(parameter, options, saved_bytes):
    sketch = make_sketch().remade(keep="newest")
    given = {"n_hypotheses": 4, "head": 3, "forgetting": 0.9, "keep": "newest"} | options
    other = ocboost.BoostingSketch(**given)
    other.update(np.ones(other.n_hypotheses, dtype=int))
    before = saved_bytes(sketch), saved_bytes(other)
    for merge in (sketch.merge, other.merge, lambda o: sketch + o):
        argument = sketch if merge == other.merge else other
        with pytest.raises(InputError, match=parameter) as caught:
            merge(argument)
        assert str(getattr(sketch, parameter)) in str(caught.value)
        assert str(getattr(other, parameter)) in str(caught.value)
    assert (saved_bytes(sketch), saved_bytes(other)) == before


def test_merging_an_empty_sketch_that_does_not_match():
    with pytest.raises(InputError, match="n_hypotheses"):
        make_sketch().merge(ocboost.BoostingSketch(5, head=3, forgetting=0.9))


@pytest.mark.parametrize("other", [None, 3, "sketch", np.ones(4)])
def test_merging_with_something_else(other):
    with pytest.raises((InputError, TypeError), match="BoostingSketch"):
        make_sketch().merge(other)
    with pytest.raises((InputError, TypeError)):
        make_sketch() + other


def test_merging_with_the_other_booster():
    with pytest.raises((InputError, TypeError), match="BoostingSketch"):
        make_sketch().merge(make_oza_russell())
    with pytest.raises((InputError, TypeError), match="OzaRussell"):
        make_oza_russell().merge(make_sketch())


def test_approximation_error_refuses_what_has_no_direction():
    with pytest.raises(InputError, match=r"must .*(3|length|shape)"):
        ocboost.approximation_error([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(InputError, match="alpha must "):
        ocboost.approximation_error([1.0, 2.0], [1.0, np.nan])


@pytest.mark.parametrize("threads", [0, -1, 1.5, "all"])
def test_number_of_threads(threads):
    before = ocboost.get_num_threads()
    with pytest.raises(InputError, match="must "):
        ocboost.set_num_threads(threads)
    assert ocboost.get_num_threads() == before


def test_a_message_ends_with_what_to_do():
    sketch = make_sketch()
    with pytest.raises(InputError) as caught:
        sketch.update_many(BAD_MARGINS["zero"][0])
    sentences = str(caught.value).split(". ")
    assert len(sentences) >= 2
    assert sentences[-1].endswith(".")


# Smaller stumbling blocks --------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [["1", "2"], [True, False], [1j, 1.0], [[1.0], [1.0]], 2.0, [[1.0], []]])
def test_weights_of_the_wrong_kind(weights):
    sketch = ocboost.BoostingSketch(3)
    with pytest.raises(InputError, match="sample_weight must"):
        sketch.update_many([[1, 1, -1], [1, -1, -1]], sample_weight=weights)
    assert sketch.n_seen == 0


def test_a_short_row_is_called_a_row():
    with pytest.raises(InputError, match=r"row must have one margin for each of the 3 hypotheses; got 2\."):
        ocboost.BoostingSketch(3).update([1, 1])


def test_masked_margins():
    masked = np.ma.masked_array([1, 1, -1], mask=[False, True, False])
    with pytest.raises(InputError, match="masked"):
        ocboost.BoostingSketch(3).update(masked)
    ocboost.BoostingSketch(3).update(np.ma.masked_array([1, 1, -1]))  # nothing is masked


def test_a_head_that_is_an_array():
    with pytest.raises(InputError, match="head must be a whole number"):
        ocboost.BoostingSketch(3, head=np.array([1, 2]))


@pytest.mark.parametrize("other", [["a", "b"], [1j, 1.0]])
def test_distance_of_what_are_no_numbers(other):
    with pytest.raises(InputError, match="vectors of numbers"):
        ocboost.approximation_error([1.0, 2.0], other)


@pytest.mark.parametrize("make", [ocboost.BoostingSketch, ocboost.OzaRussell])
def test_a_copy_has_a_life_of_its_own(make):
    booster = make(3)
    booster.update_many([[1, 1, -1], [1, -1, -1]])
    before = booster.alpha
    for twin in (copy.copy(booster), copy.deepcopy(booster), booster.copy()):
        np.testing.assert_array_equal(twin.alpha, before)
        twin.update([-1, -1, 1])
        assert (twin.n_seen, booster.n_seen) == (3, 2)
        np.testing.assert_array_equal(booster.alpha, before)


def test_parameters_cannot_be_changed_behind_its_back():
    for booster in (ocboost.BoostingSketch(3), ocboost.OzaRussell(3)):
        with pytest.raises(AttributeError):
            booster.smoothing = -5.0
