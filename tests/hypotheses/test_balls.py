"""Balls: answers against a plain loop, whatever rows are asked together; files; and how they are learnt."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from ocboost._core import file_format
from ocboost.errors import InputError, ModelFileError
from ocboost.hypotheses import Ballot, Balls
from ocboost.learners import BallLearner
from tests.naive.balls import plain_answers, plain_squared


def random_balls(rng, J, F, dtype=np.float64):
    return Balls(
        rng.normal(size=(J, F)).astype(dtype), rng.gamma(F, 1.4 / F, J) * np.sqrt(F), rng.choice([-1, 1], J)
    )


def on_the_sphere(rng, J, F, X):
    """Radii that are the distance of some row to the last bit, or a bit more or less."""
    centre = rng.normal(size=(J, F))
    theta = np.array([math.sqrt(plain_squared(X[rng.integers(len(X))], c)) for c in centre])
    return Balls(centre, np.nextafter(theta, rng.choice([0.0, np.inf], J)), rng.choice([-1, 1], J))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "J", "F"), [(1, 1, 1), (17, 4, 3), (40, 11, 30), (270, 3, 2)])
def test_answers_are_those_of_a_plain_loop(n, J, F, dtype):
    rng = np.random.default_rng(n + J)
    X = rng.normal(size=(n, F)).astype(dtype)
    for balls in (random_balls(rng, J, F, dtype), on_the_sphere(rng, J, F, X)):
        answers = balls.answers(X)
        assert answers.dtype == np.int8
        assert np.array_equal(answers, plain_answers(balls, X))
        one_by_one = np.vstack([balls.answers(X[i : i + 1]) for i in range(n)])
        assert np.array_equal(one_by_one, answers)
        each = np.hstack([balls[j].answers(X) for j in range(J)])
        assert np.array_equal(each, answers)


def test_a_row_at_the_radius_is_outside():
    balls = Balls([[0.0, 0.0]] * 3, [5.0, np.nextafter(5.0, 6.0), 0.0])
    assert balls.answers(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[1, -1, 1], [-1, -1, 1]]


def test_distances_beyond_the_range_of_a_double_are_outside():
    assert Balls([[1e200]], [1e150]).answers(np.array([[-1e200], [1e200]])).tolist() == [[1], [-1]]


def test_sparse_rows_answer_as_dense_ones():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((70, 12)) < 0.7, 0.0, rng.normal(size=(70, 12)))
    balls = on_the_sphere(rng, 9, 12, X)
    assert np.array_equal(balls.answers(sp.csr_matrix(X)), plain_answers(balls, X))
    twice = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert Balls([[0.0]], [3.0]).answers(twice).tolist() == [[1]]


def test_votes_are_those_of_a_plain_sum():
    rng = np.random.default_rng(2)
    balls, X, alpha = random_balls(rng, 9, 4), rng.normal(size=(300, 4)), rng.normal(size=9)
    votes = balls.votes(X, [Ballot.of(alpha)])
    for i, row in enumerate(plain_answers(balls, X).tolist()):
        total = 0.0
        for j in range(9):
            total += float(alpha[j]) if row[j] > 0 else -float(alpha[j])
        assert votes[i, 0] == total


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_with_its_place(value):
    X = np.zeros((5, 3))
    X[3, 1] = value
    balls = Balls([[0.0] * 3], [1.0])
    for given in (X, X.astype(np.float32), sp.csr_matrix(X)):
        with pytest.raises(InputError, match=rf"finite for Balls; got {value} at row 3, column 1\. Fill in"):
            balls.answers(given)
    with pytest.raises(InputError, match=r"finite for BallLearner; got .* at row 3, column 1"):
        BallLearner(5).learn(X, np.ones(5), n_hypotheses=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_saved_file_brings_them_back(tmp_path, dtype):
    rng = np.random.default_rng(3)
    balls, X = random_balls(rng, 7, 5, dtype), rng.normal(size=(40, 5))
    balls.save(tmp_path / "balls")
    back = Balls.load(tmp_path / "balls")
    assert back.centre.dtype == dtype
    assert np.array_equal(back.answers(X), balls.answers(X))
    some = back[[4, 1]]
    assert np.array_equal(some.answers(X), balls.answers(X)[:, [4, 1]])


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("centre", np.full((2, 3), np.nan), "centre must be finite"),
        ("centre", np.zeros((2, 0)), "centre must be a matrix"),
        ("centre", np.zeros(2), "centre must be a matrix"),
        ("centre", np.zeros((1, 3)), "theta must be 1 radii"),
        ("theta", np.array([1.0, -1.0]), "theta must be 2 radii"),
        ("theta", np.array([1.0, np.inf]), "theta must be 2 radii"),
        ("sign", np.array([1, 0], np.int8), "sign must be 2 answers"),
        ("sign", np.array([1], np.int8), "sign must be 2 answers"),
        ("sign", None, "sign is missing"),
        ("sign", [1, -1], "the array sign has the wrong shape or type"),
        ("colour", 1, "entries that are not known: 'colour'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path, key, value, text):
    tree = Balls(np.zeros((2, 3)), [1.0, 2.0]).tree()
    tree[key] = value
    if value is None:
        del tree[key]
    file_format.save(tmp_path / "bad", "Balls", tree)
    with pytest.raises(ModelFileError, match=text):
        Balls.load(tmp_path / "bad")
