"""Whether an adapted cascade is worse than the shipped one, on pictures that neither has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import Size, detect
from ocboost.cascade.matching import counts_in
from ocboost.cascade.picture_measure import PictureMeasurement
from ocboost.cascade.picture_threshold import MIN_NEIGHBORS
from ocboost.cascade.pictures import Picture, as_boxes

SURE = 0.95
FEWEST_TO_JUDGE = 15  # faces held out; of fewer a detector may find more and be worse all the same
GUARD_EVERY = 4  # pictures that only judge: every fourth of those with faces, and of those without


class Judged(NamedTuple):
    """What a cascade did on pictures, with its own thresholds."""

    hits: int
    n_faces: int
    false_alarms: int
    n_pictures: int

    @classmethod
    def of(cls, measured: PictureMeasurement) -> Judged:
        """What was measured."""
        faces, misses = measured.n_faces, int(measured.misses.sum())
        return cls(faces - misses, faces, int(measured.false_alarms.sum()), measured.n_pictures)

    @property
    def misses(self) -> int:
        """Faces not found."""
        return self.n_faces - self.hits

    @property
    def recall(self) -> float:
        """Share of the faces found; NaN where there is none."""
        return self.hits / self.n_faces if self.n_faces else float("nan")

    @property
    def a_picture(self) -> float:
        """False alarms a picture."""
        return self.false_alarms / self.n_pictures


def is_held_out(nth: int) -> bool:
    """Whether the n-th picture of its kind, counted from 1, only judges."""
    return nth % GUARD_EVERY == 0


def split(have_faces: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Pictures to learn from, and those held out to judge by: every fourth of either kind.

    >>> split([True, True, True, False, True])
    ([0, 1, 2, 3], [4])
    """
    learnt: list[int] = []
    judged: list[int] = []
    counts = {True: 0, False: 0}
    for k, kind in enumerate(have_faces):
        counts[kind] += 1
        (judged if is_held_out(counts[kind]) else learnt).append(k)
    return learnt, judged


def judge(cascade: Cascade, pictures: Sequence[Picture], min_size: Size | None = None) -> Judged:
    """Count what a cascade finds in pictures, as OpenCV's ``detectMultiScale`` would."""
    hits = alarms = faces = 0
    for picture in pictures:
        found = as_boxes(detect(cascade, picture.grey, 1.1, MIN_NEIGHBORS, min_size))
        counts = counts_in(picture, found)
        faces += len(picture.boxes)
        hits += len(picture.boxes) - counts.misses
        alarms += counts.false_alarms
    return Judged(hits, faces, alarms, len(pictures))


def worse(shipped: Judged, adapted: Judged, wanted: float | None = None) -> str | None:
    """Why the adapted cascade is worse, in words; None if it is not.

    It must not miss more faces, nor make more false alarms than the shipped one, or than were wanted: within
    what chance gives where that many are expected. With too few faces to tell it counts as worse.

    >>> worse(Judged(50, 100, 9, 30), Judged(80, 100, 9, 30)) is None
    True
    >>> worse(Judged(50, 100, 9, 30), Judged(40, 100, 9, 30))
    'it misses 60 of 100 faces, the shipped detector 50'
    """
    if adapted.misses > shipped.misses:
        return (
            f"it misses {adapted.misses:,} of {adapted.n_faces:,} faces, the shipped detector "
            f"{shipped.misses:,}"
        )
    expected = max(float(shipped.false_alarms), (wanted or 0.0) * adapted.n_pictures)
    allowed = max(shipped.false_alarms, int(np.floor(float(chi2.ppf(SURE, 2 * expected + 2)) / 2.0)))
    if adapted.false_alarms > allowed:
        return (
            f"it makes {adapted.false_alarms:,} false alarms in {adapted.n_pictures:,} pictures, the shipped "
            f"detector {shipped.false_alarms:,}"
        )
    if adapted.misses == shipped.misses and adapted.n_faces and adapted.false_alarms > shipped.false_alarms:
        return (
            f"it finds no more faces, and makes {adapted.false_alarms:,} false alarms where the shipped "
            f"detector makes {shipped.false_alarms:,}"
        )
    if 0 < adapted.n_faces < FEWEST_TO_JUDGE:
        return f"{adapted.n_faces:,} faces are too few to tell, at least {FEWEST_TO_JUDGE} are needed"
    return None
