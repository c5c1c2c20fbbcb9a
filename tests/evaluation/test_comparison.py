"""Comparisons: protocol, aggregation over seeds, ranks, and what a report says."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import sparse, stats

import ocboost
from ocboost._core import interrupts
from ocboost._report.document import Illustration
from ocboost._report.page import COLOURS
from ocboost._report.tables import width_of
from ocboost.datasets import drift
from ocboost.datasets.stream_files import Loaded
from ocboost.errors import InputError, MissingExtraError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation import View, lineup, methods, prequential
from ocboost.evaluation import jobs as jobs_module
from ocboost.evaluation.board import DRAWN, Board, mean_of, ranks_of, spread_of, thinned
from ocboost.evaluation.comparison import batches_of, compete
from ocboost.evaluation.contender import Contender
from ocboost.evaluation.contenders import Filled, Retrained
from ocboost.evaluation.figures import draw, draw_behind, draw_ranks, keys_of, looks_of
from ocboost.evaluation.first_rows import Start, some_of
from ocboost.evaluation.jobs import Kept, Task, boards_of, run_tasks
from ocboost.evaluation.lineup import methods_for
from ocboost.evaluation.methods import METHODS, Method, methods_named
from ocboost.evaluation.report import chance, files_of, findings, lead, stream_report, summary_report
from ocboost.evaluation.summary import Summary
from ocboost.evaluation.tables import (
    accuracy_table,
    board_table,
    growth_table,
    narrowed,
    rank_table,
    winner_table,
)
from ocboost.streams.rows import Rows
from tests.support.cli_runs import table

QUICK = "static,ocb,oza,no-change"
SMALL = {"hypotheses": 8, "start": 100}


def rows_of(n, seed=0, classes=2):
    """A small stream: features and labels."""
    data = np.array(table(n, seed, classes))
    return data[:, :4], data[:, 4].astype(int)


def contest(n=600, seeds=(0, 1), names=QUICK, **changes):
    X, y = rows_of(n)
    return compete(batches_of(X, y), methods_named(names), seeds=seeds, **{**SMALL, **changes})


@pytest.fixture(scope="module")
def board():
    return Board.of("toy", [contest(seeds=(0, 1, 2))])


class Witness(Contender):
    """Remembers what it was shown."""

    def __init__(self, start):
        super().__init__("witness")
        self.start = start
        self.predicted, self.learnt = [], []

    def predict(self, view):
        self.predicted += view.rows.tolist()
        return np.full((len(view), 2), 0.5)

    def learn(self, view):
        self.learnt += view.rows.tolist()


def witnessed(X, y, **changes):
    """The witness of each seed of a run."""
    seen = []

    def make(start, title):
        seen.append(Witness(start))
        return seen[-1]

    method = Method("witness", "witness", "", "features", make, package="numpy")
    settings = {"hypotheses": 4, "start": 100, "seeds": (0, 1), **changes}
    return compete(batches_of(X, y), [method], **settings), seen


class TestProtocol:
    def test_the_start_is_learnt_and_the_rest_predicted_then_learnt(self):
        X, y = rows_of(600)
        found, (first, second) = witnessed(X, y)
        assert found.start == 100
        for witness in (first, second):
            assert witness.predicted == witness.learnt == list(range(100, 600))
        np.testing.assert_array_equal(first.start.X, X[:100])
        np.testing.assert_array_equal(first.start.codes, y[:100])
        assert len(second.start.X) == 80
        held = {row.tobytes() for row in X[:100]}
        assert all(row.tobytes() in held for row in second.start.X)

    def test_at_most_a_fifth(self):
        X, y = rows_of(600)
        found, _ = witnessed(X, y, start=None)
        assert found.start == 120
        assert found.result.n_scored == 480
        assert found.result.notes == []

    def test_a_start_that_is_asked_for(self):
        X, y = rows_of(600)
        for start in (300, 540):
            found, _ = witnessed(X, y, start=start)
            assert (found.start, found.result.n_scored) == (start, 600 - start)
            assert found.result.notes == []
        found, _ = witnessed(X, y, start=2_000)
        assert found.start == 540
        assert found.result.notes == [
            "The start is 540 rows, nine tenths of the stream; 2,000 were asked for."
        ]

    def test_a_step_as_long_as_the_stream(self):
        assert "predicted in one step" in contest(300, names="oza", step=200).result.notes[0]
        assert contest(300, names="oza", step=199).result.notes == []

    def test_rows_without_labels_are_not_learnt(self):
        X, y = rows_of(600)
        known = np.ones(600, bool)
        known[::7] = False
        batches = [SimpleNamespace(X=X, y=y, known=known, first=0)]
        found = compete(batches, methods_named("static"), seeds=(0,), **SMALL)
        expected = OCBClassifier(n_hypotheses=8, random_state=0).fit(
            X[:100][known[:100]], y[:100][known[:100]]
        )
        score = expected.score(X[100:][known[100:]], y[100:][known[100:]])
        assert found.runs[0].standing.metrics["accuracy"] == pytest.approx(score)
        assert found.result.notes == ["86 rows have no label: not learnt, and not scored."]

    def test_how_the_stream_is_cut_makes_no_difference(self):
        X, y = rows_of(500)
        cut = [SimpleNamespace(X=X[a : a + 37], y=y[a : a + 37]) for a in range(0, 500, 37)]
        one = contest(500)
        other = compete(cut, methods_named(QUICK), seeds=(0, 1), **SMALL)
        for a, b in zip(one.runs, other.runs, strict=True):
            assert (a.method, a.seed) == (b.method, b.seed)
            assert a.standing.metrics == b.standing.metrics
            assert a.standing.confusion == b.standing.confusion

    def test_one_pass_or_one_for_each_seed(self):
        together = Board.of("toy", [contest(seeds=(0, 1))])
        apart = Board.of("toy", [contest(seeds=(0,)), contest(seeds=(1,))])
        assert [p.values for p in together.places] == [p.values for p in apart.places]
        assert [p.ranks for p in together.places] == [p.ranks for p in apart.places]
        assert [p.curves for p in together.places] == [p.curves for p in apart.places]
        assert together.seeds == apart.seeds == [0, 1]

    def test_rows(self):
        assert contest(600, rows=300, start=None).result.n_scored == 240  # a fifth of 300 to begin with

    def test_a_class_that_comes_late(self):
        X, y = rows_of(600)
        y[300::10] = 2
        found = compete(batches_of(X, y), methods_named("ocb,oza"), seeds=(0, 1), **SMALL)
        assert found.result.classes == [0, 1, 2]

    def test_sparse_rows_skip_those_that_are_too_slow(self):
        X, y = rows_of(500)
        wide = sparse.hstack([sparse.csr_matrix(X), sparse.csr_matrix((500, 1500))], format="csr")
        names = "static,ocb-window-20,retrained,hoeffding,oza-bayes"
        found = compete(batches_of(wide, y), methods_named(names), seeds=(0, 1), **SMALL)
        expected = {"hoeffding": "too slow on 1,504 features", "oza-bayes": "too slow on 1,504 features"}
        assert found.skipped == expected
        dense = compete(batches_of(X, y), methods_named("static,ocb-window-20"), seeds=(0, 1), **SMALL)
        for run in dense.runs:
            match = next(r for r in found.runs if (r.method, r.seed) == (run.method, run.seed))
            assert match.standing.metrics == run.standing.metrics

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"seeds": ()}, "seeds must be at least one"),
            ({"seeds": (1, 1)}, "each another"),
            ({"seeds": (-1,)}, "seeds must be"),
            ({"start": 1}, "start must be"),
            ({"hypotheses": 0}, "hypotheses must be"),
            ({"rows": 0}, "rows must be"),
            ({"rows": 9}, "at least 10 rows"),
            ({"step": 0}, "step must be"),
            ({"window": 0}, "window must be"),
        ],
    )
    def test_bad_settings(self, changes, said):
        with pytest.raises(InputError, match=said):
            contest(300, names="static", **changes)

    def test_nobody(self):
        with pytest.raises(InputError, match="at least one"):
            compete([], [])

    def test_nobody_can(self):
        X, y = rows_of(300)
        wide = np.hstack([X, np.zeros((300, 1500))])
        with pytest.raises(InputError, match=r"no method can take part: hoeffding: too slow"):
            compete(batches_of(wide, y), methods_named("hoeffding"), **SMALL)

    def test_one_class_at_first(self):
        X, y = rows_of(600)
        y[:110], y[110] = 1, 0
        text = (
            r"first 100 rows must hold at least two classes; they hold 1\. Take more .*--start: .* row 111\."
        )
        with pytest.raises(InputError, match=text):
            compete(batches_of(X, y), methods_named("static"), **SMALL)
        compete(batches_of(X, y), methods_named("static"), **{**SMALL, "start": 115})
        y[:150], y[150] = 1, 0
        with pytest.raises(InputError, match=r"first 120 rows .*--start: the second one comes in row 151\."):
            compete(batches_of(X, y), methods_named("static"), hypotheses=8)
        compete(batches_of(X, y), methods_named("static"), hypotheses=8, start=151)
        y[:550], y[550] = 1, 0
        text = r"row 551, and nine tenths of the stream, 540 rows, are the most to begin with: mix its rows"
        for start in (100, 540, 5000):  # more would not help
            with pytest.raises(InputError, match=text):
                compete(batches_of(X, y), methods_named("static"), **{**SMALL, "start": start})

    def test_rows_without_a_label_are_no_class(self):
        X, y = rows_of(600)
        y[:110], y[110] = 1, 0
        y[3], known = 0, np.arange(600) != 3
        batch = SimpleNamespace(X=X, y=y, known=known, first=7)
        with pytest.raises(InputError, match=r"the second one comes in row 111\."):
            compete([batch], methods_named("static"), **SMALL)

    def test_one_class_throughout(self):
        X, y = rows_of(600)
        with pytest.raises(
            InputError, match=r"they hold 1\. No other comes in the whole stream: is the label"
        ):
            compete(batches_of(X, 0 * y), methods_named("static"), **SMALL)
        X = np.zeros((12_000, 1))  # more than is looked at
        with pytest.raises(InputError, match=r"they hold 1\. Take more with --start\.$"):
            compete(batches_of(X, np.zeros(12_000, int)), methods_named("static"), **SMALL)

    def test_numbers_are_no_classes(self):
        X, y = rows_of(600)
        with pytest.raises(InputError, match=r"must hold classes; it holds numbers with fractions: .*column"):
            compete(batches_of(X, X[:, 0]), methods_named("static"), **SMALL)
        with pytest.raises(
            InputError, match=r"each in several rows; it holds 600 values in 600 rows: 0, 1, 2"
        ):
            compete(batches_of(X, np.arange(600)), methods_named("majority"), **SMALL)
        compete(batches_of(X, y.astype(float)), methods_named("static"), **SMALL)

    def test_no_labels(self):
        with pytest.raises(InputError, match="must have labels"):
            compete([SimpleNamespace(X=np.zeros((50, 2)), y=None)], methods_named("static"))


class TestStart:
    def test_seeds_take_other_rows_in_their_order(self):
        codes = np.repeat([0, 1], 50)
        assert some_of(codes, 0).tolist() == list(range(100))
        one, two = some_of(codes, 1), some_of(codes, 2)
        assert len(one) == len(two) == 80
        assert (np.diff(one) > 0).all()
        assert one.tolist() != two.tolist()
        assert one.tolist() == some_of(codes, 1).tolist()

    def test_no_class_is_lost(self):
        codes = np.zeros(100, np.int64)
        codes[3] = 1
        assert all(3 in some_of(codes, seed) for seed in range(40))

    def test_means_of_what_is_known(self):
        X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
        assert Start(X, np.array([0, 1, 0]), [0, 1]).means.tolist() == [2.0, 0.0]


class TestMethods:
    def test_every_method_learns_a_small_stream(self):
        pytest.importorskip("river")
        found = contest(260, seeds=(0,), names="all", hypotheses=5, start=50)
        assert [run.method for run in found.runs] == list(METHODS)
        assert not found.skipped
        for run in found.runs:
            assert run.standing.name == METHODS[run.method].title
            assert 0.3 < run.standing.metrics["accuracy"] <= 1.0, run.method
            assert run.standing.role == METHODS[run.method].role
            assert run.standing.deployable == METHODS[run.method].deployable

    def test_every_method_takes_three_classes_and_gaps(self):
        pytest.importorskip("river")
        X, y = rows_of(260, classes=3)
        X[::5, 1] = np.nan
        found = compete(batches_of(X, y), methods_named("all"), seeds=(1,), hypotheses=4, start=50)
        assert [run.method for run in found.runs] == list(METHODS)

    def test_names(self):
        assert [m.name for m in methods_named("eg, ocb,eg")] == ["eg", "ocb"]
        assert [m.name for m in methods_named("all")] == list(METHODS)
        usual = [m.name for m in methods_named("usual")]
        assert usual == [name for name, method in METHODS.items() if method.usual]
        assert "majority" in usual
        with pytest.raises(
            InputError, match=r"got 'ocb-forgeting'\. Did you mean ocb-forgetting\? There are st"
        ):
            methods_named("ocb,ocb-forgeting")
        with pytest.raises(InputError, match=r"got 'xyz'\. There are static"):
            methods_named("xyz")
        with pytest.raises(InputError, match="got none"):
            methods_named(",")

    def test_titles_are_different(self):
        assert len({method.title for method in METHODS.values()}) == len(METHODS)
        assert all(method.about for method in METHODS.values())
        assert not [m.name for m in METHODS.values() if m.about.startswith("the same")]  # as which?

    def test_without_river(self, monkeypatch):
        monkeypatch.setattr(methods, "find_spec", lambda name: None)
        assert "ocboost[river]" in METHODS["forest"].refuses(3)
        assert METHODS["ocb"].refuses(3) is None
        with pytest.raises(MissingExtraError, match="The method 'forest'"):
            METHODS["forest"].require()
        assert set(contest(300, names="static,hoeffding").skipped) == {"hoeffding"}


class TestRetrained:
    def test_it_is_what_was_learnt_from_the_last_rows(self):
        X, y = rows_of(400)
        start = Start(X[:100], y[:100], [0, 1], hypotheses=6)
        contender = Retrained(start, rows=150, every=60, name="retrained")
        contender.learn(View.of(X[100:159], y[100:159]))
        assert contender.classifier is start.classifier
        contender.learn(View.of(X[159:230], y[159:230]))  # trained after rows 160 and 220
        expected = OCBClassifier(n_hypotheses=6, random_state=0).fit(X[70:220], y[70:220])
        view = View.of(X[300:], y[300:])
        np.testing.assert_allclose(contender.predict(view), expected.predict_proba(X[300:]))
        assert contender.nbytes == 230 * (4 * 8 + 8 + 8) + 6 * 8  # rows leave in blocks of 256

    def test_one_class_leaves_it_as_it_is(self):
        X, y = rows_of(200)
        start = Start(X[:100], y[:100], [0, 1], hypotheses=6)
        contender = Retrained(start, rows=20, every=20, name="retrained")
        contender.learn(View.of(X[100:160], np.ones(60, np.int64)))
        assert contender.classifier is start.classifier


def test_gaps_are_filled_with_the_means():
    witness = Witness(None)
    seen = []
    witness.predict = lambda view: seen.append(view.X) or np.full((len(view), 2), 0.5)
    filled = Filled(witness, np.array([7.0, 9.0]))
    filled.predict(View.of(np.array([[np.nan, 1.0], [2.0, np.nan]]), np.array([0, 1])))
    np.testing.assert_array_equal(seen[0], [[7, 1], [2, 9]])


class TestBoard:
    def test_means_and_spreads_are_over_the_seeds(self, board):
        for place in board.places:
            values = place.values["accuracy"]
            assert len(values) == 3
            assert place.mean("accuracy") == pytest.approx(np.mean(values))
            assert place.spread("accuracy") == pytest.approx(np.std(values, ddof=1))
        assert board["static"].spread("accuracy") > 0.0
        assert board["no-change"].spread("accuracy") == 0.0

    def test_ranks_are_those_of_each_seed(self, board):
        for k in range(3):
            accuracies = [place.values["accuracy"][k] for place in board.places]
            expected = stats.rankdata([-a for a in accuracies])
            assert [place.ranks[k] for place in board.places] == expected.tolist()

    def test_curves(self, board):
        assert board.settings["window"] == 60
        for place in board.places:
            assert list(place.curves) == ["accuracy"]
            assert len(place.curves["accuracy"]) == len(place.bands["accuracy"]) == len(board.curve_rows)
        assert board.curve_rows[-1] == 599

    def test_one_seed_has_no_spread(self):
        one = Board.of("toy", [contest(300, seeds=(0,), names="static,oza")])
        assert one["oza"].spread("accuracy") is None
        assert "±" not in str(board_table(one, "toy").rows)
        assert board_table(one, "toy").caption.count("One seed, so no spread") == 1

    def test_there_and_back(self, board):
        content = json.loads(json.dumps(board.as_dict(), allow_nan=False))
        assert Board.from_dict(content) == board
        assert "curve" not in json.dumps(board.as_dict(curves=False))

    def test_table(self, board):
        written = board_table(board, "toy")
        best = max(board.places, key=lambda place: place.mean("accuracy"))
        row = next(row for row in written.rows if row.cells[0] == best.title)
        assert row.cells[1].startswith("★ ")
        assert row.cells[1].endswith(f"{best.mean('accuracy'):.4f} ± {best.spread('accuracy'):.4f}")
        assert sum(row.cells[1].startswith("★") for row in written.rows) == 1
        assert not any("★" in row.cells[written.columns.index("rank")] for row in written.rows)

    def test_what_the_spread_is_not(self, board):
        best = max(place.mean("accuracy") for place in board.places)
        error = math.sqrt(best * (1 - best) / 500)
        assert board.standard_error == pytest.approx(error)
        said = board_table(board, "toy").caption
        assert (
            "± is the spread (standard deviation) over 3 starts on the same rows, not the uncertainty" in said
        )
        assert f"whose standard error is about {100 * error:.2g} points" in said
        drawn = Board(**{**board.__dict__, "notes": [DRAWN]})
        assert drawn.standard_error == pytest.approx(error / math.sqrt(3))
        assert "over 3 seeds, each with rows of its own" in board_table(drawn, "toy").caption

    def test_a_narrow_table(self, board):
        wide = Board.of("toy", [contest(300, names="growing-forgetting,oza-forgetting")])
        whole = board_table(wide, "toy")
        assert width_of(whole) > 80
        narrow = narrowed(whole, 80)
        assert width_of(narrow) <= 80
        assert {"method", "accuracy", "rank"} < set(narrow.columns)
        assert [row.cells[0] for row in narrow.rows] == [row.cells[0] for row in whole.rows]
        assert narrowed(whole, 1000) == whole

    def test_those_that_were_skipped_are_in_the_table(self, monkeypatch):
        monkeypatch.setattr(methods, "find_spec", lambda name: None)
        skipped = Board.of("toy", [contest(300, names="static,hoeffding")])
        written = board_table(skipped, "toy")
        assert written.rows[-1].cells[:2] == ("Hoeffding tree†", "–")
        assert "needs the package 'river': pip install 'ocboost[river]': Hoeffding tree" in written.caption

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


class TestFigures:
    def test_the_axes_hold_the_bands(self, board):
        wide = {"accuracy": [0.2] * len(board.curve_rows)}
        places = [replace(place, bands=wide) for place in board.places]
        axes = draw(replace(board, places=places), title="toy").axes[0]
        (band,) = axes.collections  # of the one OCB
        low, high = axes.get_ylim()
        drawn = band.get_paths()[0].vertices[:, 1]
        assert low <= max(0.0, drawn.min())
        assert high >= min(1.0, drawn.max())
        assert high <= 1.01

    def test_without_bands_nothing_is_said_of_them(self):
        one = Board.of("toy", [contest(300, seeds=(0,), names="ocb,oza")])
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
        evaluated = compete(batches_of(X, y), methods_for(), seeds=(0,), **SMALL)
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
        for place in board.places:
            assert names.count(f"</b> {place.title}") == 1
        assert (
            "whole stream" not in figure[figure.index("<figure") :]
        )  # the SVG has none, and needs less room
        assert names.count("stroke: var(--") == len(board.places)


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


def made_up(stream, accuracies, **skipped):
    """A board of two seeds whose accuracies are given."""
    runs = {name: [value, value] for name, value in accuracies.items()}
    X, y = rows_of(200)
    found = compete(batches_of(X, y), methods_named("majority"), seeds=(0, 1), **SMALL)
    template = Board.of(stream, [found])
    places = []
    for name, values in runs.items():
        method = METHODS[name]
        change = {"name": name, "title": method.title, "role": method.role, "deployable": method.deployable}
        one = {**template.places[0].__dict__, **change}
        one["values"] = {**one["values"], "accuracy": values}
        places.append(type(template.places[0])(**one))
    content = {**template.__dict__, "places": places, "skipped": skipped}
    return Board(**content)


@pytest.fixture(scope="module")
def summary():
    return Summary(
        [
            made_up("elec2", {"ocb": 0.80, "growing": 0.82, "eg": 0.81, "oza": 0.70}),
            made_up("insects", {"ocb": 0.60, "growing": 0.66, "eg": 0.61, "oza": 0.61}),
            made_up("sea", {"ocb": 0.90, "growing": 0.896, "eg": 0.91, "oza": 0.50}),
            made_up("spam", {"ocb": 0.90, "growing": 0.95, "eg": 0.91}, oza="too slow"),
        ]
    )


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
        assert lead(board) == (
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
        assert lead(only).endswith("Highest accuracy, for comparison only: adaptive random forest, 0.9000.")

    def test_one_of_each(self):
        one = Summary([made_up("sea", {"ocb": 0.9, "growing": 0.95})])
        text = " ".join(findings(one))
        assert "of 1 stream," in text
        assert "on 1 of 1 drifting stream; by +5.00 points" in text
        assert "1 streams" not in str(summary_report(one, command="", skipped={}, about={})[0])
        assert lead(made_up("sea", {"ocb": 0.9})).startswith("1 method on 100 rows.")

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
        assert lead(board) == (
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


# Named streams and processes ------------------------------------------------------------------------------


@pytest.fixture
def named(monkeypatch):
    """Two small streams, one of them drawn."""

    def stream(name, drawn):
        def make(folder, rows, seed):
            return Loaded(Rows(*rows_of(rows or 300, seed if drawn else 0)), f"made up as {name}")

        origin = "generated" if drawn else "bundled"
        return drift.NamedStream(name, name.title(), "rows", origin, drawn, make)

    streams = {"one": stream("one", False), "two": stream("two", True)}
    monkeypatch.setattr(drift, "STREAMS", streams)
    monkeypatch.setattr(drift.river_streams, "has_bundled", lambda title: True)
    return streams


def tasks_of(name, seeds=2, names=("static", "oza"), **changes):
    return [Task(name, seed, names, hypotheses=5, start=60, **changes) for seed in range(seeds)]


class TestJobs:
    def test_one_after_the_other(self, named):
        told = []
        boards, failed = boards_of(
            ["one", "two"], tasks_of, jobs=1, told=lambda *news: told.append(news), kept=Kept(None)
        )
        assert failed == {}
        assert list(boards) == ["one", "two"]
        assert boards["two"].seeds == [0, 1]
        assert "Each seed draws another stream." in boards["two"].notes
        assert boards["one"].notes == ["One: rows. Source: made up as one."]
        assert told[-1][1:] == (4, 4)
        done = [each for _, each, _ in told]
        assert done == sorted(done)
        assert any(each % 1 for each in done)  # what is half done moves the bar too
        said = [what for what, _, _ in told]
        assert said[:2] == ["one, seed 0, making the stream", "one, seed 0, reading the first rows"]
        assert "one, seed 0, warming up: Oza-Russell" in said
        assert "two, seed 1, beginning: static, seed 1" in said

    def test_processes_find_the_same(self):
        pytest.importorskip("river")
        tasks = [t for name in ("sea", "phishing") for t in tasks_of(name, rows=300, names=("static", "oza"))]
        alone = {(t.stream, t.seed): outcome for t, outcome in run_tasks(tasks, jobs=1)}
        told = []
        side = {(t.stream, t.seed): o for t, o in run_tasks(tasks, jobs=2, told=lambda *n: told.append(n))}
        assert set(alone) == set(side)
        for key, outcome in alone.items():
            for a, b in zip(outcome.contest.runs, side[key].contest.runs, strict=True):
                assert a.standing.metrics == b.standing.metrics
        assert told[-1][1:] == (4, 4)

    def test_an_error_in_a_process_is_the_error_here(self):
        pytest.importorskip("river")
        tasks = [Task("sea", seed, ("static",), rows=5) for seed in range(2)]
        for jobs in (1, 2):
            found = dict(run_tasks(tasks, jobs=jobs))
            assert set(found) == set(tasks)
            assert all(isinstance(error, InputError) for error in found.values())
            assert all("at least 10 rows" in str(error) for error in found.values())

    def test_a_stream_that_cannot_be_compared_does_not_stop_the_others(self, named, monkeypatch):
        def make(folder, rows, seed):
            X, y = rows_of(300)
            return Loaded(Rows(X, y if seed == 0 else 0 * y), "one class with seed 1")

        bad = drift.NamedStream("bad", "Bad", "rows", "generated", True, make)
        monkeypatch.setattr(drift, "STREAMS", {"bad": bad, **named})
        run = {"jobs": 1, "told": lambda *news: None, "kept": Kept(None)}
        boards, failed = boards_of(["bad", "one"], tasks_of, **run)
        assert list(boards) == ["one"]
        assert list(failed) == ["bad"]
        assert failed["bad"].startswith("the first 60 rows must hold at least two classes; they hold 1. ")

    def test_processes_are_deaf_to_ctrl_c(self):
        asked = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with interrupts.ignoring_ctrl_c():
                child = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
            assert child.stdout == "True\n"
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        finally:
            signal.signal(signal.SIGINT, before)

    def test_ctrl_c_is_not_swallowed(self, named, monkeypatch):
        def pressed(*words, **more):
            found = compete(*words, **more)
            object.__setattr__(found.result, "interrupted", True)
            return found

        monkeypatch.setattr(jobs_module, "compete", pressed)
        with pytest.raises(KeyboardInterrupt):
            list(run_tasks(tasks_of("one"), jobs=1))


class TestKept:
    def test_what_is_done_is_not_done_again(self, named, tmp_path, monkeypatch):
        kept = Kept(tmp_path / "kept")
        run = {"jobs": 1, "told": lambda *news: None}
        first = boards_of(["one"], tasks_of, kept=kept, **run)
        assert len(list((tmp_path / "kept").iterdir())) == 1
        monkeypatch.setattr(jobs_module, "run_task", lambda *words: pytest.fail("run again"))
        for jobs in (1, 2):  # with nothing left to do
            assert boards_of(["one"], tasks_of, kept=kept, **{**run, "jobs": jobs}) == first
        monkeypatch.undo()

    def test_other_settings_are_other_results(self, named, tmp_path):
        kept = Kept(tmp_path)
        board = boards_of(["one"], tasks_of, jobs=1, told=lambda *news: None, kept=kept)[0]["one"]
        assert kept.get(tasks_of("one")) == board
        assert kept.get(tasks_of("one", seeds=1)) is None
        assert kept.get(tasks_of("one", rows=200)) is None
        assert kept.get([Task("one", seed, ("static", "oza"), hypotheses=5) for seed in range(2)]) is None
        assert kept.get(tasks_of("two")) is None

    def test_what_a_board_is_known_by_stays(self, named, tmp_path, monkeypatch):
        monkeypatch.setattr(ocboost, "__version__", "1.2.3")
        settings = {"rows": None, "start": 2000, "hypotheses": 100, "step": 1, "window": None}
        whole = {"stream": "one", "seed": 0, "methods": ["static"], "data": None, **settings}
        digest = hashlib.sha256(json.dumps(["1.2.3", [], [whole]]).encode()).hexdigest()
        board = boards_of(["one"], tasks_of, jobs=1, told=lambda *news: None, kept=Kept(None))[0]["one"]
        (tmp_path / f"one.{digest[:16]}.json").write_text(json.dumps(board.as_dict()))
        assert Kept(tmp_path).get([Task("one", 0, ("static",))]) == board
        assert Kept(tmp_path).get([Task("one", 0, ("static",), start=2000)]) is None  # may be a longer start

    def test_damaged_ones_count_as_missing_and_clear_removes_all(self, named, tmp_path):
        folder = tmp_path / "kept"
        kept = Kept(folder)
        boards_of(["one"], tasks_of, jobs=1, told=lambda *news: None, kept=kept)
        (path,) = folder.iterdir()
        path.write_text("{")
        assert kept.get(tasks_of("one")) is None
        path.write_text("[]")
        assert kept.get(tasks_of("one")) is None
        kept.clear()
        assert not folder.exists()

    def test_nowhere_to_keep(self, named):
        kept = Kept(None)
        assert kept.get(tasks_of("one")) is None
        kept.clear()


def test_a_title_looks_as_its_method_does():
    every = {method.title: looks_of([method.name])[method.name] for method in METHODS.values()}
    mixed = looks_of(["something else", *reversed(every)], {"something else": "ocb"})
    assert {title: mixed[title] for title in every} == every
    assert mixed["something else"] not in every.values()
