"""Labelled windows: what clicks say, what the shipped detector surely finds, and what is surely no face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._teaching.alike import Rows, normalised, seen_again, unlike
from ocboost._teaching.base import Base
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.scanned import Finds, Windows, windows_about
from ocboost.cascade.detect import group_rectangles
from ocboost.cascade.matching import IOU
from ocboost.cascade.mining import FAR, PyramidOf
from ocboost.cascade.pictures import Boxes, Picture, overlaps

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

SURE = 6  # windows that a find of the shipped detector is put together of, to be learnt as a face
SURER = 8  # to be held for one by the guard
SURE_FACES = 120  # at most, over all frames
OF_A_FIND = 4  # windows of each
SHIFTED = 4  # windows of a marked face besides those at which a detector looks
NEAR = 8  # of these, those that stages need to be relaxed least for
OF_A_REJECTED = 80  # windows of a false box, those that stages need to be relaxed least for
OF_A_FREE_FRAME = 100
MOST_OTHERS = 1000  # windows far from any face, and as many of which nobody knows, over all frames
MAYBE = 4  # neighbours of a place that may be a face, with thresholds as low as they may be
USUAL_NEIGHBOURS = 10.0  # windows that a face is put together of, where none is known
MARKED, FOUND, DRAWN_IN_ALL = 3.0, 1.0, 5.0  # what a marked face, a find, and all drawn faces weigh
REJECTED, FREE, BACKGROUND = 3.0, 3.0, 0.02  # a false box, a frame without a face, a window of the background


Found = tuple[int, Windows, Boxes]  # in which frame


class ScannedFrame(NamedTuple):
    """A frame with its windows and what the shipped detector finds in it."""

    frame: Frame
    windows: Windows
    shipped: Finds


class LabelledWindows(NamedTuple):
    """What the stumps answer to windows, with labels and weights, and where each window is from."""

    answers: NDArray[np.int8]
    labels: NDArray[np.int8]  # 0 where nobody knows
    weights: Floats
    lesson: NDArray[np.int64]  # that says so, -1 for none
    frame: NDArray[np.int64]  # that it is of, -1 for drawn ones


class Marked(NamedTuple):
    """A face that was marked, its windows at places where a detector looks, and some with small shifts."""

    box: Boxes
    windows: Windows
    shifted: Pixels  # what the stumps answer to them


class Taught(NamedTuple):
    """A frame that was clicked on, with what the clicks say, and the windows that learning needs."""

    lesson: Lesson
    windows: Windows
    shipped: Finds
    marked: list[Marked]


class _Collector:
    def __init__(self, base: Base) -> None:
        self._n = len(base.last.reach)
        self._answers: list[Pixels] = [np.empty((0, -(-self._n // 8)), np.uint8)]
        self._rows: list[tuple[int, int, float, int, int]] = []

    def add(self, answers: Pixels, label: int, weight: float, *, frame: int, lesson: int = -1) -> None:
        """Windows that together weigh so much."""
        if len(answers):
            self._answers.append(answers)
            self._rows.append((len(answers), label, weight / len(answers), lesson, frame))

    def examples(self) -> LabelledWindows:
        counts = np.array([row[0] for row in self._rows], np.int64)
        labels, weights, lesson, frame = (
            np.repeat(np.array([row[k] for row in self._rows], dtype), counts)
            for k, dtype in ((1, np.int8), (2, np.float64), (3, np.int64), (4, np.int64))
        )
        answers = np.unpackbits(np.concatenate(self._answers), axis=1, count=self._n).view(np.int8)
        answers *= 2
        answers -= 1
        return LabelledWindows(answers, labels, weights, lesson, frame)


def marked_face(base: Base, frame: Frame, box: Boxes) -> Marked:
    """A marked face with its windows; without any where the face is too small."""
    picture = Picture("", frame.grey, box)
    rng = np.random.default_rng([frame.id if frame.id > 0 else 0, *box[0].tolist()])
    shifted, _ = PyramidOf(base.stages, picture).faces(SHIFTED, rng, mirrored=False)
    return Marked(box, windows_about(base, frame, box), base.packed_answers(shifted))


def needed(base: Base, windows: Windows) -> Floats:
    """How far each stage would have to be relaxed for each window, in deviations, (n, stages)."""
    found: Floats = np.maximum((base.thresholds - windows.sums) / base.spread, 0.0)
    return found


def easiest(base: Base, windows: Windows, n: int = NEAR) -> NDArray[np.int64]:
    """The windows that need the least of it."""
    need = needed(base, windows)
    return np.argsort(need.max(axis=1, initial=0.0) + need.sum(axis=1) / 10.0, kind="stable")[:n]


def examples_of(
    base: Base,
    taught: Sequence[Taught],
    others: Sequence[ScannedFrame],
    again: Mapping[int, Boxes],
    wrong: Rows,
    seed: int,
) -> LabelledWindows:
    """All labelled windows, and some that may or may not be faces.

    Of ``again`` see `marked_again`, of ``wrong`` see `wrong_windows`.
    """
    rng = np.random.default_rng([seed, 11])
    collector = _Collector(base)
    collector.add(base.packed_answers(base.drawn), 1, DRAWN_IN_ALL, frame=-1)
    for k, (lesson, windows, _, marked) in enumerate(taught):
        frame = lesson.frame.id
        for each in marked:
            near = each.windows.answers[easiest(base, each.windows)]
            collector.add(np.concatenate([each.shifted, near]), 1, MARKED, lesson=k, frame=frame)
        if len(lesson.wrong):
            own = overlaps(windows.rects, lesson.wrong) >= IOU
            for at in range(len(lesson.wrong)):
                about = windows.some(own[:, at])
                nearest = easiest(base, about, OF_A_REJECTED)
                collector.add(about.answers[nearest], -1, REJECTED, lesson=k, frame=frame)
        if lesson.free:
            score = windows.scores(base.last.reach.astype(np.float32))
            best = np.argsort(-score, kind="stable")[:OF_A_FREE_FRAME]
            collector.add(windows.answers[np.sort(best)], -1, FREE, lesson=k, frame=frame)
    sure = sure_finds(taught, others, wrong)
    windows_in = {each.lesson.frame.id: each.windows for each in taught}
    windows_in |= {each.frame.id: each.windows for each in others}
    repeated = [(frame, windows_in[frame], boxes) for frame, boxes in again.items()]
    for frame, frame_windows, boxes in [*sure, *repeated]:
        shared = overlaps(frame_windows.rects, boxes)
        for at in range(len(boxes)):
            best = np.argsort(-shared[:, at], kind="stable")[:OF_A_FIND]
            collector.add(frame_windows.answers[best[shared[best, at] >= 0.6]], 1, FOUND, frame=frame)
    _add_the_rest(taught, others, [*sure, *repeated], collector, rng)
    return collector.examples()


def wrong_windows(base: Base, taught: Sequence[Taught]) -> Rows:
    """All windows that were said to be wrong, `normalised`."""
    found = [np.empty((0, base.stages.height, base.stages.width), np.uint8)]
    for each in taught:
        boxes = each.lesson.wrong
        if each.lesson.free:
            boxes = np.concatenate([boxes, each.shipped.boxes])
        if len(boxes):
            near = (overlaps(each.windows.rects, boxes) >= IOU).any(axis=1)
            found.append(each.windows.pixels[near])
    return normalised(np.concatenate(found))


def sure_boxes(
    windows: Windows, shipped: Finds, lesson: Lesson | None, wrong: Rows, least: int = SURER
) -> Boxes:
    """What the shipped detector surely finds in a frame, and was not said to be wrong, nor looks like it."""
    if lesson is not None and lesson.free:
        return shipped.boxes[:0]
    boxes = shipped.boxes[shipped.neighbours >= least]
    if lesson is not None:
        boxes = boxes[_away_from(boxes, lesson.wrong)]
    return boxes[unlike(windows, boxes, wrong)]


def marked_again(base: Base, taught: Sequence[Taught], others: Sequence[ScannedFrame]) -> dict[int, Boxes]:
    """Where faces that were marked are seen again in other frames, and the shipped detector finds nothing."""
    none = np.empty((0, base.stages.height, base.stages.width), np.uint8)
    marks = {
        each.lesson.frame.id: [own.windows.pixels[easiest(base, own.windows)] for own in each.marked]
        for each in taught
    }
    found = {}
    frames = [(each.lesson.frame.id, each.windows, each.shipped, each.lesson) for each in taught]
    for frame, windows, shipped, lesson in [
        *frames,
        *((e.frame.id, e.windows, e.shipped, None) for e in others),
    ]:
        if lesson is not None and lesson.free:
            continue
        known = (
            shipped.boxes if lesson is None else np.concatenate([shipped.boxes, lesson.faces, lesson.wrong])
        )
        elsewhere = [own for at, marked in marks.items() if at != frame for own in marked]
        boxes = seen_again(windows, known, np.concatenate([none, *elsewhere]))
        if len(boxes):
            found[frame] = boxes
    return found


def expected(
    taught: Sequence[Taught], others: Sequence[ScannedFrame], again: Mapping[int, Boxes], wrong: Rows
) -> tuple[int, float]:
    """About how many faces all frames have, and of how many windows they would be put together.

    What the shipped detector finds, corrected by the clicks, and marked faces that are seen ``again``.
    """
    neighbours = [np.empty(0, np.int64)]
    faces = missed = sum(map(len, again.values()))
    for lesson, windows, shipped, _ in taught:
        if lesson.free:
            continue
        known = np.concatenate([lesson.wrong, lesson.faces])
        away = _away_from(shipped.boxes, known)
        kept = away & unlike(windows, shipped.boxes, wrong)
        found = (overlaps(lesson.faces, shipped.boxes) >= IOU).any(axis=1)
        of_faces = (overlaps(shipped.boxes, lesson.faces) >= IOU).any(axis=1)
        neighbours.append(shipped.neighbours[kept | of_faces])
        missed += int((~found).sum())
        faces += int(kept.sum()) + len(lesson.faces)
    for seen in others:
        kept = unlike(seen.windows, seen.shipped.boxes, wrong)
        neighbours.append(seen.shipped.neighbours[kept])
        faces += int(kept.sum())
    counts = np.concatenate(neighbours)
    each = float(np.median(counts)) if len(counts) else USUAL_NEIGHBOURS
    return faces, float(counts.sum()) + missed * each


def sure_finds(taught: Sequence[Taught], others: Sequence[ScannedFrame], wrong: Rows) -> list[Found]:
    """What the shipped detector surely finds, without what was said to be wrong or looks like it."""
    found = [
        (each.lesson.frame.id, each.windows, sure_boxes(each.windows, each.shipped, each.lesson, wrong, SURE))
        for each in taught
    ]
    found += [
        (seen.frame.id, seen.windows, sure_boxes(seen.windows, seen.shipped, None, wrong, SURE))
        for seen in others
    ]
    found = [each for each in found if len(each[2])]
    starts = np.cumsum([0, *(len(boxes) for _, _, boxes in found)])
    step = max(-(-int(starts[-1]) // SURE_FACES), 1)
    return [
        (frame, windows, boxes[(at + np.arange(len(boxes))) % step == 0])
        for (frame, windows, boxes), at in zip(found, starts.tolist(), strict=False)
    ]


def _away_from(boxes: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Which boxes are far from all others."""
    away: NDArray[np.bool_] = np.all(overlaps(boxes, others) < FAR, axis=1)
    return away


