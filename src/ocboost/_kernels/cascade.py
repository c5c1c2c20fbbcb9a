"""Haar features of windows and images, with OpenCV's arithmetic.

A table holds an integral image, (height + 1) × (width + 1) corners, and behind it, where features are
tilted, one that is turned by 45°. A feature is up to three weighted rectangles, each of which takes four
corners of the table; `corners` says which. Sums of pixels are whole numbers and exact; what OpenCV computes
in single precision is computed in single precision here, in the same order.

Here is a single table, whose windows begin at an address. `cascade_windows` has many side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import Bytes, Flags, Int32s, Numbers, Singles, UInt32s, Whole
from ocboost._kernels.compile import exact, plain
from ocboost._kernels.llvm_cascade import int_at, single_at, value_of_three, value_of_two

RECTS = 3  # rectangles of a feature, at most
LOW_CONTRAST = 0.1  # OpenCV does not look at windows whose deviation is at most 10
BRIGHTEST = 3.4e38  # what divides by a contrast stays within single precision


class Parts(NamedTuple):
    """A cascade as the kernels take it. `corners` are those of the table they look into."""

    corners: Int32s  # (F, 12)
    weights: Singles  # (F, 3)
    feature: Int32s  # (N,)
    threshold: Singles  # (N,)
    children: Int32s  # (N, 2): above 0 a node of the tree, else minus a leaf of it
    leaf: Singles
    tree_node: Int32s
    tree_leaf: Int32s
    stage_tree: Int32s
    bar: Singles  # (S,): a sum below is rejected


def corners(rects: Int32s, tilted: Flags, step: int, behind: int) -> Int32s:
    """Where in a table each rectangle's corners lie: (F, 12), for each rectangle first, second, third, last.

    The sum of a rectangle is first - second - third + last. Tables have ``step`` corners in a row; the
    turned one begins at ``behind``.
    """
    x, y, w, h = np.moveaxis(rects.astype(np.int64), 2, 0)
    upright = np.stack([y * step + x, y * step + x + w, (y + h) * step + x, (y + h) * step + x + w], axis=2)
    turned = behind + np.stack(
        [y * step + x, (y + h) * step + x - h, (y + w) * step + x + w, (y + w + h) * step + x + w - h], axis=2
    )
    at = np.where(tilted[:, None, None], turned, upright)
    at[w == 0] = 0  # unused: the sum of nothing
    return np.ascontiguousarray(at.reshape(-1, 4 * RECTS).astype(np.int32))


@exact
def integrate(image: Numbers, turned: bool, zero: Whole, table: Numbers) -> None:
    """Write the integral image of an image into ``table``, and behind it the turned one if asked for.

    Sums have the type of ``zero``. What does not fit into a table of whole numbers wraps around, and
    differences are right again.
    """
    height, width = image.shape
    step = width + 1
    for x in range(step):
        table[x] = 0
    for y in range(height):
        line = zero
        at = (y + 1) * step
        table[at] = 0
        for x in range(width):
            line += image[y, x]
            table[at + x + 1] = table[at - step + x + 1] + line
    if turned:
        _integrate_turned(image, zero, table)


@exact
def _integrate_turned(image: Numbers, zero: Whole, table: Numbers) -> None:
    """Behind the upright table: at (x, y) the sum of the triangle whose tip is pixel (x - 1, y - 1)."""
    height, width = image.shape
    step = width + 1
    start = (height + 1) * step
    for x in range(step):
        table[start + x] = 0
    for y in range(1, height + 1):
        here, above, two_above = start + y * step, start + (y - 1) * step, start + (y - 2) * step
        table[here] = table[above + 1]
        for x in range(1, step):
            # Two triangles, one to either side, whose tips are a line higher, overlap in a third.
            total = zero + table[above + x - 1] + image[y - 1, x - 1]
            if y > 1:
                total += image[y - 2, x - 1]
            if x < width:
                total += table[above + x + 1]
                if y > 1:
                    total -= table[two_above + x]
            table[here + x] = total


@plain
def integrate_image(image: Bytes, turned: bool, table: Int32s, squares: UInt32s) -> None:
    """The tables of an image, and the integral image of its squared pixels."""
    integrate(image, turned, np.int64(0), table)
    height, width = image.shape
    step = width + 1
    for x in range(step):
        squares[x] = 0
    for y in range(height):
        line = np.int64(0)
        at = (y + 1) * step
        squares[at] = 0
        for x in range(width):
            line += np.int64(image[y, x]) * np.int64(image[y, x])
            squares[at + x + 1] = np.int64(squares[at - step + x + 1]) + line


@exact
def contrast_of(area: float, total: float, squares: float) -> tuple[np.float32, np.bool_]:
    """What a window's values are multiplied by, from its inner pixels; and whether OpenCV looks at it.

    The factor is 1 / √(area · Σ pixel² - (Σ pixel)²), or 1 where that is no number.
    """
    spread = area * squares - total * total
    if spread > 0.0:
        factor = np.float32(min(1.0 / np.sqrt(spread), BRIGHTEST))
        return factor, area * np.float64(factor) < LOW_CONTRAST
    return np.float32(1.0), np.bool_(False)


@exact
def contrast(window: Numbers, zero: Whole, table: Numbers) -> tuple[np.float32, np.bool_]:
    """`contrast_of` a whole window, whose table is given."""
    height, width = window.shape
    step = width + 1
    bottom, right = (height - 1) * step, width - 1
    total = (zero + table[bottom + right]) - (zero + table[bottom + 1])
    total -= (zero + table[step + right]) - (zero + table[step + 1])
    squares = zero
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            pixel = zero + window[y, x]
            squares += pixel * pixel
    return contrast_of(np.float64((height - 2) * (width - 2)), np.float64(total), np.float64(squares))


class Addresses(NamedTuple):
    """Where the arrays of `Parts` begin in memory: whoever holds these keeps the arrays alive."""

    corners: int
    weights: int
    feature: int
    threshold: int
    children: int
    leaf: int
    tree_node: int
    tree_leaf: int
    stage_tree: int
    bar: int


@exact
def addresses_of(parts: Parts, corners: Int32s) -> Addresses:
    """The addresses of a cascade's arrays, with the corners of the table in question."""
    return Addresses(
        corners.ctypes.data,
        parts.weights.ctypes.data,
        parts.feature.ctypes.data,
        parts.threshold.ctypes.data,
        parts.children.ctypes.data,
        parts.leaf.ctypes.data,
        parts.tree_node.ctypes.data,
        parts.tree_leaf.ctypes.data,
        parts.stage_tree.ctypes.data,
        parts.bar.ctypes.data,
    )


