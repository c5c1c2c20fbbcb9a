"""Loops over margins as bits, each against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels import bits, llvm_bits
from tests.naive.kernels import bit, reweighted
from tests.support.compiled import as_in_kernels
from tests.support.makers import independent_columns

ALL = 2**64 - 1
WIDTHS = [1, 5, 63, 64, 65, 130]


def random_words(rng, *shape):
    return rng.integers(0, ALL, shape, dtype=np.uint64, endpoint=True)


@as_in_kernels
def call_add_by_bits(n_columns, out, weights, scale, columns, members):
    if n_columns == 16:
        llvm_bits.add_by_bits_16(out.ctypes.data, weights.ctypes.data, scale, columns.ctypes.data, members)
    elif n_columns == 32:
        llvm_bits.add_by_bits_32(out.ctypes.data, weights.ctypes.data, scale, columns.ctypes.data, members)
    else:
        llvm_bits.add_by_bits(out.ctypes.data, weights.ctypes.data, scale, columns.ctypes.data, members)


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
    llvm_bits.reweight_and_sum(
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
    return llvm_bits.positive_bytes(values.ctypes.data), llvm_bits.not_margins(values.ctypes.data)


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
        # An earlier turn of the ring has left something everywhere but where the present block continues.
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
