"""What a cascade says to a window and finds in an image, in plain loops."""

from __future__ import annotations

import math

import numpy as np


def plain_sum(window, rect, tilted):
    """The sum of the pixels in a rectangle, pixel by pixel."""
    x, y, w, h = (int(v) for v in rect)
    total = 0
    if not w:
        return 0
    tips = [(x, y, 1), (x - h, y + h, -1), (x + w, y + w, -1), (x + w - h, y + w + h, 1)]
    for row in range(window.shape[0]):
        for column in range(window.shape[1]):
            if tilted:  # in the triangle above each of four tips, or not
                share = sum(s for a, b, s in tips if row < b and abs(column - a + 1) <= b - row - 1)
            else:
                share = int(x <= column < x + w and y <= row < y + h)
            total += share * window[row, column].item()
    return total


def plain_factor(window):
    """What a window's values are multiplied by, and whether it is looked at."""
    inner = window[1:-1, 1:-1].reshape(-1).tolist()
    area = float(len(inner))
    spread = area * sum(v * v for v in inner) - float(sum(inner)) ** 2
    if spread <= 0:
        return np.float32(1), False
    factor = np.float32(1.0 / np.sqrt(spread))
    return factor, area * float(factor) < 0.1


def plain_value(cascade, window, f, factor):
    value = np.float32(0)
    for r in range(3):
        inside = plain_sum(window, cascade.rects[f, r], cascade.tilted[f])
        value = np.float32(value + np.float32(cascade.weights[f, r] * np.float32(inside)))
    return np.float32(value * factor)


def plain_stage_sum(cascade, window, s):
    factor, _ = plain_factor(window)
    total = 0.0
    for t in range(cascade.stage_tree[s], cascade.stage_tree[s + 1]):
        node = 0
        while True:
            n = cascade.tree_node[t] + node
            value = plain_value(cascade, window, cascade.node_feature[n], factor)
            node = cascade.node_left[n] if value < cascade.node_threshold[n] else cascade.node_right[n]
            if node <= 0:
                break
        total += float(cascade.leaf[cascade.tree_leaf[t] - node])
    return total


def plain_passed(cascade, window):
    if not plain_factor(window)[1]:
        return 0
    for s in range(cascade.n_stages):
        if plain_stage_sum(cascade, window, s) < float(
            np.float32(cascade.stage_threshold[s] - np.float32(1e-5))
        ):
            return s
    return cascade.n_stages


def plain_shrink(image, new_height, new_width):
    """Linear between pixels, shares in 256ths, rounded at the end."""

    def taps(size, new_size):
        for i in range(new_size):
            at = (1.0 / (new_size / size)) * (i + 0.5) - 0.5
            left = math.floor(at)
            if left < 0 or size == 1:
                yield 0, 0, 0
            elif left >= size - 1:
                yield size - 1, size - 1, 0
            else:
                yield left, left + 1, round((at - left) * 256)

    out = np.empty((new_height, new_width), np.uint8)
    for y, (top, below, down) in enumerate(taps(image.shape[0], new_height)):
        for x, (left, right, across) in enumerate(taps(image.shape[1], new_width)):
            upper = (256 - across) * int(image[top, left]) + across * int(image[top, right])
            lower = (256 - across) * int(image[below, left]) + across * int(image[below, right])
            out[y, x] = ((256 - down) * upper + down * lower + 32768) >> 16
    return out


def plain_candidates(cascade, image, factor):
    """Every window at every scale, cut out and judged by itself."""
    height, width = image.shape
    scale, found, stripes = 1.0, [], None
    while round(cascade.width * scale) <= width and round(cascade.height * scale) <= height:
        single = np.float32(scale)
        columns, rows = (int(np.rint(np.float32(side) / single)) for side in (width, height))
        small = plain_shrink(image, rows, columns)
        stride = 1 if single >= 2 else 2
        down, across = rows + 1 - cascade.height, columns + 1 - cascade.width
        stripes = stripes or math.ceil(across / 32)
        lines = stripes * max((down // stride + stripes - 1) // stripes, 1) * stride
        for y in range(0, min(down, lines), stride):
            x = 0
            while x < across:
                window = small[y : y + cascade.height, x : x + cascade.width]
                count = plain_passed(cascade, window)
                if count == cascade.n_stages:
                    corner = [int(np.rint(np.float32(v) * single)) for v in (x, y)]
                    size = [int(np.rint(np.float32(v) * single)) for v in (cascade.width, cascade.height)]
                    found.append((*corner, *size))
                elif count == 0 and plain_factor(window)[1]:
                    x += stride
                x += stride
        scale *= factor
    return found


def plain_groups(rects, min_neighbors, eps=0.2):
    """Groups by walking from one rectangle to all similar ones."""

    def similar(a, b):
        apart = eps * (min(a[2], b[2]) + min(a[3], b[3])) * 0.5
        sides = [abs(a[0] - b[0]), abs(a[1] - b[1])]
        sides += [abs(a[0] + a[2] - b[0] - b[2]), abs(a[1] + a[3] - b[1] - b[3])]
        return max(sides) <= apart

    groups, left = [], list(range(len(rects)))
    while left:
        group = [left.pop(0)]
        for i in group:
            near = [k for k in left if similar(rects[i], rects[k])]
            left = [k for k in left if k not in near]
            group += near
        groups.append([rects[i] for i in group])
    means = []
    for group in groups:
        share = np.float32(1) / np.float32(len(group))
        means.append([int(np.rint(np.float32(sum(r[k] for r in group)) * share)) for k in range(4)])
    kept = []
    for a, (x, y, w, h) in enumerate(means):
        n = len(groups[a])
        hidden = n <= min_neighbors
        for b, (left_, top, width, height) in enumerate(means):
            m = len(groups[b])
            if b == a or m <= min_neighbors or not (m > max(3, n) or n < 3):
                continue
            dx, dy = round(width * eps), round(height * eps)
            across = x >= left_ - dx and x + w <= left_ + width + dx
            hidden |= across and y >= top - dy and y + h <= top + height + dy
        if not hidden:
            kept.append(((x, y, w, h), n))
    return kept


def plain_answers(cascade, windows):
    out = np.empty((len(windows), cascade.n_trees), np.int8)
    for i, window in enumerate(windows):
        factor, _ = plain_factor(window)
        for j in range(cascade.n_trees):
            value = plain_value(cascade, window, cascade.node_feature[j], factor)
            out[i, j] = -1 if value < cascade.node_threshold[j] else 1
    return out
