"""Short, fast stages built anew in the background, from all frames: in a process of its own.

The process has a low priority and one thread, gets the frames through a pipe, and writes nothing to the disk.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._teaching.base import shipped_base
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.examples import maybe_faces
from ocboost._teaching.frames import Frame
from ocboost._teaching.partly import picture_of
from ocboost._teaching.scanned import finds, windows_of
from ocboost.cascade.adapt_pictures import PictureAdapter
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import detect
from ocboost.cascade.pictures import as_boxes
from ocboost.errors import InputError, OcboostError

ASKED, BUILT = "frames to build stages from", "stages built while teaching"
FEWEST_MARKED = 20  # faces that were marked, before anything is built
FEWEST_FACES = 100  # with those that are found
AGAIN = 1.6  # times as many clicks before it is done again
PARENT_SECONDS = 1.0  # after which it is looked again whether it is still there
LOWER = 15  # by how much the process gives way to others
_THREADS = ("OCBOOST_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Build:
    """A build in another process; ``done`` is called with the stages, or with why there are none."""

    def __init__(
        self,
        shipped: Cascade,
        shown: Cascade,
        said: Sequence[Lesson],
        seed: int,
        done: Callable[[Build, Cascade | None, str], None],
    ) -> None:
        frames = [
            {
                "grey": lesson.frame.grey,
                "number": lesson.frame.id,
                "faces": lesson.faces,
                "wrong": lesson.wrong,
                "free": lesson.free,
            }
            for lesson in said
        ]
        tree = {"shipped": shipped.tree(), "shown": shown.tree(), "seed": seed, "frames": frames}
        self._data = to_bytes(ASKED, tree)
        self._done = done
        self._cancelled = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ocboost._teaching.building", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        )
        self._thread = threading.Thread(target=self._wait, name="ocboost build", daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        stages, why = None, "the build was stopped"
        try:
            out, _ = self._process.communicate(self._data)
            self._data = b""
            tree = from_bytes(out, BUILT)
            why = str(tree["why"])
            if not why:
                stages = read(tree["stages"], "the build", Cascade.from_tree)
        except (OSError, ValueError, OcboostError) as error:
            why = f"the build ended early ({error!s:.80})"
        if not self._cancelled:
            self._done(self, stages, why)

    def cancel(self) -> None:
        """End it; ``done`` is not called any more."""
        self._cancelled = True
        with contextlib.suppress(OSError):
            self._process.kill()
        if self._thread is not threading.current_thread():
            self._thread.join(10.0)


def _environment() -> dict[str, str]:
    """One thread, and modules from where this process has them, not from the folder it was started in."""
    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    return {**os.environ, **dict.fromkeys(_THREADS, "1"), "PYTHONPATH": path}


def _end_with(parent: int) -> None:
    """End with the process that asked, also where it was killed."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


def stages_of(shipped: Cascade, shown: Cascade, said: Sequence[Lesson], seed: int) -> Cascade:
    """Stages from frames: what was marked and what is found are faces; what may be one is ignored."""
    adapter = PictureAdapter(shipped, seed=seed)
    base = shipped_base(shipped)
    for lesson in said:
        found = as_boxes(detect(shown, lesson.frame.grey))
        maybe = maybe_faces(windows_of(base, lesson.frame), finds(shipped, lesson.frame))
        picture = picture_of(lesson, found, maybe)
        if adapter.known(picture) is None:
            adapter.add(picture)
    if adapter.n_faces < FEWEST_FACES:
        raise InputError(f"there are {adapter.n_faces} faces in all frames, and {FEWEST_FACES} are needed")
    adapter.build()
    return adapter.adapted()


def _lesson(fields: Fields) -> Lesson:
    frame = Frame(fields.count("number"), fields.array("grey", np.uint8, (None, None)))
    faces, wrong = (fields.array(key, np.int64, (None, 4)) for key in ("faces", "wrong"))
    return Lesson(frame, faces, wrong, fields.flag("free"))


def _asked(fields: Fields) -> tuple[Cascade, Cascade, list[Lesson], int]:
    shipped, shown = (fields.read(key, Cascade.from_tree) for key in ("shipped", "shown"))
    return shipped, shown, fields.read_all("frames", _lesson), fields.count("seed")


def main() -> None:
    """Build from what comes in, and write what came of it: what `Build` starts."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(LOWER)
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    data = sys.stdin.buffer.read()
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may be printed there
    tree: Tree
    try:
        stages = stages_of(*read(from_bytes(data, ASKED), "the frames", _asked))
        tree = {"stages": stages.tree(), "why": ""}
    except InputError as error:
        tree = {"stages": {}, "why": str(error)}
    out.write(to_bytes(BUILT, tree))
    out.flush()


if __name__ == "__main__":
    main()
