"""Thresholded box filters over small images: the weak hypotheses of the paper for faces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields
from ocboost._kernels.boxes import MAX_PIXEL, RECTS, above_each, filter_each, first_too_large, lay_images
from ocboost.errors import InputError
from ocboost.hypotheses.balls import finite
from ocboost.hypotheses.base import ArrayHypotheses, as_signs

IMAGES_PER_GROUP = 64  # whose integral images are held at once: they stay in the cache
MAX_SIDE = 256
MAX_SIDE_OF_ALL = 64  # all filters of larger images do not fit into memory
SIDE_ADVICE = "Cut larger images into windows, or scale them down."

# The usual shapes: cells next to each other, cells above each other, and the cells' weights row by row.
SHAPES: tuple[tuple[int, int, tuple[float, ...]], ...] = (
    (2, 1, (1.0, -1.0)),
    (1, 2, (1.0, -1.0)),
    (3, 1, (1.0, -2.0, 1.0)),
    (1, 3, (1.0, -2.0, 1.0)),
    (2, 2, (1.0, -1.0, -1.0, 1.0)),
)


class Boxes(ArrayHypotheses):
    """J box filters: filter j answers ``sign_j`` where its value is above ``theta_j``, ``-sign_j`` elsewhere.

    A row of X is a square grey image, ``side`` × ``side`` pixels, row by row from the top. The value of a
    filter is ``Σ_r weight_r · (sum of the pixels in rectangle r) / σ``, where σ is the standard deviation of
    all pixels of the image: contrast does not matter, and brightness does not where the weights make a
    constant image 0. The sum is not divided by any area. An image that is constant up to rounding (σ at most
    1e-9 of its largest pixel) counts as σ = 1. A value of exactly ``theta_j`` is not above it.

    Values are computed from integral images in double precision, always in the same order, so that the
    answer to an image does not depend on the images around it. For whole pixels the sums are exact.
    Pixels must be finite, and at most 1e30 in size.

    Parameters
    ----------
    rects : array of whole numbers, shape (J, 4, 4)
        At most four rectangles a filter, each as x, y, width and height; the first pixel is x = y = 0. A
        rectangle of width 0 is not used.
    weight : array of shape (J, 4)
        What each rectangle counts.
    theta : array of shape (J,)
        Thresholds.
    sign : array of shape (J,) of ±1, optional
        The answer above the threshold; all +1 if left out.
    side : int
        Pixels of an image's side, 1 to 256; a row of X has ``side²`` features.

    Examples
    --------
    >>> rects = [[[0, 0, 1, 2], [1, 0, 1, 2], [0, 0, 0, 0], [0, 0, 0, 0]]]  # the left half, the right half
    >>> boxes = Boxes(rects, weight=[[1, -1, 0, 0]], theta=[0.0], side=2)
    >>> bright_left, bright_below = [9.0, 1.0, 9.0, 1.0], [1.0, 1.0, 9.0, 9.0]
    >>> boxes.values(np.array([bright_left, bright_below]))
    array([[4.],
           [0.]])
    >>> boxes.answers(np.array([bright_left, bright_below]))
    array([[ 1],
           [-1]], dtype=int8)
    """

    kind = "Boxes"
    _arrays: ClassVar = {
        "rects": (np.int32,),
        "weight": (np.float64,),
        "theta": (np.float64,),
        "sign": (np.int8,),
    }
    _settings: ClassVar = {"side": Fields.plain}

    def __init__(
        self,
        rects: ArrayLike,
        weight: ArrayLike,
        theta: ArrayLike,
        sign: ArrayLike | None = None,
        *,
        side: int,
    ) -> None:
        self.side = as_count(side, "side", 1, MAX_SIDE, SIDE_ADVICE)
        self.rects, used = _as_rects(rects, self.side)
        J = self.rects.shape[0]
        self.weight = np.array(weight, dtype=np.float64)
        self.theta = np.array(theta, dtype=np.float64)
        if self.weight.shape != (J, RECTS) or not (np.abs(self.weight) <= MAX_PIXEL).all():
            raise InputError(
                f"weight must be {J} rows of {RECTS} numbers, at most 1e30 in size; got {weight!r:.80}."
            )
        if self.theta.shape != (J,) or not np.isfinite(self.theta).all():
            raise InputError(f"theta must be {J} finite thresholds; got {theta!r:.80}.")
        self.sign = as_signs(sign, "sign", J)
        self.n_hypotheses, self.n_features = J, self.side * self.side
        self.weight[~used] = 0.0

    def __repr__(self) -> str:
        return f"<{len(self)} box filters over images of {self.side} × {self.side} pixels>"

    def check(self, X: Any) -> Any:
        """Check images, whose pixels must be finite.

        Parameters
        ----------
        X : array of shape (n, n_features), or SciPy CSR
            The rows.

        Returns
        -------
        array or CSR matrix
            Contiguous, in a type that the kernels take.
        """
        return as_images(super().check(X), "Boxes")

    def values(self, X: Any) -> NDArray[np.float64]:
        """What each filter measures in each image, before the thresholds.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Images, row by row.

        Returns
        -------
        array of shape (n, J)
            In float64.
        """
        X = self.check(X)
        out = np.empty((len(self), X.shape[0]))
        for first, table, scale in self._integrals(X):
            filter_each(table, scale, self.side, self.rects, self.weight, first, out)
        return np.ascontiguousarray(out.T)

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        for first, table, scale in self._integrals(X):
            above_each(table, scale, self.side, self.rects, self.weight, self.theta, self.sign, first, block)

    def _integrals(self, X: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
        """The first image, the integral images and the scales of one group of images after the other."""
        table, scale = np.empty(((self.side + 1) ** 2, IMAGES_PER_GROUP)), np.empty(IMAGES_PER_GROUP)
        for first in range(0, X.shape[0], IMAGES_PER_GROUP):
            lay_images(X[first : first + IMAGES_PER_GROUP], self.side, table, scale)
            yield first, table, scale


def _as_rects(rects: ArrayLike, side: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Check rectangles: those in use lie in the image, the others become zeros; returns which are in use."""
    given, clipped = as_rectangles(rects, RECTS, "J", "filter")
    x, y, w, h = np.moveaxis(clipped, 2, 0)
    used = w != 0
    fits = (x >= 0) & (y >= 0) & (w > 0) & (h > 0) & (x + w <= side) & (y + h <= side)
    wrong = np.argwhere(used & ~fits)
    if wrong.size:
        j, r = wrong[0]
        raise InputError(
            f"rects must lie inside the image of {side} × {side} pixels; rectangle {r} of filter {j} has "
            f"x, y, width, height = {given[j, r].tolist()}."
        )
    if not used.any(axis=1).all():
        j = int(np.argmin(used.any(axis=1)))
        raise InputError(
            f"rects must have at least one rectangle a filter; filter {j} has none of width > 0."
        )
    return np.where(used[:, :, None], clipped, np.int32(0)), used


