"""An image made smaller, and rectangles that were found in it put together."""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Flags, Ints
from ocboost._kernels.compile import exact, plain


@exact
def _taps(size: int, new_size: int, place: Ints, share: Ints) -> None:
    """For each new pixel the old one to its left, and the share of the one to its right, in 256ths."""
    scale = 1.0 / (np.float64(new_size) / np.float64(size))
    for i in range(new_size):
        at = scale * (np.float64(i) + 0.5) - 0.5
        left = np.int64(np.floor(at))
        if left < 0 or size == 1:
            place[i], share[i] = 0, 0
        elif left >= size - 1:
            place[i], share[i] = size - 1, 0
        else:
            place[i], share[i] = left, np.int64(np.rint((at - np.float64(left)) * 256.0))


@plain
def shrink(image: Bytes, out: Bytes) -> None:
    """Resize with OpenCV's ``INTER_LINEAR_EXACT``: linear between pixels, in whole numbers."""
    height, width = image.shape
    new_height, new_width = out.shape
    left, right_share = np.empty(new_width, np.int64), np.empty(new_width, np.int64)
    top, lower_share = np.empty(new_height, np.int64), np.empty(new_height, np.int64)
    _taps(width, new_width, left, right_share)
    _taps(height, new_height, top, lower_share)
    lines = np.empty((2, new_width), np.int64)  # the two lines of the old image in use, at the new width
    have = np.full(2, -1, np.int64)
    for y in range(new_height):
        for k in range(2):
            line = min(top[y] + k, height - 1)
            if have[line % 2] == line:
                continue
            have[line % 2] = line
            for x in range(new_width):
                first, share = np.int64(image[line, left[x]]), right_share[x]
                second = np.int64(image[line, min(left[x] + 1, width - 1)])
                lines[line % 2, x] = (256 - share) * first + share * second
        upper, lower = lines[top[y] % 2], lines[min(top[y] + 1, height - 1) % 2]
        share = lower_share[y]
        for x in range(new_width):
            out[y, x] = np.uint8(((256 - share) * upper[x] + share * lower[x] + 32768) >> 16)


@exact
def _root(parent: Ints, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@plain
def label_similar(rects: Ints, eps: float, ends: Ints, label: Ints, counts: Ints) -> None:
    """Number the groups of rectangles that similar ones link, in the order they begin, and count them.

    Two are similar if each side of one is about where the other's is: ``eps`` is relative to their size. It
    is done for the first ``ends[t]`` rectangles, for each t: rising, so that no pair is compared twice.
    ``label[t]`` gets the numbers and ``counts[t]`` how many groups there are.
    """
    n = rects.shape[0]
    parent = np.arange(n)
    name = np.empty(n, np.int64)
    begin = 0
    for t in range(ends.size):
        for i in range(begin, ends[t]):
            for k in range(i):
                apart = eps * np.float64(min(rects[i, 2], rects[k, 2]) + min(rects[i, 3], rects[k, 3])) * 0.5
                right = abs(rects[i, 0] + rects[i, 2] - rects[k, 0] - rects[k, 2])
                below = abs(rects[i, 1] + rects[i, 3] - rects[k, 1] - rects[k, 3])
                if (
                    abs(rects[i, 0] - rects[k, 0]) <= apart
                    and abs(rects[i, 1] - rects[k, 1]) <= apart
                    and right <= apart
                    and below <= apart
                ):
                    parent[_root(parent, i)] = _root(parent, k)
        begin = ends[t]
        count = 0
        name[:begin] = -1
        for i in range(begin):
            root = _root(parent, i)
            if name[root] < 0:
                name[root] = count
                count += 1
            label[t, i] = name[root]
        counts[t] = count


@plain
def hide_inside(means: Ints, sizes: Ints, eps: float, small: int, hidden_by: Ints) -> None:
    """The size of the largest group that each one must give way to, or 0.

    A group gives way to one that it lies within, give or take, if that is larger, and larger than ``small``;
    a group below ``small`` gives way to any.
    """
    for g in range(sizes.size):
        hidden_by[g] = 0
        for k in range(sizes.size):
            if k == g or sizes[k] <= hidden_by[g]:
                continue
            if sizes[k] <= max(small, sizes[g]) and sizes[g] >= small:
                continue
            across = np.int64(np.rint(np.float64(means[k, 2]) * eps))
            down = np.int64(np.rint(np.float64(means[k, 3]) * eps))
            if (
                means[g, 0] >= means[k, 0] - across
                and means[g, 1] >= means[k, 1] - down
                and means[g, 0] + means[g, 2] <= means[k, 0] + means[k, 2] + across
                and means[g, 1] + means[g, 3] <= means[k, 1] + means[k, 3] + down
            ):
                hidden_by[g] = sizes[k]


@plain
def match_greedily(rows: Ints, columns: Ints, free_row: Flags, free_column: Flags) -> None:
    """Pair rows with columns one to one: of the pairs (rows[i], columns[i]) each in turn, if both are free.

    What gets a partner is no longer free.
    """
    for i in range(rows.size):
        if free_row[rows[i]] and free_column[columns[i]]:
            free_row[rows[i]] = free_column[columns[i]] = False
