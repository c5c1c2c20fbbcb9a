"""A hint for the compiler: which way is hardly ever taken."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from .compile import instruction


@instruction
def unlikely(typing_context: Any, condition: Any) -> tuple[Any, Any]:
    """The condition itself, expected to be false.

    Without it LLVM moves the divisions and exponentials of rare cases into the common path, to save a
    branch that is predicted right every time. Conditions are joined by ``|`` and ``&``: ``or`` and ``and``
    make branches of their own, which the hint would not reach.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        boolean = ir.IntType(1)
        expect = builder.module.declare_intrinsic(
            "llvm.expect", [boolean], ir.FunctionType(boolean, [boolean, boolean])
        )
        return builder.call(expect, [args[0], ir.Constant(boolean, 0)])

    return types.boolean(types.boolean), codegen


@instruction
def out_of_line(typing_context: Any) -> tuple[Any, Any]:
    """Keep the function this stands in from being copied into its callers: it is for rare cases."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        attributes = builder.function.attributes
        attributes.discard("alwaysinline")
        attributes.add("noinline")
        attributes.add("cold")
        return context.get_dummy_value()

    return types.void(), codegen
