"""How a detector does as it is used: on whole pictures, at all sizes, overlapping windows put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count, as_number
from ocboost.cascade.bounds import TAIL, Bounds, hit_bounds, rate_bounds, resampled_sums
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import (
    MAX_GROUPED,
    Size,
    clipped,
    group_rectangles,
    levels,
    scored_candidates,
)
from ocboost.cascade.matching import NEIGHBOURS, Matcher, Truth
from ocboost.cascade.picture_curve import PictureCurve, ScoredPicture, curve_of
from ocboost.cascade.pictures import Picture
from ocboost.errors import InputError

Ints = NDArray[np.int64]

MOST_WINDOWS = 3_000  # of a picture, for the curve: every pair is compared
MILLION = 1_000_000


class PictureSettings(NamedTuple):
    """How pictures are looked at, and when a detection is a face."""

    scale_factor: float
    min_neighbors: int
    min_size: Size | None
    iou: float


@dataclass(frozen=True, eq=False)
class PictureMeasurement:
    """How one detector does on pictures. Counts are those of each picture, in their order.

    Bounds are of 95 %, as `bounds` has them. What is None is not defined: without faces there is no recall.
    """

    name: str
    n_stages: int
    n_trees: int
    settings: PictureSettings
    pictures: tuple[str, ...]
    faces: Ints
    misses: Ints  # with the detector's own thresholds
    false_alarms: Ints
    windows: Ints  # places and sizes of the window; OpenCV skips some after windows that fail the first stage
    curve: PictureCurve

    @property
    def n_pictures(self) -> int:
        """How many pictures there are."""
        return len(self.pictures)

    @property
    def n_faces(self) -> int:
        """How many faces they have."""
        return int(self.faces.sum())

    @property
    def recall(self) -> float | None:
        """The share of faces that are found."""
        return (self.n_faces - int(self.misses.sum())) / self.n_faces if self.n_faces else None

    @property
    def recall_bounds(self) -> Bounds | None:
        """Its bounds."""
        return hit_bounds(self.misses, self.faces) if self.n_faces else None

    @property
    def alarms_per_picture(self) -> float:
        """False alarms per picture."""
        return float(self.false_alarms.mean())

    @property
    def alarms_per_picture_bounds(self) -> Bounds:
        """Their bounds."""
        return rate_bounds(self.false_alarms, np.ones_like(self.false_alarms))

    @property
    def alarms_per_million(self) -> float | None:
        """False alarms per million windows; None where all pictures are smaller than the window."""
        looked_at = int(self.windows.sum())
        return MILLION * int(self.false_alarms.sum()) / looked_at if looked_at else None

    @property
    def alarms_per_million_bounds(self) -> Bounds | None:
        """Their bounds."""
        if not self.windows.any():
            return None
        low, high = rate_bounds(self.false_alarms, self.windows)
        return MILLION * low, MILLION * high

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON can hold them, with the counts of each picture."""
        return {
            "name": self.name,
            "stages": self.n_stages,
            "trees": self.n_trees,
            "recall": self.recall,
            "recall_bounds": self.recall_bounds,
            "false_alarms_per_picture": self.alarms_per_picture,
            "false_alarms_per_picture_bounds": self.alarms_per_picture_bounds,
            "false_alarms_per_million_windows": self.alarms_per_million,
            "false_alarms_per_million_windows_bounds": self.alarms_per_million_bounds,
            "windows": int(self.windows.sum()),
            "misses": self.misses.tolist(),
            "false_alarms": self.false_alarms.tolist(),
            "curve": self.curve.as_dict(),
        }


