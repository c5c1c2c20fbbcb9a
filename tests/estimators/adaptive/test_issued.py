"""Predictions that wait for their labels: their order, their bounds, and their files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ocboost import InputError, ModelFileError
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.estimators.adaptive import issued as module
from ocboost.estimators.adaptive.issued import IssuedPredictions, key_of_id, key_of_row, same_row
from tests.support.saved_trees import GONE, changed

SIZES = (6, 4)


def record(value, rows=6, K=3):
    return np.full((rows, K), float(value))


def filled(n=8):
    """Records 0 … n - 1 under keys 0, 1, 2, 0, …; the fourth has fewer rows."""
    issued = IssuedPredictions()
    for i in range(n):
        issued.add(key_of_id(i % 3), record(i, 4 if i == 3 else 6), i % 4, 2 * i, replace=False)
    return issued


def values(issued, key):
    """What is found under a key, until nothing is."""
    found = []
    while (one := issued.take(key)) is not None:
        found.append(float(one.record[0, 0]))
    return found


def test_equal_rows_are_found_first_in_first_out():
    issued = filled()
    assert values(issued, key_of_id(0)) == [0.0, 3.0, 6.0]
    assert values(issued, key_of_id(1)) == [1.0, 4.0, 7.0]
    assert values(issued, key_of_id(5)) == []
    assert len(issued) == 2
    assert values(issued, key_of_id(2)) == [2.0, 5.0]
    assert len(issued) == issued.nbytes == 0
    assert issued.n_issued == 8
    assert issued.n_dropped == 0


def test_what_is_taken_knows_its_number_and_the_label_known_then():
    issued = filled()
    one = issued.take(key_of_id(1))
    assert (one.number, one.last, one.since) == (1, 1, 2)
    one = issued.take(key_of_id(1))
    assert (one.number, one.last, one.since) == (4, 0, 8)
    np.testing.assert_array_equal(one.record, record(4))


def test_another_prediction_of_an_id_replaces_the_first():
    issued = IssuedPredictions()
    for i in range(5):
        issued.add(key_of_id("a"), record(i), 0, 0, replace=True)
        issued.add(key_of_id("b"), record(10 + i), 0, 0, replace=False)
    assert len(issued) == 6
    assert values(issued, key_of_id("a")) == [4.0]
    assert values(issued, key_of_id("b")) == [10.0, 11.0, 12.0, 13.0, 14.0]
    assert issued.nbytes == 0
    assert issued.n_dropped == 0


def test_one_replaces_all_that_wait_under_its_key():
    issued = filled()
    issued.add(key_of_id(0), record(99), 0, 0, replace=True)
    assert len(issued) == 6
    assert values(issued, key_of_id(0)) == [99.0]
    issued.add(key_of_id(1), record(1), 0, 0, replace=False)
    assert values(issued, key_of_id(1)) == [1.0, 4.0, 7.0, 1.0]


def test_the_oldest_are_dropped_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "MAX_ISSUED", 4)
    issued = filled()
    assert len(issued) == issued.n_dropped == 4
    assert values(issued, key_of_id(0)) == [6.0]
    assert values(issued, key_of_id(1)) == [4.0, 7.0]
    assert values(issued, key_of_id(2)) == [5.0]


def test_the_oldest_are_dropped_where_there_are_too_many_bytes(monkeypatch):
    monkeypatch.setattr(module, "MAX_ISSUED_BYTES", 3 * record(0).nbytes)
    issued = filled(4)
    assert issued.nbytes == 2 * record(0).nbytes + record(0, 4).nbytes
    assert (len(issued), issued.n_dropped) == (3, 1)
    issued.add(key_of_id("large"), record(0, 100), 0, 0, replace=False)  # more than may be kept at all
    assert (len(issued), issued.nbytes, issued.n_dropped) == (0, 0, 5)
    issued.add(key_of_id("small"), record(7), 0, 0, replace=False)
    assert values(issued, key_of_id("small")) == [7.0]


def test_random_operations_are_those_of_a_plain_list(monkeypatch):
    monkeypatch.setattr(module, "MAX_ISSUED", 25)
    rng, issued, plain = np.random.default_rng(0), IssuedPredictions(), []
    for i in range(3000):
        key, replace = int(rng.integers(12)), bool(rng.integers(2))
        if rng.random() < 0.55:
            rows = int(rng.choice(SIZES))
            issued.add(key_of_id(key), record(i, rows), i % 4, 0, replace=replace)
            plain = [one for one in plain if not (replace and one[0] == key)]
            plain = [*plain, (key, i, rows)][-25:]
        else:
            one = issued.take(key_of_id(key))
            places = [at for at, each in enumerate(plain) if each[0] == key]
            assert (one is None) == (not places)
            if one is not None:
                _, value, rows = plain.pop(places[0])
                np.testing.assert_array_equal(one.record, record(value, rows))
        assert len(issued) == len(plain)
        assert issued.nbytes == sum(record(0, rows).nbytes for _, _, rows in plain)
    assert issued.n_dropped > 0


def test_a_copy_goes_its_own_way():
    issued = filled()
    copied = issued.copy()
    assert values(copied, key_of_id(0)) == [0.0, 3.0, 6.0]
    copied.add(key_of_id(1), record(50), 0, 0, replace=False)
    assert len(issued) == 8
    assert issued.n_issued == 8
    assert values(issued, key_of_id(0)) == [0.0, 3.0, 6.0]
    assert values(issued, key_of_id(1)) == [1.0, 4.0, 7.0]


# Keys -------------------------------------------------------------------------------------------------------


def test_rows_have_the_same_key_if_they_are_equal():
    x = np.array([[0.0, 1.5, np.nan]])
    keys = [
        key_of_row(row) for row in (x, x.copy(), x + 1.0, csr_matrix(x), csr_matrix(x), csr_matrix(2 * x))
    ]
    assert keys[0] == keys[1]
    assert keys[3] == keys[4]
    assert len(set(keys)) == 4
    assert key_of_row(csr_matrix((1, 3))) != key_of_row(np.zeros((1, 0)))  # an empty row is not a dense one
    assert key_of_row(csr_matrix([[1.0, 0.0]])) != key_of_row(csr_matrix([[0.0, 1.0]]))
    assert key_of_row(csr_matrix(x, dtype=float)) == key_of_row(_wide(csr_matrix(x)))


def _wide(X):
    X.indices = X.indices.astype(np.int64)
    return X


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_rows_are_compared_bit_by_bit(make):
    a = np.array([[0.0, 1.0, np.nan]])
    assert same_row(make(a), make(a.copy()))
    assert not same_row(make(a), make(a + 1.0))
    assert not same_row(make(a), make(a[:, [1, 0, 2]]))


def test_ids_are_texts_numbers_or_bytes():
    ids = ["1", 1, b"1", "a", -5, 1 << 80]
    keys = [key_of_id(each) for each in ids]
    assert len(set(keys)) == len(ids)
    assert key_of_id(np.int32(1)) == key_of_id(np.uint8(1)) == key_of_id(1)
    assert key_of_id(np.str_("a")) == key_of_id("a")
    assert key_of_id("a") != key_of_row(np.array([[1.0]]))


@pytest.mark.parametrize("wrong", [True, 1.0, None, ("a", 1), np.float64(3), np.bool_(True), ["a"]])
def test_other_ids_are_refused(wrong):
    with pytest.raises(InputError, match="ids must be texts, whole numbers or bytes"):
        key_of_id(wrong)


# Files ------------------------------------------------------------------------------------------------------


def back(tree, sizes=SIZES, K=3):
    return read(tree, "a file", lambda fields: IssuedPredictions.from_tree(fields, sizes, K))


def tree_of(issued):
    return from_bytes(to_bytes("x", issued.tree()), "x")


@pytest.mark.parametrize("n", [0, 1, 8])
def test_loaded_they_are_found_as_before(n):
    issued = filled(n)
    issued.take(key_of_id(1))
    issued.n_dropped = 5
    loaded = back(tree_of(issued))
    for name in ("n_issued", "n_dropped", "nbytes"):
        assert getattr(loaded, name) == getattr(issued, name)
    assert to_bytes("x", loaded.tree()) == to_bytes("x", issued.tree())
    for each in (issued, loaded):
        each.add(key_of_id(1), record(60), 2, 0, replace=False)
    for key in range(3):
        while True:
            one, other = issued.take(key_of_id(key)), loaded.take(key_of_id(key))
            if one is None or other is None:
                break
            np.testing.assert_array_equal(one.record, other.record)
            assert one[1:] == other[1:]
        assert one is other is None


def with_entry(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


SHAPE = "has the wrong shape or type"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_issued", 7, "out of order"),
        ("n_issued", -1, "n_issued must be a whole number"),
        ("n_dropped", 1.0, "n_dropped must be a whole number"),
        ("numbers", with_entry(0, -1), "out of order"),
        ("numbers", with_entry(3, 2), "out of order"),
        ("numbers", with_entry(7, 8), "out of order"),
        ("numbers", with_entry(1, (1 << 63) - 1), "out of order"),
        ("numbers", lambda n: n.astype(np.float64), f"numbers {SHAPE}"),
        ("numbers", lambda n: n[None], f"numbers {SHAPE}"),
        ("numbers", lambda n: n[:-1], f"keys {SHAPE}"),
        ("keys", lambda k: k[:, :1], f"keys {SHAPE}"),
        ("keys", lambda k: k.astype(np.int64), f"keys {SHAPE}"),
        ("last", with_entry(0, 4), "its last labels do not fit"),
        ("last", with_entry(0, -1), "its last labels do not fit"),
        ("last", lambda n: n[1:], f"last {SHAPE}"),
        ("since", with_entry(0, -1), "its distances do not fit"),
        ("since", lambda n: n[1:], f"since {SHAPE}"),
        ("rows", with_entry(0, 5), "its records do not fit"),
        ("rows", with_entry(0, -6), "its records do not fit"),
        ("rows", with_entry(0, 4), f"records {SHAPE}"),
        ("rows", lambda n: n.astype(np.int32), f"rows {SHAPE}"),
        ("records", lambda r: r[:-1], f"records {SHAPE}"),
        ("records", lambda r: r.astype(np.float32), f"records {SHAPE}"),
        ("records", with_entry(5, np.nan), "its records must be finite"),
        ("records", with_entry(5, np.inf), "its records must be finite"),
        ("records", GONE, "records is missing"),
        ("more", 1, "entries that are not known: 'more'"),
    ],
)
def test_a_file_that_was_never_written_is_refused(name, value, message):
    tree = tree_of(filled())
    back(tree)
    with pytest.raises(ModelFileError, match=message):
        back(changed(tree, name, value) if name != "more" else {**tree, "more": 1})


@pytest.mark.parametrize(("bound", "value"), [("MAX_ISSUED", 7), ("MAX_ISSUED_BYTES", 500)])
def test_a_file_with_too_many_is_refused(monkeypatch, bound, value):
    tree = tree_of(filled())
    monkeypatch.setattr(module, bound, value)
    with pytest.raises(ModelFileError, match="too many predictions wait"):
        back(tree)
