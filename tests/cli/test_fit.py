"""``ocboost fit``: the model it writes, and what it refuses."""

from __future__ import annotations

import io

import numpy as np
import pytest

from ocboost.__main__ import main
from ocboost.deployment.model import Model
from ocboost.estimators.classifier import OCBClassifier
from tests.support.cli_runs import fitted, left_in, process, ran, refused, shown_on_terminal, table, write

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs a pseudo-terminal")


def fit(path, out, *words):
    method = [] if "--method" in words else ["--method", "ocb"]
    return ["fit", path, "--label", "y", "--out", out, "--hypotheses", "12", *method, *words]


class TestFit:
    def test_a_model_in_one_line(self, tmp_path, capsys):
        data = write(tmp_path / "data.csv", table(300))
        out = tmp_path / "model.ocb"
        code, printed, err = ran(capsys, "fit", data, "--label", "y", "--out", out)
        assert (code, err) == (0, "")
        assert "for 2 classes from 300 rows of 4 features" in printed
        assert f"Wrote {out}" in printed
        assert left_in(tmp_path) == []

    def test_few_rows_are_said_to_be_few(self, tmp_path, capsys):
        rows = [[*row[:4], k % 2] for k, row in enumerate(table(100))]
        code, _, err = ran(capsys, *fit(write(tmp_path / "d.csv", rows), tmp_path / "m.ocb"))
        assert (code, err) == (0, "")
        code, printed, err = ran(capsys, *fit(write(tmp_path / "d.csv", rows[:3]), tmp_path / "m.ocb"))
        assert code == 0
        assert "right on 100.0%" in printed
        assert "3 rows are few, less than 50 for each class: “right on 100.0%” is about the very rows" in err
        assert err.count("\n") == 1

    def test_is_what_the_library_fits(self, tmp_path):
        rows = table(300, 99)
        model = Model.load(fitted(tmp_path))
        X, y = np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])
        own = OCBClassifier("stump", 12, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.classifier.alpha_[0], own.alpha_[0])
        assert model.schema.feature_names == ("a", "b", "c", "d")
        assert model.history == [{"event": "fit", "stream": "train.csv", "rows": 300, "learnt": 300}]

    @pytest.mark.parametrize(
        "name", ["data.csv", "data.csv.gz", "data.jsonl", "data.jsonl.gz", "data.parquet"]
    )
    def test_formats_give_the_same_weights(self, name, tmp_path):
        path = write(tmp_path / name, table(300, 99))
        assert main([str(word) for word in fit(path, tmp_path / "m.ocb")]) == 0
        found = Model.load(tmp_path / "m.ocb").classifier.alpha_[0]
        np.testing.assert_array_equal(found, Model.load(fitted(tmp_path)).classifier.alpha_[0])

    def test_only_the_first_rows(self, tmp_path, capsys):
        path = write(tmp_path / "long.csv", table(1500, 3))
        few = write(tmp_path / "few.csv", table(1500, 3)[:1100])
        assert ran(capsys, *fit(path, tmp_path / "a.ocb", "--rows", "1100"))[0] == 0
        assert ran(capsys, *fit(few, tmp_path / "b.ocb"))[0] == 0
        a, b = (Model.load(tmp_path / name) for name in ("a.ocb", "b.ocb"))
        np.testing.assert_array_equal(a.classifier.alpha_[0], b.classifier.alpha_[0])
        assert a.history[0]["rows"] == 1100

    def test_unlabelled_rows_are_left_out(self, tmp_path, capsys):
        rows = table(300)
        rows[5][4] = rows[17][4] = None
        code, printed, _ = ran(capsys, *fit(write(tmp_path / "d.csv", rows), tmp_path / "m.ocb"))
        assert code == 0
        assert "from 298 rows" in printed
        assert "2 rows had no label" in printed

    def test_dropped_columns(self, tmp_path, capsys):
        path = write(tmp_path / "d.csv", table(300))
        assert ran(capsys, *fit(path, tmp_path / "m.ocb", "--drop", "a", "c"))[0] == 0
        assert Model.load(tmp_path / "m.ocb").schema.feature_names == ("b", "d")

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["--window", "30"], {"head": 30, "tail": False}),
            (["--head", "40", "--forgetting", "0.99"], {"head": 40, "tail": True, "forgetting": 0.99}),
            (["--head", "auto", "--smoothing", "0.5"], {"head": "auto", "smoothing": 0.5, "keep": None}),
            (["--memory", "9000"], {"memory": 9000, "head": "auto", "keep": None}),
            (["--memory", "20kB", "--keep", "newest"], {"memory": 20_000, "keep": "newest"}),
            (["--head", "50", "--keep", "heavy"], {"head": 50, "keep": "heavy", "memory": None}),
        ],
    )
    def test_how_it_follows(self, words, expected, tmp_path):
        parameters = Model.load(fitted(tmp_path, *words)).classifier.get_params()
        assert {key: parameters[key] for key in expected} == expected

    @pytest.mark.parametrize("labels", [["no", "yes", "[/red] perhaps"], [True, False], [1.0, 2.0, 7.0]])
    def test_kinds_of_labels(self, labels, tmp_path, capsys):
        rows = [[*row[:4], labels[i % len(labels)]] for i, row in enumerate(table(300))]
        assert ran(capsys, *fit(write(tmp_path / "d.csv", rows), tmp_path / "m.ocb"))[0] == 0
        assert Model.load(tmp_path / "m.ocb").classifier.classes_.tolist() == sorted(labels)

    def test_one_hypothesis_is_not_many(self, tmp_path, capsys):
        path = write(tmp_path / "d.csv", [[i, 0, 0, 0, int(i > 5)] for i in range(10)])
        assert "Learnt 1 hypothesis for" in ran(capsys, *fit(path, tmp_path / "m.ocb"))[1]


