"""A window: the last `head` examples exactly, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import ocboost
from tests.naive import sketch as naive
from tests.support.makers import decayed_weights, random_margins


@pytest.mark.parametrize("J", [6, 70])
@pytest.mark.parametrize("head", [1, 3, 50])
@pytest.mark.parametrize("forgetting", [1.0, 0.95])
def test_alpha_is_adaboost_on_the_last_examples(forgetting, head, J):
    rng = np.random.default_rng(50)
    margins, weight = random_margins(rng, 160, J), rng.uniform(0.1, 2, 160)
    sketch = ocboost.BoostingSketch(J, head=head, tail=False, forgetting=forgetting, smoothing=0.5)
    for n in range(1, 161):
        sketch.update(margins[n - 1], sample_weight=weight[n - 1])
        if n % 13 == 0 or n in (1, head, head + 1):
            last = slice(max(0, n - head), n)
            kept = min(n, head)
            expected = naive.adaboost_weights(
                margins[last], smoothing=0.5, sample_weight=decayed_weights(kept, forgetting, weight[last])
            )
            np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-10)
            assert sketch.n_head == kept
            assert sketch.n_seen == n


@pytest.mark.parametrize("batch_size", [1, 7, 40, 64, 1000])
def test_batches_change_nothing(batch_size, saved_bytes):
    margins = random_margins(np.random.default_rng(51), 333, 20)
    looped = ocboost.BoostingSketch(20, head=40, tail=False, forgetting=0.99)
    for row in margins:
        looped.update(row)
    batched = ocboost.BoostingSketch(20, head=40, tail=False, forgetting=0.99)
    batched.update_many(margins, batch_size=batch_size)
    np.testing.assert_array_equal(batched.alpha, looped.alpha)
    batched.update_many(margins[:17], batch_size=batch_size)
    looped.update_many(margins[:17])
    np.testing.assert_array_equal(batched.alpha, looped.alpha)


def test_starting_from_a_first_set_keeps_its_last_rows():
    margins = random_margins(np.random.default_rng(52), 100, 8)
    sketch = ocboost.BoostingSketch.from_margins(margins, head=30, tail=False)
    np.testing.assert_allclose(sketch.alpha, naive.adaboost_weights(margins[-30:]), rtol=0, atol=1e-10)
    assert (sketch.n_head, sketch.n_seen) == (30, 100)


def test_what_left_the_window_leaves_no_trace():
    rng = np.random.default_rng(53)
    margins = random_margins(rng, 60, 8)
    polluted = ocboost.BoostingSketch(8, head=60, tail=False)
    polluted.update_many(-np.ones((500, 8)), sample_weight=np.full(500, 1e9))
    polluted.update_many(margins)
    clean = ocboost.BoostingSketch(8, head=60, tail=False)
    clean.update_many(margins)
    np.testing.assert_allclose(polluted.alpha, clean.alpha, rtol=0, atol=1e-12)


def test_a_window_with_decay():
    margins = random_margins(np.random.default_rng(54), 50, 8)
    sketch = ocboost.BoostingSketch(8, head=40, tail=False)
    sketch.update_many(margins[:30])
    sketch.decay(0.1)
    sketch.update_many(margins[30:])
    weight = np.where(np.arange(50) < 30, 0.1, 1.0)[-40:]
    expected = naive.adaboost_weights(margins[-40:], sample_weight=weight)
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-10)


def test_two_windows_merge_into_the_newest_of_both():
    rng = np.random.default_rng(55)
    a, b = random_margins(rng, 10, 8), random_margins(rng, 10, 8)
    left = ocboost.BoostingSketch.from_margins(a, head=20, tail=False)
    right = ocboost.BoostingSketch.from_margins(b, head=8, tail=False)
    both = left.merge(right)
    kept = np.concatenate([a, b[-8:]])
    np.testing.assert_allclose(both.alpha, naive.adaboost_weights(kept), rtol=0, atol=1e-10)
    assert both.head == 20
    # Two more of each: the oldest of the left side are the oldest of all.
    full = ocboost.BoostingSketch.from_margins(random_margins(rng, 18, 8), head=20, tail=False)
    joined = full.merge(ocboost.BoostingSketch.from_margins(b, head=20, tail=False))
    assert joined.n_head == 20


def test_a_window_follows_a_sudden_change():
    rng = np.random.default_rng(56)
    before = random_margins(rng, 3000, 10, low=0.6, high=0.9)
    after = -before[:200]
    window = ocboost.BoostingSketch(10, head=200, tail=False)
    window.update_many(before)
    assert (window.alpha[:1] > 0).all()
    window.update_many(after)
    np.testing.assert_allclose(window.alpha, -ocboost.adaboost_weights(before[:200]), rtol=0, atol=1e-10)
