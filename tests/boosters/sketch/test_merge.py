"""Merging: what is exact, what is approximate, and by how much."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from ocboost._kernels.tail import CORRECTIONS
from tests.naive import sketch as naive
from tests.support.covering import every_few
from tests.support.makers import decayed_weights, independent_columns, newest, newest_from, random_margins

MORE = random_margins(np.random.default_rng(60), 40, 12)


@st.composite
def pairs(draw, fits=False):
    """Two sketches of one kind with their margins, current weights and heads."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    J = draw(st.sampled_from([1, 5, 12]))
    forgetting = draw(st.sampled_from([1.0, 0.95]))
    options = {
        "order": draw(st.sampled_from([None, 1])),
        "forgetting": forgetting,
        "correction": "balanced" if not fits else draw(st.sampled_from(list(CORRECTIONS))),
        "smoothing": draw(st.sampled_from([1.0, 0.1])),
    }
    sides = []
    for _ in range(2):
        n = draw(st.integers(1, 40))
        margins, weight = random_margins(rng, n, J), rng.uniform(0.1, 2, n)
        head = 90 if fits else draw(st.sampled_from([1, 3, 8, 20]))
        sketch = newest(J, head=head, **options)
        sketch.update_many(margins, batch_size=draw(st.sampled_from([1, 16])), sample_weight=weight)
        sides.append((sketch, margins, decayed_weights(n, forgetting, weight)))
    return sides


@given(pairs())
def test_merging_is_exactly_commutative(case):
    (a, _, _), (b, _, _) = case
    ab, ba = a.merge(b), b.merge(a)
    np.testing.assert_array_equal(ab.alpha, ba.alpha)
    assert (ab.n_seen, ab.n_head, ab.head) == (ba.n_seen, ba.n_head, ba.head)
    more = MORE[:, : ab.n_hypotheses]
    for sketch in (ab, ba):
        sketch.update_many(more)
    np.testing.assert_array_equal(ab.alpha, ba.alpha)


