"""Where to put the bars of a cascade, from the sums of faces and of others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..margins import as_number

Floats = NDArray[np.float64]


def for_hits(scores: Floats, rate: float) -> float:
    """The highest bar that at least this share of the scores reach.

    >>> for_hits(np.array([1.0, 2.0, 3.0, 4.0]), 0.75)
    2.0
    """
    rate = as_rate(rate, "hits")
    ordered = np.sort(scores)
    return float(ordered[int(np.floor((1.0 - rate) * ordered.size + 1e-9))])


def for_false_positives(scores: Floats, rate: float) -> float:
    """The lowest bar that at most this share of the scores reach.

    >>> for_false_positives(np.array([1.0, 2.0, 3.0, 4.0]), 0.25) > 3.0
    True
    """
    rate = as_rate(rate, "false_positives")
    allowed = int(np.floor(rate * scores.size + 1e-9))
    if allowed >= scores.size:
        return float(scores.min())
    # Just above the best of those that must not pass, in single precision, as a file holds it.
    best = np.float32(np.sort(scores)[::-1][allowed])
    return float(np.nextafter(best, np.float32(np.inf)))


def relaxed(sums: Floats, bars: NDArray[np.float32], rate: float) -> NDArray[np.float32]:
    """The stages' bars, lowered until this share of the faces passes all of them; none is raised.

    All stages are lowered to the same rank among their own sums, so that stages on different scales share
    the faces that are given up.

    Parameters
    ----------
    sums : array of shape (n, S)
        Each face's sum in each stage.
    bars : array of shape (S,)
    rate : float
        Above 0, at most 1.
    """
    rate = as_rate(rate, "pass_rate")
    if not len(sums):
        raise InputError("sums must hold those of at least one face. Show the adapter some faces first.")
    ordered = np.sort(sums, axis=0)
    ranks = np.stack(
        [np.searchsorted(column, values) for column, values in zip(ordered.T, sums.T, strict=True)]
    )
    worst = np.sort(ranks.min(axis=0))
    rank = int(worst[int(np.floor((1.0 - rate) * worst.size + 1e-9))])
    # A little lower than the sum itself: it may be rounded up in single precision.
    lowest = np.nextafter(ordered[rank].astype(np.float32), np.float32(-np.inf))
    lowered: NDArray[np.float32] = np.minimum(bars, lowest)
    return lowered


def as_rate(rate: float, name: str) -> float:
    """Check a share: above 0, at most 1."""
    return as_number(rate, name, 0.0, 1.0, "It is a share, such as 0.95.", low_open=True)
