"""Fast stages are built in a process of their own; clicks that come meanwhile are learnt once more."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from ocboost._teaching import building
from ocboost._teaching.building import FEWEST_FACES, Build
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.session import TeachingSession
from ocboost.cascade.pictures import as_boxes
from tests.support.face_pictures import face_picture, picture_cascade

PICTURES = (7, 10, 12)


class Pretended:
    """A build that ends when the test says so."""

    begun: list = []  # noqa: RUF012

    def __init__(self, shipped, shown, said, seed, done):
        self.shown, self.said, self.done, self.cancelled = shown, said, done, False
        self.begun.append(self)

    def cancel(self):
        self.cancelled = True

    def end(self):
        """As if the stages were those of the detector that was shown when it began."""
        self.done(self, self.shown, "")


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setattr("ocboost._teaching.builds.Build", Pretended)
    monkeypatch.setattr("ocboost._teaching.builds.FEWEST_MARKED", 1)
    monkeypatch.setattr(Pretended, "begun", [])
    return Pretended.begun


def taught(file, builds, *, late):
    """Three clicks; the build that the first one begins ends before the second, or after the third."""
    session = TeachingSession(file)
    try:
        seen = [(session.see(picture).frame_id, boxes) for picture, boxes in map(face_picture, PICTURES)]
        for k, (number, boxes) in enumerate(seen):
            session.mark(number, tuple(boxes[0]))
            while session.status()["queue"]:
                session.wait(0.05)
            if builds and not builds[0].cancelled and (k == 2 if late else k == 0):
                builds[0].end()
                while session.status()["queue"]:
                    session.wait(0.05)
        return session.detector_xml(), session._steps.last.base.number, session.status()["decision"]
    finally:
        session.close()


def test_the_detector_does_not_depend_on_when_a_build_ends(file, pretended, monkeypatch):
    monkeypatch.setattr("ocboost._teaching.builds.AGAIN", 100.0)
    early = taught(file, pretended, late=False)
    pretended.clear()
    late = taught(file, pretended, late=True)
    assert early[0] == late[0]
    assert early[1] == late[1]


def test_a_click_that_is_taken_back_ends_the_build_that_it_began(file, pretended):
    session = TeachingSession(file)
    picture, boxes = face_picture(PICTURES[0])
    session.mark(session.see(picture).frame_id, tuple(boxes[0]))
    while session.status()["queue"]:
        session.wait(0.05)
    assert session.status()["building"]
    assert not session.wait(0.2)
    session.undo()
    assert pretended[0].cancelled
    assert not session.status()["building"]
    session.close()


def test_a_click_taken_back_while_others_are_learnt_once_more_leaves_the_newest_shown(file, pretended):
    session = TeachingSession(file)
    for picture, boxes in map(face_picture, PICTURES):
        session.mark(session.see(picture).frame_id, tuple(boxes[0]))
        while session.status()["queue"]:
            session.wait(0.05)
    pretended[0].end()
    session.undo()
    while session.status()["queue"]:
        session.wait(0.05)
    assert session._shown[1] is session._steps.last.detector.cascade
    assert not session._steps.replaying
    session.close()


def test_a_build_is_ended_without_the_lock_that_its_thread_may_wait_for(file, pretended):
    session = TeachingSession(file)
    picture, boxes = face_picture(PICTURES[0])
    session.mark(session.see(picture).frame_id, tuple(boxes[0]))
    while session.status()["queue"]:
        session.wait(0.05)
    free = []

    def cancel():
        def ask():
            session.status()
            free.append(True)

        asks = threading.Thread(target=ask, daemon=True)
        asks.start()
        asks.join(5.0)

    pretended[0].cancel = cancel
    session.undo()
    assert free
    session.close()


def test_too_few_faces_are_said_by_the_process():
    picture, boxes = face_picture(PICTURES[0])
    said = [Lesson(Frame(1, picture), as_boxes(boxes), np.empty((0, 4), np.int64), False)]
    ended = threading.Event()
    found = []

    def done(build, stages, why):
        found.append((stages, why))
        ended.set()

    Build(picture_cascade(), picture_cascade(), said, 0, done)
    assert ended.wait(120)
    stages, why = found[0]
    assert stages is None
    assert f"and {FEWEST_FACES} are needed" in why


def many_faces():
    """As few pictures as have faces enough."""
    pictures = [face_picture(seed, 4) for seed in range(FEWEST_FACES // 4)]
    pictures += [face_picture(seed, 0) for seed in range(6)]
    none = np.empty((0, 4), np.int64)
    return [
        Lesson(Frame(k + 1, picture), as_boxes(boxes), none, not boxes)
        for k, (picture, boxes) in enumerate(pictures)
    ]


def test_stages_are_built_by_a_process_wherever_it_was_started(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('this is not of Python')")
    monkeypatch.chdir(tmp_path)
    ended = threading.Event()
    found = []
    Build(
        picture_cascade(), picture_cascade(), many_faces(), 0, lambda *got: found.append(got) or ended.set()
    )
    assert ended.wait(300)
    _, stages, why = found[0]
    assert why == ""
    assert stages.n_stages >= 2


CHILD = """
import os, sys
from ocboost._teaching.building import _end_with
print(os.getpid(), flush=True)
_end_with(int(sys.argv[1]))
"""
PARENT = "import os, subprocess, sys; subprocess.run([*sys.argv[1:], str(os.getpid())])"


@pytest.mark.skipif("sys.platform == 'win32'", reason="needs POSIX signals")
def test_a_build_ends_with_the_process_that_asked_for_it():
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True
    )
    with parent.stdout:
        child = int(parent.stdout.readline())
        os.kill(child, 0)
        parent.kill()
        assert parent.stdout.read() == ""  # when nobody can write to it any more
    parent.wait()


def test_a_build_may_be_ended():
    said = [Lesson(Frame(1, face_picture(0)[0]), as_boxes([]), as_boxes([]), True)]
    build = Build(picture_cascade(), picture_cascade(), said, 0, lambda *_: pytest.fail("it was ended"))
    build.cancel()
    assert build._process.wait(30) is not None


def test_what_became_of_a_build_is_not_said_of_the_click(file, pretended):
    session = TeachingSession(file)
    picture, boxes = face_picture(PICTURES[0])
    session.mark(session.see(picture).frame_id, tuple(boxes[0]))
    while session.status()["queue"]:
        session.wait(0.05)
    decision = session.status()["decision"]
    assert decision["shown"]
    assert session.status()["built"] is None
    pretended[0].done(pretended[0], None, "there are 3 faces in all frames, and 100 are needed")
    assert session.status()["built"].startswith("no faster stages were built: there are 3 faces")
    assert session.status()["decision"] == decision
    session.undo()
    assert session.status()["built"] is None
    session.mark(session.see(picture).frame_id, tuple(boxes[0]))
    while session.status()["queue"]:
        session.wait(0.05)
    pretended[1].end()
    session.wait(60)
    assert session.status()["built"] == "faster stages were built and are shown"
    session.close()


def test_what_was_built_is_there_after_a_restart(file, pretended, tmp_path, monkeypatch):
    monkeypatch.setattr("ocboost._teaching.builds.AGAIN", 100.0)
    session = TeachingSession(file, state=tmp_path / "state")
    for k, (picture, boxes) in enumerate(map(face_picture, PICTURES[:2])):
        session.mark(session.see(picture).frame_id, tuple(boxes[0]))
        while session.status()["queue"]:
            session.wait(0.05)
        if k == 0:
            pretended[0].end()
            while session.status()["queue"]:
                session.wait(0.05)
            assert session.status()["built"].endswith("are shown")
    pretended.clear()
    stages = session._steps.last.base.stages
    shown = session.detector_xml()
    session.close()
    again = TeachingSession(file, state=tmp_path / "state")
    assert again.detector_xml() == shown
    kept = again._steps.last.base
    assert kept.number == 1
    assert kept.stages.leaf.tolist() == stages.leaf.tolist() != again._learner.base.stages.leaf.tolist()
    picture, boxes = face_picture(PICTURES[2])
    again.mark(again.see(picture).frame_id, tuple(boxes[0]))
    while again.status()["queue"]:
        again.wait(0.05)
    assert again._steps.last.detector.base is kept
    assert pretended == []  # it is too early for another
    for _ in range(2):
        again.undo()  # of what was learnt before the restart, too: what is left is learnt anew
    while again.status()["queue"]:
        again.wait(0.05)
    assert again._steps.last.base.number == 0
    assert len(pretended) == 1  # and what was built is built anew
    again.close()


def test_a_build_that_the_end_cut_short_is_begun_again(file, pretended, tmp_path):
    state = tmp_path / "state"
    for begun in (1, 2):
        session = TeachingSession(file, state=state)
        picture, boxes = face_picture(PICTURES[begun])
        session.mark(session.see(picture).frame_id, tuple(boxes[0]))
        while session.status()["queue"]:
            session.wait(0.05)
        session.close()
        assert len(pretended) == begun
        assert pretended[-1].cancelled


def test_nothing_is_learnt_once_more_where_what_was_built_is_refused(file, pretended, monkeypatch):
    monkeypatch.setattr("ocboost._teaching.builds.AGAIN", 100.0)
    session = TeachingSession(file)
    for picture, boxes in map(face_picture, PICTURES):
        session.mark(session.see(picture).frame_id, tuple(boxes[0]))
        while session.status()["queue"]:
            session.wait(0.05)
    steps, shown, status = list(session._steps._steps), session._shown, session.status()
    calls = []

    def refuse(base, *given):
        calls.append(base.number)
        return None, "no"

    monkeypatch.setattr(session._learner, "learnt", refuse)
    pretended[0].end()
    assert session.wait(60)
    assert calls == [1]
    assert session._shown is shown
    assert session._steps._steps[2:] != steps  # the refused one stands between
    assert [step.detector for step in session._steps._steps[-2:]] == [step.detector for step in steps[-2:]]
    assert session.status()["decision"] == status["decision"]
    monkeypatch.undo()
    session.undo()
    assert session.wait(60)
    assert session._shown[1] is steps[-2].detector.cascade
    session.close()


class InThisProcess(Build):
    """A build that is made by a thread."""

    def __init__(self, shipped, shown, said, seed, done):
        self.cancelled = False

        def build():
            stages = building.stages_of(shipped, shown, said, seed)
            if not self.cancelled:
                done(self, stages, "")

        threading.Thread(target=build).start()

    def cancel(self):
        self.cancelled = True


def test_stages_that_were_really_built_are_taught_on(file, monkeypatch):
    monkeypatch.setattr("ocboost._teaching.builds.Build", InThisProcess)
    monkeypatch.setattr("ocboost._teaching.builds.FEWEST_MARKED", 4)
    monkeypatch.setattr("ocboost._teaching.builds.AGAIN", 100.0)
    monkeypatch.setattr(building, "FEWEST_FACES", 10)
    session = TeachingSession(file)
    for seed in (20, 21, 22, 23):
        picture, boxes = face_picture(seed, 4)
        session.mark(session.see(picture).frame_id, tuple(boxes[0]))
        session.free(session.see(face_picture(seed + 10, 0)[0]).frame_id)
    assert session.wait(120)
    assert session.status()["built"] is not None
    before = session.detector_xml()
    base = session._steps.last.base
    picture, boxes = face_picture(24)
    session.mark(session.see(picture).frame_id, tuple(boxes[0]))
    assert session.wait(120)
    assert session._steps.last.base is base
    session.undo()
    assert session.detector_xml() == before
    for _ in range(2):
        session.undo()
    assert session.wait(120)
    assert session._steps.last.base.number == 0
    session.close()
