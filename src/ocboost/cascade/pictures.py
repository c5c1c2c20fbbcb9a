"""Whole pictures with boxes around the faces in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost.cascade.detect import as_image
from ocboost.errors import InputError

Boxes = NDArray[np.int64]
Pixels = NDArray[np.uint8]


def as_boxes(boxes: ArrayLike, name: str = "boxes") -> Boxes:
    """Check boxes: whole numbers (n, 4) of x, y, width and height in pixels, width and height above 0.

    >>> as_boxes([[0, 0, 24, 24]]).shape, as_boxes([]).shape
    ((1, 4), (0, 4))
    """
    try:
        found = np.array(boxes if np.size(boxes) else np.empty((0, 4), np.int64))
    except ValueError:  # rows of different lengths
        found = np.empty(0)
    good = found.ndim == 2 and found.shape[1] == 4 and found.dtype.kind in "iu"
    if not good or (np.abs(found) >= 2**31).any() or (found[:, 2:] < 1).any():
        raise InputError(
            f"{name} must be whole numbers of shape (n, 4): x, y, width and height in pixels, with a width "
            f"and a height of at least 1; got {boxes!r:.80}."
        )
    return found.astype(np.int64)


def _no_boxes() -> Boxes:
    return np.empty((0, 4), np.int64)


@dataclass(frozen=True, eq=False)
class Picture:
    """A grey picture, and where in it faces are.

    Parameters
    ----------
    name : str
        For messages.
    grey : uint8, shape (height, width)
        The pixels.
    boxes : whole numbers, shape (n, 4)
        Of each face x, y, width and height in pixels. None says that the picture has no face.
    ignored : whole numbers, shape (m, 4)
        Regions that are neither: crowds, faces that are hard to tell. Nothing is learnt from them, and
        what a detector finds there is neither right nor wrong.
    """

    name: str
    grey: Pixels
    boxes: Boxes = field(default_factory=_no_boxes)
    ignored: Boxes = field(default_factory=_no_boxes)

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "grey": as_image(self.grey),
            "boxes": as_boxes(self.boxes, "boxes"),
            "ignored": as_boxes(self.ignored, "ignored"),
        }
        height, width = checked["grey"].shape
        for name in ("boxes", "ignored"):
            corner, size = checked[name][:, :2], checked[name][:, 2:]
            if (corner < 0).any() or (corner + size > [width, height]).any():
                raise InputError(
                    f"{name} must lie inside the picture of {width} × {height} pixels; some of "
                    f"'{self.name}' do not. Cut them at its edges."
                )
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def overlaps(boxes: Boxes, others: Boxes) -> NDArray[np.float64]:
    """Intersection over union of each box with each other one, (n, m).

    >>> overlaps(as_boxes([[0, 0, 10, 10]]), as_boxes([[0, 0, 10, 10], [5, 0, 10, 10]])).round(3).tolist()
    [[1.0, 0.333]]
    """
    start = np.maximum(boxes[:, None, :2], others[None, :, :2])
    end = np.minimum((boxes[:, :2] + boxes[:, 2:])[:, None], (others[:, :2] + others[:, 2:])[None])
    shared = np.clip(end - start, 0, None).prod(axis=2).astype(np.float64)
    areas = boxes[:, 2:].prod(axis=1)[:, None] + others[:, 2:].prod(axis=1)[None]
    found: NDArray[np.float64] = shared / np.maximum(areas - shared, 1.0)
    return found
