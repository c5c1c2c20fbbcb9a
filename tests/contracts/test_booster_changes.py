"""The boosters' contract: merging, fading, and more or fewer hypotheses, for every name in the registry."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import InputError
from ocboost.boosters import BOOSTERS
from ocboost.boosters.base import SummingBooster
from ocboost.boosters.stepping import SteppingBooster
from tests.contracts.examples import booster, is_hinted, margins
from tests.contracts.taught import J, N, given_to, goes_on_as, taught

# Sums: merging and fading -----------------------------------------------------------------------------

summing = pytest.mark.parametrize(
    "name", [n for n in BOOSTERS if issubclass(BOOSTERS[n].load(), SummingBooster)]
)
others = pytest.mark.parametrize(
    "name", [n for n in BOOSTERS if not issubclass(BOOSTERS[n].load(), SummingBooster)]
)


@summing
def test_merging(name, saved_bytes):
    one, other = taught(name), booster(name, J)
    other.update_many(*given_to(name, 70, seed=8)[:1])
    before = saved_bytes(one), saved_bytes(other)
    both = one.merge(other)
    assert both.n_seen == one.n_seen + other.n_seen
    for same in (other.merge(one), one + other):
        np.testing.assert_array_equal(same.alpha, both.alpha)
        assert saved_bytes(same) == saved_bytes(both) or same.n_head
    assert (saved_bytes(one), saved_bytes(other)) == before
    assert np.abs(both.alpha - one.alpha).max() > 1e-6


@summing
def test_merging_with_nothing_is_a_copy(name, saved_bytes):
    one = taught(name)
    for both in (one.merge(booster(name, J)), booster(name, J).merge(one)):
        goes_on_as(both, one.copy(), saved_bytes)


@summing
def test_what_cannot_be_merged(name):
    one = taught(name)
    with pytest.raises(InputError, match="same n_hypotheses to be merged"):
        one.merge(booster(name, J + 1))
    settings_of = {**one.given_settings, "smoothing": 0.25}
    with pytest.raises(InputError, match="same smoothing to be merged"):
        one.merge(type(one).create(J, settings_of))
    with pytest.raises(InputError, match="other must be"):
        one.merge(None)
    with pytest.raises(TypeError):
        one + 1


@summing
def test_fading(name, saved_bytes):
    one, faded = taught(name), taught(name)
    faded.decay(1.0)
    np.testing.assert_array_equal(faded.alpha, one.alpha)
    faded.decay(1e-3)
    rows, _ = given_to(name, 15, seed=4)
    for each in (one, faded):
        each.update_many(rows)
    assert np.abs(one.alpha - faded.alpha).max() > 1e-3
    before = saved_bytes(one)
    for wrong in (0.0, -0.5, 1.5, np.nan, "1", None):
        with pytest.raises(InputError, match="factor must be a") as caught:
            one.decay(wrong)
        assert is_hinted(caught.value)
    assert saved_bytes(one) == before


@others
def test_steps_are_not_merged(name):
    assert not hasattr(booster(name, J), "merge")
    assert not hasattr(booster(name, J), "decay")


# More and fewer hypotheses ----------------------------------------------------------------------------

growing = pytest.mark.parametrize("name", [n for n in BOOSTERS if BOOSTERS[n].load().can_grow])
fixed = pytest.mark.parametrize("name", [n for n in BOOSTERS if not BOOSTERS[n].load().can_grow])


@growing
def test_more_and_fewer_of_one_that_has_learnt_nothing(name):
    rows, _ = margins(60, J + 2)
    wide, grown = booster(name, J + 2), booster(name, J).appended(np.empty((0, 2)))
    narrow, left = booster(name, J), booster(name, J + 2).without([J, J + 1])
    for each in (wide, grown):
        each.update_many(rows)
    for each in (narrow, left):
        each.update_many(rows[:, :J])
    np.testing.assert_array_equal(grown.alpha, wide.alpha)
    np.testing.assert_array_equal(left.alpha, narrow.alpha)
    assert (grown.n_hypotheses, left.n_hypotheses) == (J + 2, J)


@growing
def test_more_and_fewer_of_one_that_has_learnt(name, saved_bytes):
    begun = taught(name)
    before = saved_bytes(begun)
    new = margins(begun.n_head, 2)[0] if begun.n_head else np.empty((0, 2))
    grown = begun.appended(new)
    assert (grown.n_hypotheses, grown.n_seen) == (J + 2, N)
    back = grown.without([J, J + 1])
    np.testing.assert_allclose(back.alpha, begun.alpha, rtol=0, atol=1e-9)
    if isinstance(begun, SteppingBooster):
        assert not grown.alpha[J:].any()
        assert saved_bytes(back) == before
    fewer = begun.without([0])
    grown.update_many(margins(5, J + 2)[0])
    fewer.update_many(margins(5, J - 1)[0])
    assert (grown.n_seen, fewer.n_seen) == (N + 5, N + 5)
    assert np.isfinite(grown.alpha).all()
    assert np.isfinite(fewer.alpha).all()
    assert saved_bytes(begun) == before


@growing
def test_wrong_hypotheses_to_come_and_go(name, saved_bytes):
    begun = taught(name)
    before, n = saved_bytes(begun), begun.n_head
    for wrong in (np.ones((n + 1, 2)), np.ones((n, 0)), np.ones(n), np.ones((n, 2, 1)), None):
        with pytest.raises(InputError, match="margins must be") as caught:
            begun.appended(wrong)
        assert is_hinted(caught.value)
    for wrong in ([J], [-1], range(J), [0.5], ["a"], None):
        with pytest.raises(InputError, match="members must") as caught:
            begun.without(wrong)
        assert is_hinted(caught.value)
    assert saved_bytes(begun) == before


@fixed
def test_hypotheses_that_cannot_change(name):
    for act in (lambda b: b.appended(np.empty((0, 1))), lambda b: b.without([0])):
        with pytest.raises(InputError, match=r"cannot change.*Use BoostingSketch\.") as caught:
            act(taught(name))
        assert BOOSTERS[name].load().__name__ in str(caught.value)
