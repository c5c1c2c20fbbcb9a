"""``ocboost cascade``: info, detect and evaluate, and what they refuse; help and terminals."""

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

from ocboost.cascade import detect, read_cascade
from ocboost.cascade.measure import measure_cascade
from ocboost.cascade.roc import roc
from ocboost.cli.cascade_detect import _drawings
from ocboost.cli.cascade_evaluate import _remarks
from tests.support.cascades import as_xml, random_cascade
from tests.support.cli_runs import process, ran, refused, shown_on_terminal
from tests.support.toy_cascade import (
    ADAPT,
    SIZES,
    WINDOWS,
    N,
    noisy,
    picture_of,
    toy_cascade,
    write_detector,
    write_folder,
    write_video,
)

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs a pseudo-terminal")


class TestInfo:
    def test_stumps(self, cascade_folder, capsys):
        code, printed, err = ran(capsys, "cascade", "info", "toy.xml")
        assert (code, err) == (0, "")
        assert "toy.xml: windows of 24 × 24 pixels; 3 stages, 30 stumps; 30 features, none tilted." in printed
        rows = [line.split() for line in printed.splitlines() if re.match(r" *\d", line)]
        ends = np.cumsum(SIZES)
        for s, (stage, stumps, end, bar) in enumerate(rows):
            assert (int(stage), int(stumps), int(end)) == (s + 1, SIZES[s], ends[s])
            assert float(bar) == pytest.approx(toy_cascade().stage_threshold[s], rel=1e-5)
        assert len(rows) == 3

    def test_trees_and_tilted(self, cascade_folder, capsys):
        made = random_cascade(1, max_nodes=3, share_tilted=1.0)
        (cascade_folder / "trees.xml.gz").write_bytes(gzip.compress(as_xml(made)))
        code, printed, _ = ran(capsys, "cascade", "info", "trees.xml.gz")
        assert code == 0
        assert "windows of 8 × 7 pixels; 3 stages, 12 trees of up to 3 nodes; 12 features, " in printed
        assert f"{np.unique(made.node_feature).size} of those in use tilted" in printed
        assert "this one can be evaluated only" in printed


def pixels(path, mode):
    with Image.open(path) as image:
        return np.asarray(image.convert(mode))


