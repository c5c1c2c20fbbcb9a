"""Decision stumps: answers and votes against plain loops, in both precisions, dense and sparse; files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ocboost._core import file_format
from ocboost.errors import InputError, ModelFileError
from ocboost.hypotheses import Ballot, Stumps
from tests.naive.stumps import plain_answers


def random_stumps(rng, J, F, **more):
    threshold = rng.choice([-np.inf, -1.0, -0.0, 0.25, 1.0, np.inf], J)
    threshold = np.where(rng.random(J) < 0.5, threshold, rng.normal(size=J))
    signs = rng.choice([-1, 1], (2, J))
    return Stumps(rng.integers(0, F, J), threshold, *signs, n_features=F, **more)


def random_rows(rng, n, F, dtype):
    X = rng.normal(size=(n, F)).astype(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, 0.25, 1.0, -1.0], dtype)
    return np.where(rng.random((n, F)) < 0.4, rng.choice(special, (n, F)), X)


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "J", "F"), [(1, 1, 1), (7, 40, 3), (300, 65, 11)])
def test_answers_are_those_of_a_plain_loop(n, J, F, dtype, precision):
    rng = np.random.default_rng(n + J)
    stumps, X = random_stumps(rng, J, F, precision=precision), random_rows(rng, n, F, dtype)
    answers = stumps.answers(X)
    assert answers.dtype == np.int8
    assert answers.shape == (n, J)
    assert np.array_equal(answers, plain_answers(stumps, X))
    one_by_one = np.vstack([stumps.answers(X[i : i + 1]) for i in range(n)])
    assert np.array_equal(one_by_one, answers)


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_answer_as_dense_ones(dtype, precision):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((300, 9)) < 0.7, 0.0, random_rows(rng, 300, 9, dtype)).astype(dtype)
    stumps = random_stumps(rng, 50, 9, precision=precision)
    expected = plain_answers(stumps, X)
    assert np.array_equal(stumps.answers(sp.csr_matrix(X)), expected)
    assert np.array_equal(stumps.answers(sp.csc_matrix(X)), expected)
    assert np.array_equal(stumps.answers(sp.csr_array(X)), expected)


def test_repeated_entries_of_a_sparse_matrix_add():
    X = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert Stumps([0, 0], [2.5, 3.0], [1, 1]).answers(X).tolist() == [[-1, 1]]


def test_whole_numbers_and_other_orders_of_memory_are_taken():
    X = np.array([[0, 5], [3, 1]])
    stumps = Stumps([0, 1], [1.0, 2.0], [1, 1])
    expected = [[1, -1], [-1, 1]]
    assert stumps.answers(X).tolist() == expected
    assert stumps.answers(np.asfortranarray(X, dtype=np.float32)).tolist() == expected
    assert stumps.answers(X[::-1].astype(float)).tolist() == expected[::-1]


def test_a_threshold_between_two_neighbours_in_single_precision_parts_them():
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    nearer_high = float(low) + 0.75 * (float(high) - float(low))
    X = np.array([[low], [high]])
    for precision in ("double", "single"):
        stumps = Stumps([0], [nearer_high], [1], precision=precision)
        assert stumps.answers(X).tolist() == [[1], [-1]]  # rounded to nearest, the threshold would be high
        assert stumps.answers(X.astype(np.float64)).tolist() == [[1], [-1]]


def test_single_precision_rounds_the_feature_before_it_is_compared():
    above = 1.0 + 1e-12  # 1.0 as float32
    X = np.array([[above]])
    assert Stumps([0], [1.0], [1], precision="single").answers(X).tolist() == [[1]]
    assert Stumps([0], [1.0], [1], precision="double").answers(X).tolist() == [[-1]]


def test_thresholds_beyond_single_precision_stay_finite():
    X = np.array([[np.inf], [3e38], [-np.inf]], np.float32)
    assert Stumps([0], [1e300], [1]).answers(X).T.tolist() == [[-1, 1, 1]]
    assert Stumps([0], [-1e300], [1]).answers(X).T.tolist() == [[-1, -1, 1]]


def test_left_out_missing_answers_are_those_above():
    stumps = Stumps([0, 0], [0.0, 0.0], [1, -1])
    assert stumps.answers(np.array([[np.nan]])).tolist() == [[-1, 1]]


@pytest.mark.parametrize("n", [1, 255, 256, 257, 600])
def test_votes_are_those_of_a_plain_sum_to_the_last_bit(n):
    rng = np.random.default_rng(n)
    stumps, X = random_stumps(rng, 30, 4), random_rows(rng, n, 4, np.float64)
    alpha, up, down = rng.normal(size=30), rng.normal(size=12), rng.normal(size=12)
    votes = stumps.votes(X, [Ballot.of(alpha), Ballot(7, up, down)])
    for i, row in enumerate(plain_answers(stumps, X).tolist()):
        first, second = 0.0, 0.0
        for j in range(30):
            first += float(alpha[j]) if row[j] > 0 else -float(alpha[j])
        for j in range(12):
            second += float(up[j]) if row[7 + j] > 0 else float(down[j])
        assert votes[i].tolist() == [first, second]


def test_several_threads_answer_as_one(monkeypatch):
    rng = np.random.default_rng(5)
    stumps, X = random_stumps(rng, 20, 4), random_rows(rng, 1000, 4, np.float64)
    alone, voted = stumps.answers(X), stumps.votes(X, [Ballot.of(np.arange(20.0))])
    monkeypatch.setattr("ocboost.hypotheses.base.MIN_ANSWERS_FOR_THREADS", 1)
    assert np.array_equal(stumps.answers(X), alone)
    assert np.array_equal(stumps.votes(X, [Ballot.of(np.arange(20.0))]), voted)


@pytest.mark.parametrize("members", [slice(2, 9, 3), [5, 0, 5], -1, np.arange(12) % 2 == 0])
def test_some_of_them_answer_as_they_did_among_all(members):
    rng = np.random.default_rng(6)
    stumps, X = random_stumps(rng, 12, 5, precision="single"), random_rows(rng, 50, 5, np.float64)
    some = stumps[members]
    assert some.n_features == 5
    assert some.precision == "single"
    assert np.array_equal(some.answers(X), stumps.answers(X)[:, np.atleast_1d(np.arange(12)[members])])


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_saved_file_brings_them_back(tmp_path, precision):
    rng = np.random.default_rng(7)
    stumps, X = random_stumps(rng, 33, 5, precision=precision), random_rows(rng, 40, 5, np.float64)
    stumps.save(tmp_path / "stumps")
    back = Stumps.load(tmp_path / "stumps")
    assert np.array_equal(back.answers(X), stumps.answers(X))
    assert (back.n_features, back.precision) == (5, precision)
    for name in ("feature", "threshold", "left", "missing"):
        assert np.array_equal(getattr(back, name), getattr(stumps, name))


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("feature", np.array([0, 3]), "feature must lie between 0 and n_features - 1 = 2"),
        ("feature", np.array([0, -1]), "feature must lie between"),
        ("feature", np.array([0.0, 1.0]), "feature must be whole numbers"),
        ("feature", np.array([0]), "left must be 1 answers"),
        ("feature", np.array([], np.int64), "at least one column"),
        ("threshold", np.array([0.0, np.nan]), "threshold must be 2 numbers"),
        ("threshold", np.zeros((2, 1)), "threshold must be 2 numbers"),
        ("left", np.array([0, 1], np.int8), "left must be 2 answers"),
        ("missing", np.array([1], np.int8), "missing must be 2 answers"),
        ("missing", None, "missing is missing"),
        ("n_features", 2, "n_features - 1 = 1"),
        ("n_features", 3.0, "n_features must be a whole number"),
        ("n_features", True, "n_features must be a whole number"),
        ("n_features", 1 << 60, "n_features must be a whole number"),
        ("precision", "half", "precision must be 'double' or 'single'"),
        ("precision", None, "precision is missing"),
        ("colour", 1, "entries that are not known"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path, key, value, text):
    tree = Stumps([0, 2], [0.5, np.inf], [1, -1]).tree()
    tree[key] = value
    if value is None:
        del tree[key]
    file_format.save(tmp_path / "bad", "Stumps", tree)
    with pytest.raises(ModelFileError, match=text):
        Stumps.load(tmp_path / "bad")


def test_rows_that_do_not_fit_are_refused():
    stumps = Stumps([0, 2], [0.0, 1.0], [1, 1])
    with pytest.raises(InputError, match=r"shape \(rows, 3\).*got shape \(4, 2\)"):
        stumps.answers(np.zeros((4, 2)))
    with pytest.raises(InputError, match=r"got shape \(3,\)"):
        stumps.answers(np.zeros(3))
    with pytest.raises(InputError, match="X must be a matrix of numbers"):
        stumps.answers([["a", "b", "c"]])
    with pytest.raises(InputError, match="precision must be"):
        Stumps([0], [0.0], [1], precision="half")
