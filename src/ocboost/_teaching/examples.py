"""Labelled windows out of what clicks say, what the shipped detector surely finds, and what is surely no face."""

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
ALIKE = 0.8  # correlation of windows from which on they show the same thing
MARKED, FOUND, DRAWN_IN_ALL = 3.0, 1.0, 5.0  # what a marked face, a find, and all drawn faces weigh
REJECTED, FREE, BACKGROUND_IN_ALL = 3.0, 3.0, 10.0


class Seen(NamedTuple):
    """A frame with its windows and what the shipped detector finds in it."""

    frame: Frame
    windows: Windows
    shipped: Finds


class Examples(NamedTuple):
    """Windows with labels and weights; which lesson each is from, -1 for none."""

    pixels: Pixels
    labels: NDArray[np.int8]
    weights: Floats
    lesson: NDArray[np.int64]


class Marked(NamedTuple):
    """A face that was marked, and its windows at places where a detector looks."""

    box: Boxes
    windows: Windows


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

    def examples(self) -> Examples:
        counts = np.array([row[0] for row in self._rows], np.int64)
        labels, weights, lesson = (
            np.repeat(np.array([row[k] for row in self._rows], dtype), counts)
            for k, dtype in ((1, np.int8), (2, np.float64), (3, np.int64))
        )
        return Examples(np.concatenate(self._pixels), labels, weights, lesson)


def marked_faces(base: Base, lesson: Lesson) -> list[Marked]:
    """Every marked face of a frame, with its windows; without any where the face is too small."""
    found = []
    for k in range(len(lesson.faces)):
        box = lesson.faces[k : k + 1]
        found.append(Marked(box, windows_about(base.stages, lesson.frame, box)))
    return found


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
    others: Sequence[Seen],
    seed: int,
) -> tuple[Examples, list[tuple[Windows, Boxes]]]:
    """All labelled windows, and the sure finds of each frame."""
    rng = np.random.default_rng([seed, 11])
    collector = _Collector(base)
    collector.add(base.drawn, 1, DRAWN_IN_ALL)
    wrong = [np.empty((0, base.stages.height, base.stages.width), np.uint8)]
    for k, (lesson, windows, _, marked) in enumerate(taught):
        for each in marked:
            picture = Picture("", lesson.frame.grey, each.box)
            cut, _ = PyramidOf(base.stages, picture).faces(SHIFTED, rng, mirrored=False)
            near = each.windows.pixels[easiest(base, each.windows)]
            collector.add(np.concatenate([cut, near]), 1, MARKED, k)
        if len(lesson.wrong):
            own = overlaps(windows.rects, lesson.wrong)
            for at in range(len(lesson.wrong)):
                about = windows.pixels[own[:, at] >= IOU]
                wrong.append(about)
                collector.add(about, -1, REJECTED, k)
        if lesson.free:
            score = base.answers(windows.pixels) @ base.last.reach
            best = np.argsort(-score, kind="stable")[:OF_A_FREE_FRAME]
            collector.add(windows.pixels[np.sort(best)], -1, FREE, k)
    sure = sure_finds(base, taught, others, np.concatenate(wrong))
    for frame_windows, boxes in sure:
        shared = overlaps(frame_windows.rects, boxes)
        for at in range(len(boxes)):
            best = np.argsort(-shared[:, at], kind="stable")[:OF_A_FIND]
            collector.add(frame_windows.pixels[best[shared[best, at] >= 0.6]], 1, FOUND)
    _add_background(base, taught, others, collector, rng)
    return collector.examples(), sure


def sure_finds(
    base: Base,
    taught: Sequence[Taught],
    others: Sequence[Seen],
    wrong: Pixels,
) -> list[tuple[Windows, Boxes]]:
    """What the shipped detector finds with many neighbours, and was not said, nor looks, to be wrong."""
    found: list[tuple[Windows, Boxes]] = []
    for lesson, windows, shipped, _ in taught:
        if lesson.free:
            continue
        found.append((windows, _sure(shipped, lesson.wrong)))
    found += [(seen.windows, _sure(seen.shipped, None)) for seen in others]
    found = [(windows, _unlike(windows, boxes, wrong)) for windows, boxes in found if len(boxes)]
    total = sum(len(boxes) for _, boxes in found)
    if total > SURE_FACES:
        step = -(-total // SURE_FACES)
        kept, at = [], 0
        for windows, boxes in found:
            kept.append((windows, boxes[(np.arange(at, at + len(boxes)) % step) == 0]))
            at += len(boxes)
        found = kept
    return [(windows, boxes) for windows, boxes in found if len(boxes)]


def _sure(shipped: Finds, wrong: Boxes | None) -> Boxes:
    boxes = shipped.boxes[shipped.neighbours >= SURE]
    if wrong is None or not len(wrong) or not len(boxes):
        return boxes
    return boxes[(overlaps(boxes, wrong) < FAR).all(axis=1)]


def _unlike(windows: Windows, boxes: Boxes, wrong: Pixels) -> Boxes:
    """The boxes that show something else than any window that was said to be wrong."""
    if not len(wrong) or not len(boxes) or not len(windows.rects):
        return boxes
    at = overlaps(windows.rects, boxes).argmax(axis=0)
    alike = (normalised(windows.pixels[at]) @ normalised(wrong).T >= ALIKE).any(axis=1)
    return boxes[~alike]


def normalised(pixels: Pixels) -> NDArray[np.float32]:
    """Windows as rows of mean 0 and length 1."""
    rows = pixels.reshape(len(pixels), -1).astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return rows


def _add_background(
    base: Base,
    taught: Sequence[Taught],
    others: Sequence[Seen],
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
        maybe, _ = group_rectangles(windows.rects, MAYBE)
        far = (overlaps(windows.rects, np.concatenate([near, maybe])) < FAR).all(axis=1)
        pixels.append(windows.pixels[np.sort(rng.permutation(np.flatnonzero(far))[:each_frame])])
    if pixels:
        collector.add(np.concatenate(pixels), -1, BACKGROUND_IN_ALL)
