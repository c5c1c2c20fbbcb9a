"""Clicks are learnt, taken back, kept in a folder, and refused where they make no sense."""

import errno
import io
import threading
import zipfile

import numpy as np
import pytest

from ocboost._teaching import saved
from ocboost._teaching.session import TeachingSession
from ocboost.cascade import read_annotations, read_cascade
from ocboost.errors import InputError
from tests.support.cascades import as_xml
from tests.support.face_pictures import face_picture
from tests.support.taught import ALSO_MISSED, MISSED, WRONG, has, settle, show, wrong_box
from tests.support.toy_cascade import toy_cascade


def test_a_false_box_that_is_clicked_stays_away_and_nothing_else_is_needed(begin):
    session = begin()
    seen, faces = show(session, WRONG)
    box = wrong_box(seen, faces)
    click = session.reject(seen.frame_id, box)
    assert (click.kind, click.number, click.box, click.undone) == ("reject", 1, box, False)
    decision = settle(session)
    assert decision["shown"], decision
    assert not has(session.boxes(seen.frame_id, "shown"), box)
    assert has(session.boxes(seen.frame_id, "shipped"), box)
    again, _ = show(session, WRONG)
    assert again.version == 1
    assert not has(again.boxes, box)


def test_a_missed_face_that_is_drawn_is_found_from_then_on(begin):
    session = begin()
    seen, faces = show(session, MISSED)
    assert not has(seen.boxes, faces[0])
    session.mark(seen.frame_id, faces[0])
    assert settle(session)["shown"]
    assert has(show(session, MISSED)[0].boxes, faces[0])


def test_a_frame_without_a_face_is_free_of_boxes_afterwards(begin):
    session = begin()
    picture, _ = face_picture(8, 0)
    seen = session.see(picture)
    assert seen.boxes
    session.free(seen.frame_id)
    decision = settle(session)
    assert decision["shown"] == (session.see(picture).boxes == [])


def test_what_is_taken_back_leaves_nothing_behind(begin, file):
    session = begin()
    seen, faces = show(session, MISSED)
    session.mark(seen.frame_id, faces[0])
    settle(session)
    one = session.detector_xml()
    assert one != file.to_bytes()
    session.mark(seen.frame_id, faces[1])
    settle(session)
    assert session.undo().number == 2
    settle(session)
    assert session.detector_xml() == one
    assert session.undo().undone
    settle(session)
    assert session.detector_xml() == file.to_bytes()
    assert session.undo() is None
    assert [click.undone for click in session.clicks()] == [True, True]
    assert session.status()["shipped_shown"]


def test_a_click_that_is_taken_back_at_once_is_never_learnt(begin, file):
    session = begin()
    seen, faces = show(session, MISSED)
    session.mark(seen.frame_id, faces[0])
    session.undo()
    settle(session)
    assert session.detector_xml() == file.to_bytes()


def test_the_same_clicks_give_the_same_detector_however_fast_they_come(begin):
    made = []
    for patient in (True, False):
        session = begin()
        frames = [show(session, seed) for seed in (MISSED, WRONG)]
        (missed, faces), (wrong, others) = frames
        session.mark(missed.frame_id, faces[0])
        if patient:
            settle(session)
        session.reject(wrong.frame_id, wrong_box(wrong, others))
        session.mark(missed.frame_id, faces[1])
        settle(session)
        made.append(session.detector_xml())
    assert made[0] == made[1]


def test_what_is_shown_is_what_opencv_finds(begin, tmp_path):
    cv2 = pytest.importorskip("cv2")
    session = begin()
    seen, faces = show(session, MISSED)
    session.mark(seen.frame_id, faces[0])
    settle(session)
    path = tmp_path / "adapted.xml"
    path.write_bytes(session.detector_xml())
    picture, _ = face_picture(MISSED)
    found = cv2.CascadeClassifier(str(path)).detectMultiScale(picture)
    assert sorted(tuple(map(int, box)) for box in found) == sorted(show(session, MISSED)[0].boxes)


def test_annotations_are_those_that_adapt_reads(begin, tmp_path):
    session = begin()
    seen, faces = show(session, MISSED)
    session.mark(seen.frame_id, faces[0])
    with zipfile.ZipFile(io.BytesIO(session.annotated_zip())) as archive:
        archive.extractall(tmp_path / "taught")
    found = list(read_annotations(tmp_path / "taught" / "annotations.json"))
    assert [picture.boxes.tolist() for picture in found] == [[list(faces[0])]]
    np.testing.assert_array_equal(found[0].grey, face_picture(MISSED)[0])
    assert [image["file_name"] for image in session.coco()["images"]] == ["frame-000001.png"]
    assert session.frame_png(seen.frame_id).startswith(b"\x89PNG")
    assert session.frames()[0] == {
        "id": 1, "name": f"picture {MISSED}", "time": float(MISSED), "clicks": 1, "width": 190, "height": 130
    }  # fmt: skip


