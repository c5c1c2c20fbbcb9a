"""``ocboost cascade``: info, adapt, detect and evaluate, and what they refuse."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from ocboost.cascade import StageAdapter, WholeAdapter, accepts, detect, read_cascade, stage_sums
from ocboost.cascade.measure import measure_cascade, trees_evaluated
from ocboost.cascade.roc import roc
from ocboost.cli.cascade_detect import _drawings
from ocboost.cli.cascade_evaluate import _remarks
from tests.cascade.test_sources import write_video
from tests.support.cascades import as_xml, random_cascade
from tests.support.cli_runs import left_in, process, ran, refused, shown_on_terminal
from tests.support.toy_cascade import SIZES, noisy, toy_cascade, write_detector, write_folder, write_mosaic

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs a pseudo-terminal")
N = 400  # windows of either kind


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a detector and mosaics of faces and others, and in it."""
    monkeypatch.chdir(tmp_path)
    write_detector(tmp_path / "toy.xml")
    faces, others = noisy(11, N)
    write_mosaic(tmp_path / "faces.png", faces)
    write_mosaic(tmp_path / "others.png", others)
    return tmp_path


WINDOWS = ["--faces", "faces.png", "--others", "others.png"]
ADAPT = ["cascade", "adapt", "toy.xml", *WINDOWS, "--smoothing", "200"]


class TestInfo:
    def test_stumps(self, here, capsys):
        code, told, err = ran(capsys, "cascade", "info", "toy.xml")
        assert (code, err) == (0, "")
        assert "toy.xml: windows of 24 × 24 pixels; 3 stages, 30 stumps; 30 features, none tilted." in told
        rows = [line.split() for line in told.splitlines() if re.match(r" *\d", line)]
        ends = np.cumsum(SIZES)
        for s, (stage, stumps, end, bar) in enumerate(rows):
            assert (int(stage), int(stumps), int(end)) == (s + 1, SIZES[s], ends[s])
            assert float(bar) == pytest.approx(toy_cascade().stage_threshold[s], rel=1e-5)
        assert len(rows) == 3

    def test_trees_and_tilted(self, here, capsys):
        made = random_cascade(1, max_nodes=3, share_tilted=1.0)
        (here / "trees.xml.gz").write_bytes(gzip.compress(as_xml(made)))
        code, told, _ = ran(capsys, "cascade", "info", "trees.xml.gz")
        assert code == 0
        assert "windows of 8 × 7 pixels; 3 stages, 12 trees of up to 3 nodes; 12 features, " in told
        assert f"{np.unique(made.node_feature).size} of those in use tilted" in told
        assert "this one can be evaluated only" in told


