"""Merging sketches that keep heavy examples: against their plain twins, whichever is named first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import BoostingSketch, InputError, adaboost_weights
from tests.naive import sketch as naive
from tests.support.heavy_twin import TOLERANCE, assert_bounded, both, distance
from tests.support.makers import correlated_columns, decayed_weights, independent_columns, random_margins


def fed(J, parts, *, weights=None, **options):
    """Sketches and twins, one for each part of a stream."""
    made = []
    for number, part in enumerate(parts):
        sketch, plain = both(J, **options)
        for each in (sketch, plain):
            if len(part):
                each.update_many(part, sample_weight=None if weights is None else weights[number])
        made.append((sketch, plain))
    return made


@pytest.mark.parametrize("options", [{"head": 30}, {"head": 12}, {"memory": 700}, {"memory": 1_500}])
@pytest.mark.parametrize("sizes", [(13, 8), (13, 150), (150, 151), (70, 250), (0, 150)])
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_twins(sizes, forgetting, options):
    rng = np.random.default_rng(330)
    rows = correlated_columns(rng, sum(sizes) + 100, 8, agreement=0.4)
    parts = rows[: sizes[0]], rows[sizes[0] : sum(sizes)]
    weights = [rng.choice([0.0, 0.5, 1.0, 3.0], n) for n in sizes]
    (a, plain_a), (b, plain_b) = fed(8, parts, weights=weights, forgetting=forgetting, **options)
    merged, plain = a + b, plain_a.merge(plain_b)
    assert distance(merged.alpha, plain.alpha) < TOLERANCE
    assert (merged.n_head, merged.n_seen) == (plain.n_head, plain.n_seen)
    for each in (merged, plain):
        each.update_many(rows[sum(sizes) :])
    assert distance(merged.alpha, plain.alpha) < TOLERANCE


@given(st.integers(0, 2**32 - 1), st.sampled_from([5, 20, 60]), st.booleans(), st.sampled_from([1.0, 0.97]))
def test_twins_on_any_stream(seed, head, pairs, forgetting):
    rng = np.random.default_rng(seed)
    sizes = rng.choice(150, 2, replace=False)  # of one size the contents decide which goes first
    parts = [random_margins(rng, n, 5, low=0.2, high=0.8) for n in sizes]
    weights = [rng.choice([0.0, 1.0, 2.0], n) for n in sizes]
    (a, plain_a), (b, plain_b) = fed(
        5, parts, weights=weights, head=head, pairs=pairs, forgetting=forgetting, smoothing=0.5
    )
    if a.n_head == b.n_head:
        return
    merged, plain = a + b, plain_a.merge(plain_b)
    # The result has the room its parameters say.
    if merged._store.capacity.pairs == pairs:
        assert distance(merged.alpha, plain.alpha) < TOLERANCE
        assert merged.n_head == plain.n_head


@pytest.mark.parametrize("sizes", [(30, 20), (30, 400), (400, 30), (400, 500), (59, 59)])
@pytest.mark.parametrize("forgetting", [1.0, 0.999])
def test_merging_is_commutative_and_close(sizes, forgetting, saved_bytes):
    rng = np.random.default_rng(321)
    margins = independent_columns(rng, sum(sizes), rng.uniform(0.5, 0.7, 15))
    a, b = (BoostingSketch(15, head=60, keep="heavy", forgetting=forgetting) for _ in "ab")
    a.update_many(margins[: sizes[0]])
    b.update_many(margins[sizes[0] :])
    before = saved_bytes(a), saved_bytes(b)
    c = a.merge(b)
    assert (saved_bytes(a), saved_bytes(b)) == before
    assert saved_bytes(c) == saved_bytes(b + a)
    assert c.n_seen == sum(sizes)
    assert c.n_head < 60
    weight = np.concatenate([decayed_weights(n, forgetting) for n in sizes])
    exact = adaboost_weights(margins, sample_weight=weight)
    assert naive.approximation_error(exact, c.alpha) < 0.03
    if sum(sizes) < 60:
        np.testing.assert_allclose(c.alpha, exact, rtol=0, atol=1e-12)
    c.update_many(margins[:100])
    assert_bounded(c.alpha, sum(sizes) + 100, 1.0)


def test_merging_needs_the_same_rule():
    a, b = (BoostingSketch(5, head=9, keep=keep) for keep in ("heavy", "newest"))
    with pytest.raises(InputError, match="same keep to be merged: 'heavy' here, 'newest' there"):
        a.merge(b)
    c = BoostingSketch(5, head=20, keep="heavy")
    assert (a + c).head == (c + a).head == 20
    a.update(np.ones(5))
    assert (a + c).n_seen == (c + a).n_seen == 1


def test_shards_that_differ_merge_closely():
    rng = np.random.default_rng(322)
    p = rng.uniform(0.5, 0.65, 40)
    shards = [independent_columns(rng, 3000, p + rng.uniform(-0.1, 0.1, 40)) for _ in range(4)]
    exact = adaboost_weights(np.concatenate(shards))
    sketches = []
    for shard in shards:
        sketches.append(BoostingSketch(40, head="auto", keep="heavy"))
        sketches[-1].update_many(shard, batch_size=64)
    total = sketches[0] + sketches[1] + sketches[2] + sketches[3]
    average = np.mean([sketch.alpha for sketch in sketches], axis=0)
    assert naive.approximation_error(exact, total.alpha) < 0.25 * naive.approximation_error(exact, average)
