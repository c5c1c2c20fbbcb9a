"""What the MNIST and the face experiment share: methods beside AdaBoost, tasks side by side, the area."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error
from ocboost._core.metrics import one_minus_auc
from ocboost.errors import InputError
from ocboost.paper import online as kept
from ocboost.paper.cache import Cache
from ocboost.paper.online import Kept, Method, checkpoints, follow_all, paper_methods, side_by_side


@pytest.fixture(scope="module")
def margins():
    return np.where(np.random.default_rng(0).random((600, 30)) < 0.6, 1, -1).astype(np.int8)


class TestMethods:
    def test_each_is_what_it_is_called(self, margins):
        methods = paper_methods(order=4, head=50, batch_size=20)
        seconds = {method.key: 0.0 for method in methods}
        found = follow_all(methods, margins, [300, 600], start=100, smoothing=2.0, seconds=seconds)
        by_hand = {
            "oza-russell": OzaRussell.from_margins(margins[:100], smoothing=2.0),
            "ocb-order-400-theorem": BoostingSketch.from_margins(
                margins[:100], order=4, smoothing=2.0, correction="theorem"
            ),
            "ocb-order-400": BoostingSketch.from_margins(margins[:100], order=4, smoothing=2.0),
            "ocb-full": BoostingSketch.from_margins(margins[:100], smoothing=2.0),
            "ocb-head": BoostingSketch.from_margins(margins[:100], head=50, smoothing=2.0, keep="heavy"),
            "ocb-head-newest": BoostingSketch.from_margins(
                margins[:100], head=50, smoothing=2.0, keep="newest"
            ),
        }
        assert list(found) == ["adaboost", *by_hand]
        for key, booster in by_hand.items():
            for c, (start, end) in enumerate([(100, 300), (300, 600)]):
                booster.update_many(margins[start:end], batch_size=1 if key == "oza-russell" else 20)
                np.testing.assert_array_equal(found[key][c], booster.alpha)
        for c, n in enumerate([300, 600]):
            np.testing.assert_array_equal(found["adaboost"][c], adaboost_weights(margins[:n], smoothing=2.0))
        assert all(value > 0.0 for value in seconds.values())

    def test_a_head_that_holds_everything_is_adaboost(self, margins):
        exact, kept = (
            Method("a", "a", kind, head=600).follow(margins, 100, [600], 1.0)[0]
            for kind in ("adaboost", "ocb")
        )
        assert approximation_error(exact, kept) < 1e-12

    def test_an_order_beyond_the_hypotheses_is_full(self, margins):
        high, full = (Method("a", "a", order=order).follow(margins, 100, [600], 1.0) for order in (400, None))
        np.testing.assert_array_equal(high, full)

    @given(st.integers(2, 5000), st.integers(1, 500), st.integers(1, 700))
    def test_checkpoints_end_with_everything(self, n, start, every):
        start = min(start, n - 1)
        points = checkpoints(n, start=start, every=every)
        assert points[-1] == n
        assert points[0] > start
        assert points == sorted(set(points))
        assert all(point % every == 0 for point in points[:-1])


class TestKept:
    """Weights are found again by all that decides them, and by nothing else."""

    METHODS = paper_methods(order=4, head=50, batch_size=20)

    @pytest.fixture
    def follow(self, tmp_path, monkeypatch):
        """Follows margins with a cache; returns the weights and what had to be worked out."""

        def follow(margins, *, methods=self.METHODS, points=(300, 600), start=100, smoothing=1.0, order=None):
            worked = []
            with monkeypatch.context() as patch:
                real = Method.follow
                patch.setattr(
                    Method, "follow", lambda self, *a, **k: worked.append(self.key) or real(self, *a, **k)
                )
                found = follow_all(
                    methods,
                    margins,
                    points,
                    start=start,
                    smoothing=smoothing,
                    seconds={method.key: 0.0 for method in methods},
                    kept=Kept(Cache(tmp_path), margins),
                    order=order,
                )
            return found, len(worked)

        return follow

    def test_twice(self, follow, margins):
        first, worked = follow(margins)
        again, nothing = follow(margins)
        assert (worked, nothing) == (len(self.METHODS), 0)
        plain = follow_all(
            self.METHODS,
            margins,
            [300, 600],
            start=100,
            smoothing=1.0,
            seconds={method.key: 0.0 for method in self.METHODS},
        )
        for key, alphas in plain.items():
            np.testing.assert_array_equal(first[key], alphas)
            np.testing.assert_array_equal(again[key], alphas)

    def test_an_order(self, follow, margins):
        order = np.random.default_rng(1).permutation(600)
        ordered, worked = follow(margins, order=order)
        assert worked == len(self.METHODS)
        assert follow(margins, order=order)[1] == 0
        assert follow(margins, order=order[::-1].copy())[1] == len(self.METHODS)
        by_hand, _ = follow(np.ascontiguousarray(margins[order]))
        for key, alphas in by_hand.items():
            np.testing.assert_array_equal(ordered[key], alphas)

    def test_what_decides(self, follow, margins, monkeypatch):
        follow(margins)
        other = margins.copy()
        other[500, 3] *= -1
        every = len(self.METHODS)
        assert follow(other)[1] == every
        assert follow(margins, points=(300, 500))[1] == every
        assert follow(margins, start=101)[1] == every
        assert follow(margins, smoothing=2.0)[1] == every
        assert follow(margins, methods=paper_methods(order=4, head=51, batch_size=20))[1] == 2
        renamed = [replace(method, label="other") for method in self.METHODS]
        assert follow(margins, methods=renamed)[1] == 0
        monkeypatch.setattr(kept, "code_digest", lambda: "changed")
        assert follow(margins)[1] == every

    def test_the_digest_follows_the_source(self, tmp_path, monkeypatch):
        shutil.copytree(
            Path(kept.__file__).parents[1], tmp_path / "o", ignore=shutil.ignore_patterns("__pycache__")
        )
        before = kept.code_digest.__wrapped__()
        monkeypatch.setattr(kept, "files", lambda name: tmp_path / "o")
        assert kept.code_digest.__wrapped__() == before
        for name in ("kernels/tail.py", "sketch.py", "light.py", "reproduce/method.py"):
            path = tmp_path / "o" / name
            source = path.read_text()
            path.write_text(source + "\n")
            assert kept.code_digest.__wrapped__() != before
            path.write_text(source)
        (tmp_path / "o" / "reproduce" / "method.py").unlink()
        assert kept.code_digest.__wrapped__() is None

    def test_what_was_stopped_is_not_kept(self, tmp_path, margins):
        cache = Cache(tmp_path)
        for going, there in ((False, 0), (True, 1)):
            Kept(cache, margins).weights(
                self.METHODS[0],
                lambda: np.zeros((1, 30)),
                order=None,
                points=[600],
                start=100,
                smoothing=1.0,
                going=lambda going=going: going,
            )
            assert len(list(tmp_path.iterdir())) == there


class TestSideBySide:
    def test_results_by_key_and_told_of_each(self):
        told = []
        found = side_by_side({str(i): lambda going, i=i: i * i for i in range(9)}, told.append)
        assert found == {str(i): i * i for i in range(9)}
        assert sorted(told) == list(found)

    def test_an_error_ends_the_others(self):
        ended = []

        def waits(going):
            while going():
                time.sleep(0.01)
            ended.append(True)

        def fails(going):
            raise InputError("no luck")

        with pytest.raises(InputError, match="no luck"):
            side_by_side({"waits": waits, "fails": fails})
        assert ended == [True]

    def test_ctrl_c_ends_them(self):
        ended = []

        def waits(going):
            while going():
                time.sleep(0.01)
            ended.append(True)

        def told(key):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            side_by_side({"waits": waits, "quick": lambda going: None}, told)
        assert ended == [True]

    def test_a_method_stops_between_checkpoints(self, margins):
        answers = iter([True, False])
        found = Method("a", "a").follow(margins, 100, [300, 600], 1.0, lambda: next(answers))
        assert found[0].any()
        assert not found[1].any()


class TestArea:
    @given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=60))
    def test_is_scikit_learns(self, pairs):
        votes = np.array([vote for vote, _ in pairs], np.float64)
        positive = np.array([sign for _, sign in pairs])
        if positive.all() or not positive.any():
            with pytest.raises(InputError, match="both kinds"):
                one_minus_auc(votes, positive)
            return
        assert one_minus_auc(votes, positive) == pytest.approx(
            1.0 - roc_auc_score(positive, votes), abs=1e-12
        )

    def test_small_areas_keep_their_digits(self):
        votes = np.arange(200_000.0)
        positive = votes >= 100_000
        votes[positive.argmax()] = 99_998.5
        assert one_minus_auc(votes, positive) == 1e-10

    def test_nan_is_refused(self):
        with pytest.raises(InputError, match="finite"):
            one_minus_auc(np.array([0.0, np.nan]), np.array([True, False]))
