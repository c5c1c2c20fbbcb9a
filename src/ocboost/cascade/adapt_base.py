"""What both ways of adapting a cascade share: labelled windows, the newest of them, stumps with corrections.

Nobody has the images that a shipped cascade was trained on. So its own score stays, as an offset: stump j
gives the leaf ``c_j + a_j h_j``, h_j = ±1, and the sum of the leaves, scaled and shifted by a few hundred
labelled windows, is F₀. A window (x, y) enters a sketch with weight exp(-y F₀(x)), and the adapted score is
F₀ + Σ_j α_j h_j: again a sum of leaves, which fits into a stage.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count, as_number, as_weights
from ocboost._core.locks import DeepState, Guard
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.windows import as_windows, has_contrast
from ocboost.errors import InputError
from ocboost.learners.base import as_labels
from ocboost.offsets.base import reweighted
from ocboost.offsets.fitting import scale_and_shift

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Signs = NDArray[np.int8]

MIN_WEIGHT, MAX_WINDOW_WEIGHT = 1e-6, 1e6  # their products with exp(-y F₀) then stay far from a double's ends
MAX_HELD_OUT = 20_000  # windows
MIN_OF_EACH = 20  # faces, and other windows, before the scale of the score can be fitted
MAX_HALF_LOG_ODDS = 600.0  # exp of it still fits into a double


class CascadeAdapter(DeepState):
    """Checks and counts the labelled windows of one camera; a subclass learns from them."""

    def __init__(
        self, cascade: Cascade, face_weight: float, smoothing: float, forgetting: float, batch_size: int
    ) -> None:
        self.cascade = cascade
        self.face_weight = as_number(
            face_weight,
            "face_weight",
            MIN_WEIGHT,
            MAX_WINDOW_WEIGHT,
            "A face counts as this many other windows.",
        )
        self.smoothing = as_number(smoothing, "smoothing", 0.0, 1e15, "20000 is usual.")
        self.forgetting = as_number(forgetting, "forgetting", 0.0, 1.0, "1 forgets nothing.", low_open=True)
        self.batch_size = as_count(batch_size, "batch_size", 1, 1 << 20, "")
        self.n_seen = 0
        self._guard: Guard[Any] = Guard()

    def _newest(self) -> NewestWindows:
        return NewestWindows(n_held_out(self.forgetting), self.cascade.height, self.cascade.width)

    def update(self, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Learn from labelled windows, or a single one.

        Parameters
        ----------
        windows : uint8, shape (n, height, width) or (height, width)
        y : shape (n,) or a number
            +1 for a face, -1 for anything else.
        sample_weight : shape (n,) or a number, optional
        """
        found, labels, weights = as_labelled(self.cascade, windows, y, sample_weight)
        if len(found):
            self._take(found, labels, np.where(labels > 0, self.face_weight * weights, weights))

    @abstractmethod
    def _take(self, windows: Pixels, labels: Signs, weights: Floats) -> None:
        """Learn from windows that have been checked."""


class Calibration(NamedTuple):
    """How a cascade's sums become half log-odds: scale · sum + shift."""

    scale: float
    shift: float
    mean_weight: float  # of the windows, exp(-y F₀) included
    turned: bool  # the sums are no higher for faces
    largest: float  # half log-odds that any window can get