def measure_on_pictures(
    name: str,
    cascade: Cascade,
    pictures: Iterable[Picture],
    *,
    scale_factor: float = 1.1,
    min_size: Size | None = None,
    min_neighbors: int = 3,
    iou: float = 0.5,
    most: int = MOST_WINDOWS,
    progress: Callable[[str, int], None] | None = None,
) -> PictureMeasurement:
    """Detect in pictures whose faces are known, and count what is missed and what is wrongly found.

    Parameters
    ----------
    name : str
        For tables.
    cascade : Cascade
    pictures : iterable of Picture
        At least one; gone through once, and not kept.
    scale_factor, min_size, min_neighbors
        As in `detect`.
    iou : float, default 0.5
        A detection shows a face from this intersection over union on.
    most : int, default 3000
        For the curve, so many windows of a picture at most, those that score highest, or all that the cascade
        accepts. Thresholds for which more would be needed are left out.
    progress : callable, optional
        Called with each picture's name, and how many are done.

    Returns
    -------
    PictureMeasurement
    """
    min_neighbors = as_count(min_neighbors, "min_neighbors", 0, None, "OpenCV takes 3.")
    iou = as_number(iou, "iou", 0.0, 1.0, "Take 0.5 or so.", low_open=True)
    most = as_count(most, "most", 1, None, "Take 3000 or so.")
    names: list[str] = []
    scored: list[ScoredPicture] = []
    rows: list[tuple[int, int, int, int]] = []
    for picture in pictures:
        truth = Truth(picture.boxes, picture.ignored)
        rects, scores = scored_candidates(cascade, picture.grey, scale_factor, min_size)
        shape = (picture.grey.shape[0], picture.grey.shape[1])
        accepted = rects[scores >= 0.0]
        if len(accepted) > MAX_GROUPED:
            raise InputError(
                f"cascade must accept at most {MAX_GROUPED:,} windows of a picture; '{name}' accepts "
                f"{len(accepted):,} of '{picture.name}'. Take a larger min_size, or another cascade."
            )
        grouped, _ = group_rectangles(accepted, min_neighbors)
        cut, inside = clipped(grouped, *shape)
        counts = Matcher(cut[inside], truth, iou).count()
        windows = sum(level.n_windows for level in levels(cascade, picture.grey, scale_factor, min_size))
        names.append(picture.name)
        rows.append((len(truth.boxes), counts.misses, counts.false_alarms, windows))
        scored.append(_highest(rects, scores, shape, truth, most))
        if progress is not None:
            progress(picture.name, len(names))
    if not names:
        raise InputError("pictures must hold at least one picture; got none. Check where they are read from.")
    faces, misses, false_alarms, looked_at = np.array(rows, np.int64).T
    neighbours = sorted({*NEIGHBOURS, min_neighbors} - {0})
    return PictureMeasurement(
        name=name,
        n_stages=cascade.n_stages,
        n_trees=cascade.n_trees,
        settings=PictureSettings(scale_factor, min_neighbors, min_size, iou),
        pictures=tuple(names),
        faces=faces,
        misses=misses,
        false_alarms=false_alarms,
        windows=looked_at,
        curve=curve_of(cascade, scored, neighbours, iou),
    )


def _highest(
    rects: Ints, scores: NDArray[np.float64], shape: tuple[int, int], truth: Truth, most: int
) -> ScoredPicture:
    """The windows that the curve needs: ``most`` of them, or all that are accepted."""
    kept = max(most, int((scores >= 0.0).sum()))
    order = np.argsort(-scores, kind="stable")
    # Of equal scores some may be left out, so it is exact above the first one that is.
    exact_from = float(np.nextafter(scores[order[kept]], np.inf)) if len(scores) > kept else -np.inf
    order = order[:kept]
    return ScoredPicture(rects[order], scores[order], shape, truth, exact_from)


@dataclass(frozen=True)
class PictureDifference:
    """What a second detector does more than a first one, on the same pictures; below 0 it is better."""

    misses: float | None  # share of the faces
    misses_bounds: Bounds | None
    alarms_per_picture: float
    alarms_per_picture_bounds: Bounds | None

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON can hold them."""
        return {
            "misses": self.misses,
            "misses_bounds": self.misses_bounds,
            "false_alarms_per_picture": self.alarms_per_picture,
            "false_alarms_per_picture_bounds": self.alarms_per_picture_bounds,
        }


def bootstrap_difference(a: PictureMeasurement, b: PictureMeasurement) -> PictureDifference:
    """What ``b`` does more than ``a`` at their own thresholds, with 95 % bounds.

    The bounds are a bootstrap over pictures, which are drawn together for both; the draws are always the
    same. A difference that is 0 in every picture has bounds of 0. A single picture, or a single one with
    faces, says nothing about others: there are no bounds then.
    """
    if a.pictures != b.pictures or not np.array_equal(a.faces, b.faces):
        raise InputError(
            f"a and b must be measured on the same pictures, in the same order; '{a.name}' was measured on "
            f"{a.n_pictures:,} and '{b.name}' on {b.n_pictures:,}, which are others. Measure both on "
            "the same."
        )
    misses, alarms = b.misses - a.misses, b.false_alarms - a.false_alarms
    sums = resampled_sums(np.stack([misses, a.faces, alarms], axis=1))
    with_faces = sums[sums[:, 1] > 0]
    return PictureDifference(
        misses=int(misses.sum()) / a.n_faces if a.n_faces else None,
        misses_bounds=_middle(with_faces[:, 0] / with_faces[:, 1]) if (a.faces > 0).sum() > 1 else None,
        alarms_per_picture=float(alarms.mean()),
        alarms_per_picture_bounds=_middle(sums[:, 2] / a.n_pictures) if a.n_pictures > 1 else None,
    )


def _middle(values: NDArray[np.float64]) -> Bounds:
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL])
    return float(low), float(high)
