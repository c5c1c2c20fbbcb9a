"""Haar features in LLVM's instructions: of one window, or of many side by side.

They are WINDOW_LANES with a table each, or GRID_LANES that follow each other in the table of an image.
numba's own loops over so many arrays at once are not vectorised, and take five to ten times as long; and
arrays that are passed along count references. Tables that lie side by side, (corners, WINDOW_LANES), are in
single precision, those of images in whole numbers of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from ocboost._kernels.compile import instruction
from ocboost._kernels.llvm import (
    ADDRESS,
    DOUBLE,
    FLOAT,
    I8,
    I32,
    I64,
    load,
    loop,
    repeated,
    spread,
    store,
    whole,
)

WINDOW_LANES = 64  # tables of windows of 24 × 24 pixels then take 160 kB and stay in the second cache
GRID_LANES = 16
TILE_BYTES = 16  # bytes a side, of the tiles in which bytes change rows for columns

_FLOATS, _DOUBLES = ir.VectorType(FLOAT, WINDOW_LANES), ir.VectorType(DOUBLE, WINDOW_LANES)
_BYTES, _INTS = ir.VectorType(I8, WINDOW_LANES), ir.VectorType(I32, WINDOW_LANES)
_GRID_INTS, _GRID_FLOATS = ir.VectorType(I32, GRID_LANES), ir.VectorType(FLOAT, GRID_LANES)
_GRID_DOUBLES = ir.VectorType(DOUBLE, GRID_LANES)
_TILE_ROW = ir.VectorType(I8, TILE_BYTES)


def _at(builder: Any, address: Any, of: Any, place: int = 0) -> Any:
    """Load a number of 32 bits or a vector of them; ``place`` counts such numbers."""
    if place:
        address = builder.add(address, whole(4 * place))
    return load(builder, address, of, align=4)


def _corners(builder: Any, table: Any, corners: Any, rect: int, of: Any, size: int) -> list[Any]:
    """What a table holds at the four corners of a rectangle; ``size`` are the bytes of a corner."""
    found = []
    for k in range(4):
        corner = builder.sext(_at(builder, corners, I32, 4 * rect + k), I64)
        found.append(_at(builder, builder.add(table, builder.mul(corner, whole(size))), of))
    return found


def _below(builder: Any, rects: int, table: Any, corners: Any, weights: Any, factor: Any, bar: Any) -> Any:
    """Where a feature's value is below a threshold: a mask of lanes. Every rounding is OpenCV's.

    All sums are whole numbers below 2²⁴ and exact.
    """
    value = None
    for r in range(rects):
        first, second, third, last = _corners(builder, table, corners, r, _FLOATS, 4 * WINDOW_LANES)
        inside = builder.fsub(builder.fsub(last, second), builder.fsub(third, first))
        weight = spread(builder, _at(builder, weights, FLOAT, r), _FLOATS)
        term = builder.fmul(weight, inside)
        value = term if value is None else builder.fadd(value, term)
    value = builder.fmul(value, _at(builder, factor, _FLOATS))
    return builder.fcmp_ordered("<", value, spread(builder, bar, _FLOATS))


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
            leaf = builder.select(below, spread(builder, left, _DOUBLES), spread(builder, right, _DOUBLES))
            store(builder, builder.fadd(load(builder, total, _DOUBLES), leaf), total)
            return context.get_dummy_value()

        return types.void(*[ADDRESS] * 4, types.float32, types.float64, types.float64, ADDRESS), codegen

    return add


def _answering(rects: int) -> Callable[..., Any]:
    def answer(
        typing_context: Any, table: Any, corners: Any, weights: Any, factor: Any, bar: Any, out: Any
    ) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            below = _below(builder, rects, *args[:5])
            no, yes = repeated(-1, _BYTES), repeated(1, _BYTES)
            store(builder, builder.select(below, no, yes), args[5], align=1)
            return context.get_dummy_value()

        return types.void(*[ADDRESS] * 4, types.float32, ADDRESS), codegen

    return answer


# Add to WINDOW_LANES doubles the left leaf where a feature of two or three rectangles is below, else the
# right.
add_stump_of_two = instruction(_summing(2))
add_stump_of_three = instruction(_summing(3))
# Write WINDOW_LANES answers, -1 where it is below and else +1.
answer_of_two = instruction(_answering(2))
answer_of_three = instruction(_answering(3))


def _term(builder: Any, table: Any, corners: Any, weights: Any, rect: int, ints: Any, floats: Any) -> Any:
    """A weighted rectangle in a table of whole numbers, of one window or of several in a row."""
    first, second, third, last = _corners(builder, table, corners, rect, ints, 4)
    inside = builder.add(builder.sub(builder.sub(first, second), third), last)
    weight = _at(builder, weights, FLOAT, rect)
    if floats is not FLOAT:
        weight = spread(builder, weight, floats)
    return builder.fmul(weight, builder.sitofp(inside, floats))


def _valuing(rects: int) -> Callable[..., Any]:
    def value(typing_context: Any, table: Any, corners: Any, weights: Any, factor: Any) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            table, corners, weights, factor = args
            total = _term(builder, table, corners, weights, 0, I32, FLOAT)
            for r in range(1, rects):
                total = builder.fadd(total, _term(builder, table, corners, weights, r, I32, FLOAT))
            return builder.fmul(total, factor)

        return types.float32(*[ADDRESS] * 3, types.float32), codegen

    return value


# The value of a feature of two or three rectangles in a table of 32-bit whole numbers.
value_of_two = instruction(_valuing(2))
value_of_three = instruction(_valuing(3))


@instruction
def sum_grid_stumps(
    typing_context: Any,
    table: Any,
    factor: Any,
    corners: Any,
    weights: Any,
    feature: Any,
    threshold: Any,
    leaf: Any,
    first: Any,
    end: Any,
    total: Any,
) -> tuple[Any, Any]:
    """Write the sums of the stumps from ``first`` to ``end``, in GRID_LANES windows that follow each other.

    There is at least one stump. Sums stay in registers.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, factor, corners, weights, feature, threshold, leaf, first, end, total = args
        factors = _at(builder, factor, _GRID_FLOATS)

        def of(address: Any, place: Any, size: int) -> Any:
            return builder.add(address, builder.mul(place, whole(size)))

        def add(carried: list[Any]) -> tuple[list[Any], Any]:
            sums, j = carried
            f = builder.sext(_at(builder, of(feature, j, 4), I32), I64)
            corner, weight = of(corners, f, 48), of(weights, f, 12)

            def term(rect: int) -> Any:
                return _term(builder, table, corner, weight, rect, _GRID_INTS, _GRID_FLOATS)

            two = builder.fadd(term(0), term(1))
            before = builder.block
            third = builder.fcmp_unordered("!=", _at(builder, weight, FLOAT, 2), ir.Constant(FLOAT, 0.0))
            with builder.if_then(third):
                three = builder.fadd(two, term(2))
                inside = builder.block
            value = builder.phi(_GRID_FLOATS)
            value.add_incoming(two, before)
            value.add_incoming(three, inside)
            bar = spread(builder, _at(builder, of(threshold, j, 4), FLOAT), _GRID_FLOATS)
            below = builder.fcmp_ordered("<", builder.fmul(value, factors), bar)
            sides = [
                spread(
                    builder, builder.fpext(_at(builder, of(leaf, j, 8), FLOAT, side), DOUBLE), _GRID_DOUBLES
                )
                for side in (0, 1)
            ]
            after = builder.add(j, whole(1))
            return [builder.fadd(sums, builder.select(below, *sides)), after], builder.icmp_signed(
                "<", after, end
            )

        nothing = ir.Constant(_GRID_DOUBLES, [0.0] * GRID_LANES)
        sums, _ = loop(builder, "stumps", None, [nothing, first], add)
        store(builder, sums, total)
        return context.get_dummy_value()

    return types.void(*[ADDRESS] * 7, *[types.int64] * 2, ADDRESS), codegen