@st.composite
def twins(draw):
    """Two sketches whose heads are full of examples of one age, one weight and often one content."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    J = draw(st.sampled_from([1, 2, 70]))
    tail = draw(st.booleans())
    head = draw(st.sampled_from([1, 3, 20, 64, 70]))
    forgetting = draw(st.sampled_from([1.0, 0.95]))
    sides = []
    for _ in range(2):
        sketch = newest(J, head=head, tail=tail, forgetting=forgetting)
        n = draw(st.sampled_from([2, 19, 63, 140]))
        sketch.update_many(random_margins(rng, n, J), batch_size=draw(st.sampled_from([1, 16])))
        sides.append(sketch)
    return sides


@given(twins())
def test_merging_examples_of_one_age_and_weight_is_exactly_commutative(case):
    a, b = case
    ab, ba = a.merge(b), b.merge(a)
    np.testing.assert_array_equal(ab.alpha, ba.alpha)
    # The very same state: merging lays out the head in its ring in one way only.
    one, other = (sketch._store.state for sketch in (ab, ba))
    for x, y in zip((*one.tail, *one.head), (*other.tail, *other.head), strict=True):
        np.testing.assert_array_equal(x, y)
    more = random_margins(np.random.default_rng(67), 90, a.n_hypotheses)
    for sketch in (ab, ba):
        sketch.update_many(more)
    np.testing.assert_array_equal(ab.alpha, ba.alpha)


@given(pairs(fits=True))
def test_sketches_that_are_all_head_merge_exactly(case):
    (a, margins_a, weight_a), (b, margins_b, weight_b) = case
    both = a.merge(b)
    expected = naive.adaboost_weights(
        np.concatenate([margins_a, margins_b]),
        smoothing=a.smoothing,
        sample_weight=np.concatenate([weight_a, weight_b]),
    )
    np.testing.assert_allclose(both.alpha, expected, rtol=0, atol=1e-12)
    assert both.n_head == a.n_head + b.n_head
    assert both.n_seen == a.n_seen + b.n_seen


@given(pairs())
def test_the_weight_of_both_sides_is_kept(case):
    # The first coordinate knows no approximation: its α tells all the weight there is.
    (a, margins_a, weight_a), (b, margins_b, weight_b) = case
    expected = naive.adaboost_weights(
        np.concatenate([margins_a, margins_b])[:, :1],
        smoothing=a.smoothing,
        sample_weight=np.concatenate([weight_a, weight_b]),
    )
    assert a.merge(b).alpha[0] == pytest.approx(expected[0], abs=1e-12)


@every_few(
    3,
    forgetting=[1.0, 0.99],
    sizes=[(60, 90), (90, 30), (25, 21)],
    heads=[(1, 1), (8, 8), (16, 5), (40, 40), (200, 40), (1, 30)],
    correction=list(CORRECTIONS),
)
def test_against_the_plain_twin(forgetting, sizes, heads, correction):
    rng = np.random.default_rng(61)
    fast, plain = [], []
    for n, head, low in zip(sizes, heads, (0.3, 0.4), strict=True):
        margins = random_margins(rng, n, 9, low=low, high=0.8)
        # Weights that differ from one example to the next, so that no order of equals is left open.
        weight = rng.uniform(0.5, 2.0, n)
        options = {"head": head, "correction": correction, "order": 5, "forgetting": forgetting}
        for made, cls in ((fast, ocboost.BoostingSketch), (plain, naive.NaiveSketch)):
            sketch = cls.from_margins(margins[:20], sample_weight=weight[:20], **options)
            sketch.update_many(margins[20:], sample_weight=weight[20:])
            made.append(sketch)
    merged, twin = fast[0].merge(fast[1]), plain[0].merge(plain[1])
    for _ in range(2):
        expected = twin.alpha
        assert np.abs(expected).max() < 20
        assert np.abs(merged.alpha - expected).max() / np.abs(expected).max() < 1e-9
        assert (merged.n_head, merged.n_seen) == (twin.n_head, twin.n_seen)
        for sketch in (merged, twin):
            sketch.update_many(MORE[:, :9])


def test_plus_is_merge_and_both_sides_stay_as_they_were(saved_bytes):
    rng = np.random.default_rng(62)
    a = newest_from(random_margins(rng, 50, 12), head=10)
    b = newest_from(random_margins(rng, 70, 12), head=20)
    before = saved_bytes(a), saved_bytes(b)
    merged, summed = a.merge(b), a + b
    assert saved_bytes(merged) == saved_bytes(summed)
    assert merged.head == 20
    merged.update_many(MORE)
    summed.decay(0.5)
    assert (saved_bytes(a), saved_bytes(b)) == before


@pytest.mark.parametrize("tail", [True, False])
@pytest.mark.parametrize("head", [16, 150])
def test_merging_with_an_empty_sketch_changes_nothing(head, tail, saved_bytes):
    rng = np.random.default_rng(63)
    sketch, empty = (newest(12, head=head, tail=tail) for _ in range(2))
    sketch.update_many(random_margins(rng, 355, 12))
    before = saved_bytes(sketch)
    sides = [sketch.merge(empty), empty.merge(sketch)]
    for merged in sides:
        assert saved_bytes(merged) == before
        merged.update_many(MORE)
        assert saved_bytes(sketch) == before
    sketch.update_many(MORE)
    for merged in sides:
        np.testing.assert_array_equal(merged.alpha, sketch.alpha)
    nothing = empty.merge(newest(12, head=head, tail=tail))
    assert nothing.n_seen == 0
    np.testing.assert_array_equal(nothing.alpha, np.zeros(12))


def test_a_tail_with_nothing_to_fold_is_kept_as_it_is():
    rng = np.random.default_rng(64)
    old, new = random_margins(rng, 80, 12), random_margins(rng, 5, 12)
    tailed = newest_from(old, head=40)
    looped = newest_from(old, head=40)
    fresh = newest(12, head=40)
    fresh.update_many(new[:4])
    looped.update_many(new[:4])
    assert (looped.n_head, tailed.n_head) == (39, 35)
    # Nothing was folded on either way, so the two hold the same examples; only the order of sums may differ.
    np.testing.assert_allclose(tailed.merge(fresh).alpha, looped.alpha, rtol=0, atol=1e-12)


def test_a_diverged_side_marks_the_merged_sketch():
    rng = np.random.default_rng(65)
    margins = independent_columns(rng, 600, rng.uniform(0.5, 0.65, 400))
    wild = newest(400, correction="own", smoothing=0.01)
    wild.update_many(margins)
    assert wild.diverged
    calm = newest_from(margins, correction="own", smoothing=0.01)
    assert not calm.diverged
    merged = calm.merge(wild)
    assert merged.diverged
    assert np.isfinite(merged.alpha).all()


def eight_shards(seed, spread):
    """Eight sketches of 4,000 rows each, all rows, and the shards' own α."""
    rng = np.random.default_rng([66, seed])
    p = rng.uniform(0.3, 0.9, 20)
    rows = [
        independent_columns(rng, 4000, np.clip(p + rng.uniform(-spread, spread, 20), 0.02, 0.98))
        for _ in range(8)
    ]
    return [newest_from(shard) for shard in rows], np.concatenate(rows)


