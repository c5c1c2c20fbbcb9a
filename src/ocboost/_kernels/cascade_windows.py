"""What a cascade says to many windows of its size: WINDOW_LANES tables side by side, (corners, WINDOW_LANES).

All sums of pixels are whole numbers below 2²⁴, and exact in single precision, in which the tables are.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Flags, Floats, Int8s, Int32s, Ints, Reals, Singles
from ocboost._kernels.cascade import (
    RECTS,
    Addresses,
    Parts,
    addresses_of,
    contrast,
    contrast_of,
    integrate,
    passed_at,
    stage_sum,
)
from ocboost._kernels.compile import exact, plain
from ocboost._kernels.llvm_cascade import (
    TILE_BYTES,
    WINDOW_LANES,
    add_pixel,
    add_square,
    add_stump_of_three,
    add_stump_of_two,
    answer_of_three,
    answer_of_two,
    int_at,
    single_at,
    turn_tile,
)


@exact
def _lane_sums(table: int, factor: int, at: Addresses, s: int, total: Floats) -> None:
    """The sums of one stage of stumps in WINDOW_LANES windows, whose tables and factors are at addresses."""
    total[:] = 0.0
    sums = total.ctypes.data
    for j in range(int_at(at.stage_tree + 4 * s), int_at(at.stage_tree + 4 * s + 4)):
        f = int_at(at.feature + 4 * j)
        corner, weight, bar = at.corners + 48 * f, at.weights + 12 * f, single_at(at.threshold + 4 * j)
        left = np.float64(single_at(at.leaf + 8 * j))
        right = np.float64(single_at(at.leaf + 8 * j + 4))
        if single_at(weight + 8) != np.float32(0.0):
            add_stump_of_three(table, corner, weight, factor, bar, left, right, sums)
        else:
            add_stump_of_two(table, corner, weight, factor, bar, left, right, sums)


@plain
def turn_windows(X: Bytes, room: Bytes) -> None:
    """Write at most WINDOW_LANES rows of bytes as columns of ``room``; zeros fill it up."""
    n, pixels = X.shape
    done = 0
    if n == WINDOW_LANES:
        done = pixels - pixels % TILE_BYTES
        for i in range(0, WINDOW_LANES, TILE_BYTES):
            for p in range(0, done, TILE_BYTES):
                turn_tile(X.ctypes.data + i * pixels + p, pixels, room.ctypes.data + p * WINDOW_LANES + i)
    for p in range(done, pixels):
        for i in range(WINDOW_LANES):
            room[p, i] = X[i, p] if i < n else 0


@plain
def lay_bytes(
    X: Bytes, height: int, width: int, turned: bool, room: Bytes, table: Singles, factor: Singles, seen: Flags
) -> None:
    """Write the tables of at most WINDOW_LANES windows side by side, their factors, and which OpenCV sees.

    ``X`` holds the windows as rows, and ``room`` is for their pixels, (pixels, WINDOW_LANES).
    """
    turn_windows(X, room)
    step = width + 1
    line, squares = np.empty(WINDOW_LANES, np.float32), np.zeros(WINDOW_LANES, np.uint32)
    first, pixel, row = table.ctypes.data, room.ctypes.data, 4 * WINDOW_LANES
    table[:step] = 0
    for y in range(height):
        table[(y + 1) * step] = 0
        line[:] = 0
        for x in range(width):
            corner = first + (y * step + x + 1) * row
            add_pixel(pixel + (y * width + x) * WINDOW_LANES, line.ctypes.data, corner, corner + step * row)
            if 0 < y < height - 1 and 0 < x < width - 1:
                add_square(pixel + (y * width + x) * WINDOW_LANES, squares.ctypes.data)
    top, bottom, right = step + 1, (height - 1) * step + 1, width - 2
    for i in range(WINDOW_LANES):
        total = np.float64(table[bottom + right, i]) - np.float64(table[bottom, i])
        total -= np.float64(table[top + right, i]) - np.float64(table[top, i])
        area = np.float64((height - 2) * (width - 2))
        factor[i], seen[i] = contrast_of(area, total, np.float64(squares[i]))
    if turned:
        _lay_turned(room, height, width, table)


@plain
def _lay_turned(room: Bytes, height: int, width: int, table: Singles) -> None:
    """`_integrate_turned` for WINDOW_LANES windows side by side. All sums are whole, and exact."""
    step = width + 1
    start = (height + 1) * step
    table[start : start + step] = 0
    for y in range(1, height + 1):
        here, above, two_above = start + y * step, start + (y - 1) * step, start + (y - 2) * step
        table[here] = table[above + 1]
        for x in range(1, step):
            for i in range(WINDOW_LANES):
                total = table[above + x - 1, i] + np.float32(room[(y - 1) * width + x - 1, i])
                if y > 1:
                    total += np.float32(room[(y - 2) * width + x - 1, i])
                if x < width:
                    # What overlaps goes first: no sum on the way is larger than all pixels together.
                    if y > 1:
                        total -= table[two_above + x, i]
                    total += table[above + x + 1, i]
                table[here + x, i] = total


@plain
def sum_stages(windows: Bytes, turned: bool, stumps: bool, parts: Parts, stages: Ints, out: Floats) -> None:
    """Every window's sums of some stages, (n, stages), none of them rejecting. Any contrast is looked at."""
    n, height, width = windows.shape
    size = (height + 1) * (width + 1) * (2 if turned else 1)
    X = windows.reshape(n, height * width)
    at = addresses_of(parts, parts.corners)
    if not stumps:
        local = np.empty(size, np.int32)
        for i in range(n):
            integrate(windows[i], turned, np.int64(0), local)
            one = contrast(windows[i], np.int64(0), local)[0]
            for k in range(stages.size):
                out[i, k] = stage_sum(local.ctypes.data, one, at, stages[k])
        return
    room, table = (
        np.empty((height * width, WINDOW_LANES), np.uint8),
        np.empty((size, WINDOW_LANES), np.float32),
    )
    factor, seen, total = (
        np.empty(WINDOW_LANES, np.float32),
        np.empty(WINDOW_LANES, np.bool_),
        np.empty(WINDOW_LANES),
    )
    for first in range(0, n, WINDOW_LANES):
        lay_bytes(X[first : first + WINDOW_LANES], height, width, turned, room, table, factor, seen)
        for k in range(stages.size):
            _lane_sums(table.ctypes.data, factor.ctypes.data, at, stages[k], total)
            for i in range(min(WINDOW_LANES, n - first)):
                out[first + i, k] = total[i]


