"""Models of all frames but a part: fitted in one go, each as if alone, and blind to its part."""

import numpy as np
import pytest
from scipy.special import expit

from ocboost._teaching import crossed
from ocboost._teaching.crossed import PARTS, crossed_logistic, parts_of
from ocboost.cascade.last_stage import ridge_logistic

PENALTY = 0.3


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(crossed, "TOLERANCE", 1e-15)
    rng = np.random.default_rng(0)
    answers = rng.choice(np.array([-1, 1], np.int8), (60, 5))
    labels = np.where(answers[:, 0] + answers[:, 1] + rng.normal(0, 1.5, 60) > 0, 1, -1).astype(np.int8)
    weights = rng.uniform(0.5, 2.0, 60) / 60
    return answers, labels, weights, rng.normal(0, 0.5, 60), np.repeat(np.arange(1, 5), 15)


def fitted(answers, chances, weights, offset, parts):
    columns = np.stack([np.where(parts == k, 0.0, weights) for k in range(5)], axis=1)
    return crossed_logistic(answers, chances, columns, offset, PENALTY, np.zeros((6, 5)), 1000), columns


def test_each_model_is_the_one_that_is_fitted_alone(windows):
    answers, labels, weights, offset, parts = windows
    found, columns = fitted(answers, (labels > 0).astype(float), weights, offset, parts)
    for k in range(5):
        alone = ridge_logistic(answers, labels, columns[:, k], offset, PENALTY, np.zeros(6), 1000)
        np.testing.assert_allclose(found[:, k], alone, atol=1e-4)


def test_nothing_can_be_gained_by_moving_any_weight(windows):
    answers, labels, weights, offset, parts = windows
    chances = np.clip(0.5 + 0.4 * labels, 0, 1)
    found, columns = fitted(answers, chances, weights, offset, parts)

    def loss(theta, own):
        total = PENALTY / 2 * sum(each**2 for each in theta[:-1])
        for row, chance, weight, start in zip(answers, chances, own, offset, strict=True):
            p = expit(start + sum(a * b for a, b in zip(row, theta, strict=False)) + theta[-1])
            total -= weight * (chance * np.log(p) + (1 - chance) * np.log(1 - p))
        return total

    for k in (0, 3):
        least = loss(found[:, k], columns[:, k])
        for place in range(6):
            for step in (-0.01, 0.01):
                moved = found[:, k].copy()
                moved[place] += step
                assert loss(moved, columns[:, k]) > least


def test_what_is_left_out_says_nothing(windows):
    answers, labels, weights, offset, parts = windows
    before, _ = fitted(answers, (labels > 0).astype(float), weights, offset, parts)
    other = np.where(parts == 2, -labels, labels)
    after, _ = fitted(answers, (other > 0).astype(float), weights, offset, parts)
    np.testing.assert_allclose(after[:, 2], before[:, 2], atol=1e-4)
    assert (np.abs(after - before).max(axis=0)[[0, 1, 3, 4]] > 1e-2).all()


def test_parts_are_of_frames_next_to_each_other():
    found = parts_of([5, 1, 9, 30, 2, 7, 8, 20, 11, 5])
    assert list(found) == sorted(found)
    assert sorted(found.values()) == list(found.values())
    assert set(found.values()) == set(range(1, PARTS + 1))
    assert set(parts_of(range(crossed.FEWEST - 1)).values()) == {0}
    assert parts_of([]) == {}
