"""``ocboost cascade evaluate --boxes``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import io
import json
import re
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from ocboost.cascade import read_annotations, read_cascade
from ocboost.cascade.bounds import share_bounds
from ocboost.cascade.measure import measure_cascade
from ocboost.cascade.picture_cost import PictureCosts
from ocboost.cascade.picture_measure import bootstrap_difference, measure_on_pictures
from ocboost.cli.cascade_evaluate_pictures import _remarks, print_picture_table
from tests.support.cascades import as_xml
from tests.support.cli_runs import ran, refused
from tests.support.judged_pictures import judged_pictures, splitting_cascade, write_marked
from tests.support.toy_cascade import WINDOWS, N, noisy, write_video

EVALUATE = ["cascade", "evaluate"]
BOTH = [*EVALUATE, "one.xml", "two.xml.xml", "--boxes", "marked.json", "--out", "report"]
FILES = ["curve.png", "curve.svg", "results.json"]
posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs names that Windows refuses")


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """A folder with two detectors and pictures with boxes; the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.xml").write_bytes(as_xml(splitting_cascade()))
    (tmp_path / "two.xml.xml").write_bytes(as_xml(splitting_cascade(4)))
    write_marked(tmp_path)
    return tmp_path


def written(folder, out="report"):
    assert sorted(path.name for path in (folder / out).iterdir()) == FILES
    assert (folder / out / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / out / "curve.svg").read_bytes().startswith(b"<?xml")
    return json.loads((folder / out / "results.json").read_text())


def measured(name, file, annotated, **settings):
    return measure_on_pictures(name, read_cascade(file).cascade, annotated, **settings)


def row_of(printed, name):
    return re.search(rf"^ {re.escape(name)} +(\S.*?) *$", printed, re.MULTILINE).group(1)


def bounded(value, bounds, form):
    return f"{value:{form}} ({bounds[0]:{form}}–{bounds[1]:{form}})"


