"""Eight margins of an example as one byte, its *code*: the loops over codes, 64 examples at a time.

The first of the eight coordinates is the code's highest bit. Every loop adds and multiplies in one order, on
any processor.
"""

from __future__ import annotations

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
    VECTOR,
    load,
    loop,
    repeated,
    store,
    sum_of_lanes,
    whole,
)

COPIES = LANES  # of the sums by code, one for each lane: an addition need not wait for the one before it
STRIDE = 264  # doubles from one copy to the next; with 256, every second copy would share its addresses' end

_WORDS = ir.VectorType(I64, LANES)


# An instruction without any flag inherits those of the kernel it is compiled into, and might be regrouped.
# This flag means that the sign of a zero is no matter, and every rounding stays as written.
_FLAGS = ("nsz",)


def _plus(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b, flags=_FLAGS)


def _times(builder: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b, flags=_FLAGS)


@instruction
def codes_of(typing_context: Any, words: Any, out: Any) -> tuple[Any, Any]:
    """Turn eight words, one for each coordinate, into 64 codes, one for each example.

    Bytes change places first, so that each piece of eight is a square of 8 × 8 bits. Three rounds transpose
    it; a round swaps pieces of 1, 2 and 4 bits across the diagonal.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = load(builder, args[0], BYTES)
        places = [8 * (7 - row) + square for square in range(8) for row in range(8)]
        indices = ir.Constant(ir.VectorType(I32, COLUMNS), places)
        x = builder.bitcast(builder.shuffle_vector(x, ir.Constant(BYTES, ir.Undefined), indices), _WORDS)
        for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
            by, where = repeated(shift, _WORDS), repeated(mask, _WORDS)
            swap = builder.and_(builder.xor(x, builder.lshr(x, by)), where)
            x = builder.xor(x, builder.xor(swap, builder.shl(swap, by)))
        store(builder, x, args[1])
        return context.get_dummy_value()

    return types.void(ADDRESS, ADDRESS), codegen


def _has_lookup(context: Any) -> bool:
    """Whether the processor looks up doubles in a table of sixteen by itself (AVX-512)."""
    return "+avx512f" in str(getattr(context.codegen(), "_tm_features", "")).split(",")


class _LookupTable:
    """Sixteen doubles, to be looked up by the lower or the upper half of eight codes."""

    def __init__(self, builder: Any, address: Any, *, wide: bool) -> None:
        self._builder, self._address = builder, address
        self._halves = [load(builder, builder.add(address, whole(64 * half)), VECTOR) for half in range(2)]
        self._wide = wide

    def at(self, indices: Any) -> Any:
        """What stands at the lower four bits of each index."""
        builder = self._builder
        if self._wide:  # one instruction, which looks at no other bits
            kind = ir.FunctionType(VECTOR, [VECTOR, _WORDS, VECTOR])
            lookup = builder.module.declare_intrinsic("llvm.x86.avx512.vpermi2var.pd.512", (), kind)
            return builder.call(lookup, [self._halves[0], indices, self._halves[1]])
        result = ir.Constant(VECTOR, ir.Undefined)
        for lane in range(LANES):
            place = ir.Constant(I32, lane)
            index = builder.and_(builder.extract_element(indices, place), whole(15))
            value = load(builder, builder.add(self._address, builder.shl(index, whole(3))), DOUBLE)
            result = builder.insert_element(result, value, place)
        return result


def _halves_of_codes(builder: Any, address: Any) -> tuple[Any, Any]:
    """Eight codes as indices whose lower four bits are the lower half, the upper half of the code."""
    codes = builder.zext(load(builder, address, ir.VectorType(I8, LANES), align=1), _WORDS)
    return codes, builder.lshr(codes, repeated(4, _WORDS))


def _multiply(builder: Any, args: Any, *, wide: bool) -> None:
    d, codes = args[:2]
    low, high = (_LookupTable(builder, address, wide=wide) for address in args[2:])
    for g in range(COLUMNS // LANES):
        at = builder.add(d, whole(8 * LANES * g))
        lower, upper = _halves_of_codes(builder, builder.add(codes, whole(LANES * g)))
        factor = _times(builder, high.at(upper), low.at(lower))
        store(builder, _times(builder, load(builder, at, VECTOR), factor), at)


def _score(builder: Any, args: Any, *, wide: bool) -> None:
    d, q, codes, tables = args
    low, high, low_score, high_score = (
        _LookupTable(builder, builder.add(tables, whole(128 * t)), wide=wide) for t in range(4)
    )
    for g in range(COLUMNS // LANES):
        at, out = (builder.add(address, whole(8 * LANES * g)) for address in (d, q))
        lower, upper = _halves_of_codes(builder, builder.add(codes, whole(LANES * g)))
        weight, factor = load(builder, at, VECTOR), high.at(upper)
        share = _plus(builder, high_score.at(upper), _times(builder, factor, low_score.at(lower)))
        store(builder, _plus(builder, load(builder, out, VECTOR), _times(builder, weight, share)), out)
        store(builder, _times(builder, weight, _times(builder, factor, low.at(lower))), at)


def _by_codes(write: Any, *, anywhere: bool) -> tuple[Any, Any]:
    """An instruction of four addresses; ``anywhere``: as it is on a processor that cannot look up doubles."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        write(builder, args, wide=not anywhere and _has_lookup(context))
        return context.get_dummy_value()

    return types.void(*[ADDRESS] * 4), codegen


