"""What was taught, in a folder: clicks, the frames that were clicked on, and the detector that is shown.

Every file is written beside its place and renamed. A frame is there before the clicks on it, and a detector
before it is named; so the folder is whole whenever the process ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ocboost._core.codec import Fields, read
from ocboost._core.file_format import load, save
from ocboost._core.file_lock import locked
from ocboost._teaching.clicks import CLICK_KINDS, Box, Click
from ocboost._teaching.frames import Frame
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.file import CascadeFile
from ocboost.errors import InputError, ModelFileError

SESSION_FILE = "teaching.ocb"
SESSION_KIND, FRAME_KIND, DETECTOR_KIND = (
    "teaching session",
    "frame that was clicked on",
    "detector that was taught",
)
SESSION_VERSION = 1
MOST_TEXT = 1 << 23  # characters


class Taken(NamedTuple):
    """What a folder held."""

    clicks: list[Click]
    frames: list[Frame]
    learnt: int  # number of the last click that was learnt
    detector: Cascade | None  # that was shown, if it was not the shipped one
    next_id: int
    decision: dict[str, Any] | None
    lost: str | None = None  # why the detector must be learnt anew from the clicks


class StateFolder:
    """A folder with what was taught; one process at a time."""

    def __init__(self, folder: Path, file: CascadeFile, seed: int) -> None:
        self._folder = folder
        if folder.exists() and not folder.is_dir():
            raise InputError(f"state must be a folder; '{folder}' is none. Give another name.")
        folder.mkdir(parents=True, exist_ok=True)
        self._shipped = hashlib.sha256(file.to_bytes()).hexdigest()
        self._seed = seed
        self._lock = contextlib.ExitStack()
        self._lock.enter_context(locked(folder / SESSION_FILE))
        self._written: set[int] = set()
        self._detector: str | None = None  # the file of the detector that was written last
        self._learnt = 0  # the last click that it was taught
        self._behind = False  # whether a newer one could not be written

    def close(self) -> None:
        """Let others have it."""
        self._lock.close()

    def taken_up(self) -> Taken | None:
        """What the folder holds; None if it is new."""
        place = self._folder / SESSION_FILE
        if not place.exists():
            if any(entry.name[0] != "." for entry in self._folder.iterdir()):
                raise InputError(
                    f"state must be an empty folder, or one of an earlier session; '{self._folder}' holds "
                    "other things. Give another one."
                )
            return None
        taken: Taken = read(load(place, SESSION_KIND), str(place), self._from_tree)
        self._written = {frame.id for frame in taken.frames}
        self._learnt = taken.learnt
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
        except (TypeError, ValueError, RecursionError):
            raise ModelFileError(
                f"'{self._folder / SESSION_FILE}' is damaged. Give another folder."
            ) from None
        good = all(click.number == k + 1 and click.kind in CLICK_KINDS for k, click in enumerate(clicks))
        fields.require(good, "clicks must be numbered, and of a known kind")
        numbers = sorted({click.frame_id for click in clicks if not click.undone})
        name = fields.text("detector")
        fields.require(name == "" or Path(name).name == name, "detector must be the name of a file")
        learnt = fields.count("learnt", most=len(clicks))
        detector, lost = None, None
        if name:
            try:
                detector = self._kept_detector(name)
                self._detector = name
            except (OSError, ModelFileError) as error:
                # The clicks are what cannot be had again.
                learnt, lost = 0, str(error)
        frames = [self._frame(number) for number in numbers]
        return Taken(clicks, frames, learnt, detector, fields.count("next_id"), decision, lost)

    def _kept_detector(self, name: str) -> Cascade:
        place = self._folder / name
        found: Cascade = read(
            load(place, DETECTOR_KIND), str(place), lambda own: own.read("cascade", Cascade.from_tree)
        )
        return found

    def _frame(self, number: int) -> Frame:
        place = self._folder / _frame_name(number)
        try:
            tree = load(place, FRAME_KIND)
        except FileNotFoundError:
            raise ModelFileError(
                f"'{place}' is missing, which was clicked on. Give another folder."
            ) from None

        def frame(fields: Fields) -> Frame:
            moment = None if fields.takes("time", None) else fields.number("time", -np.inf, np.inf)
            grey = fields.array("grey", np.uint8, (None, None))
            fields.require(grey.size > 0, "grey must have pixels")
            return Frame(number, grey, fields.text("name"), moment)

        made: Frame = read(tree, str(place), frame)
        return made

    def add_frame(self, frame: Frame) -> None:
        """Write a frame that was clicked on."""
        if frame.id not in self._written:
            tree = {"grey": frame.grey, "name": frame.name[:1000], "time": frame.time}
            save(self._folder / _frame_name(frame.id), FRAME_KIND, tree)
            self._written.add(frame.id)

    def write(
        self,
        clicks: Sequence[Click],
        learnt: int,
        detector: Cascade | None,
        new: bool,
        next_id: int,
        decision: dict[str, Any] | None,
    ) -> None:
        """Write all but the frames; the detector only if it is ``new``, or could not be written before.

        If the detector cannot be written, the clicks still are, beside the detector that was written last.
        """
        failed: OSError | None = None
        if new or self._behind:
            name = None if detector is None else f"detector-{learnt:06d}-{len(clicks):06d}-{next_id}.ocb"
            try:
                if detector is not None and name is not None:
                    save(self._folder / name, DETECTOR_KIND, {"cascade": detector.tree()})
            except OSError as error:
                self._behind, failed = True, error
            else:
                self._detector, self._learnt, self._behind = name, learnt, False
        if self._behind:
            learnt = min(learnt, self._learnt)
        said = [[each.number, each.kind, each.frame_id, each.box, each.undone] for each in clicks]
        tree = {
            "version": SESSION_VERSION,
            "shipped": self._shipped,
            "seed": self._seed,
            "clicks": json.dumps(said),
            "learnt": learnt,
            "detector": self._detector or "",
            "next_id": next_id,
            "decision": json.dumps(decision),
        }
        save(self._folder / SESSION_FILE, SESSION_KIND, tree)
        for other in self._folder.glob("detector-*.ocb"):
            if other.name != self._detector:
                with contextlib.suppress(OSError):
                    other.unlink()
        used = {click.frame_id for click in clicks if not click.undone}
        for number in sorted(self._written - used):
            with contextlib.suppress(OSError):
                (self._folder / _frame_name(number)).unlink()
            self._written.discard(number)
        if failed is not None:
            raise failed


def _frame_name(number: int) -> str:
    return f"frame-{number:06d}.ocb"


def _box(box: Any) -> Box | None:
    if box is None:
        return None
    x, y, w, h = (int(value) for value in box)
    return x, y, w, h
