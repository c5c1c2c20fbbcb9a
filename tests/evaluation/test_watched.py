"""A comparison as the document of a page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ocboost.evaluation.board import Board
from ocboost.evaluation.comparison import batches_of, compare_methods
from ocboost.evaluation.methods import methods_named
from ocboost.evaluation.watched import MAX_WATCHED_POINTS, comparison_document
from ocboost.streams.rows import Rows

NAMES = "adaptive,static,ocb,oza,majority,no-change,winnow"


def examples(n=3000, seed=0):
    """Two classes whose meaning is turned round half-way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(int) ^ (np.arange(n) > n // 2)


def compared(methods=NAMES, *, batches=None, seeds=(0,), keep=True, **settings):
    found = compare_methods(
        batches_of(*examples()) if batches is None else batches,
        methods_named(methods),
        seeds=seeds,
        hypotheses=8,
        keep_models=keep,
        **{"drift": True, "step": 10, "window": 100, **settings},
    )
    return found, Board.of("toy", [found])


@pytest.fixture(scope="module")
def comparison():
    return compared()


@pytest.fixture(scope="module")
def document(comparison):
    found = comparison_document(*comparison, title="Following toy", label="y")
    json.dumps(found, allow_nan=False)
    return found


def test_the_curves_are_those_of_the_comparison(comparison, document):
    result = comparison[0].result
    series = document["series"]["all"]
    assert [each["title"] for each in document["models"]] == [one.name for one in result.standings]
    assert series["labels"] == [row - result.first_row + 1 for row in result.curve_rows]
    assert series["labels"][-1] == result.n_scored == document["status"]["labels"]
    assert series["counts"] == result.curve_counts
    for run in comparison[0].runs:
        for metric in ("accuracy", "log_loss"):
            assert series[metric][run.method] == run.standing.curve[metric]
            assert series["means"][metric][run.method] == run.standing.metrics[metric]
    assert series["window"] == 100


def test_alarms_at_their_labels(comparison, document):
    result = comparison[0].result
    turn = 1500 - result.first_row
    methods = {each["name"] for each in document["models"]}  # hiding one hides its alarms
    assert {each["of"] for each in document["events"]} <= methods
    for run in comparison[0].runs:
        standing = run.standing
        assert len(standing.alarms) == len(standing.alarm_rates)
        own = [each for each in document["events"] if each["of"] == run.method]
        if own:
            assert [each["label"] for each in own] == [row - result.first_row + 1 for row in standing.alarms]
    static = [each for each in document["events"] if each["of"] == "static"]
    worse = next(each for each in static if not each["better"])
    assert turn < worse["label"] < turn + 300
    assert "static: the rate of error rose from" in worse["text"]
    labels = [each["label"] for each in document["events"]]
    assert labels == sorted(labels)
    assert [each["number"] for each in document["events"]] == list(range(1, len(labels) + 1))


def test_alarms_of_the_best_and_of_the_deployed_model(comparison, document):
    board = comparison[1]
    best = [entry.name for entry in sorted(board.entries, key=lambda entry: entry.rank)[:5]]
    shown = {each["of"] for each in document["events"]}
    assert shown <= {*best, "static"}
    assert "static" in shown
    others = {entry.name for entry in board.entries if any(entry.alarms)} - shown
    assert others, "somebody must have been left out"


def test_rows_without_a_label_are_no_labels():
    X, y = examples()
    known = np.arange(3000) % 3 != 0
    parts = [slice(at, at + 500) for at in range(0, 3000, 500)]
    batches = [Rows(X[part], y[part], known[part], first=part.start) for part in parts]
    found, board = compared("static,ocb", batches=batches)
    shown = comparison_document(found, board, title="t")
    labels = shown["series"]["all"]["labels"]
    assert labels[-1] == found.result.n_scored < found.result.n_predicted
    assert labels == sorted(set(labels))
    static = next(each for each in shown["events"] if each["of"] == "static" and not each["better"])
    row = next(run for run in found.runs if run.method == "static").standing.alarms
    exact = [int(known[found.start : alarm + 1].sum()) for alarm in row]
    assert min(abs(static["label"] - label) for label in exact) <= 1


def test_long_curves_are_thinned():
    found, board = compared("static,majority", window=20, step=100)
    found.result.curve_rows[:] = list(range(2, 2 * 1500 + 1, 2))
    found.result.curve_counts[:] = [20] * 1500
    for run in found.runs:
        for metric in run.standing.curve:
            run.standing.curve[metric][:] = [k / 1500 for k in range(1500)]
    series = comparison_document(found, board, title="t")["series"]["all"]
    assert len(series["labels"]) == 400 <= MAX_WATCHED_POINTS
    assert series["accuracy"]["static"][0] == pytest.approx(1 / 1500)
    assert len(series["accuracy"]["static"]) == len(series["counts"]) == 400


class TestModels:
    def test_of_the_adaptive_classifier_where_it_is_the_best(self):
        found, board = compared("static,adaptive", rows=1200, drift=False)
        shown = comparison_document(found, board, title="t")
        assert "about adaptive at the end. Drift was not looked for." in shown["subtitle"]
        now, began = found.models["adaptive"]
        assert [each["name"] for each in shown["members"]] == [each.name for each in now.members_]
        assert began.n_learnt_ < now.n_learnt_
        assert shown["features"][0]["before"] is not None

    def test_of_the_best_where_that_is_another(self, comparison, document):
        (best,) = comparison[1].best()
        assert best.role != "adaptive"
        assert f"about {best.title} at the end" in document["subtitle"]
        assert document["members"] == []
        assert document["hypotheses"]

    def test_none_where_they_were_not_kept(self):
        found, board = compared("ocb,majority", keep=False, seeds=(0, 1))
        assert found.models == {}
        shown = comparison_document(found, board, title="t")
        assert shown["members"] == shown["hypotheses"] == shown["features"] == []
        assert "seeds 0, 1." in shown["subtitle"]
        assert "The curves are those of seed 0." in shown["subtitle"]
