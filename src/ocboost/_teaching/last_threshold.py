"""The last stage's threshold: as many boxes as there should be faces, by models that have not learnt them.

The number of faces is what the shipped detector finds, corrected by the clicks. So what is found better is
not paid for by false alarms. The fewer faces there are, the less that tells, and the nearer the threshold is
to one that is usual. With very few it is as low as it may be where no stage was relaxed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._teaching.clicks import Lesson
from ocboost._teaching.halving import lowest_with
from ocboost._teaching.turned import ScoredTurned, threshold_of
from ocboost.cascade.detect import group_rectangles
from ocboost.cascade.matching import IOU
from ocboost.cascade.picture_threshold import MIN_NEIGHBORS
from ocboost.cascade.pictures import Boxes, overlaps

Floats = NDArray[np.float64]

SPARE = 2  # windows more than a box needs that a marked face is to have: no two frames are the same
BELOW = 0.02  # half log-odds between the threshold and what must be accepted, or rejected
FEWER, MOST_MORE = 0.95, 1.05  # times what there should be, for the sake of what was clicked on
FEW = 8  # faces that are expected in all frames, below which they are not counted
LOST = 0.1  # of the shipped detector's finds, many of which are false
LOST_MORE = 0.3  # of these are lost at no threshold that is usual
CAUTION = 0.4  # how far the threshold goes towards where the others are just kept
USUAL = 0.75  # half log-odds: a threshold at which about as much is found wrongly as by shipped detectors
MANY_MORE = 1.6  # times what there should be is found at no threshold that is usual
UNSURE = 25.0  # faces, with which what was counted is trusted half
LOWERED = 0.5  # a part of the way to where as much is found in turned frames as may be
AROUND = 0.1  # how far from the usual one the threshold may lie where very few faces are there
KEPT_FINDS = 0.95  # with few faces, of all that the shipped stages accept
SURELY_NOT, PERHAPS = -0.5, 0.5  # half log-odds: with few faces, what was rejected is to come below the first
ROOM = 0.15  # half log-odds between the threshold and what was clicked, where few faces make it uncertain
MARGIN = 1.0  # half log-odds that with few faces the threshold is below all that was seen


class ScoredFrame(NamedTuple):
    """A frame's windows that pass the stages, with their scores by two models."""

    rects: Boxes
    strict: NDArray[np.bool_]  # which of them pass the stages that are not relaxed
    scores: Floats  # by the model of all frames
    unseen: Floats  # by one that has not learnt this frame
    lesson: Lesson | None
    shipped: Boxes  # what the shipped detector finds, and nobody said to be wrong
    marked: list[tuple[Boxes, Floats]]  # the windows of each face that was marked, with their scores


def last_threshold(
    frames: Sequence[ScoredFrame],
    faces: float,
    neighbours: float,
    *,
    turned: ScoredTurned | None = None,
    final: bool,
    by_boxes: bool,
) -> float:
    """The threshold, in the scores' half log-odds.

    With many faces it is where as many windows are accepted, and put together to boxes, as there should be;
    or, where other stages let other numbers of windows pass for each face, as many boxes. From there it goes
    a part of the way up to where the shipped detector's finds are just kept; and the fewer faces there are,
    the nearer to the usual threshold. Where too much is found in frames that are ``turned``, it is raised;
    where less is found there than may be, it is lowered by a part. In the ``final`` round it gives way,
    within bounds, where what was marked is not found, or what was rejected is.
    """
    wanted, unwanted = clicked_scores(frames)
    most = min((score for _, score in wanted), default=np.inf) - BELOW
    least = max((score for _, score in unwanted), default=-np.inf) + BELOW
    if faces < FEW:
        return _with_few(frames, turned, faces, most, least, final=final, usual=not by_boxes)
    target = faces if by_boxes else neighbours
    threshold = _lowest_with(frames, target, by_boxes)
    found = [score for each in frames for box in each.shipped for score in _at_box(each, box)]
    kept = float(np.quantile(found, LOST)) if found else threshold
    caution = CAUTION * max(kept - threshold, 0.0)
    threshold += caution
    pull = 0.0
    if not by_boxes:
        most_usual = float(np.quantile(found, LOST_MORE)) if found else USUAL
        usual = max(min(USUAL, most_usual), _lowest_with(frames, MANY_MORE * target, by_boxes))
        pull = UNSURE / (UNSURE + faces) * (usual - threshold)
    pull += _by_turned(turned, threshold + pull)
    threshold += pull
    if final:
        low, high = (_lowest_with(frames, share * target, by_boxes) + caution for share in (MOST_MORE, FEWER))
        low, high = low + min(pull, 0.0), high + max(pull, 0.0)
        threshold = min(max(threshold, min(least, high)), max(most, low))
    return threshold


