"""Inner loops written in LLVM's vector instructions: eight doubles, or 64 bytes, at a time.

Margins are bits. A byte of them, read as a mask of eight lanes, says which of eight doubles take part in
an addition: with AVX-512 that is one masked instruction, and LLVM spells it out elsewhere. numba's own
loops over the same bits are not vectorised, and are five to ten times slower. Addresses are passed as
integers (``array.ctypes.data``); the caller answers for their being in range.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from ocboost._kernels.compile import instruction

LANES = 8
COLUMNS = 64  # one word of bits

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)
_GROUPS = COLUMNS // LANES


def _int(value: int) -> Any:
    return ir.Constant(_I64, value)


def _load(builder: Any, address: Any, of: Any) -> Any:
    return builder.load(builder.inttoptr(address, ir.PointerType(of)), align=8)


def _store(builder: Any, value: Any, address: Any) -> None:
    builder.store(value, builder.inttoptr(address, ir.PointerType(value.type)), align=8)


def _spread(builder: Any, scalar: Any) -> Any:
    """Put one double into every lane."""
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, zeros)


def _sum_of_lanes(builder: Any, vector: Any) -> Any:
    total = builder.extract_element(vector, ir.Constant(_I32, 0))
    for lane in range(1, LANES):
        total = builder.fadd(total, builder.extract_element(vector, ir.Constant(_I32, lane)))
    return total


def _mask_at(builder: Any, word: Any, group: int) -> Any:
    """Bits ``8·group`` to ``8·group + 7`` of the word at an address, as a mask of lanes.

    Loading the byte is cheaper than loading the word and shifting it.
    """
    pointer = builder.inttoptr(builder.add(word, _int(group)), ir.PointerType(_I8))
    return builder.bitcast(builder.load(pointer, align=1), _MASK)


def _add_by_bits(groups: int) -> Any:
    """`add_by_bits` for the first ``8 · groups`` columns."""

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, weights, scale, columns, members = args
        before = builder.block
        start = [_load(builder, builder.add(out, _int(64 * g)), _VECTOR) for g in range(groups)]
        loop = builder.append_basic_block("members")
        done = builder.append_basic_block("members.done")
        builder.cbranch(builder.icmp_unsigned("!=", members, _int(0)), loop, done)

        builder.position_at_end(loop)
        left = builder.phi(_I64)
        left.add_incoming(members, before)
        sums = [builder.phi(_VECTOR) for _ in range(groups)]
        for phi, value in zip(sums, start, strict=True):
            phi.add_incoming(value, before)
        i = builder.cttz(left, ir.Constant(ir.IntType(1), 1))
        offset = builder.shl(i, _int(3))
        weight = builder.fmul(_load(builder, builder.add(weights, offset), _DOUBLE), scale)
        weight = _spread(builder, weight)
        word = builder.add(columns, offset)
        after = [
            builder.select(_mask_at(builder, word, g), builder.fadd(sums[g], weight), sums[g])
            for g in range(groups)
        ]
        rest = builder.and_(left, builder.sub(left, _int(1)))
        left.add_incoming(rest, loop)
        for phi, value in zip(sums, after, strict=True):
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_unsigned("!=", rest, _int(0)), loop, done)

        builder.position_at_end(done)
        finals = [builder.phi(_VECTOR) for _ in range(groups)]
        for g, phi in enumerate(finals):
            phi.add_incoming(start[g], before)
            phi.add_incoming(after[g], loop)
        for g, phi in enumerate(finals):
            _store(builder, phi, builder.add(out, _int(64 * g)))
        return context.get_dummy_value()

    return write


def _add_by_bits_signature() -> Any:
    address = types.intp
    return types.void(address, address, types.float64, address, types.uint64)


@instruction
def add_by_bits(
    typing_context: Any, out: Any, weights: Any, scale: Any, columns: Any, members: Any
) -> tuple[Any, Any]:
    """``out[k] += scale · weights[i]`` for each member i whose bit k of ``columns[i]`` is set.

    ``out`` has 64 doubles, ``weights`` 64 doubles and ``columns`` 64 words, one for each example;
    ``members`` is the word of examples that take part. The sum runs in order of i.
    """
    return _add_by_bits_signature(), _add_by_bits(_GROUPS)


@instruction
def add_by_bits_32(
    typing_context: Any, out: Any, weights: Any, scale: Any, columns: Any, members: Any
) -> tuple[Any, Any]:
    """`add_by_bits` for the first 32 columns only."""
    return _add_by_bits_signature(), _add_by_bits(_GROUPS // 2)


@instruction
def add_by_bits_16(
    typing_context: Any, out: Any, weights: Any, scale: Any, columns: Any, members: Any
) -> tuple[Any, Any]:
    """`add_by_bits` for the first 16 columns only."""
    return _add_by_bits_signature(), _add_by_bits(_GROUPS // 4)


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
    address, real = types.intp, types.float64
    signature = types.void(*[address] * 8, real, real, address)
    n_sums = 4  # per sign, to hide the latency of an addition

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        d, words, stride, first, n_ring, n_blocks, previous, current, if_right, if_wrong, out = args
        right, wrong = _spread(builder, if_right), _spread(builder, if_wrong)
        before = builder.block
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        loop = builder.append_basic_block("blocks")
        done = builder.append_basic_block("blocks.done")
        builder.cbranch(builder.icmp_signed(">", n_blocks, _int(0)), loop, done)

        builder.position_at_end(loop)
        b = builder.phi(_I64)
        b.add_incoming(_int(0), before)
        sums = [builder.phi(_VECTOR) for _ in range(2 * n_sums)]
        for phi in sums:
            phi.add_incoming(zero, before)
        place = builder.add(first, b)
        past = builder.icmp_signed(">=", place, n_ring)
        place = builder.select(past, builder.sub(place, n_ring), place)
        row = builder.add(words, builder.mul(place, stride))
        was = builder.add(row, builder.shl(previous, _int(3)))
        now = builder.add(row, builder.shl(current, _int(3)))
        block = builder.add(d, builder.shl(b, _int(9)))
        after = list(sums)
        for g in range(_GROUPS):
            at = builder.add(block, _int(64 * g))
            factor = builder.select(_mask_at(builder, was, g), right, wrong)
            x = builder.fmul(_load(builder, at, _VECTOR), factor)
            _store(builder, x, at)
            mask, s = _mask_at(builder, now, g), g % n_sums
            plus, minus = after[s], after[n_sums + s]
            after[s] = builder.select(mask, builder.fadd(plus, x), plus)
            after[n_sums + s] = builder.select(mask, minus, builder.fadd(minus, x))
        following = builder.add(b, _int(1))
        b.add_incoming(following, loop)
        for phi, value in zip(sums, after, strict=True):
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", following, n_blocks), loop, done)

        builder.position_at_end(done)
        finals = [builder.phi(_VECTOR) for _ in range(2 * n_sums)]
        for phi, value in zip(finals, after, strict=True):
            phi.add_incoming(zero, before)
            phi.add_incoming(value, loop)
        for side in range(2):
            parts = finals[side * n_sums : (side + 1) * n_sums]
            vector = builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))
            _store(builder, _sum_of_lanes(builder, vector), builder.add(out, _int(8 * side)))
        return context.get_dummy_value()

    return signature, codegen


_COUNTS = ir.VectorType(_I32, 2 * LANES)
_COUNT_MASK = ir.VectorType(ir.IntType(1), 2 * LANES)


@instruction
def add_counts_by_bits(
    typing_context: Any, out: Any, counts: Any, columns: Any, members: Any
) -> tuple[Any, Any]:
    """``out[k] += counts[i]`` for each member i whose bit k of ``columns[i]`` is set.

    ``out`` has 64 whole numbers of 32 bits, ``counts`` as many, ``columns`` 64 words, one for each example;
    ``members`` is the word of examples that take part, not empty. Whole numbers: the order of adding is no
    matter.
    """
    groups = COLUMNS // (2 * LANES)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, counts, columns, members = args
        before = builder.block

        def place(address: Any, of: Any) -> Any:
            return builder.inttoptr(address, ir.PointerType(of))

        start = [builder.load(place(builder.add(out, _int(64 * g)), _COUNTS), align=4) for g in range(groups)]
        loop = builder.append_basic_block("members")
        done = builder.append_basic_block("members.done")
        builder.branch(loop)

        builder.position_at_end(loop)
        left = builder.phi(_I64)
        left.add_incoming(members, before)
        sums = [builder.phi(_COUNTS) for _ in range(groups)]
        for phi, value in zip(sums, start, strict=True):
            phi.add_incoming(value, before)
        i = builder.cttz(left, ir.Constant(ir.IntType(1), 1))
        count = builder.load(place(builder.add(counts, builder.shl(i, _int(2))), _I32), align=4)
        empty = ir.Constant(_COUNTS, ir.Undefined)
        first = builder.insert_element(empty, count, ir.Constant(_I32, 0))
        spread = builder.shuffle_vector(first, empty, ir.Constant(_COUNTS, [0] * (2 * LANES)))
        word = builder.add(columns, builder.shl(i, _int(3)))
        after = []
        for g in range(groups):
            bits = builder.load(place(builder.add(word, _int(2 * g)), ir.IntType(16)), align=2)
            mask = builder.bitcast(bits, _COUNT_MASK)
            after.append(builder.select(mask, builder.add(sums[g], spread), sums[g]))
        rest = builder.and_(left, builder.sub(left, _int(1)))
        left.add_incoming(rest, loop)
        for phi, value in zip(sums, after, strict=True):
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_unsigned("!=", rest, _int(0)), loop, done)

        builder.position_at_end(done)
        for g, value in enumerate(after):
            builder.store(value, place(builder.add(out, _int(64 * g)), _COUNTS), align=4)
        return context.get_dummy_value()

    address = types.intp
    return types.void(address, address, address, types.uint64), codegen


@instruction
def dot_halves(typing_context: Any, halves: Any, numbers: Any, n_groups: Any) -> tuple[Any, Any]:
    """``Σ halves[k] · numbers[k]`` over ``8 · n_groups`` places; halves are the bits of float16, finite.

    The bits are moved to their places in a float32, whose exponent then is 112 too small: no instruction
    for halves is needed, which not every processor has.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        halves, numbers, n_groups = args
        small, wide = ir.VectorType(ir.IntType(16), LANES), ir.VectorType(_I32, LANES)
        floats = ir.VectorType(ir.FloatType(), LANES)
        before = builder.block
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        loop = builder.append_basic_block("halves")
        done = builder.append_basic_block("halves.done")
        builder.cbranch(builder.icmp_signed(">", n_groups, _int(0)), loop, done)

        builder.position_at_end(loop)
        g, total = builder.phi(_I64), builder.phi(_VECTOR)
        g.add_incoming(_int(0), before)
        total.add_incoming(zero, before)
        at = builder.inttoptr(builder.add(halves, builder.shl(g, _int(4))), ir.PointerType(small))
        bits = builder.zext(builder.load(at, align=2), wide)

        def all_lanes(value: int) -> Any:
            return ir.Constant(wide, [value] * LANES)

        size = builder.shl(builder.and_(bits, all_lanes(0x7FFF)), all_lanes(13))
        sign = builder.shl(builder.and_(bits, all_lanes(0x8000)), all_lanes(16))
        value = builder.fpext(builder.bitcast(builder.or_(size, sign), floats), _VECTOR)
        x = _load(builder, builder.add(numbers, builder.shl(g, _int(6))), _VECTOR)
        after = builder.fadd(total, builder.fmul(value, x))
        following = builder.add(g, _int(1))
        g.add_incoming(following, loop)
        total.add_incoming(after, loop)
        builder.cbranch(builder.icmp_signed("<", following, n_groups), loop, done)

        builder.position_at_end(done)
        final = builder.phi(_VECTOR)
        final.add_incoming(zero, before)
        final.add_incoming(after, loop)
        return builder.fmul(_sum_of_lanes(builder, final), ir.Constant(_DOUBLE, 2.0**112))

    address = types.intp
    return types.float64(address, address, address), codegen