@pytest.fixture
def pictures(cascade_folder):
    folder = cascade_folder / "pictures"
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
        code, printed, err = ran(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found", *words)
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
            assert re.search(rf"{re.escape(name)} +{len(own)} ", printed)
            total += len(own)
            drawn = out / {"a.bmp": "a.png", "tiny.png": "tiny.png"}.get(name, f"{name}.png")
            changed = (pixels(drawn, "RGB") != grey[:, :, None]).any(axis=2)
            assert changed.any() == bool(own)
            for x, y, _, _ in own[-1:]:
                assert changed[y + 1, x + 1]
        assert total
        assert f"{total} found, in " in printed
        assert f"Wrote 4 images and detections.csv to {out}" in printed

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

    def test_many_images_are_not_all_shown(self, cascade_folder, capsys):
        write_folder(cascade_folder / "many", noisy(1, 25)[0])
        printed = ran(capsys, "cascade", "detect", "toy.xml", "many", "--out", "found")[1]
        assert "… 5 more" in printed
        assert len(list((cascade_folder / "found").iterdir())) == 26

    def test_a_video(self, cascade_folder, capsys):
        write_video(cascade_folder / "v.avi", frames=7)
        code, printed, _ = ran(
            capsys, "cascade", "detect", "toy.xml", "v.avi", "--out", "found", "--every", "3"
        )
        assert code == 0
        names = [f"frame-{n:06d}.png" for n in (0, 3, 6)]
        assert sorted(p.name for p in (cascade_folder / "found").iterdir()) == ["detections.csv", *names]
        assert "in 0 of 3 images" in printed

    def test_no_video(self, cascade_folder):
        pytest.importorskip("cv2")
        (cascade_folder / "v.mp4").write_bytes(b"no video" * 100)
        done = process("cascade", "detect", "toy.xml", "v.mp4", "--out", "found")
        assert done.returncode == 1
        assert re.fullmatch(r"ocboost: 'v.mp4' must be a video that OpenCV can read; .*\n", done.stderr)
        assert not (cascade_folder / "found").exists()

    def test_nothing_is_written_half_way(self, pictures, capsys):
        (pictures / "z.png").write_bytes(b"no image")
        printed = refused_last(capsys, "cascade", "detect", "toy.xml", pictures, "--out", "found")
        assert "z.png' must be an image" in printed
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
        printed = refused(capsys, *words, "found")
        assert "--out must be a new or an empty folder; 'found' holds something." in printed
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
    def test_before_and_after(self, cascade_folder, capsys):
        assert ran(capsys, *ADAPT, "--out", "a.xml", "--keep", "1")[0] == 0
        code, printed, err = ran(
            capsys, "cascade", "evaluate", "toy.xml", "a.xml", *WINDOWS, "--out", "report"
        )
        assert code == 0
        assert sorted(p.name for p in (cascade_folder / "report").iterdir()) == [
            "results.json",
            "roc.png",
            "roc.svg",
        ]
        assert (cascade_folder / "report" / "roc.png").read_bytes().startswith(b"\x89PNG")
        record = json.loads((cascade_folder / "report" / "results.json").read_text())
        assert (record["n_faces"], record["n_others"]) == (N, N)
        faces, others = noisy(11, N)
        for entry, name in zip(record["standings"], ("toy", "a"), strict=True):
            own = measure_cascade(name, read_cascade(f"{name}.xml").cascade, faces, others)
            assert entry == own.as_dict()
            row = re.search(rf"^ {name} +(.*)$", printed, re.MULTILINE).group(1).split()
            shares = [own.hits, own.false_positives, *(own.curve.misses_at(r) for r in (1e-2, 1e-3, 1e-4))]
            assert [float(cell.rstrip("%")) for cell in row[:5]] == pytest.approx(
                [100 * share for share in shares], abs=0.006
            )
            assert float(row[5]) == pytest.approx(own.cost, abs=0.06)
            assert len(row) == 6
        assert [entry["score"] for entry in record["standings"]] == ["slack", "last stage"]
        assert "Score of toy: by how much a window clears the stage it clears least." in printed
        assert "Score of a: by how much a window clears the last stage" in printed
        assert (
            "\n1 − AUC is left out: the scores are of different kinds, and that of the last stage is the "
            "same for all windows that earlier stages reject.\n"
        ) in printed
        beyond = "0.001 and 0.0001 are each less than one of 400 others: there, none of them may pass."
        assert err == f"ocboost: {beyond}\n"
        kinds, last = record["notes"]
        assert kinds.startswith("one_minus_auc must not be compared: the scores are of different kinds")
        assert last == beyond

    def test_areas_of_scores_of_one_kind(self, cascade_folder, capsys):
        (cascade_folder / "c.xml").write_bytes(as_xml(toy_cascade().with_thresholds([0, 0, 0])))
        printed = ran(capsys, "cascade", "evaluate", "toy.xml", "c.xml", *WINDOWS, "--out", "report")[1]
        assert "1 − AUC is left out" not in printed
        for name in ("toy", "c"):
            own = measure_cascade(name, read_cascade(f"{name}.xml").cascade, *noisy(11, N))
            row = re.search(rf"^ {name} +(.*)$", printed, re.MULTILINE).group(1).split()
            assert float(row[5]) == pytest.approx(own.one_minus_auc, rel=0.01)
            assert len(row) == 7

    @pytest.mark.parametrize(
        ("n", "beyond"), [(80, "0.01, 0.001 and 0.0001 are each"), (9990, "0.0001 is"), (10_000, None)]
    )
    def test_rates_beyond_the_others(self, n, beyond):
        scores = np.arange(n + 5, dtype=float)
        curve = roc(scores, scores >= n)
        printed = _remarks(SimpleNamespace(curve=curve))
        last = f"less than one of {n:,} others: there, none of them may pass."
        assert printed == ([] if beyond is None else [f"{beyond} {last}"])

    def test_one_detector_of_trees(self, cascade_folder, capsys):
        (cascade_folder / "trees.xml").write_bytes(as_xml(random_cascade(max_nodes=3, width=24, height=24)))
        assert ran(capsys, "cascade", "evaluate", "trees.xml", *WINDOWS, "--out", "report")[0] == 0

    def test_other_sizes(self, cascade_folder, capsys):
        (cascade_folder / "small.xml").write_bytes(as_xml(random_cascade()))
        printed = refused(capsys, "cascade", "evaluate", "toy.xml", "small.xml", *WINDOWS, "--out", "report")
        assert "'toy.xml' has 24 × 24 pixels and 'small.xml' 8 × 7" in printed

    def test_the_same_name_twice(self, cascade_folder, capsys):
        (cascade_folder / "other").mkdir()
        write_detector(cascade_folder / "other" / "toy.xml")
        words = ["cascade", "evaluate", "toy.xml", "other/toy.xml", *WINDOWS, "--out", "report"]
        printed = ran(capsys, *words)[1]
        assert "Score of toy.xml, other/toy.xml:" in printed

    def test_refusals_write_nothing(self, cascade_folder, capsys):
        words = ["cascade", "evaluate", "toy.xml", "--faces", "faces.png", "--out", "report", "--others"]
        assert "'none' does not exist" in refused(capsys, *words, "none")
        assert not (cascade_folder / "report").exists()
        assert "detector" in refused(capsys, "cascade", "evaluate", *WINDOWS, code=2)
        assert "can be written" in refused(
            capsys, "cascade", "evaluate", "toy.xml", *WINDOWS, "--out", "toy.xml"
        )

    def test_ctrl_c(self, cascade_folder, capsys, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("ocboost.cascade.measure.measure_cascade", interrupted)
        code, _, err = ran(capsys, "cascade", "evaluate", "toy.xml", *WINDOWS, "--out", "report")
        assert (code, err) == (130, "ocboost: interrupted; nothing was written to 'report'.\n")
        assert not (cascade_folder / "report").exists()


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
        code, printed, _ = ran(capsys, "cascade", *words, "--help")
        assert code == 0
        assert example in [line.strip() for line in printed.splitlines()]


class TestProcess:
    def test_quiet_when_piped(self, cascade_folder):
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
            (
                [*ADAPT[1:], "--out", "b.xml"],
                r"^ after +[\d.]+% \([\d.]+%–[\d.]+%\) +[\d.]+% \([\d.]+%–[\d.]+%\) +[\d.]+ +\d+$",
            ),
            (["detect", "toy.xml", str(pictures), "--out", "found"], r"^ tiny.png +0 +– +–$"),
            (["evaluate", "toy.xml", "a.xml", *WINDOWS], r"^ toy +([\d.]+% +){5}[\d.]+$"),
        ):
            narrow.file = io.StringIO()
            assert ran(capsys, "cascade", *words)[0] == 0
            printed = "\n".join(line.rstrip() for line in narrow.file.getvalue().splitlines())
            assert re.search(row, printed, re.MULTILINE), printed

    @posix
    def test_progress_on_a_terminal(self, cascade_folder):
        text, code = shown_on_terminal(*ADAPT, "--out", "a.xml")
        assert code == 0
        assert "adapting" in text
