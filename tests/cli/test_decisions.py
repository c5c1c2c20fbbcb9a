"""``--class-weight``, ``--threshold`` and ``--costs``: kept by fit, changed by adapt, else for one run."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest

from ocboost.cli.decisions import DecisionOptions, decision_parameters
from ocboost.cli.options import UsageError
from ocboost.deployment.model import Model
from ocboost.errors import InputError
from ocboost.estimators.decisions import decision_of
from tests.support.cli_runs import fitted, ran, refused, table, write

NAMED = {0: "in time", 1: "late"}


def rare(n, seed=0):
    """Rows of which about one in six is late."""
    rng = np.random.default_rng(seed)
    late = (rng.random(n) < 0.17).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 0] += late
    return [[*row, NAMED[code]] for row, code in zip(X.round(4).tolist(), late.tolist(), strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("decisions")
    write(made / "data.csv", rare(600))
    write(made / "more.csv", rare(300, 1))
    (made / "costs.csv").write_text("true,in time,late\nin time,0,1\nlate,4,0\n")
    (made / "costs.json").write_text('{"late": {"in time": 4}}')
    return made


def fit(capsys, folder, out, *words, method=("--method", "ocb")):
    made = ran(
        capsys, "fit", folder / "data.csv", "--label", "y", "--hypotheses", "8", "--out", out, *method, *words
    )
    assert made[0] == 0, made[2]
    return out


def predictions(capsys, model, data, *words):
    code, printed, err = ran(capsys, "predict", model, data, "--all", *words)
    assert (code, err) == (0, "")
    _, *rows = csv.reader(io.StringIO(printed))
    return [row[0] for row in rows], np.array([[float(p) for p in row[1:]] for row in rows])


@pytest.mark.parametrize("method", [("--method", "ocb"), ()], ids=["ocb", "adaptive"])
def test_kept_by_fit_and_overridden_by_predict(folder, tmp_path, capsys, method):
    model = fit(capsys, folder, tmp_path / "m.ocb", "--threshold", "0.2", method=method)
    data = folder / "more.csv"
    found, shares = predictions(capsys, model, data)
    assert found == ["late" if p >= 0.2 else "in time" for p in shares[:, 1]]
    for words in (
        ("--costs", folder / "costs.csv"),
        ("--costs", folder / "costs.json"),
        ("--costs", "[[0, 1], [4, 0]]"),
        ("--threshold", "0.5", "--class-weight", "late=4"),
    ):
        assert predictions(capsys, model, data, *words)[0] == found
    other, again = predictions(capsys, model, data, "--threshold", "0.6")
    assert other == ["late" if p >= 0.6 else "in time" for p in shares[:, 1]]
    np.testing.assert_array_equal(again, shares)
    assert Model.load(model).classifier.threshold == 0.2


def test_adapt_changes_the_model_and_says_the_recall(folder, tmp_path, capsys):
    model = fit(capsys, folder, tmp_path / "m.ocb", method=())
    plain, balanced = tmp_path / "p.ocb", tmp_path / "b.ocb"
    _, before, _ = ran(capsys, "adapt", model, folder / "more.csv", "--out", plain)
    words = ("--class-weight", "balanced", "--costs", folder / "costs.csv")
    code, printed, _ = ran(capsys, "adapt", model, folder / "more.csv", "--out", balanced, *words)
    assert code == 0
    assert recall_of(printed, "late") > recall_of(before, "late") + 20.0
    assert re.search(r"balanced accuracy 0\.\d+, F1 0\.\d+, .*, Brier score 0\.\d+", printed)
    clf = Model.load(balanced).classifier
    assert clf.class_weight == "balanced"
    assert clf.costs.tolist() == [[0.0, 1.0], [4.0, 0.0]]
    words = ("--class-weight", "none", "--threshold", "0.3", "--again")
    assert ran(capsys, "adapt", balanced, folder / "more.csv", "--out", balanced, *words)[0] == 0
    clf = Model.load(balanced).classifier
    assert (clf.class_weight, clf.threshold, clf.costs) == (None, 0.3, None)


def recall_of(printed, label):
    line = next(line for line in printed.splitlines() if f" {label} " in line and "%" in line)
    return float(line.split()[-2].rstrip("%"))


def test_evaluate_decides_for_that_run(folder, tmp_path, capsys):
    records = {}
    for name, words in {"plain": (), "balanced": ("--class-weight", "balanced")}.items():
        out = tmp_path / name
        given = ("--label", "y", "--start", "200", "--hypotheses", "8", "--curve", "100", *words)
        code, printed, err = ran(capsys, "evaluate", folder / "data.csv", "--out", out, *given)
        assert (code, err) == (0, "")
        assert "recall in time " in printed
        records[name] = json.loads((out / "results.json").read_text())
        assert (out / "thresholds.svg").exists()
        page = (out / "report.html").read_text()
        assert "recall of late" in page
        assert "Other thresholds" in page
        for metric in ("F1", "PR-AUC", "Brier", "ECE"):
            assert metric in page
    assert "--class-weight balanced" in printed  # of the line that deploys the best
    assert records["balanced"]["about"]["class weight"] == "balanced"
    for name in ("adaptive", "OCB, all history", "Oza-Russell"):
        plain, balanced = (records[kind]["contenders"][name]["confusion"] for kind in ("plain", "balanced"))
        assert balanced[1][1] > plain[1][1]
    same = [records[kind]["contenders"]["adaptive"]["log_loss"] for kind in ("plain", "balanced")]
    assert same[0] == same[1]  # of the same probabilities


def test_evaluate_starts_from_the_model_s_own(folder, tmp_path, capsys):
    model = fit(capsys, folder, tmp_path / "m.ocb", "--threshold", "0.2", method=())
    found = {}
    for words in ((), ("--threshold", "0.9")):
        out = tmp_path / "report"
        given = ("--model", model, "--curve", "100", "--out", out, *words)
        assert ran(capsys, "evaluate", folder / "more.csv", *given)[0] == 0
        record = json.loads((out / "results.json").read_text())
        found[record["about"]["threshold"]] = [
            record["contenders"][name]["confusion"][1][1] for name in ("adaptive", "static", "OCB, window 20")
        ]
    assert set(found) == {"0.2", "0.9"}
    assert all(more > less for more, less in zip(found["0.2"], found["0.9"], strict=True))


def test_more_than_two_classes_have_no_thresholds(tmp_path, capsys):
    out = tmp_path / "report"
    out.mkdir()
    (out / "thresholds.svg").write_text("of an earlier run")
    data = write(tmp_path / "d.csv", table(400, classes=3))
    given = ("--label", "y", "--start", "100", "--hypotheses", "5", "--curve", "100", "--windows", "20")
    code, printed, _ = ran(
        capsys, "evaluate", data, "--out", out, "--costs", "[[0,1,2],[1,0,1],[2,1,0]]", *given
    )
    assert code == 0
    assert not (out / "thresholds.svg").exists()
    assert "thresholds" not in printed


def test_classes_that_are_numbers_or_true_and_false():
    given = {"class_weight": {"1": 2.0}, "costs": {"1": {"0": 3.0}}}
    assert decision_parameters(given, [0, 1])["costs"] == {(1, 0): 3.0}
    assert decision_parameters({"class_weight": {"1": 2.0}}, [0.0, 1.0])["class_weight"] == {1.0: 2.0}
    assert decision_parameters({"class_weight": {"true": 2.0}}, [False, True])["class_weight"] == {True: 2.0}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--class-weight", "late"), "--class-weight must be balanced, none, or CLASS=W,CLASS=W"),
        (("--class-weight", "late=many"), "--class-weight must be balanced, none, or CLASS=W,CLASS=W"),
        (("--threshold", "0.3", "--costs", "[[0, 1], [1, 0]]"), "--threshold and --costs exclude each other"),
    ],
)
def test_words_that_make_no_sense(words, text, tmp_path, capsys):
    data = write(tmp_path / "d.csv", table(200))
    said = refused(capsys, "fit", data, "--label", "y", "--out", tmp_path / "m.ocb", *words, code=2)
    assert text in said


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--class-weight", "soon=2"), "--class-weight must be about the classes 0, 1; got 'soon'"),
        (("--class-weight", "1=-2"), "class_weight of 1 must be a number from 0 to 1e+100; got -2.0"),
        (("--costs", "missing.csv"), "--costs must be a file, or JSON; 'missing.csv' cannot be read"),
        (("--costs", "[[0, 1]"), "--costs must be JSON, such as [[0, 1], [5, 0]]"),
        (("--costs", "[0, 1]"), "--costs must be rows, [[0, 1], [5, 0]]"),
        (("--costs", "[[0, 1, 2], [1, 0, 2], [1, 2, 0]]"), "costs must be 2 × 2 numbers"),
        (("--costs", '{"1": {"0": "much"}}'), "costs of (1, 0) must be a number"),
        (("--costs", '{"1": {"2": 1}}'), "--costs must be about the classes 0, 1; got '2'"),
        (("--costs", "CSV"), "must have a true class and 2 costs in each line"),
        (("--costs", "EMPTY"), "must be a table of costs"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(words, text, tmp_path, capsys):
    files = {"CSV": "true,0,1\n0,0\n", "EMPTY": "\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    words = [str(tmp_path / word) if word in files else word for word in words]
    model, data = fitted(tmp_path), write(tmp_path / "d.csv", table(50))
    assert text in refused(capsys, "predict", model, data, *words)
    assert text in refused(capsys, "adapt", model, data, "--out", tmp_path / "o.ocb", *words)
    assert not (tmp_path / "o.ocb").exists()


def test_costs_are_taken_away(folder, tmp_path, capsys):
    model = fit(capsys, folder, tmp_path / "m.ocb", "--costs", folder / "costs.csv")
    data = folder / "more.csv"
    with_costs, shares = predictions(capsys, model, data)
    without, _ = predictions(capsys, model, data, "--costs", "none")
    assert without == ["late" if p >= 0.5 else "in time" for p in shares[:, 1]] != with_costs
    other, _ = predictions(capsys, model, data, "--costs", "none", "--threshold", "0.1")
    assert other == ["late" if p >= 0.1 else "in time" for p in shares[:, 1]]
    adapted = tmp_path / "n.ocb"
    assert ran(capsys, "adapt", model, data, "--out", adapted, "--costs", "none")[0] == 0
    assert Model.load(adapted).classifier.costs is None


def test_a_threshold_is_for_two_classes():
    with pytest.raises(InputError, match=r"--threshold must be for two classes; there are 3\. Give --costs"):
        decision_parameters({"threshold": 0.3}, ["a", "b", "c"])


def test_a_threshold_of_either_class():
    labels = ["late", "ok"]
    for text, expected in (
        ("0.3", 0.3),
        ("ok=0.3", 0.3),
        ("late=0.25", np.nextafter(0.75, 1.0)),
        ("late=0", 1.0),
    ):
        given = DecisionOptions(threshold=text).given()
        assert decision_parameters(given, labels) == {"threshold": expected, "costs": None}
    rule = decision_of(np.array(labels), threshold=float(np.nextafter(0.75, 1.0)))
    assert rule.codes(np.array([[0.25, 0.75], [0.24, 0.76]])).tolist() == [0, 1]
    with pytest.raises(InputError, match="--threshold must be about the classes late, ok; got 'lat'"):
        decision_parameters({"threshold": ["lat", 0.3]}, labels)
    for wrong in ("1.5", "late=x", "nan", "late"):
        with pytest.raises(UsageError, match="--threshold must be a probability from 0 to 1, or CLASS=P"):
            DecisionOptions(threshold=wrong).given()
