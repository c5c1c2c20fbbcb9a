"""``ocboost evaluate``: who takes part, what it writes, and what it refuses."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from ocboost import OzaRussell
from ocboost.deployment.model import Model
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation import Adaptive, Fixed, View, lineup, prequential
from ocboost.evaluation.first_rows import FirstRows
from ocboost.evaluation.methods import METHODS
from ocboost.offsets import fit_offset
from ocboost.streams import ArrayStream
from tests.cli.test_adapt_page import document
from tests.support.cli_runs import feed, fitted, ran, refused, table, write

EVERYONE = [
    "adaptive",
    "static",
    "OCB, all history",
    "OCB, forgetting 0.995",
    "OCB, window 20",
    "OCB, window 200",
    "Oza-Russell",
    "Oza-Russell, forgetting 0.995",
    "logistic SGD, rate 0.03",
    "majority",
    "no change",
]


def evaluate(path, out, *words):
    return ["evaluate", path, "--out", out, "--start", "200", "--hypotheses", "12", "--curve", "100", *words]


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "stream.csv", table(700))


def record(out):
    return json.loads((out / "results.json").read_text())


class TestEvaluate:
    def test_table_page_curves_and_results(self, stream, tmp_path, capsys):
        out = tmp_path / "report"
        code, printed, err = ran(capsys, *evaluate(stream, out, "--label", "y"))
        assert (code, err) == (0, "")
        assert sorted(p.name for p in out.iterdir()) == [
            "curves.png",
            "curves.svg",
            "page.html",
            "report.html",
            "results.json",
            "thresholds.png",
            "thresholds.svg",
        ]
        found = record(out)
        assert list(found["contenders"]) == EVERYONE
        assert found["rows"]["scored"] == 500
        assert "500 of 500 rows scored" in " ".join(printed.split())
        assert [name for name, one in found["contenders"].items() if not one["deployable"]] == EVERYONE[-2:]
        assert "majority†" in printed
        assert "Highest accuracy: " in printed
        page = (out / "report.html").read_text()
        assert "<svg" in page
        assert "stream.csv" in page
        assert not re.search(r"""(src|href)=["'](?!#)""", page), "the page must need nothing but itself"
        shown = document(out / "page.html")
        assert shown["kind"] == "comparison"
        assert [each["title"] for each in shown["models"]] == EVERYONE
        assert "500 of 500 rows scored, after 200 to begin with; the label is y; seed 0." in shown["subtitle"]
        assert shown["members"]
        assert {each["name"] for each in shown["features"]} <= set("abcd")

    def test_the_page_elsewhere(self, stream, tmp_path, capsys):
        out, page = tmp_path / "report", tmp_path / "p.html"
        words = evaluate(stream, out, "--label", "y", "--step", "50", "--no-drift", "--report", page)
        assert ran(capsys, *words)[0] == 0
        assert page.read_bytes() == (out / "page.html").read_bytes()
        assert "Drift was not looked for." in document(page)["subtitle"]
        words[words.index(page)] = stream
        assert "--report must not be the stream" in refused(capsys, *words)
        words[words.index("--report") + 1] = tmp_path / "none" / "p.html"
        assert "there is no" in refused(capsys, *words)

    def test_the_static_model_is_the_one_fitted_on_the_first_rows(self, stream, tmp_path, capsys):
        out = tmp_path / "report"
        assert ran(capsys, *evaluate(stream, out, "--label", "y", "--no-drift", "--step", "50"))[0] == 0
        rows = np.array(table(700))
        X, y = rows[:, :4], rows[:, 4].astype(int)
        clf = OCBClassifier(n_hypotheses=12).fit(X[:200], y[:200])
        expected = clf.score(X[200:], y[200:])
        assert record(out)["contenders"]["static"]["accuracy"] == pytest.approx(expected, abs=1e-12)

    def test_a_model_starts_at_the_first_row(self, stream, tmp_path, capsys):
        model = fitted(tmp_path)
        out = tmp_path / "report"
        words = ("--model", model, "--step", "20", "--windows", "30", "--forgetting", "0.9", "0.99")
        assert ran(capsys, "evaluate", stream, "--out", out, *words)[0] == 0
        found = record(out)
        assert found["rows"] == {"first": 0, "last": 699, "predicted": 700, "scored": 700, "learnt": 700}
        names = list(found["contenders"])
        assert "OCB, window 30" in names
        assert "OCB, window 20" not in names
        assert "Oza-Russell, forgetting 0.9" in names
        assert "began with nothing" in found["notes"][0]
        assert "OCB began with what the model remembers" in found["notes"][0]

    def test_a_model_of_another_booster(self, stream, tmp_path, capsys):
        data = write(tmp_path / "train.csv", table(300, 99))
        words = ("--label", "y", "--out", tmp_path / "eg.ocb", "--hypotheses", "12", "--method", "eg")
        assert ran(capsys, "fit", data, *words)[0] == 0
        out = tmp_path / "report"
        code, _, _ = ran(
            capsys, "evaluate", stream, "--out", out, "--model", tmp_path / "eg.ocb", "--step", "20"
        )
        assert code == 0
        assert record(out)["notes"][0].endswith("not here, and so did OCB.")
        assert list(record(out)["contenders"]) == [*EVERYONE[:-2], "EG±", *EVERYONE[-2:]]
        model = Model.load(tmp_path / "eg.ocb").classifier
        rows = np.array(table(700))
        right = np.zeros(700, bool)
        for at in range(0, 700, 20):
            X, y = rows[at : at + 20, :4], rows[at : at + 20, 4].astype(int)
            right[at : at + 20] = model.predict(X) == y
            model.partial_fit(X, y)
        assert record(out)["contenders"]["EG±"]["accuracy"] == pytest.approx(right.mean(), abs=1e-12)

    def test_three_classes_delay_and_rows(self, tmp_path, capsys):
        path = write(tmp_path / "three.csv", table(700, classes=3))
        out = tmp_path / "report"
        words = ("--label", "y", "--delay", "30", "--rows", "600", "--step", "10", "--no-drift")
        assert ran(capsys, *evaluate(path, out, *words))[0] == 0
        found = record(out)
        assert found["classes"] == [0, 1, 2]
        assert found["rows"]["predicted"] == 400
        assert found["rows"]["learnt"] == 370

    def test_standard_input(self, stream, tmp_path, capsys, monkeypatch):
        feed(monkeypatch, stream.read_bytes())
        words = evaluate("-", tmp_path / "report", "--label", "y", "--step", "50", "--no-drift")
        assert ran(capsys, *words)[0] == 0
        assert record(tmp_path / "report")["about"]["stream"] == "standard input"

    def test_hostile_names_are_only_text(self, tmp_path, capsys):
        bad = "<script>alert(1)</script>"
        path = write(tmp_path / "bad.csv", table(300), ["a", "b", "c", "d", bad])
        words = evaluate(path, tmp_path / "report", "--label", bad, "--step", "50", "--no-drift")
        assert ran(capsys, *words)[0] == 0
        assert "<script" not in (tmp_path / "report" / "report.html").read_text()
        assert bad not in (tmp_path / "report" / "page.html").read_text()