class TestRefusals:
    """Each is one line, and neither replaces an older model nor leaves anything behind."""

    @pytest.fixture(autouse=True)
    def older(self, tmp_path):
        (tmp_path / "out.ocb").write_text("older")
        yield
        assert (tmp_path / "out.ocb").read_text() == "older"
        assert left_in(tmp_path) == []

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("", "is empty"),
            ("a,b,y\n", "holds no rows"),
            ("a,b,z\n1,2,0\n", "label must name a column of"),
            ("a,b,y\n1,2,0\n3,1,0\n", "at least two classes; it is 0 in all 2 rows"),
            ("a,b,y\n1,2,\n3,1,\n", "must have labels among the first rows"),
            ("a,b,y\n1,2,0.5\n3,1,0.25\n", "numbers with fractions: 0.25, 0.5"),
            ("a,b,y\n1,inf,0\n3,1,1\n", "column 'b' must hold finite numbers; got inf in row 0"),
            ("a,b,y\n1,2,0\n3,1,1\n4,", "ends in the middle of a row"),
            ("y\n1\n0\n", "besides the label"),
            ("a,b,y\n1,2,0\n3,1,1,7\n", "line 3"),
        ],
    )
    def test_bad_data(self, text, what, tmp_path, capsys):
        path = tmp_path / "d.csv"
        path.write_text(text)
        assert what in refused(capsys, *fit(path, tmp_path / "out.ocb"))

    def test_numbers_that_are_no_classes(self, tmp_path, capsys):
        rows = [[*row[:4], i] for i, row in enumerate(table(100))]
        message = refused(capsys, *fit(write(tmp_path / "d.csv", rows), tmp_path / "out.ocb"))
        assert "it holds 100 values in 100 rows: 0, 1, 2, …" in message

    def test_too_many_classes(self, tmp_path, capsys):
        rows = [[*row[:4], i % 1001] for i, row in enumerate(table(3003))]
        message = refused(capsys, *fit(write(tmp_path / "d.csv", rows), tmp_path / "out.ocb"))
        assert "at most 1,000" in message

    def test_balls_need_every_number(self, tmp_path, capsys):
        rows = table(1300)
        rows[1234][2] = None
        message = refused(
            capsys, *fit(write(tmp_path / "d.csv", rows), tmp_path / "out.ocb", "--learner", "ball")
        )
        assert "'c' is missing in row 1234 (the first is row 0), and balls need every number" in message

    def test_no_such_file(self, tmp_path, capsys):
        assert "No such file" in refused(capsys, *fit(tmp_path / "none.csv", tmp_path / "out.ocb"))

    def test_strange_ending(self, tmp_path, capsys):
        assert "ending" in refused(capsys, *fit(tmp_path / "out.ocb", tmp_path / "other.ocb"))


