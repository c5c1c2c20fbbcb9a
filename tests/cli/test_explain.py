"""``ocboost explain``: what carried a prediction, and what has changed."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from ocboost import AdaptiveClassifier, OCBClassifier
from ocboost.deployment.model import Model
from tests.support.cli_runs import feed, fitted, ran, refused, table, write


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "data.csv", table(300, 5))


def shown_by(capsys, *words):
    code, out, err = ran(capsys, "explain", *words)
    assert (code, err) == (0, "")
    return out


def flat(text):
    return [" ".join(line.split()) for line in text.splitlines()]


class TestRows:
    def test_the_first_row(self, tmp_path, capsys, data):
        path = fitted(tmp_path)
        model = Model.load(path)
        x = np.array([table(300, 5)[0][:4]])
        why = model.classifier.explain(x, 3)[0]
        lines = flat(shown_by(capsys, path, data, "--top", "3"))
        assert lines[0] == f"Row 0: class {why.prediction}, probability {why.probability:.1%}"
        for part in why.hypotheses:  # under the names of the columns
            words = part.words.replace("x0", "a").replace("x1", "b").replace("x2", "c").replace("x3", "d")
            assert (
                f"{words} {'yes' if part.answer > 0 else 'no'} {part.weight:.3f} {part.contribution:+.3f}"
                in lines
            )
        assert f"9 others {why.other_hypotheses:+.3f}" in lines
        assert lines.count(f"score {why.score:+.3f}") == 2
        assert f"a {x[0, 0]:.6g} " in "\n".join(lines)

    def test_row_and_rows(self, tmp_path, capsys, data):
        path = fitted(tmp_path)
        tail = shown_by(capsys, path, data, "--row", "299")
        assert tail.startswith("Row 299: class ")
        many = shown_by(capsys, path, data, "--rows", "3")
        assert [line for line in many.splitlines() if line.startswith("Row ")][2].startswith("Row 2: ")
        third = shown_by(capsys, path, data, "--row", "2")
        assert many.endswith(third)
        assert len(re.findall("^Row ", shown_by(capsys, path, data, "--rows", "9999"), re.MULTILINE)) == 300

    def test_three_classes(self, tmp_path, capsys, data):
        assert shown_by(capsys, fitted(tmp_path, classes=3), data).startswith("Row 0: class ")

    def test_adaptive(self, tmp_path, capsys, data):
        path = fitted(tmp_path, "--method", "adaptive")
        before = path.read_bytes()
        out = shown_by(capsys, path, data, "--row", "7", "--changes")
        assert path.read_bytes() == before
        for text in ("ocb-forgetting", "gives this class", " points", "Since the model was deployed: "):
            assert text in out

    def test_standard_input(self, tmp_path, capsys, data, monkeypatch):
        path = fitted(tmp_path)
        expected = shown_by(capsys, path, data, "--row", "1")
        feed(monkeypatch, data.read_bytes())
        assert shown_by(capsys, path, "-", "--row", "1") == expected

    def test_categories(self, tmp_path, capsys):
        rows = [[row[0], "UA\x1b" if row[1] > 0 else "B6", int(row[1] > 0)] for row in table(200)]
        data = write(tmp_path / "c.csv", rows, ["a", "carrier", "y"])
        path = tmp_path / "m.ocb"
        assert ran(capsys, "fit", data, "--label", "y", "--method", "ocb", "--out", path)[0] == 0
        lines = flat(shown_by(capsys, path, data))
        assert any(re.match(r"carrier is (not )?(UA\\x1b|B6) (yes|no) ", line) for line in lines)
        assert any(re.match(r"carrier (UA\\x1b|B6) \+", line) for line in lines)

    def test_a_classifier_saved_in_python(self, tmp_path, capsys, data):
        X, y = np.array([row[:4] for row in table(300, 5)]), [row[4] for row in table(300, 5)]
        for clf in (OCBClassifier(n_hypotheses=5), AdaptiveClassifier(n_hypotheses=5, random_state=0)):
            clf.fit(X, y).save(tmp_path / "m.ocb")
            assert re.search(r"x\d (≤|>) ", shown_by(capsys, tmp_path / "m.ocb", data, "--drop", "y"))


class TestChanges:
    def test_since_it_was_fitted(self, tmp_path, capsys, data):
        path = fitted(tmp_path, "--grow", "14")
        assert flat(shown_by(capsys, path, "--changes")) == [
            "Since the model was deployed: 12 weights, none has changed"
        ]
        stream = write(tmp_path / "stream.csv", table(4000, 7))
        assert ran(capsys, "adapt", path, stream, "--out", tmp_path / "new.ocb")[0] == 0
        found = Model.load(tmp_path / "new.ocb").classifier.weight_changes(4)
        lines = flat(shown_by(capsys, tmp_path / "new.ocb", "--changes", "--top", "4"))
        assert lines[0].startswith(f"Since the model was deployed: {found.n_hypotheses} weights")
        assert len(lines) == 7
        assert lines[-1].endswith(f"{found.hypotheses[-1].change:+.3f}")


class TestOut:
    @pytest.mark.parametrize("method", ["ocb", "adaptive"])
    def test_files(self, method, tmp_path, capsys, data):
        path = fitted(tmp_path, "--method", method)
        for form in ("svg", "png", "html", "json"):
            out = tmp_path / f"why.{form}"
            printed = shown_by(capsys, path, data, "--changes", "--out", out, "--row", "4")
            assert printed.startswith("Row 4: ")
        assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
        assert b"contribution to the score" in (tmp_path / "why.svg").read_bytes()
        page = (tmp_path / "why.html").read_text("utf-8")
        assert "<svg " in page
        assert "Row 4" in page
        found = json.loads((tmp_path / "why.json").read_text("utf-8"))
        assert found["rows"][0]["row"] == 4
        assert {part["name"] for part in found["rows"][0]["features"]} <= set("abcd")
        assert found["changes"]["n_hypotheses"] == 12

    def test_the_same_bytes_again(self, tmp_path, capsys, data):
        path = fitted(tmp_path)
        pages = []
        for _ in range(2):
            shown_by(capsys, path, data, "--rows", "2", "--out", tmp_path / "why.html")
            pages.append((tmp_path / "why.html").read_bytes())
        assert pages[0] == pages[1]

    def test_nothing_to_draw(self, tmp_path, capsys):
        shown_by(capsys, fitted(tmp_path), "--changes", "--out", tmp_path / "none.svg")
        assert (tmp_path / "none.svg").stat().st_size > 0


class TestRefusals:
    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ([], "MODEL is missing"),
            (["m.ocb"], "name a file with rows to explain, or --changes"),
            (["m.ocb", "--changes", "--row", "1"], "--row needs a file with rows"),
            (["m.ocb", "--changes", "--rows", "1"], "--rows needs a file with rows"),
            (["m.ocb", "d.csv", "--row", "1", "--rows", "2"], "--row and --rows exclude each other"),
            (["m.ocb", "d.csv", "--row", "-1"], "--row"),
            (["m.ocb", "d.csv", "--top", "0"], "--top"),
            (["m.ocb", "d.csv", "--out", "why.pdf"], "--out must end in .svg, .png, .html or .json"),
            (["m.ocb", "d.csv", "--rows", "2", "--out", "why.svg"], "a picture shows one row"),
        ],
    )
    def test_usage(self, words, text, capsys):
        said = refused(capsys, "explain", *words, code=2)
        assert text in said
        assert said.endswith("See: ocboost explain --help\n")

    def test_no_such_row(self, tmp_path, capsys, data):
        model = fitted(tmp_path)
        for row in ("300", "9000"):
            said = refused(capsys, "explain", model, data, "--row", row)
            assert f"--row must be a row of the file; it has no row {row} (the first is row 0)" in said

    def test_out_is_an_input(self, tmp_path, capsys):
        data = write(tmp_path / "data.csv", table(30))
        path = fitted(tmp_path).rename(tmp_path / "m.json")
        before = path.read_bytes()
        assert "--out must not be the data" in refused(capsys, "explain", path, data, "--out", path)
        assert path.read_bytes() == before

    def test_no_model(self, tmp_path, capsys, data):
        assert "No such file" in refused(capsys, "explain", tmp_path / "none.ocb", data)
        assert "not an ocboost model" in refused(capsys, "explain", data, data)

    def test_a_missing_number(self, tmp_path, capsys):
        rows = [["", *row[1:]] for row in table(3)]
        path = fitted(tmp_path, "--learner", "ball")
        assert "is missing in row 0" in refused(capsys, "explain", path, write(tmp_path / "gap.csv", rows))
