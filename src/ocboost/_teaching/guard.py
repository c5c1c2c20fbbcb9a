"""Whether a detector that was just taught is shown, and if not, why not.

It must do what was clicked last. On all that is known it must be no worse than the detector that is shown.
That says little of frames to come, as it has learnt these; so what it would find in each frame had it not
learnt that one must be no worse than what the shipped detector finds. What nobody has clicked on in a frame
is not known, so there it is only held to a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ocboost._teaching.clicks import Click, Lesson
from ocboost.cascade.matching import IOU
from ocboost.cascade.pictures import Boxes, overlaps

LOST = 0.15  # of the shipped detector's sure finds may be lost, and
FEW_LOST = 1  # so many in any case
WORSE = 1.5  # times as many mistakes as the shipped detector makes, and
FEW_WORSE = 3  # so many more, may be made where a frame was not learnt
MORE = 2.0  # times as many boxes as the shipped detector finds, and
MORE_A_FRAME = 1.0  # so many more, may be found in frames that nobody has clicked on
TOGETHER = " together with what was clicked before"


class GuardedFrame(NamedTuple):
    """A frame, and what is found in it: by the shipped detector, the one that is shown, and the new one.

    ``unseen`` is what the new one would find had it not learnt this frame; None where nobody can tell.
    """

    lesson: Lesson | None
    shipped: Boxes
    sure: Boxes  # of these, what is surely a face
    old: Boxes
    new: Boxes
    unseen: Boxes | None


def why_not(
    taught: Sequence[GuardedFrame], others: Sequence[GuardedFrame], clicked: Click | None
) -> str | None:
    """Why the new detector is not shown, in words; None if it is. ``clicked`` is the last click."""
    together = TOGETHER if sum(n_said(each.lesson) for each in taught) > 1 else ""
    old_mistakes = new_mistakes = 0
    for each in taught:
        assert each.lesson is not None
        last = clicked if clicked is not None and each.lesson.frame.id == clicked.frame_id else None
        if last is not None and not holds(last, each.new):
            return f"what was clicked last could not be learnt{together}"
        old_mistakes += mistakes(each.lesson, each.old)
        new_mistakes += mistakes(each.lesson, each.new)
    if new_mistakes > old_mistakes:
        return (
            f"it makes {new_mistakes} of the mistakes that were clicked on, the one that is shown "
            f"{old_mistakes}"
        )
    frames = [*taught, *others]
    sure = sum(len(each.sure) for each in frames)
    lost = sum(missed(each.sure, each.new) for each in frames)
    if lost > max(FEW_LOST, LOST * sure):
        return f"it no longer finds {lost} of {sure} faces that the shipped detector surely finds"
    unseen_mistakes = sum(known_mistakes(each, each.unseen) for each in frames if each.unseen is not None)
    shipped_mistakes = sum(known_mistakes(each, each.shipped) for each in frames if each.unseen is not None)
    if unseen_mistakes > WORSE * shipped_mistakes + FEW_WORSE:
        return (
            f"it would make {unseen_mistakes} mistakes in frames like these, had it not learnt them; the "
            f"shipped detector makes {shipped_mistakes}"
        )
    boxes = sum(len(each.new) for each in others)
    shipped_boxes = sum(len(each.shipped) for each in others)
    if boxes > MORE * shipped_boxes + MORE_A_FRAME * len(others):
        return (
            f"it finds {boxes} boxes in {len(others)} frames that nobody clicked in, the shipped detector "
            f"finds {shipped_boxes}: too many to be faces"
        )
    return None


def known_mistakes(frame: GuardedFrame, found: Boxes) -> int:
    """Mistakes in what was said of a frame, and in what is surely a face there."""
    if frame.lesson is None:
        return missed(frame.sure, found)
    said = (overlaps(frame.sure, frame.lesson.faces) >= IOU).any(axis=1)
    return mistakes(frame.lesson, found) + missed(frame.sure[~said], found)


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
        return len(found)
    return missed(lesson.faces, found) + int((overlaps(lesson.wrong, found) >= IOU).any(axis=1).sum())


def missed(faces: Boxes, found: Boxes) -> int:
    """How many of these faces are not found."""
    return int((~(overlaps(faces, found) >= IOU).any(axis=1)).sum())
