"""What was taught, in a folder: clicks, the frames that were clicked on, and the detector that is shown.

Every file is written beside its place and renamed. A frame is there before the clicks on it, and a detector
before it is named; so the folder is whole whenever the process ends. What could not be written, as on a full
disk, is written the next time: until then the folder holds the clicks before that, and what was learnt from
these.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.escaping import shown
from ocboost._core.file_format import load, save
from ocboost._core.file_lock import HeldError, locked
from ocboost._teaching.clicks import CLICK_KINDS, Box, Click
from ocboost._teaching.frames import Frame
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.file import CascadeFile
from ocboost.errors import InputError, ModelFileError

_log = logging.getLogger("ocboost._teaching")

SESSION_FILE = "teaching.ocb"
SESSION_KIND, FRAME_KIND, DETECTOR_KIND = (
    "teaching session",
    "frame that was clicked on",
    "detector that was taught",
)
SESSION_VERSION = 1
MOST_TEXT = 1 << 23  # characters
MOST_NAME = 1000
FRAME_NAME = re.compile(r"frame-\d{6,}\.ocb")
DETECTOR_NAME = re.compile(r"detector-\d{6,}-\d{6,}-\d+\.ocb")
UNFINISHED = re.compile(r"\.(frame|detector|teaching)\b.*\.ocb\.[0-9a-f]{8}\.tmp")


class Taken(NamedTuple):
    """What a folder held."""

    clicks: list[Click]
    frames: list[Frame]
    learnt: int  # number of the last click that was learnt
    detector: Cascade | None  # that was shown, if it was not the shipped one
    next_id: int
    decision: dict[str, Any] | None
    lost: str | None = None  # what cannot be read, so that the detector must be learnt anew from the clicks
    stages: Cascade | None = None  # that were built, and on top of which the detector was learnt
    begun: dict[int, int] | None = (
        None  # after which clicks stages were built, and how many clicks there were
    )


class StateFolder:
    """A folder with what was taught; one process at a time."""

    def __init__(self, folder: Path, file: CascadeFile, seed: int) -> None:
        self._folder = folder
        self._place = folder / SESSION_FILE
        if folder.exists() and not folder.is_dir():
            raise InputError(f"state must be a folder; '{folder}' is none. Give another name.")
        folder.mkdir(parents=True, exist_ok=True)
        self._shipped = hashlib.sha256(file.to_bytes()).hexdigest()
        self._seed = seed
        self._lock = contextlib.ExitStack()
        self._is_ours: Callable[[], bool] = self._lock.enter_context(locked(self._place))
        self._forget()

    def _forget(self) -> None:
        """Nothing is known to be there."""
        self._written: set[int] = set()  # frames
        self._detector: str | None = None  # the file of the detector that was written last
        self._taught: list[int] = []  # the clicks that it was taught
        self._learnt = 0  # the last of them, or a later one that is taken back
        self._behind = False  # whether a newer one could not be written
        self._session: tuple[int, ...] = ()  # the session's file as it was written last

    def close(self) -> None:
        """Let others have it."""
        self._lock.close()

    def taken_up(self) -> Taken | None:
        """What the folder holds; None if it is new."""
        if not self._place.exists():
            if any(entry.name[0] != "." for entry in self._folder.iterdir()):
                raise InputError(
                    f"state must be an empty folder, or one of an earlier session; '{self._folder}' holds "
                    "other things. Give another one."
                )
            return None
        taken: Taken = read(load(self._place, SESSION_KIND), str(self._place), self._from_tree)
        self._written = {frame.id for frame in taken.frames}
        self._learnt, self._taught = taken.learnt, _said(taken.clicks, taken.learnt)
        self._session = _seal(self._place)
        return taken

    def _from_tree(self, fields: Fields) -> Taken:
        fields.count("version", 1, SESSION_VERSION)
        fields.require(isinstance(fields.take("seed"), int), "seed must be a whole number")
        if fields.text("shipped") != self._shipped:
            raise InputError(
                f"state must be of a session with the same detector; '{self._folder}' was begun with another "
                "one. Give that detector, or another folder."
            )
        try:
            found = json.loads(fields.text("clicks", MOST_TEXT))
            clicks = [
                Click(int(n), kind, int(frame), _box(box), bool(undone))
                for n, kind, frame, box, undone in found
            ]
            decision = json.loads(fields.text("decision", MOST_TEXT))
            begun = json.loads(fields.text("begun", MOST_TEXT)) if "begun" in fields else []
            begun = {int(at): int(n) for at, n in begun}
        except (TypeError, ValueError, RecursionError):
            raise ModelFileError(f"'{self._place}' is damaged. Give another folder.") from None
        good = all(click.number == k + 1 and click.kind in CLICK_KINDS for k, click in enumerate(clicks))
        fields.require(good, "clicks must be numbered, and of a known kind")
        numbers = sorted({click.frame_id for click in clicks if not click.undone})
        name = fields.text("detector")
        fields.require(name == "" or Path(name).name == name, "detector must be the name of a file")
        learnt = fields.count("learnt", most=len(clicks))
        detector, stages, lost = None, None, None
        if name:
            try:
                detector, stages = self._kept_detector(name)
                self._detector = name
            except (OSError, ModelFileError) as error:
                # The clicks are what cannot be had again.
                _log.warning("%s", shown(error))
                learnt, lost = (
                    0,
                    "the detector that was kept cannot be read; it is learnt anew from the clicks",
                )
        frames = []
        for number in numbers:
            try:
                frames.append(self._frame(number))
            except (FileNotFoundError, ModelFileError) as error:
                _log.warning("%s", shown(error))
        readable = {frame.id for frame in frames}
        gone = [click for click in clicks if not click.undone and click.frame_id not in readable]
        if gone:
            clicks = [replace(click, undone=True) if click in gone else click for click in clicks]
            learnt, detector, stages = 0, None, None
            lost = f"{len(gone)} clicks are lost, as their frames cannot be read; the others are learnt anew"
        next_id = fields.count("next_id")
        return Taken(clicks, frames, learnt, detector, next_id, decision, lost, stages, begun)

    def _kept_detector(self, name: str) -> tuple[Cascade, Cascade | None]:
        place = self._folder / name

        def detector(fields: Fields) -> tuple[Cascade, Cascade | None]:
            found = fields.read("cascade", Cascade.from_tree)
            return found, fields.read("stages", Cascade.from_tree) if "stages" in fields else None

        made: tuple[Cascade, Cascade | None] = read(load(place, DETECTOR_KIND), str(place), detector)
        return made

    def _frame(self, number: int) -> Frame:
        place = self._folder / _frame_name(number)

        def frame(fields: Fields) -> Frame:
            moment = None if fields.takes("time", None) else fields.number("time", -np.inf, np.inf)
            grey = fields.array("grey", np.uint8, (None, None))
            fields.require(grey.size > 0, "grey must have pixels")
            return Frame(number, grey, fields.text("name"), moment)

        made: Frame = read(load(place, FRAME_KIND), str(place), frame)
        return made

    def write(
        self,
        clicks: Sequence[Click],
        frames: Callable[[int], Frame],
        learnt: int,
        detector: Cascade | None,
        new: bool,
        next_id: int,
        decision: dict[str, Any] | None,
        stages: Cascade | None = None,
        begun: Mapping[int, int] | None = None,
    ) -> None:
        """Write what is not there yet; the detector only if it is ``new``, or could not be written before.

        What cannot be written is an `OSError`, after all that can be: clicks up to the first one whose frame
        is not there, and the detector that was written last if it was taught by these.
        """
        self._hold_again()
        there = {entry.name for entry in self._folder.iterdir()}
        n, failed = self._write_frames(clicks, frames, there)
        known = clicks[:n]
        self._behind |= new or (self._detector is not None and self._detector not in there)
        if self._behind and learnt <= n:
            try:
                self._write_detector(known, learnt, detector, stages, next_id)
            except OSError as error:
                failed = failed or error
        if self._behind:
            learnt = min(learnt, self._learnt)
            if learnt > n or self._taught != _said(known, self._learnt) or self._detector not in there:
                self._detector, self._taught, learnt = None, [], 0
        tree = {
            "version": SESSION_VERSION,
            "shipped": self._shipped,
            "seed": self._seed,
            "clicks": json.dumps([[c.number, c.kind, c.frame_id, c.box, c.undone] for c in known]),
            "learnt": learnt,
            "detector": self._detector or "",
            "next_id": next_id,
            "decision": json.dumps(decision),
            "begun": json.dumps([[at, n] for at, n in (begun or {}).items()]),
        }
        save(self._place, SESSION_KIND, tree)
        self._session = _seal(self._place)
        self._tidy({_frame_name(click.frame_id) for click in clicks if not click.undone})
        if failed is not None:
            raise failed

    def _hold_again(self) -> None:
        """Where the folder was removed, begin it anew, unless others have begun one there."""
        if self._is_ours():
            return
        self._lock.close()
        self._is_ours = bool  # no longer
        self._folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as lock:
            try:
                is_ours = lock.enter_context(locked(self._place))
            except HeldError:
                raise OSError(errno.EBUSY, "the folder is in use by another session") from None
            if self._place.exists():
                if _seal(self._place) != self._session:
                    raise OSError(errno.EEXIST, "the folder holds another session")
            else:
                self._forget()
                self._behind = True
            self._is_ours, self._lock = is_ours, lock.pop_all()

    def _write_frames(
        self, clicks: Sequence[Click], frames: Callable[[int], Frame], there: set[str]
    ) -> tuple[int, OSError | None]:
        """Write the frames of clicks; how many clicks have theirs, and what went wrong with the next."""
        for n, click in enumerate(clicks):
            name = _frame_name(click.frame_id)
            if click.undone or (click.frame_id in self._written and name in there):
                continue
            frame = frames(click.frame_id)
            try:
                tree = {"grey": frame.grey, "name": frame.name[:MOST_NAME], "time": frame.time}
                save(self._folder / name, FRAME_KIND, tree)
            except OSError as error:
                return n, error
            self._written.add(click.frame_id)
            there.add(name)
        return len(clicks), None

    def _write_detector(
        self,
        clicks: Sequence[Click],
        learnt: int,
        detector: Cascade | None,
        stages: Cascade | None,
        next_id: int,
    ) -> None:
        name = None
        if detector is not None:
            name = f"detector-{learnt:06d}-{len(clicks):06d}-{next_id}.ocb"
            tree: Tree = {"cascade": detector.tree()}
            if stages is not None:
                tree["stages"] = stages.tree()
            save(self._folder / name, DETECTOR_KIND, tree)
        self._detector, self._learnt, self._behind = name, learnt, False
        self._taught = _said(clicks, learnt)

    def _tidy(self, frames: set[str]) -> None:
        """Remove what nothing refers to any more, and what a process that was killed was writing."""
        for entry in list(self._folder.iterdir()):
            name = entry.name
            old = (
                (name not in frames and FRAME_NAME.fullmatch(name))
                or (name != self._detector and DETECTOR_NAME.fullmatch(name))
                or UNFINISHED.fullmatch(name)
            )
            if old:
                with contextlib.suppress(OSError):
                    entry.unlink()


def _said(clicks: Sequence[Click], learnt: int) -> list[int]:
    """The clicks up to a number that are not taken back."""
    return [click.number for click in clicks if not click.undone and click.number <= learnt]


def _seal(place: Path) -> tuple[int, ...]:
    """What tells a file from one that somebody else has written in its place."""
    found = place.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _frame_name(number: int) -> str:
    return f"frame-{number:06d}.ocb"


def _box(box: Any) -> Box | None:
    if box is None:
        return None
    x, y, w, h = (int(value) for value in box)
    return x, y, w, h
