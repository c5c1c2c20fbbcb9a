"""One-dimensional logistic regression: the scale and the shift that turn a score into log-odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# In units of examples. They keep both numbers finite where the score separates the classes, or where one of
# them has not come, and move them by less than a hundredth where a few hundred examples overlap.
RIDGE = np.array([0.1, 1e-3])
MOST_STEPS = 100
CLEARLY = 0.1  # log-odds for each standard deviation of the score


def scale_and_shift(
    scores: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float, bool]:
    """The log-odds a·s + b that fit the labels ±1 best, a >= 0; and whether a would be clearly negative.

    Newton's method on Σ w log(1 + exp(-y (a z + b))) + ½ (ρ_a a² + ρ_b b²), z the score at mean 0 and
    deviation 1, w at mean 1.

    >>> a, b, turned = scale_and_shift(np.array([-1.0, 1, 3, 5]), np.array([-1.0, 1, -1, 1]), np.ones(4))
    >>> bool(a > 0.2), turned
    (True, False)
    """
    weights = weights * (np.count_nonzero(weights) / weights.sum())
    unit = float(np.abs(scores).max()) or 1.0
    s = scores / unit
    mean = float(np.average(s, weights=weights))
    spread = float(np.sqrt(np.average((s - mean) ** 2, weights=weights)))
    rows = np.stack([np.zeros_like(s), np.ones_like(s)], axis=1)
    if spread > 1e-12:  # otherwise it says nothing
        rows[:, 0] = (s - mean) / spread
    found = _minimum(rows, labels, weights)
    turned = bool(found[0] < -CLEARLY)
    if found[0] < 0.0:
        rows[:, 0] = 0.0
        found = _minimum(rows, labels, weights)
    if not rows[:, 0].any():
        return 0.0, float(found[1]), turned
    return float(found[0] / spread / unit), float(found[1] - found[0] * mean / spread), False


def _minimum(
    rows: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    def loss(at: NDArray[np.float64]) -> float:
        return float(weights @ np.logaddexp(0.0, -labels * (rows @ at)) + 0.5 * RIDGE @ at**2)

    at = np.zeros(2)
    now = loss(at)
    for _ in range(MOST_STEPS):
        wrong = np.exp(-np.logaddexp(0.0, labels * (rows @ at)))  # the probability of the other label
        slope = RIDGE * at - rows.T @ (weights * labels * wrong)
        curvature = (rows.T * (weights * wrong * (1.0 - wrong))) @ rows + np.diag(RIDGE)
        step = np.linalg.solve(curvature, slope)
        length = 1.0
        while length > 1e-9 and not loss(at - length * step) < now:
            length /= 2.0
        if length <= 1e-9:  # no better: this is the minimum
            break
        at = at - length * step
        now = loss(at)
    return at