def maybe_faces(windows: Windows, shipped: Finds | None) -> list[Boxes]:
    """Where a face may be: what any detector finds, even with thresholds as low as they may be."""
    boxes, _ = group_rectangles(windows.rects, MAYBE)
    return [boxes] if shipped is None else [boxes, shipped.boxes]


def _add_the_rest(
    taught: Sequence[Taught],
    others: Sequence[ScannedFrame],
    sure: Sequence[Found],
    collector: _Collector,
    rng: np.random.Generator,
) -> None:
    """Windows of places where no detector finds anything, not even with thresholds as low as they may be.

    And those of which nobody knows whether they are faces that are missed: frames are labelled in part only.
    """
    none = np.empty((0, 4), np.int64)
    surely = {frame: np.concatenate([own for at, _, own in sure if at == frame]) for frame, _, _ in sure}
    parts = [
        (
            each.lesson.frame.id,
            each.windows,
            each.shipped,
            np.concatenate([each.lesson.faces, each.lesson.wrong]),
        )
        for each in taught
        if not each.lesson.free
    ]
    parts += [(seen.frame.id, seen.windows, seen.shipped, none) for seen in others]
    far_from_all: list[tuple[int, Pixels]] = []
    unknown: list[tuple[int, Pixels]] = []
    for frame, windows, shipped, clicked in parts:
        known = np.concatenate([clicked, surely.get(frame, none)])
        far = _away_from(windows.rects, np.concatenate([shipped.boxes, known, *maybe_faces(windows, None)]))
        rest = ~far & _away_from(windows.rects, known)
        for chosen, kind in ((far, far_from_all), (rest, unknown)):
            kind.append((frame, windows.answers[chosen]))
    for kind, label in ((far_from_all, -1), (unknown, 0)):
        total = sum(len(answers) for _, answers in kind)
        share = min(MOST_OTHERS / max(total, 1), 1.0)
        for frame, answers in kind:
            own = np.sort(rng.permutation(len(answers))[: round(share * len(answers))])
            collector.add(answers[own], label, BACKGROUND * len(answers), frame=frame)