def as_rectangles(
    rects: ArrayLike, per_filter: int, letter: str, what: str
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Check the shape of rectangles; returns them as given, and with large numbers clipped to int32."""
    given = np.array(rects)
    if (
        given.dtype.kind not in "iu"
        or given.ndim != 3
        or given.shape[1:] != (per_filter, 4)
        or not given.size
    ):
        raise InputError(
            f"rects must be whole numbers of shape ({letter}, {per_filter}, 4), x, y, width and height of at "
            f"most {per_filter} rectangles a {what}; got {given.dtype} of shape {given.shape}. Fill up with "
            "zeros."
        )
    return given, np.clip(given, -1, MAX_SIDE + 1).astype(np.int32)


def as_images(X: NDArray[Any], what: str) -> NDArray[Any]:
    """Refuse pixels that are not finite or too large to be squared and summed, and say where."""
    place = int(first_too_large(X.reshape(-1)))
    if place < 0:
        return X
    finite(X, what)
    row, column = divmod(place, X.shape[1])
    raise InputError(
        f"X must be at most 1e30 in size for {what}; got {X[row, column]} at row {row}, column {column}. "
        "Scale the pixels, for example to 0..255."
    )


def side_of(n_features: int, side: int | None, what: str) -> int:
    """The side of square images with this many pixels.

    >>> side_of(576, None, "Boxes")
    24
    """
    found = math.isqrt(n_features) if side is None else as_count(side, "side", 2, MAX_SIDE, SIDE_ADVICE)
    if found * found != n_features or not 2 <= found <= MAX_SIDE:
        raise InputError(
            f"X must have side · side columns for {what}, the pixels of square images, with side "
            f"{f'= {found}' if side is not None else f'from 2 to {MAX_SIDE}'}; got {n_features} columns. "
            "Crop or pad the images to squares."
        )
    return found


def n_boxes(side: int) -> int:
    """How many filters `all_boxes` gives.

    >>> n_boxes(24)
    162336
    """
    side = as_count(side, "side", 1, MAX_SIDE, SIDE_ADVICE)
    return sum(len(_spans(side, across)) * len(_spans(side, down)) for across, down, _ in SHAPES)


def all_boxes(side: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Every position and size of the five usual box filters, as ``rects`` and ``weight`` of `Boxes`.

    They are two rectangles next to or above each other, three of them, and four as a checkerboard; all
    rectangles of a filter have the same size. A constant image gives 0: of three rectangles the middle one
    counts -2.

    Parameters
    ----------
    side : int
        The side of the images, in pixels.

    Returns
    -------
    tuple of arrays
        ``rects`` (J, 4, 4) and ``weight`` (J, 4).

    Examples
    --------
    >>> rects, weight = all_boxes(24)
    >>> rects.shape, weight.shape
    ((162336, 4, 4), (162336, 4))
    """
    side = as_count(side, "side", 1, MAX_SIDE_OF_ALL, "boxes_at gives some of them.")
    return boxes_at(side, np.arange(n_boxes(side)))


def boxes_at(side: int, places: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Some of `all_boxes`, by their places in it, without making the others."""
    total = n_boxes(side)
    if ((places < 0) | (places >= total)).any():
        raise InputError(f"places must be from 0 to {total - 1} for side {side}; got {places!r:.80}.")
    rects, weight = np.zeros((places.size, RECTS, 4), np.int32), np.zeros((places.size, RECTS))
    start = 0
    for across, down, weights in SHAPES:
        over, under = _spans(side, across), _spans(side, down)
        here = np.flatnonzero((places >= start) & (places < start + len(over) * len(under)))
        if here.size:
            i, k = np.divmod(places[here] - start, len(under))
            (x, w), (y, h) = over[i].T, under[k].T
            for r, value in enumerate(weights):
                row, column = divmod(r, across)
                rects[here, r] = np.stack([x + column * w, y + row * h, w, h], axis=1)
                weight[here, r] = value
        start += len(over) * len(under)
    return rects, weight


@lru_cache(16)
def _spans(side: int, cells: int) -> NDArray[np.int32]:
    """Where this many cells in a line can lie: the first one's start, and the size of each."""
    spans = [(at, size) for size in range(1, side // cells + 1) for at in range(side - cells * size + 1)]
    out = np.array(spans, np.int32).reshape(-1, 2)
    out.flags.writeable = False
    return out
