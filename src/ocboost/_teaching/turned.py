"""Frames turned upside down and on their side: nothing in them is a face, so what is found there is wrong.

That needs no clicks. Nothing is learnt from turned frames, else it would be learnt how they differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.pyramid import shrink
from ocboost._teaching.base import Base
from ocboost._teaching.frames import Frame
from ocboost._teaching.halving import lowest_with
from ocboost._teaching.scanned import Windows, finds, passing, windows_of
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import group_rectangles
from ocboost.cascade.picture_threshold import MIN_NEIGHBORS
from ocboost.cascade.pictures import Boxes

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

LARGEST = 400  # pixels on the longer side
SHARE = 0.7  # of what the shipped detector finds in turned frames is what a taught one may find there
RAISED_BY, LOWERED_BY = 3.0, 0.6  # half log-odds, at most


class Turned(NamedTuple):
    """A frame that is turned, and how many boxes the shipped detector finds in it."""

    windows: Windows  # without their pixels
    n_shipped: int


def turned(base: Base, shipped: Cascade, frame: Frame) -> tuple[Turned, ...]:
    """A frame upside down, and on its side; a large one is shrunk, as both detectors look at the same."""
    found = []
    small = _shrunk(frame.grey)
    for grey in (small[::-1], small.T):
        other = Frame(frame.id, np.ascontiguousarray(grey))
        windows = windows_of(base, other)
        if base.number:
            n = len(finds(shipped, other).boxes)
        else:
            n = n_boxes(windows.rects[passing(base.stages, windows)])
        none = np.empty((len(windows.rects), 0, 0), np.uint8)
        found.append(Turned(windows._replace(pixels=none), n))
    return tuple(found)


def _shrunk(grey: Pixels) -> Pixels:
    factor = LARGEST / max(grey.shape)
    if factor >= 1.0:
        return grey
    small = np.empty([max(round(factor * side), 1) for side in grey.shape], np.uint8)
    shrink(grey, small)
    return small


def n_boxes(rects: Boxes) -> int:
    """How many boxes these windows are put together to."""
    return len(group_rectangles(rects, MIN_NEIGHBORS)[0])


class ScoredTurned(NamedTuple):
    """Turned frames: the windows of each that pass the stages, with their scores."""

    frames: list[tuple[Boxes, Floats]]
    n_shipped: int


def threshold_of(scored: ScoredTurned, near: float) -> float:
    """The lowest threshold, about, with which not more is found than it may be; not too far from ``near``.

    It is not below that where the shipped detector finds nothing either: then little can be told.
    """
    most = SHARE * scored.n_shipped + 0.5
    frames = scored.frames

    def count(at: float) -> int:
        return sum(n_boxes(rects[scores >= at]) for rects, scores in frames)

    lowest = near - LOWERED_BY if scored.n_shipped else near
    return lowest if count(lowest) <= most else lowest_with(count, most, lowest, near + RAISED_BY)
