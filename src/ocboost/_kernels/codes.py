"""Eight coordinates at once: weights summed by the code that their eight margins make.

Examples with the same eight margins keep their ratio through the eight coordinates. So their weights are
added up by code once, 256 sums, and these are all that the eight α depend on. At each coordinate the sums
halve: those that differ in the margin just passed only become one. In the end every weight is multiplied by
its code's factor. This is exact up to rounding, and makes one pass over the examples where there were eight.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Floats, floats_at, words_at
from ocboost._kernels.compile import exact, helper
from ocboost._kernels.llvm_bits import prefetch
from ocboost._kernels.llvm_codes import (
    COPIES,
    STRIDE,
    add_by_codes,
    codes_of,
    multiply_by_codes,
    sum_of_eights,
)

WIDTH = 8  # coordinates to a code
N_CODES = 256
BLOCKS_AHEAD = 6  # margins are fetched this many blocks of 64 examples before they are needed

# The doubles that a segment needs besides a byte for each example: where each part begins, and their number.
SUMS = 0
PARTS = N_CODES  # the sums by code, a copy for each lane
FACTORS = PARTS + COPIES * STRIDE  # exp(-α) and exp(α) of each coordinate that has gone by
LOW_TABLE = FACTORS + 2 * WIDTH  # a code's factor is that of its upper half times that of its lower half
HIGH_TABLE = LOW_TABLE + 16
WORDS = HIGH_TABLE + 16  # eight words, where there are fewer coordinates than eight
ROOM_SIZE = WORDS + WIDTH  # a multiple of eight, whole lines of the cache


@exact
def _put_together(sums: Floats, parts: Floats) -> None:
    """Add the copies up, and leave them empty for the next time."""
    for code in range(N_CODES):
        total = 0.0
        for copy in range(COPIES):
            total += parts[copy * STRIDE + code]
        sums[code] = total
    for i in range(COPIES * STRIDE):
        parts[i] = 0.0


@exact
def _fold(sums: Floats, half: int, if_right: float, if_wrong: float) -> None:
    for code in range(half):
        sums[code] = sums[code] * if_wrong + sums[half + code] * if_right


@exact
def _table(table: Floats, factors: Floats) -> None:
    """The factors of all sixteen halves of a code, from those of its four coordinates."""
    table[0] = 1.0
    for k in range(4):
        if_right, if_wrong = factors[2 * (3 - k)], factors[2 * (3 - k) + 1]
        for half in range(1 << k):
            table[(1 << k) + half] = table[half] * if_right
            table[half] *= if_wrong


@exact
def _score_table(table: Floats, factors: Floats, share: Floats) -> None:
    """What the sixteen halves of a code add to the score: Σ_k share_k · the factors before k."""
    for half in range(16):
        total, factor = 0.0, 1.0
        for k in range(4):
            total += factor * share[k]
            factor *= factors[2 * k] if half & (8 >> k) else factors[2 * k + 1]
        table[half] = total


@helper
def score_tables(out: int, factors: int, share: int) -> None:
    """The four tables of `score_by_codes`, from exp(-α) and exp(α) of eight coordinates and their 1 / W_j."""
    _table(floats_at(out, 16), floats_at(factors + 64, 8))
    _table(floats_at(out + 128, 16), floats_at(factors, 8))
    _score_table(floats_at(out + 256, 16), floats_at(factors + 64, 8), floats_at(share + 32, 4))
    _score_table(floats_at(out + 384, 16), floats_at(factors, 8), floats_at(share, 4))


@exact
def _in_order(values: Floats) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@helper
def begin_factors(room: int) -> None:
    """No coordinate of the eight has gone by."""
    factors = floats_at(room + 8 * FACTORS, 2 * WIDTH)
    for i in range(2 * WIDTH):
        factors[i] = 1.0


@helper
def pass_by(room: int, k: int, if_right: float, if_wrong: float) -> None:
    """Coordinate k of the eight goes by: the sums are of the examples' other margins from here on."""
    factors = floats_at(room + 8 * FACTORS, 2 * WIDTH)
    factors[2 * k], factors[2 * k + 1] = if_right, if_wrong
    _fold(floats_at(room + 8 * SUMS, N_CODES), N_CODES >> (k + 1), if_right, if_wrong)


@helper
def sums_by_margin(room: int, k: int) -> tuple[float, float]:
    """The weight with margin +1, and with -1, at coordinate k of the eight."""
    half = N_CODES >> (k + 1)
    minus, plus = room + 8 * SUMS, room + 8 * (SUMS + half)
    if half >= 8:
        return sum_of_eights(plus, half >> 3), sum_of_eights(minus, half >> 3)
    return _in_order(floats_at(plus, half)), _in_order(floats_at(minus, half))


@helper
def codes_of_few(words: int, width: int, room: int, out: int) -> None:
    """`codes_of` for at most eight words: the bits of those that are missing are zero."""
    given, eight = words_at(words, 1, width), words_at(room, 1, WIDTH)
    for k in range(WIDTH):
        eight[0, k] = given[0, k] if k < width else np.uint64(0)
    codes_of(room, out)


@helper
def _tables(room: int) -> None:
    factors = room + 8 * FACTORS
    _table(floats_at(room + 8 * HIGH_TABLE, 16), floats_at(factors, 8))
    _table(floats_at(room + 8 * LOW_TABLE, 16), floats_at(factors + 64, 8))


@helper
def reweigh(room: int, d: int, codes: int, n_blocks: int) -> None:
    """Multiply every weight by its code's factor."""
    _tables(room)
    for b in range(n_blocks):
        multiply_by_codes(d + 512 * b, codes + 64 * b, room + 8 * LOW_TABLE, room + 8 * HIGH_TABLE)


@helper
def reweigh_and_sum(
    room: int,
    d: int,
    codes: int,
    words: int,
    n_ring: int,
    J: int,
    first: int,
    n_blocks: int,
    j: int,
    width: int,
) -> None:
    """Multiply every weight by its code's factor, and add it up by the code of the coordinates from j on.

    There are ``width`` of these, at most eight. Block b of 64 examples is the one after ``first + b - 1`` in
    the ring. Adding lags one block behind: what was written just before would have to be waited for.
    """
    _tables(room)
    parts = room + 8 * PARTS
    place = first
    for b in range(n_blocks + 1):
        if b < n_blocks:
            row = words + 8 * (place * J + j)
            multiply_by_codes(d + 512 * b, codes + 64 * b, room + 8 * LOW_TABLE, room + 8 * HIGH_TABLE)
            if width == WIDTH:
                prefetch(row + 8 * BLOCKS_AHEAD * J)
                prefetch(row + 8 * BLOCKS_AHEAD * J + 56)
                codes_of(row, codes + 64 * b)
            else:
                codes_of_few(row, width, room + 8 * WORDS, codes + 64 * b)
            place += 1
            if place == n_ring:
                place = 0
        if b > 0:
            add_by_codes(parts, d + 512 * (b - 1), codes + 64 * (b - 1))
    _put_together(floats_at(room + 8 * SUMS, N_CODES), floats_at(parts, COPIES * STRIDE))
