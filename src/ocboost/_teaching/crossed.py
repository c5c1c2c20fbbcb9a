"""Ridge logistic regression on all frames, and beside it on all but a part of them, for each part.

Windows of frames that were learnt from score higher, or lower, than windows of frames that come later; so a
threshold is set by what a model says that has not learnt the frame. All models are fitted in one go, which
takes hardly longer than one: the answers are what has to come from memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ocboost._kernels.logistic import loss_and_slopes

Floats = NDArray[np.float64]

TOLERANCE = 1e-6  # relative gain below which fitting ends
PARTS = 4  # frames next to each other are in the same part: they look alike
FEWEST = 8  # frames; of fewer, those that are left over would tell too little


def parts_of(frames: Sequence[int]) -> dict[int, int]:
    """Which part each frame is in, from 1 on; with few frames all are in part 0, which leaves nothing out.

    >>> parts_of([7, 2, 3])
    {2: 0, 3: 0, 7: 0}
    >>> list(parts_of(range(8)).values())
    [1, 1, 2, 2, 3, 3, 4, 4]
    """
    known = sorted(set(frames))
    if len(known) < FEWEST:
        return dict.fromkeys(known, 0)
    cut = np.array_split(np.array(known, np.int64), PARTS)
    return {frame: k + 1 for k, part in enumerate(cut) for frame in part.tolist()}


def crossed_logistic(
    answers: NDArray[np.int8],
    chances: Floats,
    weights: Floats,
    offset: Floats,
    penalty: float,
    start: Floats,
    iterations: int,
) -> Floats:
    """For each column w of the weights: minimise Σ w loss(p, offset + answers · θ + b) + penalty/2 |θ|².

    The loss is the cross-entropy of the ``chances`` p that a window is a face. Gives columns θ, b.

    Most answers are nearly always the same. Less their means they hardly depend on the intercept, which takes
    half as many steps, or fewer still where the penalty is small.
    """
    shape = weights.shape[1], answers.shape[1] + 1
    pulled = weights * chances[:, None]
    means = answers.sum(axis=0, dtype=np.int32) / max(len(answers), 1)
    slopes = np.empty((shape[0], answers.shape[1]), np.float32)
    sums = np.empty(shape[0])

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(shape)
        shifted = offset[:, None] + (theta[:, -1] - theta[:, :-1] @ means)
        narrow = theta[:, :-1].astype(np.float32)
        value = loss_and_slopes(answers, narrow, shifted, weights, pulled, slopes, sums)
        slope = np.empty(shape)
        slope[:, :-1] = slopes - sums[:, None] * means + penalty * theta[:, :-1]
        slope[:, -1] = sums
        return value + 0.5 * penalty * float((theta[:, :-1] ** 2).sum()), slope.ravel()

    begin = start.T.copy()
    begin[:, -1] += begin[:, :-1] @ means
    found = minimize(
        loss,
        begin.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "ftol": TOLERANCE},
    )
    theta: Floats = found.x.reshape(shape)
    theta[:, -1] -= theta[:, :-1] @ means
    return theta.T
