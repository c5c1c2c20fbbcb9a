"""What was taught is in the folder, or it is said that it is not, and is written as soon as that works."""

import errno
import os
import shutil

import pytest

from ocboost._teaching import keeper, saved
from tests.support.taught import MISSED, WRONG, has, settle, show, wrong_box


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def full(monkeypatch):
    """A disk that is full for files of these kinds."""
    real, kinds = saved.save, set()

    def save(place, kind, tree):
        if kind in kinds:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(place, kind, tree)

    monkeypatch.setattr(saved, "save", save)
    return kinds


ALL = {saved.FRAME_KIND, saved.DETECTOR_KIND, saved.SESSION_KIND}


@pytest.mark.parametrize("kinds", [ALL, {saved.FRAME_KIND}, {saved.SESSION_KIND}])
def test_a_click_on_a_full_disk_counts_and_is_saved_later(begin, state, full, kinds):
    first = begin(state=state, build=False)
    wrong, faces = show(first, WRONG)
    first.reject(wrong.frame_id, wrong_box(wrong, faces))
    settle(first)
    full |= kinds
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    assert settle(first)["shown"]
    assert has(first.boxes(seen.frame_id, "shown"), faces[0])
    assert "could not be saved: No space left on device" in first.status()["error"]
    shutil.copytree(state, state.with_name("killed"))  # what a restart would find
    full.clear()
    first.mark(seen.frame_id, faces[1])
    assert first.status()["error"] is None
    settle(first)
    shown = first.detector_xml()
    first.close()
    again = begin(state=state, build=False)
    assert len(again.clicks()) == 3
    assert again.detector_xml() == shown
    killed = begin(state=state.with_name("killed"), build=False)
    assert [click.number for click in killed.clicks()] == [1]
    settle(killed)
    assert not has(killed.boxes(wrong.frame_id, "shown"), wrong_box(wrong, show(first, WRONG)[1]))


def test_what_could_not_be_saved_is_saved_without_a_further_click(begin, state, full, monkeypatch):
    monkeypatch.setattr(keeper, "AGAIN_SECONDS", 0.0)
    first = begin(state=state, build=False)
    full |= ALL
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    full.clear()
    for _ in range(100):
        if first.status()["error"] is None:
            break
        first.wait(0.1)
        first._worker.thread.join(0.1)
    assert first.status()["error"] is None
    first.close()
    assert len(begin(state=state, build=False).clicks()) == 1


def test_what_could_not_be_saved_is_saved_at_the_end(begin, state, full, monkeypatch):
    monkeypatch.setattr(keeper, "AGAIN_SECONDS", 1e9)
    first = begin(state=state, build=False)
    full |= ALL
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    full.clear()
    shown = first.detector_xml()
    first.close()
    again = begin(state=state, build=False)
    assert again.detector_xml() == shown
    assert settle(again)["shown"]


def test_a_detector_that_knows_a_click_that_is_taken_back_is_not_kept(begin, state, full):
    first = begin(state=state, build=False)
    seen, faces = show(first, MISSED)
    for face in faces:
        first.mark(seen.frame_id, face)
        settle(first)
    full.add(saved.DETECTOR_KIND)
    first.undo()
    settle(first)
    shown = first.detector_xml()
    shutil.copytree(state, state.with_name("killed"))
    killed = begin(state=state.with_name("killed"), build=False)
    assert [click.undone for click in killed.clicks()] == [False, True]
    settle(killed)
    assert killed.detector_xml() == shown


def test_a_folder_that_is_removed_is_written_anew(begin, state):
    first = begin(state=state, build=False)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    shutil.rmtree(state)
    first.mark(seen.frame_id, faces[1])
    settle(first)
    assert first.status()["error"] is None
    shown = first.detector_xml()
    first.close()
    again = begin(state=state, build=False)
    assert len(again.clicks()) == 2
    assert again.detector_xml() == shown


@pytest.mark.parametrize(("ended", "says"), [(True, "holds another session"), (False, "in use by another")])
def test_a_folder_that_others_have_taken_meanwhile_is_theirs(begin, state, ended, says):
    first = begin(state=state, build=False)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    shutil.rmtree(state)
    second = begin(state=state, build=False)
    if ended:
        second.close()
    held = (state / saved.SESSION_FILE).read_bytes()
    first.mark(seen.frame_id, faces[1])
    settle(first)
    assert says in first.status()["error"]
    first.close()
    assert (state / saved.SESSION_FILE).read_bytes() == held


def test_frames_and_detectors_that_were_removed_are_written_again(begin, state):
    first = begin(state=state, build=False)
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    settle(first)
    for place in [*state.glob("frame-*"), *state.glob("detector-*")]:
        place.unlink()
    first.mark(seen.frame_id, faces[1])
    settle(first)
    assert len(list(state.glob("frame-*"))) == len(list(state.glob("detector-*"))) == 1


def test_what_a_killed_process_left_behind_is_removed(begin, state):
    first = begin(state=state, build=False)
    left = [
        state / name
        for name in (
            ".frame-000001.ocb.0123abcd.tmp",
            ".detector-000001-000001-2.ocb.0123abcd.tmp",
            ".teaching.ocb.0123abcd.tmp",
            "frame-000099.ocb",
        )
    ]
    others = [state / "frame-me.ocb", state / ".mine.tmp"]
    for place in [*left, *others]:
        place.write_bytes(b"x")
    seen, faces = show(first, MISSED)
    first.mark(seen.frame_id, faces[0])
    assert not any(place.exists() for place in left)
    assert all(place.exists() for place in others)
    assert "page.json" not in os.listdir(state)


@pytest.mark.parametrize("damaged", [False, True])
def test_a_frame_that_cannot_be_read_costs_its_clicks_only(begin, state, damaged, caplog):
    first = begin(state=state, build=False)
    wrong, faces = show(first, WRONG)
    first.reject(wrong.frame_id, wrong_box(wrong, faces))
    seen, faces = show(first, MISSED)
    for face in faces:
        first.mark(seen.frame_id, face)
    settle(first)
    first.close()
    place = state / f"frame-{seen.frame_id:06d}.ocb"
    place.unlink()
    if damaged:
        place.write_bytes(b"x")
    again = begin(state=state, build=False)
    assert place.name in caplog.text
    assert [click.undone for click in again.clicks()] == [False, True, True]
    assert "2 clicks are lost" in caplog.text
    assert settle(again)["shown"]
    assert not has(again.boxes(wrong.frame_id, "shown"), wrong_box(wrong, show(again, WRONG)[1]))
