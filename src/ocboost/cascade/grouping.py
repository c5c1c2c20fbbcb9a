"""Many overlapping rectangles become few: as OpenCV's ``groupRectangles``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..kernels.pyramid import label_similar
from ..margins import as_count, as_number

EPS = 0.2
MANY = 100_000  # every pair is compared
FEW = 3


def group_rectangles(
    rects: Any, min_neighbors: int = 3, eps: float = EPS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put similar rectangles together, and drop groups that are too small or inside better ones.

    Parameters
    ----------
    rects : array of whole numbers, shape (n, 4)
        x, y, width and height.
    min_neighbors : int
        Groups of this many or fewer are dropped. 0 leaves everything as it is.
    eps : float
        How far apart, relative to their size, the sides of similar rectangles may be.

    Returns
    -------
    grouped : int64 (m, 4)
        The mean rectangle of each group.
    sizes : int64 (m,)
        How many rectangles each group has.

    Examples
    --------
    >>> group_rectangles([[0, 0, 24, 24], [2, 2, 24, 24], [90, 0, 24, 24]], min_neighbors=1)
    (array([[ 1,  1, 24, 24]]), array([2]))
    """
    given = np.array(rects if np.size(rects) else np.empty((0, 4), np.int64))
    if given.ndim != 2 or given.shape[1] != 4 or given.dtype.kind not in "iu" or (abs(given) >= 2**31).any():
        raise InputError(
            f"rects must be whole numbers of shape (n, 4), x, y, width, height; got {rects!r:.80}."
        )
    min_neighbors = as_count(min_neighbors, "min_neighbors", 0, None, "")
    eps = as_number(eps, "eps", 0.0, np.inf, "")
    given = given.astype(np.int64)
    if min_neighbors == 0 or not given.size:
        return given, np.ones(len(given), np.int64)
    if len(given) > MANY:
        raise InputError(
            f"rects must be at most {MANY:,} to be grouped; got {len(given):,}. Does the cascade accept "
            "almost everything? Take a larger min_size, or min_neighbors=0 for all of them."
        )
    label = np.empty(len(given), np.int64)
    n_groups = label_similar(given, eps, label)
    sizes = np.bincount(label, minlength=n_groups)
    totals = np.zeros((n_groups, 4), np.int64)
    np.add.at(totals, label, given)
    share = np.float32(1.0) / sizes.astype(np.float32)
    means = np.rint(totals.astype(np.float32) * share[:, None]).astype(np.int64)
    large = np.flatnonzero(sizes > min_neighbors).tolist()
    kept = [g for g in large if not any(_inside(means, sizes, g, k, eps) for k in large if k != g)]
    return means[kept], sizes[kept]


def _inside(means: NDArray[np.int64], sizes: NDArray[np.int64], g: int, other: int, eps: float) -> bool:
    """Whether a group lies within another, give or take, that is larger; small groups give way to any."""
    if not (sizes[other] > max(FEW, sizes[g]) or sizes[g] < FEW):
        return False
    (x, y, w, h), (left, top, width, height) = means[g], means[other]
    across, down = np.rint(width * eps), np.rint(height * eps)
    return bool(
        x >= left - across
        and y >= top - down
        and x + w <= left + width + across
        and y + h <= top + height + down
    )
