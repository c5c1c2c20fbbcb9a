"""Box filters: weighted sums of the pixels in upright rectangles, from integral images.

An integral image holds, for every corner between pixels, the sum of the pixels above and to the left; a
rectangle's sum then takes four of them. They are laid out corner by corner, (corners, rows), so that every
loop over images is contiguous. Every rounding is as written: what comes out for an image does not depend on
which ones are laid out with it.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Floats, Int8s, Int32s, Ints, Numbers, Reals, Singles, Words
from ocboost._kernels.compile import exact, plain

RECTS = 4  # rectangles of a filter, at most
FLAT = 1e-9  # a deviation this small, relative to the largest pixel, is rounding or nothing
MAX_PIXEL = 1e30  # pixels up to here: no sum of squares leaves the range of a double
BINS = 512  # of a filter's values, to bound how good it can be
APART = 1e-6  # single-precision values this close, relatively, are not cut


@plain
def lay_images(X: Reals, side: int, table: Numbers, scale: Floats) -> None:
    """Write the integral images of some rows into ``table``, ((side + 1)², rows), and 1/σ into ``scale``.

    σ is the standard deviation of an image's pixels, or 1 where that is almost nothing.
    """
    width = side + 1
    n_pixels = side * side
    for i in range(X.shape[0]):
        for x in range(width):
            table[x, i] = 0
        above = np.zeros(width)
        largest = 0.0
        for y in range(side):
            line = 0.0
            table[(y + 1) * width, i] = 0
            for x in range(side):
                pixel = np.float64(X[i, y * side + x])
                line += pixel
                largest = max(largest, abs(pixel))
                above[x + 1] += line
                table[(y + 1) * width + x + 1, i] = above[x + 1]
        mean = above[side] / n_pixels
        squares = 0.0
        for p in range(n_pixels):
            gap = np.float64(X[i, p]) - mean
            squares += gap * gap
        deviation = np.sqrt(squares / n_pixels)
        scale[i] = 1.0 / deviation if deviation > FLAT * largest else 1.0


@exact
def _add_rect(table: Numbers, width: int, rect: Int32s, weight: float, total: Floats) -> None:
    x, y, w, h = np.int64(rect[0]), np.int64(rect[1]), np.int64(rect[2]), np.int64(rect[3])
    upper_left, upper_right = table[y * width + x], table[y * width + x + w]
    lower_left, lower_right = table[(y + h) * width + x], table[(y + h) * width + x + w]
    for i in range(total.size):
        right = np.float64(lower_right[i]) - np.float64(upper_right[i])
        total[i] += weight * (right - (np.float64(lower_left[i]) - np.float64(upper_left[i])))


@plain
def filter_images(
    table: Numbers, scale: Floats, side: int, rects: Int32s, weight: Floats, total: Floats
) -> None:
    """One filter's values: Σ weight · (sum of the pixels in the rectangle), over σ."""
    total[:] = 0.0
    for r in range(RECTS):
        if rects[r, 2] > 0:
            _add_rect(table, side + 1, rects[r], weight[r], total)
    for i in range(total.size):
        total[i] *= scale[i]


@plain
def filter_each(
    table: Numbers, scale: Floats, side: int, rects: Int32s, weight: Floats, first: int, out: Reals
) -> None:
    """The values of J filters, into ``out``, (J, rows), from column ``first`` on, rounded to its type."""
    total = np.empty(min(table.shape[1], out.shape[1] - first))
    for j in range(rects.shape[0]):
        filter_images(table, scale, side, rects[j], weight[j], total)
        for i in range(total.size):
            out[j, first + i] = total[i]


@plain
def above_each(
    table: Numbers,
    scale: Floats,
    side: int,
    rects: Int32s,
    weight: Floats,
    theta: Floats,
    sign: Int8s,
    first: int,
    block: Int8s,
) -> None:
    """Answer sign_j where filter j's value is above theta_j, else -sign_j.

    The answers go into ``block``, (J, rows), from column ``first`` on.
    """
    total = np.empty(min(table.shape[1], block.shape[1] - first))
    for j in range(theta.size):
        filter_images(table, scale, side, rects[j], weight[j], total)
        for i in range(total.size):
            block[j, first + i] = sign[j] if total[i] > theta[j] else -sign[j]


