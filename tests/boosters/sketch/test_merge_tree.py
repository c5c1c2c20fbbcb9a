"""Merging many sketches: the order in which they are given does not matter, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import BoostingSketch, InputError
from ocboost.boosters import merge_all
from tests.naive.sketch import adaboost_weights
from tests.support.makers import random_margins


def parts(rng, sizes, J, **options):
    """A sketch of each part, and all margins."""
    sketches, margins = [], [random_margins(rng, n, J) for n in sizes]
    for part in margins:
        sketches.append(BoostingSketch(J, **options))
        if len(part):
            sketches[-1].update_many(part)
    return sketches, np.concatenate(margins)


@given(
    st.permutations(range(7)),
    st.sampled_from([{"head": 30}, {"head": 30, "keep": "newest"}, {"head": 1}, {"head": 9, "tail": False}]),
    st.sampled_from([2, 3, 4, 50]),
    st.sampled_from([1.0, 0.98]),
    st.integers(0, 2**32 - 1),
)
def test_the_order_does_not_matter(order, options, split_every, forgetting, seed):
    rng = np.random.default_rng(seed)
    sketches, _ = parts(rng, [40, 90, 0, 40, 7, 40, 3], 5, forgetting=forgetting, **options)
    sketches[3] = sketches[0].copy()  # twins
    one = merge_all(sketches, split_every=split_every)
    other = merge_all((sketches[i] for i in order), split_every=split_every)
    assert one.n_seen == other.n_seen == sum(sketch.n_seen for sketch in sketches)
    more = random_margins(rng, 60, 5)
    for _ in range(2):
        np.testing.assert_array_equal(one.alpha, other.alpha)
        one.update_many(more)
        other.update_many(more)


def test_without_sorting_it_would():
    sketches, _ = parts(np.random.default_rng(0), [90, 80, 70], 5, head=30)
    a, b, c = sketches
    assert ((a + b) + c).alpha.tolist() != (a + (b + c)).alpha.tolist()


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any), st.integers(2, 5), st.integers(0, 99)
)
def test_what_fits_is_adaboost(sizes, split_every, seed):
    sketches, margins = parts(np.random.default_rng(seed), sizes, 4, head=300)
    merged = merge_all(sketches, split_every=split_every)
    np.testing.assert_allclose(merged.alpha, adaboost_weights(margins), rtol=0, atol=1e-9)
    assert merged.n_head == len(margins)


def test_nothing_is_changed_and_one_alone_is_copied(saved_bytes):
    sketches, _ = parts(np.random.default_rng(1), [50, 60, 70], 4, head=20)
    before = [saved_bytes(sketch) for sketch in sketches]
    merge_all(sketches).update_many(np.ones((3, 4)))
    alone = merge_all(sketches[:1])
    assert saved_bytes(alone) == before[0]
    alone.update_many(np.ones((3, 4)))
    assert [saved_bytes(sketch) for sketch in sketches] == before


def test_the_largest_head_is_taken():
    sketches = [BoostingSketch(3, head=head) for head in (10, 30, 20)]
    assert merge_all(sketches).head == 30


def test_an_empty_copy_is_made_alike():
    for options in ({"head": 30}, {"memory": 900}, {"head": 5, "keep": "newest"}, {"head": 4, "order": 2}):
        (sketch,), _ = parts(np.random.default_rng(2), [50], 4, smoothing=0.5, **options)
        empty = sketch.emptied()
        assert empty.n_seen == 0
        assert (empty.keep, empty.memory, empty.order, empty.smoothing) == (
            sketch.keep,
            sketch.memory,
            sketch.order,
            0.5,
        )
        np.testing.assert_array_equal(empty.merge(sketch).alpha, sketch.alpha)


def test_errors():
    with pytest.raises(InputError, match="sketches must be at least one; got none"):
        merge_all([])
    with pytest.raises(InputError, match="sketches must be BoostingSketch objects; got str"):
        merge_all(["a.ocb"])
    with pytest.raises(InputError, match="split_every must be a whole number of at least 2; got 1"):
        merge_all([BoostingSketch(3)], split_every=1)
    with pytest.raises(InputError, match="same n_hypotheses to be merged"):
        merge_all([BoostingSketch(3), BoostingSketch(4)])
