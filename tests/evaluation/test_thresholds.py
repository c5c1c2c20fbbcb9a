"""What was decided in a comparison, and what other thresholds would have given."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import OCBClassifier
from ocboost._report.document import Illustration
from ocboost.evaluation import Fixed, Majority, View, prequential
from ocboost.evaluation.board import Board
from ocboost.evaluation.comparison import batches_of, compare_methods
from ocboost.evaluation.methods import methods_named
from ocboost.evaluation.report import files_of, recall_lines, stream_report
from ocboost.evaluation.tables import board_table, probability_table
from ocboost.evaluation.threshold_figure import draw_thresholds, shown_entry
from tests.support.comparisons import SMALL, compared, rows_of

NAMES = "adaptive,ocb,majority,no-change"


def board_with(n=600, **rule):
    decisions = (lambda classes: rule) if rule else None
    found = compared(n, seeds=(0,), names=NAMES, decisions=decisions)
    return Board.of("toy", [found], thresholds=True)


@pytest.fixture(scope="module")
def low():
    return board_with(threshold=0.1)


class TestDecided:
    def test_the_threshold_decides_and_probabilities_stay(self, low):
        plain = board_with()
        for name in ("adaptive", "ocb"):
            assert low[name].recall(1) > plain[name].recall(1)
            assert low[name].recall(0) < plain[name].recall(0)
            for metric in ("log_loss", "auc", "pr_auc", "brier", "ece"):
                assert low[name].mean(metric) == plain[name].mean(metric)
        for name in ("majority", "no-change"):  # say what they are called
            assert low[name].confusion == plain[name].confusion
        assert (low.least_probability, plain.least_probability) == (0.1, None)

    def test_what_was_decided_is_a_point_of_the_curve(self, low):
        for name in ("adaptive", "ocb"):
            curve = low[name].thresholds
            assert np.interp(0.1, curve["threshold"], curve["recall"]) == pytest.approx(
                low[name].recall(1), abs=0.02
            )

    def test_a_fixed_model_decides_as_it_says(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2))
        y = (X[:, 0] + rng.normal(size=300) > 1.0).astype(int)
        clf = OCBClassifier(n_hypotheses=5, class_weight={1: 3.0}).fit(X, y)
        result = prequential([View(X, y)], [Fixed(clf), Majority()], classes=[0, 1], drift=False)
        right = [[int(((y == i) & (clf.predict(X) == j)).sum()) for j in (0, 1)] for i in (0, 1)]
        assert result["static"].confusion == right

    def test_costs_for_everybody_and_three_classes(self):
        X, y = rows_of(400, classes=3)
        dear = {"costs": [[0, 1, 1], [1, 0, 1], [50, 50, 0]]}
        recalls = []
        for rule in ({}, dear):
            found = compare_methods(
                batches_of(X, y), methods_named("ocb,oza"), seeds=(0,), decisions=lambda c, r=rule: r, **SMALL
            )
            board = Board.of("toy", [found], thresholds=True)
            recalls.append([entry.recall(2) for entry in board.entries])
        assert all(more > less + 0.1 for less, more in zip(*recalls, strict=True))
        assert shown_entry(board) is None
        assert {"recall of 0", "recall of 2"} <= set(probability_table(board).columns)


class TestShown:
    def test_the_table_has_recalls_and_probabilities(self, low):
        table = probability_table(low)
        cells = {row.cells[0]: dict(zip(table.columns, row.cells, strict=True)) for row in table.rows}
        assert cells["adaptive"]["recall of 1"] == f"{low['adaptive'].recall(1):.1%}"
        for metric, column in {"pr_auc": "PR-AUC", "brier": "Brier", "ece": "ECE"}.items():
            assert cells["adaptive"][column].removeprefix("★ ") == f"{low['adaptive'].mean(metric):.4f}"
        best = min(low.entries, key=lambda entry: entry.mean("brier"))
        assert cells[best.title]["Brier"].startswith("★")
        assert "15 bins of equal width" in table.caption

    def test_the_figure_marks_the_threshold(self, low):
        left, right = draw_thresholds(low).axes
        labels = [text.get_text() for text in left.get_legend().get_texts()]
        assert labels == ["recall of 1", "precision of 1", "recall of 0", "accuracy", "threshold 0.1"]
        recall = left.get_lines()[0].get_ydata()
        assert recall[0] == 1.0
        assert (np.diff(recall) <= 0.0).all()
        shown = shown_entry(low)
        assert shown.mean("pr_auc") == max(e.mean("pr_auc") for e in low.entries if e.deployable)
        assert right.get_legend().get_texts()[0].get_text().startswith(f"{shown.mean('pr_auc'):.3f}")

    def test_the_report_has_it(self, low):
        blocks = stream_report(low, {}, name="toy", file=True)
        assert [block.stem for block in blocks if isinstance(block, Illustration)] == ["curves", "thresholds"]
        assert {"thresholds.svg", "thresholds.png"} <= set(files_of("toy", blocks))
        assert "PR-AUC" in str(blocks)

    def test_the_lines_below_the_table(self, low):
        (best,) = low.best()[:1]
        said = recall_lines(low)
        assert said[0].startswith(f"Highest accuracy, {best.title}: recall 0 {best.recall(0):.1%}; 1 ")

    def test_boards_of_earlier_versions_are_read(self, low):
        content = low.as_dict()
        for key in ("least_probability",):
            del content[key]
        for entry in content["places"]:
            for key in ("pr_auc_bound", "confusion", "thresholds"):
                del entry[key]
            for metric in ("f1", "pr_auc", "brier", "ece"):
                del entry["values"][metric]
        old = Board.from_dict(content)
        assert old["adaptive"].mean("f1") is None
        assert old["adaptive"].recall(1) is None
        assert {row.cells[3] for row in board_table(old, "toy").rows} == {"–"}
        assert {row.cells[-1] for row in probability_table(old).rows} == {"–"}
        assert stream_report(old, {}, name="toy", file=True)
        assert recall_lines(old) == []
