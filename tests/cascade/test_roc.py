"""Scores, ROC curves and their figure: known answers, and scikit-learn's."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.metrics import roc_auc_score, roc_curve

from ocboost._report.figures import render
from ocboost.cascade import WholeAdapter, accepts, has_contrast, stage_sums
from ocboost.cascade.figures import CURVE_COLOURS, draw_roc
from ocboost.cascade.measure import (
    fitting_kind,
    last_stage_scores,
    leaf_sums,
    measure_cascade,
    scores_of,
    slack_scores,
    trees_evaluated,
)
from ocboost.cascade.roc import one_minus_auc, roc
from ocboost.errors import InputError
from tests.naive.cascade import plain_passed, plain_stage_sum
from tests.support.cascades import noise, random_cascade
from tests.support.toy_cascade import noisy, toy_cascade


def bars_of(cascade):
    return [float(np.float32(bar - np.float32(1e-5))) for bar in cascade.stage_threshold]


def splitting(seed, windows, **how):
    """A random cascade each of whose stages three of four windows pass."""
    made = random_cascade(seed, width=windows.shape[2], height=windows.shape[1], **how)
    return made.with_thresholds(np.quantile(stage_sums(made, windows), 0.25, axis=0).astype(np.float32))


@pytest.fixture
def windows():
    return noise(4, 60, 7, 8)


@pytest.fixture(params=[1, 3], ids=["stumps", "trees"])
def cascade(request, windows):
    return splitting(3, windows, max_nodes=request.param, share_tilted=0.3)


class TestScores:
    def test_slack_in_plain_loops(self, cascade, windows):
        found = slack_scores(cascade, windows)
        for window, score in zip(windows, found, strict=True):
            slack = min(plain_stage_sum(cascade, window, s) - bar for s, bar in enumerate(bars_of(cascade)))
            assert score == (pytest.approx(slack, abs=1e-12) if has_contrast(window[None])[0] else -np.inf)
        assert np.isneginf(found).any()

    def test_last_stage_in_plain_loops(self, cascade, windows):
        last = cascade.n_stages - 1
        found = last_stage_scores(cascade, windows)
        for window, score in zip(windows, found, strict=True):
            if plain_passed(cascade, window) < last:
                assert np.isneginf(score)
            else:
                sum_ = plain_stage_sum(cascade, window, last)
                assert score == pytest.approx(sum_ - bars_of(cascade)[last], abs=1e-12)
        assert 0 < np.isneginf(found).sum() < len(windows)

    def test_leaf_sums_and_cost_in_plain_loops(self, cascade, windows):
        sums, cost = leaf_sums(cascade, windows), trees_evaluated(cascade, windows)
        for window, total, trees in zip(windows, sums, cost, strict=True):
            own = sum(plain_stage_sum(cascade, window, s) for s in range(cascade.n_stages))
            assert total == pytest.approx(own, abs=1e-12)
            stages = min(plain_passed(cascade, window) + 1, cascade.n_stages)
            looked_at = has_contrast(window[None])[0]
            assert trees == (sum((3, 4, 5)[:stages]) if looked_at else 0)

    @pytest.mark.parametrize("scores", [slack_scores, last_stage_scores])
    def test_at_least_0_exactly_where_the_cascade_accepts(self, scores):
        for seed in range(5):
            windows = noise(seed + 50, 3000, 12, 12)
            cascade = splitting(seed, windows)
            taken = accepts(cascade, windows)
            assert 0 < taken.sum() < len(windows)
            np.testing.assert_array_equal(scores(cascade, windows) >= 0, taken)

    def test_windows_that_lie_on_the_bar(self):
        windows = noise(1, 500, 12, 12)
        cascade = splitting(3, windows)
        sums = stage_sums(cascade, windows)
        for up in range(-3, 4):  # a window's own sums, OpenCV's 1e-5 and some steps of single precision
            bars = (sums[7] + 1e-5).astype(np.float32)
            bars += np.spacing(bars) * up
            strict = cascade.with_thresholds(bars)
            np.testing.assert_array_equal(slack_scores(strict, windows) >= 0, accepts(strict, windows))

    def test_lowering_the_thresholds(self):
        cascade = toy_cascade()
        windows = np.concatenate(noisy(5, 300))
        slack = np.float32(0.5)
        lowered = cascade.with_thresholds(cascade.stage_threshold - slack)
        scores = slack_scores(cascade, windows)
        clear = np.abs(scores + 0.5) > 1e-5  # single precision rounds the thresholds
        assert (~accepts(cascade, windows) & accepts(lowered, windows)).any()
        np.testing.assert_array_equal((scores >= -0.5)[clear], accepts(lowered, windows)[clear])

    def test_many_windows_by_blocks(self, monkeypatch):
        cascade, windows = toy_cascade(), np.concatenate(noisy(5, 40))
        functions = slack_scores, last_stage_scores, leaf_sums
        expected = [function(cascade, windows) for function in functions]
        monkeypatch.setattr("ocboost.cascade.measure.WINDOWS_PER_BLOCK", 7)
        for function, scores in zip(functions, expected, strict=True):
            np.testing.assert_array_equal(function(cascade, windows), scores)

    def test_which_score(self):
        shipped = toy_cascade()
        assert fitting_kind(shipped) == "slack"
        adapter = WholeAdapter(shipped)
        faces, others = noisy(6, 300)
        adapter.update(np.concatenate([faces, others]), np.repeat([1, -1], 300))
        for keep in (0, 1, 3):
            assert fitting_kind(adapter.adapted(keep=keep)) == "last stage"
        assert fitting_kind(shipped.pick([0, 2])) == "slack"  # the last has more stumps, but others
        assert fitting_kind(shipped.first(1)) == "last stage"  # the two are the same then
        np.testing.assert_array_equal(
            slack_scores(shipped.first(1), faces), last_stage_scores(shipped.first(1), faces)
        )


class TestRoc:
    @given(st.integers(0, 2**32 - 1), st.booleans())
    def test_as_scikit_learn(self, seed, ties):
        rng = np.random.default_rng(seed)
        faces = rng.random(200) < 0.3
        faces[:2] = True, False
        scores = rng.normal(faces, 1.0)
        scores = np.rint(2 * scores) if ties else scores
        curve = roc(scores, faces)
        fpr, tpr, bars = roc_curve(faces, scores, drop_intermediate=False)
        np.testing.assert_array_equal(curve.thresholds, bars)
        np.testing.assert_allclose(curve.rates, fpr, atol=1e-15)
        np.testing.assert_allclose(1 - curve.misses, tpr, atol=1e-15)
        assert one_minus_auc(scores, faces) == pytest.approx(1 - roc_auc_score(faces, scores), abs=1e-12)

    def test_what_is_never_accepted(self):
        scores = np.array([2.0, -np.inf, 1.0, -np.inf, 0.5])
        faces = np.array([True, True, False, False, False])
        curve = roc(scores, faces)
        assert curve.thresholds.tolist() == [np.inf, 2.0, 1.0, 0.5]
        assert curve.hits.tolist() == [0, 1, 1, 1]
        assert curve.false_positives.tolist() == [0, 0, 1, 2]
        assert curve.misses_at(1.0) == 0.5
        # Six pairs: the face at -∞ is below two others and ties with the third.
        assert one_minus_auc(scores, faces) == pytest.approx(2.5 / 6)

    def test_nothing_is_ever_accepted(self):
        curve = roc(np.full(4, -np.inf), np.array([True, False, True, False]))
        assert (curve.hits.tolist(), curve.false_positives.tolist()) == ([0], [0])
        assert curve.misses_at(0.5) == 1.0
        assert one_minus_auc(np.full(4, -np.inf), np.array([True, False, True, False])) == 0.5

    def test_misses_at_a_rate(self):
        others = np.arange(1000.0)
        faces = np.array([2000.0, 998.5, 989.5, 900.5])
        curve = roc(np.concatenate([faces, others]), np.arange(1004) < 4)
        assert curve.misses_at(1e-4) == 0.75  # none may pass
        assert curve.misses_at(1e-3) == 0.5  # one may
        assert curve.misses_at(9e-3) == 0.5
        assert curve.misses_at(1e-2) == 0.25  # ten may
        assert [curve.resolves(rate) for rate in (1e-2, 1e-3, 1e-4)] == [True, True, False]

    def test_thinned_is_the_same_curve_on_logarithmic_axes(self):
        rng = np.random.default_rng(0)
        faces = np.arange(60_000) < 5_000
        curve = roc(rng.normal(2.0 * faces, 1.0), faces)
        thin = curve.thinned(300)
        assert len(thin.thresholds) < 320
        assert (thin.thresholds[0], thin.thresholds[-1]) == (curve.thresholds[0], curve.thresholds[-1])
        for rate in (1e-4, 1e-3, 1e-2, 0.1, 0.5):
            near = curve.misses_at(rate), curve.misses_at(rate / 1.05)
            assert near[0] <= thin.misses_at(rate) <= near[1]

    @pytest.mark.parametrize(
        ("scores", "faces", "text"),
        [
            ([1.0, 2.0], [True, True], "both kinds; got 2 faces of 2"),
            ([1.0, np.nan], [True, False], "NaN"),
            ([1.0, np.inf], [True, False], "NaN or"),
            ([1.0, 2.0], [True], "each of the 2 scores"),
            ([1.0, 2.0], [1, 0], "as bool"),
        ],
    )
    def test_refusals(self, scores, faces, text):
        for function in (roc, one_minus_auc):
            with pytest.raises(InputError, match=text):
                function(np.array(scores), np.array(faces))


class TestMeasurement:
    def test_its_figures(self):
        cascade = toy_cascade()
        faces, others = noisy(8, 500)
        others[:20] = 50  # without contrast
        measured = measure_cascade("toy", cascade, faces, others)
        assert measured.hits == accepts(cascade, faces).mean()
        assert measured.false_positives == accepts(cascade, others).mean()
        assert 0.5 < measured.hits < 1
        assert 0 < measured.false_positives < 0.9
        scores = [scores_of(cascade, windows) for windows in (faces, others)]
        own = np.mean([[(f < o) + 0.5 * (f == o) for o in scores[1]] for f in scores[0]])
        assert measured.one_minus_auc == pytest.approx(own, abs=1e-12)
        assert measured.cost == trees_evaluated(cascade, others).mean()
        at = int(np.searchsorted(-measured.curve.thresholds, 0.0, "right")) - 1
        assert measured.curve.rates[at] == measured.false_positives

    def test_as_json(self):
        import json

        faces, others = noisy(8, 50)
        faces[0] = 7
        record = measure_cascade("toy", toy_cascade(), faces, others).as_dict()
        again = json.loads(json.dumps(record, allow_nan=False))
        assert list(again["misses_at"]) == ["0.01", "0.001", "0.0001"]
        assert again["curve"]["misses"][0] == 1.0
        assert again["score"] == "slack"


class TestFigure:
    def measurements(self):
        faces, others = noisy(8, 400)
        cascade = toy_cascade()
        easy = noisy(9, 400, noise=0)
        return [
            measure_cascade("shipped", cascade, faces, others),
            measure_cascade("adapted", cascade, *easy),
            measure_cascade("μ [odd] $name$ 顔", cascade.first(1), faces, others),
        ]

    def test_lines_and_dots(self):
        measurements = self.measurements()
        figure = draw_roc(measurements, note="400 faces")
        axes = figure.axes[0]
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        lines, dots = axes.lines[0:6:2], axes.lines[1:6:2]
        left, bottom = axes.get_xlim()[0], axes.get_ylim()[0]
        for rank, (measured, line, dot) in enumerate(zip(measurements, lines, dots, strict=True)):
            assert line.get_color() == dot.get_color() == CURVE_COLOURS[rank]
            ((x,), (y,)) = dot.get_data()
            assert x == max(measured.false_positives, left)
            assert y == max(100 * (1 - measured.hits), bottom)
            # The dot lies on the line.
            xs, ys = (np.asarray(values) for values in line.get_data())
            assert ys[np.searchsorted(xs, x, "right") - 1] == pytest.approx(y)
            assert (np.diff(xs) >= 0).all()
            assert (np.diff(ys) <= 0).all()
            assert xs[-1] == 1.0

    def test_why_a_curve_goes_flat(self):
        faces, others = noisy(8, 100)
        slack, last = (
            measure_cascade("x", toy_cascade(), faces, others, kind) for kind in ("slack", "last stage")
        )
        for measurements, told in (([slack], False), ([slack, last], True)):
            texts = [text.get_text() for text in draw_roc(measurements, note="a note").texts]
            assert "a note" in texts
            assert any("windows that earlier stages reject stay rejected" in t for t in texts) == told

    def test_as_files(self):
        files = render(draw_roc(self.measurements()), "roc")
        assert sorted(files) == ["roc.png", "roc.svg"]
        assert Image.open(io.BytesIO(files["roc.png"])).size == (1600, 1120)
        assert len(files["roc.svg"]) < 300_000
        assert files == render(draw_roc(self.measurements()), "roc")