@exact
def stage_sum(window: int, factor: np.float32, at: Addresses, s: int) -> float:
    """The sum of the leaves that a window falls into, over a stage's trees; its table is at an address."""
    total = 0.0
    for t in range(int_at(at.stage_tree + 4 * s), int_at(at.stage_tree + 4 * s + 4)):
        root = int_at(at.tree_node + 4 * t)
        node = 0
        while True:
            n = root + node
            f = int_at(at.feature + 4 * n)
            corner, weight = at.corners + 48 * f, at.weights + 12 * f
            if single_at(weight + 8) != np.float32(0.0):
                value = value_of_three(window, corner, weight, factor)
            else:
                value = value_of_two(window, corner, weight, factor)
            node = int_at(at.children + 8 * n + (0 if value < single_at(at.threshold + 4 * n) else 4))
            if node <= 0:
                break
        total += np.float64(single_at(at.leaf + 4 * (int_at(at.tree_leaf + 4 * t) - node)))
    return total


@exact
def passed_at(window: int, factor: np.float32, at: Addresses, n_stages: int) -> int:
    """How many of the first stages a window passes before it fails one."""
    for s in range(n_stages):
        if stage_sum(window, factor, at, s) < np.float64(single_at(at.bar + 4 * s)):
            return s
    return n_stages
