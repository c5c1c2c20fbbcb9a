"""Haar features in LLVM's instructions: of one window, or of LANES windows side by side.

numba's own loops over so many arrays at once are not vectorised, and take five to ten times as long; and
arrays that are passed along count references. Addresses are passed as integers (``array.ctypes.data``);
the caller answers for their being in range. Tables that lie side by side, (corners, LANES), are in single
precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from ocboost._kernels.compile import instruction

LANES = 64  # tables of windows of 24 × 24 pixels then take 160 kB and stay in the second cache

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
TILE = 16  # bytes a side, of the tiles in which bytes change rows for columns
_FLOATS, _DOUBLES = ir.VectorType(_FLOAT, LANES), ir.VectorType(_DOUBLE, LANES)
_BYTES, _INTS = ir.VectorType(_I8, LANES), ir.VectorType(_I32, LANES)
_TILE_ROW = ir.VectorType(_I8, TILE)


def _at(builder: Any, address: Any, of: Any, place: int = 0, align: int = 4) -> Any:
    """Load one number or one vector; ``place`` counts numbers of 32 bits."""
    if place:
        address = builder.add(address, ir.Constant(_I64, 4 * place))
    return builder.load(builder.inttoptr(address, ir.PointerType(of)), align=align)


def _put(builder: Any, value: Any, address: Any, align: int = 4) -> None:
    builder.store(value, builder.inttoptr(address, ir.PointerType(value.type)), align=align)


def _spread(builder: Any, scalar: Any, vector: Any) -> Any:
    """Put one number into every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, zeros)


def _below(builder: Any, rects: int, table: Any, corners: Any, weights: Any, factor: Any, bar: Any) -> Any:
    """Where a feature's value is below a threshold: a mask of lanes. Every rounding is OpenCV's.

    All sums are whole numbers below 2²⁴ and exact.
    """
    value = None
    for r in range(rects):
        sums = []
        for k in range(4):
            corner = builder.sext(_at(builder, corners, _I32, 4 * r + k), _I64)
            row = builder.add(table, builder.mul(corner, ir.Constant(_I64, 4 * LANES)))
            sums.append(_at(builder, row, _FLOATS))
        first, second, third, last = sums
        inside = builder.fsub(builder.fsub(last, second), builder.fsub(third, first))
        weight = _spread(builder, _at(builder, weights, _FLOAT, r), _FLOATS)
        term = builder.fmul(weight, inside)
        value = term if value is None else builder.fadd(value, term)
    value = builder.fmul(value, _at(builder, factor, _FLOATS))
    return builder.fcmp_ordered("<", value, _spread(builder, bar, _FLOATS))


def _summing(rects: int) -> Callable[..., Any]:
    def add(
        typing_context: Any,
        table: Any,
        corners: Any,
        weights: Any,
        factor: Any,
        bar: Any,
        left: Any,
        right: Any,
        total: Any,
    ) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            left, right, total = args[5:]
            below = _below(builder, rects, *args[:5])
            leaf = builder.select(below, _spread(builder, left, _DOUBLES), _spread(builder, right, _DOUBLES))
            _put(builder, builder.fadd(_at(builder, total, _DOUBLES, align=8), leaf), total, 8)
            return context.get_dummy_value()

        i, f, d = types.intp, types.float32, types.float64
        return types.void(i, i, i, i, f, d, d, i), codegen

    return add


def _answering(rects: int) -> Callable[..., Any]:
    def answer(
        typing_context: Any, table: Any, corners: Any, weights: Any, factor: Any, bar: Any, out: Any
    ) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            below = _below(builder, rects, *args[:5])
            no, yes = ir.Constant(_BYTES, [-1] * LANES), ir.Constant(_BYTES, [1] * LANES)
            _put(builder, builder.select(below, no, yes), args[5], 1)
            return context.get_dummy_value()

        i = types.intp
        return types.void(i, i, i, i, types.float32, i), codegen

    return answer


