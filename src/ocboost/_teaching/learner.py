"""Learns click after click, and decides whether what came of it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn needs it too

from ocboost._teaching.base import Base, base_of, shipped_base
from ocboost._teaching.clicks import Click, Lesson
from ocboost._teaching.examples import Marked, ScannedFrame, Taught, marked_face, sure_boxes, wrong_windows
from ocboost._teaching.fit import Fitted, boxes_of, fit
from ocboost._teaching.frames import Frame
from ocboost._teaching.guard import GuardedFrame, missed, why_not
from ocboost._teaching.remembered import Remembered, n_bytes
from ocboost._teaching.scanned import finds, together, windows_of
from ocboost._teaching.turned import Turned, turned
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import detect
from ocboost.cascade.picture_threshold import MIN_NEIGHBORS
from ocboost.cascade.pictures import Boxes, as_boxes

TURNED_FRAMES = 12  # that are turned as well
BACKGROUND_FRAMES = 24  # that a click is learnt with, besides those that were clicked on
LOOKED_AT_AGAIN = 8  # of these, where stages are relaxed further than for their windows
MIXED = 2654435761  # Knuth's multiplicative hashing
WINDOW_BYTES = 192 << 20  # of the windows of frames that are kept: some 700 of 400 × 300
TURNED_BYTES = 64 << 20  # of those of turned frames
FACE_BYTES = 64 << 20  # of those of marked faces
FINDS = 500  # frames for which it is kept what a detector of an earlier session finds
UNSEEN = (
    "no detector of this kind can find the face that was marked: it has too little contrast, is too small, "
    "or lies too close to the edge"
)
GOOD = "it does what was clicked, and is no worse on what is known"


class GuardDecision(NamedTuple):
    """Whether what a click taught is shown, and why."""

    shown: bool
    why: str
    seconds: float
    click: int


class Detector(NamedTuple):
    """A detector, and how it was made; one that was taken up, or shipped, lacks what was fitted."""

    cascade: Cascade
    base: Base
    fitted: Fitted | None


class ClickLearner:
    """Learns from the clicks so far; one thread at a time."""

    def __init__(self, shipped: Cascade, seed: int) -> None:
        self.shipped = shipped
        self._seed = seed
        self.base: Base = shipped_base(shipped)
        self._seen = Remembered[tuple[int, int], ScannedFrame](WINDOW_BYTES, _scanned_bytes)
        self._kept_boxes = Remembered[int, tuple[Cascade, Boxes]](FINDS, lambda _: 1)
        self._turned = Remembered[tuple[int, int], tuple[Turned, ...]](TURNED_BYTES, n_bytes)
        self._marked = Remembered[tuple[int, int, tuple[int, ...]], Marked](FACE_BYTES, n_bytes)
        self._n_built = 0

    def warm_up(self) -> None:
        """Compile everything, on a frame with nothing in it but noise and a drawn face."""
        rng = np.random.default_rng(0)
        grey = rng.integers(0, 255, (120, 160)).astype(np.uint8)
        drawn = self.base.drawn[0]
        grey[40 : 40 + drawn.shape[0], 60 : 60 + drawn.shape[1]] = drawn
        frame = Frame(-1, grey)
        box = np.array([[60, 40, drawn.shape[1], drawn.shape[0]]], np.int64)
        lesson = Lesson(frame, box, np.empty((0, 4), np.int64), False)
        self.candidate(self.base, [lesson], [Frame(-2, grey)])

    def built(self, stages: Cascade) -> Base:
        """What was built, to learn on top of; each has a number of its own, by which windows are kept."""
        self._n_built += 1
        return base_of(self._n_built, stages, self.base.drawn)

    def seen(self, base: Base, frame: Frame) -> ScannedFrame:
        """A frame's windows; looked at once."""
        key = base.number, frame.id
        found = self._seen.get(key)
        if found is None or found.frame is not frame:
            shipped = self._seen.get((0, frame.id))
            found = ScannedFrame(
                frame,
                windows_of(base, frame),
                finds(self.shipped, frame) if shipped is None else shipped.shipped,
            )
            self._seen.put(key, found)
        return found

    def knows(self, base: Base, frame: Frame) -> bool:
        """Whether a frame's windows were looked at."""
        return (base.number, frame.id) in self._seen

    def turned(self, base: Base, frames: Sequence[Frame]) -> dict[int, tuple[Turned, ...]]:
        """Some of these frames, turned."""
        found = {}
        for frame in to_turn(frames):
            key = base.number, frame.id
            own = self._turned.get(key)
            if own is None:
                own = turned(base, self.shipped, frame)
                self._turned.put(key, own)
            found[frame.id] = own
        return found

    def _on_side(
        self, base: Base, taught: Sequence[Taught], others: Sequence[ScannedFrame]
    ) -> dict[int, tuple[Turned, ...]]:
        return self.turned(base, [*(each.lesson.frame for each in taught), *(e.frame for e in others)])

    def _face(self, base: Base, frame: Frame, box: tuple[int, ...]) -> Marked:
        key = base.number, frame.id, box
        found = self._marked.get(key)
        if found is None:
            found = marked_face(base, frame, np.array([box], np.int64))
            self._marked.put(key, found)
        return found

    def taught(self, base: Base, lesson: Lesson) -> Taught:
        """A frame that was clicked on, with its windows."""
        own = self.seen(base, lesson.frame)
        marked = [self._face(base, lesson.frame, tuple(box)) for box in lesson.faces.tolist()]
        visible = [len(each.windows.rects) > MIN_NEIGHBORS for each in marked]
        lesson = lesson._replace(faces=lesson.faces[np.array(visible, np.bool_)])
        marked = [each for each, seen in zip(marked, visible, strict=True) if seen]
        refused = [self._face(base, lesson.frame, tuple(box)) for box in lesson.wrong.tolist()]
        # Also windows there that do not pass: they will where stages are relaxed for a face.
        windows = together([own.windows, *(each.windows for each in [*marked, *refused])])
        return Taught(lesson, windows, own.shipped, marked)

    def candidate(
        self, base: Base, said: Sequence[Lesson], frames: Sequence[Frame]
    ) -> tuple[Fitted, list[Taught], list[ScannedFrame]]:
        """The detector that all lessons give."""
        taught = [self.taught(base, lesson) for lesson in said]
        others = [self.seen(base, frame) for frame in background(said, frames)]
        on_side = self._on_side(base, taught, others)
        return fit(base, taught, others, self._seed, turned=on_side), taught, others

    def found(self, detector: Detector, frame: Frame, taught: Taught | None = None) -> Boxes:
        """What a detector finds in a frame, by the windows that were looked at before."""
        if detector.cascade is self.shipped:
            return self.seen(self.base, frame).shipped.boxes
        if detector.fitted is None:  # of an earlier session
            kept = self._kept_boxes.get(frame.id)
            if kept is None or kept[0] is not detector.cascade:
                kept = detector.cascade, as_boxes(detect(detector.cascade, frame.grey))
                self._kept_boxes.put(frame.id, kept)
            return kept[1]
        if taught is None:
            return boxes_of(detector.fitted, self.seen(detector.base, frame).windows, frame)
        return boxes_of(detector.fitted, self.taught(detector.base, taught.lesson).windows, frame)

    def learnt(
        self,
        base: Base,
        clicked: Click | None,
        said: Sequence[Lesson],
        frames: Sequence[Frame],
        before: Detector,
    ) -> tuple[Detector | None, str]:
        """The detector of all lessons, None if it is not to be shown, and why. ``clicked`` came last."""
        with threadpool_limits(1):  # small products, which several threads would only make slower
            taught = [self.taught(base, lesson) for lesson in said]
            if clicked is not None and clicked.kind == "mark":
                own = next(each for each in taught if each.lesson.frame.id == clicked.frame_id)
                if missed(clicked.boxes, own.lesson.faces):
                    return None, UNSEEN
            others = [self.seen(base, frame) for frame in background(said, frames)]
            on_side = self._on_side(base, taught, others)
            why = None
            for careful in (False, True):
                last = None if clicked is None else clicked.frame_id
                fitted = fit(base, taught, others, self._seed, turned=on_side, last=last, careful=careful)
                after = Detector(fitted.cascade, base, fitted)
                why = self._why_not(before, after, fitted, taught, others, clicked)
                if why is None:
                    return after, GOOD
            assert why is not None
            return None, why

    def _why_not(
        self,
        before: Detector,
        after: Detector,
        fitted: Fitted,
        taught: Sequence[Taught],
        others: Sequence[ScannedFrame],
        clicked: Click | None,
    ) -> str | None:
        wrong = wrong_windows(after.base, taught)
        judged = []
        for each in taught:
            frame = each.lesson.frame
            if clicked is not None and frame.id == clicked.frame_id:  # as OpenCV will look at it
                new = as_boxes(detect(after.cascade, frame.grey))
            else:
                new = self.found(after, frame, each)
            sure = sure_boxes(each.windows, each.shipped, each.lesson, wrong)
            old = self.found(before, frame, each)
            unseen = fitted.unseen.get(frame.id)
            judged.append(GuardedFrame(each.lesson, each.shipped.boxes, sure, old, new, unseen))
        rest = []
        for place, seen in enumerate(others):
            sure = sure_boxes(seen.windows, seen.shipped, None, wrong)
            old, new = (self.found(each, seen.frame) for each in (before, after))
            if fitted.further and place < LOOKED_AT_AGAIN:  # the windows do not tell all then
                new = as_boxes(detect(after.cascade, seen.frame.grey))
            unseen = fitted.unseen.get(seen.frame.id)
            rest.append(GuardedFrame(None, seen.shipped.boxes, sure, old, new, unseen))
        return why_not(judged, rest, clicked)


def _scanned_bytes(seen: ScannedFrame) -> int:
    return seen.frame.grey.nbytes + n_bytes(seen.windows) + n_bytes(seen.shipped)


def background(said: Sequence[Lesson], frames: Sequence[Frame]) -> list[Frame]:
    """Frames to learn with besides those that were clicked on: mostly the same as for the click before."""
    labelled = {lesson.frame.id for lesson in said}
    free = [frame for frame in frames if frame.id not in labelled]
    return _mixed(free)[:BACKGROUND_FRAMES]


def to_turn(frames: Sequence[Frame]) -> list[Frame]:
    """Those of these frames that are turned."""
    each_once = {frame.id: frame for frame in frames}
    return _mixed(list(each_once.values()))[:TURNED_FRAMES]


def _mixed(frames: Sequence[Frame]) -> list[Frame]:
    """In an order that has nothing to do with time, and in which few new frames change the first ones."""
    return sorted(frames, key=lambda frame: (frame.id * MIXED % (1 << 32), frame.id))
