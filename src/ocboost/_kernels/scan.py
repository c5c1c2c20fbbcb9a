"""A cascade slid over an image at many sizes, all in one call.

Windows are judged by stumps GRID_LANES at a time, those that follow each other in a line: what they load then
lies side by side. For that, lines of tables whose windows are two pixels apart hold even columns before odd
ones. A stage is computed for all of a block as long as any window of it is left.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Flags, Floats, Int32s, Ints, Numbers, UInt32s
from ocboost._kernels.cascade import (
    BRIGHTEST,
    LOW_CONTRAST,
    RECTS,
    Addresses,
    Parts,
    addresses_of,
    integrate_image,
    stage_sum,
)
from ocboost._kernels.compile import exact, plain
from ocboost._kernels.llvm_cascade import (
    GRID_LANES,
    grid_contrasts,
    int_at,
    sum_grid_stumps,
)
from ocboost._kernels.pyramid import shrink


@exact
def _column(x: int, half: int) -> int:
    """Where a column lies in a line of a table: even ones before odd ones, or in order if ``half`` is 0."""
    return (x & 1) * half + (x >> 1) if half else x


@plain
def corner_places(rects: Int32s, tilted: Flags, x: Int32s, y: Int32s, turned: Int32s) -> None:
    """Columns and lines of all corners as `cascade.corners` has them, and 1 for those in a turned table."""
    i = 0
    for f in range(rects.shape[0]):
        turned[i : i + 4 * RECTS] = tilted[f]
        for r in range(RECTS):
            left, top, w, h = rects[f, r, 0], rects[f, r, 1], rects[f, r, 2], rects[f, r, 3]
            x[i : i + 4], y[i : i + 4] = left, top
            if w == 0:  # unused: the sum of nothing
                x[i : i + 4] = y[i : i + 4] = turned[i : i + 4] = 0
            elif tilted[f]:
                x[i + 1], y[i + 1] = left - h, top + h
                x[i + 2], y[i + 2] = left + w, top + w
                x[i + 3], y[i + 3] = left + w - h, top + w + h
            else:
                x[i + 1] = x[i + 3] = left + w
                y[i + 2] = y[i + 3] = top + h
            i += 4


@plain
def lay_corners(x: Int32s, y: Int32s, turned: Int32s, step: int, behind: int, half: int, out: Int32s) -> None:
    """Where the corners lie in the table of one size."""
    odd, shift = np.int32(half > 0), np.int32(half > 0)
    wide, apart, away = np.int32(step), np.int32(half), np.int32(behind)
    for i in range(out.size):
        column = (x[i] & odd) * apart + (x[i] >> shift)
        out[i] = turned[i] * away + y[i] * wide + column


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
def _integrate_parted(image: Bytes, half: int, table: Int32s, squares: UInt32s) -> None:
    """`integrate_image` for upright features, with even columns before odd ones."""
    height, width = image.shape
    step = 2 * half
    table[:step] = 0
    squares[:step] = 0
    for y in range(height):
        line, square = np.int64(0), np.int64(0)
        at = (y + 1) * step
        table[at] = 0
        squares[at] = 0
        for x in range(width):
            pixel = np.int64(image[y, x])
            line += pixel
            square += pixel * pixel
            k = at + _column(x + 1, half)
            table[k] = table[k - step] + line
            squares[k] = np.int64(squares[k - step]) + square


@plain
def _lay_tables(image: Bytes, turned: bool, half: int, table: Int32s, squares: UInt32s) -> None:
    if not half:
        integrate_image(image, turned, table, squares)
    elif not turned:
        _integrate_parted(image, half, table, squares)
    else:
        rows, step = image.shape[0] + 1, image.shape[1] + 1
        whole, own_squares = np.empty(2 * rows * step, np.int32), np.empty(rows * step, np.uint32)
        integrate_image(image, turned, whole, own_squares)
        _part_columns(whole, 2 * rows, step, half, table)
        _part_columns(own_squares, rows, step, half, squares)


@exact
def _grid_sums(table: int, factor: int, at: Addresses, s: int, total: Floats) -> None:
    """The sums of one stage of stumps in GRID_LANES windows that follow each other."""
    sum_grid_stumps(
        table,
        factor,
        at.corners,
        at.weights,
        at.feature,
        at.threshold,
        at.leaf,
        int_at(at.stage_tree + 4 * s),
        int_at(at.stage_tree + 4 * s + 4),
        total.ctypes.data,
    )


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
    alive = np.empty(GRID_LANES, np.bool_)
    n_across = (across + stride - 1) // stride
    for y in range(0, down, stride):
        skipped = False
        upper, lower = (y + 1) * step, (y + height - 1) * step
        for first in range(0, n_across, GRID_LANES):
            n = min(GRID_LANES, n_across - first)
            inner = 4 * (upper + left + first)
            seen = grid_contrasts(
                table.ctypes.data + inner,
                squares.ctypes.data + inner,
                4 * (right - left),
                4 * (lower - upper),
                area,
                BRIGHTEST,
                LOW_CONTRAST,
                factor.ctypes.data,
            )
            windows = table.ctypes.data + 4 * (y * step + first)
            if stumps:
                _grid_sums(windows, factor.ctypes.data, at, 0, total)
            remaining = 0
            for i in range(n):
                alive[i] = ((seen >> i) & 1) != 0 and not skipped
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
    n_corners = 4 * RECTS * rects.shape[0]
    x, y = np.empty(n_corners, np.int32), np.empty(n_corners, np.int32)
    behind, corners = np.empty(n_corners, np.int32), np.empty(n_corners, np.int32)
    corner_places(rects, tilted, x, y, behind)
    count = 0
    for k in range(sizes.shape[0]):
        rows, columns, stride = sizes[k, 0], sizes[k, 1], sizes[k, 4]
        half = (columns + 2) // 2 if stride == 2 else 0
        step = 2 * half if half else columns + 1
        table = np.empty((2 if turned else 1) * (rows + 1) * step + GRID_LANES, np.int32)
        squares = np.empty((rows + 1) * step + GRID_LANES, np.uint32)
        if rows == image.shape[0] and columns == image.shape[1]:
            _lay_tables(image, turned, half, table, squares)
        else:
            small = np.empty((rows, columns), np.uint8)
            shrink(image, small)
            _lay_tables(small, turned, half, table, squares)
        lay_corners(x, y, behind, step, (rows + 1) * step, half, corners)
        count = _scan_size(
            table, squares, corners, parts, stumps, sizes[k], width, height, k, lowest, count, found, scores
        )
    return count
