"""The head's weights d as the coordinates go by.

A *segment* is a run of consecutive examples of the head. Its weights are ``d · 2^(256·unit)``; as long as
one unit fits all (the fast way) they are plain doubles and a coordinate costs one vectorised pass.
Otherwise each example carries its own unit (the slow way), and nothing is lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .bits import bit
from .branch import out_of_line, unlikely
from .compile import helper, seldom
from .lanes import reweight_and_sum
from .scaled import DOWN, add, exponential, normal
from .types import Head, Whole
from .views import floats_at, ints_at, units_at, words_at

# One unit fits all while the weights span at most three units, 2^-640 … 2^128. |α| may then add up to
# ROOM before anything can overflow or lose a digit: e^±200 is about 2^±289.
SPAN = 2
ROOM = 200.0
FEW = 8  # so few examples are summed one by one

# The places of a segment's state.
BLOCK, SHIFT, COUNT, N_BLOCKS, UNIFORM, UNIT = range(6)
STATE_SIZE = 6


class Segment(NamedTuple):
    """Where a segment lies: addresses, and the shape of the ring (see `ocboost.kernels.views` for why)."""

    d: int  # 64 · N_BLOCKS doubles
    unit: int  # as many 32-bit integers, where one unit does not fit all
    state: int  # STATE_SIZE integers
    drift: int  # a double: Σ|α| since the weights were last settled
    sums: int  # two doubles to work with
    words: int
    n_ring: int
    J: int


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


@helper
def open_segment(segment: Segment, head: Head, first: int, count: int) -> None:
    """Start a segment of ``count`` examples at ring position ``first``: d is the sample weight.

    Places of the first and the last block that belong to no example of the segment weigh nothing.
    """
    state = ints_at(segment.state, STATE_SIZE)
    state[BLOCK] = (first >> 6) % segment.n_ring
    state[SHIFT] = first & 63
    state[COUNT] = count
    state[N_BLOCKS] = ((first & 63) + count + 63) >> 6 if count else 0
    n = 64 * state[N_BLOCKS]
    d, unit = floats_at(segment.d, n), units_at(segment.unit, n)
    for i in range(n):
        d[i] = 0.0
    position = first
    ones = True
    for i in range(first & 63, (first & 63) + count):
        if position >= 64 * segment.n_ring:
            position -= 64 * segment.n_ring
        d[i] = head.weight[position]
        unit[i] = head.weight_unit[position]
        ones &= head.weight[position] == 1.0 and head.weight_unit[position] == 0
        position += 1
    state[UNIFORM], state[UNIT] = 0, 0
    floats_at(segment.drift, 1)[0] = 0.0
    if ones:  # by far the most usual case
        state[UNIFORM] = 1
    else:
        settle(segment)


@helper
def _sums_fast(segment: Segment, j: int, if_right: float, if_wrong: float) -> tuple[float, float]:
    state = ints_at(segment.state, STATE_SIZE)
    previous = max(j - 1, 0)
    block = state[BLOCK]
    if state[N_BLOCKS] == 1 and state[COUNT] <= FEW:
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
def step(
    segment: Segment, j: int, alpha: float, if_right: float, if_wrong: float
) -> tuple[float, Whole, float, Whole]:
    """Bring the weights from coordinate j - 1 to j and sum them by the margins at j.

    ``alpha`` is α_{j-1}, 0 at the first coordinate: d_j = d_{j-1} · exp(-α_{j-1} m_{j-1}); ``if_right``
    and ``if_wrong`` are exp(-α_{j-1}) and exp(α_{j-1}), which only the fast way can use. Returns the sums
    of the weights with margin +1 and with margin -1, each as a scaled number.
    """
    state = ints_at(segment.state, STATE_SIZE)
    if state[COUNT] == 0:
        return 0.0, 0, 0.0, 0
    drift = floats_at(segment.drift, 1)
    if unlikely((state[UNIFORM] == 0) | (drift[0] + abs(alpha) > ROOM)):
        settle(segment)
        if not state[UNIFORM] or abs(alpha) > ROOM:
            return _sums_slow(segment, j, alpha)
    drift[0] += abs(alpha)
    a, b = _sums_fast(segment, j, if_right, if_wrong)
    plus, plus_unit = normal(a, state[UNIT])
    minus, minus_unit = normal(b, state[UNIT])
    return plus, plus_unit, minus, minus_unit


@seldom
def weight_of(segment: Segment, i: int) -> tuple[float, Whole]:
    """The weight at place i of a segment, at the coordinate it was last stepped to."""
    out_of_line()
    state = ints_at(segment.state, STATE_SIZE)
    x = floats_at(segment.d, 64 * state[N_BLOCKS])[i]
    if state[UNIFORM]:
        return normal(x, state[UNIT])
    return normal(x, np.int64(units_at(segment.unit, 64 * state[N_BLOCKS])[i]))
