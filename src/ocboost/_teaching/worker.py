"""The thread that learns: one task after the other, and where there is none, it looks ahead."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ocboost._teaching.base import Base
from ocboost._teaching.clicks import Click, Lesson
from ocboost._teaching.frames import Frame, FrameStore
from ocboost._teaching.learner import ClickLearner, Detector, background, to_turn
from ocboost._teaching.steps import Steps, TeachingTask

LOOKED_AHEAD = 4  # of the newest frames, besides those that any click is learnt with
IDLE_SECONDS = 0.2  # after which it is looked again whether there is something to do
END_SECONDS = 30.0  # that the end waits for what is being learnt

_log = logging.getLogger("ocboost._teaching")


class TaughtTask(NamedTuple):
    """What became of a task: a detector, or why it is not to be shown."""

    task: TeachingTask
    detector: Detector | None
    base: Base
    why: str
    seconds: float
    said: list[Lesson]


class Worker:
    """Learns in a thread of its own.

    Parameters
    ----------
    wake : Condition
        On the session's lock; it is notified when there is something to learn, or nothing more.
    steps : Steps
        What is to be learnt.
    learner : ClickLearner
    frames : FrameStore
    said : callable
        The click that a task is about, if any, and the lessons of all clicks up to it; under the lock.
    learnt : callable
        Takes a result, under the lock.
    idle : callable
        Called now and then while there is nothing to learn, under the lock.
    """

    def __init__(
        self,
        wake: threading.Condition,
        steps: Steps,
        learner: ClickLearner,
        frames: FrameStore,
        said: Callable[[TeachingTask], tuple[Click | None, list[Lesson]]],
        learnt: Callable[[TaughtTask], None],
        idle: Callable[[], None],
    ) -> None:
        self._wake = wake
        self._steps = steps
        self._learner = learner
        self._frames = frames
        self._said = said
        self._learnt = learnt
        self._idle = idle
        # With which base which frames were looked at as they are, and which turned.
        self._looked_at: tuple[Base, set[int], set[int]] = steps.last.base, set(), set()
        self._closed = False
        self.working = False
        self.error: str | None = None  # what went wrong
        self.thread = threading.Thread(target=self._work, name="ocboost teaching", daemon=True)

    def _work(self) -> None:
        """Learn one thing after the other; what goes wrong with one must not keep the next from it."""
        while not self._closed:
            task = None
            try:
                with self._wake:
                    task = self._next_task()
                if task is not None:
                    self._learn(task)
            except Exception as error:
                _log.exception("learning failed")
                with self._wake:
                    self.error = f"learning failed ({type(error).__name__}: {error!s:.200}); it goes on"
                    if task is not None:
                        self._steps.drop(task)
            with self._wake:
                self.working = False
                self._wake.notify_all()

    def _next_task(self) -> TeachingTask | None:
        """What is to be learnt next, once there is something; None if there may be."""
        while self._steps.next is None and not self._closed:
            if self._look_ahead():
                return None
            self._idle()
            self._wake.wait(IDLE_SECONDS)
        if self._closed:
            return None
        self.working = True
        return self._steps.next

    def _learn(self, task: TeachingTask) -> None:
        with self._wake:
            if self._steps.next is not task:
                return  # taken back meanwhile
            before = self._steps.last
            clicked, said = self._said(task)
        begin = time.perf_counter()
        base = before.base if task.base is None else task.base
        detector: Detector | None
        try:
            detector, why = self._learner.learnt(base, clicked, said, task.background, before.detector)
        except Exception as error:
            _log.exception("a click could not be learnt")
            detector, why = None, f"it could not be learnt ({type(error).__name__}: {error!s:.200})"
        with self._wake:
            if self._closed or self._steps.next is not task:
                return  # left for the next session, or taken back meanwhile
            seconds = round(time.perf_counter() - begin, 3)
            self._learnt(TaughtTask(task, detector, base, why, seconds, said))

    def _look_ahead(self) -> bool:
        """Look at a frame that a click will be learnt with, while there is nothing else to do."""
        base = self._steps.last.base
        if self._looked_at[0] is not base:
            self._looked_at = base, set(), set()
        _, looked_at, turned = self._looked_at
        labelled, varied = self._frames.labelled(), self._frames.varied()
        return self._look(
            to_turn([*varied, *labelled]), turned, lambda frame: self._learner.turned(base, [frame])
        ) or self._look(
            [*labelled, *background((), varied), *self._frames.newest(LOOKED_AHEAD)],
            looked_at,
            lambda frame: self._learner.seen(base, frame),
        )

    def _look(self, frames: Sequence[Frame], done: set[int], look: Callable[[Frame], object]) -> bool:
        """Look at the first of these frames that is not done yet, not under the lock; False if all are."""
        frame = next((each for each in frames if each.id not in done), None)
        if frame is None or self._closed:
            return False
        done &= {each.id for each in frames}
        done.add(frame.id)
        self._wake.release()
        try:
            look(frame)
        finally:
            self._wake.acquire()
        return True

    def stop(self) -> None:
        """Begin nothing more; under the lock."""
        self._closed = True
        self._wake.notify_all()

    def join(self) -> None:
        """Wait for its end; not under the lock."""
        if self.thread is not threading.current_thread():
            with contextlib.suppress(RuntimeError):
                self.thread.join(END_SECONDS)
