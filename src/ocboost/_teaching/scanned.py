"""The windows of a frame that a detector could be taught to accept, and what the shipped one finds there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._teaching.base import Base
from ocboost._teaching.frames import Frame
from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.detect import clipped, group_rectangles, levels, scan_level
from ocboost.cascade.mining import SCALE_FACTOR
from ocboost.cascade.picture_threshold import MIN_NEIGHBORS
from ocboost.cascade.pictures import Boxes, overlaps
from ocboost.cascade.windows import has_contrast, stage_sums

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

MOST_WINDOWS = 2000  # of a frame, those that score highest
LOOKED_AT = 0.6  # overlap with a box from which on a window is one of the box


class Windows(NamedTuple):
    """Windows of a frame, the sums of all stages but the last, and what the last one's stumps answer."""

    rects: Boxes
    pixels: Pixels
    sums: Floats
    answers: Pixels  # a bit for each stump

    def some(self, chosen: NDArray[np.generic]) -> Windows:
        """Only these."""
        return Windows(*(each[chosen] for each in self))

    def scores(self, reach: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the last stage's stumps come to; a column for each column of what they count."""
        return signs(self.answers, len(reach)) @ reach


def signs(answers: Pixels, n: int) -> NDArray[np.float32]:
    """Answers, kept as bits, as ±1."""
    found = np.unpackbits(answers, axis=1, count=n).astype(np.float32)
    found *= 2.0
    found -= 1.0
    return found


def windows_with(base: Base, rects: Boxes, pixels: Pixels) -> Windows:
    """Windows with what the stages say to them."""
    sums = stage_sums(base.stages, pixels, range(base.stages.n_stages - 1))
    return Windows(rects, pixels, sums, base.packed_answers(pixels))


def together(parts: Sequence[Windows]) -> Windows:
    """The windows of several parts, each once."""
    joined = Windows(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    _, first = np.unique(joined.rects, axis=0, return_index=True)
    return joined.some(np.sort(first))


class Finds(NamedTuple):
    """What a detector finds in a frame, and of how many windows each box was put together."""

    boxes: Boxes
    neighbours: NDArray[np.int64]


def windows_of(base: Base, frame: Frame, most: int = MOST_WINDOWS) -> Windows:
    """The windows of a frame that pass all stages before the last with thresholds as low as they may be."""
    wide = base.wide
    rects, pixels, scores = [], [], []
    for level in levels(wide, frame.grey, SCALE_FACTOR):
        places, own = scan_level(wide, level, -np.inf)
        if len(places):
            rects.append(level.rects_at(wide, places))
            pixels.append(_cut(wide, level.image, places))
            scores.append(own)
    if not rects:
        return _none(base)
    score = np.concatenate(scores)
    chosen = np.sort(np.argsort(-score, kind="stable")[:most])
    return windows_with(base, np.concatenate(rects)[chosen], np.concatenate(pixels)[chosen])


def windows_about(base: Base, frame: Frame, box: Boxes, least: float = LOOKED_AT) -> Windows:
    """The windows of a frame that overlap one of the boxes, at the places where a detector looks."""
    cascade = base.stages
    rects, pixels = [], []
    for level in levels(cascade, frame.grey, SCALE_FACTOR):
        xs = np.arange(0, level.across, level.stride, dtype=np.int32)
        ys = np.arange(0, level.down, level.stride, dtype=np.int32)
        side = float(level.scale) * np.array([cascade.width, cascade.height])
        areas = box[:, 2:].prod(axis=1)
        ratio = side.prod() / areas
        near = (ratio >= least) & (ratio <= 1.0 / least)
        for x, y, w, h in box[near].tolist():
            own_x = xs[np.abs(xs * float(level.scale) - x) <= w]
            own_y = ys[np.abs(ys * float(level.scale) - y) <= h]
            places = np.stack(np.meshgrid(own_x, own_y), axis=-1).reshape(-1, 2).astype(np.int32)
            own = level.rects_at(cascade, places)
            close = overlaps(own, np.array([[x, y, w, h]], np.int64))[:, 0] >= least
            if close.any():
                rects.append(own[close])
                pixels.append(_cut(cascade, level.image, places[close]))
    if not rects:
        return _none(base)
    found = np.concatenate(pixels)
    clear = has_contrast(found)
    return windows_with(base, np.concatenate(rects)[clear], found[clear])


def finds(cascade: Cascade, frame: Frame) -> Finds:
    """What a detector finds, as OpenCV would, with the number of neighbours of each box."""
    accepted = [np.empty((0, 4), np.int64)]
    for level in levels(cascade, frame.grey, SCALE_FACTOR):
        places, _ = scan_level(cascade, level, 0.0)
        accepted.append(level.rects_at(cascade, places))
    return grouped(np.concatenate(accepted), frame)


def grouped(rects: Boxes, frame: Frame) -> Finds:
    """Windows put together, cut at the edges of their frame."""
    boxes, sizes = group_rectangles(rects, MIN_NEIGHBORS)
    cut, inside = clipped(boxes, frame.height, frame.width)
    return Finds(cut[inside], sizes[inside])


def passing(cascade: Cascade, windows: Windows) -> NDArray[np.bool_]:
    """Which windows pass all stages before the last, by their sums."""
    lowest = cascade.stage_threshold[: windows.sums.shape[1]] - OPENCV_TOLERANCE
    passed: NDArray[np.bool_] = np.all(windows.sums >= lowest, axis=1)
    return passed


def _cut(cascade: Cascade, image: Pixels, places: NDArray[np.int32]) -> Pixels:
    view = np.lib.stride_tricks.sliding_window_view(image, (cascade.height, cascade.width))
    return np.ascontiguousarray(view[places[:, 1], places[:, 0]])


def _none(base: Base) -> Windows:
    stages = base.stages
    return windows_with(
        base, np.empty((0, 4), np.int64), np.empty((0, stages.height, stages.width), np.uint8)
    )
