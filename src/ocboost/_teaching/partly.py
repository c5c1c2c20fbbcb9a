"""Frames that are known in part, as pictures: what is a face, and what is neither right nor wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ocboost._teaching.clicks import Lesson
from ocboost.cascade.detect import clipped
from ocboost.cascade.matching import IOU
from ocboost.cascade.mining import FAR
from ocboost.cascade.pictures import Boxes, Picture, overlaps


def picture_of(lesson: Lesson, found: Boxes, maybe: Sequence[Boxes]) -> Picture:
    """A frame with its faces: those that were marked, and what is ``found`` and was not said to be wrong.

    What ``maybe`` is a face, and nobody clicked on, is ignored.
    """
    frame = lesson.frame
    if lesson.free:
        return Picture(frame.file_name, frame.grey)
    faces = np.concatenate(
        [lesson.faces, _away_from(found, np.concatenate([lesson.faces, lesson.wrong]), FAR)]
    )
    known = np.concatenate([faces, lesson.wrong])
    ignored = _away_from(np.concatenate([np.empty((0, 4), np.int64), *maybe]), known, IOU)
    cut, inside = clipped(ignored, frame.height, frame.width)
    return Picture(frame.file_name, frame.grey, faces, cut[inside])


def _away_from(boxes: Boxes, others: Boxes, iou: float) -> Boxes:
    return boxes[(overlaps(boxes, others) < iou).all(axis=1)] if len(boxes) and len(others) else boxes