@instruction
def grid_contrasts(
    typing_context: Any,
    table: Any,
    squares: Any,
    right: Any,
    below: Any,
    area: Any,
    brightest: Any,
    least: Any,
    factor: Any,
) -> tuple[Any, Any]:
    """`contrast_of` GRID_LANES windows that follow each other; gives a bit for each that OpenCV looks at.

    ``table`` and ``squares`` are the addresses of the first one's upper left inner corner; ``right`` and
    ``below`` say how many bytes away the others are.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, squares, right, below, area, brightest, least, factor = args
        inner = []
        for first in (table, squares):
            lower = builder.add(first, below)
            at = [first, builder.add(first, right), lower, builder.add(lower, right)]
            a, b, c, d = (_at(builder, address, _GRID_INTS) for address in at)
            inner.append(builder.add(builder.sub(builder.sub(a, b), c), d))  # wraps around, as the tables did
        total = builder.sitofp(inner[0], _GRID_DOUBLES)
        areas = spread(builder, area, _GRID_DOUBLES)
        energy = builder.fmul(areas, builder.uitofp(inner[1], _GRID_DOUBLES))
        variation = builder.fsub(energy, builder.fmul(total, total))
        positive = builder.fcmp_ordered(">", variation, ir.Constant(_GRID_DOUBLES, [0.0] * GRID_LANES))
        kind = ir.FunctionType(_GRID_DOUBLES, [_GRID_DOUBLES])
        root = builder.module.declare_intrinsic(f"llvm.sqrt.v{GRID_LANES}f64", (), kind)
        one = ir.Constant(_GRID_DOUBLES, [1.0] * GRID_LANES)
        inverse = builder.fdiv(one, builder.call(root, [variation]))
        most = spread(builder, brightest, _GRID_DOUBLES)
        inverse = builder.select(builder.fcmp_ordered("<", inverse, most), inverse, most)
        plain = ir.Constant(_GRID_FLOATS, [1.0] * GRID_LANES)
        factors = builder.select(positive, builder.fptrunc(inverse, _GRID_FLOATS), plain)
        store(builder, factors, factor, align=4)
        reached = builder.fmul(areas, builder.fpext(factors, _GRID_DOUBLES))
        low = builder.fcmp_ordered("<", reached, spread(builder, least, _GRID_DOUBLES))
        bits = builder.bitcast(builder.and_(positive, low), ir.IntType(GRID_LANES))
        return builder.zext(bits, I64)

    return types.int64(*[ADDRESS] * 4, *[types.float64] * 3, ADDRESS), codegen


@instruction
def int_at(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """The 32-bit whole number at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sext(_at(builder, args[0], I32), I64)

    return types.int64(ADDRESS), codegen


