"""A graph of ONNX operators, built one call at a time. The package onnx is imported when first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, MissingExtraError

MAX_CONSTANT_BYTES = 1 << 30  # of all constants; a file of protobuf ends at twice that

Value = str  # the name of a tensor in a graph


def onnx(module: str = "") -> Any:
    """The package onnx or one of its modules: ``onnx("helper")`` is `onnx.helper`."""
    try:
        return import_module(f"onnx.{module}" if module else "onnx")
    except ImportError:
        raise MissingExtraError("onnx", "onnx", "Exporting to ONNX") from None


class Graph:
    """Operators in the order in which they run, and the constants that they read.

    What is computed twice is written once: the same operator on the same values is the same value. The body
    of a loop is a graph too, with the graph around it as its ``outer``, whose values it may read. ``taken``
    are the names of inputs and outputs.
    """

    def __init__(self, outer: Graph | None = None, taken: Iterable[Value] = ()) -> None:
        self.outer = outer
        self.taken = frozenset(taken)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._made: dict[Any, Value] = {}
        self._n = 0
        self._bytes = 0

    def fresh(self) -> Value:
        """A name that no other value has."""
        if self.outer is not None:
            return self.outer.fresh()
        self._n += 1
        name = f"#{self._n}"
        return self.fresh() if name in self.taken else name

    def once(self, key: Any, make: Callable[[], Value]) -> Value:
        """The value of this key, made when it is first asked for."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def constant(self, array: Any) -> Value:
        """An array as a value; equal ones are written once."""
        if self.outer is not None:
            return self.outer.constant(array)
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        is_text = array.dtype.kind == "O"
        key = (array.dtype.str, array.shape, tuple(array.tolist()) if is_text else array.tobytes())

        def make() -> Value:
            self._bytes += 0 if is_text else array.nbytes
            if self._bytes > MAX_CONSTANT_BYTES:
                raise InputError(
                    f"the hypotheses must take at most {MAX_CONSTANT_BYTES:,} bytes to be exported to ONNX; "
                    "these take more. Export a classifier of fewer or smaller ones."
                )
            name = self.fresh()
            self.constants.append(onnx("numpy_helper").from_array(array, name))
            return name

        return self.once(key, make)

    def op(
        self, kind: str, *inputs: Value | NDArray[Any] | np.generic, domain: str = "", **settings: Any
    ) -> Value:
        """The result of an operator; arrays among its inputs become constants.

        Operators are called as their results: onnxruntime 1.20 refuses some of those that it makes itself out
        of ones without names.
        """
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        key = (kind, domain, tuple(names), repr(sorted(settings.items())))

        def make() -> Value:
            name = self.fresh()
            self.nodes.append(onnx("helper").make_node(kind, names, [name], name, domain=domain, **settings))
            return name

        return self.once(key, make)

    def repeat(
        self, times: int, state: Value, dtype: np.dtype[Any], body: Callable[[Graph, Value, Value], Value]
    ) -> Value:
        """The state after ``body(graph, count, state)`` so many times; ``count`` is a scalar from 0 on."""
        helper = onnx("helper")
        inner = Graph(self)
        count, going, before = (inner.fresh() for _ in range(3))
        after = body(inner, count, before)
        still = inner.op("Identity", going)
        of_type = helper.np_dtype_to_tensor_dtype
        info = helper.make_tensor_value_info
        flag = of_type(np.dtype(np.bool_))
        graph = helper.make_graph(
            inner.nodes,
            "body",
            [
                info(count, of_type(np.dtype(np.int64)), []),
                info(going, flag, []),
                info(before, of_type(dtype), None),
            ],
            [info(still, flag, []), info(after, of_type(dtype), None)],
        )
        name = self.fresh()
        limit, start = self.constant(np.int64(times)), self.constant(np.bool_(True))
        self.nodes.append(helper.make_node("Loop", [limit, start, state], [name], name, body=graph))
        return name

    # What several kinds of hypotheses need ------------------------------------------------------------------

    def stack(self, parts: list[Value]) -> Value:
        """Lines under each other."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def last(self, values: Value, n: int) -> Value:
        """The last of n lines, as (1, …)."""
        return self.op("Gather", values, np.array([n - 1]), axis=0)

    def total(self, values: Value, n: int) -> Value:
        """The sum of n lines, (n, …), added one after the other, as (1, …).

        A cumulative sum has no freedom to add in another order, which ReduceSum and MatMul have: so the
        result is ours to the last bit.
        """
        return self.last(self.op("CumSum", values, np.int64(0)), n)
