"""One round of GentleBoost over stumps on binned features: the stump of least weighted squared error.

A stump that cuts a feature after bin e answers the weighted mean of the labels on either side: L_y / L_w to
the left, R_y / R_w to the right. Its squared error is Σ w y² - L_y² / L_w - R_y² / R_w, so the best cut has
the greatest sum of the two quotients.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Floats, Ints
from ocboost._kernels.compile import exact, plain

LIGHTEST = 1e-12  # a side of less weight than this, all weights summing to one, answers 0


@exact
def _part(signed: float, weight: float) -> float:
    return signed * signed / weight if weight > LIGHTEST else 0.0


@exact
def _mean(signed: float, weight: float) -> float:
    return signed / weight if weight > LIGHTEST else 0.0


@plain
def gentle_stump(
    bins: Bytes, chosen: Ints, n_bins: int, weights: Floats, signed: Floats, sums: Floats, leaves: Floats
) -> tuple[int, int]:
    """The best stump over the chosen features: which of them, and after which bin it cuts.

    ``bins`` is (F, n), ``signed`` is w·y, ``sums`` room for 2 · n_bins numbers. Writes the two answers.
    Of equally good ones the first is taken.
    """
    n = weights.size
    best, at, cut = -1.0, 0, 0
    for k in range(chosen.size):
        row = bins[chosen[k]]
        for b in range(2 * n_bins):
            sums[b] = 0.0
        for i in range(n):
            bin_ = 2 * np.int64(row[i])
            sums[bin_] += weights[i]
            sums[bin_ + 1] += signed[i]
        all_w, all_y = 0.0, 0.0
        for b in range(n_bins):
            all_w += sums[2 * b]
            all_y += sums[2 * b + 1]
        left_w, left_y = 0.0, 0.0
        for b in range(n_bins - 1):
            left_w += sums[2 * b]
            left_y += sums[2 * b + 1]
            score = _part(left_y, left_w) + _part(all_y - left_y, all_w - left_w)
            if score > best:
                best, at, cut = score, chosen[k], b
                leaves[0] = _mean(left_y, left_w)
                leaves[1] = _mean(all_y - left_y, all_w - left_w)
    return at, cut


@plain
def reweigh(row: Bytes, cut: int, leaves: Floats, labels: Floats, weights: Floats, signed: Floats) -> None:
    """Multiply each weight by exp(-y · answer), and let the weights sum to one again."""
    smaller, larger = np.exp(-leaves[0]), np.exp(leaves[0])
    right_smaller, right_larger = np.exp(-leaves[1]), np.exp(leaves[1])
    total = 0.0
    for i in range(weights.size):
        if row[i] <= cut:
            weights[i] *= smaller if labels[i] > 0.0 else larger
        else:
            weights[i] *= right_smaller if labels[i] > 0.0 else right_larger
        total += weights[i]
    for i in range(weights.size):
        weights[i] /= total
        signed[i] = weights[i] * labels[i]
