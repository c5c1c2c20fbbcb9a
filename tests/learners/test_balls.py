"""Learning balls: known answers, plain loops, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ocboost import adaboost_weights
from ocboost._core.threads import get_num_threads, set_num_threads
from ocboost._kernels.balls import best_cuts, rough_scores
from ocboost.errors import InputError
from ocboost.hypotheses import Ballot
from ocboost.learners import BallLearner
from ocboost.learners import balls as ball_learner
from tests.naive.balls import plain_best_cut


def test_the_best_cut_is_that_of_trying_each():
    rng = np.random.default_rng(4)
    squared = rng.integers(0, 9, (30, 14)).astype(np.float64)  # with many ties
    signed = rng.integers(1, 4, 14) * rng.choice([-1.0, 1.0], 14)
    order = np.argsort(squared, axis=1)
    score, cut = np.empty(30), np.empty(30, np.int64)
    best_cuts(squared, order, signed, score, cut)
    for c in range(30):
        expected, inside = plain_best_cut(squared[c], signed)
        assert score[c] == expected
        assert set(order[c, : cut[c] + 1].tolist()) == inside


def rings(n, seed):
    """Two classes that no line parts: near the origin, and around it; a tenth of the labels are wrong."""
    rng = np.random.default_rng(seed)
    y = rng.choice(np.array([-1, 1], np.int8), n)
    X = rng.normal(size=(n, 5)) * np.where(y > 0, 0.7, 1.6)[:, None]
    return X, np.where(rng.random(n) < 0.1, -y, y).astype(np.int8)


def test_balls_learn_what_no_line_can():
    X, y = rings(1500, 5)
    balls = BallLearner(150).learn(X[:1000], y[:1000], n_hypotheses=40, rng=np.random.default_rng(0))
    assert len(balls) == 40
    alpha = adaboost_weights(balls.answers(X[:1000]) * y[:1000, None])
    assert (alpha > 0).all()
    votes = balls.votes(X[1000:], [Ballot.of(alpha)])[:, 0]
    assert np.mean(np.sign(votes) != y[1000:]) < 0.25
    assert {tuple(c) for c in balls.centre.tolist()} <= {tuple(x) for x in X[:1000].tolist()}


def test_the_generator_alone_decides_and_not_the_threads():
    X, y = rings(400, 6)
    learner, before = BallLearner(60, n_candidates=20), get_num_threads()
    found = []
    try:
        for threads, seed in ((1, 1), (3, 1), (1, 2)):
            set_num_threads(threads)
            found.append(
                learner.learn(X.astype(np.float32), y, n_hypotheses=8, rng=np.random.default_rng(seed))
            )
    finally:
        set_num_threads(before)
    assert np.array_equal(found[0].theta, found[1].theta)
    assert np.array_equal(found[0].centre, found[1].centre)
    assert not np.array_equal(found[0].centre, found[2].centre)
    assert found[0].centre.dtype == np.float32


def test_after_a_perfect_ball_others_are_found():
    rng = np.random.default_rng(8)
    y = np.where(np.arange(60) < 30, 1, -1)
    X = rng.normal(size=(60, 2)) + 20.0 * y[:, None]
    balls = BallLearner(25).learn(X, y, n_hypotheses=50, rng=np.random.default_rng(0))
    assert len(balls) == 50
    perfect = (balls.answers(X) == y[:, None]).all(axis=0)
    assert perfect.sum() > 25
    each = {(*c, t) for c, t in zip(balls.centre.tolist(), balls.theta.tolist(), strict=True)}
    assert len(each) == 50
    assert len({tuple(c) for c in balls.centre.tolist()}) > 1


def test_it_stops_where_nothing_new_is_left():
    X = np.array([[0.0], [0.0], [3.0], [3.0]])  # two places: a ball around each, and one that holds nothing
    learner = BallLearner(30)
    balls = learner.learn(X, np.array([1, 1, -1, -1]), n_hypotheses=50, rng=np.random.default_rng(0))
    assert sorted(zip(balls.centre[:, 0].tolist(), balls.theta.tolist(), strict=True)) == [
        (0.0, 1.5),
        (3.0, 1.5),
    ]
    assert (balls.answers(X) == np.array([[1], [1], [-1], [-1]])).all()
    same = learner.learn(X, np.ones(4), n_hypotheses=50, rng=np.random.default_rng(0))
    assert same.answers(X).T.tolist() == [[1] * 4]


def test_without_any_difference_there_is_one_ball():
    balls = BallLearner(10).learn(
        np.zeros((4, 2)), np.array([1, -1, 1, -1]), n_hypotheses=50, rng=np.random.default_rng(0)
    )
    assert len(balls) == 1


def test_examples_without_weight_are_never_centres():
    X, y = rings(200, 7)
    weights = (np.arange(200) % 4 == 0).astype(float)
    balls = BallLearner(50).learn(X, y, n_hypotheses=10, sample_weight=weights, rng=np.random.default_rng(0))
    assert {tuple(c) for c in balls.centre.tolist()} <= {tuple(x) for x in X[::4].tolist()}


def test_parameters_are_checked():
    with pytest.raises(InputError, match="n_sample must be a whole number"):
        BallLearner(0)
    with pytest.raises(InputError, match="n_candidates must be a whole number"):
        BallLearner(10, n_candidates=0)
    with pytest.raises(InputError, match="dense array for BallLearner"):
        BallLearner(5).learn(sp.csr_matrix(np.eye(3)), np.ones(3), n_hypotheses=1)


def test_rough_scores_are_close_to_those_of_the_best_cuts():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 6))
    signed = np.where(np.linalg.norm(rows, axis=1) > 2.2, 1.0, -1.0) * rng.integers(1, 4, 400)
    squared = ((rows[:, None] - rows) ** 2).sum(axis=2)
    score, cut = np.empty(400), np.empty(400, np.int64)
    best_cuts(squared, np.argsort(squared, axis=1), signed, score, cut)
    rough = np.empty(400)
    rough_scores(squared.astype(np.float32), signed, np.empty(512), rough)
    assert (rough <= score + 1e-6).all(), "a cut between bins is a cut"
    assert (rough >= 0.9 * score).all()
    constant = np.empty(1)
    rough_scores(np.zeros((1, 400), np.float32), signed, np.empty(512), constant)
    assert constant[0] == abs(signed.sum())


def test_a_rough_look_finds_the_same_balls(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5)) + 100.0
    y = np.where(np.linalg.norm(X - 100.3, axis=1) + 0.3 * rng.normal(size=3000) > 2.0, 1, -1).astype(np.int8)
    found = []
    for enough in (200, 1 << 30):
        monkeypatch.setattr(ball_learner, "ENOUGH_FOR_SHORTLIST", enough)
        found.append(BallLearner(n_sample=500).learn(X, y, n_hypotheses=8, rng=np.random.default_rng(1)))
    np.testing.assert_array_equal(found[0].centre, found[1].centre)
    np.testing.assert_array_equal(found[0].theta, found[1].theta)