@plain
def count_passed(windows: Bytes, turned: bool, parts: Parts, passed: Int32s) -> None:
    """How many stages each window passes before it fails one; 0 for windows of low contrast."""
    n, height, width = windows.shape
    local = np.empty((height + 1) * (width + 1) * (2 if turned else 1), np.int32)
    at = addresses_of(parts, parts.corners)
    for i in range(n):
        integrate(windows[i], turned, np.int64(0), local)
        factor, seen = contrast(windows[i], np.int64(0), local)
        passed[i] = passed_at(local.ctypes.data, factor, at, parts.bar.size) if seen else 0


@plain
def _pass_stages(
    table: Singles, factor: Singles, window: Ints, parts: Parts, first: int, end: int, passed: Int32s
) -> None:
    """Let the windows in the lanes pass some stages, until none is left; lanes of window -1 are empty.

    Those that pass have ``passed`` raised to ``end``. Windows are in it only if they passed all before.
    """
    at = addresses_of(parts, parts.corners)
    total = np.empty(WINDOW_LANES)
    left = 0
    for i in range(WINDOW_LANES):
        if window[i] >= 0:
            left += 1
    for s in range(first, end):
        if left == 0:
            return
        _lane_sums(table.ctypes.data, factor.ctypes.data, at, s, total)
        for i in range(WINDOW_LANES):
            if window[i] >= 0 and passed[window[i]] == s:
                if total[i] < np.float64(parts.bar[s]):
                    left -= 1
                else:
                    passed[window[i]] = s + 1


