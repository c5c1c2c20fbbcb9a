"""Neighbours by answers: their windows, pools that change, and their files."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import InputError, ModelFileError
from ocboost.estimators.adaptive.neighbours import EXPERTS, FIRST_ROWS, WIDTHS, WINDOWS, Neighbours
from ocboost.streams.rows import join_rows
from tests.naive.neighbours import NaiveNeighbours
from tests.support.adaptive_members import (
    ChangingPool,
    from_file,
    learn_all,
    one_row,
    resumed,
    scores_of,
    some_rows,
)
from tests.support.saved_trees import changed


def begun(K, n, seed=0):
    rng = np.random.default_rng(seed)
    pool, rows = ChangingPool(rng, K), some_rows(rng, n, K)
    member = Neighbours(K)
    member.begin(rows, pool.answers(rows.X))
    return member, pool, rows


def from_scratch(pool, rows, K):
    member = Neighbours(K)
    member.begin(rows, pool.answers(rows.X))
    return member


def assert_same_scores(member, other, pool, K, seed=9):
    rows = some_rows(np.random.default_rng(seed), 10, K)
    answers = pool.answers(rows.X)
    for i in range(10):
        row = one_row(rows, i, answers, 0)
        np.testing.assert_allclose(scores_of(member, row, K), scores_of(other, row, K), rtol=1e-12)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [1, 199, FIRST_ROWS, FIRST_ROWS + 1, 1100])
def test_scores_are_those_of_a_comparison_of_all_answers(K, n):
    member, pool, rows = begun(K, n)
    twin = NaiveNeighbours(K, WINDOWS, WIDTHS, EXPERTS)
    for answers, code, weight in zip(pool.answers(rows.X), rows.codes, rows.weights, strict=True):
        twin.learn(answers, int(code), float(weight))
    new = some_rows(np.random.default_rng(1), 3, K)
    answers = pool.answers(new.X)
    for i in range(3):
        row = one_row(new, i, answers, 0)
        np.testing.assert_allclose(scores_of(member, row, K), twin.scores(answers[i]), rtol=1e-9)


def test_only_the_last_rows_are_kept():
    member, pool, rows = begun(2, 4300)
    assert_same_scores(member, from_scratch(pool, rows[300:], 2), pool, 2)
    more = some_rows(np.random.default_rng(5), 700, 2)
    learn_all(member, more, pool.answers(more.X))
    whole = join_rows([rows, more])
    assert_same_scores(member, from_scratch(pool, whole[len(whole) - WINDOWS[-1] :], 2), pool, 2)
    assert member.nbytes == WINDOWS[-1] * (8 + 8 + 8) + 8 * 12  # a word, a code and a weight a row


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [5, 250, 4100])
def test_after_changes_of_the_pool_bits_are_those_of_the_new_one(K, n):
    for seed in range(2 if n > 4000 else 5):
        member, pool, rows = begun(K, n, seed)
        for i in range(8):
            change = pool.change(rows[max(0, len(rows) - WINDOWS[-1]) :])
            member.follow(change)
            member.check_pool(len(pool.hypotheses))
            assert_same_scores(member, from_scratch(pool, rows, K), pool, K, seed=i)
            more = some_rows(np.random.default_rng([seed, i]), 10, K)
            learn_all(member, more, pool.answers(more.X))
            rows = join_rows([rows, more])
        assert_same_scores(member, from_scratch(pool, rows, K), pool, K)


def test_where_a_class_shared_hypotheses_its_copies_get_bits():
    member, pool, rows = begun(3, 100)
    assert pool.columns[2].start == 0  # those of other classes
    shared = len(pool.hypotheses)
    change = pool.change(rows, n_gone=0, n_added=1)
    assert len(pool.hypotheses) == shared + 15 + 1
    assert (np.bincount(change.origin[change.origin >= 0]) == 2).any()
    member.follow(change)
    assert_same_scores(member, from_scratch(pool, rows, 3), pool, 3)


def test_bits_that_were_given_up_do_not_count():
    member, pool, rows = begun(2, 100)
    member.follow(pool.change(rows, n_gone=8, n_added=1))
    assert_same_scores(member, from_scratch(pool, rows, 2), pool, 2)
    member.follow(pool.change(rows, n_gone=0, n_added=70))  # more than a word of them
    assert_same_scores(member, from_scratch(pool, rows, 2), pool, 2)


def test_saved_after_a_change_it_goes_on():
    member, pool, rows = begun(3, 300)
    member.follow(pool.change(rows))
    loaded = resumed("neighbours", 3, from_file(member))
    for each in (member, loaded):
        learn_all(each, rows[:50], pool.answers(rows.X[:50]))
    assert_same_scores(member, loaded, pool, 3)
    change = pool.change(join_rows([rows, rows[:50]]))
    member.follow(change)
    loaded.follow(change)
    assert_same_scores(member, loaded, pool, 3)


def test_a_heavy_row_counts_once():
    a, b = (begun(2, 100)[0] for _ in range(2))
    _, pool, rows = begun(2, 100)
    row = one_row(rows, 0, pool.answers(rows.X), 0)
    a.learn(row, 1, 1.0)
    b.learn(row, 1, 1e9)
    assert_same_scores(a, b, pool, 2)


def with_entry(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("codes", with_entry(3, 2), "its codes do not fit"),
        ("codes", with_entry(3, -1), "its codes do not fit"),
        ("codes", lambda codes: codes[:-1], "weights has the wrong shape"),
        ("weights", with_entry(3, -0.5), "its weights do not fit"),
        ("weights", with_entry(3, 2.0), "its weights do not fit"),
        ("ring", lambda ring: ring[:0].copy(), "its bits do not fit"),
        ("slots", with_entry(0, 64), "its bits do not fit"),
        ("slots", with_entry(0, -1), "its bits do not fit"),
        ("slots", with_entry(0, 5), "its bits do not fit"),
        ("n", 257, "n must be a whole number"),
        ("at", 256, "at must be a whole number"),
        ("at", 7, "its rows do not fit"),
    ],
)
def test_a_file_that_it_never_wrote_is_refused(path, value, message):
    tree = from_file(begun(2, 100)[0])
    resumed("neighbours", 2, tree)
    with pytest.raises(ModelFileError, match=message):
        resumed("neighbours", 2, changed(tree, path, value))


def test_a_file_with_too_many_rows_is_refused():
    n = WINDOWS[-1] + 1
    tree = from_file(begun(2, 100)[0])
    rows = {"codes": np.zeros(n, np.int64), "weights": np.zeros(n), "ring": np.zeros((1, n), np.uint64)}
    with pytest.raises(ModelFileError, match="it keeps too many rows"):
        resumed("neighbours", 2, {**tree, **rows})


def test_a_pool_of_another_size_is_refused():
    member, pool, _ = begun(2, 100)
    member.check_pool(len(pool.hypotheses))
    with pytest.raises(InputError, match="a bit for each of 13 hypotheses"):
        member.check_pool(13)