class TestOut:
    @pytest.mark.parametrize(
        ("out", "what"),
        [
            (".", "must be a file; got the folder"),
            ("none/m.ocb", "must lie in a folder that exists"),
            ("d.csv", "must not be the data"),
            ("/dev/null", "must be an ordinary file"),
        ],
    )
    def test_found_before_the_work(self, out, what, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        data = write(tmp_path / "d.csv", table(20)).read_bytes()
        monkeypatch.setattr(OCBClassifier, "fit", None)
        assert what in refused(capsys, *fit("d.csv", out))
        assert (tmp_path / "d.csv").read_bytes() == data

    def test_a_folder_that_cannot_be_written(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
        path = write(tmp_path / "d.csv", table(20))
        assert "can be written" in refused(capsys, *fit(path, tmp_path / "m.ocb"))


class TestUsage:
    @pytest.mark.parametrize(
        "words",
        [
            [],
            ["--window", "3", "--head", "3"],
            ["--window", "3", "--memory", "9000"],
            ["--head", "3", "--memory", "9000"],
            ["--memory", "0"],
            ["--memory", "-4"],
            ["--memory", "4 apples"],
            ["--memory", "1.5MB"],
            ["--keep", "last"],
            ["--keep", "heavy", "--window", "30"],
            ["--keep", "heavy", "--grow", "200"],
            ["--head", "many"],
            ["--head", "0"],
            ["--window", "0"],
            ["--forgetting", "0"],
            ["--forgetting", "1.1"],
            ["--smoothing", "-1"],
            ["--jobs", "0"],
            ["--seed", str(2**32)],
            ["--hypotheses", "0"],
            ["--rows", "0"],
            ["--learner", "forest"],
            ["--format", "xls"],
        ],
    )
    def test_wrong_usage(self, words, tmp_path, capsys):
        path = write(tmp_path / "d.csv", table(20))
        all_words = fit(path, tmp_path / "m.ocb", *words) if words else ["fit", path]
        message = refused(capsys, *all_words, code=2)
        assert message.endswith("See: ocboost fit --help\n")

    def test_help_has_examples(self, capsys):
        code, printed, _ = ran(capsys, "fit", "--help")
        assert code == 0
        lines = [line.strip() for line in printed.splitlines()]
        assert "ocboost fit data.csv --label y --out model.ocb" in lines


class TestProcess:
    def test_quiet_when_piped(self, tmp_path):
        path = write(tmp_path / "data.csv", table(300))
        words = ["fit", path, "--label", "y", "--out", tmp_path / "m.ocb", "--hypotheses", "5"]
        done = process(*words, fresh=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout

    def test_standard_input(self, tmp_path):
        path = write(tmp_path / "data.csv", table(300))
        done = process(*fit("-", tmp_path / "m.ocb"), input=path.read_text())
        assert (done.returncode, done.stderr) == (0, "")
        assert Model.load(tmp_path / "m.ocb").classifier.boosters_[0].n_seen == 300

    @posix
    def test_progress_on_a_terminal(self, tmp_path):
        path = write(tmp_path / "data.csv", table(300))
        text, code = shown_on_terminal(*fit(path, tmp_path / "m.ocb"))
        assert code == 0
        assert "learning" in text
        assert "up to 12 hypotheses from 300 rows" in text


def test_ctrl_c(tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(OCBClassifier, "fit", interrupted)
    path = write(tmp_path / "d.csv", table(20))
    code, _, err = ran(capsys, *fit(path, tmp_path / "m.ocb"))
    assert (code, err) == (130, "ocboost: interrupted.\n")
    assert not (tmp_path / "m.ocb").exists()


def test_odd_names_are_shown_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    path = write(tmp_path / "[red]d.csv", table(30))
    assert main([str(word) for word in fit(path, tmp_path / ":smile: [b].ocb")]) == 0
    assert (tmp_path / ":smile: [b].ocb").exists()
