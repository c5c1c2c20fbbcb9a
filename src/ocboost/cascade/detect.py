"""Find what a cascade accepts anywhere in an image, at any size: as OpenCV's ``detectMultiScale``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..kernels.cascade import integrate_image
from ..kernels.pyramid import scan, shrink
from ..margins import as_count, as_number
from .cascade import Cascade
from .grouping import group_rectangles

MAX_PIXELS = 1 << 26
MAX_SCALES = 2_000
Size = tuple[int, int]
STRIPE = 32.0


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
            stripes = max(math.ceil(across / STRIPE), 1)
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
