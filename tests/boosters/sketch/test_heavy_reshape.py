"""A sketch that keeps heavy examples with another room, another rule, more hypotheses or fewer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import BoostingSketch, InputError, adaboost_weights
from tests.naive import sketch as naive
from tests.support.covering import every_few
from tests.support.heavy_twin import TOLERANCE, assert_bounded, both, distance
from tests.support.makers import correlated_columns, decayed_weights, independent_columns, random_margins

J = 8
ROOMS = [{"head": 30}, {"head": 6}, {"memory": 700}, {"memory": 1_500}]
OPTIONS = [{}, {"forgetting": 0.98}, {"smoothing": 0.1}]


def of(sketch):
    """The room of a sketch, as its twin has it."""
    room = sketch._store.capacity
    return {"head": room.head, "first_head": room.first, "pairs": room.pairs}


def fed(n, *, seed=0, weighted=True, J=J, ties=False, **options):
    """A sketch and its twin after n examples, and 120 examples more with two further columns."""
    rng = np.random.default_rng([331, seed])
    rows = correlated_columns(rng, n + 120, J + 2, agreement=0.4)
    if ties:
        rows = rows[rng.integers(0, 10, n + 120)]
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else None
    sketch, plain = both(J, **options)
    for each in (sketch, plain):
        if n:
            each.update_many(rows[:n, :J], sample_weight=weight)
    return sketch, plain, rows[n:]


def agree(sketch, plain, more):
    """The same α now and after more examples."""
    assert distance(sketch.alpha, plain.alpha) < TOLERANCE
    for each in (sketch, plain):
        each.update_many(more)
    assert distance(sketch.alpha, plain.alpha) < TOLERANCE
    assert sketch.n_head == plain.n_head
    assert sketch.n_seen == plain.n_seen


# Against the twin ----------------------------------------------------------------------------------------


@every_few(
    2,
    changes=[{"head": 12}, {"head": 5}, {"memory": 1_000}, {"memory": 560}],
    n=[0, 4, 150],
    room=ROOMS,
    options=OPTIONS,
)
def test_another_room(changes, n, room, options):
    sketch, plain, more = fed(n, **room, **options)
    other = sketch.remade(**changes)
    agree(other, plain.remade(**of(other)), more[:, :J])


@every_few(
    2,
    gone=[[0], [J - 1], [2, 3, 5], range(1, J), []],
    n=[4, 150],
    room=ROOMS,
    options=OPTIONS,
    ties=[False, True],
)
def test_fewer_hypotheses(gone, n, room, options, ties):
    sketch, plain, more = fed(n, ties=ties, **room, **options)
    gone = list(gone)
    other = sketch.without(np.array(gone, int))
    agree(other, plain.without(gone, **of(other)), np.delete(more[:, :J], gone, axis=1))


@every_few(
    2,
    k=[1, 2],
    n=[0, 4, 150],
    room=[*ROOMS, {"head": J}, {"memory": 800}],
    options=OPTIONS,
    ties=[False, True],
)
def test_more_hypotheses(k, n, room, options, ties):
    sketch, plain, more = fed(n, ties=ties, **room, **options)
    new = random_margins(np.random.default_rng(332), sketch.n_head, k) if n else np.ones((0, k))
    other = sketch.appended(new)
    agree(other, plain.appended(new, **of(other)), more[:, : J + k])


@every_few(2, head=[1, 7, 40], n=[0, 4, 150], room=ROOMS, options=OPTIONS, ties=[False, True])
def test_to_the_newest(head, n, room, options, ties):
    sketch, plain, more = fed(n, ties=ties, **room, **options)
    other = sketch.remade(keep="newest", head=head)
    assert (other.keep, other.head, other.order) == ("newest", head, J)
    agree(other, plain.to_newest(head), more[:, :J])


def test_differences_of_pairs_go_with_their_room():
    sketch, _, more = fed(150, head=30)
    assert sketch._store.state.light.delta.any()
    sketch.update_many(more[:5, :J])
    few = sketch.remade(memory=730)
    assert not few._store.capacity.pairs
    assert few._store.state.light.delta.size == 0
    assert few.nbytes < sketch.nbytes
    np.testing.assert_allclose(few.alpha, sketch.alpha, rtol=0, atol=1e-12)
    again = few.remade(head=12)
    again.update_many(more[:40, :J])
    assert again._store.state.light.delta.any()


def test_a_sample_without_a_sign():
    # Light examples that are all wrong at one coordinate but for few, which no sample of so few holds.
    rng = np.random.default_rng(0)
    margins = random_margins(rng, 200, J)
    margins[:, 3] = np.where(rng.random(200) < 0.06, 1, -1)
    sketch, plain = both(J, head=8)
    for each in (sketch, plain):
        each.update_many(margins)
    light = sketch._store.state.light
    assert ((light.A[0] == 0) & (light.L[0] > 0)).any()
    for other, twin in (
        (sketch.without([0]), plain.without([0])),
        (sketch.remade(keep="newest"), plain.to_newest(8)),
    ):
        assert distance(other.alpha, twin.alpha) < TOLERANCE
        more = margins[:50, J - other.n_hypotheses :]
        agree(other, twin, more)


# What it means -------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 59), st.sampled_from([1.0, 0.97]))
def test_while_it_fits_they_were_there_from_the_start(seed, n, forgetting):
    rng = np.random.default_rng(seed)
    margins = random_margins(rng, n, 6)
    weight = rng.choice([0.0, 1.0, 2.0], n)
    options = {"head": 60, "keep": "heavy", "forgetting": forgetting}

    def of_columns(columns):
        sketch = BoostingSketch(len(columns), **options)
        sketch.update_many(margins[:, columns], sample_weight=weight)
        return sketch

    first = of_columns([0, 1, 2, 3])
    np.testing.assert_array_equal(first.head_margins, margins[:, :4])
    more = first.appended(margins[:, 4:])
    np.testing.assert_array_equal(more.alpha, of_columns(range(6)).alpha)
    np.testing.assert_array_equal(more.without([1, 4]).alpha, of_columns([0, 2, 3, 5]).alpha)
    np.testing.assert_array_equal(more.without([4, 5]).alpha, first.alpha)


@given(
    st.integers(0, 2**32 - 1), st.sampled_from([6, 20, 60]), st.integers(1, 3), st.sampled_from([1.0, 0.97])
)
def test_what_was_appended_can_be_left_out_again(seed, head, k, forgetting):
    rng = np.random.default_rng(seed)
    sketch, _ = both(6, head=head, forgetting=forgetting)
    sketch.update_many(random_margins(rng, 200, 6), sample_weight=rng.choice([0.0, 1.0, 2.0], 200))
    other = sketch.appended(random_margins(rng, sketch.n_head, k)).without(6 + np.arange(k))
    if other._store.state.folds == sketch._store.state.folds:  # pairs went with their room otherwise
        np.testing.assert_allclose(other.alpha, sketch.alpha, rtol=0, atol=1e-12)
    else:
        np.testing.assert_allclose(other.alpha, sketch.alpha, rtol=0, atol=0.3)
    np.testing.assert_allclose(sketch.without([]).alpha, sketch.alpha, rtol=0, atol=1e-12)


def test_alpha_of_the_old_hypotheses_stays_where_others_are_appended():
    sketch, _, more = fed(300, head=40)
    sketch.update_many(more[:5, :J])
    new = random_margins(np.random.default_rng(334), sketch.n_head, 3)
    other = sketch.appended(new)
    assert other._store.state.folds == sketch._store.state.folds > 0
    np.testing.assert_allclose(other.alpha[:J], sketch.alpha, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(other.head_margins, np.concatenate([sketch.head_margins, new], axis=1))


@pytest.mark.parametrize("room", [{"head": 200}, {"memory": 12_000}, {"memory": 7_000}])
@pytest.mark.parametrize("gone", [[7], [0, 11, 29]])
def test_a_sketch_without_some_is_close_to_one_that_never_had_them(gone, room):
    margins = correlated_columns(np.random.default_rng(1), 4000, 30, agreement=0.5)
    rest = np.delete(margins, gone, axis=1)
    sketch, never = (BoostingSketch(n, keep="heavy", **room) for n in (30, 30 - len(gone)))
    sketch.update_many(margins, batch_size=50)
    never.update_many(rest, batch_size=50)
    assert sketch._store.state.folds > 2
    exact, error = adaboost_weights(rest), naive.approximation_error
    found = error(exact, sketch.without(gone).alpha)
    assert found < error(exact, never.alpha) + 0.006 * len(gone)
    assert found < 0.25 * error(exact, np.delete(sketch.alpha, gone))


def test_new_hypotheses_are_learnt():
    rng = np.random.default_rng(336)
    margins = independent_columns(rng, 6000, rng.uniform(0.5, 0.65, 30))
    sketch = BoostingSketch(25, head=300, keep="heavy")
    sketch.update_many(margins[:2000, :25], batch_size=50)
    new = independent_columns(rng, sketch.n_head, np.full(5, 0.5))  # who knows which examples they are
    more = sketch.appended(new)
    more.update_many(margins[2000:], batch_size=50)
    assert np.abs(more.alpha - adaboost_weights(margins)).max() < 0.15


def test_alpha_stays_when_the_newest_are_kept_from_now_on():
    sketch, _, more = fed(300, head=40, forgetting=0.99)
    sketch.update_many(more[:7, :J])
    for head in (100, 40, 9, 1):
        newest = sketch.remade(keep="newest", head=head)
        np.testing.assert_allclose(newest.alpha, sketch.alpha, rtol=0, atol=1e-12)
        assert newest.n_seen == sketch.n_seen
        assert newest.n_head <= sketch.n_head


def test_new_hypotheses_that_leave_less_room():
    sketch, _, _ = fed(200, memory=1_500)
    new = np.ones((sketch.n_head, 9))
    wide = sketch.appended(new)
    assert wide.memory == 1_500
    assert wide.n_head < wide.head
    assert wide.nbytes <= 1_500 + 64 * (17 // 8 + 13)
    with pytest.raises(InputError, match="memory must be at least"):
        sketch.appended(np.ones((sketch.n_head, 20)))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([{"head": 2}, {"head": 16}, {"memory": 2_000}]),
    st.sampled_from([0.0, 5.0, 300.0]),
    st.sampled_from([0.0, 1e-12, 0.3]),
    st.sampled_from([0.9, 1.0]),
)
def test_bounded_for_any_stream(seed, room, spread, smoothing, forgetting):
    rng = np.random.default_rng(seed)
    n_now, total = 9, 0.0
    sketch = BoostingSketch(n_now, keep="heavy", smoothing=smoothing, forgetting=forgetting, **room)
    for _ in range(6):
        margins = random_margins(rng, 40, n_now, low=0.0, high=1.0)
        weight = 10.0 ** rng.uniform(-spread, spread, 40) * (rng.random(40) < 0.9)
        sketch.update_many(margins, sample_weight=weight)
        total = total * forgetting**40 + decayed_weights(40, forgetting, weight).sum()
        if n_now > 1 and rng.random() < 0.5:
            sketch = sketch.without(rng.permutation(n_now)[: rng.integers(1, n_now)])
        else:
            sketch = sketch.appended(random_margins(rng, sketch.n_head, 3, low=0.0, high=1.0))
        n_now = sketch.n_hypotheses
        assert_bounded(sketch.alpha, total, smoothing)
        assert_bounded(sketch.remade(keep="newest").alpha, total, smoothing)


# While it fits, and errors -------------------------------------------------------------------------------


def test_remade():
    margins = random_margins(np.random.default_rng(318), 400, 12)
    sketch = BoostingSketch(12, head=60, keep="heavy")
    sketch.update_many(margins[:200])
    same = sketch.remade(smoothing=1.0)
    small = sketch.remade(head=20)
    assert small.n_head < 20
    np.testing.assert_allclose(small.alpha, sketch.alpha, rtol=0, atol=1e-12)
    large = sketch.remade(memory=100_000)
    assert large.memory == 100_000
    assert large.head > 1000
    poor = sketch.remade(memory=900)
    for other in (sketch, same, small, large, poor):
        other.update_many(margins[200:])
        assert other.n_seen == 400
        assert naive.approximation_error(adaboost_weights(margins), other.alpha) < 0.1
    np.testing.assert_array_equal(same.alpha, sketch.alpha)
    window = sketch.remade(tail=False)
    assert (window.n_seen, window.n_head, window.keep) == (400, 0, "newest")  # it did not hold the last ones
    window.update_many(margins[:70])
    expected = BoostingSketch.from_margins(margins[10:70], head=60, tail=False).alpha
    np.testing.assert_allclose(window.alpha, expected, rtol=0, atol=1e-12)
    assert sketch.remade(head=1).keep == "newest"
    newest = BoostingSketch(12, head=60, keep="newest")
    newest.update_many(margins[:200])
    with pytest.raises(InputError, match="only while nothing has been folded"):
        newest.remade(keep="heavy")


@pytest.mark.parametrize("n", [0, 30])
def test_remade_with_another_rule_while_it_fits(n):
    margins = random_margins(np.random.default_rng(319), 200, 12)
    sketches = {keep: BoostingSketch(12, head=60, keep=keep, forgetting=0.99) for keep in ("heavy", "newest")}
    for sketch in sketches.values():
        if n:
            sketch.update_many(margins[:n])
    for old, new in (("heavy", "newest"), ("newest", "heavy")):
        changed, expected = sketches[old].remade(keep=new), sketches[new].copy()
        for each in (changed, expected):
            each.update_many(margins[n:])
        assert changed.keep == new
        np.testing.assert_array_equal(changed.alpha, expected.alpha)
    window = sketches["heavy"].remade(tail=False)
    assert (window.keep, window.tail, window.n_head) == ("newest", False, n)


def test_more_and_fewer_hypotheses_while_it_fits():
    margins = random_margins(np.random.default_rng(320), 100, 12)
    sketch = BoostingSketch.from_margins(margins[:50, :9], head=60, keep="heavy")
    more, fewer = sketch.appended(margins[:50, 9:]), sketch.without([0, 4])
    np.testing.assert_allclose(more.alpha, adaboost_weights(margins[:50]), rtol=0, atol=1e-12)
    rest = np.delete(margins[:50, :9], [0, 4], axis=1)
    np.testing.assert_allclose(fewer.alpha, adaboost_weights(rest), rtol=0, atol=1e-12)
