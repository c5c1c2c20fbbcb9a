"""Find what a cascade accepts anywhere in an image, at any size, as OpenCV's ``detectMultiScale`` does.

Overlapping rectangles are put together as by its ``groupRectangles``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count, as_number
from ocboost._kernels.cascade import integrate_image
from ocboost._kernels.pyramid import label_similar, scan, shrink
from ocboost.cascade.cascade import Cascade
from ocboost.errors import InputError

Size = tuple[int, int]

MAX_GROUPED = 100_000  # rectangles: every pair is compared
SMALL_GROUP = 3
MAX_PIXELS = 1 << 26
MAX_SCALES = 2_000
STRIPE_WIDTH = 32.0  # of OpenCV's stripes, in steps of the window


def group_rectangles(
    rects: Any, min_neighbors: int = 3, eps: float = 0.2
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put similar rectangles together, and drop groups that are too small or inside better ones.

    Parameters
    ----------
    rects : array of whole numbers, shape (n, 4)
        x, y, width and height.
    min_neighbors : int
        Groups of this many or fewer are dropped. 0 changes nothing.
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
    if len(given) > MAX_GROUPED:
        raise InputError(
            f"rects must be at most {MAX_GROUPED:,} to be grouped; got {len(given):,}. Does the cascade "
            "accept almost everything? Take a larger min_size, or min_neighbors=0 for all of them."
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
    if not (sizes[other] > max(SMALL_GROUP, sizes[g]) or sizes[g] < SMALL_GROUP):
        return False
    (x, y, w, h), (left, top, width, height) = means[g], means[other]
    across, down = np.rint(width * eps), np.rint(height * eps)
    return bool(
        x >= left - across
        and y >= top - down
        and x + w <= left + width + across
        and y + h <= top + height + down
    )


def detect(
    cascade: Cascade,
    image: NDArray[np.uint8],
    scale_factor: float = 1.1,
    min_neighbors: int = 3,
    min_size: Size | None = None,
    max_size: Size | None = None,
) -> list[tuple[int, int, int, int]]:
    """The rectangles (x, y, width, height) in which a cascade finds something, in an image of any size.

    The image is shrunk again and again, the window slides over each size, and what is found is put together
    by `group_rectangles`. Scales, steps, roundings and the resizing are OpenCV's, so that its
    ``CascadeClassifier(…).detectMultiScale`` finds the same; the order may differ.

    Parameters
    ----------
    cascade : Cascade
    image : uint8, shape (height, width)
        A grey image.
    scale_factor : float, default 1.1
        By how much the window grows from one size to the next; at least 1.001.
    min_neighbors : int, default 3
        How many rectangles at least, besides one, must be found at about the same place. 0 gives all.
    min_size, max_size : (width, height), optional
        Windows that are smaller or larger are left out.
    """
    found = candidates(cascade, image, scale_factor, min_size, max_size)
    grouped, _ = group_rectangles(found, min_neighbors)
    height, width = np.shape(image)
    corner = np.clip(grouped[:, :2], 0, None)
    end = np.minimum(grouped[:, :2] + grouped[:, 2:], [width, height])
    inside = (end > corner).all(axis=1)
    return [(int(x), int(y), int(w), int(h)) for x, y, w, h in np.hstack([corner, end - corner])[inside]]


def candidates(
    cascade: Cascade,
    image: NDArray[np.uint8],
    scale_factor: float = 1.1,
    min_size: Size | None = None,
    max_size: Size | None = None,
) -> NDArray[np.int64]:
    """Every window that passes all stages, (n, 4), before any are put together; as `detect`."""
    image = _as_image(image)
    height, width = image.shape
    scale_factor = as_number(scale_factor, "scale_factor", 1.001, np.inf, "Take 1.1 or so.")
    smallest = _as_size(min_size, "min_size", (0, 0))
    largest = _as_size(max_size, "max_size", (width, height))
    turned = bool(cascade.tilted.any())
    found = [np.empty((0, 4), np.int64)]
    stripes = 0
    scales = list(islice(_scales(cascade, (width, height), scale_factor, smallest, largest), MAX_SCALES + 1))
    if len(scales) > MAX_SCALES:
        raise InputError(
            f"scale_factor must be so large that at most {MAX_SCALES:,} sizes of the window fit between "
            f"min_size and max_size in an image of {width} × {height} pixels; got {scale_factor}. "
            "Take 1.1 or so."
        )
    for scale in scales:
        columns, rows = (int(np.rint(np.float32(side) / scale)) for side in (width, height))
        table = np.empty((columns + 1) * (rows + 1) * (2 if turned else 1), np.int32)
        squares = np.empty((columns + 1) * (rows + 1), np.uint32)
        small = image
        if (rows, columns) != image.shape:
            small = np.empty((rows, columns), np.uint8)
            shrink(image, small)
        integrate_image(small, turned, table, squares)
        across, down = max(columns + 1 - cascade.width, 0), max(rows + 1 - cascade.height, 0)
        stride = 1 if scale >= 2 else 2
        if not stripes:
            stripes = max(math.ceil(across / STRIPE_WIDTH), 1)
        # OpenCV cuts the image into stripes, and rounding can leave out the last line.
        stripe = max((down // stride + stripes - 1) // stripes, 1) * stride
        down = min(down, stripes * stripe)
        room = np.empty((-(-down // stride) * -(-across // stride), 2), np.int32)
        parts = cascade._parts(columns, rows)
        n = scan(
            table, squares, columns + 1, cascade.width, cascade.height, down, across, stride, parts, room
        )
        size = np.rint(np.array([cascade.width, cascade.height], np.float32) * scale)
        places = np.rint(room[:n].astype(np.float32) * scale)
        found.append(np.hstack([places, np.broadcast_to(size, (n, 2))]).astype(np.int64))
    return np.concatenate(found)


def _scales(
    cascade: Cascade, size: Size, scale_factor: float, smallest: Size, largest: Size
) -> Iterator[np.float32]:
    factor = 1.0
    while True:
        window = round(cascade.width * factor), round(cascade.height * factor)
        if any(w > min(most, side) for w, most, side in zip(window, largest, size, strict=True)):
            return
        if all(w >= least for w, least in zip(window, smallest, strict=True)):
            yield np.float32(factor)
        factor *= scale_factor


def _as_image(image: Any) -> NDArray[np.uint8]:
    found = np.asarray(image)
    if found.dtype != np.uint8 or found.ndim != 2 or not 0 < found.size <= MAX_PIXELS:
        raise InputError(
            f"image must be uint8 of shape (height, width), a grey image of at most {MAX_PIXELS:,} pixels; "
            f"got {found.dtype} of shape {found.shape}. Turn colours into grey first."
        )
    return np.ascontiguousarray(found)


def _as_size(size: Size | None, name: str, default: Size) -> Size:
    if size is None:
        return default
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise InputError(f"{name} must be a width and a height in pixels; got {size!r:.80}.")
    width, height = (as_count(side, name, 0, None, "") for side in size)
    return default if name == "max_size" and 0 in (width, height) else (width, height)