_BYTES = ir.VectorType(_I8, COLUMNS)


def _bytes(value: int) -> Any:
    return ir.Constant(_BYTES, [value] * COLUMNS)


@instruction
def positive_bytes(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """A word whose bit i says whether the i-th of 64 signed bytes is positive."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], ir.PointerType(_BYTES))
        values = builder.load(pointer, align=1)
        return builder.bitcast(builder.icmp_signed(">", values, _bytes(0)), _I64)

    return types.uint64(types.intp), codegen


@instruction
def not_margins(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """A word whose bit i says whether the i-th of 64 signed bytes is neither -1 nor +1."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], ir.PointerType(_BYTES))
        values = builder.load(pointer, align=1)
        odd = builder.and_(builder.add(values, _bytes(1)), _bytes(-3))  # 0 for -1 and for +1 only
        return builder.bitcast(builder.icmp_signed("!=", odd, _bytes(0)), _I64)

    return types.uint64(types.intp), codegen


@instruction
def transpose_bits(typing_context: Any, source: Any, out: Any) -> tuple[Any, Any]:
    """Transpose 64 words of 64 bits: bit i of word k becomes bit k of word i.

    Six rounds; a round swaps, between the words k and k + h, the upper half of one with the lower half of
    the other, in pieces of h bits.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = ir.VectorType(_I64, COLUMNS)

        def spread(value: int) -> Any:
            return ir.Constant(words, [value] * COLUMNS)

        x = _load(builder, args[0], words)
        empty = ir.Constant(words, ir.Undefined)
        for h in (32, 16, 8, 4, 2, 1):
            low = sum(1 << b for b in range(64) if not b & h)  # the lower half of each piece of 2h bits
            indices = ir.Constant(ir.VectorType(_I32, COLUMNS), [k ^ h for k in range(COLUMNS)])
            y = builder.shuffle_vector(x, empty, indices)
            first = builder.or_(
                builder.and_(x, spread(low)),
                builder.shl(builder.and_(y, spread(low)), spread(h)),
            )
            second = builder.or_(
                builder.and_(x, spread(low << h)),
                builder.and_(builder.lshr(y, spread(h)), spread(low)),
            )
            which = ir.Constant(ir.VectorType(ir.IntType(1), COLUMNS), [not k & h for k in range(COLUMNS)])
            x = builder.select(which, first, second)
        _store(builder, x, args[1])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), codegen


@instruction
def prefetch(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """Ask for the cache line at an address, to be read soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer_type = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        name = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [pointer_type],
            ir.FunctionType(ir.VoidType(), [pointer_type, number, number, number]),
        )
        pointer = builder.inttoptr(args[0], pointer_type)
        # To be read, to be kept in every cache, data.
        builder.call(name, [pointer, ir.Constant(number, 0), ir.Constant(number, 3), ir.Constant(number, 1)])
        return context.get_dummy_value()

    return types.void(types.intp), codegen
