"""``ocboost adapt`` learns each row once, and as ``partial_fit`` does."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.cli import adapt
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from ocboost.deployment.resume import COVERAGE_KEY
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation import OCB, View
from ocboost.streams import ArrayStream
from tests.support.cli_runs import (
    feed,
    fitted,
    kill_after,
    killed,
    n_seen,
    ran,
    refused,
    table,
    write,
)

FORMATS = ["s.csv", "s.csv.gz", "s.jsonl", "s.parquet"]


def weighted(classes=2, **parameters):
    """A classifier whose first weights sum to 1, and rows for it."""
    rows = table(260, 4, classes)
    X, y = np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])
    clf = OCBClassifier(n_hypotheses=8, random_state=0, **parameters)
    clf.fit(X[:200], y[:200], sample_weight=np.full(200, 1 / 200))
    assert clf.weight_scale_ == pytest.approx(200)
    return clf, X[200:], y[200:]


class TestSamePath:
    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize(
        "parameters", [{}, {"head": 20, "tail": False, "grow": 14}, {"forgetting": 0.98}]
    )
    def test_as_partial_fit(self, parameters, classes):
        clf, X, y = weighted(classes, **parameters)
        twin, rival = weighted(classes, **parameters)[0], weighted(classes, **parameters)[0]
        adaptation = Adaptation(Model(clf), {})
        for batch in ArrayStream(X, y, batch_size=25):
            adaptation.take(batch)
        contender = OCB(rival)
        contender.begin(rival.classes_.tolist())
        for i in range(len(y)):
            twin.partial_fit(X[i : i + 1], y[i : i + 1])
            contender.learn(View.of(X[i : i + 1], y[i : i + 1]))
        for other in (clf, rival):
            for one, expected in zip(other.alpha_, twin.alpha_, strict=True):
                np.testing.assert_array_equal(one, expected)

    def test_on_the_command_line(self, tmp_path, capsys):
        clf, _, _ = weighted()
        clf.save(tmp_path / "m.ocb")
        rows = table(80, 6)
        stream, out = write(tmp_path / "s.csv", rows), tmp_path / "o.ocb"
        assert ran(capsys, "adapt", tmp_path / "m.ocb", stream, "--out", out, "--label", "y")[0] == 0
        for row in rows:
            clf.partial_fit(np.array([row[:4]]), row[4:])
        np.testing.assert_array_equal(Model.load(out).classifier.alpha_[0], clf.alpha_[0])


class TestGrown:
    @pytest.mark.parametrize("name", FORMATS)
    def test_goes_on_after_what_was_learnt(self, name, tmp_path, capsys):
        model, twin = fitted(tmp_path), fitted(tmp_path, name="twin.ocb")
        rows, more = table(120), table(50, 1)
        stream = write(tmp_path / name, rows)
        words = ["adapt", model, stream, "--out", model]
        assert ran(capsys, *words)[0] == 0
        before = model.read_bytes()
        code, printed, err = ran(capsys, *words)
        assert (code, printed) == (0, "")
        assert "nothing new: all 120 rows of" in err
        assert model.read_bytes() == before
        write(stream, rows + more)
        code, printed, err = ran(capsys, *words, "--window", "40")  # settings make no difference
        assert code == 0
        assert "the first 120 rows were learnt before; continuing at row 120" in err
        assert Model.load(model).history[-1]["rows"] == 50
        whole = write(tmp_path / "whole.csv", rows)
        assert ran(capsys, "adapt", twin, whole, "--out", twin)[0] == 0
        rest = write(tmp_path / "rest.csv", more)
        assert ran(capsys, "adapt", twin, rest, "--out", twin, "--window", "40")[0] == 0
        a, b = (Model.load(path).classifier.alpha_[0] for path in (model, twin))
        np.testing.assert_array_equal(a, b)
        assert ran(capsys, *words)[2].startswith("ocboost: nothing new: all 170 rows")

    def test_another_name_and_another_label(self, tmp_path, capsys):
        model = fitted(tmp_path)
        names = ["a", "b", "c", "d", "y", "z"]
        rows = [[*row, row[4]] for row in table(60)]
        stream = write(tmp_path / "s.csv", rows, names)
        assert ran(capsys, "adapt", model, stream, "--out", model)[0] == 0
        moved = write(tmp_path / "moved.csv", rows + rows[:9], names)
        assert ran(capsys, "adapt", model, moved, "--out", model, "--label", "z")[0] == 0
        assert n_seen(model) == 369

    def test_another_stream_is_learnt_whole(self, tmp_path, capsys):
        model = fitted(tmp_path)
        for k in (1, 2):
            path = write(tmp_path / f"{k}.csv", table(60, k))
            assert ran(capsys, "adapt", model, path, "--out", model)[::2] == (0, "")
        assert n_seen(model) == 420

    def test_the_same_name_with_another_beginning(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(60, 1))
        words = ["adapt", model, stream, "--out", model]
        assert ran(capsys, *words)[0] == 0
        before = model.read_bytes()
        write(stream, table(40, 2))
        for more in ([], ["--again"], ["--resume"], ["--restart"]):
            message = refused(capsys, *words, *more)
            assert "does not begin as it did when 60 rows of it were learnt. Give --new" in message
        assert model.read_bytes() == before
        assert ran(capsys, *words, "--new")[0] == 0
        assert n_seen(model) == 400
        write(stream, table(40, 2) + table(7, 3))
        assert ran(capsys, *words)[0] == 0
        assert n_seen(model) == 407

    def test_again(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(60))
        words = ["adapt", model, stream, "--out", model]
        for more in ([], ["--again"], []):
            assert ran(capsys, *words, *more)[0] == 0
        assert n_seen(model) == 420
        assert "exclude each other" in refused(capsys, *words, "--again", "--new", code=2)

    def test_standard_input_is_always_learnt(self, tmp_path, capsys, monkeypatch):
        model = fitted(tmp_path)
        stream = write(tmp_path / "s.csv", table(60))
        assert ran(capsys, "adapt", model, stream, "--out", model)[0] == 0
        for _ in range(2):
            feed(monkeypatch, stream.read_bytes())
            assert ran(capsys, "adapt", model, "-", "--out", model)[0] == 0
        assert n_seen(model) == 480

    @pytest.mark.parametrize(("skip", "start"), [(0, 60), (20, 60), (60, 60), (75, 75)])
    def test_skip_counts_from_the_beginning(self, skip, start, tmp_path, capsys):
        model, rows = fitted(tmp_path), table(90)
        stream = write(tmp_path / "s.csv", rows[:60])
        assert ran(capsys, "adapt", model, stream, "--out", model, "--skip", "20")[0] == 0
        assert n_seen(model) == 340
        write(stream, rows)
        assert ran(capsys, "adapt", model, stream, "--out", model, "--skip", skip)[0] == 0
        assert n_seen(model) == 340 + 90 - start
        assert ran(capsys, "adapt", model, stream, "--out", model, "--again", "--skip", "80")[0] == 0
        assert n_seen(model) == 350 + 90 - start

    def test_to_another_file_it_begins_with_the_model(self, tmp_path, capsys):
        model, stream, out = fitted(tmp_path), write(tmp_path / "s.csv", table(60)), tmp_path / "o.ocb"
        for _ in range(2):
            assert ran(capsys, "adapt", model, stream, "--out", out)[0] == 0
            assert n_seen(out) == 360
        other = tmp_path / "other.ocb"
        assert "nothing new" in ran(capsys, "adapt", out, stream, "--out", other)[2]
        assert n_seen(other) == 360  # exit status 0 means written

    def test_resume_with_a_stream_that_has_grown(self, tmp_path, capsys, monkeypatch):
        """Also where the beginning that a run is named by is the same."""
        monkeypatch.setattr("ocboost.streams.stream.FINGERPRINT_BYTES", 100)
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(60))
        words = ["adapt", model, stream, "--out", model, "--resume"]
        assert ran(capsys, *words)[0] == 0
        write(stream, table(60) + table(30, 1))
        assert ran(capsys, *words)[0] == 0
        assert n_seen(model) == 390
        assert "nothing to resume" in ran(capsys, *words)[2]
        assert n_seen(model) == 390

    def test_killed_while_it_goes_on(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(100))
        words = ["adapt", model, stream, "--out", model, "--checkpoint-rows", "1"]
        assert ran(capsys, *words)[0] == 0
        write(stream, table(100) + table(200, 1))
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 3)
            killed(capsys, *words)
        assert "was interrupted after" in refused(capsys, *words)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert n_seen(model) == 600
        assert ran(capsys, *words)[2].startswith("ocboost: nothing new: all 300 rows")

    def test_models_of_before(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(60))
        assert ran(capsys, "adapt", model, stream, "--out", model)[0] == 0
        old = Model.load(model)
        assert old.history[-1].pop(COVERAGE_KEY)
        old.save(model)
        assert ran(capsys, "info", model)[0] == 0
        assert "nothing to resume" in ran(capsys, "adapt", model, stream, "--out", model, "--resume")[2]
        assert ran(capsys, "adapt", model, stream, "--out", model)[0] == 0
        assert n_seen(model) == 420


class TestALineThatWasCut:
    """A log that is read while its last line is being written."""

    def test_the_whole_line_is_passed_over_and_the_rest_learnt(self, tmp_path, capsys):
        stream, model = tmp_path / "log.csv", tmp_path / "model.ocb"
        whole = "y,a\n" + "".join(f"{'no' if i % 2 else 'yes'},{i % 7}.25\n" for i in range(300))
        (tmp_path / "first.csv").write_text(whole)
        ran(capsys, "fit", tmp_path / "first.csv", "--label", "y", "--out", model)
        seen = n_seen(model)
        stream.write_text(whole[:-2])  # 2.2 instead of 2.25
        ran(capsys, "adapt", model, stream, "--out", model)
        stream.write_text(whole + "yes,3.0\n")
        printed = ran(capsys, "adapt", model, stream, "--out", model)[2]
        assert "row 299, the last of them, was learnt while it was still being written" in printed
        assert n_seen(model) == seen + 301
        assert "nothing new" in ran(capsys, "adapt", model, stream, "--out", model)[2]


def test_a_row_too_long_that_is_not_utf8(tmp_path, capsys):
    stream = tmp_path / "log.csv"
    stream.write_bytes(b"a,y\n1,yes\n2,\xff,no\n3,no\n")
    message = refused(capsys, "fit", stream, "--label", "y", "--out", tmp_path / "model.ocb")
    assert "line 3: a row must have 2 fields, as the first line has names; got 3" in message
