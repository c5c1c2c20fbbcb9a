"""Balls in plain loops."""

from __future__ import annotations

import numpy as np


def plain_squared(x, c):
    total = 0.0
    for a, b in zip(x.tolist(), c.tolist(), strict=True):
        total += (a - b) * (a - b)
    return total


def plain_answers(balls, X):
    out = np.empty((X.shape[0], len(balls)), np.int8)
    for i, x in enumerate(X):
        for j, c in enumerate(balls.centre):
            far = plain_squared(x, c) >= float(balls.theta[j]) * float(balls.theta[j])
            out[i, j] = balls.sign[j] if far else -balls.sign[j]
    return out


def plain_best_cut(squared, signed):
    """The best cut of one candidate by trying each: the score, and the rows inside."""
    best, inside = abs(sum(signed)), set()
    for limit in sorted(set(squared.tolist()))[:-1]:
        near = {i for i, s in enumerate(squared) if s <= limit}
        score = abs(
            sum(signed[i] for i in near) - sum(signed[i] for i in range(len(signed)) if i not in near)
        )
        if score > best:
            best, inside = score, near
    return best, inside
