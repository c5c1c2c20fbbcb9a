"""95 % bounds of rates that were counted in pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, chi2

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bounds = tuple[float, float]

TAIL = 0.025
ONE_TAIL = 0.05  # where nothing, or everything, was counted: all of it lies on one side
RESAMPLES = 2000
SEED = 20240
AT_ONCE = 1 << 20  # numbers of a block of resamples


def share_bounds(k: int, n: int) -> Bounds:
    """Of a share, k of n, by Clopper and Pearson; of none and of all, the one bound has all 5 %.

    >>> [round(bound, 4) for bound in share_bounds(8, 10)]
    [0.4439, 0.9748]
    >>> [round(bound, 4) for bound in share_bounds(0, 458)]
    [0.0, 0.0065]
    """
    low = float(beta.ppf(TAIL if k < n else ONE_TAIL, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(1.0 - (TAIL if k else ONE_TAIL), k + 1, n - k)) if k < n else 1.0


def count_bounds(k: int) -> Bounds:
    """Of the mean of a Poisson count, exact. Of 0, up to 3.00.

    >>> [round(bound, 3) for bound in (*count_bounds(10), *count_bounds(0))]
    [4.795, 18.39, 0.0, 2.996]
    """
    low = float(chi2.ppf(TAIL, 2 * k)) / 2.0 if k else 0.0
    return low, float(chi2.ppf(1.0 - (TAIL if k else ONE_TAIL), 2 * k + 2)) / 2.0


def hit_bounds(misses: Ints, faces: Ints) -> Bounds:
    """Of the share of faces found, from counts of each picture; there must be faces.

    Faces of one picture are missed together more often than chance has it: if the counts of these pictures
    show it, the wider bounds are taken of Clopper and Pearson's and of a bootstrap over pictures.
    """
    n, missed = int(faces.sum()), int(misses.sum())
    exact = share_bounds(n - missed, n)
    share = missed / n
    if ((misses - share * faces) ** 2).sum() <= n * share * (1.0 - share):
        return exact
    rates = resampled(faces - misses, faces)
    return _wider(exact, rates)


def rate_bounds(counts: Ints, of: Ints) -> Bounds:
    """Of Σ counts / Σ of, from each picture's; for rare events such as false alarms.

    Exact Poisson bounds, or, where counts vary more between pictures than Poisson counts with the same rate
    in all of them, the wider of these and a bootstrap over pictures. Something must be counted ``of``.
    """
    total, n = int(of.sum()), len(counts)
    low, high = count_bounds(int(counts.sum()))
    exact = low / total, high / total
    expected = of * (counts.sum() / total)
    if n < 2 or ((counts - expected) ** 2).sum() * n / (n - 1) <= counts.sum():
        return exact
    return _wider(exact, resampled(counts, of))


def _wider(exact: Bounds, rates: Floats) -> Bounds:
    low, high = np.quantile(rates, [TAIL, 1.0 - TAIL])
    return min(exact[0], float(low)), max(exact[1], float(high))


def resampled(counts: Ints, of: Ints) -> Floats:
    """Σ counts / Σ of over pictures drawn anew, `RESAMPLES` times; draws without any ``of`` are left out."""
    totals = resampled_sums(np.stack([counts, of], axis=1))
    some = totals[:, 1] > 0
    rates: Floats = totals[some, 0] / totals[some, 1]
    return rates


def resampled_sums(values: Ints) -> Ints:
    """Sums of each column over rows drawn with replacement, (`RESAMPLES`, columns); always the same draws."""
    n = len(values)
    rng = np.random.default_rng(SEED)
    step = max(1, AT_ONCE // n)
    sums = [
        values[rng.integers(0, n, (min(step, RESAMPLES - at), n))].sum(axis=1)
        for at in range(0, RESAMPLES, step)
    ]
    return np.concatenate(sums)
