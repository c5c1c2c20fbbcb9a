"""Inner loops over bits in LLVM's vector instructions: eight doubles, or 64 bytes, at a time.

Margins are bits. A byte of them, read as a mask of eight lanes, says which of eight doubles take part in
an addition: with AVX-512 that is one masked instruction, and LLVM spells it out elsewhere. numba's own
loops over the same bits are not vectorised, and are five to ten times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from ocboost._kernels.compile import instruction
from ocboost._kernels.llvm import (
    ADDRESS,
    BYTES,
    COLUMNS,
    DOUBLE,
    I8,
    I32,
    I64,
    LANES,
    NO_DOUBLES,
    VECTOR,
    load,
    loop,
    repeated,
    spread,
    store,
    sum_of_lanes,
    whole,
)

_MASK = ir.VectorType(ir.IntType(1), LANES)
_GROUPS = COLUMNS // LANES


def _mask_at(builder: Any, word: Any, group: int) -> Any:
    """Bits ``8·group`` to ``8·group + 7`` of the word at an address, as a mask of lanes.

    Loading the byte is cheaper than loading the word and shifting it.
    """
    return builder.bitcast(load(builder, builder.add(word, whole(group)), I8, align=1), _MASK)


def _next_member(builder: Any, left: Any) -> tuple[Any, Any, Any]:
    """The lowest set bit of a word, the word without it, and whether that has any left."""
    i = builder.cttz(left, ir.Constant(ir.IntType(1), 1))
    rest = builder.and_(left, builder.sub(left, whole(1)))
    return i, rest, builder.icmp_unsigned("!=", rest, whole(0))


def _adding(groups: int) -> Callable[..., Any]:
    """`add_by_bits` for the first ``8 · groups`` columns."""

    def add(
        typing_context: Any, out: Any, weights: Any, scale: Any, columns: Any, members: Any
    ) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            out, weights, scale, columns, members = args
            places = [builder.add(out, whole(64 * g)) for g in range(groups)]

            def body(carried: list[Any]) -> tuple[list[Any], Any]:
                left, *sums = carried
                i, rest, again = _next_member(builder, left)
                offset = builder.shl(i, whole(3))
                weight = builder.fmul(load(builder, builder.add(weights, offset), DOUBLE), scale)
                weight = spread(builder, weight)
                word = builder.add(columns, offset)
                after = [
                    builder.select(_mask_at(builder, word, g), builder.fadd(sums[g], weight), sums[g])
                    for g in range(groups)
                ]
                return [rest, *after], again

            start = [load(builder, place, VECTOR) for place in places]
            enter = builder.icmp_unsigned("!=", members, whole(0))
            _, *finals = loop(builder, "members", enter, [members, *start], body)
            for value, place in zip(finals, places, strict=True):
                store(builder, value, place)
            return context.get_dummy_value()

        return types.void(ADDRESS, ADDRESS, types.float64, ADDRESS, types.uint64), codegen

    return add


# ``out[k] += scale · weights[i]`` for each member i whose bit k of ``columns[i]`` is set: for 64 columns k,
# or the first 32 or 16 of them. ``out`` has a double for each, ``weights`` 64 doubles and ``columns`` 64
# words, one for each example; ``members`` is the word of examples that take part. The sum runs in order of i.
add_by_bits = instruction(_adding(_GROUPS))
add_by_bits_32 = instruction(_adding(_GROUPS // 2))
add_by_bits_16 = instruction(_adding(_GROUPS // 4))


@instruction
def reweight_and_sum(
    typing_context: Any,
    d: Any,
    words: Any,
    stride: Any,
    first: Any,
    n_ring: Any,
    n_blocks: Any,
    previous: Any,
    current: Any,
    if_right: Any,
    if_wrong: Any,
    out: Any,
) -> tuple[Any, Any]:
    """Reweight d by one hypothesis and sum it by the next, in one pass over blocks of 64 examples.

    ``d[i] *= if_right if bit i of previous else if_wrong``; then ``out[0]`` is the sum of d[i] where bit i
    of current is set and ``out[1]`` where it is not. ``words`` is the address of a ring of ``n_ring`` blocks
    of ``stride`` bytes; the pass begins at block ``first``. The sums do not depend on where the ring wraps.
    """
    n_sums = 4  # per sign, to hide the latency of an addition

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        d, words, stride, first, n_ring, n_blocks, previous, current, if_right, if_wrong, out = args
        right, wrong = spread(builder, if_right), spread(builder, if_wrong)

        def body(carried: list[Any]) -> tuple[list[Any], Any]:
            b, *after = carried
            place = builder.add(first, b)
            past = builder.icmp_signed(">=", place, n_ring)
            place = builder.select(past, builder.sub(place, n_ring), place)
            row = builder.add(words, builder.mul(place, stride))
            was = builder.add(row, builder.shl(previous, whole(3)))
            now = builder.add(row, builder.shl(current, whole(3)))
            block = builder.add(d, builder.shl(b, whole(9)))
            for g in range(_GROUPS):
                at = builder.add(block, whole(64 * g))
                factor = builder.select(_mask_at(builder, was, g), right, wrong)
                x = builder.fmul(load(builder, at, VECTOR), factor)
                store(builder, x, at)
                mask, s = _mask_at(builder, now, g), g % n_sums
                plus, minus = after[s], after[n_sums + s]
                after[s] = builder.select(mask, builder.fadd(plus, x), plus)
                after[n_sums + s] = builder.select(mask, minus, builder.fadd(minus, x))
            following = builder.add(b, whole(1))
            return [following, *after], builder.icmp_signed("<", following, n_blocks)

        enter = builder.icmp_signed(">", n_blocks, whole(0))
        _, *sums = loop(builder, "blocks", enter, [whole(0), *[NO_DOUBLES] * (2 * n_sums)], body)
        for side in range(2):
            parts = sums[side * n_sums : (side + 1) * n_sums]
            vector = builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))
            store(builder, sum_of_lanes(builder, vector), builder.add(out, whole(8 * side)))
        return context.get_dummy_value()

    return types.void(*[ADDRESS] * 8, types.float64, types.float64, ADDRESS), codegen


@instruction
def add_counts_by_bits(
    typing_context: Any, out: Any, counts: Any, columns: Any, members: Any
) -> tuple[Any, Any]:
    """``out[k] += counts[i]`` for each member i whose bit k of ``columns[i]`` is set.

    ``out`` has 64 whole numbers of 32 bits, ``counts`` as many, ``columns`` 64 words, one for each example;
    ``members`` is the word of examples that take part, not empty. Whole numbers: the order of adding is no
    matter.
    """
    width = 2 * LANES
    numbers, mask = ir.VectorType(I32, width), ir.VectorType(ir.IntType(1), width)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, counts, columns, members = args
        places = [builder.add(out, whole(64 * g)) for g in range(COLUMNS // width)]

        def body(carried: list[Any]) -> tuple[list[Any], Any]:
            left, *sums = carried
            i, rest, again = _next_member(builder, left)
            count = load(builder, builder.add(counts, builder.shl(i, whole(2))), I32, align=4)
            count = spread(builder, count, numbers)
            word = builder.add(columns, builder.shl(i, whole(3)))
            after = []
            for g, total in enumerate(sums):
                bits = load(builder, builder.add(word, whole(2 * g)), ir.IntType(16), align=2)
                after.append(builder.select(builder.bitcast(bits, mask), builder.add(total, count), total))
            return [rest, *after], again

        start = [load(builder, place, numbers, align=4) for place in places]
        _, *sums = loop(builder, "members", None, [members, *start], body)
        for value, place in zip(sums, places, strict=True):
            store(builder, value, place, align=4)
        return context.get_dummy_value()

    return types.void(ADDRESS, ADDRESS, ADDRESS, types.uint64), codegen


@instruction
def dot_halves(typing_context: Any, halves: Any, numbers: Any, n_groups: Any) -> tuple[Any, Any]:
    """``Σ halves[k] · numbers[k]`` over ``8 · n_groups`` places; halves are the bits of float16, finite.

    The bits are moved to their places in a float32, whose exponent then is 112 too small: no instruction
    for halves is needed, which not every processor has.
    """
    small, wide = ir.VectorType(ir.IntType(16), LANES), ir.VectorType(I32, LANES)
    floats = ir.VectorType(ir.FloatType(), LANES)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        halves, numbers, n_groups = args

        def body(carried: list[Any]) -> tuple[list[Any], Any]:
            g, total = carried
            bits = load(builder, builder.add(halves, builder.shl(g, whole(4))), small, align=2)
            bits = builder.zext(bits, wide)
            size = builder.shl(builder.and_(bits, repeated(0x7FFF, wide)), repeated(13, wide))
            sign = builder.shl(builder.and_(bits, repeated(0x8000, wide)), repeated(16, wide))
            value = builder.fpext(builder.bitcast(builder.or_(size, sign), floats), VECTOR)
            x = load(builder, builder.add(numbers, builder.shl(g, whole(6))), VECTOR)
            following = builder.add(g, whole(1))
            after = builder.fadd(total, builder.fmul(value, x))
            return [following, after], builder.icmp_signed("<", following, n_groups)

        enter = builder.icmp_signed(">", n_groups, whole(0))
        _, total = loop(builder, "halves", enter, [whole(0), NO_DOUBLES], body)
        return builder.fmul(sum_of_lanes(builder, total), ir.Constant(DOUBLE, 2.0**112))

    return types.float64(ADDRESS, ADDRESS, ADDRESS), codegen


@instruction
def word_at(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """The word at any address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load(builder, args[0], I64, align=1)

    return types.uint64(ADDRESS), codegen


