"""``ocboost cascade adapt --boxes``: whole pictures, what is held out, and what is not written."""

from __future__ import annotations

import contextlib
import io
import shutil

import numpy as np
import pytest
from PIL import Image

from ocboost.__main__ import main
from ocboost.cascade import PictureAdapter, build_stages, detect, picture_guard, read_cascade
from ocboost.cascade.picture_guard import Judged, judge
from ocboost.cascade.pictures import Picture
from ocboost.cascade.sources import windows_in
from ocboost.cli import cascade_adapt_pictures
from tests.support.cascades import as_xml
from tests.support.cli_runs import left_in, ran, refused
from tests.support.face_pictures import face_picture, picture_cascade, write_face_pictures
from tests.support.toy_cascade import noisy, toy_cascade, write_folder

DAY = range(30)  # 20 pictures with four faces, 10 without; of these 5 and 2 are held out
QUICK = {
    "SIZES": (4, 8),
    "RANDOM_A_PICTURE": 60,
    "SURVIVORS": 300,
    "ENOUGH_SURVIVORS": 150,
    "LAST_SURVIVORS": 1500,
    "LAST_FIRST": 300,
    "LAST_MORE": 200,
    "MAX_FACES": 400,
}
ADAPT = ["cascade", "adapt", "toy.xml"]
WANTED = ["--false-alarms", "2.5"]  # fewer than the shipped detector makes


def quick_builds(patch):
    patch.setattr(cascade_adapt_pictures, "TIMED_PICTURES", 2)
    for name, value in QUICK.items():
        patch.setattr(build_stages, name, value)


def digests(pictures):
    return {picture.grey.tobytes() for picture in pictures}


def seen(seeds):
    return digests(Picture("", face_picture(seed, 0 if seed % 3 == 2 else 4)[0]) for seed in seeds)


@pytest.fixture(scope="module")
def first_day(tmp_path_factory):
    """A folder in which a detector was adapted to a first day's pictures, and what was said."""
    folder = tmp_path_factory.mktemp("day")
    (folder / "toy.xml").write_bytes(as_xml(picture_cascade()))
    write_face_pictures(folder / "day1", DAY, n_faces=4)
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        patch.chdir(folder)
        quick_builds(patch)
        words = ["--boxes", "day1", "--out", "a.xml", "--adapter", "a.ocb", *WANTED]
        assert main([*ADAPT, *words]) == 0, said.getvalue()
    return folder, said.getvalue()


