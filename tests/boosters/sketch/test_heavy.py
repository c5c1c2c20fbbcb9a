"""The sketch that keeps heavy examples: against its plain twin, exact while it fits, the same however cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from ocboost import BoostingSketch, InputError, adaboost_weights
from ocboost._kernels import heavy_pairs
from ocboost.boosters.sketch import fold as folding
from ocboost.boosters.sketch.heavy_fold import choose
from ocboost.boosters.sketch.settings import capacity_in
from tests.naive import sketch as naive
from tests.support import thread_stress
from tests.support.heavy_twin import TOLERANCE, assert_bounded, both, compare, distance
from tests.support.makers import (
    correlated_columns,
    decayed_weights,
    drifting,
    independent_columns,
    random_margins,
)

# Against the twin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("head", "batch_size"), [(2, 1), (7, 1), (30, 1), (30, 16), (30, 70), (100, 100)])
def test_heads_batches_weights_and_forgetting(head, batch_size, weighted, forgetting, pairs):
    rng = np.random.default_rng(300)
    margins = correlated_columns(rng, 360, 9, agreement=0.4)
    weight = rng.uniform(0.0, 2.0, 360) * (rng.random(360) < 0.9) if weighted else None
    sketch, plain = both(9, head=head, pairs=pairs, forgetting=forgetting, smoothing=0.7)
    compare(sketch, plain, margins, weight=weight, every=120, batch_size=batch_size)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("J", [1, 2, 15, 16, 17, 63, 64, 65, 130])
def test_widths_around_a_machine_word(J, pairs):
    margins = random_margins(np.random.default_rng(J), 260, J, low=0.4, high=0.75)
    compare(*both(J, head=60, pairs=pairs), margins, every=130)


@pytest.mark.parametrize("smoothing", [1e-6, 1.0, 40.0])
def test_a_drifting_stream(smoothing):
    margins = drifting(np.random.default_rng(301), 150, 12)
    compare(*both(12, head=50, smoothing=smoothing), margins, every=90)


@pytest.mark.parametrize("memory", [1_000, 1_800, 4_000])
def test_a_room_in_bytes(memory):
    margins = random_margins(np.random.default_rng(302), 900, 14, low=0.4, high=0.75)
    sketch, plain = both(14, memory=memory)
    assert sketch._store.capacity.pairs == (memory > 1_000)
    compare(sketch, plain, margins, every=300)


def test_ties_go_by_age():
    # A dozen kinds of examples, many of each, all of the same weight.
    rng = np.random.default_rng(303)
    kinds = random_margins(rng, 12, 8)
    compare(*both(8, head=40), kinds[rng.integers(0, 12, 400)], every=100)


def test_decay_between_batches():
    margins = random_margins(np.random.default_rng(304), 300, 8)
    sketch, plain = both(8, head=40, forgetting=0.995)
    for start, factor in ((0, 0.25), (100, 0.5), (200, 1e-3)):
        compare_part = slice(start, start + 100)
        for booster in (sketch, plain):
            booster.update_many(margins[compare_part], batch_size=10)
            booster.decay(factor)
        assert distance(sketch.alpha, plain.alpha) < TOLERANCE


def test_an_outlier_and_a_repeated_example():
    margins = random_margins(np.random.default_rng(305), 300, 10)
    weight = np.ones(300)
    weight[37] = 1e6
    compare(*both(10, head=50), margins, weight=weight, every=100)
    compare(*both(10, head=50), np.repeat(margins[:1], 300, axis=0), every=100)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 5, 20]),
    st.integers(2, 60),
    st.sampled_from([1, 8, 50, 90]),
    st.sampled_from([0.97, 1.0]),
    st.sampled_from([1e-3, 1.0]),
    st.booleans(),
)
def test_any_stream(seed, J, head, batch_size, forgetting, smoothing, pairs):
    rng = np.random.default_rng(seed)
    margins = random_margins(rng, 200, J, low=0.1, high=0.9)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], 200)
    sketch, plain = both(J, head=head, pairs=pairs, forgetting=forgetting, smoothing=smoothing)
    for booster in (sketch, plain):
        booster.update_many(margins, batch_size=batch_size, sample_weight=weight)
    assert distance(sketch.alpha, plain.alpha) < TOLERANCE


# Exact while it fits, and close when it does not ---------------------------------------------------------


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_exact_while_it_fits(forgetting):
    rng = np.random.default_rng(307)
    margins, weight = random_margins(rng, 499, 40), rng.uniform(0, 3, 499)
    sketch = BoostingSketch(40, head=500, keep="heavy", forgetting=forgetting)
    newest = BoostingSketch(40, head=500, keep="newest", forgetting=forgetting)
    for booster in (sketch, newest):
        booster.update_many(margins, batch_size=10, sample_weight=weight)
    expected = adaboost_weights(margins, sample_weight=decayed_weights(499, forgetting, weight))
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(sketch.alpha, newest.alpha)


def test_examples_that_do_not_count_take_no_place():
    margins = random_margins(np.random.default_rng(308), 900, 12)
    weight = np.zeros(900)
    weight[::30] = 1.0
    sketch = BoostingSketch(12, head=50, keep="heavy")
    sketch.update_many(margins, sample_weight=weight)
    np.testing.assert_allclose(sketch.alpha, adaboost_weights(margins[::30]), rtol=0, atol=1e-12)


def test_alpha_stays_as_it_was_when_light_examples_leave():
    margins = random_margins(np.random.default_rng(309), 64, 20, low=0.4, high=0.7)
    sketch = BoostingSketch(20, head=64, keep="heavy")
    sketch.update_many(margins)
    assert sketch.n_head < 64
    np.testing.assert_allclose(sketch.alpha, adaboost_weights(margins), rtol=0, atol=1e-12)


def test_it_is_closer_than_the_newest():
    rng = np.random.default_rng(310)
    margins = independent_columns(rng, 6000, rng.uniform(0.5, 0.65, 60))
    exact = adaboost_weights(margins)
    error = {}
    for keep in ("heavy", "newest"):
        sketch = BoostingSketch(60, head="auto", keep=keep)
        sketch.update_many(margins, batch_size=64)
        error[keep] = naive.approximation_error(exact, sketch.alpha)
    assert error["heavy"] < 0.3 * error["newest"]


# The same however it is cut ------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [True, False])
def test_pieces_and_reads_change_no_bit(pairs, saved_bytes):
    rng = np.random.default_rng(311)
    margins, weight = random_margins(rng, 800, 33), rng.uniform(0, 2, 800)
    options = {"memory": 7_000 if pairs else 4_500, "keep": "heavy", "forgetting": 0.999}
    whole = BoostingSketch(33, **options)
    assert whole._store.capacity.pairs == pairs
    whole.update_many(margins, sample_weight=weight)
    assert whole._store.state.folds > 2
    for size in (1, 37, 100):
        cut = BoostingSketch(33, **options)
        for start in range(0, 800, size):
            part = slice(start, start + size)
            if size == 1:
                cut.update(margins[start], weight[start])
            else:
                cut.update_many(margins[part], batch_size=1 + start % 50, sample_weight=weight[part])
            if start % 3 == 0:
                cut.alpha  # noqa: B018
            if start % 7 == 0:
                cut = cut.copy()
        np.testing.assert_array_equal(cut.alpha, whole.alpha)
        assert saved_bytes(cut) == saved_bytes(whole)


def test_a_saved_sketch_goes_on(tmp_path):
    rng = np.random.default_rng(312)
    margins = random_margins(rng, 600, 21)
    for options in ({"head": 70}, {"memory": 5_000}, {"head": "auto", "forgetting": 0.99}):
        for first in (10, 300):
            sketch = BoostingSketch(21, keep="heavy", **options)
            sketch.update_many(margins[:first])
            sketch.save(tmp_path / "s")
            other = BoostingSketch.load(tmp_path / "s")
            assert (other.keep, other.memory, other.head) == (sketch.keep, sketch.memory, sketch.head)
            for each in (sketch, other):
                each.update_many(margins[first:])
            np.testing.assert_array_equal(other.alpha, sketch.alpha)
            assert repr(other) == repr(sketch)


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(folding, "WORTH_SHARING", 0)
    margins = random_margins(np.random.default_rng(323), 500, 70)
    before, found = ocboost.get_num_threads(), []
    for n_threads in (1, 2, 3):
        ocboost.set_num_threads(n_threads)
        sketch = BoostingSketch(70, head=90, keep="heavy")
        sketch.update_many(margins)
        found.append(sketch.alpha)
    ocboost.set_num_threads(before)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_folds_publish_alpha_before_anything_changes():
    margins = random_margins(np.random.default_rng(324), 60, 12)
    sketch, roomy = (BoostingSketch(12, head=head, keep="heavy") for head in (40, 100))
    views = []
    with thread_stress.published(views):
        sketch.update_many(margins)
    roomy.update_many(margins[:40])
    assert len(views) == sketch._store.state.folds > 1
    np.testing.assert_array_equal(views[0][0], roomy.alpha)


# Bounded -------------------------------------------------------------------------------------------------


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 9, 40, 70]),
    st.sampled_from([2, 3, 16, 65]),
    st.sampled_from([1, 8, 50]),
    st.sampled_from([0.9, 1.0]),
    st.sampled_from([0.0, 1e-12, 0.3, 10.0]),
    st.sampled_from([0.0, 5.0, 300.0]),
)
def test_bounded_for_any_stream(seed, J, head, batch_size, forgetting, smoothing, spread):
    rng = np.random.default_rng(seed)
    margins = random_margins(rng, 200, J, low=0.0, high=1.0)
    weight = 10.0 ** rng.uniform(-spread, spread, 200) * (rng.random(200) < 0.9)
    sketch = BoostingSketch(J, head=head, keep="heavy", forgetting=forgetting, smoothing=smoothing)
    for start in range(0, 200, 50):
        part = slice(start, start + 50)
        sketch.update_many(margins[part], batch_size=batch_size, sample_weight=weight[part])
        total = decayed_weights(start + 50, forgetting, weight[: start + 50]).sum()
        assert_bounded(sketch.alpha, total, smoothing)
    assert not sketch.diverged


@pytest.mark.parametrize("smoothing", [1.0, 1e-9, 0.0])
@pytest.mark.parametrize("J", [3, 60, 300])
def test_always_right_always_wrong_and_alternating(J, smoothing):
    n = 200
    ones = np.ones((n, J))
    rows = np.tile([[1.0], [-1.0]], (n // 2, J))
    columns = np.tile([1.0, -1.0], J)[:J] * ones
    by_class = np.sort(rows, axis=0)
    for margins in (ones, -ones, columns, rows, rows * columns, by_class):
        for head in (2, 30):
            sketch = BoostingSketch(J, head=head, smoothing=smoothing, keep="heavy")
            sketch.update_many(margins)
            assert_bounded(sketch.alpha, n, smoothing)
            first = naive.adaboost_weights_decimal(margins[:, :1], smoothing=smoothing)[0]
            assert sketch.alpha[0] == pytest.approx(first, abs=1e-10)


def test_many_hypotheses_that_separate_the_data():
    rng = np.random.default_rng(313)
    margins = independent_columns(rng, 300, rng.uniform(0.6, 0.9, 1500))
    sketch = BoostingSketch(1500, head=100, smoothing=1e-3, keep="heavy")
    sketch.update_many(margins)
    assert_bounded(sketch.alpha, 300, 1e-3)
    assert np.abs(sketch.alpha).max() > 0.1


def test_forgetting_outlasts_the_range_of_a_float():
    margins = random_margins(np.random.default_rng(314), 20_000, 5)
    expected = naive.adaboost_weights(margins[-400:], sample_weight=decayed_weights(400, 0.9))
    for head, batch_size in [(30_000, 1), (10_000, 1), (500, 1), (500, 2000)]:
        sketch = BoostingSketch(5, head=head, forgetting=0.9, keep="heavy")
        sketch.update_many(margins, batch_size=batch_size)
        np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("error")
def test_scores_beyond_a_float():
    for seed in range(20):  # without smoothing, and with hardly a memory, a sample may go astray
        rng = np.random.default_rng(seed)
        sketch = BoostingSketch(4, head=5, keep="heavy", smoothing=0.0, forgetting=1e-300)
        sketch.update_many(random_margins(rng, 70, 4), sample_weight=10.0 ** rng.uniform(-300, 300, 70))
        assert np.isfinite(sketch.alpha).all()


def test_decay_to_almost_nothing():
    margins = random_margins(np.random.default_rng(315), 250, 8)
    sketch = BoostingSketch.from_margins(margins[:100], head=20, keep="heavy")
    for _ in range(5):
        sketch.decay(1e-200)
        assert_bounded(sketch.alpha, 100, 1.0)
    np.testing.assert_allclose(sketch.alpha, np.zeros(8), rtol=0, atol=1e-12)
    sketch.update_many(margins[100:], batch_size=250)
    np.testing.assert_allclose(sketch.alpha, naive.adaboost_weights(margins[100:]), rtol=0, atol=1e-9)


def test_memory_is_what_was_asked_for():
    for J, memory in [(5, 1000), (64, 20_000), (130, 60_000), (130, 400_000)]:
        sketch = BoostingSketch(J, memory=memory, keep="heavy")
        overhead = 64 * (J // 8 + 13)  # a block that is not full
        for _ in range(4):
            sketch.update_many(random_margins(np.random.default_rng(J), sketch.head, J), batch_size=20)
            assert sketch.nbytes <= memory + overhead
        assert sketch._store.state.folds
        assert sketch.nbytes > 0.7 * memory
    newest, heavy = (BoostingSketch(100, head="auto", keep=keep) for keep in ("newest", "heavy"))
    for sketch in (newest, heavy):
        sketch.update_many(random_margins(np.random.default_rng(1), 12_000, 100), batch_size=100)
    assert heavy.nbytes <= newest.nbytes


# Parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": 10, "tail": False}, "needs a tail"),
        ({"head": 10, "order": 3}, "order=3"),
        ({"head": 10, "correction": "own"}, "got 'own'"),
        ({"head": 1}, "more than one example"),
        ({}, "more than one example"),
        ({"head": 10, "memory": 10_000}, "exclude each other"),
        ({"memory": 10}, "memory must be at least 587 bytes for 10"),
        ({"memory": 0.5}, "memory must be a whole number"),
        ({"head": 10, "keep": "old"}, "keep must be 'heavy' or 'newest'; got 'old'"),
    ],
)
def test_what_does_not_fit_is_an_error(options, message):
    with pytest.raises(InputError, match=message):
        BoostingSketch(10, **{"keep": "heavy", **options})


def test_the_newest_in_so_many_bytes():
    # 880 bytes of sums and 416 of other numbers of the tail leave four blocks of 64 examples.
    assert BoostingSketch(10, memory=5_000, keep="newest").head == 3 * 64
    assert (
        BoostingSketch(10, memory=1_450, keep="newest").head == 8 * (1_450 - 1_296) // 106
    )  # fewer than a block
    with pytest.raises(InputError, match="memory must be at least 1310 bytes"):
        BoostingSketch(10, memory=800, keep="newest")


@pytest.mark.parametrize("how", [{}, {"order": 3}, {"tail": False}])
@pytest.mark.parametrize("keep", ["heavy", "newest"])
@pytest.mark.parametrize("J", [3, 10, 70, 200])
def test_it_never_takes_more_than_its_memory(keep, J, how):
    if keep == "heavy" and how:
        return
    margins = random_margins(np.random.default_rng(J), 3000, J)
    for memory in (40 * J * J + 5000, 80 * J * J + 20_001):
        sketch = BoostingSketch(J, memory=memory, keep=keep, **how)
        for start in range(0, 3000, 100):
            sketch.update_many(margins[start : start + 100])
            assert sketch.nbytes <= memory


@pytest.mark.parametrize("J", [1, 2, 3])
def test_few_hypotheses_have_room_for_two_examples_at_least(J, saved_bytes, tmp_path):
    margins = random_margins(np.random.default_rng(J), 200, J)
    sketch = BoostingSketch(J, head="auto", keep="heavy")
    sketch.update_many(margins)
    saved_bytes(sketch.copy())
    assert BoostingSketch.load(tmp_path / "state").n_seen == 200
    exact = adaboost_weights(margins)
    assert sketch.alpha[0] == pytest.approx(exact[0], rel=1e-9)


def test_a_room_is_split_as_the_rule_says():
    J = 128
    per_example = J / 8 + 12
    room = capacity_in(J, 200_000)
    assert room.pairs
    assert room.first == int((200_000 - 56 * J) / per_example) // 64 * 64
    assert room.head == int((200_000 - 56 * J - 2 * J * (J - 1) - 32) / per_example) // 64 * 64
    assert capacity_in(J, 56 * J + 60 * 28)[:2] == (60, 60)  # fewer than a block
    assert not capacity_in(J, 4 * J * J - 1000).pairs
    assert BoostingSketch(J, head=J, keep="heavy")._store.capacity == (J, J, True)
    assert BoostingSketch(J, head=J - 1, keep="heavy")._store.capacity == (J - 1, J - 1, False)


# The parts -----------------------------------------------------------------------------------------------


def test_the_sample_is_fair():
    rng = np.random.default_rng(316)
    q = rng.exponential(size=500)
    sums = np.zeros(2)
    for turn in range(1, 400):
        heavy, factor = choose(q, 100, turn)
        assert abs(np.count_nonzero(factor) - 100) <= 1
        assert (factor[heavy] == 1.0).all()
        assert q[heavy].min(initial=np.inf) >= q[~heavy].max()
        sums += [factor[:250].sum(), (factor * q)[:250].sum()]
    assert sums[0] / 399 == pytest.approx(250, rel=0.02)
    assert sums[1] / 399 == pytest.approx(q[:250].sum(), rel=0.01)


def test_halves_are_numpys():
    rng = np.random.default_rng(317)
    x = np.concatenate(
        [
            rng.uniform(-1, 1, 2000),
            rng.normal(0, 1e-5, 2000),
            2.0 ** -np.arange(30.0),
            [0.0, 1.0, -1.0, -1e-30],
        ]
    )
    bits, back = np.empty(x.size, np.uint16), np.empty(x.size)
    heavy_pairs.halves(x, bits)
    np.testing.assert_array_equal(bits.view(np.float16), x.astype(np.float16))
    heavy_pairs.numbers(bits, back)
    np.testing.assert_array_equal(back, x.astype(np.float16).astype(float))
