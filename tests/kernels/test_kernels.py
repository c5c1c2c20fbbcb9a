"""Each piece of the kernels against a plain loop, or against exact arithmetic.

The pieces are made to be compiled into their callers. A few small callers stand for all of them here, as
each takes a second or so to compile.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ocboost._kernels import bits, lanes, scaled, tail
from ocboost._kernels import memory as band
from ocboost._kernels.compile import FAST_MATH
from tests.naive import sketch as naive
from tests.support.makers import independent_columns, newest, newest_from, random_margins

# Flags that a piece does not set itself it inherits from its caller: these callers set what kernels do.
as_in_kernels = numba.njit(fastmath=FAST_MATH, error_model="numpy")

ALL = 2**64 - 1
WIDTHS = [1, 5, 63, 64, 65, 130]
CORRECTIONS = ["balanced", "own", "theorem", "listing"]


def random_words(rng, *shape):
    return rng.integers(0, ALL, shape, dtype=np.uint64, endpoint=True)


def bit(word, i):
    return int(word) >> int(i) & 1


# Lanes ------------------------------------------------------------------------------------------------


@as_in_kernels
def call_add_by_bits(n_columns, out, weights, scale, columns, members):
    if n_columns == 16:
        lanes.add_by_bits_16(out.ctypes.data, weights.ctypes.data, scale, columns.ctypes.data, members)
    elif n_columns == 32:
        lanes.add_by_bits_32(out.ctypes.data, weights.ctypes.data, scale, columns.ctypes.data, members)
    else:
        lanes.add_by_bits(out.ctypes.data, weights.ctypes.data, scale, columns.ctypes.data, members)


@pytest.mark.parametrize("n_columns", [16, 32, 64])
@pytest.mark.parametrize("members", [0, 1, 1 << 63, ALL, 0x8000_F0F0_1234_0001])
def test_add_by_bits_adds_in_order_and_stays_in_its_places(members, n_columns):
    rng = np.random.default_rng(200)
    for offset in range(9):  # an address need not be a multiple of a whole vector
        weights, columns = rng.uniform(1e-3, 1.0, 64), random_words(rng, 64)
        room = rng.uniform(0.0, 1.0, 64 + 16)
        expected = room.copy()
        for i in range(64):
            for k in range(n_columns):
                if bit(members, i) and bit(int(columns[i]), k):
                    expected[offset + k] += weights[i] * 0.3
        out = room[offset : offset + 64]
        call_add_by_bits(n_columns, out, weights, 0.3, columns, np.uint64(members))
        np.testing.assert_array_equal(room, expected)


@as_in_kernels
def call_reweight_and_sum(d, words, first, n_blocks, previous, current, if_right, if_wrong, out):
    lanes.reweight_and_sum(
        d.ctypes.data,
        words.ctypes.data,
        8 * words.shape[1],
        first,
        words.shape[0],
        n_blocks,
        previous,
        current,
        if_right,
        if_wrong,
        out.ctypes.data,
    )


def reweighted(d, blocks, previous, current, if_right, if_wrong):
    """What `reweight_and_sum` must give for blocks in order, with sums rounded once."""
    d = d.copy()
    sums = [[], []]
    for i in range(d.size):
        block = blocks[i // 64]
        d[i] *= if_right if bit(block[previous], i % 64) else if_wrong
        sums[0 if bit(block[current], i % 64) else 1].append(d[i])
    return d, [math.fsum(part) for part in sums]


@pytest.mark.parametrize(("previous", "current"), [(0, 0), (0, 1), (6, 2)])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 5, 6])
def test_reweight_and_sum_does_not_depend_on_where_the_ring_wraps(n_blocks, previous, current):
    rng = np.random.default_rng(201)
    n_ring, J = 6, 7
    blocks = random_words(rng, n_ring, J)
    # Small whole numbers and factors of two add up exactly in any order; the others need not.
    whole = rng.integers(0, 1000, 64 * n_ring).astype(float)
    for start, if_right, if_wrong, tolerance in [
        (whole, 0.5, 2.0, 0.0),
        (rng.uniform(0.0, 1.0, 64 * n_ring), 0.7, 1.0 / 0.7, 1e-14),
    ]:
        used = 64 * n_blocks
        expected, sums = reweighted(start[:used], blocks, previous, current, if_right, if_wrong)
        found = set()
        for first in range(n_ring):
            d, out = start.copy(), np.full(4, -1.0)
            words = np.roll(blocks, first, axis=0)
            call_reweight_and_sum(d, words, first, n_blocks, previous, current, if_right, if_wrong, out[1:3])
            np.testing.assert_array_equal(d[:used], expected)
            np.testing.assert_array_equal(d[used:], start[used:])
            np.testing.assert_allclose(out[1:3], sums, rtol=tolerance)
            assert out[0] == out[3] == -1.0
            found.add(out.tobytes())
        assert len(found) == 1


@as_in_kernels
def call_on_bytes(values):
    return lanes.positive_bytes(values.ctypes.data), lanes.not_margins(values.ctypes.data)


def test_every_byte_in_every_lane():
    every = np.arange(-128, 128).astype(np.int8)
    for shift in range(64):
        values = np.concatenate([np.roll(every, shift), every])
        for start in range(0, 256, 61):
            positive, odd = call_on_bytes(values[start : start + 64])
            here = values[start : start + 64].tolist()
            assert positive == sum(1 << i for i, v in enumerate(here) if v > 0)
            assert odd == sum(1 << i for i, v in enumerate(here) if v not in (-1, 1))


@pytest.mark.parametrize("size", [0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 200])
def test_the_first_that_is_not_a_margin(size):
    rng = np.random.default_rng(202)
    # One place off a whole vector, and followed by what is not a margin: it must not be read as one.
    room = np.zeros(size + 128, np.int8)
    flat = room[1 : 1 + size]
    flat[...] = rng.choice(np.array([-1, 1], np.int8), size)
    assert bits.first_not_a_margin(flat) == -1
    for place in range(size):
        good = flat[place]
        for bad in (0, 2, -2, 3, -3, 127, -127, -128):
            flat[place] = bad
            assert bits.first_not_a_margin(flat) == place
            last = flat[-1]
            flat[-1] = 0
            assert bits.first_not_a_margin(flat) == place
            flat[-1] = last
        flat[place] = good


# Bits -------------------------------------------------------------------------------------------------


@as_in_kernels
def call_transpose(block):
    out = np.full(64, np.uint64(12345))
    bits.transpose(block, out)
    return out


@pytest.mark.parametrize("size", [1, 2, 5, 31, 63, 64])
def test_transpose(size):
    rng = np.random.default_rng(203)
    for block in (random_words(rng, size), np.full(size, ALL, np.uint64), np.zeros(size, np.uint64)):
        out = call_transpose(block)
        for i in range(64):
            assert int(out[i]) == sum(bit(block[k], i) << k for k in range(size))


@as_in_kernels
def call_mask_between(low, high):
    return bits.mask_between(low, high)


def test_mask_between():
    for high in range(1, 65):
        for low in range(high):
            assert call_mask_between(low, high) == sum(1 << i for i in range(low, high))


@pytest.mark.parametrize("J", WIDTHS)
@pytest.mark.parametrize("first", [0, 1, 37, 63, 64, 100, 255])
def test_packing_from_anywhere_in_the_ring(first, J):
    rng = np.random.default_rng(204)
    n_blocks = 4
    size = 64 * n_blocks
    for n in (1, 2, 27, 28, 63, 64, 65, 128, 191, 192):
        if (first & 63) + n > size:
            continue
        rows = independent_columns(rng, n, np.full(J, 0.5))
        # An earlier turn of the ring has left something everywhere but where the present block goes on.
        before = random_words(rng, n_blocks, J)
        before[first >> 6] &= np.uint64((1 << (first & 63)) - 1)
        expected = before.copy()
        for i in range(n):
            block, place = divmod((first + i) % size, 64)
            if place == 0:
                expected[block] = 0
            for j in range(J):
                expected[block, j] |= np.uint64(int(rows[i, j] > 0) << place)
        at_once, one_by_one = before.copy(), before.copy()
        bits.pack_rows(rows, at_once, first)
        for i in range(n):
            bits.pack_row(rows[i], one_by_one, (first + i) % size)
        np.testing.assert_array_equal(at_once, expected)
        np.testing.assert_array_equal(one_by_one, expected)
        back = np.zeros((n, J), np.int8)
        for i in range(n):
            bits.unpack_row(at_once, (first + i) % size, back[i])
        np.testing.assert_array_equal(back, rows)


# Numbers with a wide exponent -------------------------------------------------------------------------


@as_in_kernels
def call_arithmetic(a, ua, b, ub):
    return (
        scaled.add(a, ua, b, ub),
        scaled.multiply(a, ua, b, ub),
        scaled.divide(a, ua, b, ub) if b > 0.0 else (0.0, 0),
        scaled.ratio(a, ua, b, ub) if b > 0.0 else 0.0,
    )


@as_in_kernels
def call_functions(value, unit, x):
    return scaled.log(value, unit), scaled.exponential(x), scaled.to_float(value, unit)


HALF_A_DIGIT = Fraction(1, 2**53)
LARGEST = Fraction(np.finfo(np.float64).max)

positives = st.builds(math.ldexp, st.floats(1.0, 2.0, exclude_max=True), st.integers(-128, 127))
units = st.integers(-30, 30)  # beyond 2^±7000, while a double ends at 2^±1074


@st.composite
def operands(draw):
    """Two scaled numbers, often equal or neighbouring in unit, sometimes zero."""
    a, b = (draw(st.one_of(st.just(0.0), positives, positives, positives)) for _ in range(2))
    ua = draw(units)
    ub = draw(st.one_of(st.just(ua), st.integers(ua - 2, ua + 2), units))
    return a, ua if a else 0, b, ub if b else 0


def exactly(value, unit):
    return Fraction(value) * Fraction(2) ** (256 * unit)


def assert_rounded_once(number, exact):
    value, unit = number
    if exact == 0:
        assert (value, unit) == (0.0, 0)
        return
    assert 2.0**-128 <= value < 2.0**128
    assert abs(exactly(value, unit) - exact) <= exact * HALF_A_DIGIT


def assert_nearly_the_double(found, exact):
    """One rounding, and a second one where the result is below the normal range."""
    if exact > LARGEST * (1 + HALF_A_DIGIT):
        assert found == math.inf
    else:
        error = exact * HALF_A_DIGIT + Fraction(1, 2**1074)
        assert found == math.inf or abs(Fraction(found) - exact) <= error
        assert found < math.inf or exact > LARGEST * (1 - HALF_A_DIGIT)


def check_arithmetic(a, ua, b, ub):
    A, B = exactly(a, ua), exactly(b, ub)
    total, product, quotient, ratio = call_arithmetic(a, ua, b, ub)
    assert_rounded_once(total, A + B)
    assert call_arithmetic(b, ub, a, ua)[0] == total
    assert_rounded_once(product, A * B)
    if b > 0:
        assert_rounded_once(quotient, A / B)
        assert_nearly_the_double(ratio, A / B)


@given(operands())
def test_scaled_arithmetic_is_exact_but_for_one_rounding(case):
    check_arithmetic(*case)


def test_scaled_arithmetic_at_the_ends_of_its_range():
    # There numbers of neighbouring units are near enough to add up.
    low, high = 2.0**-128, 2.0**128
    ends = [low, 1.37 * low, 2.0**-100, 1.0, math.pi, 2.0**100, 0.61 * high, math.nextafter(high, 0.0)]
    for a in ends:
        for b in ends:
            for ub in range(-3, 4):
                check_arithmetic(a, 0, b, ub)
                check_arithmetic(a, 12, b, 12 + ub)


@given(st.floats(0.0, allow_infinity=False), units)
def test_normal_changes_units_and_nothing_else(value, unit):
    found = scaled.normal_number(value, unit)
    assert exactly(*found) == exactly(value, unit)
    assert found == (0.0, 0) or 2.0**-128 <= found[0] < 2.0**128


@pytest.mark.parametrize(
    "value", [0.0, 5e-324, 2.0**-128, np.nextafter(2.0**-128, 0), 2.0**128, np.nextafter(2.0**128, 0), 1e308]
)
def test_normal_at_the_ends_of_its_range(value):
    found, unit = scaled.normal_number(value, 7)
    assert exactly(found, unit) == exactly(value, 7)
    assert (found, unit) == (0.0, 0) if value == 0.0 else 2.0**-128 <= found < 2.0**128


def in_decimal(value, unit):
    return decimal.Decimal(value) * decimal.Decimal(2) ** (256 * unit)


@given(positives, units, st.one_of(st.floats(-90, 90), st.floats(-2e4, 2e4)))
@example(1.0, 0, 88.73)  # just beyond 2¹²⁸ and 2⁻¹²⁸
@example(1.0, 0, -88.73)
@example(2.0**-128, 1, 88.72)
@example(2.0**-128, -1, -88.72)
@example(1.5, 30, 80.0)
def test_scaled_log_and_exponential(value, unit, x):
    log, exponential, plain = call_functions(value, unit, x)
    assert_nearly_the_double(plain, exactly(value, unit))
    with decimal.localcontext(prec=50, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        expected = in_decimal(value, unit).ln()
        # Both parts of a sum that may cancel are rounded: a digit of the larger one is what can be had.
        assert abs(decimal.Decimal(log) - expected) <= decimal.Decimal(4e-16 * (180 * abs(unit) + 90))
        exact = decimal.Decimal(x).exp()
        error = abs(in_decimal(*exponential) - exact) / exact
        assert error <= decimal.Decimal(4e-16 * (1 + abs(x)))
    assert 2.0**-128 <= exponential[0] < 2.0**128


# The tail ---------------------------------------------------------------------------------------------


@as_in_kernels
def call_pi(p, delta, sign):
    """log π by the kernel, with Δ prepared as `solve` does."""
    same, other = np.empty(p.size), np.empty(p.size)
    change = 0.0
    for k in range(p.size):
        fall, rise = tail.exponentials(delta[k])
        same[k], other[k] = (fall, rise) if sign > 0 else (rise, fall)
        change += abs(delta[k])
    value, unit = tail.pi(
        p.ctypes.data, same.ctypes.data, other.ctypes.data, delta.ctypes.data, p.size, sign, change
    )
    return scaled.log(value, unit)


def log_pi(p, delta, sign):
    """Σ_k log(p exp(-σΔ) + (1 - p) exp(σΔ)), each term rounded by itself."""
    terms = []
    for share, x in zip(p.tolist(), (sign * delta).tolist(), strict=True):
        right = math.log(share) - x if share > 0 else -math.inf
        wrong = math.log1p(-share) + x if share < 1 else -math.inf
        terms.append(max(right, wrong) + math.log1p(math.exp(-abs(right - wrong))))
    return math.fsum(terms)


def way_through_pi(delta):
    """Which of its three ways `pi` takes, by its own constants."""
    if np.abs(delta).sum() < tail.SAFE:
        return {"fast"}
    pieces = [np.abs(delta[i : i + tail.PIECE]).sum() for i in range(0, delta.size, tail.PIECE)]
    return {"pieces" if piece < tail.SAFE else "log" for piece in pieces}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_pi_on_each_of_its_ways(sign):
    rng = np.random.default_rng(205)
    taken = set()
    for size in (1, 2, 7, 63, 64, 65, 130, 200):
        for scale in (0.0, 1e-9, 0.1, 1.0, 3.0, 30.0, 1e3, 1e5):
            delta = rng.normal(0.0, scale, size)
            p = rng.uniform(0.0, 1.0, size)
            p[rng.random(size) < 0.2] = 0.0
            p[rng.random(size) < 0.2] = 1.0
            p[rng.random(size) < 0.1] = 1e-190
            p[rng.random(size) < 0.1] = 1.0 - 2.0**-53
            taken |= way_through_pi(delta)
            tolerance = 1e-14 * (size + 10 * np.abs(delta).sum())
            assert call_pi(p, delta, sign) == pytest.approx(log_pi(p, delta, sign), rel=0, abs=tolerance)
    # One large change among small ones: a piece by logarithms beside a piece by products.
    delta = rng.normal(0.0, 0.1, 130)
    delta[70] = -800.0
    taken |= way_through_pi(delta)
    p = rng.uniform(0.0, 1.0, 130)
    assert call_pi(p, delta, sign) == pytest.approx(log_pi(p, delta, sign), rel=1e-12)
    assert taken == {"fast", "pieces", "log"}


@given(st.integers(0, 2**32 - 1), st.integers(1, 90), st.floats(-6, 5))
def test_pi_lies_between_the_extremes_of_its_terms(seed, size, magnitude):
    rng = np.random.default_rng(seed)
    p, delta = rng.uniform(0, 1, size), rng.normal(0, 10.0**magnitude, size)
    change = np.abs(delta).sum()
    assert abs(call_pi(p, delta, 1.0)) <= change * (1 + 1e-12) + 1e-13 * size
    # Turning both the sign and Δ round changes nothing.
    assert call_pi(p, delta, 1.0) == pytest.approx(call_pi(p, -delta, -1.0), rel=1e-12, abs=1e-12)


@as_in_kernels
def call_moves(p, delta, sign, keep, come, member):
    same, other = np.empty(p.size), np.empty(p.size)
    for k in range(p.size):
        fall, rise = tail.exponentials(delta[k])
        same[k], other[k] = (fall, rise) if sign > 0 else (rise, fall)
    owned, mixed, both = p.copy(), p.copy(), p.copy()
    tail.own(owned, same, other, keep)
    tail.mix(mixed, keep, come, member)
    tail.own_mix(both, same, other, keep, come, member)
    return owned, mixed, both


def owned_share(p, x):
    """p · exp(-x) / (p · exp(-x) + (1 - p) · exp(x)) with no overflow on the way."""
    if p in (0.0, 1.0):
        return p
    odds = math.log(p) - math.log1p(-p) - 2 * x
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700 else 0.0


shares = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 5e-324, 1e-200, 0.5, 1.0 - 2.0**-53]))
changes = st.one_of(st.floats(-2, 2), st.floats(-400, 400), st.floats(-1e6, 1e6))


@given(
    st.lists(st.tuples(shares, changes, st.booleans()), min_size=1, max_size=20),
    st.sampled_from([1.0, -1.0]),
    st.floats(0.0, 1e300),
    st.floats(1e-300, 1e300),
)
def test_shares_stay_shares(row, sign, old, new):
    assume(math.isfinite(old + new))
    keep, come = old / (old + new), new / (old + new)
    p, delta, member = (np.array([float(entry[i]) for entry in row]) for i in range(3))
    owned, mixed, both = call_moves(p, delta, sign, keep, come, member)
    for found in (owned, mixed, both):
        assert ((found >= 0.0) & (found <= 1.0)).all()  # which NaN is not
    for k in range(len(row)):
        alone = owned_share(p[k], sign * delta[k])
        # The odds change by exp(2Δ), so a digit of Δ is worth 2|Δ| digits of the share.
        exact = {"rel": 1e-14 * (10 + abs(delta[k])), "abs": 2 * tail.NOTHING}
        assert owned[k] == pytest.approx(alone * keep, **exact)
        assert both[k] == pytest.approx(alone * keep + come * member[k], **exact)
        assert mixed[k] == pytest.approx(p[k] * keep + come * member[k], **exact)


# The band and the pairs in it ---------------------------------------------------------------------------


@as_in_kernels
def call_band(j, order):
    return band.row_start(j, order), band.first_column(j, order)


@pytest.mark.parametrize("J", [1, 2, 3, 8, 70])
def test_the_band_holds_each_pair_once(J):
    for order in sorted({1, 2, 3, J // 2, J - 1, J} & set(range(1, J + 1))):
        dense = [(j, k) for j in range(J) for k in range(J) if j - order <= k < j]
        packed = []
        for j in range(J):
            start, low = call_band(j, order)
            assert start == len(packed)
            packed += [(j, k) for k in range(low, j)]
        assert packed == dense
        assert band.n_pairs(J, order) == len(dense)


def pairs_of(sketch):
    """p⁺ and p⁻ as (J, J) matrices, NaN outside the band."""
    J, result = sketch.n_hypotheses, []
    for packed in (sketch._store.tail.p_plus, sketch._store.tail.p_minus):
        p, places = np.full((J, J), np.nan), iter(packed[0])
        for j in range(J):
            for k in range(max(0, j - sketch.order), j):
                p[j, k] = next(places)
        assert next(places, None) is None
        result.append(p)
    return result


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize(("J", "order", "head", "batch_size"), [(9, 9, 1, 1), (9, 4, 6, 1), (70, 66, 1, 16)])
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_pairs_are_those_of_the_plain_twin(correction, J, order, head, batch_size, forgetting):
    rng = np.random.default_rng(206)
    margins = random_margins(rng, 260, J, low=0.45, high=0.65)
    options = {"order": order, "head": head, "correction": correction, "forgetting": forgetting}
    sketch = newest_from(margins[:200], **options)
    plain = naive.NaiveSketch.from_margins(margins[:200], **options)
    for booster in (sketch, plain):
        booster.update_many(margins[200:], batch_size=batch_size)
    assert np.abs(plain.alpha).max() < 20
    for sigma, p in zip((+1, -1), pairs_of(sketch), strict=True):
        W = plain.tail.W[sigma]
        for j in range(J):
            band_of_j = slice(max(0, j - order), j)
            assert W[j, j] > 0
            np.testing.assert_allclose(p[j, band_of_j], W[j, band_of_j] / W[j, j], rtol=0, atol=1e-9)


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e15, 1e18])
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_rows_of_one_mind_survive_a_large_change(correction, weight):
    # All of W⁺_10 is at p = 1: its weight must fall by exp(-Δ), though exp(Δ) is 10^16 times as much.
    options = {"correction": correction}
    margins = np.array([[1, 1]] * 100 + [[-1, -1]] * 60 + [[-1, 1]])
    for rows in (margins[:-1], margins):
        sketch = newest_from(rows, **options)
        plain = naive.NaiveSketch.from_margins(rows, **options)
        for booster in (sketch, plain):
            booster.update([1, -1], weight)
        expected = plain.alpha
        assert np.abs(expected).max() < 20
        assert np.abs(sketch.alpha - expected).max() / np.abs(expected).max() < 1e-9
        for sigma, p in zip((+1, -1), pairs_of(sketch), strict=True):
            W = plain.tail.W[sigma][1]
            assert p[1, 0] == pytest.approx(W[0] / W[1], rel=1e-9)


def assert_pairs_in_range(sketch):
    for p in (sketch._store.tail.p_plus, sketch._store.tail.p_minus):
        assert ((p >= 0.0) & (p <= 1.0)).all()


def test_pairs_stay_in_range_after_large_folds_and_merges():
    # Hundreds of shares are added up here, mostly of rows in step with one another: rounding can pass one.
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = (
            newest_from(random_margins(rng, 300, 130, low=0.85, high=0.99), head=head) for head in (1, 100)
        )
        for sketch in (a, b, a.merge(b)):
            assert_pairs_in_range(sketch)


@pytest.mark.parametrize("head", [1, 100, 220])
def test_copies_of_one_hypothesis_are_of_one_mind_exactly(head):
    # A digit less than one would be examples that differ, and a large Δ would bring them up by exp(2Δ).
    rng = np.random.default_rng(208)
    margins = np.repeat(random_margins(rng, 300, 1), 300, axis=1)
    a, b = (newest_from(margins, head=head, sample_weight=rng.random(300)) for _ in "ab")
    c = a.merge(b)
    c.update_many(margins[:50], sample_weight=rng.random(50))
    for sketch in (a, b, a.merge(b), c):
        assert (sketch._store.tail.p_plus == 1.0).all()
        assert (sketch._store.tail.p_minus == 1.0).all()


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize(("head", "batch_size"), [(1, 1), (1, 40), (70, 1)])
def test_pairs_stay_in_range_on_hard_streams(head, batch_size, correction):
    rng = np.random.default_rng(207)
    J, n = 66, 600
    calm = independent_columns(rng, n, rng.uniform(0.5, 0.9, J))
    copies = np.repeat(calm[:, :1], J, axis=1)
    turning = calm * np.where(np.arange(n) // 100 % 2, -1, 1)[:, None].astype(np.int8)
    wild = 10.0 ** rng.uniform(-300, 300, n)
    for margins, weight, options in [
        (calm, None, {}),
        (copies, None, {"smoothing": 1e-9}),
        (turning, None, {"forgetting": 0.9, "smoothing": 1e-3}),
        (turning, wild, {"smoothing": 0.0}),
        (np.ones((n, J), np.int8), None, {"smoothing": 0.0}),
    ]:
        sketch = newest(J, head=head, correction=correction, **options)
        for start in range(0, n, 200):
            part = slice(start, start + 200)
            w = None if weight is None else weight[part]
            sketch.update_many(margins[part], batch_size=batch_size, sample_weight=w)
            assert_pairs_in_range(sketch)
