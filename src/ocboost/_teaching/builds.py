"""When fast stages are built in the background: once there are faces enough, and after many more clicks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np

from ocboost._teaching.building import AGAIN, FEWEST_MARKED, Build
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost.cascade.cascade import Cascade
from ocboost.errors import InputError

_log = logging.getLogger("ocboost._teaching")


class Builds:
    """The build that runs, and those that were begun. The session's lock guards it.

    Parameters
    ----------
    shipped : Cascade
    seed : int
    wanted : bool
        Whether anything is built.
    done : callable
        As of `Build`.
    """

    def __init__(
        self, shipped: Cascade, seed: int, wanted: bool, done: Callable[[Build, Cascade | None, str], None]
    ) -> None:
        self._shipped = shipped
        self._seed = seed
        self._wanted = wanted
        self._done = done
        self._running: tuple[int, Build] | None = None  # after which click it began
        self.begun: dict[int, int] = {}  # after which clicks, and how many clicks there were
        self._told: tuple[int, str] | None = None  # what became of the last one that is over

    @property
    def running(self) -> int | None:
        """After which click the build began that runs, if one does."""
        return None if self._running is None else self._running[0]

    @property
    def over(self) -> dict[int, int]:
        """Those that ended: after which clicks they began, and how many clicks there were."""
        return {at: n for at, n in self.begun.items() if at != self.running}

    @property
    def outcome(self) -> str | None:
        """What became of the last build that is over, in words."""
        return None if self._told is None else self._told[1]

    def tell(self, at: int, outcome: str) -> None:
        """Say what became of the build that began after a click."""
        self._told = at, outcome

    def begin_if_due(
        self, at: int, n_clicks: int, shown: Cascade, said: Sequence[Lesson], background: Sequence[Frame]
    ) -> None:
        """Begin if enough faces were marked, and many clicks came since the last time."""
        marked = sum(len(lesson.faces) for lesson in said)
        due = n_clicks >= AGAIN * max(self.begun.values(), default=0)
        if not self._wanted or self._running is not None or marked < FEWEST_MARKED or not due:
            return
        self.begun[at] = n_clicks
        labelled = {lesson.frame.id for lesson in said}
        none = np.empty((0, 4), np.int64)
        rest = [Lesson(frame, none, none, False) for frame in background if frame.id not in labelled]
        try:
            build = Build(self._shipped, shown, [*said, *rest], self._seed, self._done)
        except (OSError, InputError) as error:
            _log.warning("fast stages could not be built: %s", error)
            return
        self._running = at, build

    def ended(self, build: Build) -> int | None:
        """After which click a build began that is over now; None if nobody waits for it."""
        if self._running is None or self._running[1] is not build:
            return None
        at, self._running = self._running[0], None
        return at

    def drop_after(self, number: int) -> Build | None:
        """Forget those that began after later clicks; one that runs is for the caller to end, unlocked."""
        self.begun = {at: n for at, n in self.begun.items() if at <= number}
        if self._told is not None and self._told[0] > number:
            self._told = None
        return self.give_up() if self._running is not None and self._running[0] > number else None

    def give_up(self) -> Build | None:
        """Wait no longer for the one that runs, which is for the caller to end."""
        running, self._running = self._running, None
        return None if running is None else running[1]
