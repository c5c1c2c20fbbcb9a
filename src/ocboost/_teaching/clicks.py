"""What a person clicked, and what all of it says about each frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ocboost._teaching.frames import Frame
from ocboost.cascade.matching import IOU
from ocboost.cascade.pictures import Boxes, as_boxes, overlaps
from ocboost.errors import InputError

Kind = Literal["reject", "mark", "free"]
Box = tuple[int, int, int, int]
CLICK_KINDS: tuple[Kind, ...] = ("reject", "mark", "free")


@dataclass(frozen=True)
class Click:
    """One click: a false box, a face, or a frame that is free of faces."""

    number: int  # from 1 on
    kind: Kind
    frame_id: int
    box: Box | None = None
    undone: bool = False

    @property
    def boxes(self) -> Boxes:
        """Its box as the only row, if it has one."""
        return as_boxes([] if self.box is None else [self.box])


class Lesson(NamedTuple):
    """What all clicks on one frame say."""

    frame: Frame
    faces: Boxes
    wrong: Boxes  # no face is here
    free: bool  # no face is anywhere


def lessons(clicks: Iterable[Click], frames: Mapping[int, Frame]) -> list[Lesson]:
    """What the clicks say about each frame that they came on, in the order of the frames.

    Of two clicks on the same place, the later one counts. A face in a frame that was said to be free of faces
    takes that back.

    >>> import numpy as np
    >>> frame = Frame(1, np.zeros((50, 50), np.uint8))
    >>> first = [Click(1, "reject", 1, (4, 4, 24, 24)), Click(2, "mark", 1, (5, 4, 24, 24))]
    >>> lessons(first, {1: frame})[0].faces.tolist(), lessons(first, {1: frame})[0].wrong.tolist()
    ([[5, 4, 24, 24]], [])
    >>> lessons([*first, Click(3, "free", 1)], {1: frame})[0].faces.tolist()
    []
    """
    said: dict[int, tuple[list[Box], list[Box], bool]] = {}
    for click in clicks:
        if click.undone:
            continue
        faces, wrong, free = said.get(click.frame_id, ([], [], False))
        if click.kind == "free":
            faces, free = [], True
        elif click.box is not None:
            faces, wrong = without(faces, click.box), without(wrong, click.box)
            if click.kind == "mark":
                faces, free = [*faces, click.box], False
            else:
                wrong = [*wrong, click.box]
        said[click.frame_id] = faces, wrong, free
    return [
        Lesson(frames[number], as_boxes(faces), as_boxes(wrong), free)
        for number, (faces, wrong, free) in sorted(said.items())
    ]


def without(boxes: list[Box], box: Box) -> list[Box]:
    """The boxes that are at other places."""
    if not boxes:
        return []
    same = overlaps(as_boxes(boxes), as_boxes([box]))[:, 0] >= IOU
    return [each for each, drop in zip(boxes, same.tolist(), strict=True) if not drop]


def as_box(kind: Kind, frame: Frame, box: Box, window: int) -> Box:
    """Check a box that was clicked or drawn; a face must be at least as wide as the detector's window."""
    try:
        x, y, w, h = (round(float(value)) for value in box)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"box must be four numbers: x, y, width and height in pixels; got {box!r:.80}. Draw it again."
        ) from None
    if w < 1 or h < 1 or x < 0 or y < 0 or x + w > frame.width or y + h > frame.height:
        raise InputError(
            f"box must lie inside the frame of {frame.width} × {frame.height} pixels; got {x}, {y}, {w}, "
            f"{h}. Draw it inside."
        )
    if kind == "mark" and (w * h) ** 0.5 < 0.95 * window:
        raise InputError(
            f"box must be at least {window} × {window} pixels, the detector's window; got "
            f"{w} × {h}. Smaller faces cannot be found: come closer, or take larger frames."
        )
    return x, y, w, h
