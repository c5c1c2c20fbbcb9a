"""Labelled windows: what clicks say, what the shipped detector surely finds, and what is surely no face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._teaching.base import Base
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.scanned import Finds, Windows, windows_about
from ocboost.cascade.detect import group_rectangles
from ocboost.cascade.matching import IOU
from ocboost.cascade.mining import FAR, PyramidOf
from ocboost.cascade.pictures import Boxes, Picture, overlaps
from ocboost.cascade.windows import stage_sums

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

SURE = 8  # windows that a find of the shipped detector is put together of, to be taken for a face
SURE_FACES = 150  # at most, over all frames
OF_A_FIND = 6  # windows of each
SHIFTED = 6  # windows of a marked face besides those at which a detector looks
NEAR = 12  # of these, those that stages need to be relaxed least for
OF_A_FREE_FRAME = 200
BACKGROUND = 1000  # windows far from any face, over all frames
MAYBE = 4  # neighbours of a place that may be a face, with thresholds as low as they may be
SAME_THING = 0.8  # correlation of windows from which on they show the same thing
MARKED, FOUND, DRAWN_IN_ALL = 3.0, 1.0, 5.0  # what a marked face, a find, and all drawn faces weigh
REJECTED, FREE, BACKGROUND_IN_ALL = 3.0, 3.0, 10.0


Found = tuple[Windows, Boxes]
Counted = tuple[Windows, int]


class ScannedFrame(NamedTuple):
    """A frame with its windows and what the shipped detector finds in it."""

    frame: Frame
    windows: Windows
    shipped: Finds


class LabelledWindows(NamedTuple):
    """Windows with labels and weights; which lesson each is from, -1 for none."""

    pixels: Pixels
    labels: NDArray[np.int8]
    weights: Floats
    lesson: NDArray[np.int64]


class Marked(NamedTuple):
    """A face that was marked, its windows at places where a detector looks, and some with small shifts."""

    box: Boxes
    windows: Windows
    shifted: Pixels


class Taught(NamedTuple):
    """A frame that was clicked on, with what the clicks say, and the windows that learning needs."""

    lesson: Lesson
    windows: Windows
    shipped: Finds
    marked: list[Marked]


class _Collector:
    def __init__(self, base: Base) -> None:
        self._pixels: list[Pixels] = [np.empty((0, base.stages.height, base.stages.width), np.uint8)]
        self._rows: list[tuple[int, int, float, int]] = []

    def add(self, pixels: Pixels, label: int, weight: float, lesson: int = -1) -> None:
        """Windows that together weigh so much."""
        if len(pixels):
            self._pixels.append(pixels)
            self._rows.append((len(pixels), label, weight / len(pixels), lesson))

    def examples(self) -> LabelledWindows:
        counts = np.array([row[0] for row in self._rows], np.int64)
        labels, weights, lesson = (
            np.repeat(np.array([row[k] for row in self._rows], dtype), counts)
            for k, dtype in ((1, np.int8), (2, np.float64), (3, np.int64))
        )
        return LabelledWindows(np.concatenate(self._pixels), labels, weights, lesson)


def marked_face(base: Base, frame: Frame, box: Boxes) -> Marked:
    """A marked face with its windows; without any where the face is too small."""
    picture = Picture("", frame.grey, box)
    rng = np.random.default_rng([frame.id if frame.id > 0 else 0, *box[0].tolist()])
    shifted, _ = PyramidOf(base.stages, picture).faces(SHIFTED, rng, mirrored=False)
    return Marked(box, windows_about(base.stages, frame, box), shifted)


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
    seed: int,
) -> LabelledWindows:
    """All labelled windows."""
    rng = np.random.default_rng([seed, 11])
    collector = _Collector(base)
    collector.add(base.drawn, 1, DRAWN_IN_ALL)
    for k, (lesson, windows, _, marked) in enumerate(taught):
        for each in marked:
            near = each.windows.pixels[easiest(base, each.windows)]
            collector.add(np.concatenate([each.shifted, near]), 1, MARKED, k)
        if len(lesson.wrong):
            own = overlaps(windows.rects, lesson.wrong)
            for at in range(len(lesson.wrong)):
                collector.add(windows.pixels[own[:, at] >= IOU], -1, REJECTED, k)
        if lesson.free:
            last = base.stages.n_stages - 1
            score = stage_sums(base.stages, windows.pixels, [last])[:, 0]
            best = np.argsort(-score, kind="stable")[:OF_A_FREE_FRAME]
            collector.add(windows.pixels[np.sort(best)], -1, FREE, k)
    for frame_windows, boxes in sure_finds(taught, others, wrong_windows(base, taught)):
        shared = overlaps(frame_windows.rects, boxes)
        for at in range(len(boxes)):
            best = np.argsort(-shared[:, at], kind="stable")[:OF_A_FIND]
            collector.add(frame_windows.pixels[best[shared[best, at] >= 0.6]], 1, FOUND)
    _add_background(base, taught, others, collector, rng)
    return collector.examples()


def wrong_windows(base: Base, taught: Sequence[Taught]) -> Pixels:
    """All windows that were said to be wrong."""
    found = [np.empty((0, base.stages.height, base.stages.width), np.uint8)]
    for each in taught:
        boxes = each.shipped.boxes if each.lesson.free else each.lesson.wrong
        if len(boxes):
            near = (overlaps(each.windows.rects, boxes) >= IOU).any(axis=1)
            found.append(each.windows.pixels[near])
    return np.concatenate(found)


def sure_boxes(windows: Windows, shipped: Finds, lesson: Lesson | None, wrong: Pixels) -> Boxes:
    """What the shipped detector surely finds in a frame, and was not said to be wrong, nor looks like it."""
    if lesson is not None and lesson.free:
        return shipped.boxes[:0]
    boxes = _sure(shipped, None if lesson is None else lesson.wrong, SURE)
    return _unlike(windows, boxes, wrong)


def counted(
    base: Base, taught: Sequence[Taught], others: Sequence[ScannedFrame], *, clicked: bool = False
) -> list[Counted]:
    """About how many faces each frame has: what the shipped detector finds, corrected by the clicks."""
    wrong = wrong_windows(base, taught)
    found: list[Counted] = []
    for each in taught if clicked else ():
        lesson = each.lesson
        boxes = _sure(each.shipped, np.concatenate([lesson.wrong, lesson.faces]), 0)
        n = 0 if lesson.free else len(_unlike(each.windows, boxes, wrong)) + len(lesson.faces)
        found.append((each.windows, n))
    found += [(seen.windows, len(_unlike(seen.windows, seen.shipped.boxes, wrong))) for seen in others]
    return found


def sure_finds(taught: Sequence[Taught], others: Sequence[ScannedFrame], wrong: Pixels) -> list[Found]:
    """What the shipped detector surely finds, without what was said to be wrong or looks like it."""
    found = [(each.windows, sure_boxes(each.windows, each.shipped, each.lesson, wrong)) for each in taught]
    found += [(seen.windows, sure_boxes(seen.windows, seen.shipped, None, wrong)) for seen in others]
    found = [(windows, boxes) for windows, boxes in found if len(boxes)]
    starts = np.cumsum([0, *(len(boxes) for _, boxes in found)])
    step = max(-(-int(starts[-1]) // SURE_FACES), 1)
    return [
        (windows, boxes[(at + np.arange(len(boxes))) % step == 0])
        for (windows, boxes), at in zip(found, starts.tolist(), strict=False)
    ]


def _sure(shipped: Finds, wrong: Boxes | None, least: int) -> Boxes:
    boxes = shipped.boxes[shipped.neighbours >= least]
    if wrong is None or not len(wrong) or not len(boxes):
        return boxes
    return boxes[(overlaps(boxes, wrong) < FAR).all(axis=1)]


def _unlike(windows: Windows, boxes: Boxes, wrong: Pixels) -> Boxes:
    """The boxes that show something else than any window that was said to be wrong."""
    if not len(wrong) or not len(boxes) or not len(windows.rects):
        return boxes
    at = overlaps(windows.rects, boxes).argmax(axis=0)
    alike = (normalised(windows.pixels[at]) @ normalised(wrong).T >= SAME_THING).any(axis=1)
    return boxes[~alike]


def normalised(pixels: Pixels) -> NDArray[np.float32]:
    """Windows as rows of mean 0 and length 1."""
    rows = pixels.reshape(len(pixels), -1).astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return rows


def maybe_faces(windows: Windows, shipped: Finds | None) -> list[Boxes]:
    """Where a face may be: what any detector finds, even with thresholds as low as they may be."""
    boxes, _ = group_rectangles(windows.rects, MAYBE)
    return [boxes] if shipped is None else [boxes, shipped.boxes]


def _add_background(
    base: Base,
    taught: Sequence[Taught],
    others: Sequence[ScannedFrame],
    collector: _Collector,
    rng: np.random.Generator,
) -> None:
    """Windows of places where no detector finds anything, not even with thresholds as low as they may be.

    Frames are labelled in part only: what nobody clicked on may be a face that is missed.
    """
    parts = [(each.windows, np.concatenate([each.shipped.boxes, each.lesson.faces])) for each in taught]
    parts += [(seen.windows, seen.shipped.boxes) for seen in others]
    pixels = []
    each_frame = max(BACKGROUND // max(len(parts), 1), 20)
    for windows, near in parts:
        maybe = maybe_faces(windows, None)
        far = (overlaps(windows.rects, np.concatenate([near, *maybe])) < FAR).all(axis=1)
        pixels.append(windows.pixels[np.sort(rng.permutation(np.flatnonzero(far))[:each_frame])])
    if pixels:
        collector.add(np.concatenate(pixels), -1, BACKGROUND_IN_ALL)
