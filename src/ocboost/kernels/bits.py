"""Margins as bits: 64 examples to a word, a word for each hypothesis and block of 64 examples.

``words[b, j]`` holds the margins of hypothesis j on the examples 64·b … 64·b + 63: bit i is set where
the margin is +1. The blocks form a ring, so that the oldest examples leave without anything moving.
"""

from __future__ import annotations

import numpy as np

from .compile import helper, kernel
from .types import Int8Matrix, Words, WordVector

ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
SIXTY_FOUR = np.uint64(64)


@helper
def bit(word: np.uint64, i: int) -> bool:
    """Bit i of a word."""
    return bool((word >> np.uint64(i)) & ONE)


@helper
def mask_between(low: int, high: int) -> np.uint64:
    """A word with the bits low … high - 1 set, 0 <= low < high <= 64."""
    return (ALL >> np.uint64(64 - (high - low))) << np.uint64(low)


@helper
def _set_bits(row: Int8Matrix, words: WordVector, i: np.uint64) -> None:
    for j in range(words.size):
        words[j] |= np.uint64(row[j] > 0) << i


@kernel
def first_not_a_margin(flat: Int8Matrix) -> int:
    """The place of the first entry that is neither -1 nor +1, or -1."""
    bad = np.int8(0)
    for i in range(flat.size):
        bad |= (flat[i] + np.int8(1)) & np.int8(-3)
    if bad == 0:
        return -1
    for i in range(flat.size):
        if flat[i] != 1 and flat[i] != -1:
            return i
    return -1


@kernel
def pack_row(row: Int8Matrix, words: Words, position: int) -> None:
    """Write one example's margins at a position of the ring."""
    block = words[position >> 6]
    i = position & 63
    if i == 0:  # whatever an earlier turn of the ring has left
        block[:] = np.uint64(0)
    _set_bits(row, block, np.uint64(i))


@kernel
def pack_rows(rows: Int8Matrix, words: Words, position: int) -> None:
    """Write the margins of several examples at consecutive positions of the ring, from ``position`` on."""
    size = 64 * words.shape[0]
    for i in range(rows.shape[0]):
        pack_row(rows[i], words, position)
        position += 1
        if position == size:
            position = 0


@helper
def transpose(block: WordVector, out: WordVector) -> None:
    """Turn up to 64 words of 64 examples into 64 words, one for each example (Hacker's Delight 7-3)."""
    for k in range(64):
        out[k] = block[k] if k < block.size else np.uint64(0)
    half = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while half:
        k = 0
        while k < 64:
            swap = ((out[k] >> np.uint64(half)) ^ out[k + half]) & mask
            out[k] ^= swap << np.uint64(half)
            out[k + half] ^= swap
            k = (k + half + 1) & ~half
        half >>= 1
        mask ^= mask << np.uint64(half)


@kernel
def unpack_row(words: Words, position: int, out: Int8Matrix) -> None:
    """Read one example's margins back as -1 and +1."""
    block = words[position >> 6]
    for j in range(out.size):
        out[j] = 1 if bit(block[j], position & 63) else -1