class TestAdapt:
    def test_whole(self, here, capsys):
        code, told, err = ran(capsys, *ADAPT, "--out", "a.xml")
        assert code == 0
        assert err == (
            "ocboost: the last stage's threshold was set by only 36 faces held out: its share of hits is "
            "rough. Thousands of faces help.\n"
        )
        assert "A picture has some hundred thousand windows: --false-positives 1e-4, or less," in told
        assert "Shown 360 faces and 360 others." in told
        assert "On 40 faces and 40 others that were not shown" in " ".join(told.split())
        assert "Wrote a.xml" in told
        assert "ocboost cascade evaluate toy.xml a.xml --faces … --others …" in told
        adapted = read_cascade("a.xml").cascade
        assert np.diff(adapted.stage_tree).tolist()[-3:] == [sum(SIZES) // 30, sum(SIZES) // 5, sum(SIZES)]
        assert left_in(here) == []

    def test_it_tells_faces_better(self, here, capsys):
        assert ran(capsys, *ADAPT, "--out", "a.xml", "--keep", "0")[0] == 0
        faces, others = noisy(12, 1000)
        before = measure_cascade("", read_cascade("toy.xml").cascade, faces, others)
        after = measure_cascade("", read_cascade("a.xml").cascade, faces, others)
        assert after.one_minus_auc < 0.8 * before.one_minus_auc
        assert 0.85 < after.hits < 1

    def test_what_is_said_is_so(self, here, capsys):
        told = ran(capsys, *ADAPT, "--out", "a.xml", "--hits", "0.9", "--seed", "3")[1]
        rng = np.random.default_rng(3)
        tests = [windows[rng.permutation(N)[9::10]] for windows in noisy(11, N)]
        for word, file in (("before", "toy.xml"), ("after", "a.xml")):
            cascade = read_cascade(file).cascade
            row = re.search(rf"{word} +([\d.]+)% +([\d.]+)% +([\d.]+) +(\d+)", told)
            hits, false, cost, stages = map(float, row.groups())
            assert hits == pytest.approx(100 * accepts(cascade, tests[0]).mean(), abs=0.01)
            assert false == pytest.approx(100 * accepts(cascade, tests[1]).mean(), abs=0.001)
            assert cost == pytest.approx(trees_evaluated(cascade, tests[1]).mean(), abs=0.05)
            assert stages == cascade.n_stages

    def test_stages(self, here, capsys):
        words = ["--mode", "stages", "--pass-rate", "0.9", "--out", "a.xml"]
        code, told, err = ran(capsys, *ADAPT, *words)
        assert code == 0
        shipped, adapted = (read_cascade(name).cascade for name in ("toy.xml", "a.xml"))
        np.testing.assert_array_equal(adapted.stage_tree, shipped.stage_tree)
        np.testing.assert_array_equal(adapted.node_feature, shipped.node_feature)
        assert (adapted.stage_threshold != shipped.stage_threshold).all()
        changed = sum(
            not np.allclose(adapted.leaf_pairs[adapted.trees_of(s)], shipped.leaf_pairs[shipped.trees_of(s)])
            for s in range(3)
        )
        if changed < 3:
            assert f"{changed} of 3 stages were weighed anew" in told
        assert "A picture has some hundred thousand windows: a lower --pass-rate finds less" in told
        assert err == ""  # 72 faces held out, of which a tenth may fail

    def test_thresholds_by_the_worst_face(self, here, capsys):
        code, _, err = ran(capsys, *ADAPT, "--mode", "stages", "--out", "a.xml")
        assert code == 0
        assert err == (
            "ocboost: 72 faces held out are too few for a pass rate of 0.998: each threshold was set by the "
            "single worst of them.\n"
        )
        write_mosaic(here / "few.png", noisy(12, 90)[0])
        words = ["--faces", "few.png", "--others", "others.png", "--mode", "stages", "--smoothing", "200"]
        err = ran(capsys, "cascade", "adapt", "toy.xml", *words, "--out", "b.xml")[2]
        assert (
            "only 16 faces were held out, and thresholds are set by 20 or more: they are as they were" in err
        )
        bars = [read_cascade(name).cascade.stage_threshold for name in ("toy.xml", "b.xml")]
        np.testing.assert_array_equal(*bars)

    @pytest.mark.parametrize(
        ("words", "what"),
        [
            (["--smoothing", "7200"], None),
            (["--smoothing", "7300"], "720 windows are few beside a smoothing of 7,300: the stumps' weights"),
            (["--forgetting", "0.9"], "the last 10 windows, which forgetting leaves, are few beside a"),
            (["--forgetting", "0.95"], None),
            (["--smoothing", "1e6", "--mode", "whole"], None),  # all its stages are new
        ],
    )
    def test_few_beside_the_smoothing(self, here, capsys, words, what):
        settings = {"--mode": "stages", "--pass-rate": "0.9", "--smoothing": "200"}
        settings |= dict(zip(words[::2], words[1::2], strict=True))
        words = [word for pair in settings.items() for word in pair]
        code, _, err = ran(capsys, "cascade", "adapt", "toy.xml", *WINDOWS, *words, "--out", "a.xml")
        assert code == 0
        assert ("are few beside" in err) == (what is not None)
        assert what is None or what in err

    def test_seeds(self, here, capsys):
        for name, seed in (("a.xml", 1), ("b.xml", 1), ("c.xml", 2)):
            assert ran(capsys, *ADAPT, "--out", name, "--seed", seed)[0] == 0
        a, b, c = ((here / name).read_bytes() for name in ("a.xml", "b.xml", "c.xml"))
        assert a == b != c

    def test_options_reach_the_adapter(self, here, capsys, monkeypatch):
        made, finished = [], []
        init, adapted = WholeAdapter.__init__, WholeAdapter.adapted
        monkeypatch.setattr(
            WholeAdapter, "__init__", lambda self, *a, **k: [made.append(k), init(self, *a, **k)][1]
        )
        monkeypatch.setattr(
            WholeAdapter, "adapted", lambda self, **k: [finished.append(k), adapted(self, **k)][1]
        )
        words = [
            "--face-weight",
            "2",
            "--forgetting",
            "0.999",
            "--keep",
            "1",
            "--pass-rate",
            "0.99",
        ]
        code, _, err = ran(capsys, *ADAPT, "--out", "a.xml", *words, "--false-positives", "1e-3")
        assert code == 0
        shared = {"face_weight": 2.0, "smoothing": 200.0, "forgetting": 0.999}
        assert made[-1] == {**shared, "calibrate_on": 500}
        held = {"hits": None, "false_positives": 1e-3}
        assert finished == [{"keep": 1, "pass_rate": 0.99, **held}]
        assert "--false-positives 0.001 is less than one of the 36 others it is set by" in err

    def test_folders_and_windows_without_contrast(self, here, capsys):
        faces, others = noisy(13, 100)
        faces[:4] = 90
        others[:7] = 12
        write_folder(here / "f", faces)
        write_folder(here / "o", np.kron(others, np.ones((1, 2, 2), np.uint8)), ".bmp")
        (here / "o" / "notes.txt").write_text("")
        code, told, err = ran(
            capsys, "cascade", "adapt", "toy.xml", "--faces", "f", "--others", "o", "--out", "a.xml"
        )
        assert code == 0
        assert "Shown 87 faces and 84 others." in told
        assert "4 faces and 7 others more had no contrast" in told
        assert "the last stage's threshold was set by only 8 faces held out" in err
        assert "moved little" not in err
        assert "1 of 101 things in 'o' is no image and was left out." in err
        assert "100 of 100 images in 'o' were scaled to 24 × 24 pixels." in err
        sums = [stage_sums(read_cascade(name).cascade, faces[4:])[:, -1] for name in ("toy.xml", "a.xml")]
        assert not np.allclose(*sums)  # few windows, and yet the scale was fitted

    def test_opencv_loads_it(self, here, capsys):
        cv2 = pytest.importorskip("cv2")
        assert ran(capsys, *ADAPT, "--out", "a.xml")[0] == 0
        loaded = cv2.CascadeClassifier("a.xml")
        assert not loaded.empty()
        adapted = read_cascade("a.xml").cascade
        picture = picture_of(noisy(14, 1, noise=10)[0][0])
        theirs = sorted(tuple(box) for box in np.asarray(loaded.detectMultiScale(picture)).tolist())
        assert sorted(detect(adapted, picture)) == theirs

    def test_overwrite(self, here, capsys):
        (here / "a.xml").write_text("older")
        told = refused(capsys, *ADAPT, "--out", "a.xml")
        assert "--out must be a new file; 'a.xml' exists already. Give another name, or --overwrite" in told
        assert (here / "a.xml").read_text() == "older"
        assert ran(capsys, *ADAPT, "--out", "a.xml", "--overwrite")[0] == 0
        assert read_cascade("a.xml").cascade.n_trees > sum(SIZES)

    def test_packed(self, here, capsys):
        assert ran(capsys, *ADAPT, "--out", "a.xml.gz")[0] == 0
        assert gzip.decompress((here / "a.xml.gz").read_bytes()).startswith(b"<?xml")

    @pytest.mark.parametrize("mode", ["whole", "stages"])
    def test_ctrl_c(self, here, capsys, monkeypatch, mode):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(WholeAdapter if mode == "whole" else StageAdapter, "update", interrupted)
        code, _, err = ran(capsys, *ADAPT, "--out", "a.xml", "--mode", mode)
        assert (code, err) == (130, "ocboost: interrupted; nothing was written to 'a.xml'.\n")
        assert not (here / "a.xml").exists()
        assert left_in(here) == []


class TestAdaptRefusals:
    """Each is one line; an older file stays, and nothing is left behind."""

    @pytest.fixture(autouse=True)
    def older(self, here):
        (here / "out.xml").write_text("older")
        yield
        assert (here / "out.xml").read_text() == "older"
        assert left_in(here) == []

    def refused(self, capsys, *words, detector="toy.xml", faces="faces.png", others="others.png", code=1):
        all_words = [detector, "--faces", faces, "--others", others, "--out", "out.xml", "--overwrite"]
        return refused(capsys, "cascade", "adapt", *all_words, *words, code=code)

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            (b"hello", "is not XML"),
            (b"", "is not XML"),
            (b"<a/>", "not a valid cascade"),
            (b'<opencv_storage><a type_id="opencv-haar-classifier"/></opencv_storage>', "format before"),
            (None, "LBP"),
        ],
    )
    def test_no_cascade(self, here, capsys, content, what):
        if content is None:
            content = as_xml(toy_cascade()).replace(b"HAAR", b"LBP")
        (here / "bad.xml").write_bytes(content)
        for words in (["info", "bad.xml"], ["detect", "bad.xml", "faces.png", "--out", "found"]):
            assert what in refused(capsys, "cascade", *words)
        told = refused(capsys, "cascade", "evaluate", "toy.xml", "bad.xml", *WINDOWS, "--out", "report")
        assert what in told
        assert what in self.refused(capsys, detector="bad.xml")
        assert not (here / "found").exists()
        assert not (here / "report").exists()

    def test_trees(self, here, capsys):
        (here / "trees.xml").write_bytes(as_xml(random_cascade(max_nodes=3)))
        assert "a cascade of stumps; this one has trees" in self.refused(capsys, detector="trees.xml")

    def test_no_windows(self, here, capsys):
        (here / "empty").mkdir()
        assert "--faces must be a folder" in self.refused(capsys, faces="empty")
        assert "--others must be a folder" in self.refused(capsys, others="empty")
        assert "'none' does not exist" in self.refused(capsys, others="none")
        Image.new("L", (100, 100)).save("odd.png")
        assert "it is a PNG of 100 × 100" in self.refused(capsys, faces="odd.png")
        (here / "cut.png").write_bytes((here / "faces.png").read_bytes()[:5000])
        assert "'cut.png' must be an image" in self.refused(capsys, faces="cut.png")
        (here / "clip.avi").write_bytes(b"")
        told = self.refused(capsys, faces="clip.avi")
        assert "--faces must be a folder of windows of 24 × 24 pixels, or an image; 'clip.avi' is a v" in told
        assert "Videos are for detect" in told

    def test_too_few(self, here, capsys):
        write_mosaic(here / "few.png", noisy(1, 40)[0])
        told = self.refused(capsys, faces="few.png")
        assert "--faces must hold at least 50 windows with contrast; 'few.png' holds 40. Collect more" in told
        write_mosaic(here / "flat.png", np.full((90, 24, 24), 3, np.uint8))
        assert "holds 0, and 90 without contrast" in self.refused(capsys, others="flat.png")

    @pytest.mark.parametrize("mode", ["whole", "stages"])
    def test_turned_round(self, here, capsys, mode):
        told = self.refused(capsys, "--mode", mode, faces="others.png", others="faces.png")
        assert "Are the two turned round?" in told

    def test_out_and_settings_before_the_work(self, here, capsys, monkeypatch):
        monkeypatch.setattr("ocboost.cascade.sources.windows_in", None)
        assert "exists already" in refused(capsys, *ADAPT, "--out", "out.xml")
        assert "must not be the data" in refused(capsys, *ADAPT, "--out", "toy.xml", "--overwrite")
        assert "a folder that exists" in refused(capsys, *ADAPT, "--out", "none/a.xml")
        assert "--keep must be at most 3, the stages of 'toy.xml'; got 4" in self.refused(
            capsys, "--keep", "4"
        )
        assert "smoothing must be" in self.refused(capsys, "--smoothing", "1e30")

    @pytest.mark.parametrize(
        "words",
        [
            ["--hits", "0.9", "--false-positives", "0.1"],
            ["--mode", "stages", "--keep", "2"],
            ["--mode", "stages", "--hits", "0.9"],
            ["--mode", "parts"],
            ["--hits", "0"],
            ["--hits", "1.5"],
            ["--false-positives", "0"],
            ["--pass-rate", "2"],
            ["--keep", "-1"],
            ["--face-weight", "0"],
            ["--face-weight", "1e-300"],
            ["--face-weight", "1.1e6"],
            ["--smoothing", "-1"],
            ["--forgetting", "0"],
            ["--seed", "-1"],
        ],
    )
    def test_usage(self, here, capsys, words):
        assert self.refused(capsys, *words, code=2).endswith("See: ocboost cascade --help\n")


