"""Which faces of a picture a detector finds, which it misses, and what it finds where none is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.pyramid import match_greedily
from ocboost.cascade.pictures import Boxes, Picture, overlaps

NEIGHBOURS = (1, 2, 3, 4, 5, 6, 8)
IOU = 0.5  # intersection over union from which on a detection shows a face, where nothing is said
MOSTLY = 0.5  # of a detection's area, inside an ignored region


class Counts(NamedTuple):
    """What a detector does in one picture."""

    misses: int
    false_alarms: int


class Truth(NamedTuple):
    """The boxes of one picture."""

    boxes: Boxes
    ignored: Boxes


class Matcher:
    """Matches detections in a picture with its faces.

    Faces and detections are matched one to one, those that overlap most first, as long as their intersection
    over union is at least ``iou``; of equal overlaps the first in the order of x, y, width and height. A
    detection without a face counts as nothing if more than half of it lies in an ignored region, or if their
    overlap is at least ``iou`` too; else it is a false alarm. A face without a detection is a miss.
    """

    def __init__(self, found: Boxes, truth: Truth, iou: float) -> None:
        self._order = np.lexsort(found.T[::-1])
        ordered = found[self._order]
        shared = overlaps(ordered, truth.boxes)
        rows, columns = np.nonzero(shared >= iou)
        best_first = np.argsort(-shared[rows, columns], kind="stable")
        self._rows, self._columns = rows[best_first], columns[best_first]
        self._n_faces = len(truth.boxes)
        inside = share_inside(ordered, truth.ignored) > MOSTLY
        self._ignored = (inside | (overlaps(ordered, truth.ignored) >= iou)).any(axis=1)

    def count(self, some: NDArray[np.bool_] | None = None) -> Counts:
        """Misses and false alarms if only ``some`` of the detections are there; by default all."""
        alone = np.ones(len(self._order), np.bool_) if some is None else some[self._order]
        missed = np.ones(self._n_faces, np.bool_)
        match_greedily(self._rows, self._columns, alone, missed)
        return Counts(int(missed.sum()), int((alone & ~self._ignored).sum()))


def counts_in(picture: Picture, found: Boxes, iou: float = IOU) -> Counts:
    """What these detections miss in a picture, and how many of them are false alarms."""
    return Matcher(found, Truth(picture.boxes, picture.ignored), iou).count()


def share_inside(boxes: Boxes, regions: Boxes) -> NDArray[np.float64]:
    """The share of each box's area that lies in each region, (n, m).

    >>> share_inside(np.array([[0, 0, 10, 10]]), np.array([[5, 0, 90, 90]])).tolist()
    [[0.5]]
    """
    start = np.maximum(boxes[:, None, :2], regions[None, :, :2])
    end = np.minimum((boxes[:, :2] + boxes[:, 2:])[:, None], (regions[:, :2] + regions[:, 2:])[None])
    shared = np.clip(end - start, 0, None).prod(axis=2).astype(np.float64)
    share: NDArray[np.float64] = shared / np.maximum(boxes[:, 2:].prod(axis=1), 1)[:, None]
    return share
