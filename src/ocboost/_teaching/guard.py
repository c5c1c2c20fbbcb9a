"""Whether a detector that was just taught is shown, and if not, why not.

It must do what was clicked last. On all that is known it must be no worse than the detector that is shown,
and keep what the shipped one surely finds. What nobody has clicked on in a frame is not known, so there it is
only held to a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ocboost._teaching.clicks import Click, Lesson
from ocboost.cascade.matching import IOU
from ocboost.cascade.pictures import Boxes, overlaps

LOST = 0.1  # of the shipped detector's sure finds may be lost
MORE = 2.0  # times as many boxes as the shipped detector finds, and
MORE_A_FRAME = 1.0  # so many more, may be found in frames that nobody has clicked on
TOGETHER = " together with what was clicked before"


class GuardedFrame(NamedTuple):
    """A frame, and what is found in it: by the shipped detector, the one that is shown, and the new one."""

    lesson: Lesson | None
    shipped: Boxes
    sure: Boxes  # of these, what is surely a face
    old: Boxes
    new: Boxes


def why_not(
    taught: Sequence[GuardedFrame], others: Sequence[GuardedFrame], clicked: Click | None
) -> str | None:
    """Why the new detector is not shown, in words; None if it is. ``clicked`` is the last click."""
    together = TOGETHER if sum(n_said(each.lesson) for each in taught) > 1 else ""
    old_mistakes = new_mistakes = lost = sure = 0
    for each in taught:
        assert each.lesson is not None
        last = clicked if clicked is not None and each.lesson.frame.id == clicked.frame_id else None
        if last is not None and not holds(last, each.new):
            return f"what was clicked last could not be learnt{together}"
        old_mistakes += mistakes(each.lesson, each.old)
        new_mistakes += mistakes(each.lesson, each.new)
        lost, sure = lost + missed(each.sure, each.new), sure + len(each.sure)
    if new_mistakes > old_mistakes:
        return (
            f"it makes {new_mistakes} of the mistakes that were clicked on, the one that is shown "
            f"{old_mistakes}"
        )
    boxes = old_boxes = 0
    for each in others:
        lost, sure = lost + missed(each.sure, each.new), sure + len(each.sure)
        boxes, old_boxes = boxes + len(each.new), old_boxes + len(each.shipped)
    if lost > max(1.0, LOST * sure):
        return f"it no longer finds {lost} of {sure} faces that the shipped detector surely finds"
    if boxes > MORE * old_boxes + MORE_A_FRAME * len(others):
        return (
            f"it finds {boxes} boxes in {len(others)} frames that nobody clicked in, the shipped detector "
            f"finds {old_boxes}: too many to be faces"
        )
    return None


def n_said(lesson: Lesson | None) -> int:
    """How many things are said of a frame."""
    return 0 if lesson is None else len(lesson.faces) + len(lesson.wrong) + lesson.free


def holds(clicked: Click, found: Boxes) -> bool:
    """Whether what a click says is so, given what is found in its frame."""
    if clicked.kind == "free":
        return not len(found)
    lost = missed(clicked.boxes, found)
    return (lost == 0) == (clicked.kind == "mark")


def mistakes(lesson: Lesson, found: Boxes) -> int:
    """How many things that were said of a frame are not so: wrong boxes found, faces missed."""
    if lesson.free:
        return missed(lesson.faces, found) + len(found)
    return missed(lesson.faces, found) + int((overlaps(lesson.wrong, found) >= IOU).any(axis=1).sum())


def missed(faces: Boxes, found: Boxes) -> int:
    """How many of these faces are not found."""
    return int((~(overlaps(faces, found) >= IOU).any(axis=1)).sum())
