"""Sessions that are taught on small pictures, and one that learns nothing, for tests of what is around it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from ocboost._teaching.clicks import Click
from ocboost._teaching.session import Seen
from ocboost.cascade.pictures import as_boxes, overlaps
from ocboost.errors import InputError
from tests.support.face_pictures import face_picture

MISSED = 7  # of this picture the first face is missed
ALSO_MISSED = 10  # of this one the second
WRONG = 0  # here something is found where no face is
SECONDS = 120


def show(session, seed):
    """Show a picture to a session; what it saw, and where the faces are."""
    picture, boxes = face_picture(seed)
    return session.see(picture, name=f"picture {seed}", time=float(seed)), [tuple(box) for box in boxes]


def has(boxes, box):
    """Whether one of the boxes is about this one."""
    return bool((overlaps(as_boxes([box]), as_boxes(boxes)) >= 0.5).any())


def wrong_box(seen, faces):
    """A box that shows no face."""
    return next(box for box in seen.boxes if not has(faces, box))


def settle(session):
    """Wait until all is learnt; what the guard decided last."""
    assert session.wait(SECONDS)
    return session.status()["decision"]


@dataclass
class IdleSession:
    """Keeps what it is told; every frame has one box."""

    told: list[Click] = field(default_factory=list)
    seen: list[tuple[str, float | None, int]] = field(default_factory=list)  # name, time, the first pixel
    threads: set[str] = field(default_factory=set)  # that frames were looked at in
    may_judge: threading.Event = field(default_factory=threading.Event)
    judged: int = 0

    def see(self, grey, *, name="", time=None, keep=True):
        self.threads.add(threading.current_thread().name)
        assert grey.flags.writeable
        self.seen.append((name, time, int(grey[0, 0])))
        return Seen(len(self.seen), [(1, 2, 30, 30)], 0, 1.5, grey.shape[1], grey.shape[0])

    def _click(self, kind, frame_id, box=None):
        if not 1 <= frame_id <= len(self.seen):
            raise InputError(f"frame {frame_id} is no longer kept. Click in a newer one.")
        self.told.append(Click(len(self.told) + 1, kind, frame_id, box))
        return self.told[-1]

    def reject(self, frame_id, box):
        return self._click("reject", frame_id, box)

    def mark(self, frame_id, box):
        return self._click("mark", frame_id, box)

    def free(self, frame_id):
        return self._click("free", frame_id)

    def undo(self):
        for n in range(len(self.told) - 1, -1, -1):
            if not self.told[n].undone:
                self.told[n] = replace(self.told[n], undone=True)
                return self.told[n]
        return None

    def clicks(self):
        return list(self.told)

    def status(self):
        return {"version": 0, "learning": False, "clicks": {"reject": len(self.told)}}

    def frames(self):
        clicked = {click.frame_id for click in self.told}
        return [
            {"id": n, "name": name, "time": time, "clicks": int(n in clicked), "width": 32, "height": 24}
            for n, (name, time, _) in enumerate(self.seen, 1)
        ]

    def frame_png(self, frame_id):
        return b"\x89PNG of " + str(frame_id).encode()

    def boxes(self, frame_id, which):
        return [(1, 2, 30, 30)] if which == "shipped" else []

    def judge(self, progress=None):
        self.judged += 1
        progress("frame", 1, 2)
        self.may_judge.wait(10)
        return {"version": 0, "held_out": None, "all": {"recall": float("nan")}}

    def detector_xml(self):
        return b"<opencv_storage/>"

    def annotated_zip(self):
        return b"PK"
