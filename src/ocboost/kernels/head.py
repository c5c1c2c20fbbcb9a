"""The head's weights d as the coordinates go by.

A *segment* is a run of consecutive examples of the head. Its weights are ``d · 2^(256·unit)``; as long as
one unit fits all (the fast way) they are plain doubles and a coordinate costs one vectorised pass.
Otherwise each example carries its own unit (the slow way), and nothing is lost.
"""

from __future__ import annotations

import numpy as np

from .bits import bit
from .compile import helper
from .lanes import reweight_and_sum
from .scaled import DOWN, HIGH, LOW, UP, add, exponential, normal
from .types import Floats, Head, Ints, Units, Words

# One unit fits all while the weights span at most three units, 2^-640 … 2^128. |α| may then add up to
# ROOM before anything can overflow or lose a digit: e^±200 is about 2^±289.
SPAN = 2
ROOM = 200.0
FEW = 8  # so few examples are summed one by one

# The columns of a segment's state.
BLOCK, SHIFT, COUNT, N_BLOCKS, UNIFORM, UNIT = range(6)
STATE_SIZE = 6


@helper
def settle(d: Floats, unit: Units, state: Ints, drift: Floats) -> None:
    """Normalise the weights, and put them into one unit if one fits all."""
    low, high = np.int64(1 << 40), np.int64(-(1 << 40))
    for i in range(d.size):
        if d[i] > 0.0:
            x, u = d[i], np.int64(unit[i])
            while x >= HIGH:
                x *= DOWN
                u += 1
            while x < LOW:
                x *= UP
                u -= 1
            d[i], unit[i] = x, u
            low, high = min(low, u), max(high, u)
    state[UNIFORM] = high - low <= SPAN
    state[UNIT] = high if high >= low else 0
    drift[0] = 0.0
    if state[UNIFORM] and low < high:
        for i in range(d.size):
            if d[i] > 0.0:
                for _ in range(high - unit[i]):
                    d[i] *= DOWN
                unit[i] = high


@helper
def open_segment(
    head: Head, first: int, count: int, d: Floats, unit: Units, state: Ints, drift: Floats
) -> None:
    """Start a segment of ``count`` examples at ring position ``first``: d is the sample weight.

    Places of the first and the last block that belong to no example of the segment weigh nothing.
    """
    n_ring = head.words.shape[0]
    state[BLOCK] = (first >> 6) % n_ring
    state[SHIFT] = first & 63
    state[COUNT] = count
    state[N_BLOCKS] = (state[SHIFT] + count + 63) >> 6 if count else 0
    d[:] = 0.0
    position = first
    uniform = True
    for i in range(count):
        if position >= 64 * n_ring:
            position -= 64 * n_ring
        d[state[SHIFT] + i] = head.weight[position]
        unit[state[SHIFT] + i] = head.weight_unit[position]
        uniform &= head.weight[position] == 1.0 and head.weight_unit[position] == 0
        position += 1
    if uniform:  # all weights one: by far the most usual case
        state[UNIFORM], state[UNIT] = 1, 0
        drift[0] = 0.0
    else:
        settle(d, unit, state, drift)


@helper
def _sums_fast(
    d: Floats, state: Ints, words: Words, j: int, if_right: float, if_wrong: float, sums: Floats
) -> None:
    n_ring, J = words.shape
    previous = max(j - 1, 0)
    sums[0] = 0.0
    sums[1] = 0.0
    block = state[BLOCK]
    if state[N_BLOCKS] == 1 and state[COUNT] <= FEW:
        was, now = words[block, previous], words[block, j]
        for i in range(state[SHIFT], state[SHIFT] + state[COUNT]):
            d[i] *= if_right if bit(was, i) else if_wrong
            if bit(now, i):
                sums[0] += d[i]
            else:
                sums[1] += d[i]
        return
    before_wrap = min(state[N_BLOCKS], n_ring - block)
    base = words.ctypes.data
    row = base + 8 * J * block
    reweight_and_sum(
        d.ctypes.data, row + 8 * previous, row + 8 * j, 8 * J, before_wrap, if_right, if_wrong, sums.ctypes.data
    )
    after_wrap = state[N_BLOCKS] - before_wrap
    reweight_and_sum(
        d.ctypes.data + 512 * before_wrap,
        base + 8 * previous,
        base + 8 * j,
        8 * J,
        after_wrap,
        if_right,
        if_wrong,
        sums.ctypes.data,
    )


@helper
def _sums_slow(
    d: Floats, unit: Units, state: Ints, words: Words, j: int, alpha: float
) -> tuple[float, int, float, int]:
    n_ring = words.shape[0]
    right, right_unit = exponential(-alpha)
    wrong, wrong_unit = exponential(alpha)
    plus, plus_unit, minus, minus_unit = 0.0, 0, 0.0, 0
    low, high = np.int64(1 << 40), np.int64(-(1 << 40))
    for b in range(state[N_BLOCKS]):
        block = (state[BLOCK] + b) % n_ring
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
            low, high = min(low, u), max(high, u)
            if bit(now, i):
                plus, plus_unit = add(plus, plus_unit, x, u)
            else:
                minus, minus_unit = add(minus, minus_unit, x, u)
    state[UNIT] = high if high >= low else 0
    return plus, plus_unit, minus, minus_unit


@helper
def step(
    d: Floats,
    unit: Units,
    state: Ints,
    drift: Floats,
    words: Words,
    j: int,
    alpha: float,
    if_right: float,
    if_wrong: float,
    sums: Floats,
) -> tuple[float, int, float, int]:
    """Bring the weights from coordinate j - 1 to j and sum them by the margins at j.

    ``alpha`` is α_{j-1}, 0 at the first coordinate: d_j = d_{j-1} · exp(-α_{j-1} m_{j-1}); ``if_right``
    and ``if_wrong`` are exp(-α_{j-1}) and exp(α_{j-1}), which only the fast way can use. Returns the sums
    of the weights with margin +1 and with margin -1, each as a scaled number.
    """
    if state[COUNT] == 0:
        return 0.0, 0, 0.0, 0
    drift[0] += abs(alpha)
    if drift[0] > ROOM or not state[UNIFORM]:
        if state[UNIFORM]:
            for i in range(d.size):
                unit[i] = state[UNIT]
        drift[0] -= abs(alpha)
        settle(d, unit, state, drift)
        drift[0] += abs(alpha)
        if not state[UNIFORM] or drift[0] > ROOM:
            if state[UNIFORM]:
                for i in range(d.size):
                    unit[i] = state[UNIT]
            state[UNIFORM] = 0
            return _sums_slow(d, unit, state, words, j, alpha)
    _sums_fast(d, state, words, j, if_right, if_wrong, sums)
    plus, plus_unit = normal(sums[0], state[UNIT])
    minus, minus_unit = normal(sums[1], state[UNIT])
    return plus, plus_unit, minus, minus_unit