@instruction
def positive_bytes(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """A word whose bit i says whether the i-th of 64 signed bytes is positive."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = load(builder, args[0], BYTES, align=1)
        return builder.bitcast(builder.icmp_signed(">", values, repeated(0, BYTES)), I64)

    return types.uint64(ADDRESS), codegen


@instruction
def not_margins(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """A word whose bit i says whether the i-th of 64 signed bytes is neither -1 nor +1."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = builder.add(load(builder, args[0], BYTES, align=1), repeated(1, BYTES))
        odd = builder.and_(values, repeated(-3, BYTES))  # 0 for -1 and for +1 only
        return builder.bitcast(builder.icmp_signed("!=", odd, repeated(0, BYTES)), I64)

    return types.uint64(ADDRESS), codegen


@instruction
def transpose_bits(typing_context: Any, source: Any, out: Any) -> tuple[Any, Any]:
    """Transpose 64 words of 64 bits: bit i of word k becomes bit k of word i.

    Six rounds; a round swaps, between the words k and k + h, the upper half of one with the lower half of
    the other, in pieces of h bits.
    """
    words = ir.VectorType(I64, COLUMNS)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = load(builder, args[0], words)
        empty = ir.Constant(words, ir.Undefined)
        for h in (32, 16, 8, 4, 2, 1):
            low = sum(1 << b for b in range(64) if not b & h)  # the lower half of each piece of 2h bits
            by, lower, upper = (repeated(value, words) for value in (h, low, low << h))
            indices = ir.Constant(ir.VectorType(I32, COLUMNS), [k ^ h for k in range(COLUMNS)])
            y = builder.shuffle_vector(x, empty, indices)
            first = builder.or_(builder.and_(x, lower), builder.shl(builder.and_(y, lower), by))
            second = builder.or_(builder.and_(x, upper), builder.and_(builder.lshr(y, by), lower))
            which = ir.Constant(ir.VectorType(ir.IntType(1), COLUMNS), [not k & h for k in range(COLUMNS)])
            x = builder.select(which, first, second)
        store(builder, x, args[1])
        return context.get_dummy_value()

    return types.void(ADDRESS, ADDRESS), codegen


@instruction
def prefetch(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """Ask for the cache line at an address, to be read soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = I8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, I32, I32, I32])
        name = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        how = [ir.Constant(I32, number) for number in (0, 3, 1)]  # to be read, into every cache, data
        builder.call(name, [builder.inttoptr(args[0], pointer), *how])
        return context.get_dummy_value()

    return types.void(ADDRESS), codegen
