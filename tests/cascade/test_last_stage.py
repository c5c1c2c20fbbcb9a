"""The last stage: logistic regression on top of the shipped score, fewer stumps, corrections by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.cascade import last_stage, stage_sums
from ocboost.cascade.last_stage import (
    LastStage,
    corrected,
    labels_of,
    ready_to_learn,
    ridge_logistic,
    stumps_of_last,
)
from ocboost.cascade.short_stages import Stage
from ocboost.errors import InputError
from tests.support.toy_cascade import noisy, toy_cascade

FACES, OTHERS = noisy(21, 60)


def stages():
    """A cascade of one stage, and all its stumps once more as the last stage."""
    shipped = toy_cascade()
    every = Stage(
        shipped.node_feature.astype(np.int64), shipped.node_threshold, shipped.leaf_pairs.astype(np.float64)
    )
    return every.added_to(shipped.first(1), 0.0)


def answers_to(windows):
    cascade = stages()
    return stumps_of_last(cascade).stumps.answers(windows.reshape(len(windows), -1)).astype(float)


class TestRegression:
    def fitted(self, penalty=0.02):
        rng = np.random.default_rng(0)
        answers = rng.choice([-1.0, 1.0], (80, 5)).astype(np.float32)
        labels = np.where(answers[:, 0] + rng.normal(0, 1, 80) > 0, 1, -1).astype(np.int8)
        weights = rng.random(80)
        weights /= weights.sum()
        offset = rng.normal(0, 0.5, 80)
        theta = ridge_logistic(answers, labels, weights, offset, penalty, np.zeros(6))

        def loss(at):
            scores = offset + answers @ at[:-1] + at[-1]
            each = [w * np.log1p(np.exp(-y * s)) for w, y, s in zip(weights, labels, scores, strict=True)]
            return sum(each) + penalty / 2 * sum(v * v for v in at[:-1])

        return theta, loss

    def test_nothing_near_it_has_a_smaller_loss(self):
        theta, loss = self.fitted()
        for k in range(6):
            for step in (-0.02, 0.02):
                moved = theta.copy()
                moved[k] += step
                assert loss(moved) > loss(theta)
        assert loss(theta) < loss(np.zeros(6)) - 0.01

    def test_a_larger_penalty_leaves_less_but_for_the_shift(self):
        small, large = self.fitted()[0], self.fitted(1e4)[0]
        assert np.abs(large[:-1]).max() < 1e-4 < np.abs(small[:-1]).max()
        assert large[-1] != 0.0


class TestReach:
    def test_faces_and_others_weigh_the_same(self):
        labels, weights = labels_of(3, 12)
        assert labels.tolist() == [1] * 3 + [-1] * 12
        assert weights[labels > 0].sum() == weights[labels < 0].sum() == 12

    def test_a_large_penalty_leaves_the_shipped_score(self):
        last = LastStage(stages(), FACES, OTHERS, 1e6)
        reach = last.reach(np.ones(60, bool))
        shipped = stumps_of_last(stages()).reach
        np.testing.assert_allclose(reach, shipped * (reach[0] / shipped[0]), rtol=1e-3)
        assert reach[0] / shipped[0] > 0

    def test_it_is_the_regression_on_top_of_half_log_odds(self):
        chosen = np.arange(60) % 2 == 0
        last = LastStage(stages(), FACES, OTHERS, 0.05)
        reach = last.reach(chosen)
        stumps = stumps_of_last(stages())
        answers = answers_to(np.concatenate([FACES, OTHERS[chosen]]))
        labels, weights = labels_of(60, 30)
        sums = answers @ stumps.reach + stumps.middle.sum()
        found = stumps.calibrated(sums, labels, weights)
        theta = ridge_logistic(
            answers.astype(np.float32),
            labels,
            weights / weights.sum(),
            2 * (found.scale * sums + found.shift),
            0.05,
            np.zeros(31),
        )
        np.testing.assert_allclose(reach, found.scale * stumps.reach + theta[:-1] / 2, atol=1e-5)
        np.testing.assert_allclose(last.scores(reach), answers_to(OTHERS) @ reach, atol=1e-4)
        assert np.abs(theta[:-1]).max() > 0.05

    def test_boxes_that_hold_no_faces_are_refused(self):
        last = LastStage(stages(), OTHERS, FACES, 0.1)
        with pytest.raises(InputError, match="boxes must be around faces"):
            last.reach(np.ones(60, bool))
        with pytest.raises(InputError, match="boxes must be around faces"):
            ready_to_learn(stages(), OTHERS, FACES, 100.0)


class TestSlimmed:
    def made(self, n_stumps, seed=0):
        last = LastStage(stages(), FACES, OTHERS, 0.05)
        reach = last.reach(np.ones(60, bool))
        return reach, last.slimmed(reach, n_stumps, np.random.default_rng(seed))

    def test_with_all_stumps_it_scores_the_same(self):
        windows = np.repeat(np.concatenate([FACES, OTHERS]), 1, axis=0)
        reach, slim = self.made(30)
        want = answers_to(windows) @ reach
        sums = stage_sums(slim.added_to(toy_cascade(), 0.0), windows)[:, -1]
        difference = sums - want
        assert difference.std() < 0.03 * want.std()
        np.testing.assert_array_equal(slim.feature, toy_cascade().node_feature)
        np.testing.assert_array_equal(slim.threshold, toy_cascade().node_threshold)

    def test_the_weightiest_are_refitted_by_ridge_regression(self):
        reach, slim = self.made(7)
        chosen = sorted(sorted(range(30), key=lambda j: -abs(reach[j]))[:7])
        np.testing.assert_array_equal(slim.feature, toy_cascade().node_feature[chosen])
        answers = answers_to(np.concatenate([FACES, OTHERS]))
        scores = answers @ reach
        some = answers[:, chosen]
        # The same with a column of ones, which costs nothing.
        rows = np.hstack([some, np.ones((120, 1))])
        penalty = np.diag([1.0] * 7 + [0.0])
        want = np.linalg.solve(rows.T @ rows + penalty, rows.T @ scores)[:-1]
        np.testing.assert_allclose(slim.leaves, np.stack([-want, want], axis=1), atol=1e-6)

    def test_few_windows_are_drawn(self, monkeypatch):
        monkeypatch.setattr(last_stage, "REFITTED_TO", 40)
        first, again, other = (self.made(7, seed)[1].leaves for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()


class TestCorrected:
    def test_before_anything_is_learnt_the_score_is_half_log_odds(self):
        stumps = ready_to_learn(stages(), FACES, OTHERS, 100.0)
        windows = np.concatenate([FACES, OTHERS])
        raw = stage_sums(stages(), windows)[:, -1]
        labels, weights = labels_of(60, 60)
        found = stumps_of_last(stages()).calibrated(raw, labels, weights)
        assert (stumps.scale, stumps.shift) == pytest.approx((found.scale, found.shift))
        assert stumps.sketch.n_seen == 0
        assert stumps.sketch.smoothing == pytest.approx(100.0 * found.mean_weight)
        sums = stage_sums(corrected(stages(), stumps, 0.0), windows)[:, -1]
        np.testing.assert_allclose(sums, found.scale * raw, atol=1e-5)

    def test_scale_shift_and_alpha_by_hand(self):
        stumps = ready_to_learn(stages(), FACES[:40], OTHERS[:40], 100.0)
        answers = answers_to(np.concatenate([FACES, OTHERS]))
        labels, weights = labels_of(60, 60)
        stumps.update(answers.astype(np.int8), labels, weights, 120)
        alpha = stumps.sketch.alpha
        assert np.abs(alpha).max() > 0.01
        made = corrected(stages(), stumps, 0.75)
        old, new = stages(), made
        for j, t in enumerate(range(6, 36)):
            left, right = old.leaf_pairs[t].astype(float)
            want = [stumps.scale * left - alpha[j], stumps.scale * right + alpha[j]]
            np.testing.assert_allclose(new.leaf_pairs[t], want, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(new.leaf_pairs[:6], old.leaf_pairs[:6])
        assert new.stage_threshold[0] == old.stage_threshold[0]
        assert new.stage_threshold[1] == pytest.approx(0.75 - stumps.shift, abs=1e-6)

    def test_without_a_sketch_the_leaves_are_scaled_alone(self):
        stumps = stumps_of_last(stages())
        stumps.scale, stumps.shift = 2.0, 0.5
        made = corrected(stages(), stumps, 0.0)
        np.testing.assert_allclose(made.leaf_pairs[6:], 2 * stages().leaf_pairs[6:], rtol=1e-6)
        assert made.stage_threshold[-1] == -0.5
