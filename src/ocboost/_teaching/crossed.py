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
from scipy.special import expit

Floats = NDArray[np.float64]

TOLERANCE = 1e-5  # relative gain below which fitting ends
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
    answers: NDArray[np.float32],
    chances: Floats,
    weights: Floats,
    offset: Floats,
    penalty: float,
    start: Floats,
    iterations: int,
) -> Floats:
    """For each column w of the weights: minimise Σ w loss(p, offset + answers · θ + b) + penalty/2 |θ|².

    The loss is the cross-entropy of the ``chances`` p that a window is a face. Gives columns θ, b.

    Most answers are nearly always the same. Less their means they hardly depend on the intercept, which halves
    the number of steps, and more where the penalty is small.
    """
    shape = start.shape
    pulled = weights * chances[:, None]
    total = weights.sum(axis=1)
    means = (total.astype(np.float32) @ answers).astype(np.float64) / max(float(total.sum()), 1e-300)

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(shape)
        scores = answers @ theta[:-1].astype(np.float32) + (offset[:, None] + theta[-1] - means @ theta[:-1])
        value = float((weights * np.logaddexp(0.0, scores)).sum() - (pulled * scores).sum())
        pull = weights * expit(scores) - pulled
        sums = pull.sum(axis=0)
        slope = (answers.T @ pull.astype(np.float32)).astype(np.float64) - means[:, None] * sums
        slope += penalty * theta[:-1]
        return value + 0.5 * penalty * float((theta[:-1] ** 2).sum()), np.vstack([slope, sums]).ravel()

    begin = start.copy()
    begin[-1] += means @ start[:-1]
    found = minimize(
        loss,
        begin.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "ftol": TOLERANCE},
    )
    theta: Floats = found.x.reshape(shape)
    theta[-1] -= means @ theta[:-1]
    return theta
