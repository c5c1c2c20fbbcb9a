"""Thresholded Haar features, as OpenCV writes them: the stumps of a cascade as weak hypotheses.

A feature is up to three weighted rectangles in a window, upright or tilted.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, Tree
from ocboost._kernels.boxes import first_not_whole
from ocboost._kernels.cascade import RECTS, corners
from ocboost._kernels.cascade_windows import answer_any_pixels, answer_stumps, lay_bytes, lay_pixels
from ocboost._kernels.llvm_cascade import WINDOW_LANES
from ocboost.errors import InputError
from ocboost.hypotheses.base import ArrayHypotheses
from ocboost.hypotheses.boxes import MAX_SIDE, SIDE_ADVICE, as_rectangles

MIN_SIDE = 3  # and up to MAX_SIDE = 256 sums of pixels are exact in single precision
MAX_COEFFICIENT = float(np.float32(1e20))  # weights and thresholds: all values fit into single precision
MAX_PIXEL = 1e6  # the same for pixels
MAX_HAAR_FEATURES = 1_000_000


def as_window_size(width: object, height: object) -> tuple[int, int]:
    """Check the size of a window."""
    return (
        as_count(width, "width", MIN_SIDE, MAX_SIDE, SIDE_ADVICE),
        as_count(height, "height", MIN_SIDE, MAX_SIDE, SIDE_ADVICE),
    )


class HaarFeatures(NamedTuple):
    """Checked features: rectangles (F, 3, 4), weights (F, 3), which are tilted (F,)."""

    rects: NDArray[np.int32]
    weights: NDArray[np.float32]
    tilted: NDArray[np.bool_]

    def corners(self, width: int, height: int) -> NDArray[np.int32]:
        """Where each rectangle's corners lie in the tables of an image of this size."""
        return corners(self.rects, self.tilted, width + 1, (width + 1) * (height + 1))


def as_haar(rects: ArrayLike, weights: ArrayLike, tilted: ArrayLike, width: int, height: int) -> HaarFeatures:
    """Check features of a window: those rectangles that are in use lie inside it, the others become zeros.

    A tilted rectangle begins at its uppermost corner (x, y), and reaches w pixels down to the right and h
    pixels down to the left.
    """
    given, clipped = as_rectangles(rects, RECTS, "F", "feature")
    F = given.shape[0]
    if F > MAX_HAAR_FEATURES:
        raise InputError(f"rects must be of at most {MAX_HAAR_FEATURES:,} features; got {F:,}.")
    turned = np.array(tilted)
    if turned.shape != (F,) or turned.dtype.kind not in "bi" or not np.isin(turned, (0, 1)).all():
        raise InputError(f"tilted must be {F} times true or false; got {tilted!r:.80}.")
    counts = as_singles(weights, (F, RECTS), "weights")
    turned = turned.astype(np.bool_)
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
    return HaarFeatures(
        np.where(used[:, :, None], clipped, np.int32(0)), np.where(used, counts, np.float32(0.0)), turned
    )


