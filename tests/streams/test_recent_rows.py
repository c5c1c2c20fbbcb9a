"""The rows of the head, as they came: the last ones, in order, in bounded memory."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ocboost import ModelFileError
from ocboost._core.codec import matrix_from, matrix_tree, read
from ocboost.streams.recent_rows import ROWS_PER_BLOCK, RecentRows
from ocboost.streams.rows import Rows, stack_matrices
from tests.support.saved_trees import GONE, changed


def numbered(start, stop, kind="dense"):
    """Rows that say which they are; row 0 of a sparse matrix holds nothing."""
    number = np.arange(start, stop)
    X = np.stack([number, -number, np.zeros(stop - start)], axis=1).astype(float)
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    return Rows(X, codes=number % 3, weights=number / 2.0)


def back(tree):
    return read(tree, "a file", lambda fields: RecentRows.from_tree(fields, 3, 3))


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def assert_last(recent, n, end):
    found, wanted = recent.last(n), numbered(end - n, end)
    np.testing.assert_array_equal(dense(found.X), wanted.X)
    np.testing.assert_array_equal(found.codes, wanted.codes)
    np.testing.assert_array_equal(found.weights, wanted.weights)


@given(
    sizes=st.lists(st.one_of(st.integers(1, 9), st.integers(100, 700)), min_size=1, max_size=12),
    capacity=st.sampled_from([1, 2, 7, 255, 256, 257, 600]),
    kind=st.sampled_from(["dense", "sparse", "mixed"]),
)
def test_the_last_rows_are_there_and_not_many_more(sizes, capacity, kind):
    recent, end = RecentRows(capacity), 0
    for k, size in enumerate(sizes):
        here = ("dense", "sparse")[k % 2] if kind == "mixed" else kind
        recent.take(numbered(end, end + size, here))
        end += size
        assert min(end, capacity) <= len(recent) < capacity + 2 * ROWS_PER_BLOCK
        for n in {1, min(end, capacity), min(end, capacity) // 2 or 1, len(recent)}:
            assert_last(recent, n, end)
    assert len(recent.last(10**6)) == len(recent)


def test_memory_is_that_of_the_rows_held():
    recent = RecentRows(100)
    recent.take(numbered(0, 5000))
    assert len(recent) == 100
    assert recent.nbytes == 100 * (3 + 1 + 1) * 8
    for i in range(5000, 9000):
        recent.take(numbered(i, i + 1))
    assert len(recent) < 100 + 2 * ROWS_PER_BLOCK
    assert recent.nbytes == len(recent) * 5 * 8
    other = RecentRows(4)
    other.take(numbered(1, 4, "sparse"))
    assert other.nbytes == 6 * 8 + 6 * 4 + 4 * 4 + 3 * 16


def test_a_capacity_that_changes():
    recent = RecentRows(50)
    recent.take(numbered(0, 50))
    recent.resize(2000)
    recent.take(numbered(50, 1500))
    assert_last(recent, 1500, 1500)
    recent.resize(10)
    recent.take(numbered(1500, 1510))
    recent.take(numbered(1510, 1510 + ROWS_PER_BLOCK - 1))
    for i in range(1509 + ROWS_PER_BLOCK, 1600 + ROWS_PER_BLOCK):
        recent.take(numbered(i, i + 1))
    assert_last(recent, 10, 1600 + ROWS_PER_BLOCK)
    assert len(recent) < 10 + 2 * ROWS_PER_BLOCK


def test_a_larger_capacity_brings_nothing_back_that_a_file_does_not_hold():
    recent = RecentRows(5)
    recent.take(numbered(0, 4))
    recent.take(numbered(4, 8))
    assert len(recent) == 8
    again = back(recent.tree())
    for each in (recent, again):
        each.resize(7)
        each.take(numbered(8, 9))
        assert (each.tree()["capacity"], len(each.tree()["codes"])) == (7, 6)
        assert_last(each, 6, 9)


def test_rows_are_copied_and_copies_are_their_own():
    recent = RecentRows(400)
    rows = numbered(0, 300)
    recent.take(rows)
    rows.X[:], rows.codes[:], rows.weights[:] = 99.0, 9, 9.0
    assert_last(recent, 300, 300)
    other = copy.copy(recent)
    other.take(numbered(300, 301))
    recent.take(numbered(0, 300))
    assert_last(other, 301, 301)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_file_holds_what_may_still_be_asked_for(kind):
    recent = RecentRows(30)
    assert len(back(recent.tree())) == 0
    recent.take(numbered(0, 700, kind))
    recent.take(numbered(700, 703, kind))
    again = back(recent.tree())
    assert again.capacity == 30
    assert len(again) == 30
    assert_last(again, 30, 703)
    again.take(numbered(703, 720, kind))
    assert_last(again, 30, 720)


@pytest.mark.parametrize(
    "change",
    [
        {"capacity": GONE},
        {"more": 1},
        {"capacity": True},
        {"capacity": 5.0},
        {"capacity": -1},
        {"capacity": 4},
        {"capacity": 1 << 50},
        {"rows": None},
        {"rows": GONE},
        {"rows": {}},
        {"rows": [[1.0] * 3] * 5},
        {"codes": np.empty(0, np.int64), "weights": np.empty(0)},
        {"codes": None},
    ],
    ids=repr,
)
def test_entries_of_a_stranger(change):
    recent = RecentRows(5)
    recent.take(numbered(0, 5))
    tree = recent.tree()
    back(tree)
    for key, value in change.items():
        tree = changed(tree, key, value)
    with pytest.raises(ModelFileError, match="a file is not a valid model"):
        back(tree)
    with pytest.raises(ModelFileError, match="must be entries with names"):
        back(None)


DENSE = {
    "codes": [[0, 1, 2, 0, 3], [0, 1, 2, 0, -1], [0, 1, 2, 0]],
    "weights": [[1.0, 1.0, 1.0, 1.0, -0.5], [1.0, 1.0, 1.0, 1.0, np.nan], [np.inf] * 5, [1.0] * 4],
    "rows": [
        np.full((5, 3), np.inf),
        np.zeros((5, 4)),
        np.zeros((4, 3)),
        np.zeros(15),
        np.zeros((5, 3), int),
    ],
}
SPARSE = {
    "data": [np.full(8, np.inf), np.ones(7), np.ones((8, 1)), np.ones(8, int)],
    "indices": [[0, 1] * 3 + [0, 3], [0, 1] * 3 + [-1, 1], [0, 1] * 3, np.zeros(8, np.int32), np.zeros(8)],
    "indptr": [
        [0, 0, 2, 4, 6, 9],
        [0, 0, 2, 4, 6, 7],
        [1, 1, 2, 4, 6, 8],
        [0, 3, 2, 4, 6, 8],
        [0, -5, 2, 4, 6, 8],
        [0, 2, 4, 6, 8],
        [0, 0, 2, 1 << 60, 6, 8],
        [[0, 0, 2, 4, 6, 8]],
        np.array([0, 0, 2, 4, 6, 8], np.int32),
    ],
}


@pytest.mark.parametrize(("kind", "key"), [*(("dense", k) for k in DENSE), *(("sparse", k) for k in SPARSE)])
def test_arrays_of_a_stranger(kind, key):
    recent = RecentRows(5)
    recent.take(numbered(0, 5, kind))
    tree = recent.tree()
    back(tree)
    wrong = [np.asarray(value) for value in (DENSE if kind == "dense" else SPARSE)[key]]
    path = ("rows", key) if kind == "sparse" else (key,)
    for value in (GONE, None, 1.0, *wrong):
        with pytest.raises(ModelFileError, match="a file is not a valid model"):
            back(changed(tree, path, value))
    with pytest.raises(ModelFileError, match="entries that are not known"):
        back(changed(tree, (*path[:-1], "more"), np.zeros(1)))


def test_stacked_keeps_kind_and_type():
    X = numbered(0, 4).X
    single = X.astype(np.float32)
    assert stack_matrices([single, single]).dtype == np.float32
    assert stack_matrices([X]) is X
    both = stack_matrices([X, sparse.csr_matrix(X), sparse.csr_array(X)])
    assert both.format == "csr"
    np.testing.assert_array_equal(both.toarray(), np.concatenate([X, X, X]))
    X[0, 0] = np.nan
    tree = {"X": matrix_tree(stack_matrices([X, both]))}
    again = read(tree, "a file", lambda fields: matrix_from(fields, "X", 16, 3))
    np.testing.assert_array_equal(again.toarray()[:4], X)