@plain
def count_passed_in_lanes(windows: Bytes, turned: bool, parts: Parts, early: int, passed: Int32s) -> None:
    """`count_passed` for stumps. WINDOW_LANES windows go through the ``early`` stages side by side.

    Those that pass gather in another table, and go through the late stages together when it is full.
    """
    n, height, width = windows.shape
    size = (height + 1) * (width + 1) * (2 if turned else 1)
    n_stages = parts.bar.size
    X = windows.reshape(n, height * width)
    room, table = (
        np.empty((height * width, WINDOW_LANES), np.uint8),
        np.empty((size, WINDOW_LANES), np.float32),
    )
    factor, seen = np.empty(WINDOW_LANES, np.float32), np.empty(WINDOW_LANES, np.bool_)
    window, late = np.full(WINDOW_LANES, -1, np.int64), np.full(WINDOW_LANES, -1, np.int64)
    late_table, late_factor = np.zeros((size, WINDOW_LANES), np.float32), np.zeros(WINDOW_LANES, np.float32)
    count = 0
    passed[:] = 0
    for first in range(0, n, WINDOW_LANES):
        lay_bytes(X[first : first + WINDOW_LANES], height, width, turned, room, table, factor, seen)
        for i in range(WINDOW_LANES):
            window[i] = first + i if first + i < n and seen[i] else -1
        _pass_stages(table, factor, window, parts, 0, early, passed)
        for i in range(WINDOW_LANES):
            if window[i] < 0 or passed[window[i]] < early or early == n_stages:
                continue
            for c in range(size):
                late_table[c, count] = table[c, i]
            late_factor[count], late[count] = factor[i], window[i]
            count += 1
            if count == WINDOW_LANES:
                _pass_stages(late_table, late_factor, late, parts, early, n_stages, passed)
                count = 0
                late[:] = -1
    _pass_stages(late_table, late_factor, late, parts, early, n_stages, passed)


@plain
def lay_pixels(X: Reals, height: int, width: int, turned: bool, table: Floats, factor: Singles) -> None:
    """Write the tables of at most WINDOW_LANES rows of any pixels side by side, and their factors."""
    local = np.empty(table.shape[0])
    for i in range(X.shape[0]):
        window = X[i].reshape(height, width)
        integrate(window, turned, 0.0, local)
        factor[i] = contrast(window, 0.0, local)[0]
        for c in range(local.size):
            table[c, i] = local[c]


@plain
def answer_stumps(
    table: Singles,
    factor: Singles,
    corner: Int32s,
    weights: Singles,
    threshold: Singles,
    first: int,
    block: Int8s,
) -> None:
    """Answer -1 where feature j is below threshold j, else +1, into columns of ``block``, (J, rows)."""
    count = min(WINDOW_LANES, block.shape[1] - first)
    room = np.empty(WINDOW_LANES, np.int8)
    out = room.ctypes.data
    for j in range(threshold.size):
        at, weight = corner.ctypes.data + 48 * j, weights.ctypes.data + 12 * j
        if count == WINDOW_LANES:
            out = block.ctypes.data + j * block.shape[1] + first
        if weights[j, 2] != np.float32(0.0):
            answer_of_three(table.ctypes.data, at, weight, factor.ctypes.data, threshold[j], out)
        else:
            answer_of_two(table.ctypes.data, at, weight, factor.ctypes.data, threshold[j], out)
        if count < WINDOW_LANES:
            for i in range(count):
                block[j, first + i] = room[i]


@plain
def answer_any_pixels(
    table: Floats,
    factor: Singles,
    corner: Int32s,
    weights: Singles,
    threshold: Singles,
    first: int,
    block: Int8s,
) -> None:
    """`answer_stumps` for pixels that are not whole: their sums are taken in double precision."""
    for j in range(threshold.size):
        for i in range(min(WINDOW_LANES, block.shape[1] - first)):
            value = np.float32(0.0)
            for r in range(RECTS):
                k = 4 * r
                inside = table[corner[j, k + 3], i] - table[corner[j, k + 1], i]
                inside -= table[corner[j, k + 2], i] - table[corner[j, k], i]
                value += weights[j, r] * np.float32(inside)
            block[j, first + i] = -1 if value * factor[i] < threshold[j] else 1
