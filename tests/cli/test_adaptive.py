"""Adaptive models on the command line: fitted by default, adapted, asked, shown and compared."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest

from ocboost import AdaptiveClassifier, Model, ModelFileError, OCBClassifier
from ocboost.cli.next_lines import option, quoted
from ocboost.deployment.adaptation import Adaptation
from tests.support.cli_runs import NAMES, feed, fitted, left_in, ran, refused, table, write

EVALUATE = ("--start", "220", "--hypotheses", "8", "--no-drift")


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "stream.csv", table(500))


@pytest.fixture(scope="module")
def fitted_once(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("model"), "--method", "adaptive").read_bytes()


@pytest.fixture
def model(tmp_path, fitted_once):
    path = tmp_path / "model.ocb"
    path.write_bytes(fitted_once)
    return path


def arrays(rows):
    data = np.array(rows)
    return data[:, :4], data[:, 4].astype(int)


def lines_of(printed):
    """The lines to type that a comparison ends with."""
    *_, said, first, second = printed.rstrip("\n").split("\n")
    if not said.startswith("To deploy "):
        return first, [second.strip()]
    return said, [first.strip(), second.strip()]


def typed(capsys, line):
    """Run a line as a shell would."""
    program, *words = shlex.split(line)
    assert program == "ocboost"
    return ran(capsys, *words)


class TestFit:
    def test_is_what_the_library_fits(self, tmp_path, capsys, model):
        found = Model.load(model)
        X, y = arrays(table(300, 99))
        own = AdaptiveClassifier(n_hypotheses=12, random_state=0).fit(X, y)
        assert isinstance(found.classifier, AdaptiveClassifier)
        np.testing.assert_array_equal(
            found.classifier.predict_proba(X, issue=False), own.predict_proba(X, issue=False)
        )
        assert found.schema.feature_names == ("a", "b", "c", "d")
        assert found.history == [{"event": "fit", "stream": "train.csv", "rows": 300, "learnt": 300}]
        assert "adaptive, <" in repr(found)

    def test_by_default_and_what_it_says(self, tmp_path, capsys, model):
        data = write(tmp_path / "train.csv", table(300, 99))
        out = tmp_path / "out.ocb"
        words = ["fit", data, "--label", "y", "--hypotheses", "12", "--out", out]
        code, printed, err = ran(capsys, *words)
        assert (code, err) == (0, "")
        members = len(Model.load(model).classifier.members_)
        assert f"Learnt an adaptive model of {members} members, with 12 hypotheses, for 2 classes" in printed
        assert "right on" not in printed  # of rows that its neighbours are
        assert out.read_bytes() == model.read_bytes()
        code, _, err = ran(capsys, *words, "--jobs", "2")
        assert code == 0
        assert "--jobs is for an OCBClassifier" in err

    @pytest.mark.parametrize(
        "words",
        [
            ["--method", "ocb"],
            ["--method", "eg"],
            ["--method", "logistic-0.1"],
            ["--window", "20"],
            ["--forgetting", "0.99"],
            ["--head", "30"],
            ["--keep", "newest"],
            ["--memory", "50kB"],
            ["--smoothing", "2"],
            ["--grow", "20"],
            ["--learner", "ball"],
        ],
    )
    def test_other_options_make_an_ocb(self, tmp_path, capsys, words, stream):
        out = tmp_path / "m.ocb"
        fit = ["fit", stream, "--label", "y", "--out", out, "--hypotheses", "5"]
        code, printed, _ = ran(capsys, *fit, *words)
        assert code == 0
        assert "Learnt 5 hypotheses" in printed
        clf = Model.load(out).classifier
        assert isinstance(clf, OCBClassifier)
        if words[1] == "logistic-0.1":
            assert clf.boosters_[0].rate == 0.1
        if words[0] != "--method":
            message = refused(capsys, *fit, "--method", "adaptive", *words, code=2)
            assert f"--method adaptive chooses for itself, and does not go with {' '.join(words)}" in message
            assert "give --method ocb" in message

    def test_few_rows_and_classes_that_come_later(self, tmp_path, capsys):
        data, out = write(tmp_path / "d.csv", table(60)), tmp_path / "m.ocb"
        code, printed, err = ran(capsys, "fit", data, "--label", "y", "--out", out, "--classes", "7")
        assert code == 0
        assert "60 rows are too few for weak hypotheses" in err
        assert "with 0 hypotheses, for 3 classes from 60 rows of 4 features" in printed
        assert Model.load(out).hypotheses is None
        assert "no hypotheses yet" in repr(Model.load(out))
        assert "none found yet" in ran(capsys, "info", out)[1]
        more = write(
            tmp_path / "more.csv", [[*row[:4], 7 if row[0] > 1 else row[4]] for row in table(250, 3)]
        )
        assert ran(capsys, "adapt", out, more, "--out", out)[0] == 0
        assert Model.load(out).hypotheses is not None
        assert len(ran(capsys, "predict", out, more)[1].splitlines()) == 251


class TestAdapt:
    @pytest.mark.parametrize("batch", [1, 6])
    def test_each_row_is_predicted_then_learnt_by_its_number(self, tmp_path, capsys, model, batch):
        rows = table(130, 3)
        rows[7][4] = rows[40][4] = None  # not learnt, and not predicted
        stream, out = write(tmp_path / "s.csv", rows), tmp_path / "out.ocb"
        code, printed, err = ran(capsys, "adapt", model, stream, "--out", out, "--batch", str(batch))
        assert (code, err) == (0, "")
        clf, right = AdaptiveClassifier.load(model), 0
        known = [k for k in range(130) if k not in (7, 40)]
        X, y = arrays([[*row[:4], row[4] or 0] for row in rows])
        for start in range(0, 130, batch):
            part = [k for k in range(start, min(start + batch, 130)) if k in known]
            if part:
                right += (clf.predict(X[part], ids=part) == y[part]).sum()
                clf.partial_fit(X[part], y[part], ids=part)
        found = Model.load(out)
        assert found.history[-1]["accuracy"] == right / 128
        assert found.classifier.n_learnt_ == 300 + 128
        assert found.classifier.n_waiting_ == 0
        assert "2 rows had no label" in printed
        clf.save(tmp_path / "own.ocb")
        np.testing.assert_array_equal(
            found.classifier.predict_proba(X, issue=False), clf.predict_proba(X, issue=False)
        )
        assert found.classifier.members_ == clf.members_

    @pytest.mark.parametrize(
        "words",
        [["--window", "20"], ["--forgetting", "0.9", "--head", "30"], ["--grow", "20"], ["--method", "eg"]],
    )
    def test_settings_are_refused_with_the_line_that_fits_another(
        self, tmp_path, capsys, monkeypatch, words, stream
    ):
        monkeypatch.chdir(tmp_path)
        rows = [[*row, "x y"] for row in table(220, 99)]
        write(tmp_path / "my rows.csv", rows, [*NAMES[:4], "the class", "no use"])
        fit = ["fit", "my rows.csv", "--label", "the class", "--drop", "no use", "--classes", "7"]
        fit += ["--seed", "3", "--rows", "210", "--hypotheses", "5"]
        assert ran(capsys, *fit, "--out", "adaptive.ocb")[0] == 0
        message = refused(capsys, "adapt", "adaptive.ocb", stream, "--out", "out.ocb", *words)
        assert "'adaptive.ocb' is an adaptive model, which chooses for itself and has no --" in message
        line = re.search(r"fit another model: (ocboost fit .*)\n", message)[1]
        method = [] if words[0] == "--method" else ["--method", "ocb"]
        expected = [*fit[1:], *method, *words, "--out", "model.ocb"]
        assert shlex.split(line) == ["ocboost", "fit", *expected]
        assert typed(capsys, line)[0] == 0
        assert isinstance(Model.load("model.ocb").classifier, OCBClassifier)
        assert left_in(tmp_path) == []
        assert not (tmp_path / "out.ocb").exists()

    def test_the_method_may_be_named(self, tmp_path, capsys, model, stream):
        out, ocb = tmp_path / "out.ocb", fitted(tmp_path, name="ocb.ocb")
        assert ran(capsys, "adapt", model, stream, "--out", out, "--method", "adaptive")[0] == 0
        message = refused(capsys, "adapt", ocb, stream, "--out", out, "--method", "adaptive")
        assert "--method must be the model's own, ocb, or be left out; got adaptive" in message
        words = ["--method", "adaptive", "--window", "3"]
        assert "does not go with" in refused(capsys, "adapt", model, stream, "--out", out, *words, code=2)

    def test_a_label_that_it_does_not_know(self, tmp_path, capsys, model):
        rows = [*table(60, 3), [1, 2, 3, 4, 9], *table(30, 4)]
        stream, out = write(tmp_path / "s.csv", rows), tmp_path / "out.ocb"
        words = ["adapt", model, stream, "--out", out]
        assert "the label 9 in row 60" in refused(capsys, *words)
        run = Adaptation.load(tmp_path / "out.ocb.checkpoint")
        assert isinstance(run.model.classifier, AdaptiveClassifier)
        assert ran(capsys, "info", tmp_path / "out.ocb.checkpoint")[1].startswith("A checkpoint of")
        assert ran(capsys, *words, "--resume", "--leave-unseen")[0] == 0
        straight = tmp_path / "straight.ocb"
        assert ran(capsys, "adapt", model, stream, "--out", straight, "--leave-unseen")[0] == 0
        one, other = (Model.load(each).classifier for each in (out, straight))
        assert one.members_ == other.members_
        assert one.n_learnt_ == other.n_learnt_ == 390

    def test_missing_numbers_and_wrong_columns(self, tmp_path, capsys, model):
        rows = table(40, 3)
        rows[3][1] = rows[9][0] = None
        assert ran(capsys, "adapt", model, write(tmp_path / "gaps.csv", rows), "--out", model)[0] == 0
        assert Model.load(model).classifier.n_learnt_ == 340
        wrong = write(tmp_path / "wrong.csv", table(40, 3), ["a", "b", "c", "e", "y"])
        assert "lacks 'd'" in refused(capsys, "adapt", model, wrong, "--out", model)
        text = write(tmp_path / "text.csv", [["red", *row[1:]] for row in table(40, 3)])
        assert "'a'" in refused(capsys, "adapt", model, text, "--out", model)
        assert Model.load(model).classifier.n_learnt_ == 340


class TestPredict:
    def test_is_what_the_library_predicts_and_the_file_stays(self, tmp_path, capsys, model, stream):
        before = model.read_bytes()
        code, printed, err = ran(capsys, "predict", model, stream, "--all", "--batch", "77")
        assert (code, err) == (0, "")
        assert model.read_bytes() == before
        X, _ = arrays(table(500))
        clf = AdaptiveClassifier.load(model)
        lines = [line.split(",") for line in printed.splitlines()]
        assert lines[0] == ["prediction", "p(0)", "p(1)"]
        shares = clf.predict_proba(X, issue=False)
        assert [int(line[0]) for line in lines[1:]] == shares.argmax(axis=1).tolist()
        np.testing.assert_allclose([[float(p) for p in line[1:]] for line in lines[1:]], shares, rtol=1e-5)

    def test_a_classifier_saved_in_python(self, tmp_path, capsys, stream):
        X, y = arrays(table(300, 99))
        path = tmp_path / "own.ocb"
        clf = AdaptiveClassifier(n_hypotheses=8, random_state=0).fit(X, y)
        clf.predict(X[:7])
        clf.save(path)
        assert len(ran(capsys, "predict", path, stream, "--drop", "y")[1].splitlines()) == 501
        assert "waiting     7 predictions for their labels" in ran(capsys, "info", path)[1]
        assert ran(capsys, "adapt", path, stream, "--label", "y", "--out", path)[0] == 0
        assert AdaptiveClassifier.load(path).n_learnt_ == 800


class TestFiles:
    def test_each_class_names_the_other(self, tmp_path, model):
        ocb = fitted(tmp_path, name="ocb.ocb")
        match = r"holds 'AdaptiveClassifier', not OCBClassifier. Load it with ocboost.AdaptiveClassifier.load"
        with pytest.raises(ModelFileError, match=match):
            OCBClassifier.load(model)
        with pytest.raises(ModelFileError, match=r"Load it with ocboost.OCBClassifier.load"):
            AdaptiveClassifier.load(ocb)
        assert isinstance(Model.load(ocb).classifier, OCBClassifier)
        checkpoint = tmp_path / "checkpoint"
        Adaptation(Model.load(model), {}).save(checkpoint)
        assert isinstance(Model.load(checkpoint).classifier, AdaptiveClassifier)  # the model inside it

    def test_a_file_that_says_another_kind(self, tmp_path, model):
        from ocboost._core.file_format import load_any, save

        _, tree = load_any(model)
        save(tmp_path / "wrong", "OCBClassifier", tree)
        with pytest.raises(ModelFileError, match="it says that it holds OCBClassifier"):
            Model.load(tmp_path / "wrong")
        with pytest.raises(ModelFileError, match="is not a valid model"):
            OCBClassifier.load(tmp_path / "wrong")

    def test_a_model_that_predicts_remembers_nothing(self, model):
        import pandas as pd

        loaded = Model.load(model)
        frame = pd.DataFrame(table(30, 5), columns=NAMES)
        assert loaded.predict(frame).shape == (30,)
        assert loaded.predict_proba(frame).shape == (30, 2)
        assert loaded.classifier.n_waiting_ == 0


class TestInfo:
    def test_members(self, tmp_path, capsys, model, stream):
        assert "–" in ran(capsys, "info", model)[1]  # nothing was predicted yet
        assert ran(capsys, "adapt", model, stream, "--out", model)[0] == 0
        clf = Model.load(model).classifier
        code, printed, err = ran(capsys, "info", model, "--top", "1000")
        assert (code, err) == (0, "")
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        assert f"has learnt {clf.n_learnt_:,} rows" in lines
        assert "waiting 0 predictions for their labels" in lines
        assert any(line.startswith("hypotheses 1") for line in lines)
        for member in clf.members_:
            said = f"{member.name} {member.share:.1%} {member.accuracy:.1%} {member.log_loss:.3f}"
            assert any(line.startswith(said) for line in lines), said
        few = ran(capsys, "info", model, "--top", "3")[1]
        assert f"… and {len(clf.members_) - 3} members more" in few


class TestEvaluateAndCompare:
    def test_the_lines_give_what_was_compared(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write(tmp_path / "my stream.csv", [[*row, "x"] for row in table(500)], [*NAMES[:4], "the class", "n"])
        words = ["--label", "the class", "--drop", "n", *EVALUATE]
        code, printed, _ = ran(capsys, "evaluate", "my stream.csv", *words, "--out", "report")
        assert code == 0
        said, lines = lines_of(printed)
        assert said.startswith("To deploy adaptive, ")
        found = json.loads((tmp_path / "report" / "results.json").read_text())
        assert next(iter(found["contenders"])) == "adaptive"
        for line in lines:
            assert typed(capsys, line)[0] == 0
        model = Model.load(tmp_path / "model.ocb")
        assert model.history[-1]["accuracy"] == found["contenders"]["adaptive"]["accuracy"]
        assert [event["rows"] for event in model.history] == [220, 280]

    def test_a_fixed_method_that_is_best(self, tmp_path, capsys, monkeypatch, stream):
        monkeypatch.chdir(tmp_path)
        words = ["--label", "y", "--seeds", "1", "--start", "220", "--hypotheses", "8", "--step", "4"]
        for method in ("ocb-window-30", "logistic-0.1", "growing", "ocb-forgetting-0.9"):
            code, printed, _ = ran(capsys, "compare", stream, *words, "--methods", method, "--out", "report")
            assert code == 0
            said, lines = lines_of(printed)
            assert said.endswith("the best of these:")
            for line in lines:
                assert typed(capsys, line)[0] == 0
            found = json.loads((tmp_path / "report" / "results.json").read_text())
            accuracy = found["places"][0]["values"]["accuracy"][0]
            assert Model.load("model.ocb").history[-1]["accuracy"] == accuracy, method

    def test_what_does_not_learn_is_not_adapted(self, tmp_path, capsys, monkeypatch, stream):
        monkeypatch.chdir(tmp_path)
        words = ["--label", "y", "--seeds", "1", "--start", "220", "--methods", "static,majority"]
        _, lines = lines_of(ran(capsys, "compare", stream, *words)[1])
        assert lines == [
            f"ocboost fit {stream} --label y --rows 220 --method ocb --out model.ocb",
            f"ocboost predict model.ocb {stream}",
        ]
        words[-1] = "majority,no-change"
        assert "To deploy" not in ran(capsys, "compare", stream, *words)[1]

    def test_an_adaptive_model_to_begin_with(self, tmp_path, capsys, monkeypatch, model, stream):
        monkeypatch.chdir(tmp_path)
        code, printed, _ = ran(capsys, "evaluate", stream, "--model", model, "--no-drift", "--step", "5")
        assert code == 0
        _, lines = lines_of(printed)
        assert lines == [f"ocboost adapt {model} {stream} --batch 5 --out {model}"]
        found = json.loads((tmp_path / "results" / "evaluate" / "results.json").read_text())["contenders"]
        X, y = arrays(table(500))
        clf = AdaptiveClassifier.load(model)
        assert found["static"]["accuracy"] == np.mean(clf.predict(X, issue=False) == y)
        assert typed(capsys, lines[0])[0] == 0
        assert Model.load(model).history[-1]["accuracy"] == found["adaptive"]["accuracy"]

    def test_a_deployed_model_in_compare(self, tmp_path, capsys, monkeypatch, stream):
        monkeypatch.chdir(tmp_path)
        ocb = fitted(tmp_path)
        words = ["--model", ocb, "--methods", "ocb-window-20,growing,oza", "--step", "5", "--delay", "20"]
        code, printed, err = ran(capsys, "compare", stream, *words)
        assert code == 0
        assert "began with nothing" in err
        found = json.loads((tmp_path / "results" / "compare" / "results.json").read_text())
        assert found["settings"]["delay"] == 20
        assert found["seeds"] == [0]
        assert (found["start"], found["n_scored"]) == (0, 500)
        assert set(found["skipped"]) == {"growing"}
        assert f"--model {ocb.name} " in found["command"]
        assert "--delay 20" in found["command"]
        assert "--seeds" not in found["command"]
        _, lines = lines_of(printed)
        window = f"ocboost adapt {ocb} {stream} --method ocb-window-20 --batch 5 --out {ocb}"
        oza = "ocboost fit train.csv --label y --rows 300 --hypotheses 12 --method oza --out model.ocb"
        assert lines[0] in (window, oza)
        for line in lines:
            assert typed(capsys, line)[0] == 0

    def test_a_model_does_not_go_with_everything(self, tmp_path, capsys, model, stream):
        words = ["compare", stream, "--model", model]
        assert "--seeds is for a start" in refused(capsys, *words, "--seeds", "3", code=2)
        assert "--start is for a start" in refused(capsys, *words, "--start", "30", code=2)
        message = refused(capsys, "compare", "sea", "--model", model, code=2)
        assert "--model are for files" in message
        message = refused(capsys, "compare", stream, code=2)
        assert "or --model a model that knows it" in message

    def test_standard_input_has_a_name_that_stands_for_it(self, tmp_path, capsys, monkeypatch, stream):
        monkeypatch.chdir(tmp_path)
        feed(monkeypatch, stream.read_bytes())
        code, printed, _ = ran(capsys, "evaluate", "-", "--label", "y", *EVALUATE, "--step", "20")
        assert code == 0
        assert lines_of(printed)[1][0].startswith("ocboost fit stream.csv --label y --rows 220 ")

    def test_words_for_a_shell(self):
        assert option("--label", "-1") == ["--label=-1"]
        assert option("--drop") == []
        assert quoted("a'b\n\x1b") == "$'a\\'b\\x0a\\x1b'"
        assert quoted("n\udcff") == "$'n\\xff'"
        assert quoted("\ud800") == "$'\\xed\\xa0\\x80'"
