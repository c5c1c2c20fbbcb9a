"""Several sets of hypotheses as one: each answers as it does alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ocboost import InputError, ModelFileError
from ocboost.hypotheses import Ballot, Balls, Callables, Joined, Stumps, join

STUMPS = Stumps([0, 2, 1], [0.1, -0.3, 0.7], [1, -1, 1], n_features=3)
SINGLE = Stumps([1], [0.25], [-1], n_features=3, precision="single")
BALLS = Balls([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]], [0.9, 1.1], [1, -1])


def examples(n=700):
    return np.random.default_rng(0).normal(size=(n, 3))


def test_answers_and_votes_are_those_of_the_sets():
    X = examples()
    joined = join([STUMPS, BALLS, SINGLE])
    assert isinstance(joined, Joined)
    expected = np.hstack([each.answers(X) for each in (STUMPS, BALLS, SINGLE)])
    np.testing.assert_array_equal(joined.answers(X), expected)
    alpha = np.arange(1.0, 7.0)
    np.testing.assert_allclose(joined.votes(X, [Ballot.of(alpha)])[:, 0], expected @ alpha)
    assert (len(joined), joined.n_features) == (6, 3)


def test_stumps_become_one_set_and_a_single_set_is_itself():
    X = examples()
    both = join([STUMPS, STUMPS[1:]])
    assert type(both) is Stumps
    np.testing.assert_array_equal(both.answers(X), STUMPS.answers(X)[:, [0, 1, 2, 1, 2]])
    assert join([BALLS]) is BALLS


@pytest.mark.parametrize("members", [slice(1, 5), [5, 0, 3, 3, 4, 1], [2], -1, np.arange(6) % 2 == 0])
def test_some_of_them_in_any_order(members):
    X = examples()
    joined = join([STUMPS, BALLS, SINGLE])
    expected = joined.answers(X)[:, np.atleast_1d(np.arange(6)[members])]
    np.testing.assert_array_equal(joined[members].answers(X), expected)


def test_a_set_of_sets_is_flat_and_survives_a_file(tmp_path):
    X = examples()
    joined = Joined([Joined([STUMPS, BALLS]), SINGLE])
    assert [type(each) for each in joined.sets] == [Stumps, Balls, Stumps]
    joined.save(tmp_path / "model")
    np.testing.assert_array_equal(Joined.load(tmp_path / "model").answers(X), joined.answers(X))


def test_more_than_ten_sets_keep_their_arrays_apart(tmp_path):
    X = examples()
    sets = [
        each for k in range(12) for each in (Stumps([k % 3], [k / 10], [1], n_features=3), BALLS[[k % 2]])
    ]
    joined = join(sets)
    joined.save(tmp_path / "model")
    np.testing.assert_array_equal(Joined.load(tmp_path / "model").answers(X), joined.answers(X))


def test_what_one_set_refuses_all_refuse():
    X = examples(5)
    X[3, 1] = np.nan
    joined = join([STUMPS, BALLS])
    assert not joined.accepts_missing
    with pytest.raises(InputError, match="X must be finite for Balls; got nan at row 3, column 1"):
        joined.answers(X)
    dense = Callables([lambda X: np.ones(len(X))], 3)
    with pytest.raises(InputError, match="X must be a dense array for Callables"):
        join([STUMPS, dense]).answers(sparse.csr_matrix(examples(5)))
    np.testing.assert_array_equal(joined.answers(sparse.csr_matrix(examples(9))), joined.answers(examples(9)))


def test_different_features():
    with pytest.raises(InputError, match=r"sets must be over the same features; got sets for \[3, 2\]"):
        Joined([STUMPS, Stumps([1], [0.0], [1], n_features=2)])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda p: p.update(more=1), "its sets are not known"),
        (lambda p: p.update(sets={}), "its sets are not known"),
        (lambda p: p.update(sets=[]), "its arrays do not fit its sets"),
        (lambda p: p["sets"].pop(), "its arrays do not fit its sets"),
        (lambda p: p["sets"][0].__setitem__(0, "Joined"), "a set is not known"),
        (lambda p: p["sets"][0].__setitem__(0, 7), "a set is not known"),
        (lambda p: p["sets"][0].__setitem__(0, "Callables"), "knows Stumps, Trees, Balls, Joined"),
        (lambda p: p["sets"][0].__setitem__(1, None), "a set is not known"),
        (lambda p: p["sets"].reverse(), "have the arrays"),
        (lambda p: p["sets"][0][1].update(n_features=4), "over different features"),
    ],
)
def test_hostile_parts(change, match):
    parameters, arrays = join([STUMPS, BALLS]).parts()
    change(parameters)
    with pytest.raises(ModelFileError, match=match):
        Joined.from_parts(parameters, arrays, "a file")
