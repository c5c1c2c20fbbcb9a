"""``ocboost cascade adapt``, and what it refuses."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from PIL import Image

from ocboost.cascade import StageAdapter, WholeAdapter, accepts, detect, read_cascade, stage_sums
from ocboost.cascade.bounds import share_bounds
from ocboost.cascade.measure import measure_cascade, trees_evaluated
from ocboost.cli import cascade_adapt
from tests.support.cascades import as_xml, random_cascade
from tests.support.cli_runs import left_in, ran, refused
from tests.support.toy_cascade import (
    ADAPT,
    SIZES,
    WINDOWS,
    N,
    noisy,
    picture_of,
    toy_cascade,
    write_folder,
    write_mosaic,
)


class TestAdapt:
    def test_whole(self, cascade_folder, capsys):
        code, printed, err = ran(capsys, *ADAPT, "--out", "a.xml")
        assert code == 0
        assert err == (
            "ocboost: the last stage's threshold was set by only 36 faces held out: its share of hits is "
            "rough. Thousands of faces help.\n"
        )
        assert "A picture has some hundred thousand windows: --false-positives 1e-4, or less," in printed
        assert "Shown 360 faces and 360 others." in printed
        assert "On 40 faces and 40 others that were not shown" in " ".join(printed.split())
        assert "Wrote a.xml" in printed
        assert "ocboost cascade evaluate toy.xml a.xml --faces … --others …" in printed
        adapted = read_cascade("a.xml").cascade
        assert np.diff(adapted.stage_tree).tolist()[-3:] == [sum(SIZES) // 30, sum(SIZES) // 5, sum(SIZES)]
        assert left_in(cascade_folder) == []

    def test_it_tells_faces_better(self, cascade_folder, capsys):
        assert ran(capsys, *ADAPT, "--out", "a.xml", "--keep", "0")[0] == 0
        faces, others = noisy(12, 1000)
        before = measure_cascade("", read_cascade("toy.xml").cascade, faces, others)
        after = measure_cascade("", read_cascade("a.xml").cascade, faces, others)
        assert after.one_minus_auc < 0.8 * before.one_minus_auc
        assert 0.85 < after.hits < 1

    def test_what_is_said_is_so(self, cascade_folder, capsys):
        printed = ran(capsys, *ADAPT, "--out", "a.xml", "--hits", "0.9", "--seed", "3")[1]
        rng = np.random.default_rng(3)
        tests = [windows[rng.permutation(N)[9::10]] for windows in noisy(11, N)]
        for word, file in (("before", "toy.xml"), ("after", "a.xml")):
            cascade = read_cascade(file).cascade
            share = r"([\d.]+)% \(([\d.]+)%–([\d.]+)%\) +"
            row = re.search(rf"{word} +{share}{share}([\d.]+) +(\d+)", printed)
            *shares, cost, stages = map(float, row.groups())
            for k, test in enumerate(tests):
                accepted = accepts(cascade, test)
                wanted = [accepted.mean(), *share_bounds(int(accepted.sum()), len(test))]
                assert shares[3 * k : 3 * k + 3] == pytest.approx([100 * w for w in wanted], abs=0.051)
            assert cost == pytest.approx(trees_evaluated(cascade, tests[1]).mean(), abs=0.05)
            assert stages == cascade.n_stages

    def test_few_others_cannot_tell(self, cascade_folder, capsys, monkeypatch):
        monkeypatch.setattr(cascade_adapt, "MAX_FALSE_POSITIVES", 0.3)
        code, printed, err = ran(capsys, *ADAPT, "--out", "a.xml", "--hits", "0.02")
        assert code == 0
        assert "40 others cannot tell how often it is wrong: up to 7.22% may pass" not in err
        monkeypatch.setattr(cascade_adapt, "MAX_FALSE_POSITIVES", 1e-3)
        code, printed, err = ran(capsys, *ADAPT, "--out", "b.xml", "--hits", "0.02")
        assert (code, "0.000% (0.000%–7.216%)" in printed) == (0, True)
        assert "40 others cannot tell how often it is wrong: up to 7.22% may pass" in err
        assert "ocboost cascade evaluate toy.xml b.xml --boxes …" in err

    def test_stages(self, cascade_folder, capsys):
        words = ["--mode", "stages", "--pass-rate", "0.9", "--out", "a.xml"]
        code, printed, err = ran(capsys, *ADAPT, *words)
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
            assert f"{changed} of 3 stages got new weights" in printed
        assert "A picture has some hundred thousand windows: a lower --pass-rate finds less" in printed
        assert err == ""  # 72 faces held out, of which a tenth may fail

    def test_thresholds_by_the_worst_face(self, cascade_folder, capsys):
        code, _, err = ran(capsys, *ADAPT, "--mode", "stages", "--out", "a.xml")
        assert code == 0
        assert err == (
            "ocboost: 72 faces held out are too few for a pass rate of 0.998: each threshold was set by the "
            "single worst of them.\n"
        )
        write_mosaic(cascade_folder / "few.png", noisy(12, 90)[0])
        words = ["--faces", "few.png", "--others", "others.png", "--mode", "stages", "--smoothing", "200"]
        err = ran(capsys, "cascade", "adapt", "toy.xml", *words, "--out", "b.xml")[2]
        assert (
            "only 16 faces were held out, and thresholds are set by 20 or more: they have not changed" in err
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
    def test_few_beside_the_smoothing(self, cascade_folder, capsys, words, what):
        settings = {"--mode": "stages", "--pass-rate": "0.9", "--smoothing": "200"}
        settings |= dict(zip(words[::2], words[1::2], strict=True))
        words = [word for pair in settings.items() for word in pair]
        code, _, err = ran(capsys, "cascade", "adapt", "toy.xml", *WINDOWS, *words, "--out", "a.xml")
        assert code == 0
        assert ("are few beside" in err) == (what is not None)
        assert what is None or what in err

    def test_seeds(self, cascade_folder, capsys):
        for name, seed in (("a.xml", 1), ("b.xml", 1), ("c.xml", 2)):
            assert ran(capsys, *ADAPT, "--out", name, "--seed", seed)[0] == 0
        a, b, c = ((cascade_folder / name).read_bytes() for name in ("a.xml", "b.xml", "c.xml"))
        assert a == b != c

    def test_options_reach_the_adapter(self, cascade_folder, capsys, monkeypatch):
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

    def test_folders_and_windows_without_contrast(self, cascade_folder, capsys):
        faces, others = noisy(13, 100)
        faces[:4] = 90
        others[:7] = 12
        write_folder(cascade_folder / "f", faces)
        write_folder(cascade_folder / "o", np.kron(others, np.ones((1, 2, 2), np.uint8)), ".bmp")
        (cascade_folder / "o" / "notes.txt").write_text("")
        code, printed, err = ran(
            capsys, "cascade", "adapt", "toy.xml", "--faces", "f", "--others", "o", "--out", "a.xml"
        )
        assert code == 0
        assert "Shown 87 faces and 84 others." in printed
        assert "4 faces and 7 others more had no contrast" in printed
        assert "the last stage's threshold was set by only 8 faces held out" in err
        assert "changed little" not in err
        assert "1 of 101 things in 'o' is no image and was left out." in err
        assert "100 of 100 images in 'o' were scaled to 24 × 24 pixels." in err
        sums = [stage_sums(read_cascade(name).cascade, faces[4:])[:, -1] for name in ("toy.xml", "a.xml")]
        assert not np.allclose(*sums)  # few windows, and yet the scale was fitted

    def test_opencv_loads_it(self, cascade_folder, capsys):
        cv2 = pytest.importorskip("cv2")
        assert ran(capsys, *ADAPT, "--out", "a.xml")[0] == 0
        loaded = cv2.CascadeClassifier("a.xml")
        assert not loaded.empty()
        adapted = read_cascade("a.xml").cascade
        picture = picture_of(noisy(14, 1, noise=10)[0][0])
        theirs = sorted(tuple(box) for box in np.asarray(loaded.detectMultiScale(picture)).tolist())
        assert sorted(detect(adapted, picture)) == theirs

    def test_overwrite(self, cascade_folder, capsys):
        (cascade_folder / "a.xml").write_text("older")
        printed = refused(capsys, *ADAPT, "--out", "a.xml")
        assert (
            "--out must be a new file; 'a.xml' exists already. Give another name, or --overwrite" in printed
        )
        assert (cascade_folder / "a.xml").read_text() == "older"
        assert ran(capsys, *ADAPT, "--out", "a.xml", "--overwrite")[0] == 0
        assert read_cascade("a.xml").cascade.n_trees > sum(SIZES)

    def test_packed(self, cascade_folder, capsys):
        assert ran(capsys, *ADAPT, "--out", "a.xml.gz")[0] == 0
        assert gzip.decompress((cascade_folder / "a.xml.gz").read_bytes()).startswith(b"<?xml")

    @pytest.mark.parametrize("mode", ["whole", "stages"])
    def test_ctrl_c(self, cascade_folder, capsys, monkeypatch, mode):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(WholeAdapter if mode == "whole" else StageAdapter, "update", interrupted)
        code, _, err = ran(capsys, *ADAPT, "--out", "a.xml", "--mode", mode)
        assert (code, err) == (130, "ocboost: interrupted; nothing was written to 'a.xml'.\n")
        assert not (cascade_folder / "a.xml").exists()
        assert left_in(cascade_folder) == []


class TestAdaptRefusals:
    """Each is one line; an older file stays, and nothing is left behind."""

    @pytest.fixture(autouse=True)
    def older(self, cascade_folder):
        (cascade_folder / "out.xml").write_text("older")
        yield
        assert (cascade_folder / "out.xml").read_text() == "older"
        assert left_in(cascade_folder) == []

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
    def test_no_cascade(self, cascade_folder, capsys, content, what):
        if content is None:
            content = as_xml(toy_cascade()).replace(b"HAAR", b"LBP")
        (cascade_folder / "bad.xml").write_bytes(content)
        for words in (["info", "bad.xml"], ["detect", "bad.xml", "faces.png", "--out", "found"]):
            assert what in refused(capsys, "cascade", *words)
        printed = refused(capsys, "cascade", "evaluate", "toy.xml", "bad.xml", *WINDOWS, "--out", "report")
        assert what in printed
        assert what in self.refused(capsys, detector="bad.xml")
        assert not (cascade_folder / "found").exists()
        assert not (cascade_folder / "report").exists()

    def test_trees(self, cascade_folder, capsys):
        (cascade_folder / "trees.xml").write_bytes(as_xml(random_cascade(max_nodes=3)))
        assert "a cascade of stumps; this one has trees" in self.refused(capsys, detector="trees.xml")

    def test_no_windows(self, cascade_folder, capsys):
        (cascade_folder / "empty").mkdir()
        assert "--faces must be a folder" in self.refused(capsys, faces="empty")
        assert "--others must be a folder" in self.refused(capsys, others="empty")
        assert "'none' does not exist" in self.refused(capsys, others="none")
        Image.new("L", (100, 100)).save("odd.png")
        assert "it is a PNG of 100 × 100" in self.refused(capsys, faces="odd.png")
        (cascade_folder / "cut.png").write_bytes((cascade_folder / "faces.png").read_bytes()[:5000])
        assert "'cut.png' must be an image" in self.refused(capsys, faces="cut.png")
        (cascade_folder / "clip.avi").write_bytes(b"")
        printed = self.refused(capsys, faces="clip.avi")
        assert (
            "--faces must be a folder of windows of 24 × 24 pixels, or an image; 'clip.avi' is a v" in printed
        )
        assert "Videos are for detect" in printed

    def test_too_few(self, cascade_folder, capsys):
        write_mosaic(cascade_folder / "few.png", noisy(1, 40)[0])
        printed = self.refused(capsys, faces="few.png")
        assert (
            "--faces must hold at least 50 windows with contrast; 'few.png' holds 40. Collect more" in printed
        )
        write_mosaic(cascade_folder / "flat.png", np.full((90, 24, 24), 3, np.uint8))
        assert "holds 0, and 90 without contrast" in self.refused(capsys, others="flat.png")

    @pytest.mark.parametrize("mode", ["whole", "stages"])
    def test_turned_round(self, cascade_folder, capsys, mode):
        printed = self.refused(capsys, "--mode", mode, faces="others.png", others="faces.png")
        assert "Are the two turned round?" in printed

    def test_out_and_settings_before_the_work(self, cascade_folder, capsys, monkeypatch):
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
    def test_usage(self, cascade_folder, capsys, words):
        assert self.refused(capsys, *words, code=2).endswith("See: ocboost cascade --help\n")
