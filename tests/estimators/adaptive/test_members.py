"""What holds for every member of the bank: its start, its copies, its files."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import ModelFileError
from ocboost.estimators.adaptive.forest_member import _best_columns
from ocboost.estimators.adaptive.members import OneRow
from tests.support.adaptive_members import (
    KINDS,
    ChangingPool,
    from_file,
    learn_all,
    new_member,
    one_row,
    resumed,
    rows_for,
    scores_of,
    some_rows,
    state_of,
)
from tests.support.saved_trees import GONE, arrays_of, changed, found

N = 400


def case(kind, K, n=N, seed=0):
    rng = np.random.default_rng(seed)
    pool, rows = ChangingPool(rng, K), some_rows(rng, n, K)
    return rows_for(kind, rows), pool.answers(rows.X)


def begun(kind, K, n=N):
    rows, answers = case(kind, K)
    member = new_member(kind, K)
    member.begin(rows[:n], answers[:n])
    return member, rows, answers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [2, 3])
def test_begin_is_learning_in_a_loop(kind, K):
    rows, answers = case(kind, K)
    at_once, looped = new_member(kind, K), new_member(kind, K)
    at_once.begin(rows, answers)
    looped.begin(rows[:1], answers[:1])
    learn_all(looped, rows[1:], answers[1:], last=int(rows.codes[0]))
    for i in range(20):
        row = one_row(rows, i, answers, 1)
        np.testing.assert_allclose(scores_of(at_once, row, K), scores_of(looped, row, K), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [1, 300])
def test_scores_are_finite_for_every_expert_and_class(kind, K, n):
    member, rows, answers = begun(kind, K, n)
    assert len(set(member.experts)) == len(member.experts)
    assert member.group
    for i in range(10):
        assert np.isfinite(scores_of(member, one_row(rows, i, answers, K), K)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [2, 3])
def test_loaded_it_goes_on_bit_for_bit(kind, K):
    member, rows, answers = begun(kind, K, 200)
    loaded = resumed(kind, K, from_file(member))
    assert state_of(loaded) == state_of(member)
    assert loaded.nbytes == member.nbytes > 0
    last = 0
    for i in range(200, N):
        row = one_row(rows, i, answers, last)
        np.testing.assert_array_equal(scores_of(loaded, row, K), scores_of(member, row, K))
        last = int(rows.codes[i])
        for each in (member, loaded):
            each.learn(row, last, float(rows.weights[i]))
    assert state_of(loaded) == state_of(member)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_goes_its_own_way(kind):
    member, rows, answers = begun(kind, 2, 200)
    before = state_of(member)
    copied = member.copy()
    assert state_of(copied) == before
    learn_all(copied, rows[200:], answers[200:])
    assert state_of(member) == before
    learn_all(member, rows[200:], answers[200:])
    assert state_of(member) == state_of(copied)
    row = one_row(rows, 0, answers, 0)
    np.testing.assert_array_equal(scores_of(member, row, 2), scores_of(copied, row, 2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [2, 3])
def test_scores_change_nothing(kind, K):
    member, rows, answers = begun(kind, K, 200)
    before = state_of(member)
    first = scores_of(member, one_row(rows, 300, answers, 0), K)
    scores_of(member, one_row(rows, 301, answers, 0), K)
    np.testing.assert_array_equal(scores_of(member, one_row(rows, 300, answers, 0), K), first)
    assert state_of(member) == before


# Files ------------------------------------------------------------------------------------------------------


def attacks(array):
    """Values that are not what the array was."""
    yield GONE
    yield None
    yield array[None]
    yield array.astype(np.float32 if array.dtype != np.float32 else np.float64)
    if array.dtype.kind == "f" and array.size:
        for wrong in (np.nan, np.inf):
            other = array.copy()
            other.flat[array.size // 2] = wrong
            yield other


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [2, 3])
def test_a_file_that_no_member_wrote_is_refused(kind, K):
    member, _, _ = begun(kind, K, 200)
    tree = from_file(member)
    paths = [path for path in arrays_of(tree) if path[0] != "forests"]  # which has tests of its own
    assert paths
    for path in paths:
        for wrong in attacks(found(tree, path)):
            with pytest.raises(ModelFileError):
                resumed(kind, K, changed(tree, path, wrong))
    with pytest.raises(ModelFileError, match="more"):
        resumed(kind, K, {**tree, "more": 1})
    other = new_member(kind, 5)
    other.begin(*case(kind, 5, 50))
    with pytest.raises(ModelFileError):
        resumed(kind, K, from_file(other) if kind != "neighbours" else {**tree, "n": 10**6})


# One row ----------------------------------------------------------------------------------------------------


def test_one_row_is_dense_or_sparse():
    rows, answers = case("features", 2)
    row = OneRow(rows.X[:1], answers[:1], 0)
    assert row.x.shape == (4,)
    assert row.columns is None
    sparse, _ = case("sparse features", 2)
    row = OneRow(sparse.X[:1], None, 2)
    assert row.x is None
    assert row.columns.dtype == np.int64
    np.testing.assert_array_equal(row.values, sparse.X[:1].data)
    assert row.last == 2


def test_forests_of_wide_rows_look_at_columns_that_tell_the_classes_apart():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=400)
    X = rng.normal(size=(400, 300)) * 10.0 ** rng.integers(-5, 6, 300)
    telling = rng.choice(300, 20, replace=False)
    X[:, telling] += codes[:, None] * X[:, telling].std(axis=0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[3, 7], X[:, 8] = 1e300, 5.0
    chosen = _best_columns(X, codes, 40)
    assert set(telling.tolist()) <= set(chosen.tolist())
    assert 8 not in chosen
    assert (np.diff(chosen) > 0).all()
