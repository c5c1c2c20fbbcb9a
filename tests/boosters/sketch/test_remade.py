"""A sketch that continues with other settings, against sketches that had them from the start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import BoostingSketch, InputError, adaboost_weights
from tests.support.makers import correlated_columns, decayed_weights, newest, newest_from, random_margins

J = 7


def rows(n, seed=0):
    return correlated_columns(np.random.default_rng(seed), n, J)


def fed(margins, weights=None, **parameters):
    sketch = newest(J, **parameters)
    sketch.update_many(margins, sample_weight=weights)
    return sketch


@given(n=st.integers(0, 90), head=st.integers(1, 100), forgetting=st.sampled_from([1.0, 0.97]))
def test_with_no_change_it_goes_on_as_it_was(n, head, forgetting):
    first, more = rows(n, 1), rows(80, 2)
    sketch = newest(J, head=head, forgetting=forgetting)
    if n:
        sketch.update_many(first)
    other = sketch.remade(head=head)
    np.testing.assert_array_equal(other.alpha, sketch.alpha)
    for each in (sketch, other):
        each.update_many(more)
    np.testing.assert_array_equal(other.alpha, sketch.alpha)
    assert other.n_seen == n + 80


@given(n=st.integers(1, 60), larger=st.integers(61, 300))
def test_a_larger_head_is_as_if_it_had_always_been(n, larger):
    first, more = rows(n, 3), rows(400, 4)
    sketch = fed(first, head=61).remade(head=larger)  # nothing has left the head
    expected = fed(first, head=larger)
    for each in (sketch, expected):
        each.update_many(more)
    np.testing.assert_array_equal(sketch.alpha, expected.alpha)


@given(n=st.integers(1, 99), smaller=st.integers(1, 99), forgetting=st.sampled_from([1.0, 0.97]))
def test_a_smaller_head_folds_as_a_start_from_all_of_them_does(n, smaller, forgetting):
    first, more = rows(n, 5), rows(50, 6)
    sketch = fed(first, head=100, forgetting=forgetting).remade(head=smaller)
    expected = newest_from(first, head=smaller, forgetting=forgetting)
    assert sketch.n_head == expected.n_head
    np.testing.assert_allclose(sketch.alpha, expected.alpha, rtol=1e-12, atol=1e-14)
    for each in (sketch, expected):
        each.update_many(more)
    np.testing.assert_allclose(sketch.alpha, expected.alpha, rtol=1e-11, atol=1e-13)


@given(
    n=st.integers(1, 300),
    head=st.integers(1, 120),
    window=st.integers(1, 120),
    forgetting=st.sampled_from([1.0, 0.95]),
)
def test_a_window_keeps_what_the_head_had_of_it(n, head, window, forgetting):
    first, more = rows(n, 7), rows(2 * window, 8)
    weights = np.random.default_rng(n).uniform(0.2, 3.0, n)
    sketch = fed(first, weights, head=head, forgetting=forgetting)
    other = sketch.remade(head=window, tail=False)
    kept = min(sketch.n_head, window)
    assert other.n_head == kept
    assert other.nbytes < 100_000
    if kept:
        of_kept = decayed_weights(n, forgetting, weights)[n - kept :]
        np.testing.assert_allclose(
            other.alpha, adaboost_weights(first[n - kept :], sample_weight=of_kept), atol=1e-12
        )
    other.update_many(more)
    expected = fed(more[-window:], head=window, tail=False, forgetting=forgetting)
    np.testing.assert_allclose(other.alpha, expected.alpha, atol=1e-12)


@given(n=st.integers(1, 300), window=st.integers(1, 120), head=st.integers(1, 120))
def test_from_a_window_to_sums(n, window, head):
    first, more = rows(n, 9), rows(150, 10)
    sketch = fed(first, head=window, tail=False).remade(head=head, tail=True)
    expected = newest_from(first[-window:], head=head)
    assert sketch.n_head == expected.n_head
    for each in (sketch, expected):
        each.update_many(more)
    np.testing.assert_allclose(sketch.alpha, expected.alpha, rtol=1e-10, atol=1e-12)
    assert sketch.n_seen == n + 150


def test_smoothing_and_forgetting_count_from_now_on():
    first, more = rows(100, 11), rows(100, 12)
    sketch = fed(first, head=500).remade(smoothing=4.0, forgetting=0.9)
    np.testing.assert_allclose(sketch.alpha, adaboost_weights(first, smoothing=4.0), atol=1e-12)
    sketch.update_many(more)
    weights = np.concatenate([np.full(100, 0.9**100), decayed_weights(100, 0.9)])
    expected = adaboost_weights(np.concatenate([first, more]), sample_weight=weights, smoothing=4.0)
    np.testing.assert_allclose(sketch.alpha, expected, atol=1e-10)


@pytest.mark.parametrize("changes", [{"head": 3}, {"head": 9, "tail": False}, {"head": 500}, {"tail": False}])
def test_the_original_stays_and_the_copy_can_be_saved(changes, saved_bytes, tmp_path):
    sketch = fed(rows(333, 13), head=64)
    before = saved_bytes(sketch)
    other = sketch.remade(**changes)
    other.update_many(rows(100, 14))
    assert saved_bytes(sketch) == before
    other.save(tmp_path / "other")
    np.testing.assert_array_equal(BoostingSketch.load(tmp_path / "other").alpha, other.alpha)


def test_what_had_diverged_is_forgotten_with_the_tail():
    rng = np.random.default_rng(123)
    sketch = newest(400, correction="listing", smoothing=0.01)
    sketch.update_many(random_margins(rng, 400, 400, 0.5, 0.65))
    assert sketch.diverged
    assert sketch.remade(head=1).diverged
    assert not sketch.remade(head=50, tail=False).diverged


@pytest.mark.parametrize("change", [{"order": 2}, {"correction": "own"}, {"n_hypotheses": 3}, {"heads": 3}])
def test_what_cannot_change(change):
    with pytest.raises(
        InputError,
        match="only head, tail, smoothing, forgetting, keep and memory can change; got " + next(iter(change)),
    ):
        fed(rows(5)).remade(**change)


@pytest.mark.parametrize("change", [{"head": 0}, {"tail": 3}, {"smoothing": -1.0}, {"forgetting": 0.0}])
def test_a_wrong_value_names_itself(change):
    with pytest.raises(InputError, match=next(iter(change))):
        fed(rows(5)).remade(**change)