class TestResults:
    def test_two_detectors(self, marked, capsys):
        code, printed, err = ran(capsys, *BOTH)
        assert code == 0
        record = written(marked)
        annotated = read_annotations("marked.json", min_side=7)
        faces = annotated.n_faces
        assert faces == sum(len(picture.boxes) for picture in judged_pictures())
        assert re.search("1 of 22 boxes .* less than 7 pixels", err)
        own = [measured("one", "one.xml", annotated), measured("two.xml", "two.xml.xml", annotated)]
        assert record["standings"] == json.loads(json.dumps([each.as_dict() for each in own]))
        assert record["detectors"] == ["one.xml", "two.xml.xml"]
        assert (record["boxes"], record["format"]) == ("marked.json", "COCO (marked.json)")
        assert (record["n_pictures"], record["n_faces"]) == (7, faces)
        settings = {"scale_factor": 1.1, "min_neighbors": 3, "min_size": None, "iou": 0.5}
        assert record["settings"] == settings
        assert record["pictures"] == [picture.name for picture in judged_pictures()]
        assert record["faces"] == own[0].faces.tolist()
        difference = bootstrap_difference(*own)
        assert record["against_the_first"] == json.loads(
            json.dumps([{"name": "two.xml", **difference.as_dict()}])
        )
        cost = record["processor_time"]
        assert list(cost["ms"]) == list(cost["ratios"]) == ["one", "two.xml"]
        assert (cost["ratios"]["one"], cost["pictures"]) == (1, 7)
        assert {"ocboost", "numpy", "pillow"} <= set(record["versions"])

        assert f"marked.json: COCO (marked.json); 7 pictures with {faces} faces.\n" in printed
        assert f"On 7 pictures with {faces} faces" in printed
        for each in own:
            cells = [
                bounded(each.recall, each.recall_bounds, ".1%"),
                bounded(each.alarms_per_picture, each.alarms_per_picture_bounds, ",.2f"),
                bounded(each.alarms_per_million, each.alarms_per_million_bounds, ",.2f"),
                *(f"{each.curve.misses_at(alarms):.1%}" for alarms in (0.1, 0.3, 1)),
                f"{cost['ms'][each.name]:.3g} (× {cost['ratios'][each.name]:.2f})",
            ]
            assert re.split(" {2,}", row_of(printed, each.name)) == cells
        low, high = difference.misses_bounds
        few, many = difference.alarms_per_picture_bounds
        assert (
            f"\ntwo.xml against one: misses {difference.misses:+.1%} of the faces ({low:+.1%} to "
            f"{high:+.1%}), false alarms {difference.alarms_per_picture:+.2f} a picture "
            f"({few:+.2f} to {many:+.2f}).\n"
        ) in printed
        assert "In brackets: 95 % bounds." in printed
        assert "min_neighbors 3; a face is found by a detection that overlaps it by 0.5 or more" in printed
        assert "Misses at 0.1, 0.3, 1: the share of faces missed with at most so many false alarms" in printed
        assert f"Wrote curve.png, curve.svg, results.json to {(marked / 'report').resolve()}" in printed
        notes = [
            f"only 7 pictures with {faces} faces: the bounds are wide. More pictures with boxes help.",
            "0.1 false alarms a picture are less than one in 7 pictures: there, none may happen.",
        ]
        assert record["notes"][:2] == notes
        assert err.splitlines()[-len(record["notes"]) :] == [f"ocboost: {note}" for note in record["notes"]]

    def test_every_option_counts(self, marked, capsys):
        words = ["--scale-factor", "1.3", "--min-neighbors", "1", "--min-size", "15", "--iou", "0.3"]
        code, printed, _ = ran(capsys, *BOTH, *words)
        assert code == 0
        settings = {"scale_factor": 1.3, "min_neighbors": 1, "min_size": (15, 15), "iou": 0.3}
        record = written(marked)
        assert record["settings"] == {**settings, "min_size": [15, 15]}
        annotated = read_annotations("marked.json", min_side=15)
        assert 0 < record["n_faces"] < sum(len(picture.boxes) for picture in judged_pictures())
        expected = measured("one", "one.xml", annotated, **settings)
        assert record["standings"][0] == json.loads(json.dumps(expected.as_dict()))
        for option, value in {"scale_factor": 1.1, "min_neighbors": 3, "min_size": None, "iou": 0.5}.items():
            other = measured("one", "one.xml", annotated, **{**settings, option: value})
            assert other.as_dict() != expected.as_dict()
        assert "min_neighbors 1; a face is found by a detection that overlaps it by 0.3 or more" in printed

    def test_one_detector_and_pictures_elsewhere(self, marked, capsys):
        (marked / "elsewhere").mkdir()
        (marked / "marked.json").rename(marked / "elsewhere" / "marked.json")
        words = [*EVALUATE, "one.xml", "--boxes", "elsewhere/marked.json", "--out", "report"]
        assert "--images" in refused(capsys, *words)
        code, printed, _ = ran(capsys, *words, "--images", ".")
        assert code == 0
        record = written(marked)
        assert record["against_the_first"] == []
        assert " against " not in printed

    def test_a_video(self, marked, capsys):
        write_video(marked / "v.avi", frames=7)
        rows = [f"frame-{n:06d},5,5,20,20" for n in range(7)]
        (marked / "v.csv").write_text("\n".join(["image,x,y,w,h", *rows]))
        words = ["--boxes", "v.csv", "--images", "v.avi", "--every", "3", "--out", "report"]
        code, printed, _ = ran(capsys, *EVALUATE, "one.xml", *words)
        assert code == 0
        assert written(marked)["faces"] == [1, 1, 1]
        assert "On 3 pictures with 3 faces" in printed

    def test_without_opencv(self, marked, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, "cv2", None)
        code, printed, err = ran(capsys, *BOTH)
        assert code == 0
        remark = "the time is that of ocboost's own detection, as OpenCV is not installed"
        assert remark in err
        record = written(marked)
        assert record["notes"][-1].startswith(remark)
        assert record["processor_time"]["measured_with"] == "ocboost"
        assert "ms a picture: processor time of ocboost's own detection;" in printed

    def test_windows_have_bounds_too(self, cascade_folder, capsys):
        printed = ran(capsys, *EVALUATE, "toy.xml", *WINDOWS, "--out", "report")[1]
        own = measure_cascade("toy", read_cascade("toy.xml").cascade, *noisy(11, N))
        low, high = share_bounds(round(own.false_positives * N), N)
        assert f"False positives, 95 % bounds: toy {low:.3%} to {high:.3%}.\n" in printed
        record = json.loads((cascade_folder / "report" / "results.json").read_text())
        assert record["standings"][0]["false_positives_bounds"] == [low, high]


