"""Thresholded Haar features: the stumps of an OpenCV cascade as weak hypotheses."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..fields import Fields, Tree
from ..kernels.boxes import first_not_whole
from ..kernels.cascade_lanes import LANES
from ..kernels.cascade_windows import answer_any_pixels, answer_stumps, lay_bytes, lay_pixels
from ..margins import as_count
from .base import Hypotheses
from .haar import MAX_SIDE, MIN_SIDE, as_haar, as_singles

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
        table = np.empty((size, LANES), np.float32 if whole else np.float64)
        factor, seen = np.empty(LANES, np.float32), np.empty(LANES, np.bool_)
        room = np.empty((self.n_features, LANES), np.uint8)
        for first in range(0, X.shape[0], LANES):
            rows = X[first : first + LANES]
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
