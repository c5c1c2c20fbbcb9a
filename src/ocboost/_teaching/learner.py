"""Learns click after click, and decides whether what came of it is shown."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ocboost._teaching.base import Base, shipped_base
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.examples import Seen, Taught, marked_faces
from ocboost._teaching.fit import Fitted, fit
from ocboost._teaching.frames import Frame
from ocboost._teaching.guard import why_not
from ocboost._teaching.scanned import finds, windows_of
from ocboost.cascade.cascade import Cascade

BACKGROUND_FRAMES = 24  # that a click is learnt with, besides those that were clicked on
REMEMBERED = 160  # frames whose windows are kept


class Decision(NamedTuple):
    """Whether what a click taught is shown, and why."""

    shown: bool
    why: str
    seconds: float
    click: int


class Step(NamedTuple):
    """What is shown after a click."""

    click: int | None
    cascade: Cascade
    base: int
    fitted: Fitted | None


class Learner:
    """Learns from the clicks so far; one thread at a time."""

    def __init__(self, shipped: Cascade, seed: int) -> None:
        self._shipped = shipped
        self._seed = seed
        self._base: Base = shipped_base(shipped)
        self._seen: OrderedDict[tuple[int, int], Seen] = OrderedDict()

    def warm_up(self) -> None:
        """Compile everything, on a frame with nothing in it but noise and a drawn face."""
        rng = np.random.default_rng(0)
        grey = rng.integers(0, 255, (120, 160)).astype(np.uint8)
        drawn = self._base.drawn[0]
        grey[40 : 40 + drawn.shape[0], 60 : 60 + drawn.shape[1]] = drawn
        frame = Frame(-1, grey)
        box = np.array([[60, 40, drawn.shape[1], drawn.shape[0]]], np.int64)
        lesson = Lesson(frame, box, np.empty((0, 4), np.int64), False)
        self.candidate([lesson], [frame])
        self._seen.clear()

    def seen(self, frame: Frame) -> Seen:
        """A frame's windows; looked at once."""
        key = self._base.number, frame.id
        found = self._seen.get(key)
        if found is None or found.frame is not frame:
            found = Seen(frame, windows_of(self._base.wide, frame), finds(self._shipped, frame))
            self._seen[key] = found
            while len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        self._seen.move_to_end(key)
        return found

    def candidate(
        self, said: Sequence[Lesson], frames: Sequence[Frame]
    ) -> tuple[Fitted, list[Taught], list[Seen]]:
        """The detector that all lessons give."""
        taught = []
        for lesson in said:
            own = self.seen(lesson.frame)
            taught.append(Taught(lesson, own.windows, own.shipped, marked_faces(self._base, lesson)))
        labelled = {lesson.frame.id for lesson in said}
        free = [frame for frame in frames if frame.id not in labelled]
        step = max(-(-len(free) // BACKGROUND_FRAMES), 1)
        others = [self.seen(frame) for frame in free[::-1][::step]]
        return fit(self._base, taught, others, self._seed), taught, others

    def step(
        self, click: int, said: Sequence[Lesson], frames: Sequence[Frame], before: Step
    ) -> tuple[Step, Decision]:
        """Learn a click with all before it."""
        fitted, taught, others = self.candidate(said, frames)
        why = why_not(self._base, self._shipped, before.fitted, fitted, taught, others)
        if why is None:
            return Step(click, fitted.cascade, self._base.number, fitted), Decision(
                True, "it does what was clicked, and is no worse on what is known", 0.0, click
            )
        return before._replace(click=click), Decision(False, why, 0.0, click)
