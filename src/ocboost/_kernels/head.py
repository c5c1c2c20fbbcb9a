"""The head's weights d as the coordinates go by.

A *segment* is a run of consecutive examples of the head. Its weights are ``d · 2^(256·unit)``; as long as
one unit fits all (the fast way) they are plain doubles and a coordinate costs one vectorised pass; in a
large segment eight coordinates cost one (`ocboost._kernels.codes`). Otherwise each example carries its own
unit (the slow way), and nothing is lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ocboost._kernels.arrays import (
    Floats,
    Head,
    Units,
    Whole,
    floats_at,
    ints_at,
    units_at,
    words_at,
    zeros_on_lines,
)
from ocboost._kernels.bits import bit
from ocboost._kernels.codes import (
    ROOM_SIZE,
    WIDTH,
    begin_factors,
    pass_by,
    reweigh,
    reweigh_and_sum,
    sums_by_margin,
)
from ocboost._kernels.compile import exact, helper, out_of_line, seldom, unlikely
from ocboost._kernels.llvm_bits import reweight_and_sum
from ocboost._kernels.scaled import DOWN, add, exponential, normal

# One unit fits all while the weights span at most three units, 2^-640 … 2^128. |α| may then add up to
# MAX_DRIFT before anything can overflow or lose a digit: e^±200 is about 2^±289.
SPAN = 2
MAX_DRIFT = 200.0
WHOLE_NUMBERS = 2.0**52  # up to here sums of ones are exact, in any order
MAX_ONE_BY_ONE = 8  # examples that are summed one by one

# Measured with `benchmarks/blocks.py`.
LARGE_SEGMENT = 1500  # examples from which eight coordinates are taken at once
LEAST_WIDTH = 4  # of the last coordinates, if they are not eight

# The places of a segment's state. Of the coordinates that are taken at once, START is the first and END the
# one after the last; there START is -1 while each is taken by itself, and d is behind while they are.
BLOCK, SHIFT, COUNT, N_BLOCKS, UNIFORM, UNIT, IS_LARGE, START, END = range(9)
STATE_SIZE = 9
N_SUMS = 8  # places for the two sums of a pass, a whole line of the cache


class Segment(NamedTuple):
    """Where a segment lies: addresses, and the shape of the ring (see `ocboost._kernels.arrays` for why)."""

    d: int  # 64 · N_BLOCKS doubles
    unit: int  # as many 32-bit integers, where one unit does not fit all
    state: int  # STATE_SIZE integers
    drift: int  # a double: Σ|α| since the weights were last settled
    sums: int  # two doubles to work with
    words: int
    n_ring: int
    J: int
    codes: int  # a byte for each place of d, and ROOM_SIZE doubles, where the segment is large
    by_code: int


def make_room(n_segments: int, n_examples: int, n_places: int) -> Floats:
    """What segments of at most ``n_examples``, with ``n_places`` weights all together, need to work with.

    Two sums, and where a segment can be large so many doubles by code for each, then all codes.
    """
    room: Floats = zeros_on_lines(
        N_SUMS + (n_segments * ROOM_SIZE + n_places // 8 if n_examples >= LARGE_SEGMENT else 0)
    )
    return room


@helper
def segment_at(work: Any, head: Head, which: int, blocks_before: int) -> Segment:
    """One of the segments that a `Solution` or an `Estimate` has room for, after so many blocks of others."""
    words, state = head.words, work.state
    by_code = work.room.ctypes.data + 8 * N_SUMS
    return Segment(
        work.d.ctypes.data + 512 * blocks_before,
        work.unit.ctypes.data + 256 * blocks_before,
        state.ctypes.data + 8 * STATE_SIZE * which,
        work.drift.ctypes.data + 8 * which,
        work.room.ctypes.data,
        words.ctypes.data,
        words.shape[0],
        words.shape[1],
        by_code + 8 * ROOM_SIZE * state.shape[0] + 64 * blocks_before,
        by_code + 8 * ROOM_SIZE * which,
    )


@seldom
def settle(segment: Segment) -> None:
    """Normalise the weights, and put them into one unit if one fits all."""
    out_of_line()
    state = ints_at(segment.state, STATE_SIZE)
    n = 64 * state[N_BLOCKS]
    d, unit = floats_at(segment.d, n), units_at(segment.unit, n)
    low, high = np.int64(1 << 40), np.int64(-(1 << 40))
    for i in range(n):
        if d[i] > 0.0:
            x, u = normal(d[i], state[UNIT] if state[UNIFORM] else np.int64(unit[i]))
            d[i], unit[i] = x, u
            low, high = min(low, u), max(high, u)
    state[UNIFORM] = high - low <= SPAN
    state[UNIT] = high if high >= low else 0
    floats_at(segment.drift, 1)[0] = 0.0
    if state[UNIFORM] and low < high:
        for i in range(n):
            if d[i] > 0.0:
                for _ in range(high - unit[i]):
                    d[i] *= DOWN


@exact
def _copy_weights(d: Floats, unit: Units, weight: Floats, weight_unit: Units) -> bool:
    """Copy weights; whether all of them are one."""
    others = 0
    for i in range(d.size):
        d[i], unit[i] = weight[i], weight_unit[i]
        others |= int(weight[i] != 1.0) | int(weight_unit[i] != 0)
    return others == 0


@seldom
def _add_weights(weight: Floats, unit: Units, total: float, total_unit: Whole) -> tuple[float, Whole]:
    out_of_line()
    for i in range(weight.size):
        x, u = normal(weight[i], np.int64(unit[i]))
        total, total_unit = add(total, total_unit, x, u)
    return total, total_unit


@helper
def open_segment(
    segment: Segment, head: Head, first: int, count: int, total: float, total_unit: Whole
) -> tuple[float, Whole]:
    """Start a segment of ``count`` examples at ring position ``first``: d is the sample weight.

    Places of the first and the last block that belong to no example of the segment weigh nothing. Returns
    ``total`` with the weights added to it, as if one by one.
    """
    state = ints_at(segment.state, STATE_SIZE)
    state[BLOCK] = (first >> 6) % segment.n_ring
    state[SHIFT] = first & 63
    state[COUNT] = count
    state[N_BLOCKS] = ((first & 63) + count + 63) >> 6 if count else 0
    state[IS_LARGE] = count >= LARGE_SEGMENT
    state[START] = -1
    state[UNIFORM], state[UNIT] = 1, 0
    floats_at(segment.drift, 1)[0] = 0.0
    if count == 0:
        return total, total_unit
    begin, end = first & 63, (first & 63) + count
    ends = floats_at(segment.d, 64 * state[N_BLOCKS])
    for i in range(begin):
        ends[i] = 0.0
    for i in range(end, 64 * state[N_BLOCKS]):
        ends[i] = 0.0
    # The ring may end within the segment.
    weight_at, unit_at = head.weight.ctypes.data, head.weight_unit.ctypes.data
    here = min(count, 64 * segment.n_ring - first)
    ones = _copy_weights(
        floats_at(segment.d + 8 * begin, here),
        units_at(segment.unit + 4 * begin, here),
        floats_at(weight_at + 8 * first, here),
        units_at(unit_at + 4 * first, here),
    )
    begin += here
    ones &= _copy_weights(
        floats_at(segment.d + 8 * begin, count - here),
        units_at(segment.unit + 4 * begin, count - here),
        floats_at(weight_at, count - here),
        units_at(unit_at, count - here),
    )
    if ones and total_unit == 0 and total == np.floor(total) and total + count < WHOLE_NUMBERS:
        return normal(total + count, 0)  # by far the most usual case
    begin = first & 63
    total, total_unit = _add_weights(
        floats_at(segment.d + 8 * begin, count), units_at(segment.unit + 4 * begin, count), total, total_unit
    )
    if ones:
        return total, total_unit
    state[UNIFORM] = 0
    settle(segment)
    return total, total_unit


@helper
def _sums_fast(segment: Segment, j: int, if_right: float, if_wrong: float) -> tuple[float, float]:
    state = ints_at(segment.state, STATE_SIZE)
    previous = max(j - 1, 0)
    block = state[BLOCK]
    if state[N_BLOCKS] == 1 and state[COUNT] <= MAX_ONE_BY_ONE:
        words = words_at(segment.words, segment.n_ring, segment.J)
        d = floats_at(segment.d, 64)
        was, now = words[block, previous], words[block, j]
        plus, minus = 0.0, 0.0
        for i in range(state[SHIFT], state[SHIFT] + state[COUNT]):
            x = d[i] * (if_right if bit(was, i) else if_wrong)
            d[i] = x
            if bit(now, i):
                plus += x
            else:
                minus += x
        return plus, minus
    reweight_and_sum(
        segment.d,
        segment.words,
        8 * segment.J,
        block,
        segment.n_ring,
        state[N_BLOCKS],
        previous,
        j,
        if_right,
        if_wrong,
        segment.sums,
    )
    sums = floats_at(segment.sums, 2)
    return sums[0], sums[1]


@seldom
def _sums_slow(segment: Segment, j: int, alpha: float) -> tuple[float, Whole, float, Whole]:
    out_of_line()
    state = ints_at(segment.state, STATE_SIZE)
    n = 64 * state[N_BLOCKS]
    d, unit = floats_at(segment.d, n), units_at(segment.unit, n)
    words = words_at(segment.words, segment.n_ring, segment.J)
    if state[UNIFORM]:
        for i in range(n):
            x, u = normal(d[i], state[UNIT])
            d[i], unit[i] = x, u
        state[UNIFORM] = 0
    right, right_unit = exponential(-alpha)
    wrong, wrong_unit = exponential(alpha)
    plus, plus_unit, minus, minus_unit = 0.0, 0, 0.0, 0
    for b in range(state[N_BLOCKS]):
        block = (state[BLOCK] + b) % segment.n_ring
        was, now = words[block, max(j - 1, 0)], words[block, j]
        for i in range(64):
            place = 64 * b + i
            if d[place] == 0.0:
                continue
            if bit(was, i):
                x, u = normal(d[place] * right, unit[place] + right_unit)
            else:
                x, u = normal(d[place] * wrong, unit[place] + wrong_unit)
            d[place], unit[place] = x, u
            if bit(now, i):
                plus, plus_unit = add(plus, plus_unit, x, u)
            else:
                minus, minus_unit = add(minus, minus_unit, x, u)
    return plus, plus_unit, minus, minus_unit


@helper
def _step_fast(
    segment: Segment, j: int, alpha: float, if_right: float, if_wrong: float
) -> tuple[float, Whole, float, Whole]:
    state, drift = ints_at(segment.state, STATE_SIZE), floats_at(segment.drift, 1)
    drift[0] += abs(alpha)
    a, b = _sums_fast(segment, j, if_right, if_wrong)
    plus, plus_unit = normal(a, state[UNIT])
    minus, minus_unit = normal(b, state[UNIT])
    return plus, plus_unit, minus, minus_unit


@helper
def _step_by_one(
    segment: Segment, j: int, alpha: float, if_right: float, if_wrong: float
) -> tuple[float, Whole, float, Whole]:
    """`step` where each coordinate is taken by itself."""
    state, drift = ints_at(segment.state, STATE_SIZE), floats_at(segment.drift, 1)
    if state[UNIFORM] == 0 or drift[0] + abs(alpha) >= MAX_DRIFT:
        settle(segment)
        if not state[UNIFORM] or abs(alpha) >= MAX_DRIFT:
            return _sums_slow(segment, j, alpha)
    return _step_fast(segment, j, alpha, if_right, if_wrong)


@seldom
def _step_otherwise(
    segment: Segment, j: int, alpha: float, if_right: float, if_wrong: float
) -> tuple[float, Whole, float, Whole]:
    """`step` where it is not the usual one: eight coordinates at once in a large segment if that can be."""
    out_of_line()
    state, drift = ints_at(segment.state, STATE_SIZE), floats_at(segment.drift, 1)
    room, d, codes, n_blocks = segment.by_code, segment.d, segment.codes, state[N_BLOCKS]
    width = min(WIDTH, segment.J - j)
    begins = state[IS_LARGE] and j % WIDTH == 0 and width >= LEAST_WIDTH
    among = state[START] >= 0
    if among:
        fits = drift[0] + abs(alpha) < MAX_DRIFT
        if fits:
            drift[0] += abs(alpha)
            pass_by(room, j - 1 - state[START], if_right, if_wrong)
            alpha, if_right, if_wrong = 0.0, 1.0, 1.0
        among = fits and j < state[END]
        if not (among or (fits and begins)):  # d is brought up to where the sums are, to continue one by one
            reweigh(room, d, codes, n_blocks)
            state[START] = -1
    if not among:
        if state[START] < 0:
            if j > 0 or not begins or not state[UNIFORM]:
                plus, plus_unit, minus, minus_unit = _step_by_one(segment, j, alpha, if_right, if_wrong)
                if not begins or not state[UNIFORM]:
                    return plus, plus_unit, minus, minus_unit
            begin_factors(room)
        reweigh_and_sum(
            room, d, codes, segment.words, segment.n_ring, segment.J, state[BLOCK], n_blocks, j, width
        )
        state[START], state[END] = j, j + width
        begin_factors(room)
    a, b = sums_by_margin(room, j - state[START])
    plus, plus_unit = normal(a, state[UNIT])
    minus, minus_unit = normal(b, state[UNIT])
    return plus, plus_unit, minus, minus_unit


@helper
def step(
    segment: Segment, j: int, alpha: float, if_right: float, if_wrong: float
) -> tuple[float, Whole, float, Whole]:
    """Bring the weights from coordinate j - 1 to j and sum them by the margins at j.

    ``alpha`` is α_{j-1}, 0 at the first coordinate: d_j = d_{j-1} · exp(-α_{j-1} m_{j-1}); ``if_right``
    and ``if_wrong`` are exp(-α_{j-1}) and exp(α_{j-1}), which only the fast way can use. Returns the sums
    of the weights with margin +1 and with margin -1, each as a scaled number. In a segment of
    `LARGE_SEGMENT` or more examples d itself may lag behind.
    """
    state = ints_at(segment.state, STATE_SIZE)
    if state[COUNT] == 0:
        return 0.0, 0, 0.0, 0
    drift = floats_at(segment.drift, 1)
    if unlikely((state[UNIFORM] == 0) | (state[IS_LARGE] != 0) | (drift[0] + abs(alpha) >= MAX_DRIFT)):
        return _step_otherwise(segment, j, alpha, if_right, if_wrong)
    return _step_fast(segment, j, alpha, if_right, if_wrong)


@seldom
def weight_of(segment: Segment, i: int) -> tuple[float, Whole]:
    """The weight at place i of a segment that is not large, at the coordinate it was last stepped to."""
    out_of_line()
    state = ints_at(segment.state, STATE_SIZE)
    x = floats_at(segment.d, 64 * state[N_BLOCKS])[i]
    if state[UNIFORM]:
        return normal(x, state[UNIT])
    return normal(x, np.int64(units_at(segment.unit, 64 * state[N_BLOCKS])[i]))
