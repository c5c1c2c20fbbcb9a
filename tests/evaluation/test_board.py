"""The results on one stream: means and spreads over seeds, ranks, and the report."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from scipy import stats

from ocboost._extras import install_line
from ocboost._report.document import Illustration
from ocboost._report.tables import width_of
from ocboost.evaluation import methods
from ocboost.evaluation.board import DRAWN_PER_SEED, Board, mean_of, ranks_of, spread_of, thinned
from ocboost.evaluation.methods import METHODS
from ocboost.evaluation.report import files_of, stream_report
from ocboost.evaluation.tables import (
    board_table,
    narrowed,
)
from tests.support.comparisons import compared


class TestBoard:
    def test_means_and_spreads_are_over_the_seeds(self, board):
        for place in board.entries:
            values = place.values["accuracy"]
            assert len(values) == 3
            assert place.mean("accuracy") == pytest.approx(np.mean(values))
            assert place.spread("accuracy") == pytest.approx(np.std(values, ddof=1))
        assert board["static"].spread("accuracy") > 0.0
        assert board["no-change"].spread("accuracy") == 0.0

    def test_ranks_are_those_of_each_seed(self, board):
        for k in range(3):
            accuracies = [place.values["accuracy"][k] for place in board.entries]
            expected = stats.rankdata([-a for a in accuracies])
            assert [place.ranks[k] for place in board.entries] == expected.tolist()

    def test_curves(self, board):
        assert board.settings["window"] == 60
        for place in board.entries:
            assert list(place.curves) == ["accuracy"]
            assert len(place.curves["accuracy"]) == len(place.bands["accuracy"]) == len(board.curve_rows)
        assert board.curve_rows[-1] == 599

    def test_one_seed_has_no_spread(self):
        one = Board.of("toy", [compared(300, seeds=(0,), names="static,oza")])
        assert one["oza"].spread("accuracy") is None
        assert "±" not in str(board_table(one, "toy").rows)
        assert board_table(one, "toy").caption.count("One seed, so no spread") == 1

    def test_there_and_back(self, board):
        content = json.loads(json.dumps(board.as_dict(), allow_nan=False))
        assert Board.from_dict(content) == board
        assert "curve" not in json.dumps(board.as_dict(curves=False))

    def test_table(self, board):
        written = board_table(board, "toy")
        best = max(board.entries, key=lambda place: place.mean("accuracy"))
        row = next(row for row in written.rows if row.cells[0] == best.title)
        assert row.cells[1].startswith("★ ")
        assert row.cells[1].endswith(f"{best.mean('accuracy'):.4f} ± {best.spread('accuracy'):.4f}")
        assert sum(row.cells[1].startswith("★") for row in written.rows) == 1
        assert not any("★" in row.cells[written.columns.index("rank")] for row in written.rows)

    def test_what_the_spread_is_not(self, board):
        best = max(place.mean("accuracy") for place in board.entries)
        error = math.sqrt(best * (1 - best) / 500)
        assert board.standard_error == pytest.approx(error)
        said = board_table(board, "toy").caption
        assert (
            "± is the spread (standard deviation) over 3 starts on the same rows, not the uncertainty" in said
        )
        assert f"whose standard error is about {100 * error:.2g} points" in said
        drawn = Board(**{**board.__dict__, "notes": [DRAWN_PER_SEED]})
        assert drawn.standard_error == pytest.approx(error / math.sqrt(3))
        assert "over 3 seeds, each with rows of its own" in board_table(drawn, "toy").caption

    def test_a_narrow_table(self, board):
        wide = Board.of("toy", [compared(300, names="growing-forgetting,oza-forgetting")])
        whole = board_table(wide, "toy")
        assert width_of(whole) > 80
        narrow = narrowed(whole, 80)
        assert width_of(narrow) <= 80
        assert {"method", "accuracy", "rank"} < set(narrow.columns)
        assert [row.cells[0] for row in narrow.rows] == [row.cells[0] for row in whole.rows]
        assert narrowed(whole, 1000) == whole

    def test_those_that_were_skipped_are_in_the_table(self, monkeypatch):
        monkeypatch.setattr(methods, "find_spec", lambda name: None)
        skipped = Board.of("toy", [compared(300, names="static,hoeffding")])
        written = board_table(skipped, "toy")
        assert written.rows[-1].cells[:2] == ("Hoeffding tree†", "–")
        assert f"needs the package 'river': {install_line('river')}: Hoeffding tree" in written.caption

    def test_report(self, board):
        about = {"stream": "<script>"}
        blocks = stream_report(board, about, name="<i>toy", command="ocboost compare toy", file=True)
        files = files_of("<b>toy</b>", blocks)
        assert sorted(files) == ["curves.png", "curves.svg", "report.html", "report.md"]
        page = files["report.html"].decode()
        assert "<script" not in page
        assert not re.search(r"""(src|href)=["'](?!#)""", page)
        assert "seed 0 begins with all" in page
        assert METHODS["oza"].about in page
        text = files["report.md"].decode()
        assert "](curves.png)" in text
        assert "    ocboost compare toy" in text
        assert "shaded band reaches one standard deviation over these seeds" in text
        assert "elec2" not in text  # which is no part of it
        (figure,) = [block.figure for block in blocks if isinstance(block, Illustration)]
        assert "<i>toy" in [text.get_text() for text in figure.texts]
        named = files_of("toy", stream_report(board, {}, name="toy", command="", file=False))
        assert "elec2 and INSECTS" in named["report.md"].decode()


class TestNumbers:
    def test_ranks(self):
        values = [0.3, 0.9, 0.3, 0.1, 0.9, 0.9]
        assert ranks_of(values) == stats.rankdata([-v for v in values]).tolist()
        assert ranks_of(values, less=True) == stats.rankdata(values).tolist()
        assert ranks_of([None, 0.1]) == [2.0, 1.0]

    def test_means(self):
        assert mean_of([]) is None
        assert spread_of([1.0, None]) is None
        assert thinned([1.0, None, None, None, 5.0], 2) == [1.0, None, 5.0]
        assert thinned([1.0, None], 1) == [1.0, None]
