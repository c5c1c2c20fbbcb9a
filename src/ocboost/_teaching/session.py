"""A session in which somebody teaches a detector by clicking, while it is shown what it finds.

Frames are looked at by whoever calls `see`; what clicks say is learnt in a thread of the session's own. Each
click is learnt in its turn, together with all before it, so that the same clicks give the same detector
however fast they come. After every click the detector is kept, so that a click that is taken back leaves
nothing behind.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._teaching.annotated import annotations_of, png_of, zip_of
from ocboost._teaching.base import Base
from ocboost._teaching.building import AGAIN, FEWEST_MARKED, Build
from ocboost._teaching.clicks import Box, Click, Kind, Lesson, as_box, lessons
from ocboost._teaching.frames import Frame, FrameStore
from ocboost._teaching.judging import Progress, judged
from ocboost._teaching.learner import ClickLearner, Detector, GuardDecision
from ocboost._teaching.saved import StateFolder
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import as_image, detect
from ocboost.cascade.file import CascadeFile
from ocboost.cascade.pictures import Boxes, as_boxes
from ocboost.errors import InputError

Which = Literal["shipped", "shown"]

MOST_STEPS = 300  # detectors that are kept, so that clicks can be taken back
LOOKED_AHEAD = 12  # frames
SAVED_AGAIN = 5.0  # seconds after which it is tried to save what could not be saved

_log = logging.getLogger("ocboost._teaching")


class Seen(NamedTuple):
    """A frame that was looked at."""

    frame_id: int
    boxes: list[Box]
    version: int
    milliseconds: float
    width: int
    height: int


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


class TeachingSession:
    """Shows frames to a detector and teaches it by clicks. Any thread may call any method.

    Parameters
    ----------
    file : CascadeFile
        The shipped detector, of stumps.
    state : path, optional
        A folder in which all that was taught is kept, and taken up again. Nothing is written without it.
    seed : int, default 0
    build : bool, default True
        Whether fast stages are built in the background, once there are faces enough.
    """

    def __init__(
        self, file: CascadeFile, *, state: Path | None = None, seed: int = 0, build: bool = True
    ) -> None:
        self._file = file
        self._seed = as_count(seed, "seed", 0, None, "")
        self._learner = ClickLearner(file.cascade, self._seed)
        self._frames = FrameStore()
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._clicks: list[Click] = []
        self._queue: list[TeachingTask] = []
        shipped = Detector(file.cascade, self._learner.base, None)
        self._first = TaughtStep(TeachingTask(0, ()), shipped, self._learner.base)
        self._steps: list[TaughtStep] = [self._first]  # after each click that is not taken back
        self._shown: tuple[int, Cascade] = (0, file.cascade)
        self._working = False
        self._builds = build
        self._build: tuple[int, Build] | None = None  # after which click it began
        self._built: dict[int, int] = {}  # after which clicks, and how many clicks there were
        self._replayed_to = 0  # the last click that is learnt once more, on top of new stages
        self._decision: GuardDecision | None = None
        self._error: str | None = None  # what went wrong while learning
        self._unsaved: str | None = None  # why what was taught last could not be saved
        self._save_again = 0.0  # when that is tried again
        self._passed_over: set[int] = set()  # frames that could not be looked at ahead
        self._found_before: dict[tuple[int, int], tuple[Cascade, Boxes]] = {}
        self._closed = False
        self._folder = None if state is None else StateFolder(Path(state), file, self._seed)
        if self._folder is not None:
            try:
                self._take_up(self._folder)
            except BaseException:
                self._folder.close()
                raise
        self._thread = threading.Thread(target=self._work, name="ocboost teaching", daemon=True)
        self._thread.start()

    def _take_up(self, folder: StateFolder) -> None:
        """Go on where an earlier session ended."""
        taken = folder.taken_up()
        if taken is None:
            self._save(True)
            return
        for frame in taken.frames:
            self._frames.add(frame)
            self._frames.label(frame.id)
        self._frames.reserve(taken.next_id)
        self._clicks = taken.clicks
        self._decision = None if taken.decision is None else GuardDecision(**taken.decision)
        if taken.detector is not None:
            self._shown = 1, taken.detector
        if taken.lost is not None:
            _log.warning("%s; it is learnt anew from the clicks", taken.lost)
            why = "the detector that was kept cannot be read; it is being learnt anew from the clicks"
            self._decision = GuardDecision(False, why, 0.0, 0)
        said = [each.number for each in self._clicks if not each.undone]
        self._queue = [TeachingTask(number, ()) for number in said if number > taken.learnt]
        if taken.learnt:
            kept = Detector(taken.detector or self._file.cascade, self._learner.base, None)
            self._steps.append(TaughtStep(TeachingTask(taken.learnt, ()), kept, self._learner.base))

    # Seeing -----------------------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Compile what learning and detecting need, and prepare the drawn faces: slow, once."""
        # By a learner of its own: the session's may be at work already.
        ClickLearner(self._file.cascade, self._seed).warm_up()
        detect(self._file.cascade, np.zeros((48, 64), np.uint8))

    def see(
        self, grey: NDArray[np.uint8], *, name: str = "", time: float | None = None, keep: bool = True
    ) -> Seen:
        """Detect in a frame with the detector that is shown now, and keep the frame for clicks."""
        image = as_image(grey)
        version, cascade = self._shown
        begin = _now()
        boxes = detect(cascade, image)
        took = 1000.0 * (_now() - begin)
        number = self._frames.next_id()
        if keep:
            self._frames.add(Frame(number, image.copy(), str(name), time))
        return Seen(number, boxes, version, took, int(image.shape[1]), int(image.shape[0]))

    # Clicks -----------------------------------------------------------------------------------------------

    def reject(self, frame_id: int, box: Box) -> Click:
        """Say that a box shows no face."""
        return self._clicked("reject", frame_id, box)

    def mark(self, frame_id: int, box: Box) -> Click:
        """Say that a face is here, whether it was found or missed."""
        return self._clicked("mark", frame_id, box)

    def free(self, frame_id: int) -> Click:
        """Say that nothing in a frame is a face."""
        return self._clicked("free", frame_id, None)

    def _clicked(self, kind: Kind, frame_id: int, box: Box | None) -> Click:
        with self._lock:
            self._require_open()
            frame = self._frames.get(frame_id)
            checked = None if box is None else as_box(kind, frame, box, self._file.cascade.width)
            self._frames.label(frame_id)
            click = Click(len(self._clicks) + 1, kind, frame_id, checked)
            self._clicks.append(click)
            self._queue.append(TeachingTask(click.number, tuple(self._frames.varied())))
            self._wake.notify_all()
            self._save(False)
            return click

    def undo(self) -> Click | None:
        """Take the last click back that was not taken back yet; what was learnt from it is gone."""
        with self._lock:
            self._require_open()
            left = [place for place, each in enumerate(self._clicks) if not each.undone]
            if not left:
                return None
            click = replace(self._clicks[left[-1]], undone=True)
            self._clicks[left[-1]] = click
            ended = self._drop_after(click.number - 1)
            if self._decision is not None and self._decision.click >= click.number:
                self._decision = None
            if all(each.undone or each.frame_id != click.frame_id for each in self._clicks):
                self._frames.unlabel(click.frame_id)
            remaining = [each.number for each in self._clicks if not each.undone]
            if remaining and self._steps[-1].task.click < remaining[-1] and not self._queue:
                # It was learnt before this session began, or long ago: all of it is learnt anew, since the
                # last one alone may be refused.
                varied = tuple(self._frames.varied())
                known = self._steps[-1].task.click
                self._queue = [TeachingTask(number, varied) for number in remaining if number > known]
                self._replayed_to = remaining[-1]
            self._show_latest()
            self._save(True)
            self._wake.notify_all()
        if ended is not None:
            ended.cancel()  # not under the lock, which its thread may wait for
        return click

    def _drop_after(self, number: int) -> Build | None:
        """Forget what was learnt from clicks after this one; a build that is to be ended is returned."""
        self._queue = [task for task in self._queue if task.click <= number]
        self._steps = [step for step in self._steps if step.task.click <= number] or [self._first]
        self._built = {at: n for at, n in self._built.items() if at <= number}
        if self._build is not None and self._build[0] > number:
            ended, self._build = self._build[1], None
            return ended
        return None

    @property
    def unsaved(self) -> str | None:
        """Why not all that was taught is in the folder; None if it is, or if there is no folder."""
        return self._unsaved

    def clicks(self) -> list[Click]:
        """All clicks, those taken back too."""
        with self._lock:
            return list(self._clicks)

    # Learning ---------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Learn one thing after the other; what goes wrong with one must not keep the next from it."""
        while not self._closed:
            task = None
            try:
                with self._lock:
                    task = self._next_task()
                if task is not None:
                    self._learn(task)
            except Exception as error:
                _log.exception("learning failed")
                with self._lock:
                    self._error = f"learning failed ({type(error).__name__}: {error!s:.200}); it goes on"
                    if self._queue and self._queue[0] is task:
                        self._queue.pop(0)
            with self._lock:
                self._working = False
                self._wake.notify_all()

    def _next_task(self) -> TeachingTask | None:
        """What is to be learnt next, once there is something; None if there may be."""
        while not self._queue and not self._closed:
            if self._look_ahead():
                return None
            self._save_what_could_not_be()
            self._wake.wait(1.0)
        if self._closed:
            return None
        self._working = True
        return self._queue[0]

    def _learn(self, task: TeachingTask) -> None:
        with self._lock:
            before = self._steps[-1]
            if not self._queue or self._queue[0] is not task:
                return  # taken back meanwhile
            said, frames = self._said(task.click)
            clicked = None if task.base is not None else self._clicks[task.click - 1]
        begin = _now()
        base = before.base if task.base is None else task.base
        detector: Detector | None
        try:
            detector, why = self._learner.learnt(
                base, clicked, lessons(said, frames), task.background, before.detector
            )
        except Exception as error:
            _log.exception("a click could not be learnt")
            detector, why = None, f"it could not be learnt ({type(error).__name__}: {error!s:.200})"
        with self._lock:
            if self._closed or not self._queue or self._queue[0] is not task:
                return  # taken back meanwhile, or left for the next session
            self._queue.pop(0)
            step = TaughtStep(task, before.detector, before.base)
            if detector is not None:
                step = TaughtStep(task, detector, base)
            self._steps.append(step)
            self._steps[:-MOST_STEPS] = []
            if task.base is not None:
                why = f"fast stages were built in the background: {why}"
            self._decision = GuardDecision(detector is not None, why, round(_now() - begin, 3), task.click)
            self._show_latest()
            self._save(True)
            if task.base is None:
                self._build_if_due(step, lessons(said, frames))

    def _look_ahead(self) -> bool:
        """Look at a frame that a click will be learnt with, while there is nothing else to do."""
        base = self._steps[-1].base
        frame = next(
            (
                each
                for each in self._frames.newest(LOOKED_AHEAD)
                if each.id not in self._passed_over and not self._learner.knows(base, each)
            ),
            None,
        )
        if frame is None or self._closed:
            return False
        self._lock.release()
        try:
            self._learner.seen(base, frame)
        except Exception:
            self._passed_over.add(frame.id)
            raise
        finally:
            self._lock.acquire()
        return True

    def _said(self, number: int) -> tuple[list[Click], dict[int, Frame]]:
        said = [each for each in self._clicks if not each.undone and each.number <= number]
        return said, {each.frame_id: self._frames.get(each.frame_id) for each in said}

    def _show_latest(self) -> None:
        """Show what was learnt last; but not while clicks are learnt anew on top of new stages."""
        if not self._replaying():
            self._show(self._steps[-1].detector.cascade)

    def _replaying(self) -> bool:
        return any(task.click <= self._replayed_to for task in self._queue)

    def _show(self, cascade: Cascade) -> None:
        if cascade is not self._shown[1]:
            self._shown = self._shown[0] + 1, cascade

    def _save(self, new: bool) -> None:
        """Write down what was taught, if there is a folder for it."""
        if self._folder is None:
            return
        cascade = self._shown[1]
        try:
            self._folder.write(
                self._clicks,
                self._frames.get,
                self._steps[-1].task.click,
                None if cascade is self._file.cascade else cascade,
                new,
                self._frames.next_number,
                None if self._decision is None else self._decision._asdict(),
            )
            self._unsaved = None
        except OSError as error:
            self._unsaved = f"what was taught could not be saved: {error.strerror or error}"
            self._save_again = _now() + SAVED_AGAIN

    def _save_what_could_not_be(self, at_once: bool = False) -> None:
        if self._unsaved is not None and (at_once or _now() >= self._save_again):
            self._save(True)

    # Building ---------------------------------------------------------------------------------------------

    def _build_if_due(self, step: TaughtStep, said: list[Lesson]) -> None:
        """Begin to build fast stages, if enough faces were marked, and many clicks came since the last."""
        n = sum(not each.undone and each.number <= step.task.click for each in self._clicks)
        marked = sum(len(lesson.faces) for lesson in said)
        due = n >= AGAIN * max(self._built.values(), default=0)
        if not self._builds or self._build is not None or marked < FEWEST_MARKED or not due:
            return
        self._built[step.task.click] = n
        labelled = {lesson.frame.id for lesson in said}
        none = np.empty((0, 4), np.int64)
        rest = [
            Lesson(frame, none, none, False) for frame in step.task.background if frame.id not in labelled
        ]
        try:
            shown = step.detector.cascade
            build = Build(self._file.cascade, shown, [*said, *rest], self._seed, self._build_done)
        except (OSError, InputError) as error:
            _log.warning("fast stages could not be built: %s", error)
            return
        self._build = step.task.click, build

    def _build_done(self, build: Build, stages: Cascade | None, why: str) -> None:
        """Learn what was clicked meanwhile once more, on top of the new stages."""
        with self._lock:
            if self._build is None or self._build[1] is not build or self._closed:
                return
            at = self._build[0]
            self._build = None
            if stages is None:
                self._decision = GuardDecision(False, f"no fast stages were built: {why}", 0.0, at)
                self._wake.notify_all()
                return
            base = self._learner.built(at, stages)
            later = [step.task for step in self._steps if step.task.click > at]
            waiting = [task for task in self._queue if task.click > at]
            self._replayed_to = max((task.click for task in later), default=0)
            first = next(step.task for step in self._steps[::-1] if step.task.click <= at)
            self._steps = [step for step in self._steps if step.task.click <= at]
            self._queue = [TeachingTask(at, first.background, base), *later, *waiting]
            self._wake.notify_all()

    # What there is ----------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """How far it is, as JSON can hold it."""
        with self._lock:
            known = [each for each in self._clicks if not each.undone]
            return {
                "version": self._shown[0],
                "learning": self._working,
                "building": self._build is not None,
                "queue": len(self._queue),
                "frames": len(self._frames.all()),
                "clicks": {
                    kind: sum(each.kind == kind for each in known) for kind in ("reject", "mark", "free")
                },
                "faces": sum(each.kind == "mark" for each in known),
                "others": sum(each.kind == "reject" for each in known),
                "decision": None if self._decision is None else self._decision._asdict(),
                "shipped_shown": self._shown[1] is self._file.cascade,
                "error": self._trouble(),
            }

    def _trouble(self) -> str | None:
        again = None if self._unsaved is None else f"{self._unsaved}; it is tried again"
        return "; ".join(each for each in (again, self._error) if each is not None) or None

    def boxes(self, frame_id: int, which: Which) -> list[Box]:
        """What the shipped detector, or the one that is shown, finds in a frame."""
        if which not in ("shipped", "shown"):
            raise InputError(f"which must be 'shipped' or 'shown'; got {which!r:.40}.")
        cascade = self._file.cascade if which == "shipped" else self._shown[1]
        return detect(cascade, self._frames.get(frame_id).grey)

    def frames(self) -> list[dict[str, Any]]:
        """Frames that are kept, the newest last."""
        with self._lock:
            counts: dict[int, int] = {}
            for each in self._clicks:
                if not each.undone:
                    counts[each.frame_id] = counts.get(each.frame_id, 0) + 1
            kept = self._frames.all()
        return [
            {
                "id": frame.id,
                "name": frame.name,
                "time": frame.time,
                "clicks": counts.get(frame.id, 0),
                "width": frame.width,
                "height": frame.height,
            }
            for frame in kept
        ]

    def frame_png(self, frame_id: int) -> bytes:
        """A frame as a PNG file."""
        return png_of(self._frames.get(frame_id))

    def judge(self, progress: Progress | None = None) -> dict[str, Any]:
        """Figures of the shipped detector and the one that is shown, as ``cascade evaluate`` gives them.

        On the frames that were clicked on, by the detector that is shown; and on the same frames held out: in
        turn a quarter of them is found by a detector that was taught by the others only.
        """
        with self._lock:
            version, shown = self._shown
            base = self._steps[-1].base
            said, frames = self._said(len(self._clicks))
        found = judged(self._file.cascade, shown, base, self._seed, lessons(said, frames), progress)
        return {"version": version, **found}

    def detector_xml(self) -> bytes:
        """What is shown, as a file that OpenCV loads."""
        return self._file.to_bytes(self._shown[1])

    def coco(self) -> dict[str, Any]:
        """What was clicked on, as annotations of COCO."""
        found: dict[str, Any] = json.loads(self._annotations(self._lessons()))
        return found

    def annotated_zip(self) -> bytes:
        """The annotations, and the frames that were clicked on as PNG files."""
        said = self._lessons()
        return zip_of(said, self._annotations(said))

    def _annotations(self, said: list[Lesson]) -> bytes:
        shown = self._shown[1]
        return annotations_of(said, [self._found(each, shown) for each in said])

    def _found(self, lesson: Lesson, shown: Cascade) -> list[Boxes]:
        """What the shipped detector and the one that is shown find; looked for once."""
        if lesson.free:
            return []
        found = []
        for cascade in (self._file.cascade, shown):
            key = lesson.frame.id, id(cascade)
            kept = self._found_before.get(key)
            if kept is None or kept[0] is not cascade:
                kept = self._found_before[key] = cascade, as_boxes(detect(cascade, lesson.frame.grey))
            found.append(kept[1])
        return found

    def _lessons(self) -> list[Lesson]:
        with self._lock:
            said, frames = self._said(len(self._clicks))
        return lessons(said, frames)

    # The end ----------------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to learn; False if that takes longer."""
        end = None if timeout is None else _now() + timeout
        with self._lock:
            while self._queue or self._working or self._build is not None:
                left = None if end is None else end - _now()
                if left is not None and left <= 0:
                    return False
                self._wake.wait(1.0 if left is None else min(left, 1.0))
            return True

    def close(self) -> None:
        """End its threads; nothing that was taught is lost, if there is a folder for it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            build, self._build = self._build, None
            self._wake.notify_all()
        if build is not None:
            build[1].cancel()
        if self._thread is not threading.current_thread():
            with contextlib.suppress(RuntimeError):
                self._thread.join(30.0)
        if self._folder is not None:
            with self._lock:
                self._save_what_could_not_be(True)
            self._folder.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("this session has been closed. Begin another one.")


def _now() -> float:
    return time.perf_counter()
