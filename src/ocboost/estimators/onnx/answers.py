"""What hypotheses answer, in operators of ONNX: (J, rows) of truth values, true for +1.

All is computed as the kernels do it, with the same roundings: sums run over lines one after the other
(`Graph.total`), and no product is fused with a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.boxes import FLAT, RECTS
from ocboost._kernels.trees import measure_trees
from ocboost.errors import InputError
from ocboost.estimators.onnx.graph import Graph, Value, onnx
from ocboost.hypotheses import Balls, Boxes, Hypotheses, Joined, Stumps, Trees
from ocboost.hypotheses.base import rounded_down

FEATURES_AT_ONCE = 16  # of balls: their squared gaps to all centres are held at the same time


def answers(graph: Graph, X: Value, hypotheses: Hypotheses) -> Value:
    """The answers to rows X, (rows, F) of double, as (J, rows) of truth values."""
    answer = _ANSWERS.get(type(hypotheses))
    if answer is None:
        raise InputError(
            "hypotheses must be stumps, trees, balls or box filters, or several of these joined, to be "
            f"exported to ONNX; got {hypotheses.kind}. Fit a classifier with one of these."
        )
    return graph.once(("answers", id(hypotheses), X), lambda: answer(graph, X, hypotheses))


# Stumps and trees -----------------------------------------------------------------------------------------


def _lines(graph: Graph, X: Value, precision: str) -> Value:
    """The features, (F, rows), as double, or rounded to float32."""
    if precision == "single":
        X = graph.op("Cast", X, to=onnx().TensorProto.FLOAT)
    return graph.op("Transpose", X, perm=[1, 0])


def _limits(threshold: NDArray[np.float64], precision: str) -> NDArray[Any]:
    """What features of this precision are compared with."""
    return rounded_down(threshold) if precision == "single" else threshold


def _below(graph: Graph, x: Value, limit: Value, missing_left: Value | None) -> Value:
    """Where features are at most their limits; and, where ``missing_left`` is true, where they are NaN."""
    below = graph.op("LessOrEqual", x, limit)
    if missing_left is None:
        return below
    not_above = graph.op("Not", graph.op("Greater", x, limit))
    return graph.op("Or", below, graph.op("And", not_above, missing_left))


def _turned(graph: Graph, flags: Value, sign: NDArray[np.int8]) -> Value:
    """The flags as answers: those of sign -1 are turned round."""
    negative = sign < 0
    if not negative.any():
        return flags
    return graph.op("Not", flags) if negative.all() else graph.op("Xor", flags, negative[:, None])


def _stumps(graph: Graph, X: Value, stumps: Stumps) -> Value:
    x = graph.op("Gather", _lines(graph, X, stumps.precision), stumps.feature.astype(np.int32), axis=0)
    limit = graph.constant(_limits(stumps.threshold, stumps.precision)[:, None])
    missing_left = stumps.missing == stumps.left
    missing = graph.constant(missing_left[:, None]) if missing_left.any() else None
    return _turned(graph, _below(graph, x, limit, missing), stumps.left)


def _trees(graph: Graph, X: Value, trees: Trees) -> Value:
    """All trees are walked at once, level by level; who has come to a leaf stays there.

    Tables are read by GatherElements, with the places in one line: Gather takes ten times as long.
    """
    lines = _lines(graph, X, trees.precision)
    leaf, here = trees.feature < 0, np.arange(trees.feature.size, dtype=np.int32)
    feature = np.where(leaf, 0, trees.feature).astype(np.int32)
    limit = _limits(np.where(leaf, np.inf, trees.threshold), trees.precision)
    left, right = np.where(leaf, here, trees.left), np.where(leaf, here, trees.right)
    missing_left = trees.missing_left.astype(np.bool_)
    any_missing = bool(missing_left.any())
    shape, one_line = np.array([trees.root.size, -1]), np.array([-1])

    def start(values: NDArray[Any]) -> Value:
        return graph.constant(values[trees.root][:, None])

    x = graph.op("Gather", lines, feature[trees.root], axis=0)
    below = _below(graph, x, start(limit), start(missing_left) if any_missing else None)
    node = graph.op("Reshape", graph.op("Where", below, start(left), start(right)), one_line)

    def step(inner: Graph, count: Value, node: Value) -> Value:
        place = inner.op("Reshape", inner.op("GatherElements", feature, node), shape)
        x = inner.op("Reshape", inner.op("GatherElements", lines, place, axis=0), one_line)
        missing = inner.op("GatherElements", missing_left, node) if any_missing else None
        below = _below(inner, x, inner.op("GatherElements", limit, node), missing)
        children = (inner.op("GatherElements", side, node) for side in (left, right))
        return inner.op("Where", below, *children)

    depth, inner_nodes = np.empty((2, feature.size), np.int64)
    measure_trees(trees.left, trees.right, depth, inner_nodes)
    levels = int(depth[trees.root].max())
    if levels > 1:
        node = graph.repeat(levels - 1, node, here.dtype, step)
    found = [graph.op("GatherElements", column > 0, node) for column in trees.answer.T]
    return graph.stack([graph.op("Reshape", each, shape) for each in found])


# Balls ----------------------------------------------------------------------------------------------------


def _balls(graph: Graph, X: Value, balls: Balls) -> Value:
    """Σ_f (x_f - c_f)² >= theta², some features at a time."""
    F = balls.n_features
    lines = graph.op("Unsqueeze", _lines(graph, X, "double"), np.array([1]))
    centres = graph.constant(np.ascontiguousarray(balls.centre.T)[:, :, None])  # (F, J, 1)
    if balls.centre.dtype == np.float32:
        centres = graph.op("Cast", centres, to=onnx().TensorProto.DOUBLE)

    def squares(graph: Graph, begin: Value, end: Value) -> Value:
        some = [graph.op("Slice", each, begin, end, np.array([0])) for each in (lines, centres)]
        gap = graph.op("Sub", *some)
        return graph.op("Mul", gap, gap)

    size = min(F, FEATURES_AT_ONCE)
    squared = graph.total(
        squares(graph, graph.constant(np.array([0])), graph.constant(np.array([size]))), size
    )
    if size < F:

        def add(inner: Graph, count: Value, squared: Value) -> Value:
            chunk = inner.op("Unsqueeze", count, np.array([0]))
            begin = inner.op("Add", inner.op("Mul", chunk, np.array([size])), np.array([size]))
            some = squares(inner, begin, inner.op("Add", begin, np.array([size])))
            sums = inner.op("CumSum", inner.op("Concat", squared, some, axis=0), np.int64(0))
            return inner.op("Gather", sums, np.array([-1]), axis=0)

        squared = graph.repeat(-(-(F - size) // size), squared, np.dtype(np.float64), add)
    squared = graph.op("Squeeze", squared, np.array([0]))
    least = (balls.theta * balls.theta)[:, None]
    return _turned(graph, graph.op("GreaterOrEqual", squared, least), balls.sign)


# Box filters ----------------------------------------------------------------------------------------------


def _boxes(graph: Graph, X: Value, boxes: Boxes) -> Value:
    """From integral images with a margin of zeros, (side + 1, side + 1, rows)."""
    side = boxes.side
    n = side * side
    lines = _lines(graph, X, "double")
    images = graph.op("Reshape", lines, np.array([side, side, -1]))
    sums = graph.op("CumSum", graph.op("CumSum", images, np.int64(1)), np.int64(0))
    padded = graph.op("Pad", sums, np.array([1, 1, 0, 0, 0, 0]))
    table = graph.op("Reshape", padded, np.array([(side + 1) ** 2, -1]))
    count = np.float64(n)
    gap = graph.op("Sub", lines, graph.op("Div", graph.last(table, (side + 1) ** 2), count))
    squares = graph.total(graph.op("Mul", gap, gap), n)
    deviation = graph.op("Sqrt", graph.op("Div", squares, count))
    largest = graph.op("ReduceMax", graph.op("Abs", lines), axes=[0], keepdims=1)
    clear = graph.op("Greater", deviation, graph.op("Mul", largest, np.float64(FLAT)))
    scale = graph.op("Where", clear, graph.op("Div", np.float64(1.0), deviation), np.float64(1.0))

    def corner(x: NDArray[np.int32], y: NDArray[np.int32]) -> Value:
        return graph.op("Gather", table, (y * (side + 1) + x).astype(np.int32), axis=0)  # (J, rows)

    value = None
    for r in range(RECTS):
        x, y, w, h = boxes.rects[:, r].T
        if not w.any():
            continue
        right = graph.op("Sub", corner(x + w, y + h), corner(x + w, y))
        left = graph.op("Sub", corner(x, y + h), corner(x, y))
        part = graph.op("Mul", graph.op("Sub", right, left), boxes.weight[:, r, None])
        value = part if value is None else graph.op("Add", value, part)
    assert value is not None  # every filter has a rectangle
    above = graph.op("Greater", graph.op("Mul", value, scale), boxes.theta[:, None])
    return _turned(graph, above, boxes.sign)


def _joined(graph: Graph, X: Value, joined: Joined) -> Value:
    return graph.stack([answers(graph, X, each) for each in joined.sets])


_ANSWERS: dict[type[Hypotheses], Callable[[Graph, Value, Any], Value]] = {
    Stumps: _stumps,
    Trees: _trees,
    Balls: _balls,
    Boxes: _boxes,
    Joined: _joined,
}