class TestRefusals:
    def test_no_label(self, stream, tmp_path, capsys):
        assert "--label must name" in refused(capsys, *evaluate(stream, tmp_path / "report"), code=2)
        assert not (tmp_path / "report").exists()

    def test_label_not_there(self, stream, tmp_path, capsys):
        assert "'z'" in refused(capsys, *evaluate(stream, tmp_path / "report", "--label", "z"))
        assert not (tmp_path / "report").exists()

    def test_nothing_left_to_compare_on(self, tmp_path, capsys):
        rows = [row if k < 300 else [*row[:4], ""] for k, row in enumerate(table(600))]
        path = write(tmp_path / "d.csv", rows)
        words = ("evaluate", path, "--out", tmp_path / "report", "--label", "y", "--start", "300")
        assert "no labelled row is left" in refused(capsys, *words)
        assert not (tmp_path / "report").exists()

    def test_a_start_as_long_as_the_stream(self, stream, tmp_path, capsys):
        words = ("evaluate", stream, "--out", tmp_path / "report", "--label", "y", "--no-drift")
        code, _, err = ran(capsys, *words, "--start", "700", "--step", "10")
        assert code == 0
        assert "The start is 630 rows, nine tenths of the stream; 700 were asked for." in err
        assert ran(capsys, *words, "--step", "50")[0] == 0
        assert record(tmp_path / "report")["about"]["learnt from"] == "the first 140 rows"  # a fifth

    def test_constant_label(self, tmp_path, capsys):
        path = write(tmp_path / "one.csv", [[*row[:4], 1] for row in table(300)])
        words = evaluate(path, tmp_path / "report", "--label", "y")
        said = refused(capsys, *words)
        assert (
            "the first 200 rows must hold at least two classes; they hold 1. The whole stream holds no other"
            in said
        )

    def test_labels_that_are_no_classes(self, tmp_path, capsys):
        numbers = write(tmp_path / "numbers.csv", [[*row[:4], row[0] + 0.00005] for row in table(300)])
        said = refused(capsys, *evaluate(numbers, tmp_path / "report", "--label", "y"))
        assert "must hold classes; it holds numbers with fractions" in said
        ids = write(tmp_path / "ids.csv", [[*row[:4], k] for k, row in enumerate(table(300))])
        said = refused(capsys, *evaluate(ids, tmp_path / "report", "--label", "y"))
        assert "each in several rows; it holds 300 values in 300 rows" in said
        assert not (tmp_path / "report").exists()

    def test_unseen_class(self, tmp_path, capsys):
        rows = table(300)
        rows[250][4] = 7
        path = write(tmp_path / "new.csv", rows)
        words = ("evaluate", path, "--out", tmp_path / "report", "--model", fitted(tmp_path), "--no-drift")
        assert "got 7 at row 250" in refused(capsys, *words)
        assert ran(capsys, *evaluate(path, tmp_path / "report", "--label", "y", "--no-drift"))[0] == 0
        assert record(tmp_path / "report")["classes"] == [0, 1, 7]  # it comes soon enough to be known

    def test_usage(self, stream, tmp_path, capsys):
        words = evaluate(stream, tmp_path / "report", "--label", "y", "--forgetting", "1.5")
        assert ran(capsys, *words)[0] == 2