def test_a_session_goes_on_where_it_ended(begin, tmp_path):
    state = tmp_path / "state"
    first = begin(state=state)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    show(first, WRONG)
    shown, clicks = first.detector_xml(), first.clicks()
    with pytest.raises(InputError, match="is being written by another run"):
        begin(state=state)
    first.close()
    second = begin(state=state)
    assert second.detector_xml() == shown
    assert second.clicks() == clicks
    assert second.frame_png(seen.frame_id) == first.frame_png(seen.frame_id)
    new, _ = show(second, WRONG)
    assert new.frame_id > seen.frame_id
    second.undo()
    settle(second)
    assert second.status()["shipped_shown"]


def test_a_click_that_was_not_learnt_before_the_end_is_learnt_later(begin, tmp_path, monkeypatch):
    state = tmp_path / "state"
    first = begin(state=state)
    monkeypatch.setattr(first._learner, "learnt", lambda *_: threading.Event().wait(0.2) and None)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    first.close()
    second = begin(state=state)
    settle(second)
    assert has(show(second, MISSED)[0].boxes, faces[0])


def test_a_detector_that_does_not_fit_the_disk_is_learnt_later(begin, tmp_path, monkeypatch):
    state = tmp_path / "state"
    first = begin(state=state)
    real = saved.save

    def full(place, kind, tree):
        if kind == saved.DETECTOR_KIND:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(place, kind, tree)

    monkeypatch.setattr(saved, "save", full)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    first.mark(seen.frame_id, faces[1])
    settle(first)
    assert "No space left" in first.status()["error"]
    shown = first.detector_xml()
    first.close()
    monkeypatch.undo()
    second = begin(state=state)
    settle(second)
    assert len(second.clicks()) == 2
    assert second.detector_xml() == shown


@pytest.mark.parametrize("damaged", [False, True])
def test_a_kept_detector_that_cannot_be_read_is_learnt_anew(begin, tmp_path, damaged, caplog):
    state = tmp_path / "state"
    first = begin(state=state)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    shown = first.detector_xml()
    first.close()
    (place,) = state.glob("detector-*.ocb")
    place.unlink()
    if damaged:
        place.write_bytes(b"damaged")
    second = begin(state=state)
    assert "learnt anew" in caplog.text
    assert settle(second)["shown"]
    assert second.detector_xml() == shown


@pytest.mark.parametrize(
    ("part", "broken"), [("_builds", "begin_if_due"), ("_worker", "_look_ahead"), ("_worker", "_said")]
)
def test_what_goes_wrong_while_learning_is_said_and_the_next_click_is_learnt(
    begin, monkeypatch, part, broken
):
    session = begin()
    broken_part = getattr(session, part)
    real = getattr(broken_part, broken)
    fails = [True]

    def failing(*given):
        if threading.current_thread() is session._worker.thread and fails:
            fails.clear()
            raise RuntimeError("thing is broken")
        return real(*given)

    monkeypatch.setattr(broken_part, broken, failing)
    seen, faces = show(session, MISSED)
    session.mark(seen.frame_id, faces[0])
    settle(session)
    session.mark(seen.frame_id, faces[1])
    assert settle(session)["click"] == 2
    if not fails:
        assert "thing is broken" in session.status()["error"]
    assert session._worker.thread.is_alive()


def test_warming_up_does_not_touch_what_is_being_learnt(begin):
    session = begin()
    seen, _ = show(session, MISSED)
    frame = session._frames.get(seen.frame_id)
    session._learner.seen(session._learner.base, frame)
    session.warm_up()
    assert session._learner.knows(session._learner.base, frame)


def test_after_a_restart_taking_back_keeps_what_was_learnt_before_a_refused_click(begin, tmp_path):
    state = tmp_path / "state"
    first = begin(state=state, build=False)
    wrong, faces = show(first, WRONG)
    box = wrong_box(wrong, faces)
    first.reject(wrong.frame_id, box)
    flat = first.see(np.full((120, 160), 90, np.uint8))
    first.mark(flat.frame_id, (40, 40, 40, 40))
    settle(first)
    missed, faces = show(first, MISSED)
    first.mark(missed.frame_id, faces[0])
    settle(first)
    first.close()
    second = begin(state=state, build=False)
    second.undo()
    settle(second)
    assert not has(second.boxes(wrong.frame_id, "shown"), box)


def test_after_a_restart_a_click_is_compared_with_what_is_shown(begin, tmp_path):
    state = tmp_path / "state"
    first = begin(state=state, build=False)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    first.close()
    second = begin(state=state, build=False)
    frame = second._frames.get(seen.frame_id)
    found = second._learner.found(second._steps.last.detector, frame)
    assert found.tolist() == [list(each) for each in second.boxes(seen.frame_id, "shown")]
    assert has(found, faces[0])


