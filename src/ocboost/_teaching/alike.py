"""What was clicked on is often seen in other frames as well: windows that show the same thing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ocboost._teaching.scanned import Windows
from ocboost.cascade.matching import IOU
from ocboost.cascade.mining import FAR
from ocboost.cascade.pictures import Boxes, overlaps

Pixels = NDArray[np.uint8]
Rows = NDArray[np.float32]

SAME_THING = 0.8  # correlation of windows from which on they show the same thing
SAME_FACE = 0.92  # faces are all somewhat alike, the more the blurrier they are


def normalised(pixels: Pixels) -> Rows:
    """Windows as rows of mean 0 and length 1."""
    rows = pixels.reshape(len(pixels), pixels.shape[1] * pixels.shape[2]).astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None], 1e-6)
    return rows


def unlike(windows: Windows, boxes: Boxes, wrong: Rows) -> NDArray[np.bool_]:
    """Which boxes show something else than any window, `normalised`, that was said to be wrong."""
    if not len(wrong) or not len(boxes) or not len(windows.rects):
        return np.ones(len(boxes), np.bool_)
    shared = overlaps(windows.rects, boxes)
    likeness = normalised(windows.pixels[shared.argmax(axis=0)]) @ wrong.T
    alike: NDArray[np.bool_] = np.any(likeness >= SAME_THING, axis=1) & (shared.max(axis=0) >= IOU)
    return ~alike


def seen_again(windows: Windows, known: Boxes, faces: Pixels) -> Boxes:
    """Windows that show one of these faces, one for each place, far from what is known.

    The likest come first.
    """
    none = np.empty((0, 4), np.int64)
    if not len(faces) or not len(windows.rects):
        return none
    likeness = (normalised(windows.pixels) @ normalised(faces).T).max(axis=1)
    order = np.argsort(-likeness, kind="stable")
    found: list[Boxes] = []
    for at in order[likeness[order] >= SAME_FACE].tolist():
        box = windows.rects[at : at + 1]
        if (overlaps(box, np.concatenate([known, *found])) < FAR).all():
            found.append(box)
    return np.concatenate([none, *found])
