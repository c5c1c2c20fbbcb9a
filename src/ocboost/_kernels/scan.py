"""A cascade slid over an image at many sizes, all in one call.

Windows are judged by stumps GRID_LANES at a time, those that follow each other in a line: what they load then
lies side by side. For that, lines of tables whose windows are two pixels apart hold even columns before odd
ones. A stage is computed for all of a block as long as any window of it is left.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Flags, Floats, Int32s, Ints, Numbers, UInt32s
from ocboost._kernels.cascade import (
    RECTS,
    Addresses,
    Parts,
    addresses_of,
    contrast_of,
    integrate_image,
    stage_sum,
)
from ocboost._kernels.compile import exact, plain
from ocboost._kernels.llvm_cascade import (
    GRID_LANES,
    add_grid_stump_of_three,
    add_grid_stump_of_two,
    int_at,
    single_at,
)
from ocboost._kernels.pyramid import shrink


@exact
def _column(x: int, half: int) -> int:
    """Where a column lies in a line of a table: even ones before odd ones, or in order if ``half`` is 0."""
    return (x & 1) * half + (x >> 1) if half else x


@exact
def lay_corners(rects: Int32s, tilted: Flags, step: int, behind: int, half: int, out: Int32s) -> None:
    """`cascade.corners` for the table of one size."""
    for f in range(rects.shape[0]):
        for r in range(RECTS):
            x, y, w, h = rects[f, r, 0], rects[f, r, 1], rects[f, r, 2], rects[f, r, 3]
            k = 4 * r
            if w == 0:
                out[f, k : k + 4] = 0
            elif tilted[f]:
                out[f, k] = behind + y * step + _column(x, half)
                out[f, k + 1] = behind + (y + h) * step + _column(x - h, half)
                out[f, k + 2] = behind + (y + w) * step + _column(x + w, half)
                out[f, k + 3] = behind + (y + w + h) * step + _column(x + w - h, half)
            else:
                left, right = _column(x, half), _column(x + w, half)
                out[f, k], out[f, k + 1] = y * step + left, y * step + right
                out[f, k + 2], out[f, k + 3] = (y + h) * step + left, (y + h) * step + right


@exact
def _part_columns(table: Numbers, lines: int, step: int, half: int, out: Numbers) -> None:
    """Write a table with the even columns of each line before the odd ones."""
    for y in range(lines):
        old, new = y * step, 2 * y * half
        for k in range(step // 2):
            out[new + k] = table[old + 2 * k]
            out[new + half + k] = table[old + 2 * k + 1]
        if step % 2:
            out[new + half - 1] = table[old + step - 1]


@exact
def _grid_sums(table: int, factor: int, at: Addresses, s: int, total: Floats) -> None:
    """The sums of one stage of stumps in GRID_LANES windows that follow each other."""
    total[:] = 0.0
    sums = total.ctypes.data
    for j in range(int_at(at.stage_tree + 4 * s), int_at(at.stage_tree + 4 * s + 4)):
        f = int_at(at.feature + 4 * j)
        corner, weight, bar = at.corners + 48 * f, at.weights + 12 * f, single_at(at.threshold + 4 * j)
        left = np.float64(single_at(at.leaf + 8 * j))
        right = np.float64(single_at(at.leaf + 8 * j + 4))
        if single_at(weight + 8) != np.float32(0.0):
            add_grid_stump_of_three(table, corner, weight, factor, bar, left, right, sums)
        else:
            add_grid_stump_of_two(table, corner, weight, factor, bar, left, right, sums)


@plain
def _scan_size(
    table: Int32s,
    squares: UInt32s,
    corners: Int32s,
    parts: Parts,
    stumps: bool,
    size: Ints,
    width: int,
    height: int,
    number: int,
    lowest: float,
    count: int,
    found: Int32s,
    scores: Floats,
) -> int:
    """`scan` at one size, whose tables are given; what is found is written from ``count`` on."""
    columns, across, down, stride = size[1], size[2], size[3], size[4]
    half = (columns + 2) // 2 if stride == 2 else 0
    step = 2 * half if half else columns + 1
    at = addresses_of(parts, corners)
    last = parts.bar.size - 1
    bar = np.float64(parts.bar[last])
    area = np.float64((width - 2) * (height - 2))
    left, right = _column(1, half), _column(width - 1, half)
    total, factor = np.empty(GRID_LANES), np.empty(GRID_LANES, np.float32)
    seen, alive = np.empty(GRID_LANES, np.bool_), np.empty(GRID_LANES, np.bool_)
    n_across = (across + stride - 1) // stride
    for y in range(0, down, stride):
        skipped = False
        upper, lower = (y + 1) * step, (y + height - 1) * step
        for first in range(0, n_across, GRID_LANES):
            n = min(GRID_LANES, n_across - first)
            for i in range(GRID_LANES):
                x = first + i
                inside = np.int64(table[upper + left + x]) - np.int64(table[upper + right + x])
                inside += np.int64(table[lower + right + x]) - np.int64(table[lower + left + x])
                square = np.int64(squares[upper + left + x]) - np.int64(squares[upper + right + x])
                square += np.int64(squares[lower + right + x]) - np.int64(squares[lower + left + x])
                # Both have wrapped around with their tables, at 32 bits.
                factor[i], seen[i] = contrast_of(
                    area, np.float64(np.int32(inside)), np.float64(np.uint32(square))
                )
            windows = table.ctypes.data + 4 * (y * step + first)
            if stumps:
                _grid_sums(windows, factor.ctypes.data, at, 0, total)
            remaining = 0
            for i in range(n):
                alive[i] = seen[i] and not skipped
                skipped = False
                if alive[i]:
                    if not stumps:
                        total[i] = stage_sum(windows + 4 * i, factor[i], at, 0)
                    skipped = total[i] < np.float64(parts.bar[0])
                    alive[i] = not skipped or last == 0
                    remaining += alive[i]
            s = 1
            while remaining > 0 and s <= last:
                if stumps:
                    _grid_sums(windows, factor.ctypes.data, at, s, total)
                for i in range(n):
                    if alive[i]:
                        if not stumps:
                            total[i] = stage_sum(windows + 4 * i, factor[i], at, s)
                        if s < last and total[i] < np.float64(parts.bar[s]):
                            alive[i] = False
                            remaining -= 1
                s += 1
            if remaining > 0:
                for i in range(n):
                    if alive[i] and total[i] - bar >= lowest:
                        found[count, 0], found[count, 1] = stride * (first + i), y
                        found[count, 2], scores[count] = number, total[i] - bar
                        count += 1
    return count


@plain
def scan(
    image: Bytes,
    sizes: Ints,
    rects: Int32s,
    tilted: Flags,
    parts: Parts,
    stumps: bool,
    turned: bool,
    width: int,
    height: int,
    lowest: float,
    found: Int32s,
    scores: Floats,
) -> int:
    """Slide a window over an image at each size; write x, y, which size and score of those it finds.

    A size has the rows and columns that the image is shrunk to, where corners of windows end across and
    down, and how far apart they are. A score is the last stage's sum minus what it is compared with. Found
    are windows that pass all stages before the last, and whose score is at least ``lowest``; 0 is the cascade
    as it is. As in OpenCV, a window that fails the first stage lets the next one be skipped, whatever
    ``lowest`` is: if the last stage is the first, one whose score is below 0. ``found`` and ``scores`` have
    room for all of them. Says how many there are.
    """
    corners = np.empty((rects.shape[0], 4 * RECTS), np.int32)
    count = 0
    for k in range(sizes.shape[0]):
        rows, columns, stride = sizes[k, 0], sizes[k, 1], sizes[k, 4]
        tables = 2 if turned else 1
        step, lines = columns + 1, tables * (rows + 1)
        table = np.empty(lines * step + GRID_LANES, np.int32)
        squares = np.empty((rows + 1) * step + GRID_LANES, np.uint32)
        if rows == image.shape[0] and columns == image.shape[1]:
            integrate_image(image, turned, table, squares)
        else:
            small = np.empty((rows, columns), np.uint8)
            shrink(image, small)
            integrate_image(small, turned, table, squares)
        half = 0
        if stride == 2:
            half = (step + 1) // 2
            parted = np.empty(2 * lines * half + GRID_LANES, np.int32)
            parted_squares = np.empty(2 * (rows + 1) * half + GRID_LANES, np.uint32)
            _part_columns(table, lines, step, half, parted)
            _part_columns(squares, rows + 1, step, half, parted_squares)
            table, squares, step = parted, parted_squares, 2 * half
        lay_corners(rects, tilted, step, (rows + 1) * step, half, corners)
        count = _scan_size(
            table, squares, corners, parts, stumps, sizes[k], width, height, k, lowest, count, found, scores
        )
    return count
