"""The area above the ROC curve, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError


def one_minus_auc(votes: NDArray[np.floating[Any]], positive: NDArray[np.bool_]) -> float:
    """The share of pairs, a positive and a negative each, that the votes put in the wrong order; ties half.

    Counted in whole numbers, so that areas of 1e-9 keep their digits, which 1 minus an area near 1 does not.

    Parameters
    ----------
    votes : ndarray of shape (n,)
        Higher for positives, if the votes are good.
    positive : ndarray of bool, shape (n,)
        At least one of each kind.

    Examples
    --------
    >>> one_minus_auc(np.array([0.9, 0.2, 0.5, 0.2]), np.array([True, True, False, False]))
    0.375
    """
    ours, others = votes[positive], np.sort(votes[~positive])
    if not ours.size or not others.size:
        raise InputError(
            f"positive must hold both kinds; got {ours.size} positives and {others.size} negatives. "
            "Test on both."
        )
    if not np.isfinite(votes).all():
        raise InputError("votes must be finite numbers. Look for NaN in the weights.")
    below = np.searchsorted(others, ours, "left") + np.searchsorted(others, ours, "right")
    pairs = 2 * ours.size * others.size
    return (pairs - int(below.sum())) / pairs