@plain
def first_too_large(X: Reals) -> int:
    """Where in a flat array the first pixel is that is NaN, infinite or above 1e30; -1 if there is none."""
    for i in range(X.size):
        if not abs(X[i]) <= MAX_PIXEL:
            return i
    return -1


@plain
def first_not_whole(X: Reals, bound: float) -> int:
    """Where in a flat array the first number is that is not whole or above ``bound`` in size; or -1."""
    for i in range(X.size):
        if not abs(X[i]) <= bound or X[i] != np.floor(X[i]):
            return i
    return -1


@plain
def bound_scores(values: Singles, signed: Floats, bound: Floats) -> None:
    """What each filter's score in `best_thresholds` cannot exceed, without sorting its values.

    They are put into bins. Below a threshold inside a bin lie all the bins before, and of its own at most
    the positive weights, or at most the negative ones. Exact where the weights are whole numbers.
    """
    total = 0.0
    for i in range(signed.size):
        total += signed[i]
    negative, positive = np.empty(BINS), np.empty(BINS)
    for j in range(values.shape[0]):
        low, high = values[j, 0], values[j, 0]
        for i in range(signed.size):
            low, high = min(low, values[j, i]), max(high, values[j, i])
        lowest = np.float64(low)
        per_bin = BINS / (np.float64(high) - lowest) if high > low else 0.0
        negative[:] = 0.0
        positive[:] = 0.0
        for i in range(signed.size):
            b = min(int((np.float64(values[j, i]) - lowest) * per_bin), BINS - 1)
            if signed[i] > 0.0:
                positive[b] += signed[i]
            else:
                negative[b] += signed[i]
        best, before = abs(total), 0.0
        for b in range(BINS):
            best = max(best, abs(2.0 * (before + positive[b]) - total))
            best = max(best, abs(2.0 * (before + negative[b]) - total))
            before += positive[b] + negative[b]
        bound[j] = best


@plain
def pack(values: Singles, keys: Words) -> None:
    """Numbers that sort as the values do, (J, rows), with the row in their lower half."""
    for j in range(values.shape[0]):
        bits = values[j].view(np.uint32)
        for i in range(bits.size):
            b = np.uint64(bits[i])
            turned = b ^ np.uint64(0xFFFFFFFF) if b >> np.uint64(31) else b | np.uint64(0x80000000)
            keys[j, i] = turned << np.uint64(32) | np.uint64(i)


@plain
def best_thresholds(
    values: Singles, keys: Words, signed: Floats, score: Floats, theta: Floats, cut: Ints
) -> None:
    """Each filter's best threshold, halfway between two neighbours in the order of the sorted ``keys``.

    Cutting after place k puts the first k + 1 rows below; the score is by how much the signed weight below
    and above differ. Only values that are clearly apart are cut. Cut -1 puts all rows above.
    """
    total = 0.0
    for i in range(signed.size):
        total += signed[i]
    low = np.uint64(0xFFFFFFFF)
    for j in range(keys.shape[0]):
        best, at = abs(total), -1
        threshold = np.float64(values[j, np.int64(keys[j, 0] & low)]) - 1.0
        below = 0.0
        for k in range(signed.size - 1):
            row = np.int64(keys[j, k] & low)
            below += signed[row]
            found = abs(2.0 * below - total)
            if found > best:
                here = np.float64(values[j, row])
                there = np.float64(values[j, np.int64(keys[j, k + 1] & low)])
                if there - here > APART * max(abs(here), abs(there)):
                    best, at, threshold = found, k, 0.5 * (here + there)
        score[j], theta[j], cut[j] = best, threshold, at
