"""Differences of pairs between the light examples and their sample (`ocboost._kernels.heavy`), as float16.

Pairs are summed in whole numbers of 1 / UNITY: then neither the order of adding nor the processor matters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import Floats, Halves, Head, Ints, Units, floats_at, row_start, units_at
from ocboost._kernels.bits import transpose
from ocboost._kernels.compile import exact, helper, kernel
from ocboost._kernels.llvm_bits import add_counts_by_bits

ROWS_PER_PASS = 16  # rows of pairs that are summed in one pass over the examples
UNITY = 2.0**28
ROUND_TO_WHOLE = 1.5 * 2.0**52  # adding it and taking it off rounds to the nearest whole number


@helper
def _half_of(x: float) -> np.uint16:
    """The bits of the float16 nearest to a number from -1 to 1, of two equally near the even one."""
    size = abs(x)
    if size < 2.0**-14:
        bits = np.int64(np.rint(size * 2.0**24))
    else:
        fraction, exponent = math.frexp(size)
        bits = ((np.int64(exponent) + 14) << 10) + np.int64(np.rint((2.0 * fraction - 1.0) * 1024.0))
    return np.uint16(bits | 0x8000 if x < 0.0 and bits > 0 else bits)


@helper
def _number_of(half: np.uint16) -> float:
    """What the bits of a finite float16 say."""
    exponent, fraction = int((np.int64(half) >> 10) & 31), float(np.int64(half) & 1023)
    size = math.ldexp(fraction + 1024.0, exponent - 25) if exponent > 0 else fraction * 2.0**-24
    return -size if np.int64(half) & 0x8000 else size


@kernel
def halves(numbers: Floats, out: Halves) -> None:
    """Numbers from -1 to 1 as float16."""
    for i in range(numbers.size):
        out[i] = _half_of(numbers[i])


@kernel
def numbers(half: Halves, out: Floats) -> None:
    """What float16 say."""
    for i in range(half.size):
        out[i] = _number_of(half[i])


class Shift(NamedTuple):
    """How pairs move from an old sample to a new one; coefficients are of d_ij / (W⁺_j + W⁻_j)."""

    d: Floats  # in whole blocks: the first weight of the light examples over W_0, zero for the others
    factor: Floats  # by how much each example weighs more in the new sample, zero if it has left
    right: Floats  # (J,): what d is multiplied by from one coordinate to the next, for margin +1
    wrong: Floats  # and for margin -1
    old: Floats  # (t + 1, 2, J): what an example of light part t, or one that joins, adds to row j
    new: Floats  # (2, J): what it takes off as a member of the new sample
    keep: Floats  # (t, 2, J): by how much the old differences count


@exact
def _counts(
    d: Floats,
    factor: Floats,
    counts: Units,
    word: np.uint64,
    x_right: float,
    x_wrong: float,
    y_right: float,
    y_wrong: float,
) -> None:
    """What 64 examples add to a row, ``d (x - factor · y)``, as whole numbers of 1 / `UNITY`."""
    for i in range(64):
        right = ((word >> np.uint64(i)) & np.uint64(1)) != 0
        x = x_right if right else x_wrong
        y = y_right if right else y_wrong
        share = d[i] * (x - factor[i] * y)
        share = share if share < 1.0 else 1.0
        share = share if share > -1.0 else -1.0
        counts[i] = np.int32((share * UNITY + ROUND_TO_WHOLE) - ROUND_TO_WHOLE)


@exact
def _reweigh(d: Floats, word: np.uint64, if_right: float, if_wrong: float) -> None:
    for i in range(64):
        d[i] *= if_right if ((word >> np.uint64(i)) & np.uint64(1)) != 0 else if_wrong


@helper
def _shift_pairs(
    head: Head,
    bounds: Ints,
    shift: Shift,
    before: Halves,
    after: Halves,
    begin: int,
    end: int,
    counts: Units,
) -> None:
    words, d, factor = head.words, shift.d, shift.factor
    right, wrong, old, new, keep = shift.right, shift.wrong, shift.old, shift.new, shift.keep
    J, n_lights = words.shape[1], keep.shape[0]
    n_blocks, n_tiles = d.size >> 6, (J + 63) >> 6
    sums = np.empty((ROWS_PER_PASS, 2, 64 * n_tiles), np.int32)
    columns = np.empty((2, n_tiles, 64), np.uint64)
    room = np.empty(64, np.int32)
    sums_at, counts_at, columns_at = sums.ctypes.data, counts.ctypes.data, columns.ctypes.data
    d_at, factor_at, room_at = d.ctypes.data, factor.ctypes.data, room.ctypes.data
    for block in range(n_blocks):
        for j in range(begin):
            _reweigh(floats_at(d_at + 512 * block, 64), words[block, j], right[j], wrong[j])
    for top in range(begin, end, ROWS_PER_PASS):
        rows = min(ROWS_PER_PASS, end - top)
        sums[...] = 0
        for block in range(n_blocks):
            start = 64 * block
            valid = np.uint64(0)
            for i in range(64):
                valid |= np.uint64(d[start + i] > 0.0) << np.uint64(i)
            if valid == 0:
                continue
            for tile in range(((top + rows - 1) >> 6) + 1):
                transpose(words[block, 64 * tile : min(64 * tile + 64, J)], columns[0, tile])
                for i in range(64):
                    columns[1, tile, i] = ~columns[0, tile, i]
            for r in range(rows):
                j = top + r
                word = words[block, j]
                here, factors = floats_at(d_at + 8 * start, 64), floats_at(factor_at + 8 * start, 64)
                row = units_at(counts_at + 256 * r, 64)
                for t in range(n_lights + 1):
                    low, high = max(bounds[t] - start, 0), min(bounds[t + 1] - start, 64)
                    if high - low > 0:
                        out = row if low == 0 else units_at(room_at, 64)
                        _counts(here, factors, out, word, old[t, 0, j], old[t, 1, j], new[0, j], new[1, j])
                        if low > 0:  # two kinds of examples in one block
                            for i in range(low, high):
                                row[i] = room[i]
                _reweigh(here, word, right[j], wrong[j])
                for sign in range(2):
                    members = (word if sign == 0 else ~word) & valid
                    if members == 0:
                        continue
                    for tile in range((j >> 6) + 1):
                        add_counts_by_bits(
                            sums_at + 4 * ((2 * r + sign) * 64 * n_tiles + 64 * tile),
                            counts_at + 256 * r,
                            columns_at + 512 * (sign * n_tiles + tile),
                            members,
                        )
        for r in range(rows):
            j = top + r
            place = row_start(j, J)
            for sign in range(2):
                for k in range(j):
                    value = float(sums[r, sign, k]) / UNITY
                    for t in range(n_lights):
                        if keep[t, sign, j] > 0.0:
                            value += keep[t, sign, j] * _number_of(before[t, sign, place + k])
                    if new[sign, j] == 0.0:  # the sample has none to be corrected
                        value = 0.0
                    after[0, sign, place + k] = _half_of(min(max(value, -1.0), 1.0))


@kernel
def shift_pairs(
    head: Head, bounds: Ints, shift: Shift, before: Halves, after: Halves, begin: int, end: int
) -> None:
    """The differences of pairs between the light examples and the new sample, in the rows begin … end - 1.

    ``δ' = Σ_t keep_t · δ_t + Σ_i d_ij (old - factor_i · new) [m_ij = σ][m_ik = σ]``, in whole numbers.
    ``after`` may be a part of ``before``: what is written has been read. The weights in ``shift.d`` are
    led through the coordinates; whoever needs them again, or another thread, has a copy.
    """
    # The counts are reached by address alone: in the function that makes them they would be given back before
    # they are used, and a fold in another thread might get the same memory.
    counts = np.empty((ROWS_PER_PASS, 64), np.int32)
    _shift_pairs(head, bounds, shift, before, after, begin, end, counts)