class AdaptedStumps:
    """Some of a cascade's stumps, and the sketch that corrects them once their sum is calibrated."""

    def __init__(self, cascade: Cascade, trees: slice) -> None:
        self.stumps = cascade.stumps()[trees]
        leaves = cascade.leaf_pairs[trees].astype(np.float64)
        self.middle, self.reach = leaves.mean(axis=1), (leaves[:, 1] - leaves[:, 0]) / 2.0
        self.scale, self.shift = 0.5, 0.0
        self.sketch: BoostingSketch | None = None

    def calibrated(self, sums: Floats, labels: Signs, weights: Floats) -> Calibration:
        """The calibration that fits the sums of leaves of labelled windows."""
        a, b, turned = scale_and_shift(sums, labels.astype(np.float64), weights)
        largest = a * (np.abs(self.reach).sum() + abs(self.middle.sum())) + abs(b)
        scale, shift = a / 2.0, b / 2.0
        turned = turned or a == 0.0
        unusable = turned or largest / 2.0 > MAX_HALF_LOG_ODDS
        mean = 0.0 if unusable else float(reweighted(weights, labels, scale * sums + shift).mean())
        return Calibration(scale, shift, mean, turned, largest / 2.0)

    def start(self, found: Calibration, smoothing: float, **settings: Any) -> None:
        """Use a calibration, with a new sketch on top of it."""
        self.scale, self.shift = found.scale, found.shift
        self.sketch = BoostingSketch(len(self.stumps), smoothing=smoothing * found.mean_weight, **settings)

    def update(self, answers: Signs, labels: Signs, weights: Floats, batch_size: int) -> None:
        """Let the sketch learn from the stumps' answers to windows; changes the answers in place."""
        assert self.sketch is not None
        offset = self.scale * (answers @ self.reach + self.middle.sum()) + self.shift
        entering = reweighted(weights, labels, offset)
        answers *= labels[:, None]
        self.sketch.update_many(answers, batch_size=batch_size, sample_weight=entering)


def as_labelled(
    cascade: Cascade, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Pixels, Signs, Floats]:
    """Check windows with their labels, +1 for a face and -1 for anything else, or a single window.

    Windows of weight 0 are left out, and those of low contrast, at which OpenCV never looks.
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
    if (weights[counts] < MIN_WEIGHT).any() or (weights > MAX_WINDOW_WEIGHT).any():
        raise InputError(
            f"sample_weight must be 0 or from {MIN_WEIGHT:g} to {MAX_WINDOW_WEIGHT:g}; got "
            f"{weights.min():g} to {weights.max():g}. Scale the weights: only their ratios matter."
        )
    counts &= has_contrast(found)
    return found[counts], labels[counts], weights[counts]


def every_nth(labels: Signs, kind: int, n_before: int, n: int) -> NDArray[np.int64]:
    """Every n-th window of a kind, counted on from those before: these are held out.

    >>> every_nth(np.array([1, -1, 1, 1, 1], np.int8), kind=1, n_before=0, n=2).tolist()
    [2, 4]
    """
    own = np.flatnonzero(labels == kind)
    held: NDArray[np.int64] = own[(n_before + np.arange(own.size)) % n == n - 1]
    return held


def n_held_out(forgetting: float) -> int:
    """How many held-out windows are kept to set thresholds by: fewer where the past fades.

    >>> n_held_out(1.0), n_held_out(0.9999), n_held_out(0.5)
    (20000, 10000, 500)
    """
    if forgetting == 1.0:
        return MAX_HELD_OUT
    return int(min(MAX_HELD_OUT, max(500, round(1.0 / (1.0 - forgetting)))))


class NewestWindows:
    """The newest windows, up to a capacity; new ones replace the oldest.

    >>> newest = NewestWindows(3, 24, 24)
    >>> for shade in range(5):
    ...     newest.add(np.full((1, 24, 24), shade, np.uint8))
    >>> sorted(newest.windows[:, 0, 0].tolist())
    [2, 3, 4]
    """

    def __init__(self, capacity: int, height: int, width: int) -> None:
        self._capacity = capacity
        self.windows: Pixels = np.empty((0, height, width), np.uint8)  # in no particular order
        self._next = 0

    def __len__(self) -> int:
        return len(self.windows)

    def add(self, windows: Pixels) -> None:
        """Add these as the newest."""
        windows = windows[-self._capacity :]
        free = self._capacity - len(self.windows)
        if free:
            self.windows = np.concatenate([self.windows, windows[:free]])
            windows = windows[free:]
        if len(windows):
            self.windows[(self._next + np.arange(len(windows))) % self._capacity] = windows
            self._next = (self._next + len(windows)) % self._capacity
