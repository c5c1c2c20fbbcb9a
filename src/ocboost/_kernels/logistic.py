"""Logistic regression on answers of ±1: what several models lose, and where that falls, in one go.

Four rows are scored together, and then added to the slopes of all models while they are still in the cache:
the answers are read once, a byte each.
"""

from __future__ import annotations

import math

import numpy as np

from ocboost._kernels.arrays import Floats, Int8s, Singles
from ocboost._kernels.compile import helper, kernel

ROWS = 4


@helper
def _widen(answers: Int8s, row: Singles) -> None:
    for j in range(row.size):
        row[j] = np.float32(answers[j])


@kernel
def loss_and_slopes(
    answers: Int8s,
    theta: Singles,
    offset: Floats,
    weights: Floats,
    pulled: Floats,
    slopes: Singles,
    sums: Floats,
) -> float:
    """Σ w log(1 + exp F) - Σ pulled F, F = offset + answers · θ, over all rows and models.

    With ``pulled`` = w p that is the cross-entropy of the chances p. ``theta`` and ``slopes`` are (models,
    answers), the others (rows, models). In ``slopes`` goes what the loss changes by with θ, in ``sums`` what
    it changes by with F.
    """
    n, p = answers.shape
    m = theta.shape[0]
    rows = np.empty((ROWS, p), np.float32)
    pulls = np.empty((ROWS, m), np.float32)
    slopes[:] = np.float32(0.0)
    sums[:] = 0.0
    loss = 0.0
    for first in range(0, n, ROWS):
        held = min(ROWS, n - first)
        if held < ROWS:
            rows[:] = np.float32(0.0)
        for r in range(held):
            _widen(answers[first + r], rows[r])
        for k in range(m):
            a = b = c = d = np.float32(0.0)
            for j in range(p):
                t = theta[k, j]
                a += rows[0, j] * t
                b += rows[1, j] * t
                c += rows[2, j] * t
                d += rows[3, j] * t
            pulls[0, k], pulls[1, k], pulls[2, k], pulls[3, k] = a, b, c, d
        for r in range(ROWS):
            for k in range(m):
                if r >= held or weights[first + r, k] == 0.0:
                    pulls[r, k] = np.float32(0.0)
                    continue
                w, pull = weights[first + r, k], pulled[first + r, k]
                score = offset[first + r, k] + float(pulls[r, k])
                small = math.exp(-abs(score))
                loss += w * (max(score, 0.0) + math.log1p(small)) - pull * score
                change = w * ((1.0 if score >= 0.0 else small) / (1.0 + small)) - pull
                sums[k] += change
                pulls[r, k] = np.float32(change)
        for k in range(m):
            a, b, c, d = pulls[0, k], pulls[1, k], pulls[2, k], pulls[3, k]
            for j in range(p):
                slopes[k, j] += a * rows[0, j] + b * rows[1, j] + c * rows[2, j] + d * rows[3, j]
    return loss
