"""Two inner loops written in LLVM's vector instructions, eight doubles at a time.

Margins are bits. A byte of them, read as a mask of eight lanes, says which of eight doubles take part in
an addition: with AVX-512 that is one masked instruction, and LLVM spells it out elsewhere. numba's own
loops over the same bits are not vectorised, and are five to ten times slower. Addresses are passed as
integers (``array.ctypes.data``); the caller answers for their being in range.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

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


def _mask(builder: Any, word: Any, group: int) -> Any:
    """Bits ``8·group`` to ``8·group + 7`` of a word, as a mask of lanes."""
    return builder.bitcast(builder.trunc(builder.lshr(word, _int(LANES * group)), _I8), _MASK)


@intrinsic  # type: ignore[untyped-decorator]
def add_by_bits(
    typing_context: Any, out: Any, weights: Any, scale: Any, columns: Any, members: Any, flip: Any
) -> tuple[Any, Any]:
    """``out[k] += scale · weights[i]`` for each member i whose bit k of ``columns[i] ^ flip`` is set.

    ``out`` has 64 doubles, ``weights`` 64 doubles and ``columns`` 64 words, one for each example;
    ``members`` is the word of examples that take part. The sum runs in order of i.
    """
    address, word = types.intp, types.uint64
    signature = types.void(address, address, types.float64, address, word, word)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, weights, scale, columns, members, flip = args
        before = builder.block
        start = [_load(builder, builder.add(out, _int(64 * g)), _VECTOR) for g in range(_GROUPS)]
        loop = builder.append_basic_block("members")
        done = builder.append_basic_block("members.done")
        builder.cbranch(builder.icmp_unsigned("!=", members, _int(0)), loop, done)

        builder.position_at_end(loop)
        left = builder.phi(_I64)
        left.add_incoming(members, before)
        sums = [builder.phi(_VECTOR) for _ in range(_GROUPS)]
        for phi, value in zip(sums, start, strict=True):
            phi.add_incoming(value, before)
        i = builder.cttz(left, ir.Constant(ir.IntType(1), 1))
        offset = builder.shl(i, _int(3))
        weight = builder.fmul(_load(builder, builder.add(weights, offset), _DOUBLE), scale)
        weight = _spread(builder, weight)
        word = builder.xor(_load(builder, builder.add(columns, offset), _I64), flip)
        after = [
            builder.select(_mask(builder, word, g), builder.fadd(sums[g], weight), sums[g])
            for g in range(_GROUPS)
        ]
        rest = builder.and_(left, builder.sub(left, _int(1)))
        left.add_incoming(rest, loop)
        for phi, value in zip(sums, after, strict=True):
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_unsigned("!=", rest, _int(0)), loop, done)

        builder.position_at_end(done)
        finals = [builder.phi(_VECTOR) for _ in range(_GROUPS)]
        for g, phi in enumerate(finals):
            phi.add_incoming(start[g], before)
            phi.add_incoming(after[g], loop)
        for g, phi in enumerate(finals):
            _store(builder, phi, builder.add(out, _int(64 * g)))
        return context.get_dummy_value()

    return signature, codegen


@intrinsic  # type: ignore[untyped-decorator]
def reweight_and_sum(
    typing_context: Any,
    d: Any,
    previous: Any,
    current: Any,
    stride: Any,
    n_blocks: Any,
    if_right: Any,
    if_wrong: Any,
    out: Any,
) -> tuple[Any, Any]:
    """Reweight d by one hypothesis and sum it by the next, in one pass over blocks of 64 examples.

    ``d[i] *= if_right if bit i of previous else if_wrong``; then ``out[0] += d[i]`` where bit i of
    current is set and ``out[1] += d[i]`` where it is not. ``previous`` and ``current`` are the addresses
    of the first block's words, ``stride`` the bytes from one block's word to the next's.
    """
    address, real = types.intp, types.float64
    signature = types.void(address, address, address, address, address, real, real, address)
    n_sums = 4  # per sign, to hide the latency of an addition

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        d, previous, current, stride, n_blocks, if_right, if_wrong, out = args
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
        jump = builder.mul(b, stride)
        was = _load(builder, builder.add(previous, jump), _I64)
        now = _load(builder, builder.add(current, jump), _I64)
        block = builder.add(d, builder.shl(b, _int(9)))
        after = list(sums)
        for g in range(_GROUPS):
            place = builder.add(block, _int(64 * g))
            factor = builder.select(_mask(builder, was, g), right, wrong)
            x = builder.fmul(_load(builder, place, _VECTOR), factor)
            _store(builder, x, place)
            mask, s = _mask(builder, now, g), g % n_sums
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
            a, b2, c, e = finals[side * n_sums : (side + 1) * n_sums]
            vector = builder.fadd(builder.fadd(a, b2), builder.fadd(c, e))
            total = builder.extract_element(vector, ir.Constant(_I32, 0))
            for lane in range(1, LANES):
                total = builder.fadd(total, builder.extract_element(vector, ir.Constant(_I32, lane)))
            place = builder.add(out, _int(8 * side))
            _store(builder, builder.fadd(_load(builder, place, _DOUBLE), total), place)
        return context.get_dummy_value()

    return signature, codegen