def shard_errors(spread):
    merged_errors, averaged_errors = [], []
    for seed in range(8):
        shards, rows = eight_shards(seed, spread)
        exact = ocboost.adaboost_weights(rows)
        merged = functools.reduce(ocboost.BoostingSketch.merge, shards)
        averaged = np.mean([shard.alpha for shard in shards], axis=0)
        merged_errors.append(naive.approximation_error(exact, merged.alpha))
        averaged_errors.append(naive.approximation_error(exact, averaged))
    return np.mean(merged_errors), np.mean(averaged_errors)


def test_eight_shards_that_are_alike():
    merged, averaged = shard_errors(spread=0.0)
    assert merged <= 0.002
    assert averaged >= 2 * merged


def test_eight_shards_that_differ():
    merged, averaged = shard_errors(spread=0.1)
    assert merged <= 0.006
    assert averaged >= 4 * merged


def groupings(sketches):
    """Four or more sketches merged from the left, from the right, and as a tree."""
    merge = ocboost.BoostingSketch.merge
    left = functools.reduce(merge, sketches)
    right = functools.reduce(lambda done, sketch: sketch.merge(done), reversed(sketches))
    tree = list(sketches)
    while len(tree) > 1:
        tree = [merge(*tree[i : i + 2]) if i + 1 < len(tree) else tree[i] for i in range(0, len(tree), 2)]
    return [left, right, tree[0]]


@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_merging_is_associative_within_a_tolerance(spread):
    # Each merge re-bases by the approximation, so the grouping shows: by up to 5e-5 of the L1 norm where
    # the shards are alike, and 5e-4 where they differ.
    errors = []
    for seed in range(4):
        shards, _ = eight_shards(seed, spread)
        merged = groupings(shards)
        assert len({sketch.n_seen for sketch in merged}) == 1
        errors += [naive.approximation_error(merged[0].alpha, other.alpha) for other in merged[1:]]
    assert max(errors) < 3e-3


@pytest.mark.parametrize("head", [1, 30, 3000])
def test_merging_with_heads_is_associative_within_a_tolerance(head):
    # By up to 1.5e-3 here, where the shards are small.
    rng = np.random.default_rng(68)
    p = rng.uniform(0.3, 0.9, 20)
    rows = [independent_columns(rng, 500, p) for _ in range(4)]
    merged = groupings([newest_from(part, head=head) for part in rows])
    exact = naive.adaboost_weights(np.concatenate(rows))
    for sketch in merged:
        if head > 2000:  # all of it fits: nothing is approximate
            np.testing.assert_allclose(sketch.alpha, exact, rtol=0, atol=1e-12)
        assert naive.approximation_error(merged[0].alpha, sketch.alpha) < 3e-3


# Windows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize(("heads", "sizes"), [((7, 7), (20, 9)), ((70, 64), (200, 30)), ((5, 90), (40, 100))])
def test_merged_windows_hold_the_newest_of_both(heads, sizes, forgetting):
    rng = np.random.default_rng(69)
    sketches, plain = [], []
    for head, n in zip(heads, sizes, strict=True):
        margins, weight = random_margins(rng, n, 12), rng.uniform(0.5, 2.0, n)
        for made, cls in ((sketches, ocboost.BoostingSketch), (plain, naive.NaiveSketch)):
            window = cls(12, head=head, tail=False, forgetting=forgetting)
            window.update_many(margins, sample_weight=weight)
            made.append(window)
    for order in (1, -1):
        (a, b), (x, y) = sketches[::order], plain[::order]
        merged, twin = a.merge(b), x.merge(y)
        assert (merged.tail, merged.head) == (False, max(heads))
        for more in (MORE, MORE, MORE):  # the window keeps turning
            assert (merged.n_head, merged.n_seen) == (twin.n_head, twin.n_seen)
            np.testing.assert_allclose(merged.alpha, twin.alpha, rtol=0, atol=1e-10)
            merged.update_many(more)
            twin.update_many(more)


def test_merging_windows_is_associative_while_they_fit():
    # When they do not, the grouping decides which examples count as oldest, and so which are dropped.
    rng = np.random.default_rng(70)
    rows = [random_margins(rng, 25, 12) for _ in range(4)]
    windows = [newest_from(part, head=100, tail=False) for part in rows]
    exact = naive.adaboost_weights(np.concatenate(rows))
    for merged in groupings(windows):
        assert merged.n_head == 100
        np.testing.assert_allclose(merged.alpha, exact, rtol=0, atol=1e-12)
