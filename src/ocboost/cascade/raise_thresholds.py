"""Raising early stages' thresholds until a cascade is fast enough, where that loses the fewest faces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEP = 0.1  # by which a threshold is raised, in standard deviations of the faces' sums
BLUR = 0.25  # each face stands for others that lie about it, so many standard deviations away
FEW = 1e-9  # so that no loss at all is not divided by


def stumps_a_place(n_passed: NDArray[np.integer[Any]], sizes: Ints) -> float:
    """How many stumps OpenCV looks at for each place of a window in a picture.

    ``n_passed`` are the stages that windows drawn from pictures pass, ``sizes`` the stumps of each stage.
    After a window that fails the first stage one place is skipped.

    >>> stumps_a_place(np.array([0, 0, 1, 2]), np.array([10, 20]))
    13.333333333333334
    """
    looked_at = np.append(np.cumsum(sizes), np.sum(sizes))
    return float(looked_at[n_passed].mean()) / (1.0 + float((n_passed == 0).mean()))


def raised_thresholds(lowest: Floats, faces: Floats, windows: Floats, sizes: Ints, allowed: float) -> Floats:
    """Thresholds of all stages but the last with which a place costs at most ``allowed`` stumps.

    Step by step that threshold is raised which saves the most stumps for the faces it loses. Of the faces'
    sums, each blurred, those below a threshold count as lost. A stage that
    saves nothing is not raised.

    Parameters
    ----------
    lowest : shape (k,)
        The thresholds to begin with.
    faces : shape (n, k)
        Sums of the stages, of faces that should pass.
    windows : shape (m, k)
        Sums of windows drawn from pictures.
    sizes : shape (k + 1,)
        Stumps of the stages, the last one too.
    allowed : float
        As `stumps_a_place` counts them.
    """
    spread = np.maximum(faces.std(axis=0), FEW)
    highest = np.median(faces, axis=0)
    found = lowest.copy()

    def cost(thresholds: Floats) -> float:
        n_passed = np.logical_and.accumulate(windows >= thresholds, axis=1).sum(axis=1)
        return stumps_a_place(n_passed, sizes)

    def lost(k: int, threshold: float) -> float:
        return float(ndtr((threshold - faces[:, k]) / (BLUR * spread[k])).mean())

    def steps(k: int) -> float:
        """How many steps reject at least one more window."""
        come = np.logical_and.accumulate(windows >= found, axis=1)[:, k]
        if not come.any():
            return np.inf
        return float(np.floor((windows[come, k].min() - found[k]) / (STEP * spread[k])) + 1.0)

    now = cost(found) if len(windows) else 0.0
    while now > allowed:
        best, chosen, after = 0.0, found, now
        for ahead in (False, True):  # several steps at once only where no single one saves anything
            for k in range(len(found)):
                raised = found.copy()
                raised[k] += (steps(k) if ahead else 1.0) * STEP * spread[k]
                if raised[k] > highest[k]:
                    continue
                costs = cost(raised)
                gain = (now - costs) / (lost(k, raised[k]) - lost(k, found[k]) + FEW)
                if gain > best:
                    best, chosen, after = gain, raised, costs
            if best > 0.0:
                break
        if best <= 0.0:
            break
        found, now = chosen, after
    return found
