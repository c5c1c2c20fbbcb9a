"""Haar features as OpenCV writes them: up to three weighted rectangles in a window, upright or tilted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..kernels.cascade import RECTS, corners

MIN_SIDE, MAX_SIDE = 3, 256  # up to here sums of pixels are exact in single precision
LARGEST = float(
    np.float32(1e20)
)  # weights and thresholds up to here: no value leaves the range of single precision
MAX_FEATURES = 1_000_000


class Features(NamedTuple):
    """Checked features: rectangles (F, 3, 4), weights (F, 3), which are tilted (F,)."""

    rects: NDArray[np.int32]
    weights: NDArray[np.float32]
    tilted: NDArray[np.bool_]

    def corners(self, width: int, height: int) -> NDArray[np.int32]:
        """Where each rectangle's corners lie in the tables of an image of this size."""
        return corners(self.rects, self.tilted, width + 1, (width + 1) * (height + 1))


def as_haar(rects: ArrayLike, weights: ArrayLike, tilted: ArrayLike, width: int, height: int) -> Features:
    """Check features of a window: those rectangles that are in use lie inside it, the others become zeros.

    A tilted rectangle begins at its uppermost corner (x, y), and reaches w pixels down to the right and h
    pixels down to the left.
    """
    given = np.array(rects)
    if given.dtype.kind not in "iu" or given.ndim != 3 or given.shape[1:] != (RECTS, 4) or not given.size:
        raise InputError(
            f"rects must be whole numbers of shape (F, {RECTS}, 4), x, y, width and height of at most "
            f"{RECTS} rectangles a feature; got {given.dtype} of shape {given.shape}. Fill up with zeros."
        )
    if given.shape[0] > MAX_FEATURES:
        raise InputError(f"rects must be of at most {MAX_FEATURES:,} features; got {given.shape[0]:,}.")
    F = given.shape[0]
    turned = np.array(tilted)
    if turned.shape != (F,) or turned.dtype.kind not in "bi" or not np.isin(turned, (0, 1)).all():
        raise InputError(f"tilted must be {F} times true or false; got {tilted!r:.80}.")
    counts = as_singles(weights, (F, RECTS), "weights")
    turned = turned.astype(np.bool_)
    clipped = np.clip(given, -1, MAX_SIDE + 1).astype(np.int32)
    x, y, w, h = np.moveaxis(clipped, 2, 0)
    used = (w != 0) | (h != 0)
    inside = (x >= 0) & (y >= 0) & (w > 0) & (h > 0)
    upright = inside & (x + w <= width) & (y + h <= height)
    leaning = inside & (x - h >= 0) & (x + w <= width) & (y + w + h <= height)
    wrong = np.argwhere(used & ~np.where(turned[:, None], leaning, upright))
    if wrong.size:
        f, r = wrong[0]
        raise InputError(
            f"rects must lie inside the window of {width} × {height} pixels; {'tilted ' * int(turned[f])}"
            f"rectangle {r} of feature {f} has x, y, width, height = {given[f, r].tolist()}."
        )
    if not used[:, 0].all():
        f = int(np.argmin(used[:, 0]))
        raise InputError(f"rects must have at least one rectangle a feature; feature {f} has none.")
    return Features(
        np.where(used[:, :, None], clipped, np.int32(0)),
        np.where(used, counts, np.float32(0.0)),
        turned,
    )


def as_singles(
    values: ArrayLike, shape: tuple[int, ...], name: str, largest: float = LARGEST
) -> NDArray[np.float32]:
    """Check numbers, and round them to single precision."""
    try:
        with np.errstate(over="ignore"):
            found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers of shape {shape}; got {values!r:.80}.") from None
    if found.shape != shape or not (np.abs(found) <= largest).all():
        wrong: Any = f"shape {found.shape}"
        if found.shape == shape:
            wrong = found[~(np.abs(found) <= largest)].flat[0]
        raise InputError(
            f"{name} must be finite numbers of shape {shape}, at most {largest:g} in size; got {wrong}."
        )
    return found.astype(np.float32)
