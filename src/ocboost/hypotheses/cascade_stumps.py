"""Haar features as OpenCV writes them: up to three weighted rectangles in a window, upright or tilted.

Thresholded Haar features: the stumps of an OpenCV cascade as weak hypotheses.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, Tree
from ocboost._kernels.boxes import first_not_whole
from ocboost._kernels.cascade import RECTS, corners
from ocboost._kernels.cascade_windows import answer_any_pixels, answer_stumps, lay_bytes, lay_pixels
from ocboost._kernels.llvm_cascade import WINDOW_LANES
from ocboost.errors import InputError
from ocboost.hypotheses.base import Hypotheses

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


BRIGHTEST = 1e6  # pixels up to here keep every value within single precision
WHOLE = 255.0
SIDE_ADVICE = "Cut larger images into windows, or scale them down."


class CascadeStumps(Hypotheses):
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
        self.width = as_count(width, "width", MIN_SIDE, MAX_SIDE, SIDE_ADVICE)
        self.height = as_count(height, "height", MIN_SIDE, MAX_SIDE, SIDE_ADVICE)
        J = np.shape(rects)[0] if np.ndim(rects) else 0
        none = np.zeros(J, np.bool_)
        features = as_haar(rects, weights, none if tilted is None else tilted, self.width, self.height)
        self.rects, self.weights, self.tilted = features
        self.threshold = as_singles(threshold, (J,), "threshold")
        self._corners = features.corners(self.width, self.height)

    @property
    def n_hypotheses(self) -> int:
        """J."""
        return self.threshold.size

    @property
    def n_features(self) -> int:
        """How many pixels a window has."""
        return self.width * self.height

    def __repr__(self) -> str:
        return f"<{len(self)} stumps over Haar features of windows of {self.width} × {self.height} pixels>"

    def __getitem__(self, members: Any) -> Self:
        at = np.atleast_1d(np.arange(len(self))[members])
        return type(self)(
            self.rects[at],
            self.weights[at],
            self.threshold[at],
            self.tilted[at],
            width=self.width,
            height=self.height,
        )

    def check(self, X: Any) -> Any:
        """Check windows; bytes stay bytes."""
        if (
            isinstance(X, np.ndarray)
            and X.dtype == np.uint8
            and X.ndim == 2
            and X.shape[1] == self.n_features
        ):
            return np.ascontiguousarray(X)
        X = super().check(X)
        wrong = ~(np.abs(X) <= BRIGHTEST)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InputError(
                f"X must be finite and at most {BRIGHTEST:g} in size for CascadeStumps; got {X[row, column]} "
                f"at row {row}, column {column}. Scale the pixels, for example to 0..255."
            )
        return X

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        whole = X.dtype == np.uint8
        if not whole and X.min() >= 0.0 and first_not_whole(X.reshape(-1), WHOLE) < 0:
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
        """What a file holds."""
        return {
            "width": self.width,
            "height": self.height,
            "rects": self.rects,
            "weights": self.weights,
            "threshold": self.threshold,
            "tilted": self.tilted.astype(np.int8),
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Stumps from what a file holds."""
        types = {"rects": np.int32, "weights": np.float32, "threshold": np.float32, "tilted": np.int8}
        arrays = {key: fields.array(key, dtype) for key, dtype in types.items()}
        return fields.make(cls, **arrays, width=fields.plain("width"), height=fields.plain("height"))
