"""The windows of a frame that a detector could be taught to accept, and what the shipped one finds there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """Windows of a frame, and the sums of all stages but the last."""

    rects: Boxes
    pixels: Pixels
    sums: Floats

    def some(self, chosen: NDArray[np.generic]) -> Windows:
        """Only these."""
        return Windows(self.rects[chosen], self.pixels[chosen], self.sums[chosen])


def together(parts: Sequence[Windows]) -> Windows:
    """The windows of several parts, each once."""
    joined = Windows(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    _, first = np.unique(joined.rects, axis=0, return_index=True)
    return joined.some(np.sort(first))


class Finds(NamedTuple):
    """What a detector finds in a frame, and of how many windows each box was put together."""

    boxes: Boxes
    neighbours: NDArray[np.int64]


def windows_of(wide: Cascade, frame: Frame, most: int = MOST_WINDOWS) -> Windows:
    """The windows of a frame that pass all stages before the last of a cascade with low thresholds."""
    rects, pixels, scores = [], [], []
    for level in levels(wide, frame.grey, SCALE_FACTOR):
        places, own = scan_level(wide, level, -np.inf)
        if len(places):
            rects.append(level.rects_at(wide, places))
            pixels.append(_cut(wide, level.image, places))
            scores.append(own)
    if not rects:
        return _none(wide)
    score = np.concatenate(scores)
    chosen = np.sort(np.argsort(-score, kind="stable")[:most])
    found = np.concatenate(pixels)[chosen]
    return Windows(np.concatenate(rects)[chosen], found, _sums(wide, found))


def windows_about(cascade: Cascade, frame: Frame, box: Boxes, least: float = LOOKED_AT) -> Windows:
    """The windows of a frame that overlap one of the boxes, at the places where a detector looks."""
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
        return _none(cascade)
    found = np.concatenate(pixels)
    clear = has_contrast(found)
    return Windows(np.concatenate(rects)[clear], found[clear], _sums(cascade, found[clear]))


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


def _sums(cascade: Cascade, pixels: Pixels) -> Floats:
    return stage_sums(cascade, pixels, range(cascade.n_stages - 1))


def _cut(cascade: Cascade, image: Pixels, places: NDArray[np.int32]) -> Pixels:
    view = np.lib.stride_tricks.sliding_window_view(image, (cascade.height, cascade.width))
    return np.ascontiguousarray(view[places[:, 1], places[:, 0]])


def _none(cascade: Cascade) -> Windows:
    shape = (0, cascade.height, cascade.width)
    return Windows(np.empty((0, 4), np.int64), np.empty(shape, np.uint8), np.empty((0, cascade.n_stages - 1)))
