"""Boosting over rows that lie in several places: what each place adds up, and how it reweights its rows.

A row's weight and its label are one number, the *signed weight* s = d·y. What is added up is the same in any
cut into places but for rounding, so the places together find what one would find.

Margins lie as bytes, eight hypotheses to a byte, the first of them in the highest bit: ``packed[b, i]`` has
the answers of hypotheses 8b … 8b + 7 to row i. With a label of -1 every bit of it is turned: the result is
the row's *code*. Examples of one code keep their ratio through its eight coordinates
(`ocboost._kernels.codes`).
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Floats, Int8s, Ints, UInt32s, Units, Words
from ocboost._kernels.binning import MISSING
from ocboost._kernels.compile import exact, plain
from ocboost._kernels.learn_stumps import FLOOR

BELOW, ABOVE, OTHER = range(3)  # the sides of a cut: at or below it, above it, missing
N_CODES = 256
TINY = 1e-200  # a weight below it, as a share of all weight, needs a unit of its own


# One round of finding stumps --------------------------------------------------------------------------


@plain
def weigh_sides(column: Bytes, cut: int, signed: Floats, out: Floats, counts: Ints) -> None:
    """Add the weights of the rows on each side of a cut, and count them: ``out[side, y > 0]``."""
    for i in range(column.size):
        side = ABOVE if column[i] > cut else BELOW
        if column[i] == MISSING:
            side = OTHER
        s = signed[i]
        positive = 1 if s > 0.0 else 0
        out[side, positive] += abs(s)
        counts[side, positive] += 1


@exact
def _answer(bin: np.uint8, cut: int, left: int, right: int, missing: int) -> int:
    if bin == MISSING:
        return missing
    return left if bin <= cut else right


@plain
def reweigh_rows(
    column: Bytes,
    cut: int,
    left: int,
    right: int,
    missing: int,
    signed: Floats,
    if_right: float,
    if_wrong: float,
    listed: bool,
    first: int,
    rows: UInt32s,
    values: Floats,
) -> int:
    """Multiply the weights of right and wrong rows by two factors, and list one kind's rows and change.

    As `ocboost._kernels.learn_stumps.reweigh`, for rows that a stump answers ``left`` at or below its cut,
    ``right`` above and ``missing`` elsewhere; the first of them has the number ``first``.
    """
    gain = if_right - if_wrong if listed else if_wrong - if_right
    k = 0
    for i in range(column.size):
        s = signed[i]
        is_right = (_answer(column[i], cut, left, right, missing) > 0) == (s > 0.0)
        rows[k] = first + i
        values[k] = gain * s
        k += is_right == listed
        changed = s * (if_right if is_right else if_wrong)
        if abs(changed) < FLOOR:
            changed = FLOOR if s > 0.0 else -FLOOR
        signed[i] = changed
    return k


@plain
def sign_weights(codes: UInt32s, target: int, weights: Floats, factors: Floats, out: Floats) -> None:
    """Signed weights, positive for the rows of the class ``target``: ± w times its class's factor.

    ``weights`` may be a single one, for all rows.
    """
    for i in range(codes.size):
        w = weights[i if weights.size > 1 else 0] * factors[codes[i]]
        out[i] = w if codes[i] == target else -w


@plain
def signs_of(signed: Floats, out: Int8s) -> None:
    """The labels of signed weights."""
    for i in range(signed.size):
        out[i] = 1 if signed[i] > 0.0 else -1


# The weights of hypotheses that are given -------------------------------------------------------------


@plain
def pack_stumps(bins: Bytes, stumps: Ints, out: Bytes) -> None:
    """What up to eight stumps answer to binned rows, a byte for each row; unused bits are 0.

    A stump is a feature, a cut, and its answers at or below it, above it, and to a missing value.
    """
    for i in range(out.size):
        out[i] = 0
    for j in range(stumps.shape[0]):
        column, last, bit = bins[stumps[j, 0]], stumps[j, 1], np.uint8(0x80 >> j)
        if_left = bit if stumps[j, 2] > 0 else np.uint8(0)
        if_right = bit if stumps[j, 3] > 0 else np.uint8(0)
        if_missing = bit if stumps[j, 4] > 0 else np.uint8(0)
        for i in range(out.size):
            b = column[i]
            answer = if_left if b <= last else if_right
            out[i] |= if_missing if b == MISSING else answer


@exact
def _code(packed: np.uint8, signed: float) -> int:
    return int(packed ^ (np.uint8(0xFF) if signed < 0.0 else np.uint8(0)))


@plain
def add_by_code(packed: Bytes, signed: Floats, sums: Floats) -> None:
    """Add the weights by code, ``sums[code]``; four sums of each take turns, so that no addition waits."""
    parts = np.zeros((4, N_CODES))
    n = signed.size - signed.size % 4
    for i in range(0, n, 4):
        for k in range(4):
            s = signed[i + k]
            parts[k, _code(packed[i + k], s)] += abs(s)
    for i in range(n, signed.size):
        parts[0, _code(packed[i], signed[i])] += abs(signed[i])
    for code in range(N_CODES):
        sums[code] += (parts[0, code] + parts[1, code]) + (parts[2, code] + parts[3, code])


@plain
def reweigh_by_code(packed: Bytes, signed: Floats, factor: Floats) -> float:
    """Multiply each weight by its code's factor; gives the smallest weight there is then."""
    least = np.inf
    for i in range(signed.size):
        s = signed[i] * factor[_code(packed[i], signed[i])]
        signed[i] = s
        least = min(least, abs(s))
    return least


@plain
def add_scaled_by_code(packed: Bytes, signed: Floats, unit: Units, sums: Floats) -> None:
    """`add_by_code` where each weight has a unit of its own: ``s · 2^(256·unit)``."""
    for i in range(signed.size):
        if unit[i] > -4:  # what lies lower is nothing beside a total of one
            sums[_code(packed[i], signed[i])] += abs(signed[i]) * 2.0 ** (256.0 * unit[i])


@plain
def reweigh_scaled_by_code(packed: Bytes, signed: Floats, unit: Units, factor: Floats) -> None:
    """`reweigh_by_code` where each weight has a unit of its own."""
    for i in range(signed.size):
        s, u = signed[i] * factor[_code(packed[i], signed[i])], unit[i]
        while 0.0 < abs(s) < 2.0**-128:
            s, u = s * 2.0**256, u - 1
        while abs(s) >= 2.0**128:
            s, u = s * 2.0**-256, u + 1
        signed[i], unit[i] = s, u


# Margins as the sketch has them -----------------------------------------------------------------------


@plain
def words_of_codes(packed: Bytes, signed: Floats, words: Words) -> None:
    """Margins as bits in blocks of 64 examples (`ocboost._kernels.bits`) from the answers as bytes."""
    n, J = signed.size, words.shape[1]
    words[...] = np.uint64(0)
    for group in range(packed.shape[0]):
        width = min(8, J - 8 * group)
        for block in range(words.shape[0]):
            start = 64 * block
            for i in range(start, min(start + 64, n)):
                code = np.uint64(_code(packed[group, i], signed[i]))
                for k in range(width):
                    bit = (code >> np.uint64(7 - k)) & np.uint64(1)
                    words[block, 8 * group + k] |= bit << np.uint64(i - start)
