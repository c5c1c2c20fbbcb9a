"""Windows that an adapter was shown: checked, and the newest of them kept for setting thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..learners.examples import as_labels
from ..margins import as_number, as_weights
from .cascade import Cascade
from .windows import as_windows

Pixels = NDArray[np.uint8]
LIGHTEST, HEAVIEST = 1e-6, 1e6  # weights; their products with exp(-y F₀) then stay far from a double's ends
MOST_KEPT = 20_000
LEAST_DEVIATION = 10  # OpenCV does not look at windows whose inner pixels deviate by this or less


def as_labelled(
    cascade: Cascade, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Pixels, NDArray[np.int8], NDArray[np.float64]]:
    """Check windows with their labels, +1 for a face and -1 for anything else; one window may come alone.

    What is given back is to be learnt from: windows of weight 0 are left out, and those of low contrast, at
    which OpenCV never looks.
    """
    found = np.asarray(windows)
    if found.ndim == 2:
        found, y = found[None], np.reshape(np.asarray(y), -1)
        sample_weight = None if sample_weight is None else np.reshape(np.asarray(sample_weight), -1)
    found = as_windows(cascade, found)
    if not len(found):
        raise InputError("windows must hold at least one window; got none.")
    labels, weights = as_labels(y, len(found)), as_weights(sample_weight, len(found))
    counts = weights > 0.0
    if (weights[counts] < LIGHTEST).any() or (weights > HEAVIEST).any():
        raise InputError(
            f"sample_weight must be 0 or from {LIGHTEST:g} to {HEAVIEST:g}; got {weights.min():g} to "
            f"{weights.max():g}. Scale the weights: only their ratios matter."
        )
    counts &= has_contrast(found)
    return found[counts], labels[counts], weights[counts]


def as_face_weight(value: object) -> float:
    """Check how many others a face counts."""
    return as_number(value, "face_weight", LIGHTEST, HEAVIEST, "A face counts so many others.")


def newest_kept(forgetting: float) -> int:
    """How many held-out windows thresholds are set by: fewer where the past fades.

    >>> newest_kept(1.0), newest_kept(0.9999), newest_kept(0.5)
    (20000, 10000, 500)
    """
    if forgetting == 1.0:
        return MOST_KEPT
    return int(min(MOST_KEPT, max(500, round(1.0 / (1.0 - forgetting)))))


def has_contrast(windows: Pixels) -> NDArray[np.bool_]:
    """Which windows OpenCV looks at: those whose inner pixels deviate by more than 10.

    >>> flat = np.full((1, 24, 24), 7, np.uint8)
    >>> stripes = np.tile(np.array([0, 40], np.uint8), (1, 24, 12))
    >>> has_contrast(np.concatenate([flat, stripes])).tolist()
    [False, True]
    """
    inner = windows[:, 1:-1, 1:-1].reshape(len(windows), -1)
    area = inner.shape[1]
    sums = inner.sum(axis=1, dtype=np.int64)
    squares = np.einsum("ij,ij->i", inner, inner, dtype=np.int64, casting="unsafe")
    # As OpenCV: area / √(area·Σx² - (Σx)²) < 0.1.
    result: NDArray[np.bool_] = area * squares - sums**2 > (LEAST_DEVIATION * area) ** 2
    return result


class Newest:
    """The newest windows, at most so many; the oldest give way.

    >>> kept = Newest(3, 24, 24)
    >>> for shade in range(5):
    ...     kept.add(np.full((1, 24, 24), shade, np.uint8))
    >>> sorted(kept.windows[:, 0, 0].tolist())
    [2, 3, 4]
    """

    def __init__(self, most: int, height: int, width: int) -> None:
        self._most = most
        self._room = np.empty((0, height, width), np.uint8)
        self._next = 0

    @property
    def windows(self) -> Pixels:
        """Those that are kept, in no particular order."""
        return self._room

    def __len__(self) -> int:
        return len(self._room)

    def add(self, windows: Pixels) -> None:
        """Keep these too."""
        windows = windows[-self._most :]
        free = self._most - len(self._room)
        if free:
            self._room = np.concatenate([self._room, windows[:free]])
            windows = windows[free:]
        if len(windows):
            self._room[(self._next + np.arange(len(windows))) % self._most] = windows
            self._next = (self._next + len(windows)) % self._most