@instruction
def single_at(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """The number in single precision at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _at(builder, args[0], FLOAT)

    return types.float32(ADDRESS), codegen


@instruction
def turn_tile(typing_context: Any, source: Any, stride: Any, out: Any) -> tuple[Any, Any]:
    """Make TILE_BYTES rows of as many bytes, ``stride`` apart, columns of a matrix WINDOW_LANES wide."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, stride, out = args
        rows = []
        for k in range(TILE_BYTES):
            address = builder.add(source, builder.mul(stride, whole(k)))
            rows.append(load(builder, address, _TILE_ROW, align=1))
        half = TILE_BYTES // 2
        mix = [at + side * TILE_BYTES for at in range(half) for side in (0, 1)]
        low = ir.Constant(ir.VectorType(I32, TILE_BYTES), mix)
        high = ir.Constant(ir.VectorType(I32, TILE_BYTES), [at + half for at in mix])
        for _ in range(TILE_BYTES.bit_length() - 1):  # each round interleaves the upper and the lower half
            rows = [
                builder.shuffle_vector(rows[k // 2], rows[k // 2 + half], high if k % 2 else low)
                for k in range(TILE_BYTES)
            ]
        for k, row in enumerate(rows):
            store(builder, row, builder.add(out, whole(k * WINDOW_LANES)), align=1)
        return context.get_dummy_value()

    return types.void(*[ADDRESS] * 3), codegen


@instruction
def add_pixel(typing_context: Any, pixels: Any, line: Any, above: Any, out: Any) -> tuple[Any, Any]:
    """Add WINDOW_LANES bytes to the sums of their lines, and write those plus what is above: one corner."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pixels, line, above, out = args
        pixel = builder.uitofp(load(builder, pixels, _BYTES, align=1), _FLOATS)
        total = builder.fadd(_at(builder, line, _FLOATS), pixel)
        store(builder, total, line, align=4)
        store(builder, builder.fadd(_at(builder, above, _FLOATS), total), out, align=4)
        return context.get_dummy_value()

    return types.void(*[ADDRESS] * 4), codegen


@instruction
def add_square(typing_context: Any, pixels: Any, total: Any) -> tuple[Any, Any]:
    """Add the squares of WINDOW_LANES bytes to WINDOW_LANES sums of 32 bits without sign."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pixel = builder.zext(load(builder, args[0], _BYTES, align=1), _INTS)
        store(builder, builder.add(_at(builder, args[1], _INTS), builder.mul(pixel, pixel)), args[1], align=4)
        return context.get_dummy_value()

    return types.void(ADDRESS, ADDRESS), codegen