def test_the_decision_on_a_click_that_is_taken_back_is_no_longer_said(begin):
    session = begin()
    seen, faces = show(session, MISSED)
    session.mark(seen.frame_id, faces[0])
    assert settle(session) is not None
    session.undo()
    assert settle(session) is None


def test_a_frame_that_is_known_in_part_is_not_said_to_be_free_of_faces(begin):
    session = begin()
    seen, faces = show(session, WRONG)
    session.reject(seen.frame_id, wrong_box(seen, faces))
    said = session.coco()["annotations"]
    assert len(said) >= len(seen.boxes) - 1
    assert {each["iscrowd"] for each in said} == {1}
    session.free(seen.frame_id)
    assert session.coco()["annotations"] == []


def test_a_folder_without_clicks_is_taken_up_too(begin, tmp_path):
    begin(state=tmp_path / "state").close()
    (tmp_path / "state" / "other.json").write_text("{}")
    assert begin(state=tmp_path / "state").clicks() == []


def test_state_of_another_detector_or_of_nobody_is_refused(begin, tmp_path):
    state = tmp_path / "state"
    session = begin(state=state)
    seen, faces = show(session, MISSED)
    session.mark(seen.frame_id, faces[0])
    session.close()
    other = tmp_path / "other.xml"
    other.write_bytes(as_xml(toy_cascade()))
    with pytest.raises(InputError, match="was begun with another one"):
        TeachingSession(read_cascade(other), state=state)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing.txt").write_text("mine")
    with pytest.raises(InputError, match="must be an empty folder"):
        begin(state=tmp_path / "full")


@pytest.mark.parametrize(
    ("box", "says"),
    [
        ((150, 10, 60, 60), "must lie inside the frame of 190 × 130 pixels"),
        ((10, 10, 12, 12), "must be at least 24 × 24 pixels"),
        ((10, 10, float("nan"), 12), "must be four numbers"),
        ((10, 10), "must be four numbers"),
    ],
)
def test_a_box_that_makes_no_sense_is_refused(begin, box, says):
    session = begin()
    seen, _ = show(session, MISSED)
    with pytest.raises(InputError, match=says):
        session.mark(seen.frame_id, box)
    assert session.clicks() == []


def test_frames_that_are_not_kept_are_refused(begin):
    session = begin()
    seen = session.see(face_picture(MISSED)[0], keep=False)
    with pytest.raises(InputError, match="no longer kept"):
        session.free(seen.frame_id)
    session.close()
    with pytest.raises(InputError, match="has been closed"):
        session.free(1)


def test_figures_before_and_after(begin):
    session = begin()
    assert session.judge()["all"] is None
    for seed in (MISSED, ALSO_MISSED):
        seen, faces = show(session, seed)
        for face in faces:
            session.mark(seen.frame_id, face)
    settle(session)
    told = []
    found = session.judge(lambda *step: told.append(step))
    assert found["all"]["faces"] == found["held_out"]["faces"] == 4
    assert found["all"]["shipped"]["recall"] == 0.5
    assert found["all"]["shown"]["recall"] > 0.5
    assert found["held_out"]["frames"] == len(found["held_out"]["shown"]["misses"]) == 2
    assert told[-1][1:] == (3, 3)


def test_any_number_of_threads_may_use_it(begin):
    session = begin()
    frames = [show(session, seed) for seed in (MISSED, WRONG)]
    stop = threading.Event()
    wrong = []

    def repeat(work):
        while not stop.is_set():
            try:
                work()
            except Exception as error:
                wrong.append(error)
                return

    def look():
        seen, _ = show(session, WRONG)
        assert seen.version <= session.status()["version"]

    def ask():
        session.status(), session.frames(), session.clicks(), session.coco()
        session.boxes(frames[0][0].frame_id, "shown")
        session.detector_xml()

    threads = [threading.Thread(target=repeat, args=(work,)) for work in (look, ask, look, ask)]
    for thread in threads:
        thread.start()
    for face in frames[0][1]:
        session.mark(frames[0][0].frame_id, face)
    session.undo()
    session.mark(frames[1][0].frame_id, frames[1][1][0])
    done = session.wait(120)
    stop.set()
    for thread in threads:
        thread.join()
    assert done
    assert wrong == []
    assert session.status()["clicks"] == {"reject": 0, "mark": 2, "free": 0}


def test_frames_that_were_clicked_in_are_looked_at_ahead_after_a_restart(begin, tmp_path, monkeypatch):
    monkeypatch.setattr("ocboost._teaching.worker.LOOKED_AHEAD", 0)  # of the newest
    first = begin(state=tmp_path / "state", build=False)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    first.close()
    second = begin(state=tmp_path / "state", build=False)
    frame = second._frames.get(seen.frame_id)
    for _ in range(100):
        if second._learner.knows(second._learner.base, frame):
            break
        second._worker.thread.join(0.1)
    assert second._learner.knows(second._learner.base, frame)
