"""Views of memory that own nothing, and memory that begins with a line of the cache.

Passing a numpy array to a function, or slicing it, counts references to its owner, atomically; in a loop
over short rows that counting costs more than the arithmetic. These views are an address and a shape; the
caller keeps the owner alive.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import DTypeLike, NDArray

from .compile import helper, instruction
from .types import Floats, Ints, Units, Words

LINE = 64  # bytes


def zeros_on_lines(shape: int | tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """`np.zeros` at an address that is a multiple of 64: eight doubles or words are one line, not two."""
    count = shape if isinstance(shape, int) else math.prod(shape)
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
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
