"""Figures of comparisons: looks of lines, bands, names, and maps of numbers."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
from matplotlib.colors import to_hex

from ocboost._report.figures import COLOURS
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation import lineup, prequential
from ocboost.evaluation.board import Board
from ocboost.evaluation.comparison import batches_of, compare_methods
from ocboost.evaluation.figures import draw, draw_behind, draw_ranks, keys_of, looks_of
from ocboost.evaluation.methods import METHODS, methods_for
from ocboost.evaluation.report import files_of, stream_report
from tests.support.comparisons import SMALL, compared, made_up, rows_of


class TestFigures:
    def test_the_axes_hold_the_bands(self, board):
        wide = {"accuracy": [0.2] * len(board.curve_rows)}
        entries = [replace(place, bands=wide) for place in board.entries]
        axes = draw(replace(board, entries=entries), title="toy").axes[0]
        (band,) = axes.collections  # of the one OCB
        low, high = axes.get_ylim()
        drawn = band.get_paths()[0].vertices[:, 1]
        assert low <= max(0.0, drawn.min())
        assert high >= min(1.0, drawn.max())
        assert high <= 1.01

    def test_without_bands_nothing_is_said_of_them(self):
        one = Board.of("toy", [compared(300, seeds=(0,), names="ocb,oza")])
        text = files_of("toy", stream_report(one, {}, name="toy", command="", file=True))[
            "report.md"
        ].decode()
        assert "one seed, so no bands" in text
        assert "shaded" not in text

    def test_a_method_has_one_look_everywhere(self, summary):
        alone = made_up("sea", {"oza": 0.5, "growing": 0.9, "eg": 0.8})
        keys = {key.text: key.colour for key in keys_of(alone)}
        lanes = draw_ranks(summary).axes[0]
        titles = [label.get_text() for label in lanes.get_yticklabels()]
        dots = [line.get_color() for line in lanes.lines if line.get_markersize() == 9]
        ranked = dict(zip(titles, dots, strict=True))
        X, y = rows_of(300)
        clf = OCBClassifier(n_hypotheses=5).fit(X[:100], y[:100])
        result = prequential(batches_of(X[100:], y[100:]), lineup(clf), classes=[0, 1], drift=False)
        evaluated = compare_methods(batches_of(X, y), methods_for(), seeds=(0,), **SMALL)
        for title in ("OCB growing, all history", "EG±", "Oza-Russell"):
            assert keys[title] == ranked[title]
        both = {key.text: key.colour for key in keys_of(Board.of("toy", [evaluated]))}
        assert both["Oza-Russell"] == keys["Oza-Russell"]
        assert both["logistic SGD, rate 0.03"] == looks_of(["logistic"])["logistic"].colour
        assert [s.name for s in result.standings] == [run.standing.name for run in evaluated.runs]

    def test_looks_are_different(self):
        looks = looks_of(list(METHODS))
        assert len({(look.colour, look.dash) for look in looks.values()}) == len(METHODS)
        usual = [name for name, method in METHODS.items() if method.usual]
        assert len({looks[name].colour for name in usual}) == len(usual)
        assert len({looks[name].colour for name in METHODS if METHODS[name].role == "ocb"}) == 8
        rivals = [looks[name] for name in usual if METHODS[name].role == "rival"]
        assert all(a.dash != b.dash for a, b in itertools.pairwise(rivals))

    def test_methods_that_nobody_knows_have_looks_of_their_own(self):
        strange = [f"mine {k}" for k in range(12)]
        looks = looks_of([*strange, "eg"], dict.fromkeys(strange, "ocb"))
        assert looks["eg"] == looks_of(["eg"])["eg"]
        assert len({*looks.values(), *looks_of(list(METHODS)).values()}) == len(METHODS) + 12
        beside = looks_of(["ocb", "ocb-window-50", "ocb-forgetting"], {"ocb-window-50": "ocb"})
        assert len({look.colour for look in beside.values()}) == 3

    def test_numbers_on_a_map_can_be_read_on_any_paper(self, summary):
        turned = {light for light, _ in COLOURS.values()}
        axes = draw_behind(summary).axes[0]
        assert len(axes.texts) == 16
        inks = {text.get_color() for text in axes.texts if text.get_text() != "–"}
        cells = {to_hex(colour) for colour in axes.collections[0].to_rgba(np.linspace(0, 10, 50))}
        assert not turned & (inks | cells)

    def test_names_stand_in_the_order_of_their_figures(self, board):
        for drawn in (board, made_up("sea", {"oza": 0.5, "growing": 0.9, "forest": 0.95, "eg": 0.8})):
            keys = [float(key.value) for key in keys_of(drawn)]
            assert keys == sorted(keys, reverse=True)
            texts = draw(drawn).axes[0].texts
            figures = {
                t.get_position()[1]: t.get_text() for t in texts if re.fullmatch(r"0\.\d{3}", t.get_text())
            }
            in_order = [float(figures[height]) for height in sorted(figures, reverse=True)]
            assert in_order == keys
            titles = [text.get_text() for text in texts]
            assert [title for title in titles if title in [key.text for key in keys_of(drawn)]] == [
                key.text for key in keys_of(drawn)
            ]

    def test_the_page_has_the_names_as_text(self, board):
        page = files_of("toy", stream_report(board, {}, name="toy", file=True))["report.html"].decode()
        figure, _, after = page.partition('</div><ul class="legend">')
        names = after[: after.index("</ul>")]
        for place in board.entries:
            assert names.count(f"</b> {place.title}") == 1
        assert (
            "whole stream" not in figure[figure.index("<figure") :]
        )  # the SVG has none, and needs less room
        assert names.count("stroke: var(--") == len(board.entries)


def test_a_title_looks_as_its_method_does():
    every = {method.title: looks_of([method.name])[method.name] for method in METHODS.values()}
    mixed = looks_of(["something else", *reversed(every)], {"something else": "ocb"})
    assert {title: mixed[title] for title in every} == every
    assert mixed["something else"] not in every.values()