@instruction
def multiply_by_codes(typing_context: Any, d: Any, codes: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """``d[i] *= high[code // 16] · low[code % 16]`` for 64 examples."""
    return _by_codes(_multiply, anywhere=False)


@instruction
def multiply_by_codes_anywhere(
    typing_context: Any, d: Any, codes: Any, low: Any, high: Any
) -> tuple[Any, Any]:
    """`multiply_by_codes`, without an instruction that not every processor has."""
    return _by_codes(_multiply, anywhere=True)


@instruction
def score_by_codes(typing_context: Any, d: Any, q: Any, codes: Any, tables: Any) -> tuple[Any, Any]:
    """Add up eight coordinates' share of the scores of 64 examples, and bring the weights past them.

    ``q[i] += d[i] · (high_score + high · low_score)``, then ``d[i] *= high · low``: the tables ``low``,
    ``high``, ``low_score`` and ``high_score`` lie one after the other, sixteen doubles each, and are
    looked up by the code's lower or upper half.
    """
    return _by_codes(_score, anywhere=False)


@instruction
def score_by_codes_anywhere(typing_context: Any, d: Any, q: Any, codes: Any, tables: Any) -> tuple[Any, Any]:
    """`score_by_codes`, without an instruction that not every processor has."""
    return _by_codes(_score, anywhere=True)


@instruction
def add_by_codes(typing_context: Any, sums: Any, d: Any, codes: Any) -> tuple[Any, Any]:
    """``sums[i % 8, code of i] += d[i]`` for 64 examples; the rows of ``sums`` are `STRIDE` apart."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums, d, codes = args
        for g in range(COLUMNS // LANES):
            # Eight codes at a time in a register: reading them singly takes longer.
            eight = load(builder, builder.add(codes, whole(LANES * g)), I64)
            for lane in range(LANES):
                code = builder.and_(builder.lshr(eight, whole(8 * lane)), whole(255))
                at = builder.add(builder.add(sums, whole(8 * STRIDE * lane)), builder.shl(code, whole(3)))
                weight = load(builder, builder.add(d, whole(8 * (LANES * g + lane))), DOUBLE)
                store(builder, _plus(builder, load(builder, at, DOUBLE), weight), at)
        return context.get_dummy_value()

    return types.void(*[ADDRESS] * 3), codegen


@instruction
def sum_of_eights(typing_context: Any, address: Any, n: Any) -> tuple[Any, Any]:
    """The sum of ``8 · n`` doubles, n at least 1: lane by lane, then the lanes in order."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, n = args

        def body(carried: list[Any]) -> tuple[list[Any], Any]:
            i, total = carried
            at = builder.add(address, builder.shl(i, whole(6)))
            total = _plus(builder, total, load(builder, at, VECTOR))
            following = builder.add(i, whole(1))
            return [following, total], builder.icmp_signed("<", following, n)

        enter = builder.icmp_signed("<", whole(1), n)
        _, total = loop(builder, "eights", enter, [whole(1), load(builder, address, VECTOR)], body)
        return sum_of_lanes(builder, total, _FLAGS)

    return types.float64(ADDRESS, ADDRESS), codegen