def clicked_scores(frames: Sequence[ScoredFrame]) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """What marked faces reach, and what rejected boxes reach: the thresholds at which they are found.

    Each with the place of its frame.
    """
    wanted: list[tuple[int, float]] = []
    unwanted: list[tuple[int, float]] = []
    for place, each in enumerate(frames):
        if each.lesson is None:
            continue
        wanted += [(place, score) for own in each.marked for score in _surely_found(*own)]
        for k in range(len(each.lesson.wrong)):
            about = overlaps(each.rects, each.lesson.wrong[k : k + 1])[:, 0] >= IOU
            unwanted += [(place, score) for score in _highest_group(each.rects[about], each.scores[about])]
        if each.lesson.free:
            unwanted += [(place, score) for score in _highest_group(each.rects, each.scores)]
    return wanted, unwanted


def _at_box(frame: ScoredFrame, box: NDArray[np.int64]) -> list[float]:
    """What a box reaches by the model that has not learnt its frame."""
    about = overlaps(frame.rects, box[None])[:, 0] >= IOU
    return _highest_group(frame.rects[about], frame.unseen[about])


def unlearnt(frames: Sequence[ScoredFrame], threshold: float, *, few: bool) -> list[int]:
    """The places of frames in which what was clicked is not so; with few faces, or only just."""
    room = ROOM if few else 0.0
    wanted, unwanted = clicked_scores(frames)
    found = {place for place, score in wanted if score < threshold + room}
    return sorted(found | {place for place, score in unwanted if score >= threshold - room})


def _by_turned(turned: ScoredTurned | None, threshold: float) -> float:
    """How far the threshold is moved because of what is found in turned frames."""
    if turned is None or not turned.frames:
        return 0.0
    further = threshold_of(turned, threshold) - threshold
    return further if further > 0.0 else LOWERED * further


def _with_few(
    frames: Sequence[ScoredFrame],
    turned: ScoredTurned | None,
    faces: float,
    most: float,
    least: float,
    *,
    final: bool,
    usual: bool,
) -> float:
    """Below nearly all that passes strict stages, above what was rejected, and hardly more boxes."""
    passed = np.concatenate([np.empty(0), *(each.unseen[each.strict & _unclicked(each)] for each in frames)])
    low = min(float(passed.min(initial=0.0)), most) - MARGIN
    high = min(float(np.quantile(passed, 1.0 - KEPT_FINDS)), SURELY_NOT) if len(passed) else SURELY_NOT
    if final:
        high = max(high, PERHAPS)
    bound = loose = -np.inf
    if not all(each.strict.all() for each in frames):  # stages were relaxed for what was marked
        if usual:
            own = USUAL + _by_turned(turned, USUAL)
            low, high = own - AROUND, max(high, own)
        bound = _lowest_with(frames, faces, True)
        loose = _lowest_with(frames, MOST_MORE * faces + 1.0, True)
    above = (least + high) / 2.0 if low < least < high else least  # no two frames are the same
    threshold = max(min(max(low, above), high), bound)
    return max(min(threshold, most), min(loose, bound)) if final else threshold


def _unclicked(frame: ScoredFrame) -> NDArray[np.bool_]:
    if frame.lesson is None:
        return np.ones(len(frame.rects), np.bool_)
    if frame.lesson.free:
        return np.zeros(len(frame.rects), np.bool_)
    away: NDArray[np.bool_] = np.all(overlaps(frame.rects, frame.lesson.wrong) < IOU, axis=1)
    return away


def _lowest_with(frames: Sequence[ScoredFrame], target: float, by_boxes: bool) -> float:
    """The lowest threshold, about, with which at most so many boxes, or windows in boxes, are found."""
    values = np.concatenate([np.empty(0), *(each.unseen for each in frames)])
    if not values.size:
        return 0.0

    def count(at: float) -> int:
        sizes = [group_rectangles(each.rects[each.unseen >= at], MIN_NEIGHBORS)[1] for each in frames]
        return sum(len(own) if by_boxes else int(own.sum()) for own in sizes)

    return lowest_with(count, target, float(values.min()) - BELOW, float(values.max()) + BELOW)


def _surely_found(rects: Boxes, values: Floats) -> list[float]:
    """The highest threshold at which these windows make a box that has some to spare, if they ever do."""
    return _highest_group(rects, values, MIN_NEIGHBORS + SPARE) or _highest_group(rects, values)


def _highest_group(rects: Boxes, values: Floats, neighbours: int = MIN_NEIGHBORS) -> list[float]:
    """The highest threshold at which these windows make a box."""
    order = np.argsort(-values, kind="stable")
    low, high = 0, len(order)
    if not len(group_rectangles(rects, neighbours)[0]):
        return []
    while high - low > 1:
        middle = (low + high) // 2
        if len(group_rectangles(rects[order[:middle]], neighbours)[0]):
            high = middle
        else:
            low = middle
    return [float(values[order[high - 1]])]