# Add, to LANES doubles, the left leaf where a feature of two or three rectangles is below, else the right.
add_stump_of_two = instruction(_summing(2))
add_stump_of_three = instruction(_summing(3))
# Write LANES answers, -1 where it is below and else +1.
answer_of_two = instruction(_answering(2))
answer_of_three = instruction(_answering(3))


def _valuing(rects: int) -> Callable[..., Any]:
    def value(typing_context: Any, table: Any, corners: Any, weights: Any, factor: Any) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            table, corners, weights, factor = args
            value = None
            for r in range(rects):
                sums = []
                for k in range(4):
                    corner = builder.sext(_at(builder, corners, _I32, 4 * r + k), _I64)
                    place = builder.add(table, builder.mul(corner, ir.Constant(_I64, 4)))
                    sums.append(_at(builder, place, _I32))
                first, second, third, last = sums
                inside = builder.add(builder.sub(builder.sub(first, second), third), last)
                term = builder.fmul(_at(builder, weights, _FLOAT, r), builder.sitofp(inside, _FLOAT))
                value = term if value is None else builder.fadd(value, term)
            return builder.fmul(value, factor)

        i = types.intp
        return types.float32(i, i, i, types.float32), codegen

    return value


# The value of a feature of two or three rectangles in a table of 32-bit whole numbers.
value_of_two = instruction(_valuing(2))
value_of_three = instruction(_valuing(3))


@instruction
def int_at(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """The 32-bit whole number at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sext(_at(builder, args[0], _I32), _I64)

    return types.int64(types.intp), codegen


@instruction
def single_at(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """The number in single precision at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _at(builder, args[0], _FLOAT)

    return types.float32(types.intp), codegen


@instruction
def turn_tile(typing_context: Any, source: Any, stride: Any, out: Any) -> tuple[Any, Any]:
    """Make rows of TILE bytes, ``stride`` apart, columns of a matrix whose rows are LANES bytes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, stride, out = args
        rows = []
        for k in range(TILE):
            address = builder.add(source, builder.mul(stride, ir.Constant(_I64, k)))
            rows.append(_at(builder, address, _TILE_ROW, align=1))
        half = TILE // 2
        mix = [at + side * TILE for at in range(half) for side in (0, 1)]
        low = ir.Constant(ir.VectorType(_I32, TILE), mix)
        high = ir.Constant(ir.VectorType(_I32, TILE), [at + half for at in mix])
        for _ in range(TILE.bit_length() - 1):  # each round interleaves the upper and the lower half
            rows = [
                builder.shuffle_vector(rows[k // 2], rows[k // 2 + half], high if k % 2 else low)
                for k in range(TILE)
            ]
        for k, row in enumerate(rows):
            _put(builder, row, builder.add(out, ir.Constant(_I64, k * LANES)), 1)
        return context.get_dummy_value()

    i = types.intp
    return types.void(i, i, i), codegen


@instruction
def add_pixel(typing_context: Any, pixels: Any, line: Any, above: Any, out: Any) -> tuple[Any, Any]:
    """Add LANES bytes to the sums of their lines, and write those plus what is above: one corner."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pixels, line, above, out = args
        pixel = builder.uitofp(_at(builder, pixels, _BYTES, align=1), _FLOATS)
        total = builder.fadd(_at(builder, line, _FLOATS), pixel)
        _put(builder, total, line)
        _put(builder, builder.fadd(_at(builder, above, _FLOATS), total), out)
        return context.get_dummy_value()

    i = types.intp
    return types.void(i, i, i, i), codegen


@instruction
def add_square(typing_context: Any, pixels: Any, total: Any) -> tuple[Any, Any]:
    """Add the squares of LANES bytes to LANES sums of 32 bits without sign."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pixel = builder.zext(_at(builder, args[0], _BYTES, align=1), _INTS)
        _put(builder, builder.add(_at(builder, args[1], _INTS), builder.mul(pixel, pixel)), args[1])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), codegen
