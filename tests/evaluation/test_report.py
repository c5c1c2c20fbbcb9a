"""An evaluation as a table, as a figure and as a page of its own."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from ocboost._core.metrics import METRIC_TABLE, METRICS
from ocboost._report import document
from ocboost._report.document import Illustration
from ocboost._report.figures import render
from ocboost._report.page import inline_svg
from ocboost._report.tables import as_rich, width_of
from ocboost.errors import InputError, MissingExtraError
from ocboost.evaluation import Majority, NoChange, prequential
from ocboost.evaluation.board import board_of
from ocboost.evaluation.figures import draw, keys_of
from ocboost.evaluation.report import protocol, stream_report
from ocboost.evaluation.tables import as_text, board_table, narrowed, probability_table
from tests.support.pages import Page, check_light_and_dark, check_stands_alone

HOSTILE = "<script>alert('x')</script>\"&$\\frac\x00\n[bold]"


class Knows(Majority):
    """Right more often than not, from row 1,500 on."""

    role = "ocb"
    deployable = True

    def predict(self, view):
        p = np.where(view.rows < 1500, 0.5, 0.2 + 0.6 * view.X[:, 0])
        return np.stack([1 - p, p], axis=1)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 3000)
    X = np.where(rng.random(3000) < 0.9, codes, 1 - codes)[:, None].astype(float)
    batch = SimpleNamespace(X=X, y=codes, known=None, first=500)
    static = Knows("static")
    static.role, static.learns = "static", False
    contenders = [Knows("OCB"), static, Majority(), NoChange()]
    return prequential([batch], contenders, classes=[0, 1], window=300)


def renamed(result, name):
    standings = [replace(result.standings[0], name=name), *result.standings[1:]]
    return replace(result, standings=standings, classes=[name, "b"], notes=[name])


def printed(result):
    console = Console(file=StringIO(), width=120, highlight=False)
    console.print(as_rich(board_table(board_of(result), "toy"), whole=True))
    return console.file.getvalue()


def as_html(result, title="A run", **about):
    return document.as_html(title, stream_report(board_of(result), about, name=title, file=True))


class TestTable:
    def test_cells(self, result):
        table = board_table(board_of(result), "toy")
        cells = [dict(zip(table.columns, row.cells, strict=True)) for row in table.rows]
        assert [row["method"] for row in cells] == ["OCB", "static", "majority†", "no change†"]
        best = [row["accuracy"].startswith("★") for row in cells]
        assert best == [True, True, False, False]  # those that read the same
        values = [float(row["log-loss"].removeprefix("★ ")) for row in cells]
        assert cells[0]["log-loss"].startswith("★")
        assert values[0] == min(values)  # less loss is better
        assert cells[1]["learn µs"] == "–"  # never learnt
        assert cells[1]["alarms"] == f"{len(result['static'].alarms)}"
        assert "rank" not in table.columns  # of one seed

    @pytest.mark.parametrize("write", [printed, as_text])
    def test_everything_is_there(self, result, write):
        text = write(result)
        for standing in result.standings:
            assert standing.name in text
            for name, value in standing.metrics.items():
                assert f"{value:.4f}" in text or (write is printed and not METRIC_TABLE[name].first_table)
        assert "3,000 of 3,000 rows scored" in text
        assert "…" not in text

    def test_plain_text_stands_in_columns(self, result):
        lines = as_text(result).splitlines()
        assert "★" in next(line for line in lines if line.startswith("OCB"))
        assert "★" not in next(line for line in lines if line.startswith("majority"))
        assert len({len(line) for line in lines[4:8]} | {len(lines[2])}) == 1

    def test_what_is_not_defined_is_a_dash(self, result):
        empty = replace(result.standings[0], metrics=dict.fromkeys(result.standings[0].metrics))
        (row,) = board_table(board_of(replace(result, standings=[empty])), "toy").rows
        assert row.cells[1:6] == ("–",) * 5

    def test_names_are_not_markup(self, result):
        text = printed(renamed(result, "[bold]x[/bold]"))
        assert "[bold]x[/bold]" in text

    def test_without_rich(self, result, monkeypatch):
        monkeypatch.setitem(sys.modules, "rich.table", None)
        monkeypatch.setitem(sys.modules, "rich.box", None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[cli\]"):
            as_rich(board_table(board_of(result), "toy"))
        assert as_text(result)  # needs nothing


@pytest.mark.parametrize("name", METRICS)
def test_the_table_of_metrics_says_how_each_is_shown(name, result):
    metric = METRIC_TABLE[name]
    board = board_of(result)
    table = board_table(board, "toy") if metric.first_table else probability_table(board)
    assert metric.column in table.columns
    title = draw(result, metrics=[name]).axes[0].get_title(loc="left")
    assert title.startswith(metric.title)
    assert title.endswith("less is better") is not metric.larger_is_better
    assert any(metric.explanation in text for text in protocol(board_of(result), file=True))
    for standing in result.standings:
        assert metric.lowest <= standing.metrics[name] <= metric.highest


def test_narrow_tables_keep_the_important_columns(result):
    table = board_table(board_of(result), "toy")
    optional = ["state", "predict µs", "learn µs", "alarms", "log-loss", "kappa", "F1", "AUC", "balanced"]
    for n, column in enumerate(optional):
        narrow = narrowed(table, width_of(table) - 1)
        assert set(table.columns) - set(narrow.columns) == {column}, n
        table = narrow
    assert table.columns == ("method", "accuracy")


class TestFigure:
    def test_lines_and_names(self, result):
        figure = draw(result, title="a title")
        top = figure.axes[0]
        names = [text.get_text() for text in top.texts]
        for key, standing in zip(["OCB", "static", "majority†", "no change†"], result.standings, strict=True):
            assert key in names
            assert f"{standing.metrics['accuracy']:.3f}" in names
        curve = top.lines[0]
        full = result.curve_counts.index(300)
        np.testing.assert_array_equal(curve.get_xdata(), result.curve_rows[full:])
        np.testing.assert_array_equal(curve.get_ydata(), result["OCB"].curve["accuracy"][full:])
        assert any("a title" in text.get_text() for text in figure.texts)

    def test_alarms_of_the_model_that_never_learns_are_marked(self, result):
        assert result["static"].alarms
        lane = draw(result).axes[1]
        np.testing.assert_array_equal(lane.lines[-1].get_xdata(), result["static"].alarms)
        assert "static" in lane.texts[0].get_text()
        assert lane.get_xlim()[0] <= min(result["static"].alarms)  # none is out of sight
        both = draw(result, alarms=["OCB", "majority"]).axes[1]
        assert len(both.texts) == 2

    def test_names_stay_apart_and_inside(self, result):
        many = [replace(result.standings[k % 4], name=f"learner {k}") for k in range(14)]
        figure = draw(replace(result, standings=many))
        places = sorted({text.get_position()[1] for text in figure.axes[0].texts})
        height = figure.get_figheight() * figure.axes[0].get_position().height
        assert len(places) == 15  # and the head above them
        assert np.diff(places).min() * height > 0.17
        assert places[0] > -0.01
        assert places[-1] <= 1.0 + 1e-9

    def test_a_gap_where_a_metric_is_not_defined(self, result):
        batch = SimpleNamespace(X=np.zeros((900, 1)), y=[0, 1] * 150 + [0] * 600)
        one = prequential([batch], [Majority()], classes=[0, 1], window=100, drift=False)
        figure = draw(one, metrics=["kappa"])
        assert np.isnan(figure.axes[0].lines[0].get_ydata()).any()
        assert len(figure.axes) == 1

    def test_few_rows_and_none(self, result):
        batch = SimpleNamespace(X=np.zeros((3, 1)), y=[0, 0, 0])
        few = prequential([batch], [Majority()], classes=[0, 1])
        unlabelled = prequential([SimpleNamespace(X=np.zeros((3, 1)), y=None)], [Majority()], classes=[0, 1])
        for each in (few, unlabelled):
            assert render(draw(each), "few")["few.png"].startswith(b"\x89PNG")
            as_html(each)

    def test_any_name_can_be_drawn(self, result):
        for name in (HOSTILE, "漢字", "$x_", "a" * 500):
            files = render(draw(renamed(result, name), title=name), "x")
            ElementTree.fromstring(files["x.svg"])

    def test_the_same_result_gives_the_same_bytes(self, result):
        assert render(draw(result), "x") == render(draw(result), "x")

    def test_strange_metrics_are_refused(self, result):
        with pytest.raises(InputError, match=r"metrics must be among accuracy, .*; got 'recall'"):
            draw(result, metrics=["recall"])


@pytest.fixture(scope="module")
def page(result):
    return as_html(result, stream="toy.csv", seed=7, numpy="2")


def svg_of(result, **how):
    return inline_svg(draw(result, title="", **how), label="curves", prefix="a")


class TestPage:
    def test_says_what_was_run(self, page, result):
        text = Page(page).text
        for words in ("A run", "toy.csv", "seed", "numpy", "How it was done", "Drift alarms", "3,000 rows"):
            assert words in text
        for standing in result.standings:
            assert f"{standing.metrics['log_loss']:.4f}" in text
        for row in result["static"].alarms[:3]:
            assert f"{row:,}" in text

    def test_stands_alone(self, page):
        check_stands_alone(page)

    def test_the_figure_is_well_formed_and_has_text(self, result):
        root = ElementTree.fromstring(svg_of(result, metrics=["auc", "log_loss"]))
        words = " ".join("".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text"))
        assert "no change" in words
        assert "less is better" in words

    def test_the_page_names_the_lines_outside_the_figure(self, result):
        block, thresholds = [
            b for b in stream_report(board_of(result), {}, name="", file=True) if isinstance(b, Illustration)
        ]
        assert thresholds.stem == "thresholds"
        assert [key.text for key in block.keys] == [key.text for key in keys_of(result)]
        bare = [text.get_text() for text in block.on_page.axes[0].texts]
        assert bare == []
        assert block.on_page.axes[0].get_position().width > 1.3 * block.figure.axes[0].get_position().width

    def test_light_dark_and_print(self, page):
        check_light_and_dark(page)

    def test_hostile_text_is_only_text(self, result):
        hostile = renamed(result, HOSTILE)
        page = as_html(hostile, title=HOSTILE, **{HOSTILE: HOSTILE})
        parsed = Page(page)
        assert "script" not in parsed.tags
        assert "<script" not in page
        assert "\x00" not in page
        assert "alert" in parsed.text
        assert set(parsed.tags) == set(Page(as_html(result, a=1)).tags)
        assert not [name for _, name, _ in parsed.attributes if name.startswith("on")]

    def test_one_run_that_was_interrupted(self, result):
        page = as_html(replace(result, interrupted=True, notes=["Interrupted: this is about ..."]))
        assert "Interrupted" in Page(page).text


def test_a_narrow_table_keeps_the_names():
    batch = SimpleNamespace(X=np.zeros((6, 1)), y=np.array(list("aaabbb")))
    contenders = [Majority("a rather long name of a learner"), NoChange()]
    result = prequential([batch], contenders, classes=["a", "b"], drift=False)
    whole = board_table(board_of(result), "toy")
    narrow = narrowed(whole, 60)
    assert width_of(narrow) <= 60 < width_of(whole)
    assert narrow.rows[0].cells[0] == "a rather long name of a learner†"
    assert "accuracy" in narrow.columns
    assert "state" not in narrow.columns
    assert "state" in as_text(result)
