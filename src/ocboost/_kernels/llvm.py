"""What the modules that write LLVM instructions share: types, loads and stores, and a loop.

Addresses are passed as integers (``array.ctypes.data``); the caller answers for their being in range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types

LANES = 8  # doubles to a vector
COLUMNS = 64  # bits to a word

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
BYTES = ir.VectorType(I8, COLUMNS)
NO_DOUBLES = ir.Constant(VECTOR, [0.0] * LANES)

ADDRESS = types.intp


def whole(value: int) -> Any:
    """A 64-bit integer."""
    return ir.Constant(I64, value)


def repeated(value: int, vector: Any) -> Any:
    """A vector of integers, all the same."""
    return ir.Constant(vector, [value] * vector.count)


def load(builder: Any, address: Any, of: Any, *, align: int = 8) -> Any:
    """One number or vector from an address."""
    return builder.load(builder.inttoptr(address, ir.PointerType(of)), align=align)


def store(builder: Any, value: Any, address: Any, *, align: int = 8) -> None:
    """Write one number or vector to an address."""
    builder.store(value, builder.inttoptr(address, ir.PointerType(value.type)), align=align)


def spread(builder: Any, scalar: Any, vector: Any = VECTOR) -> Any:
    """Put one number into every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, empty, repeated(0, ir.VectorType(I32, vector.count)))


def sum_of_lanes(builder: Any, vector: Any, flags: Sequence[str] = ()) -> Any:
    """The lanes of a vector of doubles, added up in order."""
    total = builder.extract_element(vector, ir.Constant(I32, 0))
    for lane in range(1, LANES):
        total = builder.fadd(total, builder.extract_element(vector, ir.Constant(I32, lane)), flags=flags)
    return total


def loop(
    builder: Any, name: str, enter: Any, start: list[Any], body: Callable[[list[Any]], tuple[list[Any], Any]]
) -> list[Any]:
    """Write a loop that carries some values, and return what they are after it.

    ``body`` gets the values and returns the next ones, and whether to go round again. ``enter`` is whether
    the loop is entered at all; None: always.
    """
    before = builder.block
    inside, done = builder.append_basic_block(name), builder.append_basic_block(f"{name}.done")
    if enter is None:
        builder.branch(inside)
    else:
        builder.cbranch(enter, inside, done)

    builder.position_at_end(inside)
    carried = [builder.phi(value.type) for value in start]
    after, again = body(carried)
    end = builder.block  # the body may have made blocks of its own
    for phi, first, value in zip(carried, start, after, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(value, end)
    builder.cbranch(again, inside, done)

    builder.position_at_end(done)
    if enter is None:
        return after
    finals = [builder.phi(value.type) for value in start]
    for phi, first, value in zip(finals, start, after, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(value, end)
    return finals