class TestEdges:
    def test_no_faces(self, marked, capsys):
        (marked / "empty").mkdir()
        for name in ("3.png", "4.png"):
            (marked / name).rename(marked / "empty" / name)
        words = [*EVALUATE, "one.xml", "two.xml.xml", "--boxes", "empty", "--out", "report"]
        code, printed, err = ran(capsys, *words)
        assert code == 0
        assert re.fullmatch(
            r"–  \d.*\)  \d.*\)  –  –  –  \S.*\)", re.sub(" {2,}", "  ", row_of(printed, "one"))
        )
        assert re.search(r"two.xml against one: false alarms [+-][\d.]+ a picture \(", printed)
        assert "On 2 pictures with 0 faces" in printed
        assert "no picture has a face: recall and misses are not defined, false alarms are." in err
        record = written(marked)
        assert [each["recall"] for each in record["standings"]] == [None, None]
        assert record["against_the_first"][0]["misses"] is None
        assert record["notes"][0].startswith("no picture has a face")

    def test_one_picture(self, marked, capsys):
        (marked / "a.csv").write_text("image,x,y,w,h\n0.png,3,4,20,20\n")
        words = [*EVALUATE, "one.xml", "two.xml.xml", "--boxes", "a.csv", "--out", "report"]
        code, printed, err = ran(capsys, *words)
        assert code == 0
        assert "On 1 picture with 1 face\n" in re.sub(" +\n", "\n", printed)
        assert re.search(r"against one: misses \S+ of the faces, false alarms \S+ a picture\.\n", printed)
        assert "only 1 picture with 1 face: the bounds are wide" in err
        assert "0.1 and 0.3 false alarms a picture are less than one in 1 picture: there" in err
        assert written(marked)["against_the_first"][0]["misses_bounds"] is None

    def test_a_picture_that_is_smaller_than_the_window(self, marked, capsys):
        (marked / "a.csv").write_text("image,x,y,w,h\ntiny.png,,,,\n")
        code, printed, _ = ran(capsys, *EVALUATE, "one.xml", "--boxes", "a.csv", "--out", "report")
        assert code == 0
        assert re.match(r"– +0\.00 \(0\.00–3\.00\)( +–){4} ", row_of(printed, "one"))
        assert written(marked)["standings"][0]["windows"] == 0

    def test_a_detector_that_finds_nothing(self, marked, capsys):
        deaf = splitting_cascade().with_thresholds([99] * 3)
        (marked / "deaf.xml").write_bytes(as_xml(deaf))
        code, printed, _ = ran(capsys, *EVALUATE, "deaf.xml", "--boxes", "marked.json", "--out", "report")
        assert code == 0
        assert re.match(
            r"0\.0% \(0\.0%–\d+\.\d%\) +0\.00 \(0\.00–0\.43\) .* 100\.0% +100\.0% +100\.0% ",
            row_of(printed, "deaf"),
        )

    def test_detectors_of_the_same_name(self, marked, capsys):
        (marked / "other").mkdir()
        (marked / "other" / "one.xml").write_bytes(as_xml(splitting_cascade(4)))
        for files, names in (
            (["one.xml", "other/one.xml"], ["one.xml", "other/one.xml"]),
            (["one.xml", "other/../one.xml"], ["one.xml", "other/../one.xml"]),
            (["one.xml", "./one.xml"], ["1: one.xml", "2: one.xml"]),
        ):
            code, printed, _ = ran(capsys, *EVALUATE, *files, "--boxes", "marked.json", "--out", "report")
            assert code == 0
            assert f"\n{names[1]} against {names[0]}: " in printed
            assert list(written(marked)["processor_time"]["ms"]) == names

    @posix
    def test_hostile_names(self, marked, capsys):
        evil = "\x1b[31m\u202e$\\bad{$\n"
        (marked / f"{evil}.xml").write_bytes(as_xml(splitting_cascade()))
        (marked / evil).mkdir()
        (marked / f"other{evil}").mkdir()
        (marked / f"other{evil}" / f"{evil}.xml").write_bytes(as_xml(splitting_cascade(4)))
        (marked / evil / f"{evil}.png").write_bytes((marked / "0.png").read_bytes())
        for files in ([f"{evil}.xml"], [f"{evil}.xml", f"other{evil}/{evil}.xml"]):
            code, printed, err = ran(capsys, *EVALUATE, *files, "--boxes", evil, "--out", "report")
            assert code == 0
            text = json.dumps(written(marked), ensure_ascii=False)
            for word in (printed, err, text):
                assert "\x1b" not in word
                assert "\u202e" not in word
            assert "\\x1b[31m\\u202e$" in printed
        assert written(marked)["pictures"] == ["\\x1b[31m\\u202e$\\bad{$\\n.png"]

    def test_progress(self, marked, capsys, monkeypatch):
        told = []

        @contextmanager
        def steps(title):
            yield lambda *words: told.append((title, *words))

        monkeypatch.setattr("ocboost.cli.cascade_evaluate_pictures.steps_progress", steps)
        assert ran(capsys, *BOTH)[0] == 0
        names = [picture.name for picture in judged_pictures()]
        looked_at = [f"{detector}, {name}" for detector in ("one", "two.xml") for name in names]
        assert told == [
            ("reading", "--boxes", 0, 1),
            *(("evaluating", what, n, 14) for n, what in enumerate(looked_at, 1)),
            *(("timing", name, n, 7) for n, name in enumerate(names, 1)),
        ]

    def test_narrow_terminals_break_no_numbers(self, marked):
        narrow = Console(highlight=False, markup=False, width=30, file=io.StringIO())
        own = measure_on_pictures("one", splitting_cascade(), judged_pictures())
        print_picture_table(narrow, [own], PictureCosts({"one": 12.5}, 7, True), "On some")
        cells = re.split(" {2,}", row_of(narrow.file.getvalue(), "one"))
        assert (len(cells), cells[-1]) == (7, "12.5 (× 1.00)")


