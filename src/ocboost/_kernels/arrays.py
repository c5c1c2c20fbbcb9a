"""The arrays that kernels pass around: their names and types, and how the pair sums lie in memory.

Pairs lie row after row of a lower triangle, or of a band of it: row j holds the coordinates k from
max(0, j - K) to j - 1, K being the order. All rows together take J·K - K(K+1)/2 places for each sign, and
nothing of size J × J exists when K is far below J.

`floats_at` and its likes are views that own nothing, an address and a shape; the caller keeps the owner
alive. Passing a numpy array to a function, or slicing it, counts references to its owner, atomically; in a
loop over short rows that counting costs more than the arithmetic.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import DTypeLike, NDArray

from ocboost._kernels.compile import helper, instruction

Whole: TypeAlias = Any  # a whole number, which in a kernel is int64 and in Python an int or an np.int64
Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Reals: TypeAlias = NDArray[np.floating]
Ints: TypeAlias = NDArray[np.int64]
Int32s: TypeAlias = NDArray[np.int32]
UInt32s: TypeAlias = NDArray[np.uint32]
Int8s: TypeAlias = NDArray[np.int8]
Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.integer]
Numbers: TypeAlias = NDArray[np.number]
Flags: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
Halves: TypeAlias = NDArray[np.uint16]  # the bits of float16
Units: TypeAlias = Int32s  # of scaled numbers (`ocboost._kernels.scaled`), where they are many


class Tail(NamedTuple):
    """The sums over all examples that have left the head, at the α they were taken at.

    A sketch has one tail (t = 1); while two sketches are merged there are two.

    Row j of a sign σ holds ``p^σ_jk = W^σ_jk / W^σ_jj`` for the coordinates k of its band, the ``order``
    ones just before j, and ``W^σ_jj`` as a scaled number (`ocboost._kernels.scaled`). Storing p and not
    W_jk keeps every pair in [0, 1] for any weights; the log scale lives on the diagonal alone.

    A coordinate that was appended later (`ocboost.boosters.sketch.reshape`) holds only the examples since
    then, a share of those of the coordinate before it.
    """

    p_plus: Floats  # (t, pairs): rows of the band, one after the other, see `row_start`
    p_minus: Floats
    W: Floats  # (t, 2, J): W⁺_jj, W⁻_jj
    W_unit: Ints
    alpha: Floats  # (t, J): the α at which the sums were taken
    exp_alpha: Floats  # (t, J): exp(α), where |α| is moderate: it saves an exponential for each row
    share: Floats  # (t, J): of what leaves the coordinate before, how much row j holds; 1 but for latecomers
    total: Floats  # (t,): T₀ = Σw of the examples in the tail
    total_unit: Ints


class Head(NamedTuple):
    """The most recent examples, kept exactly: margins as bits in a ring of blocks, and weights."""

    words: Words  # (blocks, J)
    weight: Floats  # (64 · blocks,)
    weight_unit: Units  # (64 · blocks,)


class Light(NamedTuple):
    """The sums over the light examples, carried by a weighted sample of them (`ocboost._kernels.heavy`).

    A sketch has one (t = 1); while two sketches are merged there are two. The sample itself lies in the
    head, before the examples that are kept exactly.
    """

    L: Floats  # (t, 2, J): L⁺_j, L⁻_j, all light examples' weight at the anchor
    L_unit: Units
    A: Floats  # (t, 2, J): A⁺_j, A⁻_j, their sample's
    A_unit: Units
    anchor: Floats  # (t, J): the α at which these sums were taken
    delta: Halves  # (t, 2, pairs + PAD): δ^σ_jk, row after row; without pairs (t, 2, 0)


@helper
def row_start(j: int, order: int) -> int:
    """The place of row j's first pair."""
    if j <= order:
        return j * (j - 1) // 2
    return order * (order + 1) // 2 + (j - 1 - order) * order


@helper
def first_column(j: int, order: int) -> int:
    """The first coordinate k of row j."""
    return max(0, j - order)


def n_pairs(n_hypotheses: int, order: int) -> int:
    """How many pairs all rows hold.

    >>> n_pairs(5, 5), n_pairs(5, 2)
    (10, 7)
    """
    return n_hypotheses * order - order * (order + 1) // 2


CACHE_LINE = 64  # bytes


def zeros_on_lines(shape: int | tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """`np.zeros` at an address that is a multiple of 64: eight doubles or words are one line, not two."""
    count = shape if isinstance(shape, int) else math.prod(shape)
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


@instruction
def _pointer(typing_context: Any, address: Any) -> tuple[Any, Any]:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.intp), codegen


@helper
def floats_at(address: int, n: int) -> Floats:
    """N doubles from an address on."""
    return numba.carray(_pointer(address), n, np.float64)  # type: ignore[attr-defined]


@helper
def ints_at(address: int, n: int) -> Ints:
    """N 64-bit integers from an address on."""
    return numba.carray(_pointer(address), n, np.int64)  # type: ignore[attr-defined]


@helper
def units_at(address: int, n: int) -> Units:
    """N 32-bit integers from an address on."""
    return numba.carray(_pointer(address), n, np.int32)  # type: ignore[attr-defined]


@helper
def words_at(address: int, rows: int, columns: int) -> Words:
    """A matrix of words from an address on."""
    return numba.carray(_pointer(address), (rows, columns), np.uint64)  # type: ignore[attr-defined]
