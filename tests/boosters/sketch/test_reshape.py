"""Hypotheses appended to a sketch, and left out of it: against the plain twin, and where it is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from ocboost import BoostingSketch
from ocboost._core.codec import read
from ocboost._kernels.tail import CORRECTIONS
from tests.naive import sketch as naive
from tests.support.makers import newest, newest_from, random_margins

HEADS = [1, 5, 20, 500]


def assert_close(fast, plain):
    expected = plain.alpha
    assert np.abs(expected).max() < 20
    assert np.abs(fast.alpha - expected).max() <= 1e-9 * np.abs(expected).max()
    assert (fast.n_seen, fast.n_head) == (plain.n_seen, plain.n_head)


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_life_of_coming_and_going(correction, head, forgetting):
    """Append, learn, leave out, append again: the sketch and its twin stay together."""
    rng = np.random.default_rng(4)
    margins = random_margins(rng, 400, 12, low=0.4, high=0.75)
    options = {"head": head, "correction": correction, "forgetting": forgetting}
    fast = newest_from(margins[:60, :6], **options)
    plain = naive.NaiveSketch.from_margins(margins[:60, :6], **options)
    columns, n = list(range(6)), 60

    def learn(count, batch_size):
        nonlocal n
        for one in (fast, plain):
            one.update_many(margins[n : n + count, columns], batch_size=batch_size)
        n += count
        assert_close(fast, plain)

    def come(*new):
        nonlocal fast, plain
        rows = margins[n - fast.n_head : n, list(new)]
        fast, plain = fast.appended(rows), plain.appended(rows)
        columns.extend(new)
        assert_close(fast, plain)

    def go(*places):
        nonlocal fast, plain
        fast, plain = fast.without(places), plain.without(list(places))
        for place in sorted(places, reverse=True):
            del columns[place]
        assert_close(fast, plain)

    learn(30, 1)
    come(6)
    learn(35, 1)
    come(7, 8)
    come(9)
    learn(40, 7)
    go(2)
    learn(30, 1)
    go(0, 6)
    come(10)
    learn(50, 64)
    go(len(columns) - 1)
    learn(40, 3)
    assert fast.n_hypotheses == len(columns) == 7


def test_the_first_and_all_but_one_can_go():
    margins = random_margins(np.random.default_rng(1), 200, 5, low=0.4, high=0.75)
    fast, plain = newest(5, head=3), naive.NaiveSketch(5, head=3)
    for one in (fast, plain):
        one.update_many(margins[:100])
    fast, plain = fast.without([0, 1, 2, 4]), plain.without([0, 1, 2, 4])
    for one in (fast, plain):
        one.update_many(margins[100:, [3]])
    assert_close(fast, plain)


@pytest.mark.parametrize("tail", [True, False])
def test_while_all_fits_in_the_head_it_is_as_if_they_had_always_been_there(tail):
    margins = random_margins(np.random.default_rng(2), 150, 8, low=0.4, high=0.8)
    sketch = newest(5, head=200, tail=tail)
    sketch.update_many(margins[:70, :5])
    sketch = sketch.appended(margins[:70, 5:])
    sketch.update_many(margins[70:])
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(margins), rtol=0, atol=1e-12)
    sketch = sketch.without([1, 6])
    kept = [0, 2, 3, 4, 5, 7]
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(margins[:, kept]), rtol=0, atol=1e-12)
    sketch.update_many(margins[:20, kept])
    both = np.concatenate([margins, margins[:20]])[:, kept]
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(both), rtol=0, atol=1e-12)


def test_a_latecomer_learns_from_the_head_and_what_follows_only():
    """At order one it is the last coordinate: exactly AdaBoost on the examples since, all else unchanged."""
    rng = np.random.default_rng(3)
    margins = random_margins(rng, 3000, 4, low=0.55, high=0.7)
    margins[:1000, 3] = -1  # what it would have said before, had it been there
    sketch = newest(3, head=50)
    sketch.update_many(margins[:1000, :3])
    sketch = sketch.appended(margins[1000 - sketch.n_head : 1000, 3:])
    held = sketch.n_head
    sketch.update_many(margins[1000:])
    late = ocboost.adaboost_weights(margins[1000 - held :])[3]
    assert abs(sketch.alpha[3] - late) < 0.02
    assert late > 0.05 > ocboost.adaboost_weights(margins)[3]


def test_taking_out_what_has_no_weight_changes_little():
    margins = random_margins(np.random.default_rng(5), 4000, 6, low=0.55, high=0.8)
    margins[:, 2] = np.where(np.random.default_rng(6).random(4000) < 0.5, 1, -1)
    sketch = newest(6, head=20)
    sketch.update_many(margins)
    kept = [0, 1, 3, 4, 5]
    assert np.abs(sketch.without([2]).alpha - sketch.alpha[kept]).max() < 0.01
    error = ocboost.approximation_error(ocboost.adaboost_weights(margins[:, kept]), sketch.without([2]).alpha)
    assert error < 0.01


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("scale", [2.0**-700, 2.0**-300, 2.0**300, 2.0**700])
def test_the_scale_of_the_weights_does_not_matter(correction, scale):
    margins = random_margins(np.random.default_rng(312), 300, 6)
    sides = []
    for weight in (1.0, scale):
        sketch = newest(6, smoothing=0.0, correction=correction, head=4)
        sketch.update_many(margins[:200], sample_weight=np.full(200, weight))
        sketch = sketch.without([0, 3])
        sketch.update_many(margins[200:, [1, 2, 4, 5]], sample_weight=np.full(100, weight))
        sides.append(sketch.alpha)
    np.testing.assert_allclose(sides[1], sides[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_digits_are_kept_at_scales_that_are_far_away(correction):
    sketch = newest(6, correction=correction, head=4)
    sketch.update_many(random_margins(np.random.default_rng(313), 200, 6))
    tree = sketch.tree()
    for key in ("W_unit", "total_unit"):
        tree[key] = tree[key] - (1 << 36)
    far = read(tree, "a file", BoostingSketch.from_tree).without([0, 3])
    near = sketch.without([0, 3])
    for key in ("W", "share", "alpha"):
        np.testing.assert_allclose(far.tree()[key], near.tree()[key], rtol=1e-12)
    read(far.tree(), "a file", BoostingSketch.from_tree)


def test_saved_merged_and_copied_it_goes_on_the_same(tmp_path):
    margins = random_margins(np.random.default_rng(7), 600, 6, low=0.4, high=0.75)
    sketch = newest(5, head=8)
    sketch.update_many(margins[:200, :5])
    sketch = sketch.appended(margins[200 - sketch.n_head : 200, 5:])
    sketch.update_many(margins[200:300])
    sketch.save(tmp_path / "a.ocb")
    loaded = BoostingSketch.load(tmp_path / "a.ocb")
    copied = sketch.copy()
    for one in (sketch, loaded, copied):
        one.update_many(margins[300:400])
    assert np.array_equal(sketch.alpha, loaded.alpha)
    assert np.array_equal(sketch.alpha, copied.alpha)
    whole = newest(6, head=8)
    whole.update_many(margins[400:])
    a, b = sketch.merge(whole), whole.merge(sketch)
    assert np.array_equal(a.alpha, b.alpha)
    a.update_many(margins[:50])
    assert np.isfinite(a.alpha).all()


@given(
    seed=st.integers(0, 2**32 - 1),
    head=st.sampled_from([1, 4, 30]),
    steps=st.lists(st.sampled_from(["learn", "one", "come", "go", "decay"]), min_size=1, max_size=12),
)
def test_alpha_is_finite_and_bounded_for_any_steps(seed, head, steps):
    rng = np.random.default_rng(seed)
    sketch = newest(3, head=head, smoothing=0.5)
    total = 0.0
    for step in steps:
        if step in ("learn", "one"):
            n = 40 if step == "learn" else 1
            right = rng.choice([0.0, 0.3, 0.7, 1.0], sketch.n_hypotheses)
            sketch.update_many(np.where(rng.random((n, sketch.n_hypotheses)) < right, 1, -1))
            total += n
        elif step == "come":
            sketch = sketch.appended(np.where(rng.random((sketch.n_head, 2)) < 0.8, 1, -1))
        elif step == "go" and sketch.n_hypotheses > 2:
            sketch = sketch.without(rng.choice(sketch.n_hypotheses, 2, replace=False))
        elif step == "decay":
            sketch.decay(1e-3)
        assert np.isfinite(sketch.alpha).all()
        assert np.abs(sketch.alpha).max() <= 0.5 * np.log1p(total / 0.5) + 1e-9


def test_window_keeps_its_size():
    margins = random_margins(np.random.default_rng(8), 100, 4, low=0.4, high=0.8)
    sketch = newest(3, head=30, tail=False)
    sketch.update_many(margins[:50, :3])
    sketch = sketch.appended(margins[20:50, 3:])
    sketch.update_many(margins[50:])
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(margins[70:]), rtol=0, atol=1e-12)
    assert (sketch.head, sketch.n_head) == (30, 30)


def test_before_the_first_example():
    sketch = newest(2).appended(np.empty((0, 3)))
    assert sketch.n_hypotheses == 5
    margins = random_margins(np.random.default_rng(9), 40, 5, low=0.4, high=0.8)
    sketch.update_many(margins, batch_size=40)
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(margins), rtol=0, atol=1e-12)


def test_a_band_goes_on_as_it_is():
    margins = random_margins(np.random.default_rng(10), 200, 5, low=0.4, high=0.75)
    fast, plain = newest(4, order=2, head=3), naive.NaiveSketch(4, order=2, head=3)
    for one in (fast, plain):
        one.update_many(margins[:100, :4])
    rows = margins[100 - fast.n_head : 100, 4:]
    fast, plain = fast.appended(rows), plain.appended(rows)
    for one in (fast, plain):
        one.update_many(margins[100:])
    assert fast.order == 2
    assert_close(fast, plain)


def test_bad_input():
    sketch = newest_from(np.ones((4, 3)), head=10)
    for rows in (np.ones((3, 1)), np.ones(4), np.ones((4, 0)), 1):
        with pytest.raises(ocboost.InputError, match="one row for each of the 4 examples in the head"):
            sketch.appended(rows)
    with pytest.raises(ocboost.InputError, match=r"got shape \(\)\. Let the new hypotheses answer these ex"):
        sketch.appended([[1], [1, -1]])
    with pytest.raises(ocboost.InputError, match="margins"):
        sketch.appended(np.full((4, 1), 0.5))
    with pytest.raises(ocboost.InputError, match=r"leave at least one hypothesis; got all 3\. Take one out"):
        sketch.without([0, 1, 2])
    for members in ([3], [-4], [0.5], ["a"], [[0, 1], [2]]):
        with pytest.raises(
            ocboost.InputError,
            match=r"members must be whole numbers from 0 to 2; got .*Name hypotheses by their places",
        ):
            sketch.without(members)
    with pytest.raises(ocboost.InputError, match="full order"):
        newest(3, order=1).without([0])