class TestRemarks:
    def said(self, n, faces_each):
        """Of so many tiny pictures."""
        own = measure_on_pictures("x", splitting_cascade(), [judged_pictures()[-1]] * n)
        costs = PictureCosts({"x": 1.0}, n, True)
        return _remarks(replace(own, faces=np.full(n, faces_each)), costs)

    def test_none_where_there_is_enough(self):
        assert self.said(30, 2) == []
        wide = "the bounds are wide. More pictures with boxes help."
        assert self.said(30, 1) == [f"only 30 pictures with 30 faces: {wide}"]
        assert self.said(29, 40) == [f"only 29 pictures with 1,160 faces: {wide}"]

    @pytest.mark.parametrize(
        ("n", "beyond"), [(10, None), (9, "0.1"), (4, "0.1"), (3, "0.1 and 0.3"), (1, "0.1 and 0.3")]
    )
    def test_rates_beyond_the_pictures(self, n, beyond):
        said = [remark for remark in self.said(n, 90) if "less than one" in remark]
        word = "picture" if n == 1 else "pictures"
        text = f"{beyond} false alarms a picture are less than one in {n} {word}: there, none may happen."
        assert said == ([] if beyond is None else [text])


class TestRefusals:
    def test_no_detector(self, marked, capsys):
        assert "DETECTORS is missing: give at least one detector." in refused(
            capsys, *EVALUATE, "--boxes", "marked.json", code=2
        )

    @pytest.mark.parametrize("option", ["--faces", "--others"])
    def test_windows_and_pictures(self, marked, capsys, option):
        said = refused(capsys, *BOTH, option, "x.png", code=2)
        assert (
            "--boxes and --faces or --others do not go together: give pictures with boxes, or windows."
            in said
        )

    @pytest.mark.parametrize("words", [[], ["--faces", "f.png"], ["--others", "o.png"]])
    def test_neither(self, marked, capsys, words):
        said = refused(capsys, *EVALUATE, "one.xml", *words, code=2)
        assert (
            "give pictures with boxes around the faces as --boxes, or windows as --faces and --others."
            in said
        )

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--images", "."),
            ("--scale-factor", "1.1"),
            ("--min-neighbors", "0"),
            ("--min-size", "24"),
            ("--iou", "0.5"),
            ("--every", "2"),
        ],
    )
    def test_options_of_pictures(self, marked, capsys, option, value):
        said = refused(capsys, *EVALUATE, "one.xml", *WINDOWS, option, value, code=2)
        assert f"{option} goes with --boxes: windows are judged as they are. Leave it out." in said

    @pytest.mark.parametrize("words", [[], ["--images", "."]])
    def test_every_picture_counts(self, marked, capsys, words):
        said = refused(capsys, *BOTH, *words, "--every", "2", code=2)
        assert "--every goes with a video as --images: pictures are all looked at. Leave it out." in said

    @pytest.mark.parametrize(
        "words",
        [
            ["--scale-factor", "1"],
            ["--min-neighbors", "-1"],
            ["--min-size", "0"],
            ["--iou", "0"],
            ["--iou", "1.01"],
            ["--every", "0"],
        ],
    )
    def test_numbers(self, marked, capsys, words):
        assert words[0] in refused(capsys, *BOTH, *words, code=2)

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (
                ["one.xml", "--boxes", "none.json"],
                "--boxes must be a JSON file of COCO.*'none.json' does not exist",
            ),
            (["one.xml", "--boxes", "0.png"], "--boxes must be .*'0.png' is a picture or a video"),
            (
                ["one.xml", "--boxes", "marked.json", "--images", "none"],
                "--images must be .*'none' does not exist",
            ),
            (["none.xml", "--boxes", "marked.json"], "'none.xml' does not exist"),
            (["one.xml", "marked.json", "--boxes", "marked.json"], "marked.json"),
        ],
    )
    def test_files(self, marked, capsys, words, text):
        assert re.search(text, refused(capsys, *EVALUATE, *words, "--out", "report"))
        assert not (marked / "report").exists()

    def test_a_damaged_picture(self, marked, capsys):
        data = (marked / "4.png").read_bytes()
        (marked / "4.png").write_bytes(data[: len(data) // 2])
        code, _, err = ran(capsys, *BOTH)
        assert code == 1
        assert "4.png" in err.splitlines()[-1]
        assert not (marked / "report").exists()

    def test_a_folder_that_cannot_be_written(self, marked, capsys):
        assert "can be written" in refused(capsys, *BOTH[:-1], "one.xml")

    @pytest.mark.parametrize("where", ["picture_measure.measure_on_pictures", "picture_cost.cpu_per_picture"])
    def test_ctrl_c(self, marked, capsys, monkeypatch, where):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(f"ocboost.cascade.{where}", interrupted)
        code, printed, err = ran(capsys, *BOTH)
        assert (code, printed) == (130, "")
        assert err.endswith("ocboost: interrupted; nothing was written to 'report'.\n")
        assert not (marked / "report").exists()


def test_help(capsys):
    code, printed, _ = ran(capsys, *EVALUATE, "--help")
    assert code == 0
    assert "ocboost cascade evaluate detector.xml adapted.xml --boxes marked.json" in printed
