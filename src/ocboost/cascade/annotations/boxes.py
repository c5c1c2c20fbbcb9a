"""Boxes as files give them, checked, and turned, cut and rounded to lie inside their pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ocboost.cascade.pictures import Boxes
from ocboost.errors import InputError

MAX_ENTRIES = 1_000_000  # pictures, and boxes
MAX_COORDINATE = float(1 << 30)
MIN_FOR_CORNERS = 5  # boxes; fewer say little about their units
Four = tuple[float, float, float, float]


class MarkedBox(NamedTuple):
    """x, y, width and height, not rounded and perhaps outside of the picture."""

    x: float
    y: float
    width: float
    height: float
    where: str  # in words: its file and line
    ignored: bool = False


@dataclass
class MarkedPicture:
    """A picture that an annotation file names."""

    name: str
    where: str
    boxes: list[MarkedBox] = field(default_factory=list)
    declared: tuple[int, int] | None = None  # the width and height that the boxes are for
    path: Path | None = None  # of its file, where that is known already
    relative: bool = False  # boxes are shares of the width and height
    edges: bool = False  # boxes were given by their four edges


def in_pixels(values: Sequence[Any], where: str, ignored: bool = False) -> MarkedBox:
    """Check x, y, width and height in pixels."""
    x, y, width, height = _finite(values, "x, y, width and height", where)
    if width <= 0 or height <= 0:
        raise InputError(
            f"A box must have a width and a height above 0; got {width:g} × {height:g} ({where}). "
            "Correct or remove it."
        )
    refuse_fractions((x, y, width, height), where)
    return MarkedBox(x, y, width, height, where, ignored)


def in_corners(values: Sequence[Any], where: str, ignored: bool = False) -> MarkedBox:
    """Check the left, upper, right and lower edge in pixels."""
    left, top, right, bottom = _finite(values, "xmin, ymin, xmax and ymax", where)
    refuse_fractions((left, top, right, bottom), where)
    return in_pixels((left, top, right - left, bottom - top), where, ignored)


def in_shares(values: Sequence[Any], where: str) -> MarkedBox:
    """Check a centre and a size as shares of the picture."""
    x, y, width, height = _finite(values, "the centre's x and y, width and height", where)
    if max(x, y, width, height) > 1 + 1e-4:  # some programs round up
        raise InputError(
            "Boxes of YOLO must be shares of the picture, from 0 to 1; got "
            f"{max(x, y, width, height):g}, which looks like pixels ({where}). Divide by the picture's "
            "width and height."
        )
    if min(x, y) < 0 or min(width, height) <= 0:
        raise InputError(
            f"A box must have a centre of at least 0, and a width and a height above 0; got {x:g}, {y:g}, "
            f"{width:g}, {height:g} ({where}). Correct or remove it."
        )
    return MarkedBox(x - width / 2, y - height / 2, width, height, where)


def refuse_fractions(values: Four, where: str) -> None:
    """Refuse what must be pixels and is from 0 to 1."""
    if all(0 <= value <= 1 for value in values):
        words = ", ".join(f"{value:g}" for value in values)
        raise InputError(
            f"A box must be given in pixels; {words} looks like fractions of the picture; pixels expected "
            f"({where}). Multiply by the picture's width and height."
        )


def _finite(values: Sequence[Any], what: str, where: str) -> Four:
    good = len(values) == 4 and all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_COORDINATE
        for value in values  # NaN is not below anything
    )
    if not good:
        raise InputError(
            f"A box must be four finite numbers, {what}, below {MAX_COORDINATE:,.0f}; got "
            f"{list(values)!r:.80} ({where}). Correct or remove it."
        )
    x, y, width, height = (float(value) for value in values)
    return x, y, width, height


def like_corners(picture: MarkedPicture, size: tuple[int, int]) -> int:
    """How many boxes of a picture of this size would lie in it if they were x1, y1, x2 and y2."""
    if picture.relative or picture.edges:
        return 0
    width, height = picture.declared or size
    return sum(0 <= x < w <= width and 0 <= y < h <= height for x, y, w, h, *_ in picture.boxes)


def turned(box: Four, size: tuple[int, int], orientation: int) -> Four:
    """A box in the stored picture, of this width and height, as it lies when EXIF has turned the picture.

    >>> turned((0, 0, 2, 1), (10, 5), 6)
    (4, 0, 1, 2)
    """
    x, y, width, height = box
    across, down = size[0] - x - width, size[1] - y - height  # from the other edges
    return (
        (x, y, width, height),
        (across, y, width, height),
        (across, down, width, height),
        (x, down, width, height),
        (y, x, height, width),
        (down, x, height, width),
        (down, across, height, width),
        (y, across, height, width),
    )[orientation - 1]


@dataclass
class Counted:
    """What happened to boxes on their way into pictures."""

    total: int = 0
    cut: int = 0
    mostly_outside: int = 0
    outside: int = 0
    small: int = 0
    like_corners: int = 0

    @property
    def are_corners(self) -> bool:
        """Whether boxes seem to be two corners each, instead of a corner and a size."""
        beyond = self.cut + self.mostly_outside + self.outside
        return self.like_corners == self.total >= MIN_FOR_CORNERS and 2 * beyond >= self.total

    def sentences(self, min_side: int) -> list[str]:
        """A sentence about each thing that happened."""
        facts = [
            (self.cut, "reached beyond the edge of the picture, {was} cut there"),
            (self.mostly_outside, "had less than half of {its} area inside the picture, {was} ignored"),
            (self.outside, "lay outside of the picture, {was} left out"),
            (
                self.small,
                f"had a side of less than {min_side} pixels, too small for the detector, {{was}} ignored",
            ),
        ]
        return [
            f"{n:,} of {self.total:,} boxes "
            + text.replace(", {was}", " and {was}").format(
                was="was" if n == 1 else "were", its="its" if n == 1 else "their"
            )
            + "."
            for n, text in facts
            if n
        ]


def placed(
    boxes: Sequence[MarkedBox], width: int, height: int, min_side: int, counted: Counted
) -> tuple[Boxes, Boxes]:
    """Boxes as whole numbers inside their picture, and regions to ignore; each of them once."""
    faces: dict[tuple[int, int, int, int], None] = {}
    ignored: dict[tuple[int, int, int, int], None] = {}
    for box in boxes:
        counted.total += 1
        left, right = _edges(box.x, box.width)
        top, bottom = _edges(box.y, box.height)
        x, y = max(left, 0), max(top, 0)
        w, h = min(right, width) - x, min(bottom, height) - y
        if w <= 0 or h <= 0:
            counted.outside += 1
            continue
        area, inside = (right - left) * (bottom - top), w * h
        ignore = box.ignored
        if 2 * inside < area:
            counted.mostly_outside += 1
            ignore = True
        else:
            counted.cut += inside < area
            if min(w, h) < min_side and not ignore:
                counted.small += 1
                ignore = True
        (ignored if ignore else faces)[x, y, w, h] = None
    return _as_array(faces), _as_array(ignored)


def without_faces(n: int, lack: str) -> str:
    """A sentence about pictures that lack something, and are taken for pictures without faces.

    >>> without_faces(1, "XML file")
    '1 picture has no XML file; it is taken for a picture without faces.'
    """
    if n == 1:
        return f"1 picture has no {lack}; it is taken for a picture without faces."
    return f"{n:,} pictures have no {lack}; they are taken for pictures without faces."


def _edges(start: float, size: float) -> tuple[int, int]:
    first = math.floor(start + 0.5)
    return first, max(math.floor(start + size + 0.5), first + 1)


def _as_array(boxes: dict[tuple[int, int, int, int], None]) -> Boxes:
    return np.array(list(boxes), np.int64).reshape(-1, 4)
