"""``ocboost predict``: the model's answers as CSV."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

import numpy as np
import pytest

from ocboost.deployment.model import Model
from ocboost.estimators.classifier import OCBClassifier
from tests.support.cli_runs import fitted, process, ran, refused, shown_on_terminal, started, table, write

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs a pseudo-terminal")


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


class TestPredict:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_is_what_the_library_predicts(self, classes, tmp_path, capsys):
        model, rows = fitted(tmp_path, classes=classes), table(250, 4, classes)
        data = write(tmp_path / "d.csv", rows)
        code, printed, err = ran(capsys, "predict", model, data, "--batch", "100")
        assert (code, err) == (0, "")
        clf = Model.load(model).classifier
        X = np.array([row[:4] for row in rows])
        header, *found = rows_of(printed)
        assert header == ["prediction", "probability"]
        assert [int(row[0]) for row in found] == clf.predict(X).tolist()
        shares = clf.predict_proba(X)
        np.testing.assert_allclose([float(row[1]) for row in found], shares.max(axis=1), rtol=1e-5)
        header, *found = rows_of(ran(capsys, "predict", model, data, "--all")[1])
        assert header == ["prediction", *(f"p({k})" for k in range(classes))]
        np.testing.assert_allclose([[float(p) for p in row[1:]] for row in found], shares, rtol=1e-5)

    def test_labels_with_commas_and_quotes(self, tmp_path, capsys):
        labels = ['so, "so"', "yes\nand no"]
        rows = [[*row[:4], labels[row[4]]] for row in table(200)]
        data, model = write(tmp_path / "d.csv", rows), tmp_path / "m.ocb"
        assert ran(capsys, "fit", data, "--label", "y", "--out", model, "--hypotheses", "5")[0] == 0
        _, *found = rows_of(ran(capsys, "predict", model, data)[1])
        assert {row[0] for row in found} == set(labels)
        assert len(found) == 200

    @pytest.mark.parametrize("labels", [None, "", "strange", 9])
    def test_the_label_is_not_looked_at(self, labels, tmp_path, capsys):
        model, rows = fitted(tmp_path), table(30)
        expected = ran(capsys, "predict", model, write(tmp_path / "d.csv", rows))[1]
        if labels is None:
            data = write(tmp_path / "e.csv", [row[:4] for row in rows], ["a", "b", "c", "d"])
        else:
            data = write(tmp_path / "e.csv", [[*row[:4], labels] for row in rows])
        assert ran(capsys, "predict", model, data) == (0, expected, "")

    def test_other_order_and_other_columns(self, tmp_path, capsys):
        model, rows = fitted(tmp_path), table(30)
        expected = ran(capsys, "predict", model, write(tmp_path / "d.csv", rows))[1]
        turned = write(tmp_path / "e.csv", [["u", *row[3::-1]] for row in rows], ["new", "d", "c", "b", "a"])
        assert ran(capsys, "predict", model, turned)[1] == expected

    def test_a_classifier_from_python(self, tmp_path, capsys):
        rows = table(100)
        X, y = np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])
        clf = OCBClassifier(n_hypotheses=5).fit(X, y)
        clf.save(tmp_path / "m.ocb")
        data = write(tmp_path / "d.csv", rows)
        message = refused(capsys, "predict", tmp_path / "m.ocb", data)
        assert "must have the 4 features of the model" in message
        code, out, _ = ran(capsys, "predict", tmp_path / "m.ocb", data, "--drop", "y")
        assert code == 0
        assert [int(row[0]) for row in rows_of(out)[1:]] == clf.predict(X).tolist()


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("", "is empty"),
            ("a,b,c,d\n", "holds no rows"),
            ("a,b,c\n1,2,3\n", "it lacks 'd'"),
            ("a,b,c,dd\n1,2,3,4\n", "rename 'dd' to 'd'"),
            ("a,b,c,d\n1,2,3,4\n1,2,inf,4\n", "column 'c' must hold finite numbers; got inf in row 1"),
            ("a,b,c,d\n1,2,3,4\n1,2,x,4\n", "column 'c' must hold numbers; got 'x' in row 1"),
            ("a,b,c,d\n1,2,3,4\n1,2", "ends in the middle of a row"),
        ],
    )
    def test_bad_data(self, text, what, tmp_path, capsys):
        model, data = fitted(tmp_path), tmp_path / "d.csv"
        data.write_text(text)
        assert what in refused(capsys, "predict", model, data)

    def test_rows_before_a_bad_one_are_answered(self, tmp_path, capsys):
        model, data = fitted(tmp_path), tmp_path / "d.csv"
        data.write_text("a,b,c,d\n1,2,3,4\n5,6,7,8\n1,2,x,4\n")
        code, out, _ = ran(capsys, "predict", model, data)
        assert code == 1
        assert len(out.splitlines()) == 3

    def test_missing_numbers(self, tmp_path, capsys):
        rows = table(100)
        rows[60][1] = None
        data = write(tmp_path / "d.csv", rows)
        code, out, _ = ran(capsys, "predict", fitted(tmp_path), data)
        assert (code, len(out.splitlines())) == (0, 101)
        message = refused(capsys, "predict", fitted(tmp_path, "--learner", "ball"), data, "--batch", "50")
        assert "'b' is missing in row 60 (the first is row 0), and balls need every number" in message

    @pytest.mark.parametrize(
        ("damage", "what"),
        [
            (lambda data: data[:-9], "damaged or cut short"),
            (lambda data: data[:8] + b"\x03" + data[9:], "has format version 3"),
            (lambda data: b"a,b\n1,2\n" * 9, "is not an ocboost model"),
        ],
    )
    def test_models(self, damage, what, tmp_path, capsys):
        model, data = fitted(tmp_path), write(tmp_path / "d.csv", table(20))
        model.write_bytes(damage(model.read_bytes()))
        assert what in refused(capsys, "predict", model, data)

    @pytest.mark.parametrize("model", ["none.ocb", "."])
    def test_no_model(self, model, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        data = write(tmp_path / "d.csv", table(20))
        refused(capsys, "predict", model, data)

    def test_usage(self, tmp_path, capsys):
        model = fitted(tmp_path)
        data = write(tmp_path / "d.csv", table(20))
        for words in ([model], [model, data, "--batch", "0"], [model, data, "more"], [model, "--al", data]):
            assert "See: ocboost predict --help" in refused(capsys, "predict", *words, code=2)

    def test_help_has_examples(self, capsys):
        code, printed, _ = ran(capsys, "predict", "--help")
        assert code == 0
        lines = [line.strip() for line in printed.splitlines()]
        assert "ocboost predict model.ocb data.csv > predictions.csv" in lines


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("model"))


class TestProcess:
    def test_a_reader_that_goes_away(self, model, tmp_path):
        data = write(tmp_path / "d.csv", table(20_000))
        running = started("predict", model, data, stdout=-1, stderr=-1, text=True)
        assert running.stdout.readline() == "prediction,probability\n"
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(timeout=60) == 1
        running.stderr.close()

    def test_rows_are_answered_as_they_come(self, model):
        running = started("predict", model, "-", "--batch", "1", stdin=-1, stdout=-1, stderr=-1, text=True)
        running.stdin.write("a,b,c,d\n1,2,3,4\n")
        running.stdin.flush()
        assert running.stdout.readline() == "prediction,probability\n"
        assert running.stdout.readline().startswith("1,")  # the end of the input is not there yet
        out, err = running.communicate("-1,-2,-3,-4\n", timeout=60)
        assert (out[:2], err, running.returncode) == ("0,", "", 0)

    @posix
    def test_outputs_that_a_shell_has_closed(self, model):
        command = f"{sys.executable} -m ocboost info {model} >&- 2>&-"
        assert subprocess.run(command, shell=True, timeout=60).returncode == 0

    def test_quiet_when_piped(self, model, tmp_path):
        done = process("predict", model, write(tmp_path / "d.csv", table(20)))
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) == 21

    @posix
    def test_progress_on_a_terminal(self, model, tmp_path):
        text, code = shown_on_terminal("predict", model, write(tmp_path / "d.csv", table(2000)))
        assert code == 0
        assert "predicting" in text