def picture_of(face, side=120):
    """A grey picture with a face in it, twice as large as a window."""
    rng = np.random.default_rng(5)
    picture = rng.normal(120, 12, (side, side)).clip(0, 255).astype(np.uint8)
    picture[30:78, 40:88] = np.kron(face, np.ones((2, 2), np.uint8))
    return picture


def pixels(path, mode):
    with Image.open(path) as image:
        return np.asarray(image.convert(mode))


@pytest.fixture
def pictures(here):
    folder = here / "pictures"
    folder.mkdir()
    faces = noisy(15, 3, noise=10)[0]
    for name, face in zip(("a.bmp", "b.png", "b.tif"), faces, strict=True):
        Image.fromarray(picture_of(face)).save(folder / name)
    Image.new("RGB", (20, 20), "white").save(folder / "tiny.png")
    (folder / "notes.txt").write_text("")
    return folder


class TestDetect:
    def test_a_folder(self, pictures, capsys):
        words = ["--scale-factor", "1.2", "--min-neighbors", "1", "--min-size", "30", "--max-size", "90"]
        code, told, err = ran(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found", *words)
        assert (code, err) == (0, f"ocboost: 1 of 5 things in '{pictures}' is no image and was left out.\n")
        out = pictures.parent / "found"
        names = ["a.png", "b.png.png", "b.tif.png", "detections.csv", "tiny.png"]
        assert sorted(path.name for path in out.iterdir()) == names
        rows = list(csv.DictReader(io.StringIO((out / "detections.csv").read_text())))
        assert list(rows[0]) == ["image", "x", "y", "width", "height"]
        total = 0
        for name in ("a.bmp", "b.png", "b.tif", "tiny.png"):
            grey = pixels(pictures / name, "L")
            own = sorted(detect(read_cascade("toy.xml").cascade, grey, 1.2, 1, (30, 30), (90, 90)))
            boxes = [tuple(int(row[key]) for key in list(row)[1:]) for row in rows if row["image"] == name]
            assert boxes == own
            assert re.search(rf"{re.escape(name)} +{len(own)} ", told)
            total += len(own)
            drawn = out / {"a.bmp": "a.png", "tiny.png": "tiny.png"}.get(name, f"{name}.png")
            changed = (pixels(drawn, "RGB") != grey[:, :, None]).any(axis=2)
            assert changed.any() == bool(own)
            for x, y, _, _ in own[-1:]:
                assert changed[y + 1, x + 1]
        assert total
        assert f"{total} found, in " in told
        assert f"Wrote 4 images and detections.csv to {out}" in told

    def test_names_that_could_be_the_same(self, pictures, capsys):
        for name in ("astro.bmp", "astro.png", "astro.bmp.png"):
            Image.new("L", (20, 20)).save(pictures / name)
        assert ran(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found")[0] == 0
        names = sorted(path.name for path in (pictures.parent / "found").glob("astro*"))
        assert names == ["astro.bmp.png", "astro.bmp.png.png", "astro.png.png"]
        assert len(list((pictures.parent / "found").iterdir())) == 8

    @pytest.mark.parametrize(
        "names",
        [
            ["a.bmp", "a.png", "a.bmp.png", "a.bmp.png.png", "a.bmp.bmp"],
            ["a.png", "A.png", "a.PNG", "A.PNG", "a.png-2.bmp", "a.png-2.png"],
            ["b.png", "c.png"],
        ],
    )
    def test_names_of_drawings(self, names):
        for order in (names, names[::-1]):
            found = _drawings(order)
            assert len({name.casefold() for name in found}) == len(order)
            assert all(name.endswith(".png") for name in found)

    def test_one_image(self, pictures, capsys):
        assert ran(capsys, "cascade", "detect", "toy.xml", pictures / "a.bmp", "--out", "x/y")[0] == 0
        assert sorted(p.name for p in (pictures.parent / "x" / "y").iterdir()) == ["a.png", "detections.csv"]

    def test_many_images_are_not_all_shown(self, here, capsys):
        write_folder(here / "many", noisy(1, 25)[0])
        told = ran(capsys, "cascade", "detect", "toy.xml", "many", "--out", "found")[1]
        assert "… 5 more" in told
        assert len(list((here / "found").iterdir())) == 26

    def test_a_video(self, here, capsys):
        write_video(here / "v.avi", frames=7)
        code, told, _ = ran(capsys, "cascade", "detect", "toy.xml", "v.avi", "--out", "found", "--every", "3")
        assert code == 0
        names = [f"frame-{n:06d}.png" for n in (0, 3, 6)]
        assert sorted(p.name for p in (here / "found").iterdir()) == ["detections.csv", *names]
        assert "in 0 of 3 images" in told

    def test_no_video(self, here):
        pytest.importorskip("cv2")
        (here / "v.mp4").write_bytes(b"no video" * 100)
        done = process("cascade", "detect", "toy.xml", "v.mp4", "--out", "found")
        assert done.returncode == 1
        assert re.fullmatch(r"ocboost: 'v.mp4' must be a video that OpenCV can read; .*\n", done.stderr)
        assert not (here / "found").exists()

    def test_nothing_is_written_half_way(self, pictures, capsys):
        (pictures / "z.png").write_bytes(b"no image")
        told = refused_last(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found")
        assert "z.png' must be an image" in told
        assert not (pictures.parent / "found").exists()
        (pictures.parent / "found").mkdir()
        refused_last(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found")
        assert list((pictures.parent / "found").iterdir()) == []

    def test_folders_that_hold_something(self, pictures, capsys):
        words = ["cascade", "detect", "toy.xml", pictures / "a.bmp", "--out"]
        assert "another folder than that of the pictures" in refused(capsys, *words, pictures, "--overwrite")
        found = pictures.parent / "found"
        found.mkdir()
        (found / "a.png").write_text("older")
        told = refused(capsys, *words, "found")
        assert "--out must be a new or an empty folder; 'found' holds something." in told
        assert (found / "a.png").read_text() == "older"
        assert ran(capsys, *words, "found", "--overwrite")[0] == 0
        assert (found / "a.png").read_bytes().startswith(b"\x89PNG")
        assert "can be written" in refused(capsys, *words, "toy.xml")
        (found / "a.png").unlink()
        (found / "a.png").mkdir()
        assert "a.png is a folder" in refused(capsys, *words, "found", "--overwrite")
        assert sorted(p.name for p in found.iterdir()) == ["a.png", "detections.csv"]

    def test_ctrl_c(self, pictures, capsys, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("ocboost.cascade.figures.draw_boxes", interrupted)
        code, _, err = ran(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found")
        assert code == 130
        assert err.endswith("ocboost: interrupted; nothing was written to 'found'.\n")
        assert not (pictures.parent / "found").exists()

    @pytest.mark.parametrize(
        "words",
        [
            ["--scale-factor", "1"],
            ["--scale-factor", "1.000001"],
            ["--min-neighbors", "-1"],
            ["--min-size", "0"],
            ["--every", "0"],
            ["--min-size", "9", "--max-size", "8"],
        ],
    )
    def test_usage(self, pictures, capsys, words):
        refused(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found", *words, code=2)


def refused_last(capsys, *words):
    """What a run says last that fails after it has said something else."""
    code, _, err = ran(capsys, *words)
    assert code == 1
    return err.splitlines()[-1]


class TestEvaluate:
    def test_before_and_after(self, here, capsys):
        assert ran(capsys, *ADAPT, "--out", "a.xml", "--keep", "1")[0] == 0
        code, told, err = ran(capsys, "cascade", "evaluate", "toy.xml", "a.xml", *WINDOWS, "--out", "report")
        assert code == 0
        assert sorted(p.name for p in (here / "report").iterdir()) == ["results.json", "roc.png", "roc.svg"]
        assert (here / "report" / "roc.png").read_bytes().startswith(b"\x89PNG")
        record = json.loads((here / "report" / "results.json").read_text())
        assert (record["n_faces"], record["n_others"]) == (N, N)
        faces, others = noisy(11, N)
        for entry, name in zip(record["standings"], ("toy", "a"), strict=True):
            own = measure_cascade(name, read_cascade(f"{name}.xml").cascade, faces, others)
            assert entry == own.as_dict()
            row = re.search(rf"^ {name} +(.*)$", told, re.MULTILINE).group(1).split()
            shares = [own.hits, own.false_positives, *(own.curve.misses_at(r) for r in (1e-2, 1e-3, 1e-4))]
            assert [float(cell.rstrip("%")) for cell in row[:5]] == pytest.approx(
                [100 * share for share in shares], abs=0.006
            )
            assert float(row[5]) == pytest.approx(own.cost, abs=0.06)
            assert len(row) == 6
        assert [entry["score"] for entry in record["standings"]] == ["slack", "last stage"]
        assert "Score of toy: by how much a window clears the stage it clears least." in told
        assert "Score of a: by how much a window clears the last stage" in told
        assert (
            "\n1 − AUC is left out: the scores are of different kinds, and that of the last stage is the "
            "same for all windows that earlier stages reject.\n"
        ) in told
        beyond = "0.001 and 0.0001 are each less than one of 400 others: there, none of them may pass."
        assert err == f"ocboost: {beyond}\n"
        kinds, last = record["notes"]
        assert kinds.startswith("one_minus_auc must not be compared: the scores are of different kinds")
        assert last == beyond

    def test_areas_of_scores_of_one_kind(self, here, capsys):
        (here / "c.xml").write_bytes(as_xml(toy_cascade().with_thresholds([0, 0, 0])))
        told = ran(capsys, "cascade", "evaluate", "toy.xml", "c.xml", *WINDOWS, "--out", "report")[1]
        assert "1 − AUC is left out" not in told
        for name in ("toy", "c"):
            own = measure_cascade(name, read_cascade(f"{name}.xml").cascade, *noisy(11, N))
            row = re.search(rf"^ {name} +(.*)$", told, re.MULTILINE).group(1).split()
            assert float(row[5]) == pytest.approx(own.one_minus_auc, rel=0.01)
            assert len(row) == 7

    @pytest.mark.parametrize(
        ("n", "beyond"), [(80, "0.01, 0.001 and 0.0001 are each"), (9990, "0.0001 is"), (10_000, None)]
    )
    def test_rates_beyond_the_others(self, n, beyond):
        scores = np.arange(n + 5, dtype=float)
        curve = roc(scores, scores >= n)
        told = _remarks(SimpleNamespace(curve=curve))
        last = f"less than one of {n:,} others: there, none of them may pass."
        assert told == ([] if beyond is None else [f"{beyond} {last}"])

    def test_one_detector_of_trees(self, here, capsys):
        (here / "trees.xml").write_bytes(as_xml(random_cascade(max_nodes=3, width=24, height=24)))
        assert ran(capsys, "cascade", "evaluate", "trees.xml", *WINDOWS, "--out", "report")[0] == 0

    def test_other_sizes(self, here, capsys):
        (here / "small.xml").write_bytes(as_xml(random_cascade()))
        told = refused(capsys, "cascade", "evaluate", "toy.xml", "small.xml", *WINDOWS, "--out", "report")
        assert "'toy.xml' has 24 × 24 pixels and 'small.xml' 8 × 7" in told

    def test_the_same_name_twice(self, here, capsys):
        (here / "other").mkdir()
        write_detector(here / "other" / "toy.xml")
        words = ["cascade", "evaluate", "toy.xml", "other/toy.xml", *WINDOWS, "--out", "report"]
        told = ran(capsys, *words)[1]
        assert "Score of toy.xml, other/toy.xml:" in told

    def test_refusals_write_nothing(self, here, capsys):
        words = ["cascade", "evaluate", "toy.xml", "--faces", "faces.png", "--out", "report", "--others"]
        assert "'none' does not exist" in refused(capsys, *words, "none")
        assert not (here / "report").exists()
        assert "detector" in refused(capsys, "cascade", "evaluate", *WINDOWS, code=2)
        assert "can be written" in refused(
            capsys, "cascade", "evaluate", "toy.xml", *WINDOWS, "--out", "toy.xml"
        )

    def test_ctrl_c(self, here, capsys, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("ocboost.cascade.measure.measure_cascade", interrupted)
        code, _, err = ran(capsys, "cascade", "evaluate", "toy.xml", *WINDOWS, "--out", "report")
        assert (code, err) == (130, "ocboost: interrupted; nothing was written to 'report'.\n")
        assert not (here / "report").exists()


class TestHelp:
    @pytest.mark.parametrize(
        ("words", "example"),
        [
            ([], "ocboost cascade adapt detector.xml --faces f/ --others o/ --out adapted.xml"),
            (["info"], "ocboost cascade info haarcascade_frontalface_default.xml"),
            (["adapt"], "ocboost cascade adapt detector.xml --faces f/ --others o/ --out a.xml"),
            (["detect"], "ocboost cascade detect detector.xml pictures/ --out found/"),
            (["evaluate"], "ocboost cascade evaluate detector.xml adapted.xml --faces f/ --others o/"),
        ],
    )
    def test_examples(self, capsys, words, example):
        code, told, _ = ran(capsys, "cascade", *words, "--help")
        assert code == 0
        assert example in [line.strip() for line in told.splitlines()]


class TestProcess:
    def test_quiet_when_piped(self, here):
        done = process(*ADAPT, "--out", "a.xml", "--false-positives", "0.1")
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout

    def test_narrow_terminals_break_no_numbers(self, pictures, capsys, monkeypatch):
        assert ran(capsys, *ADAPT, "--out", "a.xml")[0] == 0
        narrow = Console(highlight=False, markup=False, width=30)
        for command in ("cascade", "cascade_adapt", "cascade_detect", "cascade_evaluate"):
            monkeypatch.setattr(
                importlib.import_module(f"ocboost.cli.{command}"), "results", lambda *_, **__: narrow
            )
        for words, row in (
            (["info", "toy.xml"], r"^ 3 +14 +30 +-?[\d.]+$"),
            ([*ADAPT[1:], "--out", "b.xml"], r"^ after +[\d.]+% +[\d.]+% +[\d.]+ +\d+$"),
            (["detect", "toy.xml", str(pictures), "--out", "found"], r"^ tiny.png +0 +– +–$"),
            (["evaluate", "toy.xml", "a.xml", *WINDOWS], r"^ toy +([\d.]+% +){5}[\d.]+$"),
        ):
            narrow.file = io.StringIO()
            assert ran(capsys, "cascade", *words)[0] == 0
            told = "\n".join(line.rstrip() for line in narrow.file.getvalue().splitlines())
            assert re.search(row, told, re.MULTILINE), told

    @posix
    def test_progress_on_a_terminal(self, here):
        text, code = shown_on_terminal(*ADAPT, "--out", "a.xml")
        assert code == 0
        assert "adapting" in text
