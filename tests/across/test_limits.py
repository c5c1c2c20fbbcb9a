"""What the sketch must equal exactly, or to rounding, with any correction."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from ocboost._kernels.tail import CORRECTIONS
from tests.naive import sketch as naive
from tests.support.makers import decayed_weights, random_margins


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("head", [1, 2, 16, 100])
@pytest.mark.parametrize("J", [5, 70])
def test_a_loop_of_update_is_update_many(J, head, forgetting, correction, saved_bytes):
    rng = np.random.default_rng(30)
    margins, weight = random_margins(rng, 150, J), rng.uniform(0, 2, 150)
    options = {"head": head, "forgetting": forgetting, "correction": correction}
    looped, at_once = ocboost.BoostingSketch(J, **options), ocboost.BoostingSketch(J, **options)
    for row, w in zip(margins, weight, strict=True):
        looped.update(row, sample_weight=w)
    at_once.update_many(margins, batch_size=1, sample_weight=weight)
    np.testing.assert_array_equal(looped.alpha, at_once.alpha)
    assert saved_bytes(looped) == saved_bytes(at_once)


@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("head", [2, 16, 41])
@pytest.mark.parametrize("J", [5, 70])
def test_batches_up_to_the_head_change_nothing(J, head, forgetting, saved_bytes):
    margins = random_margins(np.random.default_rng(31), 200, J)
    one_by_one = ocboost.BoostingSketch(J, head=head, forgetting=forgetting)
    one_by_one.update_many(margins)
    expected = saved_bytes(one_by_one)
    for batch_size in sorted({1, 2, head // 2, head - 1, head}):
        batched = ocboost.BoostingSketch(J, head=head, forgetting=forgetting)
        batched.update_many(margins, batch_size=batch_size)
        assert saved_bytes(batched) == expected, batch_size
        np.testing.assert_array_equal(batched.alpha, one_by_one.alpha)


@pytest.mark.parametrize("head", [8, 41])
def test_where_a_call_ends_does_not_matter_while_batches_fit_the_head(head, saved_bytes):
    margins = random_margins(np.random.default_rng(32), 200, 12)
    whole, parts = ocboost.BoostingSketch(12, head=head), ocboost.BoostingSketch(12, head=head)
    whole.update_many(margins, batch_size=head)
    for start, stop in [(0, 3), (3, 90), (90, 91), (91, 200)]:
        parts.update_many(margins[start:stop], batch_size=5)
    assert saved_bytes(whole) == saved_bytes(parts)


@pytest.mark.parametrize("tail", [True, False])
@pytest.mark.parametrize("head", [150, 700])
def test_how_a_long_head_has_grown_does_not_matter(head, tail, saved_bytes):
    # The head's store grows as it fills; neither its size nor where its oldest example lies may show.
    margins = random_margins(np.random.default_rng(44), 2500, 12)
    looped, at_once, halves = (ocboost.BoostingSketch(12, head=head, tail=tail) for _ in range(3))
    for row in margins:
        looped.update(row)
    at_once.update_many(margins, batch_size=head)
    for half in (margins[:333], margins[333:]):
        halves.update_many(half, batch_size=50)
        assert np.isfinite(halves.alpha).all()
    for other in (at_once, halves):
        np.testing.assert_array_equal(other.alpha, looped.alpha)
        assert saved_bytes(other) == saved_bytes(looped)


def test_a_batch_larger_than_the_head_does_change_something():
    margins = random_margins(np.random.default_rng(33), 200, 12)
    one_by_one, batched = ocboost.BoostingSketch(12, head=4), ocboost.BoostingSketch(12, head=4)
    one_by_one.update_many(margins)
    batched.update_many(margins, batch_size=50)
    assert np.abs(one_by_one.alpha - batched.alpha).max() > 1e-6


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("head", [1, 10])
@pytest.mark.parametrize("order", [None, 1, 7])
def test_one_batch_of_everything_is_adaboost(order, head, weighted, forgetting, correction):
    rng = np.random.default_rng(34)
    margins = random_margins(rng, 300, 20)
    weight = rng.uniform(0, 2, 300) if weighted else None
    sketch = ocboost.BoostingSketch(
        20, order=order, head=head, forgetting=forgetting, correction=correction, smoothing=0.5
    )
    sketch.update_many(margins, batch_size=300, sample_weight=weight)
    expected = naive.adaboost_weights(
        margins, smoothing=0.5, sample_weight=decayed_weights(300, forgetting, weight)
    )
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-10)
    assert sketch.n_head < 300


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("batch_size", [1, 64, 1000])
def test_a_stream_that_fits_the_head_has_no_error(batch_size, weighted, forgetting, correction):
    rng = np.random.default_rng(35)
    margins = random_margins(rng, 300, 20)
    weight = rng.uniform(0, 2, 300) if weighted else None
    how = {"forgetting": forgetting, "correction": correction, "smoothing": 0.5}
    sketch = ocboost.BoostingSketch(20, head=301, keep="newest", **how)
    default = ocboost.BoostingSketch(20, head=301, **how)
    for each in (sketch, default):
        each.update_many(margins, batch_size=batch_size, sample_weight=weight)
    expected = ocboost.adaboost_weights(
        margins, smoothing=0.5, sample_weight=decayed_weights(300, forgetting, weight)
    )
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(default.alpha, expected, rtol=0, atol=1e-10)
    assert sketch.n_head == default.n_head == 300
    # At n = head the oldest eighth goes to the tail as AdaBoost's exact sums: still no approximation.
    sketch.update(margins[0])
    assert sketch.n_head == 301 - 38
    everything = np.concatenate([margins, margins[:1]])
    weights = None if weight is None else np.append(weight, 1.0)
    expected = ocboost.adaboost_weights(
        everything, smoothing=0.5, sample_weight=decayed_weights(301, forgetting, weights)
    )
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-10)


def test_the_automatic_head_takes_as_many_bytes_as_the_sums():
    J = 100
    sketch = ocboost.BoostingSketch(J, head="auto", keep="newest")
    exact_triangle = 2 * J * (J + 1) // 2 * 8
    assert abs(sketch.head - exact_triangle // (8 * 2 + 8)) <= 2 * J  # the layout may add O(J) numbers
    margins = random_margins(np.random.default_rng(36), sketch.head - 1, J)
    sketch.update_many(margins)
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(margins), rtol=0, atol=1e-10)
    assert ocboost.BoostingSketch(1, head="auto").head >= 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 40), st.integers(1, 60))
def test_order_at_least_j_is_full_order(seed, J, head, batch_size):
    margins = random_margins(np.random.default_rng(seed), 80, J)
    alphas = []
    for order in (None, J):
        sketch = ocboost.BoostingSketch(J, order=order, head=head, keep="newest")
        sketch.update_many(margins, batch_size=batch_size)
        alphas.append(sketch.alpha)
    np.testing.assert_array_equal(*alphas)


@pytest.mark.parametrize("tail", [True, False])
@pytest.mark.parametrize("head", [1, 7, 64])
def test_reading_alpha_changes_no_state(head, tail, saved_bytes):
    margins = random_margins(np.random.default_rng(37), 150, 15)
    read, unread = (ocboost.BoostingSketch(15, head=head, tail=tail, forgetting=0.99) for _ in range(2))
    for row in margins:
        read.update(row)
        unread.update(row)
        first = read.alpha
        np.testing.assert_array_equal(read.alpha, first)
    before = saved_bytes(unread)
    assert saved_bytes(read) == before
    np.testing.assert_array_equal(read.alpha, unread.alpha)
    assert saved_bytes(unread) == before


def test_writing_into_a_read_alpha_does_not_reach_the_sketch():
    margins = random_margins(np.random.default_rng(38), 30, 5)
    sketch = ocboost.BoostingSketch.from_margins(margins)
    expected = sketch.alpha.copy()
    alpha = sketch.alpha
    with contextlib.suppress(ValueError):  # a read-only array is as good as a copy
        alpha[:] = 99.0
    np.testing.assert_array_equal(sketch.alpha, expected)


def test_the_callers_arrays_are_not_kept():
    margins = random_margins(np.random.default_rng(39), 30, 5)
    weight = np.ones(30)
    sketch = ocboost.BoostingSketch(5, head=100)
    sketch.update_many(margins, sample_weight=weight)
    expected = sketch.alpha.copy()
    margins *= -1
    weight *= 5
    sketch.update(np.ones(5, dtype=int), sample_weight=0.0)
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-12)


def test_an_empty_sketch_is_all_zero():
    sketch = ocboost.BoostingSketch(4)
    np.testing.assert_array_equal(sketch.alpha, np.zeros(4))
    assert sketch.n_seen == 0
    assert sketch.n_head == 0
    assert sketch.diverged is False


@pytest.mark.parametrize("head", [1, 8, 300])
def test_decay_without_smoothing_leaves_alpha_as_it_is(head):
    margins = random_margins(np.random.default_rng(40), 200, 10)
    sketch = ocboost.BoostingSketch.from_margins(margins, head=head, smoothing=0.0)
    sketch.decay(0.5)
    np.testing.assert_allclose(
        sketch.alpha, naive.adaboost_weights(margins, smoothing=0.0), rtol=0, atol=1e-10
    )


def test_decay_in_the_head_is_a_smaller_weight():
    margins = random_margins(np.random.default_rng(42), 200, 10)
    sketch = ocboost.BoostingSketch.from_margins(margins, head=300)
    sketch.decay(0.5)
    expected = naive.adaboost_weights(margins, sample_weight=np.full(200, 0.5))
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("head", [1, 8])
def test_decay_weighs_against_smoothing_at_once(head):
    margins = random_margins(np.random.default_rng(43), 200, 10)
    sketch = ocboost.BoostingSketch.from_margins(margins, head=head)
    sketch.decay(0.01)
    expected = naive.adaboost_weights(margins, sample_weight=np.full(200, 0.01))
    assert sketch.alpha[0] == pytest.approx(expected[0], abs=1e-12)


@pytest.mark.parametrize(
    ("head", "batch_size", "forgetting"), [(1, 400, 1.0), (50, 400, 0.999), (3000, 1, 0.999)]
)
def test_the_number_of_threads_does_not_change_the_model(head, batch_size, forgetting, saved_bytes):
    # Folds large enough to be shared among threads: tens of millions of additions each.
    margins = random_margins(np.random.default_rng(41), 3600, 400, low=0.45, high=0.65)
    before = ocboost.get_num_threads()
    sketches = []
    try:
        for threads in (1, 2, 3):
            ocboost.set_num_threads(threads)
            assert ocboost.get_num_threads() == threads
            sketch = ocboost.BoostingSketch(400, head=head, forgetting=forgetting)
            sketch.update_many(margins, batch_size=batch_size)
            sketches.append(sketch)
    finally:
        ocboost.set_num_threads(before)
    for sketch in sketches[1:]:
        np.testing.assert_array_equal(sketch.alpha, sketches[0].alpha)
        assert saved_bytes(sketch) == saved_bytes(sketches[0])
