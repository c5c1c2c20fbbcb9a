"""A session in which somebody teaches a detector by clicking, while it is shown what it finds.

Frames are looked at by whoever calls `see`; what clicks say is learnt in a thread of the session's own. Each
click is learnt in its turn, together with all before it, so that the same clicks give the same detector
however fast they come. After every click the detector is kept, so that a click that is taken back leaves
nothing behind.
"""

from __future__ import annotations

import contextlib
import io
import threading
import time
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._teaching.clicks import Box, Click, Kind, lessons
from ocboost._teaching.frames import Frame, FrameStore
from ocboost._teaching.learner import Decision, Learner, Step
from ocboost.cascade.annotations import write_coco
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import as_image, detect
from ocboost.cascade.file import CascadeFile
from ocboost.errors import InputError, MissingExtraError

Which = Literal["shipped", "shown"]


class Seen(NamedTuple):
    """A frame that was looked at."""

    frame_id: int
    boxes: list[Box]
    version: int
    milliseconds: float
    width: int
    height: int


class Task(NamedTuple):
    """A click to learn, with the frames that were there when it came."""

    click: Click
    background: tuple[Frame, ...]


class TeachingSession:
    """Shows frames to a detector and teaches it by clicks. Any thread may call any method.

    Parameters
    ----------
    file : CascadeFile
        The shipped detector, of stumps.
    state : path, optional
        A folder in which all that was taught is kept, and taken up again. Nothing is written without it.
    seed : int, default 0
    """

    def __init__(self, file: CascadeFile, *, state: Path | None = None, seed: int = 0) -> None:
        self._file = file
        self._learner = Learner(file.cascade, seed)
        self._frames = FrameStore()
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._clicks: list[Click] = []
        self._queue: list[Task] = []
        self._steps: list[Step] = [Step(None, file.cascade, 0, None)]  # after each click that is not undone
        self._shown: tuple[int, Cascade] = (0, file.cascade)
        self._version = 0
        self._working = False
        self._decision: Decision | None = None
        self._error: str | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="ocboost teaching", daemon=True)
        self._thread.start()

    # Seeing -----------------------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Compile what learning and detecting need, and prepare the drawn faces: slow, once."""
        self._learner.warm_up()
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
            checked = None if box is None else self._as_box(kind, frame, box)
            self._frames.label(frame_id)
            click = Click(len(self._clicks) + 1, kind, frame_id, checked)
            self._clicks.append(click)
            self._queue.append(Task(click, tuple(self._frames.varied())))
            self._wake.notify_all()
            return click

    def _as_box(self, kind: Kind, frame: Frame, box: Box) -> Box:
        window = self._file.cascade
        try:
            x, y, w, h = (round(float(value)) for value in box)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"box must be four numbers: x, y, width and height in pixels; got {box!r:.80}. Draw it again."
            ) from None
        if w < 1 or h < 1 or x < 0 or y < 0 or x + w > frame.width or y + h > frame.height:
            raise InputError(
                f"box must lie inside the frame of {frame.width} × {frame.height} pixels; got {x}, {y}, {w}, {h}. "
                "Draw it inside."
            )
        if kind == "mark" and (w * h) ** 0.5 < 0.95 * window.width:
            raise InputError(
                f"box must be at least {window.width} × {window.height} pixels, the detector's window; got "
                f"{w} × {h}. Smaller faces cannot be found: come closer, or take larger frames."
            )
        return x, y, w, h

    def undo(self) -> Click | None:
        """Take the last click back that was not taken back yet; what was learnt from it is gone."""
        with self._lock:
            self._require_open()
            for place in range(len(self._clicks) - 1, -1, -1):
                if not self._clicks[place].undone:
                    break
            else:
                return None
            click = replace(self._clicks[place], undone=True)
            self._clicks[place] = click
            self._queue = [task for task in self._queue if task.click.number != click.number]
            self._steps = [step for step in self._steps if step.click != click.number]
            self._show(self._steps[-1])
            if all(each.undone or each.frame_id != click.frame_id for each in self._clicks):
                self._frames.unlabel(click.frame_id)
            self._wake.notify_all()
            return click

    def clicks(self) -> list[Click]:
        """All clicks, those taken back too."""
        with self._lock:
            return list(self._clicks)

    # Learning ---------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._lock:
                self._working = False
                self._wake.notify_all()
                while not self._queue and not self._closed:
                    self._wake.wait(1.0)
                if self._closed:
                    return
                task = self._queue[0]
                self._working = True
                before = self._steps[-1]
                said = [each for each in self._clicks if not each.undone and each.number <= task.click.number]
                frames = {each.frame_id: self._frames.get(each.frame_id) for each in said}
            begin = _now()
            try:
                step, decision = self._learner.step(
                    task.click.number, lessons(said, frames), task.background, before
                )
            except Exception as error:
                traceback.print_exc()
                step = Step(task.click.number, before.cascade, before.base, before.fitted)
                decision = Decision(False, f"it could not be learnt: {error}", 0.0, task.click.number)
                self._error = str(error)
            with self._lock:
                if not self._queue or self._queue[0] is not task:
                    continue  # taken back meanwhile
                self._queue.pop(0)
                self._steps.append(step)
                self._decision = decision._replace(seconds=_now() - begin)
                self._show(step)

    def _show(self, step: Step) -> None:
        if step.cascade is not self._shown[1]:
            self._version += 1
            self._shown = self._version, step.cascade

    # What there is ----------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """How far it is, as JSON can hold it."""
        with self._lock:
            known = [each for each in self._clicks if not each.undone]
            return {
                "version": self._shown[0],
                "learning": self._working,
                "building": False,
                "queue": len(self._queue),
                "frames": len(self._frames.all()),
                "clicks": {
                    kind: sum(each.kind == kind for each in known) for kind in ("reject", "mark", "free")
                },
                "faces": sum(each.kind == "mark" for each in known),
                "others": sum(each.kind == "reject" for each in known),
                "decision": None if self._decision is None else self._decision._asdict(),
                "shipped_shown": self._shown[1] is self._file.cascade,
                "error": self._error,
            }

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

    def judge(self, progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
        """Figures of the shipped detector and the one that is shown, as ``cascade evaluate`` gives them."""
        raise InputError("nothing is judged yet.")

    def detector_xml(self) -> bytes:
        """What is shown, as a file that OpenCV loads."""
        return self._file.to_bytes(self._shown[1])

    def coco(self) -> dict[str, Any]:
        """What was clicked on, as annotations of COCO."""
        import json

        found: dict[str, Any] = json.loads(self._annotations())
        return found

    def _annotations(self) -> bytes:
        with self._lock:
            said = [each for each in self._clicks if not each.undone]
            frames = {each.frame_id: self._frames.get(each.frame_id) for each in said}
        return write_coco(
            (each.frame.file_name, each.frame.width, each.frame.height, each.faces, [])
            for each in lessons(said, frames)
        )

    def annotated_zip(self) -> bytes:
        """The annotations, and the frames that were clicked on as PNG files."""
        with self._lock:
            said = [each for each in self._clicks if not each.undone]
            frames = {each.frame_id: self._frames.get(each.frame_id) for each in said}
            annotations = self._annotations()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("annotations.json", annotations)
            for number in sorted(frames):
                archive.writestr(frames[number].file_name, png_of(frames[number]))
        return out.getvalue()

    # The end ----------------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to learn; False if that takes longer."""
        end = None if timeout is None else _now() + timeout
        with self._lock:
            while self._queue or self._working:
                left = None if end is None else end - _now()
                if left is not None and left <= 0:
                    return False
                self._wake.wait(1.0 if left is None else min(left, 1.0))
            return True

    def close(self) -> None:
        """End its threads."""
        with self._lock:
            self._closed = True
            self._wake.notify_all()
        if self._thread is not threading.current_thread():
            with contextlib.suppress(RuntimeError):
                self._thread.join(30.0)

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("this session has been closed. Begin another one.")


def png_of(frame: Frame) -> bytes:
    """A frame as a PNG file."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "vision", "Writing pictures") from error
    out = io.BytesIO()
    Image.fromarray(frame.grey).save(out, "PNG", compress_level=1)
    return out.getvalue()


def _now() -> float:
    return time.perf_counter()