class TestLineup:
    def test_a_model_goes_on_from_what_it_knows(self):
        rows = np.array(table(400))
        X, y = rows[:, :4], rows[:, 4].astype(int)
        own = OzaRussell(1, forgetting=0.9)
        for booster, name in (("winnow", "Winnow"), (own, "Oza-Russell, as deployed")):
            clf = OCBClassifier(n_hypotheses=10, booster=booster).fit(X[:200], y[:200])
            found = {one.name: one for one in lineup(clf)}
            np.testing.assert_array_equal(found[name].classifier.alpha_[0], clf.alpha_[0])
            assert not found["OCB, all history"].classifier.alpha_[0].any()  # it knows nothing
            with_rows = {one.name: one for one in lineup(clf, View.of(X[:200], y[:200]))}
            assert with_rows["OCB, all history"].classifier.alpha_[0].any()

    def test_a_model_with_an_offset(self):
        rows = np.array(table(400))
        X, y = rows[:, :4], rows[:, 4].astype(int)
        offset = fit_offset(lambda X: X[:, 0], X[:100], y[:100])
        clf = OCBClassifier(n_hypotheses=10, offset=offset).fit(X[:200], y[:200])
        contenders = lineup(clf, View.of(X[:200], y[:200]))
        with ArrayStream(X[200:], y[200:], batch_size=50) as batches:
            result = prequential(batches, contenders, classes=[0, 1], drift=False)
        assert [standing.name for standing in result.standings] == EVERYONE

    def test_forgetting_has_one_meaning(self):
        rows = np.array(table(400))
        X, y = rows[:, :4], rows[:, 4].astype(int)
        clf = OCBClassifier(n_hypotheses=10).fit(X[:200], y[:200])
        contenders = {one.name: one for one in lineup(clf, forgetting=(0.995, 0.9))}
        begun = METHODS["ocb-forgetting"].contender(FirstRows(X[:200], y[:200], [0, 1], hypotheses=10))
        for one in (contenders["OCB, forgetting 0.995"], contenders["OCB, forgetting 0.9"], begun):
            assert one.classifier.get_params()["head"] == 500
        assert begun.classifier.get_params()["forgetting"] == 0.995
        assert contenders["OCB, forgetting 0.9"].classifier.get_params()["forgetting"] == 0.9

    def test_contenders_do_not_share_what_they_learn(self):
        rows = np.array(table(400))
        X, y = rows[:, :4], rows[:, 4].astype(int)
        clf = OCBClassifier(n_hypotheses=10).fit(X[:200], y[:200])
        before = clf.alpha_[0].copy()
        contenders = lineup(clf, View.of(X[:200], y[:200]))
        with ArrayStream(X[200:], y[200:], batch_size=50) as batches:
            prequential(batches, contenders, classes=[0, 1], drift=False)
        np.testing.assert_array_equal(clf.alpha_[0], before)
        assert [type(one) for one in contenders[:2]] == [Adaptive, Fixed]
        np.testing.assert_array_equal(contenders[1].classifier.alpha_[0], before)
        assert (
            contenders[0].classifier.bank_.deployed.model is not clf
        )  # a copy, as a member that never learns
        moved = [c.classifier.alpha_[0] for c in contenders[2:6]]
        assert all(not np.array_equal(alpha, before) for alpha in moved)
        assert len({alpha.tobytes() for alpha in moved}) == 4
        assert contenders[2].classifier.hypotheses_ is clf.hypotheses_
