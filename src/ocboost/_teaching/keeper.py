"""Keeps a session in its folder, and tries again where that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ocboost._teaching.clicks import Click
from ocboost._teaching.frames import FrameStore
from ocboost._teaching.saved import StateFolder, Taken
from ocboost._teaching.steps import Steps
from ocboost.cascade.file import CascadeFile

AGAIN_SECONDS = 5.0  # after which it is tried again


class Keeper:
    """A session's folder, or none. The session's lock guards it.

    Parameters
    ----------
    folder : path, optional
        Nothing is written without it.
    file : CascadeFile
        The shipped detector.
    seed : int
    """

    def __init__(self, folder: Path | None, file: CascadeFile, seed: int) -> None:
        self._folder = None if folder is None else StateFolder(folder, file, seed)
        self._shipped = file.cascade
        self._again = 0.0  # when it is tried again
        self.unsaved: str | None = None  # why not all that was taught is in the folder

    def taken_up(self) -> Taken | None:
        """What the folder holds; None if there is none, or if it is new."""
        return None if self._folder is None else self._folder.taken_up()

    def save(
        self,
        clicks: list[Click],
        frames: FrameStore,
        steps: Steps,
        decision: dict[str, Any] | None,
        begun: Mapping[int, int],
        *,
        new: bool = True,
    ) -> None:
        """Write down what was taught; the detector only if it may be ``new``."""
        if self._folder is None:
            return
        cascade, base = steps.shown[1], steps.last.base
        try:
            self._folder.write(
                clicks,
                frames.get,
                steps.last.task.click,
                None if cascade is self._shipped else cascade,
                new,
                frames.next_number,
                decision,
                base.stages if base.number else None,
                begun,
            )
            self.unsaved = None
        except OSError as error:
            self.unsaved = f"what was taught could not be saved: {error.strerror or error}"
            self._again = time.monotonic() + AGAIN_SECONDS

    def again(self, save: Callable[[], None], *, at_once: bool = False) -> None:
        """Try what could not be saved, after a while."""
        if self.unsaved is not None and (at_once or time.monotonic() >= self._again):
            save()

    def close(self) -> None:
        """Let others have the folder."""
        if self._folder is not None:
            self._folder.close()