def as_singles(
    values: ArrayLike, shape: tuple[int, ...], name: str, largest: float = MAX_COEFFICIENT
) -> NDArray[np.float32]:
    """Check numbers, and round them to single precision."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a file may hold a NaN that signals
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


class CascadeStumps(ArrayHypotheses):
    """J stumps over Haar features: stump j answers +1 where its value is at least ``threshold_j``, else -1.

    A row of X is a grey window, ``height`` × ``width`` pixels, row by row from the top. The value of a
    feature is ``Σ_r weight_r · (sum of the pixels in rectangle r)`` divided by the number of the window's
    inner pixels (all but a frame of one pixel) times their standard deviation. For whole pixels from 0 to
    255 every rounding is OpenCV's, and an answer is -1 exactly where its ``CascadeClassifier`` takes the left
    leaf. For other pixels sums are taken in double precision. Windows of low contrast, at which OpenCV does
    not look, are answered like all others; a constant one is divided by 1.

    Parameters
    ----------
    rects : array of whole numbers, shape (J, 3, 4)
        At most three rectangles a feature, each as x, y, width and height. Rectangles of zeros are not used.
    weights : array of shape (J, 3)
        What each rectangle counts; rounded to single precision, as the thresholds are.
    threshold : array of shape (J,)
        From which value on each answers +1.
    tilted : array of bool, shape (J,), optional
        Which features are turned by 45°; none if left out.
    width, height : int
        Size of a window, 3 to 256 pixels a side.

    Examples
    --------
    >>> left_minus_right = [[[0, 0, 2, 4], [2, 0, 2, 4], [0, 0, 0, 0]]]
    >>> stumps = CascadeStumps(left_minus_right, [[1, -1, 0]], [0.0], width=4, height=4)
    >>> bright_left = np.tile(np.array([200, 150, 100, 50], np.uint8), 4)
    >>> stumps.answers(np.stack([bright_left, bright_left[::-1]]))
    array([[ 1],
           [-1]], dtype=int8)
    """

    kind = "CascadeStumps"
    _arrays: ClassVar = {
        "rects": (np.int32,),
        "weights": (np.float32,),
        "threshold": (np.float32,),
        "tilted": (np.int8,),
    }
    _settings: ClassVar = {"width": Fields.plain, "height": Fields.plain}

    def __init__(
        self,
        rects: ArrayLike,
        weights: ArrayLike,
        threshold: ArrayLike,
        tilted: ArrayLike | None = None,
        *,
        width: int,
        height: int,
    ) -> None:
        self.width, self.height = as_window_size(width, height)
        J = np.shape(rects)[0] if np.ndim(rects) else 0
        none = np.zeros(J, np.bool_)
        features = as_haar(rects, weights, none if tilted is None else tilted, self.width, self.height)
        self.rects, self.weights, self.tilted = features
        self.threshold = as_singles(threshold, (J,), "threshold")
        self.n_hypotheses, self.n_features = J, self.width * self.height
        self._corners = features.corners(self.width, self.height)

    def __repr__(self) -> str:
        return f"<{len(self)} stumps over Haar features of windows of {self.width} × {self.height} pixels>"

    def check(self, X: Any) -> Any:
        """Check windows; bytes stay bytes.

        Parameters
        ----------
        X : array of shape (n, n_features), or SciPy CSR
            The rows.

        Returns
        -------
        array or CSR matrix
            Contiguous, in a type that the kernels take.

        Raises
        ------
        InputError
            If they have another number of features, or values that the hypotheses cannot answer.
        """
        if isinstance(X, np.ndarray) and X.dtype == np.uint8 and X.shape[1:] == (self.n_features,):
            return np.ascontiguousarray(X)
        X = super().check(X)
        wrong = ~(np.abs(X) <= MAX_PIXEL)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InputError(
                f"X must be finite and at most {MAX_PIXEL:g} in size for CascadeStumps; got {X[row, column]} "
                f"at row {row}, column {column}. Scale the pixels, for example to 0..255."
            )
        return X

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        whole = X.dtype == np.uint8
        if not whole and X.min() >= 0.0 and first_not_whole(X.reshape(-1), 255.0) < 0:
            X, whole = X.astype(np.uint8), True
        turned = bool(self.tilted.any())
        size = (self.width + 1) * (self.height + 1) * (2 if turned else 1)
        table = np.empty((size, WINDOW_LANES), np.float32 if whole else np.float64)
        factor, seen = np.empty(WINDOW_LANES, np.float32), np.empty(WINDOW_LANES, np.bool_)
        room = np.empty((self.n_features, WINDOW_LANES), np.uint8)
        for first in range(0, X.shape[0], WINDOW_LANES):
            rows = X[first : first + WINDOW_LANES]
            if whole:
                lay_bytes(rows, self.height, self.width, turned, room, table, factor, seen)
                answer_stumps(table, factor, self._corners, self.weights, self.threshold, first, block)
            else:
                lay_pixels(rows, self.height, self.width, turned, table, factor)
                answer_any_pixels(table, factor, self._corners, self.weights, self.threshold, first, block)

    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {**super().tree(), "tilted": self.tilted.astype(np.int8)}
