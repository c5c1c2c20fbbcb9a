"""Misses against false alarms per picture, over the last stage's threshold and the number of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_number
from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.detect import clipped, groups_of
from ocboost.cascade.matching import Counts, Matcher, Truth
from ocboost.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLDS = 60  # of the last stage, about
ALARMS = (0.1, 0.3, 1.0)  # false alarms per picture, at which misses are reported


class ScoredPicture(NamedTuple):
    """The windows of a picture that come to the last stage, the highest score first, and its faces."""

    rects: Ints
    scores: Floats
    shape: tuple[int, int]
    truth: Truth
    exact_from: float  # windows that score lower may have been left out


@dataclass(frozen=True, eq=False)
class PictureCurve:
    """Misses and false alarms on pictures with other last thresholds, and other numbers of neighbours.

    Attributes
    ----------
    thresholds : float32 (T,)
        Of the last stage, as its file would have them; falling, and among them its own.
    neighbours : int64 (K,)
        What ``min_neighbors`` would be.
    misses, false_alarms : int64 (T, K)
        In all pictures together.
    n_faces, n_pictures : int
    """

    thresholds: NDArray[np.float32]
    neighbours: Ints
    misses: Ints
    false_alarms: Ints
    n_faces: int
    n_pictures: int

    def misses_at(self, false_alarms_per_picture: float, neighbours: int | None = None) -> float | None:
        """The lowest share of faces missed with at most so many false alarms per picture.

        It is chosen among all thresholds, and all numbers of neighbours if none is given, on the very
        pictures that it is measured on, so it is a little too low: for comparing curves only. 1 where every
        setting makes more false alarms, None where the pictures have no face.
        """
        allowed = as_number(
            false_alarms_per_picture, "false_alarms_per_picture", 0.0, np.inf, "Take 0.1 or so."
        )
        misses, alarms = self._columns(neighbours)
        if not self.n_faces:
            return None
        good = alarms <= allowed * self.n_pictures + 1e-9
        return float(misses[good].min() / self.n_faces) if good.any() else 1.0

    def best(self, neighbours: int | None = None) -> tuple[Floats, Floats]:
        """False alarms per picture, rising, and the lowest share of misses with at most as many."""
        misses, alarms = (counts.reshape(-1) for counts in self._columns(neighbours))
        order = np.lexsort([misses, alarms])
        lowest = np.minimum.accumulate(misses[order])
        better = np.diff(lowest, prepend=self.n_faces + 1) < 0
        chosen = order[better]
        return alarms[chosen] / self.n_pictures, misses[chosen] / max(self.n_faces, 1)

    def _columns(self, neighbours: int | None) -> tuple[Ints, Ints]:
        if neighbours is None:
            return self.misses, self.false_alarms
        at = np.flatnonzero(self.neighbours == neighbours)
        if not at.size:
            known = ", ".join(str(n) for n in self.neighbours.tolist())
            raise InputError(f"neighbours must be one of {known}; got {neighbours!r:.80}.")
        return self.misses[:, at], self.false_alarms[:, at]

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {
            "last_thresholds": [float(threshold) for threshold in self.thresholds],
            "neighbours": self.neighbours.tolist(),
            "misses": self.misses.tolist(),
            "false_alarms": self.false_alarms.tolist(),
            "misses_at": {f"{alarms:g}": self.misses_at(alarms) for alarms in ALARMS},
        }


def curve_of(
    cascade: Cascade, pictures: Sequence[ScoredPicture], neighbours: Sequence[int], iou: float
) -> PictureCurve:
    """Group the windows of every picture anew with each threshold, and count.

    With two stages and more it is what `detect` gives with that last threshold. With a single stage, whose
    failures let windows be skipped, it may differ a little where the threshold is not the cascade's own.
    """
    thresholds = _thresholds(cascade, pictures)
    bars = (thresholds - OPENCV_TOLERANCE).astype(np.float64)
    scores = bars - float(np.float32(cascade.stage_threshold[-1] - OPENCV_TOLERANCE))
    misses = np.zeros((len(scores), len(neighbours)), np.int64)
    alarms = np.zeros_like(misses)
    for picture in pictures:
        ends = np.searchsorted(-picture.scores, -scores, "right").astype(np.int64)
        distinct, place = np.unique(ends, return_inverse=True)
        counts = np.array(_counts(picture, distinct, neighbours, iou), np.int64)
        misses += counts[place, :, 0]
        alarms += counts[place, :, 1]
    n_faces = sum(len(picture.truth.boxes) for picture in pictures)
    return PictureCurve(thresholds, np.array(neighbours), misses, alarms, n_faces, len(pictures))


def _counts(picture: ScoredPicture, ends: Ints, neighbours: Sequence[int], iou: float) -> list[list[Counts]]:
    """Misses and false alarms with the first so many windows: for each end, each number of neighbours."""
    found = []
    for groups in groups_of(picture.rects, ends, min(neighbours) + 1):
        cut, inside = clipped(groups.means, *picture.shape)
        matcher = Matcher(cut, picture.truth, iou)
        found.append([matcher.count(groups.kept(n) & inside) for n in neighbours])
    return found


def _thresholds(cascade: Cascade, pictures: Sequence[ScoredPicture]) -> NDArray[np.float32]:
    """Thresholds at quantiles of all scores, half of them evenly, half of them dense at the highest.

    Each is one that a file can hold. None is so low that it would need windows that were left out.
    """
    own = cascade.stage_threshold[-1]
    scores = np.sort(np.concatenate([np.empty(0), *(picture.scores for picture in pictures)]))[::-1]
    lowest = max((picture.exact_from for picture in pictures), default=-np.inf)
    scores = scores[scores >= lowest]
    if not scores.size:
        return np.array([own])
    last = scores.size - 1
    half = THRESHOLDS // 2
    ranks = np.concatenate([np.linspace(0, last, half), np.geomspace(1, scores.size, half) - 1])
    moved = (float(own) + scores[np.unique(np.rint(ranks).astype(np.int64))]).astype(np.float32)
    bars = (moved - OPENCV_TOLERANCE).astype(np.float64) - float(np.float32(own - OPENCV_TOLERANCE))
    found: NDArray[np.float32] = np.unique(np.append(moved[bars >= lowest], own))[::-1]
    return found
