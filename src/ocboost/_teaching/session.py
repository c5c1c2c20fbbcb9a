"""A session in which somebody teaches a detector by clicking, while it is shown what it finds.

Frames are looked at by whoever calls `see`; what clicks say is learnt in a thread of the session's own. Each
click is learnt in its turn, together with all before it, so that the same clicks give the same detector
however fast they come.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._teaching.annotated import Annotator, png_of
from ocboost._teaching.building import Build
from ocboost._teaching.builds import Builds
from ocboost._teaching.clicks import Box, Click, Kind, Lesson, as_box, lessons
from ocboost._teaching.frames import Frame, FrameStore
from ocboost._teaching.judging import Progress, judged
from ocboost._teaching.keeper import Keeper
from ocboost._teaching.learner import ClickLearner, Detector, GuardDecision, background
from ocboost._teaching.steps import Steps, TeachingTask
from ocboost._teaching.told import Told
from ocboost._teaching.worker import TaughtTask, Worker
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import as_image, detect
from ocboost.cascade.file import CascadeFile
from ocboost.errors import InputError

Which = Literal["shipped", "shown"]

FASTER = "faster stages were built and are shown"
NOT_FASTER = "faster stages were built and are not shown"
NONE_BUILT = "no faster stages were built"

_log = logging.getLogger("ocboost._teaching")


class Seen(NamedTuple):
    """A frame that was looked at."""

    frame_id: int
    boxes: list[Box]
    version: int
    milliseconds: float
    width: int
    height: int


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
        self._annotator = Annotator(file.cascade)
        self._frames = FrameStore()
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._told = Told()
        self._steps = Steps(Detector(file.cascade, self._learner.base, None))
        self._builds = Builds(file.cascade, self._seed, build, self._build_done)
        self._worker = Worker(
            self._wake, self._steps, self._learner, self._frames, self._said, self._learnt, self._idle
        )
        self._decision: GuardDecision | None = None
        self._closed = False
        self._keeper = Keeper(None if state is None else Path(state), file, self._seed)
        try:
            self._take_up()
        except BaseException:
            self._keeper.close()
            raise
        self._worker.thread.start()

    def _take_up(self) -> None:
        """Go on where an earlier session ended."""
        taken = self._keeper.taken_up()
        if taken is None:
            self._save()
            return
        for frame in taken.frames:
            self._frames.add(frame)
            self._frames.label(frame.id)
        self._frames.reserve(taken.next_id)
        self._told = Told(taken.clicks)
        self._decision = None if taken.decision is None else GuardDecision(**taken.decision)
        if taken.lost is not None:
            _log.warning("%s", taken.lost)
            self._decision = GuardDecision(False, taken.lost, 0.0, 0)
        base = self._learner.base if taken.stages is None else self._learner.built(taken.stages)
        self._builds.begun = dict(taken.begun or {})
        kept = None if taken.detector is None else Detector(taken.detector, base, None)
        self._steps.take_up(kept, taken.learnt, self._told.standing())

    # Seeing -----------------------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Compile what learning and detecting need, and prepare the drawn faces: slow, once."""
        # By a learner of its own: the session's may be at work already.
        ClickLearner(self._file.cascade, self._seed).warm_up()
        detect(self._file.cascade, np.zeros((48, 64), np.uint8))

    @property
    def _shown(self) -> tuple[int, Cascade]:
        return self._steps.shown

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

    def boxes(self, frame_id: int, which: Which) -> list[Box]:
        """What the shipped detector, or the one that is shown, finds in a frame."""
        if which not in ("shipped", "shown"):
            raise InputError(f"which must be 'shipped' or 'shown'; got {which!r:.40}.")
        cascade = self._file.cascade if which == "shipped" else self._shown[1]
        return detect(cascade, self._frames.get(frame_id).grey)

    def frames(self) -> list[dict[str, Any]]:
        """Frames that are kept, the newest last."""
        with self._lock:
            counts = self._told.by_frame()
            kept = self._frames.all()
        return [
            {
                "id": frame.id,
                "name": frame.name,
                "time": frame.time,
                "clicks": counts[frame.id],
                "width": frame.width,
                "height": frame.height,
            }
            for frame in kept
        ]

    def frame_png(self, frame_id: int) -> bytes:
        """A frame as a PNG file."""
        return png_of(self._frames.get(frame_id))

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
            click = self._told.add(kind, frame_id, checked)
            self._steps.add(TeachingTask(click.number, tuple(self._frames.varied())))
            self._wake.notify_all()
            self._save(new=False)
            return click

    def undo(self) -> Click | None:
        """Take the last click back that was not taken back yet; what was learnt from it is gone."""
        with self._lock:
            self._require_open()
            click = self._told.take_back()
            if click is None:
                return None
            self._steps.drop_after(click.number - 1)
            ended = self._builds.drop_after(click.number - 1)
            if self._decision is not None and self._decision.click >= click.number:
                self._decision = None
            if not self._told.is_on(click.frame_id):
                self._frames.unlabel(click.frame_id)
            if self._steps.learn_anew(self._told.standing(), tuple(self._frames.varied())):
                self._builds.begun.clear()  # what was built is gone, too
            self._steps.show_latest()
            self._save()
            self._wake.notify_all()
        if ended is not None:
            ended.cancel()  # not under the lock, which its thread may wait for
        return click

    def clicks(self) -> list[Click]:
        """All clicks, those taken back too."""
        with self._lock:
            return self._told.all()

    # Learning ---------------------------------------------------------------------------------------------

    def _said(self, task: TeachingTask) -> tuple[Click | None, list[Lesson]]:
        """The click that a task is about, and what all clicks up to it say."""
        return None if task.base is not None else self._told.at(task.click), self._lessons(task.click)

    def _learnt(self, result: TaughtTask) -> None:
        task, shown = result.task, result.detector is not None
        step = self._steps.learnt(result.detector, result.base, background(result.said, task.background))
        if task.base is None:
            self._decision = GuardDecision(shown, result.why, result.seconds, task.click)
        else:
            self._builds.tell(task.click, FASTER if shown else f"{NOT_FASTER}: {result.why}")
        self._save()
        if task.base is None:
            n = len(self._told.up_to(task.click))
            self._builds.begin_if_due(task.click, n, step.detector.cascade, result.said, task.background)
        self._steps.forget_frames(self._builds.running)

    def _idle(self) -> None:
        self._keeper.again(self._save)

    def _build_done(self, build: Build, stages: Cascade | None, why: str) -> None:
        """Learn what was clicked meanwhile once more, on top of the new stages."""
        with self._lock:
            at = None if self._closed else self._builds.ended(build)
            if at is None:
                return
            if stages is None:
                self._builds.tell(at, f"{NONE_BUILT}: {why}")
            else:
                self._steps.try_base(at, self._learner.built(stages))
            self._wake.notify_all()

    def _save(self, *, new: bool = True) -> None:
        decision = None if self._decision is None else self._decision._asdict()
        begun = self._builds.over
        self._keeper.save(self._told.all(), self._frames, self._steps, decision, begun, new=new)

    def _lessons(self, number: int | None = None) -> list[Lesson]:
        """What the clicks up to a number say."""
        said = self._told.up_to(number)
        return lessons(said, {each.frame_id: self._frames.get(each.frame_id) for each in said})

    # How it stands ----------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """How far it is, as JSON can hold it."""
        with self._lock:
            kinds = self._told.kinds()
            again = None if self.unsaved is None else f"{self.unsaved}; it is tried again"
            wrong = [each for each in (again, self._worker.error) if each is not None]
            return {
                "version": self._shown[0],
                "learning": self._worker.working,
                "building": self._builds.running is not None,
                "built": self._builds.outcome,
                "queue": self._steps.waiting,
                "frames": len(self._frames.all()),
                "clicks": kinds,
                "faces": kinds["mark"],
                "others": kinds["reject"],
                "decision": None if self._decision is None else self._decision._asdict(),
                "shipped_shown": self._shown[1] is self._file.cascade,
                "error": "; ".join(wrong) or None,
            }

    @property
    def unsaved(self) -> str | None:
        """Why not all that was taught is in the folder; None if it is, or if there is no folder."""
        return self._keeper.unsaved

    def judge(self, progress: Progress | None = None) -> dict[str, Any]:
        """Figures of the shipped detector and the one that is shown, as ``cascade evaluate`` gives them.

        On the frames that were clicked on, by the detector that is shown; and on the same frames held out: in
        turn a quarter of them is found by a detector that was taught by the others only.
        """
        with self._lock:
            version, shown = self._shown
            base = self._steps.last.base
            said = self._lessons()
        found = judged(self._file.cascade, shown, base, self._seed, said, progress)
        return {"version": version, **found}

    # To take along ----------------------------------------------------------------------------------------

    def detector_xml(self) -> bytes:
        """What is shown, as a file that OpenCV loads."""
        return self._file.to_bytes(self._shown[1])

    def coco(self) -> dict[str, Any]:
        """What was clicked on, as annotations of COCO."""
        with self._lock:
            said = self._lessons()
        found: dict[str, Any] = json.loads(self._annotator.annotations(said, self._shown[1]))
        return found

    def annotated_zip(self) -> bytes:
        """The annotations, and the frames that were clicked on as PNG files."""
        with self._lock:
            said = self._lessons()
        return self._annotator.zipped(said, self._shown[1])

    # The end ----------------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to learn; False if that takes longer."""
        end = None if timeout is None else _now() + timeout
        with self._lock:
            while self._steps.waiting or self._worker.working or self._builds.running is not None:
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
            build = self._builds.give_up()
            self._worker.stop()
        if build is not None:
            build.cancel()
        self._worker.join()
        with self._lock:
            self._keeper.again(self._save, at_once=True)
            self._keeper.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("this session has been closed. Begin another one.")


def _now() -> float:
    return time.perf_counter()
