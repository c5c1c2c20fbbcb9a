"""Margins as bits: 64 examples to a word, a word for each hypothesis and block of 64 examples.

``words[b, j]`` holds the margins of hypothesis j on the examples 64·b … 64·b + 63: bit i is set where
the margin is +1. The blocks form a ring, so that the oldest examples leave without anything moving.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Int8s, Ints, Words
from ocboost._kernels.compile import helper, kernel
from ocboost._kernels.llvm_bits import not_margins, positive_bytes, transpose_bits

ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@helper
def bit(word: np.uint64, i: int) -> bool:
    """Bit i of a word."""
    return bool((word >> np.uint64(i)) & ONE)


@helper
def mask_between(low: int, high: int) -> np.uint64:
    """A word with the bits low … high - 1 set, 0 <= low < high <= 64."""
    return (ALL >> np.uint64(64 - (high - low))) << np.uint64(low)


@helper
def _set_bits(row: Int8s, words: Words, i: np.uint64) -> None:
    for j in range(words.size):
        words[j] |= np.uint64(row[j] > 0) << i


@kernel
def first_not_a_margin(flat: Int8s) -> int:
    """The place of the first entry that is neither -1 nor +1, or -1."""
    start = 0
    address = flat.ctypes.data
    while start + 64 <= flat.size and not_margins(address + start) == 0:
        start += 64
    for i in range(start, flat.size):
        if flat[i] != 1 and flat[i] != -1:
            return i
    return -1


@kernel
def pack_row(row: Int8s, words: Words, position: int) -> None:
    """Write one example's margins at a position of the ring."""
    block = words[position >> 6]
    i = position & 63
    if i == 0:  # clears what an earlier turn of the ring has left
        block[:] = np.uint64(0)
    _set_bits(row, block, np.uint64(i))


@helper
def transpose(block: Words, out: Words) -> None:
    """Turn up to 64 words of 64 examples into 64 words, one for each example."""
    if block.size == 64:
        transpose_bits(block.ctypes.data, out.ctypes.data)
        return
    for k in range(64):
        out[k] = block[k] if k < block.size else np.uint64(0)
    transpose_bits(out.ctypes.data, out.ctypes.data)


@kernel
def pack_rows(rows: Int8s, words: Words, position: int) -> None:
    """Write the margins of several examples at consecutive positions of the ring, from ``position`` on."""
    n, J = rows.shape
    size = 64 * words.shape[0]
    n_tiles = (J + 63) // 64
    by_example = np.empty((n_tiles, 64), np.uint64)
    base = rows.ctypes.data
    i = 0
    while i < n:
        if position & 63 or n - i < 64 or J < 64:
            pack_row(rows[i], words, position)
            i += 1
            position += 1
        else:  # a whole block: 64 × 64 bits at a time, the last tile overlapping the one before
            block = words[position >> 6]
            for e in range(64):
                for tile in range(n_tiles):
                    by_example[tile, e] = positive_bytes(base + (i + e) * J + min(64 * tile, J - 64))
            for tile in range(n_tiles):
                left = min(64 * tile, J - 64)
                transpose(by_example[tile], block[left : left + 64])
            i += 64
            position += 64
        if position == size:
            position = 0


@kernel
def unpack_row(words: Words, position: int, out: Int8s) -> None:
    """Read one example's margins back as -1 and +1."""
    block = words[position >> 6]
    for j in range(out.size):
        out[j] = 1 if bit(block[j], position & 63) else -1


@kernel
def take_bits(words: Words, places: Ints, out: Words, by_example: Words) -> None:
    """Copy the margins of the examples at ``places`` to the first places of ``out``.

    ``by_example`` has a word for each place of ``words``.
    """
    J, n = words.shape[1], places.size
    room = np.zeros((2, 64), np.uint64)
    for left in range(0, J, 64):
        right = min(left + 64, J)
        for block in range(words.shape[0]):
            transpose(words[block, left:right], by_example[64 * block : 64 * block + 64])
        for start in range(0, n, 64):
            for i in range(64):
                room[0, i] = by_example[places[start + i]] if start + i < n else np.uint64(0)
            transpose(room[0], room[1])
            for j in range(left, right):
                out[start >> 6, j] = room[1, j - left]
