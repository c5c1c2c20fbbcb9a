"""Eight coordinates at once: each loop over codes, and the steps of a large segment, against plain loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import ocboost
from ocboost._kernels import codes, head, llvm_codes, scaled, solve
from ocboost._kernels.head import IS_LARGE, LARGE_SEGMENT, LEAST_WIDTH, N_SUMS, START, UNIFORM
from ocboost.boosters.sketch.state import empty_head
from tests.naive import sketch as naive
from tests.naive.heavy import NaiveHeavy
from tests.naive.kernels import code_of, log_sums
from tests.support.compiled import as_in_kernels
from tests.support.makers import correlated_columns, random_margins


def random_codes(rng):
    return rng.integers(0, 256, 64, dtype=np.uint8)


# The loops over codes -------------------------------------------------------------------------------------


@as_in_kernels
def call_codes_of(words, width, room, out):
    if width == 8:
        llvm_codes.codes_of(words.ctypes.data, out.ctypes.data)
    else:
        codes.codes_of_few(words.ctypes.data, width, room.ctypes.data, out.ctypes.data)


@pytest.mark.parametrize("width", range(1, 9))
def test_codes_are_the_margins_of_each_example(width):
    rng = np.random.default_rng(500)
    for words in (rng.integers(0, 2**64, 8, np.uint64), np.uint64(1) << np.arange(8, dtype=np.uint64)):
        out = np.zeros(64, np.uint8)
        call_codes_of(words, width, np.full(8, 77, np.uint64), out)
        given = [*words[:width], *[0] * (8 - width)]
        assert out.tolist() == [code_of(given, i) for i in range(64)]


@as_in_kernels
def call_multiply(d, by_code, low, high, anywhere):
    addresses = d.ctypes.data, by_code.ctypes.data, low.ctypes.data, high.ctypes.data
    if anywhere:
        llvm_codes.multiply_by_codes_anywhere(*addresses)
    else:
        llvm_codes.multiply_by_codes(*addresses)


@as_in_kernels
def call_score(d, q, by_code, tables, anywhere):
    addresses = d.ctypes.data, q.ctypes.data, by_code.ctypes.data, tables.ctypes.data
    if anywhere:
        llvm_codes.score_by_codes_anywhere(*addresses)
    else:
        llvm_codes.score_by_codes(*addresses)


@pytest.mark.parametrize("anywhere", [False, True])
def test_weights_are_multiplied_by_their_codes_factor(anywhere):
    rng = np.random.default_rng(501)
    d, by_code, tables = rng.random(64), random_codes(rng), rng.uniform(0.1, 3.0, (2, 16))
    expected = [x * (tables[1, c >> 4] * tables[0, c & 15]) for x, c in zip(d, by_code, strict=True)]
    call_multiply(d, by_code, *tables, anywhere)
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize("anywhere", [False, True])
def test_scores_grow_by_their_codes_share(anywhere):
    rng = np.random.default_rng(502)
    d, q, by_code, tables = rng.random(64), rng.random(64), random_codes(rng), rng.uniform(0.1, 3.0, (4, 16))
    low, high, low_score, high_score = tables
    expected = [], []
    for x, score, c in zip(d, q, by_code, strict=True):
        lower, upper = c & 15, c >> 4
        expected[0].append(x * (high[upper] * low[lower]))
        expected[1].append(score + x * (high_score[upper] + high[upper] * low_score[lower]))
    call_score(d, q, by_code, tables, anywhere)
    np.testing.assert_array_equal([d, q], expected)


@as_in_kernels
def call_add(sums, d, by_code):
    llvm_codes.add_by_codes(sums.ctypes.data, d.ctypes.data, by_code.ctypes.data)


def test_weights_are_added_by_code_and_lane():
    rng = np.random.default_rng(503)
    for by_code in (random_codes(rng), np.full(64, 255, np.uint8), np.zeros(64, np.uint8)):
        d, sums = rng.random(64), rng.random((8, llvm_codes.STRIDE))
        expected = sums.copy()
        for i in range(64):
            expected[i % 8, by_code[i]] += d[i]
        call_add(sums, d, by_code)
        np.testing.assert_array_equal(sums, expected)


@as_in_kernels
def call_sum(values):
    return llvm_codes.sum_of_eights(values.ctypes.data, values.size // 8)


@pytest.mark.parametrize("n", [1, 2, 16])
def test_eights_are_summed_lane_by_lane(n):
    values = np.random.default_rng(504).random((n, 8))
    lanes = values[0].copy()
    for row in values[1:]:
        lanes += row
    expected = 0.0
    for lane in lanes:
        expected += lane
    assert call_sum(values) == expected


@as_in_kernels
def call_score_tables(factors, share):
    out = np.empty((4, 16))
    codes.score_tables(out.ctypes.data, factors.ctypes.data, share.ctypes.data)
    return out


def test_score_tables_hold_the_factors_before_each_coordinate():
    rng = np.random.default_rng(505)
    factors, share = rng.uniform(0.3, 3.0, (8, 2)), rng.random(8)
    low, high, low_score, high_score = call_score_tables(factors, share)
    for code in range(256):
        factor, score = 1.0, 0.0
        for k in range(8):
            score += factor * share[k]
            factor *= factors[k, 0 if code >> (7 - k) & 1 else 1]
        lower, upper = code & 15, code >> 4
        assert high[upper] * low[lower] == pytest.approx(factor, rel=1e-15)
        assert high_score[upper] + high[upper] * low_score[lower] == pytest.approx(score, rel=1e-15)


# Steps ----------------------------------------------------------------------------------------------------


@as_in_kernels
def call_steps(ring, first, n, solution, alphas, large):
    """All sums of a segment as logarithms, how often eight were begun, how often each had its own unit."""
    J = alphas.size
    sums = np.empty((2, J))
    segment = head.segment_at(solution, ring, 0, 0)
    total, unit = head.open_segment(segment, ring, first, n, 0.0, 0)
    state = solution.state[0]
    state[IS_LARGE] = large
    begun, slow = 0, 0
    alpha, if_right, if_wrong = 0.0, 1.0, 1.0
    for j in range(J):
        a, a_unit, b, b_unit = head.step(segment, j, alpha, if_right, if_wrong)
        sums[0, j] = scaled.log(a, a_unit) if a > 0.0 else -math.inf
        sums[1, j] = scaled.log(b, b_unit) if b > 0.0 else -math.inf
        begun += state[START] == j
        slow += state[UNIFORM] == 0
        alpha = alphas[j]
        moderate = abs(alpha) < head.MAX_DRIFT
        if_right, if_wrong = (math.exp(-alpha), math.exp(alpha)) if moderate else (1.0, 1.0)
    return sums, begun, slow, scaled.log(total, unit) if total > 0.0 else -math.inf


def ring_of(margins, weight, unit, first, n_blocks):
    """A ring whose oldest example is at ``first``, with other margins and weights everywhere else."""
    n, J = margins.shape
    rng = np.random.default_rng(506)
    ring = empty_head(J, n_blocks)
    ring.words[...] = rng.integers(0, 2**64, ring.words.shape, np.uint64)
    ring.weight[...] = 3.0
    for i in range(n):
        place = (first + i) % ring.weight.size
        ring.weight[place], ring.weight_unit[place] = weight[i], unit[i]
        block, bit = ring.words[place >> 6], np.uint64(1) << np.uint64(place & 63)
        block[...] = np.where(margins[i] > 0, block | bit, block & ~bit)
    return ring


def room_for(J, n):
    """A solution with room for eight coordinates at once however few examples there are."""
    solution = solve.make_solution(J, 1, max(n, LARGE_SEGMENT))
    solution.d[...] = np.nan  # what an earlier solve has left
    solution.room[N_SUMS + 2 * codes.ROOM_SIZE :].view(np.uint8)[...] = 201
    return solution


def check_steps(rng, margins, alphas, weight=None, unit=None, first=0, n_blocks=None):
    n, J = margins.shape
    weight = np.ones(n) if weight is None else weight
    unit = np.zeros(n, int) if unit is None else unit
    ring = ring_of(margins, weight, unit, first, n_blocks or (n + 63) // 64 + 1)
    with np.errstate(divide="ignore"):
        logs = np.log(weight) + unit * scaled.LOG_UNIT
    expected = log_sums(margins, logs, alphas)
    found = []
    for large in (1, 0):
        sums, begun, slow, total = call_steps(ring, first, n, room_for(J, n), alphas, large)
        tolerance = 1e-12 * (1 + np.abs(alphas).sum())
        np.testing.assert_allclose(sums, expected, rtol=0, atol=tolerance)
        assert total == pytest.approx(np.logaddexp.reduce(logs), abs=1e-12)
        found.append((begun, slow))
    assert found[1][0] == 0
    return found[0]


@pytest.mark.parametrize("J", [1, 3, 4, 5, 7, 8, 9, 11, 12, 15, 16, 20, 27])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_steps_of_any_width(n, J):
    rng = np.random.default_rng([n, J])
    margins = random_margins(rng, n, J, 0.2, 0.9)
    begun, _ = check_steps(rng, margins, rng.normal(0.0, 0.7, J), rng.random(n))
    assert begun == J // 8 + (J % 8 >= LEAST_WIDTH)


@pytest.mark.parametrize("first", [0, 1, 37, 63, 64, 200, 319, 320, 383])
def test_steps_from_anywhere_in_the_ring(first):
    rng = np.random.default_rng(first)
    for n in (1, 30, 64, 100, 300):
        check_steps(rng, random_margins(rng, n, 13), rng.normal(0.0, 0.7, 13), first=first, n_blocks=6)


def test_weights_of_zero_and_none_at_all():
    rng = np.random.default_rng(507)
    margins, alphas = random_margins(rng, 130, 20), rng.normal(0.0, 1.0, 20)
    check_steps(rng, margins, alphas, rng.random(130) * (rng.random(130) < 0.3))
    ring = ring_of(margins, np.zeros(130), np.zeros(130, int), 0, 4)
    sums, _, _, total = call_steps(ring, 0, 130, room_for(20, 130), alphas, 1)
    assert (sums == -np.inf).all()
    assert total == -np.inf


def test_all_examples_alike():
    rng = np.random.default_rng(508)
    margins = np.repeat(random_margins(rng, 1, 24), 400, axis=0)
    check_steps(rng, margins, rng.normal(0.0, 1.0, 24))


@pytest.mark.parametrize("size", [5.0, 30.0, 60.0, 150.0, 190.0, 250.0, 700.0])
def test_weights_that_leave_the_range_amid_the_eight(size):
    # Of eight coordinates at once, 200 may be the sum of |α|: then d must be brought up and settled.
    rng = np.random.default_rng(509)
    margins = random_margins(rng, 200, 40, 0.3, 0.7)
    begun, slow = check_steps(rng, margins, rng.choice([-size, size, 0.1], 40))
    assert begun > 0
    assert slow > 0 or size < 60


@pytest.mark.parametrize("place", range(8))
def test_one_large_step_at_each_of_the_eight(place):
    rng = np.random.default_rng(510)
    margins = random_margins(rng, 150, 32, 0.3, 0.7)
    for size in (120.0, 199.0, 200.0, 201.0, 1000.0):
        alphas = rng.normal(0.0, 0.5, 32)
        alphas[8 + place] = size
        alphas[16 + place] = -size  # and back
        begun, _ = check_steps(rng, margins, alphas)
        assert begun >= 2


@pytest.mark.parametrize("reach", [100, 127, 300])
def test_weights_of_any_size(reach):
    # Three units of 2²⁵⁶ fit one; beyond, each example has its own until α brings them together.
    rng = np.random.default_rng(511)
    weight = np.ldexp(rng.uniform(0.5, 1.0, 200), rng.integers(-reach, reach, 200))
    unit = rng.integers(-1, 2, 200)
    begun, slow = check_steps(rng, random_margins(rng, 200, 30), rng.normal(0.0, 0.7, 30), weight, unit)
    assert begun > 0 or slow > 0
    far = rng.integers(-4, 5, 200)
    begun, slow = check_steps(rng, random_margins(rng, 200, 30), rng.normal(0.0, 0.7, 30), weight, far)
    assert (begun, slow) == (0, 30)


def test_eight_at_once_begin_again_when_one_unit_fits_all_again():
    rng = np.random.default_rng(512)
    n, J = 100, 48
    margins = np.where(np.arange(n) < 50, 1, -1)[:, None] * np.ones(J, np.int8)
    margins[:, 24:] = random_margins(rng, n, 24)
    unit = np.where(np.arange(n) < 50, 2, -2)
    alphas = np.where(np.arange(J) < 24, 4 * scaled.LOG_UNIT / 48, rng.normal(0.0, 0.5, J))
    begun, slow = check_steps(rng, margins, alphas, np.ones(n), unit)
    assert 0 < slow < 24
    assert begun >= 3


# Heads of the size where it is used --------------------------------------------------------------------


@pytest.mark.parametrize("J", [3, 8, 12, 21])
@pytest.mark.parametrize("n", [LARGE_SEGMENT - 1, LARGE_SEGMENT, LARGE_SEGMENT + 77])
def test_adaboost_on_many_examples(n, J):
    rng = np.random.default_rng([n, J])
    margins, weight = correlated_columns(rng, n, J), rng.uniform(0.0, 3.0, n)
    for w in (None, weight):
        alpha = ocboost.adaboost_weights(margins, sample_weight=w, smoothing=0.1)
        expected = naive.adaboost_weights(margins, sample_weight=w, smoothing=0.1)
        np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("smoothing", [1.0, 0.0])
def test_adaboost_on_many_examples_of_wild_weights(smoothing):
    rng = np.random.default_rng(513)
    n, J = LARGE_SEGMENT, 10
    margins, weight = random_margins(rng, n, J), 10.0 ** rng.uniform(-300, 290, n)
    alpha = ocboost.adaboost_weights(margins, sample_weight=weight, smoothing=smoothing)
    expected = naive.adaboost_weights_decimal(margins, sample_weight=weight, smoothing=smoothing)
    np.testing.assert_allclose(alpha, expected, rtol=1e-11, atol=1e-11)


def test_adaboost_where_all_are_right_and_nothing_smooths():
    # α is half the logarithm of the smallest normal float, 354: nothing fits into one unit for long.
    margins = np.ones((LARGE_SEGMENT, 9), np.int8)
    margins[:, 4] = np.where(np.arange(LARGE_SEGMENT) % 3, 1, -1)
    alpha = ocboost.adaboost_weights(margins, smoothing=0.0)
    np.testing.assert_allclose(
        alpha, naive.adaboost_weights_decimal(margins, smoothing=0.0), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("forgetting", [1.0, 0.998])
def test_a_large_head_of_the_newest(forgetting):
    rng = np.random.default_rng(514)
    J, head_size, n = 11, LARGE_SEGMENT + 300, 2 * LARGE_SEGMENT
    margins, weight = random_margins(rng, n, J, 0.4, 0.75), rng.uniform(0.0, 2.0, n)
    options = {"head": head_size, "forgetting": forgetting}
    sketch = ocboost.BoostingSketch(J, keep="newest", **options)
    plain = naive.NaiveSketch(J, **options)
    for part in (slice(0, LARGE_SEGMENT + 5), slice(LARGE_SEGMENT + 5, n)):
        for booster in (sketch, plain):
            booster.update_many(margins[part], sample_weight=weight[part])
        expected = plain.alpha
        assert np.abs(sketch.alpha - expected).max() / np.abs(expected).max() < 1e-9
    assert sketch.n_head >= LARGE_SEGMENT
    assert sketch.n_seen > sketch.n_head


@pytest.mark.parametrize("keep", ["newest", "heavy"])
def test_a_window_of_large_heads_however_cut(keep, saved_bytes):
    rng = np.random.default_rng(515)
    J, head_size, n = 13, 2 * LARGE_SEGMENT + 100, 4 * LARGE_SEGMENT
    margins, weight = random_margins(rng, n, J, 0.4, 0.75), rng.uniform(0.0, 2.0, n)
    options = {"head": head_size, "keep": keep, "forgetting": 0.9995}
    looped, at_once, pieces = (ocboost.BoostingSketch(J, **options) for _ in range(3))
    for row, w in zip(margins, weight, strict=True):
        looped.update(row, sample_weight=w)
    at_once.update_many(margins, sample_weight=weight)
    for start in range(0, n, 371):
        part = slice(start, start + 371)
        pieces.update_many(margins[part], sample_weight=weight[part])
        pieces.alpha  # noqa: B018
    assert at_once.n_head < n
    for other in (looped, pieces):
        assert saved_bytes(other) == saved_bytes(at_once)
        np.testing.assert_array_equal(other.alpha, at_once.alpha)
    np.testing.assert_array_equal(at_once.alpha, at_once.alpha)


def test_a_large_head_of_the_heavy():
    rng = np.random.default_rng(516)
    J, head_size, n = 9, 2 * LARGE_SEGMENT + 400, 3 * LARGE_SEGMENT
    margins, weight = random_margins(rng, n, J, 0.4, 0.75), rng.uniform(0.0, 2.0, n)
    sketch = ocboost.BoostingSketch(J, head=head_size, keep="heavy")
    room = sketch._store.capacity
    plain = NaiveHeavy(J, head=room.head, first_head=room.first, pairs=room.pairs)
    for booster in (sketch, plain):
        booster.update_many(margins, batch_size=len(margins), sample_weight=weight)
    assert plain.folds > 0
    expected = plain.alpha
    assert np.abs(sketch.alpha - expected).max() / np.abs(expected).max() < 1e-9


def test_sums_of_a_whole_weight_are_exact_fractions():
    # Small whole weights and halves: nothing is rounded, so eight at once must be exact.
    rng = np.random.default_rng(517)
    n, J = 500, 16
    margins, weight = random_margins(rng, n, J), rng.integers(1, 9, n).astype(float)
    ring = ring_of(margins, weight, np.zeros(n, int), 5, 9)
    solution = room_for(J, n)
    alphas = np.zeros(J)
    sums, begun, _, _ = call_steps(ring, 5, n, solution, alphas, 1)
    assert begun == 2
    for j in range(J):
        for row, sign in enumerate((1, -1)):
            exact = sum(Fraction(w) for w, m in zip(weight, margins[:, j], strict=True) if m == sign)
            assert sums[row, j] == pytest.approx(math.log(exact), rel=1e-15)
    assert not solution.room[N_SUMS + codes.PARTS : N_SUMS + codes.FACTORS].any()
