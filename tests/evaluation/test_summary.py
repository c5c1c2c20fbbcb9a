"""Results on many streams: ranks, chance, tables, and the report."""

from __future__ import annotations

import json
import math

import pytest
from scipy import stats

from ocboost._report.document import Illustration
from ocboost.datasets import drift
from ocboost.evaluation.report import chance, files_of, findings, headline, summary_report
from ocboost.evaluation.summary import Summary
from ocboost.evaluation.tables import (
    accuracy_table,
    board_table,
    growth_table,
    rank_table,
    winner_table,
)
from tests.support.comparisons import made_up


class TestSummary:
    def test_ranks_are_over_streams_where_all_took_part(self, summary):
        assert [board.stream for board in summary.complete] == ["elec2", "insects", "sea"]
        assert summary.mean_rank("growing") == pytest.approx((1 + 1 + 3) / 3)
        assert summary.mean_rank("oza") == pytest.approx((4 + 2.5 + 4) / 3)
        assert summary.mean_rank("ocb", ["elec2", "insects"]) == pytest.approx((3 + 4) / 2)
        assert summary.names[0] in ("growing", "eg")
        assert summary.names[-1] == "oza"

    def test_who_wins(self, summary):
        assert summary.wins("growing") == ["elec2", "insects", "spam"]
        assert summary.wins("eg") == ["sea"]
        assert summary.wins("oza") == []
        assert summary.mean_behind("oza") == pytest.approx((12 + 5 + 41) / 3)
        assert summary.behind(summary.boards[3], "oza") is None

    def test_chance(self, summary):
        columns = [[b[name].mean("accuracy") for b in summary.complete] for name in summary.names]
        assert any(len(set(row)) < len(row) for row in zip(*columns, strict=True))  # there are ties
        assert summary.friedman == pytest.approx(stats.friedmanchisquare(*columns).pvalue)
        k, n = len(summary.names), len(summary.complete)
        squares = sum(summary.mean_rank(name) ** 2 for name in summary.names)
        uncorrected = 12 * n / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)
        assert summary.friedman < stats.chi2.sf(
            uncorrected, k - 1
        )  # which takes ties for differences of none
        assert summary.critical == pytest.approx(
            2.569 * math.sqrt(4 * 5 / (6 * 3)), abs=2e-3
        )  # Demšar's table
        assert Summary(summary.boards[:1]).critical is None
        assert summary.not_apart(summary.names[0]) == summary.names[1:]
        many = Summary([made_up(f"s{k}", {"ocb": 0.9, "eg": 0.8, "oza": 0.7}) for k in range(9)])
        assert many.critical < 2
        assert many.not_apart("ocb") == ["eg"]

    def test_where_all_are_level_there_is_nothing_to_test(self):
        level = Summary([made_up(f"s{k}", {"ocb": 0.9, "eg": 0.9, "oza": 0.9}) for k in range(3)])
        assert level.friedman is None
        assert chance(level) == "All methods are level on every stream: there are no ranks to test."
        assert json.loads(json.dumps(level.as_dict(), allow_nan=False))["friedman_p"] is None
        assert "Too few" in chance(Summary([made_up("s", {"ocb": 0.9, "eg": 0.8, "oza": 0.7})]))

    def test_what_cannot_be_deployed_is_not_crowned(self):
        scores = {"forest": 0.99, "ocb": 0.9, "eg": 0.8, "majority": 0.5}
        board = made_up("sea", scores)
        assert [place.name for place in board.best()] == ["ocb"]
        assert [place.name for place in board.ahead()] == ["forest"]
        assert headline(board) == (
            "4 methods on 100 rows. Highest accuracy: OCB, all history, 0.9000. Higher, but for comparison "
            "only: adaptive random forest, 0.9900."
        )
        cells = {row.cells[0]: row.cells[1] for row in board_table(board, "sea").rows}
        assert cells["OCB, all history"].startswith("★")
        assert cells["adaptive random forest†"].startswith("☆")
        assert not cells["majority†"].startswith(("★", "☆"))
        assert "† comparison only" in board_table(board, "sea").caption
        summary = Summary([board, made_up("elec2", {**scores, "ocb": 0.995})])
        first, won = findings(summary)[:2]
        assert first.startswith("Best mean rank: OCB, all history, 1.50")
        assert "comparison" not in first  # the forest has the same
        assert "Best on a stream: OCB, all history on sea, elec2" in won
        assert "Better there, but for comparison only: adaptive random forest on sea." in won
        assert summary.as_dict()["deployable"] == {
            "ocb": True,
            "forest": False,
            "eg": True,
            "majority": False,
        }
        assert summary.wins("ocb") == ["sea", "elec2"]
        behind = Summary([board, made_up("elec2", scores)])
        assert behind.names[0] == "forest"
        assert behind.first == behind.as_dict()["best_deployable"] == "ocb"
        said = findings(behind)[0]
        assert said.startswith("Best mean rank: OCB, all history, 2.00")
        assert said.endswith("Better, but for comparison only: adaptive random forest, 1.00.")
        written = winner_table(behind)
        cells = dict(zip(written.columns, written.rows[0].cells, strict=True))
        assert cells["best"] == "OCB, all history"
        assert cells["comparison only"] == "adaptive random forest, 99.0"
        assert board.as_dict()["places"][0]["deployable"] is False
        only = made_up("sea", {"forest": 0.9, "majority": 0.5})
        assert headline(only).endswith(
            "Highest accuracy, for comparison only: adaptive random forest, 0.9000."
        )

    def test_one_of_each(self):
        one = Summary([made_up("sea", {"ocb": 0.9, "growing": 0.95})])
        text = " ".join(findings(one))
        assert "of 1 stream," in text
        assert "on 1 of 1 drifting stream; by +5.00 points" in text
        assert "1 streams" not in str(summary_report(one, command="", skipped={}, about={})[0])
        assert headline(made_up("sea", {"ocb": 0.9})).startswith("1 method on 100 rows.")

    def test_the_adaptive_classifier_and_ocb_are_spoken_of(self):
        boards = [
            made_up("sea", {"adaptive": 0.9, "ocb": 0.8, "eg": 0.7}),
            made_up("elec2", {"adaptive": 0.81, "ocb": 0.85, "eg": 0.9}),
        ]
        text = " ".join(findings(Summary(boards)))
        assert (
            "The adaptive classifier, the same on every stream, is the best of all on 1 of 2 streams" in text
        )
        assert (
            "within half a point of the best on 1, and 9.0 points behind where it does worst. OCB in" in text
        )
        assert "and 10.0 points behind where it does worst. That setting is chosen with hindsight" in text
        without = findings(Summary([made_up("sea", {"ocb": 0.8, "eg": 0.7})]))
        assert "adaptive" not in " ".join(without)

    def test_equals_are_all_named(self):
        tied = made_up("sea", {"ocb": 0.9, "eg": 0.9, "growing": 0.9, "oza": 0.85, "pa": 0.5})
        written = winner_table(Summary([tied]))
        cells = dict(zip(written.columns, written.rows[0].cells, strict=True))
        assert cells["best"] == "OCB, all history; EG±; OCB growing, all history"
        assert cells["best of OCB"] == "OCB, all history; OCB growing, all history"
        assert cells["level"] == "1"
        assert Summary([tied]).wins("growing") == ["sea"]

    def test_who_is_level_with_the_best(self):
        board = made_up("sea", {"ocb": 0.9, "eg": 0.85, "oza": 0.83, "pa": 0.89})
        assert board.standard_error == pytest.approx(math.sqrt(0.9 * 0.1 / 100))
        assert [place.name for place in board.level()] == ["pa", "eg"]  # at most 0.06 behind
        assert headline(board) == (
            "4 methods on 100 rows. Highest accuracy: OCB, all history, 0.9000. Level with it, within 2 "
            "standard errors of 3 points: passive-aggressive; EG±."
        )

    def test_nothing_is_behind_where_all_is_won(self, summary):
        assert "points behind where it does worst" in findings(summary)[2]
        won = findings(Summary([made_up("sea", {"ocb": 0.9, "eg": 0.5})]))[2]
        assert "is the best of all on 1 of 1 stream," in won
        assert "behind" not in won

    def test_tables(self, summary):
        cells = {row.cells[0]: row.cells[1:] for row in accuracy_table(summary).rows}
        assert cells["OCB growing, all history"] == ("★ 82.0", "★ 66.0", "89.6", "★ 95.0")
        assert cells["Oza-Russell"][3] == "–"
        grown = {row.cells[0]: row.cells[1] for row in growth_table(summary).rows}
        assert grown["insects"] == "+6.00"
        assert grown["sea"] == "-0.40"
        assert (grown["better"], grown["worse"]) == ("3 of 4", "1 of 4")
        assert growth_table(Summary([made_up("sea", {"eg": 0.5, "ocb": 0.6})])) is None
        ranked = rank_table(summary, {"real": ["elec2", "insects"]})
        assert ranked.columns[:3] == ("method", "rank", "real")

    def test_report(self, summary):
        blocks = summary_report(
            summary, command="ocboost compare all", skipped={"usenet": "no file"}, about={}
        )
        files = files_of("Streams", blocks, png=False)
        pictures = {f"stream-{b.stream}.svg" for b in summary.boards} | {"behind.svg", "ranks.svg"}
        assert set(files) == {"report.html", "report.md", *pictures}
        text = files["report.md"].decode()
        assert "usenet was left out: no file" in text
        assert "beats OCB, all history on 3 of 4 drifting streams; between -0.40 and +6.00 points" in text
        assert "](behind.svg)" in text
        assert ".png" not in text
        assert "Not among them, since not every method took part: spam" in text
        assert "<figcaption></figcaption>" not in files["report.html"].decode()
        for block in blocks:
            if isinstance(block, Illustration) and block.stem.startswith("stream-"):
                title = drift.STREAMS[block.stem.removeprefix("stream-")].title
                assert any(title in words.get_text() for words in block.figure.texts)
