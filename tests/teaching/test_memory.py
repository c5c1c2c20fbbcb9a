"""However long somebody teaches, memory is bounded, and clicks can still be taken back."""

import gc
import weakref

import cv2
import numpy as np

from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.learner import ClickLearner, Detector
from ocboost._teaching.remembered import Remembered, n_bytes
from ocboost._teaching.source import FrameSource
from ocboost.cascade.pictures import as_boxes
from tests.support.face_pictures import face_picture, picture_cascade
from tests.support.taught import MISSED, settle, show, wrong_box


def test_what_was_used_longest_ago_leaves_first():
    kept = Remembered[str, bytes](6, len)
    for key in "abc":
        kept.put(key, b"xx")
    assert kept.get("a") == b"xx"
    kept.put("d", b"xx")
    assert "b" not in kept
    kept.put("c", b"x" * 5)  # in place of the one before
    assert [key for key in "abcd" if key in kept] == ["c"]
    kept.put("e", b"x" * 100)
    assert len(kept) == 1


def test_bytes_of_nested_arrays():
    lesson = Lesson(Frame(1, np.zeros((9, 9), np.uint8)), as_boxes([(1, 2, 3, 4)]), as_boxes([]), False)
    assert n_bytes((lesson, (np.zeros(3), 1.0))) == 4 * 8 + 3 * 8


def test_windows_and_finds_of_many_frames_are_forgotten(monkeypatch):
    monkeypatch.setattr("ocboost._teaching.learner.WINDOW_BYTES", 400_000)
    monkeypatch.setattr("ocboost._teaching.learner.FINDS", 3)
    learner = ClickLearner(picture_cascade(), 0)
    frames = [Frame(number, face_picture(number)[0]) for number in range(1, 9)]
    sizes = [n_bytes(tuple(learner.seen(learner.base, frame))) for frame in frames]
    assert sum(sizes) > 400_000
    assert 0 < len(learner._seen) < 8
    assert learner.knows(learner.base, frames[-1])
    earlier = learner.shipped.with_thresholds(learner.shipped.stage_threshold)
    detector = Detector(earlier, learner.base, None)
    found = [learner.found(detector, frame).tolist() for frame in frames]
    assert len(learner._kept_boxes) == 3
    assert [learner.found(detector, frame).tolist() for frame in frames] == found


def test_each_build_has_windows_of_its_own():
    learner = ClickLearner(picture_cascade(), 0)
    frame = Frame(1, face_picture(MISSED)[0])
    one = learner.built(learner.base.stages)
    lower = learner.base.stages.stage_threshold - 1.0
    other = learner.built(learner.base.stages.with_thresholds(lower))
    rects = [learner.seen(base, frame).windows.rects for base in (one, other)]
    assert not np.array_equal(*rects)


def test_frames_that_nobody_clicked_in_are_not_kept_for_the_sake_of_old_clicks(begin, monkeypatch):
    monkeypatch.setattr("ocboost._teaching.frames.NEWEST_BYTES", 1)
    monkeypatch.setattr("ocboost._teaching.frames.FEWEST_NEWEST", 1)
    monkeypatch.setattr("ocboost._teaching.frames.VARIED", 1)
    monkeypatch.setattr("ocboost._teaching.learner.WINDOW_BYTES", 1)
    session = begin(build=False)
    rng = np.random.default_rng(0)
    seen, faces = show(session, MISSED)
    kept = []
    for face in faces:
        other = session.see(rng.integers(0, 255, (60, 80)).astype(np.uint8))
        kept.append(weakref.ref(session._frames.get(other.frame_id)))
        session.mark(seen.frame_id, face)
        settle(session)
    for _ in range(4):
        session.see(rng.integers(0, 255, (60, 80)).astype(np.uint8))
    gc.collect()
    assert [each() for each in kept] == [None, None]


def test_a_detector_after_a_click_keeps_little_of_its_own(begin):
    session = begin(build=False)
    seen, faces = show(session, MISSED)
    kept = []
    for click, box in ((session.mark, faces[0]), (session.reject, wrong_box(seen, faces))):
        click(seen.frame_id, box)
        assert settle(session)["shown"]
        kept.append(session._shown[1])
    own = [
        name
        for name, value in vars(kept[1]).items()
        if isinstance(value, np.ndarray) and value is not vars(kept[0])[name]
    ]
    assert sorted(own) == ["leaf", "stage_threshold"]


def test_what_was_found_is_remembered_for_one_detector_and_the_frames_that_are_taught(begin):
    session = begin(build=False)
    for seed in (MISSED, MISSED + 3):
        seen, faces = show(session, seed)
        session.mark(seen.frame_id, faces[0])
        settle(session)
        session.annotated_zip()
    assert len(session._annotator._found) == 2 * 2
    session.undo()
    settle(session)
    before = session.coco()
    assert len(session._annotator._found) == 2
    assert session.coco() == before


def test_what_a_video_says_each_time_it_is_read_is_noted_once(tmp_path, monkeypatch):
    path = tmp_path / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10.0, (64, 48))
    for _ in range(3):
        writer.write(np.zeros((48, 64, 3), np.uint8))
    writer.release()
    source = FrameSource(path)
    source._images.video._claimed = 5
    for _ in range(3):
        assert [source.frame(n) is None for n in (0, 3)] == [False, True]
        source._kept.clear()
    assert len(source.notes) == 1
