"""The sketch against its plain twin, from a warm start.

An unbounded correction amplifies rounding without limit, so the two are compared while max|α| < 20.
"""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.tail import CORRECTIONS
from tests.naive import sketch as naive
from tests.support.makers import correlated_columns, newest, newest_from, random_margins

# Below, at and above the head; a head that folds one example at a time, and one that folds several.
HEADS_AND_BATCHES = [(1, 1), (1, 16), (1, 37), (5, 1), (5, 16), (5, 64), (20, 1), (20, 7), (20, 20), (20, 33)]
TOLERANCE = 1e-9


def compare(margins, *, warm, batch_size, every, weight=None, **options):
    """Feed the sketch and its twin side by side and compare at every checkpoint; return their number."""
    J = margins.shape[1]
    first = None if weight is None else weight[:warm]
    fast = newest(J, **options)
    fast.update_many(margins[:warm], batch_size=warm, sample_weight=first)
    plain = naive.NaiveSketch.from_margins(margins[:warm], sample_weight=first, **options)
    checkpoints = 0
    for start in range(warm, len(margins), every):
        part = slice(start, start + every)
        w = None if weight is None else weight[part]
        fast.update_many(margins[part], batch_size=batch_size, sample_weight=w)
        plain.update_many(margins[part], batch_size=batch_size, sample_weight=w)
        expected = plain.alpha
        if np.abs(expected).max() >= 20:
            break
        error = np.abs(fast.alpha - expected).max() / np.abs(expected).max()
        assert error < TOLERANCE, f"relative error {error:.3g} after {plain.n_seen} examples"
        assert fast.n_seen == plain.n_seen
        assert fast.n_head == plain.n_head
        checkpoints += 1
    return checkpoints


@pytest.mark.parametrize("order", [None, 1, 4])
@pytest.mark.parametrize(("head", "batch_size"), HEADS_AND_BATCHES)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_every_correction_order_head_and_batch(correction, head, batch_size, order):
    margins = random_margins(np.random.default_rng(20), 200, 8, low=0.35, high=0.8)
    checked = compare(
        margins, warm=60, batch_size=batch_size, every=47, correction=correction, head=head, order=order
    )
    assert checked == 3


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("head", "batch_size"), HEADS_AND_BATCHES)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_weights_and_forgetting(correction, head, batch_size, weighted, forgetting):
    rng = np.random.default_rng(21)
    margins = correlated_columns(rng, 180, 7, agreement=0.4)
    weight = rng.uniform(0.0, 2.0, 180) if weighted else None
    checked = compare(
        margins,
        warm=80,
        batch_size=batch_size,
        every=50,
        weight=weight,
        correction=correction,
        head=head,
        forgetting=forgetting,
        smoothing=2.0,
    )
    assert checked == 2


@pytest.mark.parametrize("smoothing", [1e-3, 1.0, 40.0])
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_smoothing(correction, smoothing):
    margins = random_margins(np.random.default_rng(22), 160, 10, low=0.4, high=0.75)
    checked = compare(
        margins, warm=100, batch_size=4, every=20, head=3, correction=correction, smoothing=smoothing
    )
    assert checked == 3


@pytest.mark.parametrize("J", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize(("head", "batch_size"), [(1, 1), (1, 32), (9, 1), (9, 32)])
def test_widths_around_a_machine_word(J, head, batch_size):
    margins = random_margins(np.random.default_rng(J), 330, J, low=0.45, high=0.65)
    checked = compare(margins, warm=280, batch_size=batch_size, every=25, head=head)
    assert checked == 2


@pytest.mark.parametrize("order", [10, 64, 99])
@pytest.mark.parametrize("correction", ["balanced", "theorem"])
def test_a_band_narrower_than_the_triangle(correction, order):
    margins = random_margins(np.random.default_rng(23), 340, 100, low=0.45, high=0.6)
    checked = compare(margins, warm=300, batch_size=8, every=20, head=4, order=order, correction=correction)
    assert checked == 2


@pytest.mark.parametrize("head", [1, 12])
def test_a_long_stream_of_single_examples(head):
    margins = random_margins(np.random.default_rng(24), 1100, 6)
    assert compare(margins, warm=100, batch_size=1, every=200, head=head) == 5


@pytest.mark.parametrize("head", [1, 12])
def test_a_cold_start_of_the_balanced_correction(head):
    margins = random_margins(np.random.default_rng(25), 151, 10)
    assert compare(margins, warm=1, batch_size=1, every=30, head=head) == 5


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_decay_between_batches(correction):
    margins = random_margins(np.random.default_rng(26), 200, 8)
    options = {"head": 6, "correction": correction, "forgetting": 0.99}
    fast = newest_from(margins[:100], **options)
    plain = naive.NaiveSketch.from_margins(margins[:100], **options)
    for booster in (fast, plain):
        booster.decay(0.25)
        booster.update_many(margins[100:150], batch_size=10)
        booster.decay(0.5)
        booster.update_many(margins[150:])
    expected = plain.alpha
    assert np.abs(expected).max() < 20
    assert np.abs(fast.alpha - expected).max() / np.abs(expected).max() < TOLERANCE


@pytest.mark.parametrize(("n", "head"), [(50, 1), (50, 8), (50, 50), (50, 80)])
def test_starting_from_a_first_set(n, head):
    margins = random_margins(np.random.default_rng(27), n + 40, 9)
    fast = newest_from(margins[:n], head=head)
    plain = naive.NaiveSketch.from_margins(margins[:n], head=head)
    np.testing.assert_allclose(fast.alpha, naive.adaboost_weights(margins[:n]), rtol=0, atol=1e-10)
    assert fast.n_head == plain.n_head
    fast.update_many(margins[n:])
    plain.update_many(margins[n:])
    np.testing.assert_allclose(fast.alpha, plain.alpha, rtol=1e-9, atol=1e-9)


def test_large_weights_of_large_classifiers_need_a_scale_per_row():
    # A separable stream: by the last coordinate an example weighs about e^-200 of what it came with, and the
    # product of two such weights leaves the range of a float.
    rng = np.random.default_rng(28)
    margins = random_margins(rng, 260, 150, low=0.9, high=0.97)
    options = {"smoothing": 1e-4, "head": 1}
    fast = newest_from(margins[:200], **options)
    plain = naive.NaiveSketch.from_margins(margins[:200], **options)
    fast.update_many(margins[200:], batch_size=20)
    plain.update_many(margins[200:], batch_size=20)
    expected = plain.alpha
    assert np.abs(expected).max() < 20
    assert np.abs(fast.alpha - expected).max() / np.abs(expected).max() < TOLERANCE
