"""The deployed weights fade as the examples that the sketch was started from do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import ModelFileError
from ocboost._core.codec import read
from ocboost.estimators.deployed_weights import DeployedWeights


def handover(weight=10.0):
    return DeployedWeights([np.array([1.0, 2.0])], [np.array([0.5, 2.5])], weight, 6.0)


def back(tree):
    return read(tree, "a file", lambda fields: DeployedWeights.from_tree(fields, [2]))


def numbers(one):
    return {key: value for key, value in one.tree().items() if key not in ("deployed", "started")}


def test_at_first_exactly_the_deployed_weights():
    fresh = handover()
    own = np.array([0.1, 0.2])
    assert fresh.untouched
    assert fresh.share == 1.0
    np.testing.assert_array_equal(fresh.alpha(own, 0), [1.0, 2.0])


def test_the_share_is_that_of_the_first_examples():
    one = handover()
    one.count_examples(np.array([4.0, 6.0]), 1.0)
    assert not one.untouched
    assert one.share == 0.5
    np.testing.assert_allclose(one.alpha(np.array([0.5, 2.5]), 0), [0.75, 2.25])
    one.count_examples(np.full(990, 1000.0), 1.0)
    assert one.share < 1e-4


@given(
    weights=st.lists(st.floats(0.0, 5.0), min_size=1, max_size=30),
    cut=st.integers(0, 30),
    forgetting=st.sampled_from([1.0, 0.9, 0.123]),
)
def test_however_the_stream_is_cut(weights, cut, forgetting):
    whole, parts = handover(), handover()
    whole.count_examples(np.array(weights), forgetting)
    for part in (weights[:cut], weights[cut:]):
        if part:
            parts.count_examples(np.array(part), forgetting)
    assert numbers(parts) == numbers(whole)
    n = len(weights)
    ages = np.arange(n - 1, -1, -1)
    new = float(np.sum(np.array(weights) * forgetting**ages))
    assert whole.share == pytest.approx(10.0 * forgetting**n / (10.0 * forgetting**n + new))


def test_a_window_drops_the_first_examples_one_by_one():
    one = handover()
    one.enter_window(8, 8)
    shares = []
    for _ in range(10):
        one.count_examples(np.ones(1), 1.0)
        shares.append(one.share)
    assert shares == [k / 8 for k in (7, 6, 5, 4, 3, 2, 1, 0, 0, 0)]
    np.testing.assert_array_equal(one.alpha(np.array([3.0, 4.0]), 0), [3.0, 4.0])


def test_a_window_that_is_not_full_yet():
    one = handover()
    one.enter_window(10, 4)
    one.count_examples(np.ones(6), 1.0)
    assert one.share == 0.4
    one.count_examples(np.ones(1), 1.0)
    assert one.share == 0.3


def test_into_a_window_and_out_again():
    one = handover()
    one.count_examples(np.ones(3), 1.0)
    one.enter_window(5, 5)
    assert one.share == 0.4
    one.leave_window()
    one.count_examples(np.ones(5), 1.0)  # nothing is dropped any more
    assert one.share == pytest.approx(0.2)


def test_forgetting_of_another_type_can_be_saved():
    one = handover()
    one.count_examples(np.ones(2), np.float32(0.5))
    assert all(type(one.tree()[key]) is float for key in ("old", "new", "total"))


def test_back_from_its_tree():
    one = handover()
    one.count_examples(np.array([0.3]), 0.9)
    again = back(one.tree())
    for each in (one, again):
        each.count_examples(np.array([0.1, 0.7]), 0.9)
    assert numbers(again) == numbers(one)
    np.testing.assert_array_equal(again.alpha(np.ones(2), 0), one.alpha(np.ones(2), 0))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("old", -1.0),
        ("old", float("nan")),
        ("old", float("inf")),
        ("old", 1),
        ("new", "1.0"),
        ("n", -1),
        ("n", 1.0),
        ("n", True),
        ("n", 1 << 70),
        ("size", 10**400),
        ("size", [1]),
        ("total", 0.0),
        ("total", "1"),
        ("other", 1),
    ],
)
def test_hostile_numbers(key, value):
    with pytest.raises(ModelFileError, match=key):
        back({**handover().tree(), key: value})


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.0, np.nan]),
        np.array([np.inf, 0.0]),
        np.array([1e300, 1e300]),
        np.ones(3),
        np.ones((2, 1)),
        np.ones(2, np.int64),
    ],
)
def test_hostile_arrays(array):
    for key in ("deployed", "started"):
        for value in ([array], array, [], [None], [np.ones(2), array], {"0": np.ones(2)}, 1):
            with pytest.raises(ModelFileError, match=f"{key} must be (2 finite weights|a list of 1)"):
                back({**handover().tree(), key: value})
    for key in ("started", "total"):
        with pytest.raises(ModelFileError, match="started and total belong together"):
            back({**handover().tree(), key: None})
    with pytest.raises(ModelFileError, match="entries that are not known: 'more'"):
        back({**handover().tree(), "more": np.ones(2)})
