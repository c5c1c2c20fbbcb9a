"""What was learnt after each click, what waits to be learnt, and what is shown meanwhile.

After every click the detector is kept, so that a click that is taken back leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ocboost._teaching.base import Base
from ocboost._teaching.frames import Frame
from ocboost._teaching.learner import Detector
from ocboost.cascade.cascade import Cascade

MOST_STEPS = 300  # detectors that are kept, so that clicks can be taken back


class TeachingTask(NamedTuple):
    """Something to learn: clicks up to a number, with the frames that were there when the last one came."""

    click: int
    background: tuple[Frame, ...]
    base: Base | None = None  # that was built meanwhile, and is to be tried


class TaughtStep(NamedTuple):
    """What is shown after a click, and on what the next one is learnt."""

    task: TeachingTask
    detector: Detector
    base: Base


class Steps:
    """The steps so far and the tasks that wait. The session's lock guards it."""

    def __init__(self, shipped: Detector) -> None:
        self._first = TaughtStep(TeachingTask(0, ()), shipped, shipped.base)
        self._steps = [self._first]  # after each click that is not taken back
        self._queue: list[TeachingTask] = []
        self._replayed_to = 0  # the last click that is learnt once more, on top of new stages
        self._set_aside: list[TaughtStep] = []  # what is there again if the new stages are refused
        self.shown: tuple[int, Cascade] = (0, shipped.cascade)  # how often it changed, and what it is

    @property
    def last(self) -> TaughtStep:
        """What was learnt last."""
        return self._steps[-1]

    @property
    def next(self) -> TeachingTask | None:
        """What is to be learnt next."""
        return self._queue[0] if self._queue else None

    @property
    def waiting(self) -> int:
        """How many tasks there are."""
        return len(self._queue)

    def take_up(self, detector: Detector | None, learnt: int, clicks: Iterable[int]) -> None:
        """Go on where an earlier session ended: what it showed, and which of its clicks it learnt."""
        if detector is not None:
            self.shown = 1, detector.cascade
        self._queue = [TeachingTask(number, ()) for number in clicks if number > learnt]
        if learnt:
            kept = self._first.detector if detector is None else detector
            self._steps.append(TaughtStep(TeachingTask(learnt, ()), kept, kept.base))

    def add(self, task: TeachingTask) -> None:
        """One more that waits."""
        self._queue.append(task)

    def drop(self, task: TeachingTask) -> None:
        """Pass a task over, if it is the next one."""
        if self.next is task:
            self._queue.pop(0)

    def learnt(self, detector: Detector | None, base: Base, background: Sequence[Frame]) -> TaughtStep:
        """The next task is done, with these frames; without a detector, what was shown before stays."""
        task = self._queue.pop(0)._replace(background=tuple(background))
        before = self.last
        step = TaughtStep(task, before.detector, before.base)
        if detector is not None:
            step = TaughtStep(task, detector, base)
        self._steps.append(step)
        if task.base is not None and detector is None:
            self._steps += self._set_aside
            known = {each.task.click for each in self._set_aside}
            self._queue = [each for each in self._queue if each.click not in known]
        if task.base is not None:
            self._set_aside = []
        self._steps[:-MOST_STEPS] = []
        self.show_latest()
        return step

    def forget_frames(self, building: int | None) -> None:
        """Let go of the frames of steps that are not learnt once more when a build ends that began then."""
        for place, step in enumerate(self._steps):
            if step.task.background and (building is None or step.task.click < building):
                self._steps[place] = step._replace(task=step.task._replace(background=()))

    def drop_after(self, number: int) -> None:
        """Forget what was learnt from clicks after this one."""
        self._queue = [task for task in self._queue if task.click <= number]
        self._steps = [step for step in self._steps if step.task.click <= number] or [self._first]
        self._set_aside = [step for step in self._set_aside if step.task.click <= number]

    def learn_anew(self, clicks: Sequence[int], background: tuple[Frame, ...]) -> bool:
        """Learn what was learnt before this session began, or too long ago, if it is needed now.

        All of it, since the last click alone may be refused. Gives whether it is needed.
        """
        known = self.last.task.click
        if not clicks or known >= clicks[-1] or self._queue:
            return False
        self._queue = [TeachingTask(number, background) for number in clicks if number > known]
        self._replayed_to = clicks[-1]
        return True

    def try_base(self, at: int, base: Base) -> None:
        """Learn the clicks once more on top of stages that were built from the clicks up to ``at``.

        If the stages are refused, what was learnt after that click is there again.
        """
        self._set_aside = [step for step in self._steps if step.task.click > at]
        later = [step.task for step in self._set_aside]
        waiting = [task for task in self._queue if task.click > at]
        self._replayed_to = max((task.click for task in later), default=0)
        first = next(step.task for step in self._steps[::-1] if step.task.click <= at)
        self._steps = [step for step in self._steps if step.task.click <= at]
        self._queue = [TeachingTask(at, first.background, base), *later, *waiting]

    @property
    def replaying(self) -> bool:
        """Whether clicks are learnt once more that were learnt before."""
        return any(task.click <= self._replayed_to for task in self._queue)

    def show_latest(self) -> None:
        """Show what was learnt last; but not while clicks are learnt anew on top of new stages."""
        cascade = self.last.detector.cascade
        if not self.replaying and cascade is not self.shown[1]:
            self.shown = self.shown[0] + 1, cascade
