"""A weighted sample that holds no chance: systematic sampling, with an offset that follows from a count."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def ranked(q: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of scores in rising order, ties in the order of their places.

    Scores that differ by rounding alone are ties: 32 binary digits count.
    """
    return np.argsort((q.view(np.int64) + (1 << 19)) >> 20, kind="stable")


def choose(q: NDArray[np.float64], most: int, turn: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Choose about ``most`` of some examples by their scores: which are heavy, and what the others count for.

    The chance of an example is min(1, q/τ), with τ such that the chances sum to ``most``. Those with a chance
    of one are *heavy* and stay. The others are gone through in the order of q, and one is taken whenever
    their chances sum to another whole number, beginning with an offset that differs from turn to turn. One
    that is taken counts for 1/chance of its kind, one that is not for 0. A score of zero is never chosen.

    >>> heavy, factor = choose(np.array([1.0, 8.0, 1.0, 1.0, 1.0, 0.0]), 3, 1)
    >>> heavy.tolist(), factor.tolist()
    ([False, True, False, False, False, False], [0.0, 1.0, 2.0, 0.0, 2.0, 0.0])
    """
    some = q > 0.0
    if np.count_nonzero(some) <= most:
        return some, some.astype(np.float64)
    order = ranked(q)
    rising = q[order]
    sums = np.cumsum(rising)[::-1][:most]  # of all, of all but the heaviest, of all but two …
    taus = sums / np.arange(most, 0, -1)
    fits = rising[::-1][:most] <= taus
    fits[-1] = True
    n_heavy = int(np.argmax(fits))
    heavy = np.zeros(q.size, np.bool_)
    heavy[order[q.size - n_heavy :]] = True
    factor = heavy.astype(np.float64)
    chance = np.minimum(rising[: q.size - n_heavy] / taus[n_heavy], 1.0)
    whole = np.floor(np.cumsum(np.concatenate([[(0.5 + turn * GOLDEN) % 1.0], chance])))
    taken = whole[1:] > whole[:-1]
    factor[order[: q.size - n_heavy][taken]] = 1.0 / chance[taken]
    return heavy, factor
