"""Box filters and their learner in plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ocboost.hypotheses import Boxes, all_boxes
from ocboost.hypotheses.boxes import boxes_at, n_boxes


def plain_deviation(image):
    pixels = [float(v) for v in image]
    total = 0.0
    for v in pixels:
        total += v
    mean = total / len(pixels)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in pixels) / len(pixels))
    return deviation if deviation > 1e-9 * max(map(abs, pixels)) else 1.0


def plain_value(image, rects, weight, side):
    """One filter's value, pixel by pixel."""
    raw = 0.0
    for (x, y, w, h), factor in zip(rects.tolist(), weight.tolist(), strict=True):
        inside = 0.0
        for row in range(y, y + h):
            for column in range(x, x + w):
                inside += float(image[row * side + column])
        raw += factor * inside if w else 0.0
    return raw / plain_deviation(image)


def plain_values(boxes, X):
    each = list(zip(boxes.rects, boxes.weight, strict=True))
    return np.array([[plain_value(x, r, w, boxes.side) for r, w in each] for x in X])


def plain_all(side):
    """Every filter as a set of rectangles with weights, by trying every rectangle for its cells."""
    shapes = [
        {(0, 0): 1, (1, 0): -1},
        {(0, 0): 1, (0, 1): -1},
        {(0, 0): 1, (1, 0): -2, (2, 0): 1},
        {(0, 0): 1, (0, 1): -2, (0, 2): 1},
        {(0, 0): 1, (1, 0): -1, (0, 1): -1, (1, 1): 1},
    ]
    found = set()
    for shape in shapes:
        for x in range(side):
            for y in range(side):
                for w in range(1, side + 1):
                    for h in range(1, side + 1):
                        cells = {(x + a * w, y + b * h, w, h, v) for (a, b), v in shape.items()}
                        if all(c[0] + w <= side and c[1] + h <= side for c in cells):
                            found.add(frozenset(cells))
    return found


def plain_best(X, signed, tried, side, taken=()):
    """The best score, and the first filter that has it, by trying each threshold of each filter."""
    rects, weight = all_boxes(side)
    best = (-1.0, None, None)
    for place in tried.tolist():
        values = [float(np.float32(plain_value(x, rects[place], weight[place], side))) for x in X]
        own = (abs(sum(signed)), (-1, 0.0), min(values) - 1.0)
        steps = sorted(set(values))
        for low, high in itertools.pairwise(steps):
            below = sum(s for v, s in zip(values, signed, strict=True) if v <= low)
            score = abs(2 * below - sum(signed))
            apart = high - low > 1e-6 * max(abs(low), abs(high))
            if score > own[0] and apart:
                own = (score, (place, (low + high) / 2), (low + high) / 2)
        if own[0] > best[0] and own[1] not in taken:
            best = (own[0], own[1], (place, own[2]))
    return best


def plain_learn(learner, X, y, J, rng):
    """The learner's rounds from its own draws, with weights kept by the textbook."""
    side, n = math.isqrt(X.shape[1]), y.size
    d, found, taken = np.full(n, 1.0 / n), [], set()
    for _ in range(J):
        reach = np.cumsum(d)
        drawn = np.minimum(np.searchsorted(reach, rng.random(learner.n_sample) * reach[-1], "right"), n - 1)
        tried = np.sort(rng.choice(n_boxes(side), learner.n_filters, replace=False, shuffle=False))
        rows = sorted(set(drawn.tolist()))
        signed = [float((drawn == i).sum() * y[i]) for i in rows]
        _, known_as, (place, threshold) = plain_best(X[rows], signed, tried, side, taken)
        taken.add(known_as)
        rects, weight = boxes_at(side, np.array([place]))
        answers = np.where(plain_values(Boxes(rects, weight, [0.0], side=side), X)[:, 0] > threshold, 1, -1)
        right, wrong = d[answers == y].sum(), d[answers != y].sum()
        sign = 1 if right >= wrong else -1
        α = 0.5 * math.log((right + 1.0 / n) / (wrong + 1.0 / n))
        d = d * np.exp(-α * answers * y)
        d /= d.sum()
        found.append((place, threshold, sign))
    return found