@pytest.fixture
def folder(first_day, tmp_path, monkeypatch):
    """A copy of it, to work in."""
    shutil.copytree(first_day[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    quick_builds(monkeypatch)
    return tmp_path


@pytest.fixture
def no_build(monkeypatch):
    """A build fails the test."""

    def build(*_, **__):
        raise AssertionError("built")

    monkeypatch.setattr(PictureAdapter, "build", build)


class TestFirstDay:
    def test_said(self, first_day):
        folder, said = first_day
        assert "day1: CSV; 30 pictures with 80 faces." in said
        assert "On 7 pictures with 20 faces that were held out" in " ".join(said.split())
        assert "Wrote a.xml\nWrote a.ocb, to go on from\n" in said
        assert "ocboost cascade evaluate toy.xml a.xml --boxes …" in said
        assert left_in(folder) == []

    def test_better_on_other_pictures(self, first_day):
        shipped, adapted = (read_cascade(first_day[0] / name).cascade for name in ("toy.xml", "a.xml"))
        others = [Picture("", *face_picture(seed, 4)) for seed in range(200, 212)]
        before, after = judge(shipped, others), judge(adapted, others)
        assert after.hits > before.hits
        assert after.false_alarms < before.false_alarms

    def test_opencv_finds_the_same(self, first_day):
        cv2 = pytest.importorskip("cv2")
        picture, _ = face_picture(300, 4)
        theirs = cv2.CascadeClassifier(str(first_day[0] / "a.xml")).detectMultiScale(picture)
        ours = detect(read_cascade(first_day[0] / "a.xml").cascade, picture)
        assert sorted(map(tuple, np.asarray(theirs).tolist())) == sorted(map(tuple, ours))
        assert len(ours) >= 1

    def test_every_fourth_of_either_kind_is_held_out(self, first_day):
        adapter = PictureAdapter.load(first_day[0] / "a.ocb")
        with_faces, without = ([k for k in DAY if (k % 3 == 2) == free] for free in (False, True))
        held = [*with_faces[3::4], *without[3::4]]
        assert digests(adapter.held_out) == seen(held)
        assert adapter.n_pictures == len(DAY) - len(held)
        assert all(adapter.known(Picture("", face_picture(k, 4)[0]))[0] == "learnt" for k in (0, 1, 3))

    def test_info(self, first_day, capsys):
        code, printed, _ = ran(capsys, "info", first_day[0] / "a.ocb")
        assert code == 0
        assert "23 pictures with 60 faces" in printed
        assert "7 pictures, to judge by" in printed


class TestGoingOn:
    def test_the_same_folder_again(self, folder, capsys, no_build):
        words = ["--boxes", "day1", "--out", "b.xml", "--adapter", "a.ocb", *WANTED]
        code, printed, err = ran(capsys, *ADAPT, *words)
        assert code == 0
        assert "'a.ocb' has 30 of 30 pictures already: 23 are not learnt again, 7 stay held out." in err
        assert "going on from 30 pictures, with 0 new ones." in err
        assert (folder / "b.xml").read_bytes() == (folder / "a.xml").read_bytes()
        assert "On 7 pictures with 20 faces that were held out" in " ".join(printed.split())
        assert PictureAdapter.load("a.ocb").n_pictures == 23

    def test_more_pictures(self, folder, capsys):
        held = digests(PictureAdapter.load("a.ocb").held_out)
        write_face_pictures(folder / "day2", range(24, 42), n_faces=4)  # six are known
        words = ["--boxes", "day2", "--out", "b.xml", "--adapter", "a.ocb", "--force"]
        code, printed, err = ran(capsys, *ADAPT, *words)
        assert code == 0
        assert "'a.ocb' has 6 of 18 pictures already" in err
        assert "going on from 30 pictures, with 12 new ones." in err
        adapter = PictureAdapter.load("a.ocb")
        assert held < digests(adapter.held_out)
        assert not digests(adapter._pictures) & digests(adapter.held_out)
        assert adapter.n_pictures + len(adapter.held_out) == 42
        assert len(adapter.held_out) == 7 + 3  # the count goes on: 28 and 14 of either kind
        assert "On 10 pictures" in " ".join(printed.split())

    def test_a_picture_under_another_name(self, folder, capsys, no_build):
        lines = (folder / "day1" / "boxes.csv").read_text().splitlines()
        (folder / "copy").mkdir()
        for path in (folder / "day1").glob("*.png"):
            shutil.copy(path, folder / "copy" / f"x{path.name}")
        text = "\n".join([lines[0], *(f"x{line}" for line in lines[1:])])
        (folder / "copy" / "boxes.csv").write_text(text)
        code, _, err = ran(capsys, *ADAPT, "--boxes", "copy", "--out", "b.xml", "--adapter", "a.ocb", *WANTED)
        assert code == 0
        assert "has 30 of 30 pictures already" in err

    def test_other_boxes(self, folder, capsys, no_build):
        write_face_pictures(folder / "day1", DAY, n_faces=4, moved=3)
        code, _, err = ran(capsys, *ADAPT, "--boxes", "day1", "--out", "b.xml", "--adapter", "a.ocb", *WANTED)
        assert code == 0
        assert "20 of those have other boxes now, which were not taken." in err

    def test_twice_in_one_folder(self, folder, capsys, monkeypatch):
        def build(adapter, progress):
            assert adapter.n_pictures + len(adapter.held_out) == 30
            raise KeyboardInterrupt

        monkeypatch.setattr(PictureAdapter, "build", build)
        text = (folder / "day1" / "boxes.csv").read_text()
        shutil.copy(folder / "day1" / "p002.png", folder / "day1" / "q.png")
        (folder / "day1" / "boxes.csv").write_text(text + "q.png,,,,\n")
        code, _, err = ran(capsys, *ADAPT, "--boxes", "day1", "--out", "b.xml")
        assert code == 130
        assert "1 of 31 pictures are there twice, and were taken once." in err

    def test_another_detector(self, folder, capsys):
        (folder / "other.xml").write_bytes(as_xml(toy_cascade()))
        words = ["--boxes", "day1", "--out", "b.xml", "--adapter", "a.ocb"]
        printed = refused(capsys, "cascade", "adapt", "other.xml", *words)
        assert (
            "--adapter must have begun with the detector 'other.xml'; 'a.ocb' began with another" in printed
        )

    def test_no_adapter_in_the_file(self, folder, capsys):
        (folder / "bad.ocb").write_bytes(b"hello")
        refused(capsys, *ADAPT, "--boxes", "day1", "--out", "b.xml", "--adapter", "bad.ocb")
        assert (folder / "bad.ocb").read_bytes() == b"hello"


class TestNotWritten:
    def before(self, folder):
        return (folder / "a.ocb").read_bytes()

    def test_worse(self, folder, capsys, monkeypatch):
        monkeypatch.setattr(picture_guard, "worse", lambda *_: "it is bad")
        before = self.before(folder)
        words = ["--boxes", "day1", "--out", "b.xml", "--adapter", "a.ocb"]
        code, printed, err = ran(capsys, *ADAPT, *words)
        assert code == 1
        assert "before" in printed
        assert "on 7 pictures that were held out; it is bad. Nothing was written to 'b.xml' or 'a.ocb'" in err
        assert "or give --force" in err
        assert not (folder / "b.xml").exists()
        assert self.before(folder) == before
        code, _, err = ran(capsys, *ADAPT, *words, "--force")
        assert code == 0
        assert "written because of --force, though it is bad." in err
        assert read_cascade("b.xml").cascade.n_stages > 1

    def test_what_was_wanted_is_passed_on(self, folder, capsys, monkeypatch):
        wanted = []
        monkeypatch.setattr(picture_guard, "worse", lambda *given: wanted.append(given[2]))
        words = ["--boxes", "day1", "--out", "b.xml", "--adapter", "a.ocb", "--false-alarms", "9"]
        assert ran(capsys, *ADAPT, *words)[0] == 0
        assert wanted == [9.0]
        loose, strict = (read_cascade(name).cascade.stage_threshold[-1] for name in ("b.xml", "a.xml"))
        assert loose < strict

    def test_boxes_beside_the_faces(self, folder, capsys):
        write_face_pictures(folder / "moved", DAY, n_faces=4, moved=40)
        code, _, err = ran(capsys, *ADAPT, "--boxes", "moved", "--out", "b.xml", "--adapter", "b.ocb")
        assert code == 1
        assert err.count("\n") <= 2
        assert not (folder / "b.xml").exists()
        assert not (folder / "b.ocb").exists()

    def test_useless(self, monkeypatch):
        monkeypatch.setattr(Judged, "of", classmethod(lambda cls, measured: measured))
        nothing, some = Judged(1, 60, 40, 15), Judged(5, 60, 3, 15)
        assert cascade_adapt_pictures._why_not(nothing, some, None) == "it finds 5 of 60 faces"
        assert cascade_adapt_pictures._why_not(nothing, Judged(6, 60, 3, 15), None) is None
        assert "finds 1 faces in the boxes, and 40 things elsewhere" in cascade_adapt_pictures._remedy(
            nothing
        )
        assert cascade_adapt_pictures._remedy(Judged(30, 60, 40, 15)) == "Mark more pictures"

    @pytest.mark.parametrize("owner", ["read", "build", "judge"])
    def test_ctrl_c(self, folder, capsys, monkeypatch, owner):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        where = {
            "read": (PictureAdapter, "known"),
            "build": (PictureAdapter, "build"),
            "judge": (PictureAdapter, "held_out"),
        }[owner]
        monkeypatch.setattr(*where, property(interrupted) if owner == "judge" else interrupted)
        before = self.before(folder)
        write_face_pictures(folder / "day2", range(30, 34), n_faces=4)
        monkeypatch.setattr(PictureAdapter, "is_built_on_all", owner == "judge")
        words = ["--boxes", "day2", "--out", "b.xml", "--adapter", "a.ocb"]
        code, _, err = ran(capsys, *ADAPT, *words)
        assert code == 130
        assert err.endswith("ocboost: interrupted; nothing was written to 'b.xml'.\n")
        assert not (folder / "b.xml").exists()
        assert self.before(folder) == before
        assert left_in(folder) == []

    def test_out_exists(self, folder, capsys, no_build):
        older = (folder / "a.xml").read_bytes()
        words = ["--boxes", "day1", "--out", "a.xml", "--adapter", "a.ocb", *WANTED]
        assert "--out must be a new file; 'a.xml' exists already" in refused(capsys, *ADAPT, *words)
        (folder / "a.xml").write_text("older")
        assert ran(capsys, *ADAPT, *words, "--overwrite")[0] == 0
        assert (folder / "a.xml").read_bytes() == older


class TestRefused:
    def test_too_few(self, folder, capsys, no_build):
        write_face_pictures(folder / "few", range(7))
        printed = refused(capsys, *ADAPT, "--boxes", "few", "--out", "b.xml")
        assert "--boxes must name at least 8 pictures, 4 of them with faces; got 7, 5 with faces." in printed
        write_face_pictures(folder / "none", range(12), n_faces=0)
        printed = ran(capsys, *ADAPT, "--boxes", "none", "--out", "b.xml")[2]
        assert "got 12, 0 with faces" in printed

    def test_copies_do_not_count(self, folder, capsys, no_build):
        picture, _ = face_picture(0, 4)
        write_folder(folder / "copies", [picture] * 9)
        rows = "".join(f"{k:04d}.png,6,10,48,48\n" for k in range(9))
        (folder / "copies" / "boxes.csv").write_text(f"image,x,y,w,h\n{rows}")
        assert "got 1, 1 with faces" in refused(capsys, *ADAPT, "--boxes", "copies", "--out", "b.xml")

    @pytest.mark.parametrize(
        "words",
        [
            ["--mode", "stages"],
            ["--face-weight", "2"],
            ["--smoothing", "3"],
            ["--forgetting", "0.9"],
            ["--keep", "1"],
            ["--pass-rate", "0.9"],
            ["--hits", "0.9"],
            ["--false-positives", "0.1"],
            ["--faces", "f", "--others", "o"],
            ["--false-alarms", "-1"],
            ["--every", "0"],
        ],
    )
    def test_words_for_windows(self, folder, capsys, no_build, words):
        refused(capsys, *ADAPT, "--boxes", "day1", "--out", "b.xml", *words, code=2)

    @pytest.mark.parametrize(
        "words", [["--adapter", "c.ocb"], ["--force"], ["--false-alarms", "1"], ["--every", "2"]]
    )
    def test_words_for_pictures(self, folder, capsys, words):
        printed = refused(capsys, *ADAPT, "--faces", "f", "--others", "o", "--out", "b.xml", *words, code=2)
        assert "go with --boxes" in printed

    def test_frames_of_a_folder(self, folder, capsys, no_build):
        words = ["--boxes", "day1", "--every", "5", "--out", "b.xml"]
        assert "--every goes with a video as --images" in refused(capsys, *ADAPT, *words, code=2)

    def test_another_seed_than_the_adapter_began_with(self, folder, capsys, no_build):
        words = ["--boxes", "day1", "--adapter", "a.ocb", "--seed", "7", "--out", "b.xml"]
        printed = refused(capsys, *ADAPT, *words)
        assert "--seed must be as it was when 'a.ocb' began, 0; got 7. Leave it out" in printed

    def test_an_adapter_that_cannot_be_written(self, folder, capsys, monkeypatch):
        def save(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(PictureAdapter, "save", save)
        words = ["--boxes", "day1", "--adapter", "c.ocb", "--out", "b.xml", *WANTED]
        printed = refused(capsys, *ADAPT, *words)
        assert "--adapter 'c.ocb' could not be written: No space left on device. 'b.xml' was." in printed
        assert (folder / "b.xml").exists()

        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(PictureAdapter, "save", interrupted)
        code, _, err = ran(capsys, *ADAPT, *words, "--overwrite")
        assert (code, left_in(folder)) == (130, [])
        assert "interrupted; 'b.xml' was written, 'c.ocb' was not" in err

    def test_places_of_the_adapter(self, folder, capsys, no_build):
        def said(place):
            words = ["--boxes", "day1/boxes.csv", "--out", "b.xml", "--adapter", place]
            return refused(capsys, *ADAPT, *words)

        assert "--adapter must not be --out; got 'b.xml' for both" in said("b.xml")
        assert "--adapter must not be the data" in said("toy.xml")
        assert "--adapter must lie in a folder that exists" in said("none/a.ocb")
        assert "--adapter must be a file; got the folder 'day1'" in said("day1")


class TestVideo:
    def test_frames(self, folder, capsys, monkeypatch):
        cv2 = pytest.importorskip("cv2")
        writer = cv2.VideoWriter("v.avi", cv2.VideoWriter_fourcc(*"MJPG"), 10, (190, 130))
        if not writer.isOpened():
            pytest.skip("this OpenCV writes no video")
        rows = ["image,x,y,w,h"]
        for k in range(10):
            picture, boxes = face_picture(k, 2)
            writer.write(np.repeat(picture[:, :, None], 3, axis=2))
            rows += [",".join(map(str, [f"frame-{k:06d}", *box])) for box in boxes]
        writer.release()
        (folder / "v.csv").write_text("\n".join(rows) + "\n")

        def build(adapter, progress):
            assert (adapter.n_pictures, len(adapter.held_out)) == (8, 2)
            raise KeyboardInterrupt

        monkeypatch.setattr(PictureAdapter, "build", build)
        code, printed, err = ran(capsys, *ADAPT, "--boxes", "v.csv", "--images", "v.avi", "--out", "b.xml")
        assert code == 130, err
        assert "10 pictures with 20 faces" in printed
        assert "frames held out look like those beside them, which were learnt" in err


class TestPhotosAreNoWindows:
    def test_refused(self, folder, capsys):
        faces, _ = noisy(1, 60)
        write_folder(folder / "f", faces)
        photos = write_folder(folder / "o", [face_picture(k, 0)[0] for k in range(60)])
        for words in (["adapt", "toy.xml", "--out", "b.xml"], ["evaluate", "toy.xml", "toy.xml"]):
            printed = refused(capsys, "cascade", *words, "--faces", "f", "--others", "o")
            assert (
                "--others must hold windows of 24 × 24 pixels, or such as can be scaled to it; 60 of 60 "
                "images in 'o' are whole pictures, such as '0000.png' with 190 × 130 pixels." in printed
            )
            assert "--boxes: a folder with info.dat for those with faces and bg.txt" in printed
        assert not (folder / "b.xml").exists()
        for path in photos.iterdir():  # no larger than four windows
            Image.open(path).resize((96, 66)).save(path)
        assert windows_in("o", 24, 24).shape == (60, 24, 24)

    def test_large_squares_are_said(self, folder, capsys):
        faces, others = noisy(1, 60)
        write_folder(folder / "f", faces)
        write_folder(folder / "o", [np.kron(window, np.ones((5, 5), np.uint8)) for window in others])
        code, _, err = ran(capsys, *ADAPT, "--faces", "f", "--others", "o", "--out", "b.xml")
        assert code == 0
        assert (
            "60 of 60 images in 'o' are more than 4 times as large as a window, such as '0000.png' with "
            "120 × 120 pixels, and each was scaled down to one window. Is each one window?" in err
        )
