"""What the experiments share: settings, methods beside AdaBoost, tasks side by side, the cache of weights."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error
from ocboost.errors import InputError
from ocboost.paper import cache as cache_module
from ocboost.paper import run as run_module
from ocboost.paper.cache import Cache
from ocboost.paper.experiment import (
    OnlineMethod,
    StoppedError,
    checkpoints,
    paper_methods,
)
from ocboost.paper.faces import FacesSettings
from ocboost.paper.mnist import MnistSettings
from ocboost.paper.run import ExperimentRun, side_by_side
from ocboost.paper.synthetic import SyntheticSettings

METHODS = paper_methods(order=4, head=50, batch_size=20)


@pytest.fixture(scope="module")
def margins():
    return np.where(np.random.default_rng(0).random((600, 30)) < 0.6, 1, -1).astype(np.int8)


def compared(*, methods=METHODS, points=(300, 600), start=100, smoothing=1.0, cache=None, **more):
    """A comparison that has done nothing yet."""
    settings = MnistSettings(start=start, smoothing=smoothing)
    comparison = ExperimentRun(settings, 600, n_steps=len(methods), cache=cache, **more)
    comparison.methods, comparison.points = list(methods), list(points)
    for table, empty in ((comparison.errors, list), (comparison.diverged, bool)):
        table |= {method.key: empty() for method in methods}
    return comparison


@pytest.mark.parametrize("settings", [SyntheticSettings, MnistSettings, FacesSettings])
@pytest.mark.parametrize("name", ["seed", "n_hypotheses", "start", "every"])
def test_settings_are_checked(settings, name):
    with pytest.raises(InputError, match=f"{name} must be at least [0-9]+; got -1. Give a larger number."):
        settings(**{name: -1})


class TestMethods:
    def test_each_is_what_it_is_called(self, margins):
        comparison = compared(smoothing=2.0)
        found = comparison.record(comparison.follow(margins, "a round"))
        first = margins[:100]
        by_hand = {
            "oza-russell": OzaRussell.from_margins(first, smoothing=2.0),
            "ocb-order-400-theorem": BoostingSketch.from_margins(
                first, order=4, smoothing=2.0, correction="theorem"
            ),
            "ocb-order-400": BoostingSketch.from_margins(first, order=4, smoothing=2.0),
            "ocb-full": BoostingSketch.from_margins(first, smoothing=2.0),
            "ocb-head": BoostingSketch.from_margins(first, head=50, smoothing=2.0, keep="heavy"),
            "ocb-head-newest": BoostingSketch.from_margins(first, head=50, smoothing=2.0, keep="newest"),
        }
        assert list(found) == ["adaboost", *by_hand] == list(comparison.seconds)
        for key, booster in by_hand.items():
            for c, (start, end) in enumerate([(100, 300), (300, 600)]):
                booster.update_many(margins[start:end], batch_size=1 if key == "oza-russell" else 20)
                np.testing.assert_array_equal(found[key][c], booster.alpha)
                error = approximation_error(found["adaboost"][c], booster.alpha)
                assert comparison.errors[key][0][c] == error
        for c, n in enumerate([300, 600]):
            np.testing.assert_array_equal(found["adaboost"][c], adaboost_weights(margins[:n], smoothing=2.0))
        assert all(value > 0.0 for value in comparison.seconds.values())

    def test_a_head_that_holds_everything_is_adaboost(self, margins):
        exact, held = (
            OnlineMethod("a", "a", kind, head=600).follow(margins, 100, [600], 1.0)[0][0]
            for kind in ("adaboost", "ocb")
        )
        assert approximation_error(exact, held) < 1e-12

    def test_an_order_beyond_the_hypotheses_is_full(self, margins):
        high, full = (
            OnlineMethod("a", "a", order=order).follow(margins, 100, [600], 1.0)[0] for order in (400, None)
        )
        np.testing.assert_array_equal(high, full)

    def test_a_cold_start_learns_every_example(self, margins):
        found, diverged = OnlineMethod("a", "a", warm=False).follow(margins, 100, [600], 1.0)
        sketch = BoostingSketch(30)
        sketch.update_many(margins[:100])
        sketch.update_many(margins[100:])
        np.testing.assert_array_equal(found[0], sketch.alpha)
        assert not diverged

    def test_divergence_is_reported(self):
        hard = np.where(np.random.default_rng(1).random((4000, 20)) < 0.9, 1, -1).astype(np.int8)
        hard[2000:] = -hard[2000:]
        method = OnlineMethod("a", "a", correction="listing")
        sketch = BoostingSketch.from_margins(hard[:100], correction="listing")
        sketch.update_many(hard[100:])
        assert method.follow(hard, 100, [4000], 1.0)[1] == sketch.diverged

    @given(st.integers(2, 5000), st.integers(1, 500), st.integers(1, 700))
    def test_checkpoints_end_with_everything(self, n, start, every):
        start = min(start, n - 1)
        points = checkpoints(n, start=start, every=every)
        assert points[-1] == n
        assert points[0] > start
        assert points == sorted(set(points))
        assert all(point % every == 0 for point in points[:-1])


class TestCachedWeights:
    """Weights are found again by everything that decides them, and by nothing else."""

    @pytest.fixture
    def follow(self, tmp_path, monkeypatch):
        """Follows margins with a cache; returns the weights and how many methods were computed."""

        def follow(margins, *, order=None, **settings):
            computed = []
            with monkeypatch.context() as patch:
                real = OnlineMethod.follow
                patch.setattr(
                    OnlineMethod,
                    "follow",
                    lambda self, *a, **k: computed.append(self.key) or real(self, *a, **k),
                )
                found = compared(**settings, cache=Cache(tmp_path)).follow(margins, "a round", order=order)
            return {key: alphas for key, (alphas, _) in found.items()}, len(computed)

        return follow

    def test_twice(self, follow, margins):
        first, computed = follow(margins)
        again, nothing = follow(margins)
        assert (computed, nothing) == (len(METHODS), 0)
        for key, (alphas, _) in compared().follow(margins, "a round").items():
            np.testing.assert_array_equal(first[key], alphas)
            np.testing.assert_array_equal(again[key], alphas)

    def test_an_order(self, follow, margins):
        order = np.random.default_rng(1).permutation(600)
        ordered, computed = follow(margins, order=order)
        assert computed == len(METHODS)
        assert follow(margins, order=order)[1] == 0
        assert follow(margins, order=order[::-1].copy())[1] == len(METHODS)
        by_hand, _ = follow(np.ascontiguousarray(margins[order]))
        for key, alphas in by_hand.items():
            np.testing.assert_array_equal(ordered[key], alphas)

    def test_what_decides(self, follow, margins, monkeypatch):
        follow(margins)
        other = margins.copy()
        other[500, 3] *= -1
        every = len(METHODS)
        assert follow(other)[1] == every
        assert follow(margins, points=(300, 500))[1] == every
        assert follow(margins, start=101)[1] == every
        assert follow(margins, smoothing=2.0)[1] == every
        assert follow(margins, methods=paper_methods(order=4, head=51, batch_size=20))[1] == 2
        renamed = [replace(method, label="other") for method in METHODS]
        assert follow(margins, methods=renamed)[1] == 0
        monkeypatch.setattr(cache_module, "source_digest", lambda: "changed")
        assert follow(margins)[1] == every

    def test_what_was_stopped_is_not_stored(self, tmp_path, margins):
        def interrupt(what, done, total):
            if done:
                raise KeyboardInterrupt

        slow = [replace(METHODS[0], key=f"slow {i}") for i in range(40)]
        points = list(range(101, 601))
        with pytest.raises(KeyboardInterrupt):
            compared(
                methods=[METHODS[1], *slow], points=points, cache=Cache(tmp_path), progress=interrupt
            ).follow(margins, "a round")
        stored = len(list(tmp_path.rglob("output.pkl")))
        assert 1 <= stored < 41


def waiting(ended):
    """A task that waits to be stopped, and then adds to a list."""

    def waits(going):
        while going():
            time.sleep(0.01)
        ended.append(True)

    return waits


class TestSideBySide:
    def test_results_by_key_and_progress_of_each(self):
        progress = []
        found = side_by_side({str(i): lambda going, i=i: i * i for i in range(9)}, progress.append)
        assert found == {str(i): i * i for i in range(9)}
        assert sorted(progress) == list(found)

    def test_an_error_ends_the_others(self, monkeypatch):
        monkeypatch.setattr(run_module, "get_num_threads", lambda: 2)
        ended = []

        def fails(going):
            raise InputError("no luck")

        with pytest.raises(InputError, match="no luck"):
            side_by_side({"waits": waiting(ended), "fails": fails})
        assert ended == [True]

    def test_ctrl_c_ends_them(self):
        ended = []

        def progress(key):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            side_by_side({"waits": waiting(ended), "quick": lambda going: None}, progress)
        assert ended == [True]

    def test_a_method_stops_between_checkpoints(self, margins):
        asked = iter([True, False])
        with pytest.raises(StoppedError):
            OnlineMethod("a", "a").follow(margins, 100, [300, 600], 1.0, lambda: next(asked))
