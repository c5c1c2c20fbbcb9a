"""Labelled rows: parts of them are what numpy's are, and everything computed from them is computed once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ocboost.errors import InputError
from ocboost.evaluation import View
from ocboost.streams import Batch
from ocboost.streams.rows import Rows, Stopwatch, UnseenLabelError, join_rows, rebatch

COLUMNS = ("X", "y", "known", "codes", "weights", "rows")


def numbered(n, kind="dense", first=0):
    """Rows that differ in every column, and arrays of what they hold."""
    number = np.arange(first, first + n)
    X = np.stack([number, -number, number**2], axis=1).astype(float)
    held = {
        "X": X,
        "y": np.array([f"label {i % 3}" for i in number], object),
        "known": number % 5 != 0,
        "codes": number % 3,
        "weights": number / 4.0,
        "rows": number,
    }
    own = {name: held[name].copy() for name in ("y", "known", "codes", "weights")}
    return Rows(sparse.csr_matrix(X) if kind == "sparse" else X.copy(), **own, first=first), held


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def assert_holds(rows, held):
    for name in COLUMNS:
        np.testing.assert_array_equal(dense(getattr(rows, name)), held[name], err_msg=name)
    assert len(rows) == len(held["rows"])
    if len(rows):
        assert rows.first == held["rows"][0]


def slices(n):
    place = st.one_of(st.none(), st.integers(-n - 2, n + 2))
    return st.builds(slice, place, place, st.sampled_from([None, 1, 2, 3, -1]))


def members(n):
    some = [slices(n), st.lists(st.booleans(), min_size=n, max_size=n).map(lambda m: np.array(m, bool))]
    if n:
        some.append(st.lists(st.integers(-n, n - 1), max_size=6).map(lambda m: np.array(m, np.int64)))
    return st.one_of(some)


class TestParts:
    @given(
        data=st.data(),
        n=st.integers(0, 12),
        first=st.integers(0, 9),
        kind=st.sampled_from(["dense", "sparse"]),
    )
    def test_a_part_of_a_part_is_that_of_the_arrays(self, data, n, first, kind):
        rows, held = numbered(n, kind, first)
        for _ in range(3):
            assert_holds(rows, held)
            some = data.draw(members(len(rows)))
            rows, held = rows[some], {name: array[some] for name, array in held.items()}
        assert_holds(rows, held)
        assert_holds(rows.detached(), held)
        n = data.draw(st.integers(-2, len(rows) + 2))
        assert_holds(join_rows([rows[:n], rows[n:]]), held)

    def test_slices_are_views(self):
        rows, _ = numbered(9)
        part = rows[2:8][1:]
        for name in ("X", "codes", "weights", "y", "known"):
            assert np.shares_memory(getattr(part, name), getattr(rows, name))
            assert np.shares_memory(getattr(part.detached(), name), getattr(rows, name))

    def test_what_is_left_out(self):
        rows = Rows(np.zeros((3, 1)))
        assert rows.y is None
        assert not rows.known.any()
        assert rows.classes == []
        assert rows.weights.tolist() == [1.0, 1.0, 1.0]
        with pytest.raises(InputError, match=r"must have codes of classes; .* Call coded\(classes\)"):
            _ = rows.codes
        assert Rows.of(np.zeros((3, 1)), [0, -1, 1]).known.tolist() == [True, False, True]
        assert Rows(np.zeros((2, 1)), np.array([1, 0])).known.tolist() == [True, True]

    def test_one_row_is_as_any_other(self):
        one = Rows.one(np.array([[1.0, 2.0]]), 1, None)
        other = Rows.of(np.array([[1.0, 2.0]]), [1])
        for each in (one, other, join_rows([one, one])[1:], join_rows([one, other])[:1]):
            assert (each.X.tolist(), each.codes.tolist(), each.weights.tolist()) == ([[1.0, 2.0]], [1], [1.0])
            assert (len(each), each.y, each.known.tolist()) == (1, None, [True])
            assert each.dictionaries() == [{0: 1.0, 1: 2.0}]
        assert Rows.one(np.zeros((1, 1)), 0, np.array([3.0])).weights.tolist() == [3.0]

    @pytest.mark.parametrize("name", ["y", "known", "codes", "weights"])
    def test_columns_must_fit(self, name):
        with pytest.raises(
            InputError, match=rf"{name} must be one for each of the 3 rows.* got shape \(2,\)"
        ):
            Rows(np.zeros((3, 1)), **{name: np.zeros(2)})

    def test_the_names_it_had(self):
        assert Batch is Rows
        assert View is Rows

    def test_labelled_and_classes(self):
        rows, held = numbered(11)
        assert_holds(rows.labelled(), {name: array[held["known"]] for name, array in held.items()})
        assert rows[:6].classes == ["label 0", "label 1", "label 2"]
        assert rows[[0, 1, 5, 10]].classes == ["label 1"]  # those of the others are not known
        assert rows[1:5].labelled() is not rows

    def test_bytes(self):
        rows, _ = numbered(4)
        assert rows.nbytes == 4 * (3 + 1 + 1 + 1) * 8
        assert rows[1:3].nbytes == 2 * 6 * 8
        assert Rows(sparse.csr_matrix(np.eye(3))).nbytes == 3 * 8 + 3 * 4 + 4 * 4


class Counted:
    """Answers and scores by the features, and counts the rows that it was asked about."""

    def __init__(self):
        self.asked = 0

    def answers(self, X):
        self.asked += X.shape[0]
        return np.where(dense(X)[:, :2] > 3, 1, -1).astype(np.int8)

    def scores_of(self, X):
        self.asked += X.shape[0]
        return dense(X)[:, :1] / 2.0


class TestComputed:
    @pytest.mark.parametrize("kind", ["dense", "sparse"])
    @pytest.mark.parametrize("what", ["answers", "scores"])
    def test_once_for_all_parts(self, kind, what):
        rows, held = numbered(10, kind)
        one, other = Counted(), Counted()
        expected = getattr(Counted(), "scores_of" if what == "scores" else what)(held["X"])
        for some in (slice(2, 4), slice(0, 10), np.array([7, 1, 1]), slice(9, 3)):
            np.testing.assert_array_equal(getattr(rows[some], what)(one), expected[some])
            np.testing.assert_array_equal(getattr(rows[some][::-1], what)(one), expected[some][::-1])
        assert one.asked == 10
        getattr(rows, what)(other)
        assert other.asked == 10
        getattr(rows[3:], what)(other)
        assert other.asked == 10
        getattr(rows, what)(one)
        assert one.asked == (10 if what == "answers" else 20)  # of scores the last are kept

    def test_detached_rows_share_nothing(self):
        rows, _ = numbered(10)
        counted, clock = Counted(), Stopwatch()
        rows.detached(2, 5, clock).answers(counted)
        assert counted.asked == 3
        assert clock.ns > 0
        rows.answers(counted)
        assert counted.asked == 13

    def test_no_scores(self):
        class Silent:
            def scores_of(self, X):
                return None

        assert numbered(3)[0].scores(Silent()) is None

    def test_dictionaries(self):
        X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        plain, named = Rows(X), Rows(X, names=["a", "b"])
        assert plain.dictionaries() == [{0: 1.0, 1: 2.0}, {0: 3.0, 1: 4.0}, {0: 5.0, 1: 6.0}]
        for part in (
            named[1:],
            named.detached(1),
            join_rows([named[:1], named[1:]])[1:],
            named.coded([])[[1, 2]],
        ):
            assert part.dictionaries() == [{"a": 3.0, "b": 4.0}, {"a": 5.0, "b": 6.0}]
            assert part.dictionaries()[0] is part.dictionaries()[0]
        assert type(plain.dictionaries()[0][0]) is float


class TestCoded:
    @given(labels=st.lists(st.sampled_from("abcd"), max_size=9), data=st.data())
    def test_the_place_of_each_label(self, labels, data):
        known = np.array(data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))), bool)
        rows = Rows(
            np.zeros((len(labels), 1)), np.array(labels, object), known, 40, weights=np.arange(len(labels))
        )
        codes = ["bac".find(label) if k else -1 for label, k in zip(labels, known, strict=True)]
        coded = rows.coded(list("bac"), leave_unseen=True)
        assert coded.codes.tolist() == codes
        assert coded.known.tolist() == [code >= 0 for code in codes]
        np.testing.assert_array_equal(coded.rows, rows.rows)
        np.testing.assert_array_equal(coded.weights, rows.weights)
        strange = [i for i, label in enumerate(labels) if label == "d" and known[i]]
        if not strange:
            assert rows.coded(list("bac")).codes.tolist() == codes
            return
        with pytest.raises(
            UnseenLabelError, match=rf"got 'd' at row {40 + strange[0]}, and the classes are"
        ) as found:
            rows.coded(list("bac"))
        assert (found.value.place, found.value.row) == (strange[0], 40 + strange[0])

    def test_of_numbers_and_of_a_part(self):
        rows = Rows(np.zeros((4, 1)), np.array([7, 3, 9, 3]))
        assert rows[1:].coded([3, 7, 9]).codes.tolist() == [0, 2, 0]
        assert rows[[2, 0]].coded([9, 7]).rows.tolist() == [2, 0]
        with pytest.raises(UnseenLabelError, match="got 9 at row 2"):
            rows[1:].coded([3, 7])


class TestJoinRows:
    def test_numbers_that_follow_one_another_or_not(self):
        rows, held = numbered(9, first=4)
        assert_holds(join_rows([rows[:2], rows[2:5], rows[5:]]), held)
        mixed = [3, 4, 0, 1, 8]
        found = join_rows([rows[3:5], rows[:2], rows[8:]])
        assert_holds(found, {name: array[mixed] for name, array in held.items()})
        assert_holds(found[1:4], {name: array[mixed][1:4] for name, array in held.items()})

    def test_weights_of_some(self):
        one, other = (
            Rows.of(np.zeros((2, 1)), [0, 1]),
            Rows(np.zeros((1, 1)), codes=np.zeros(1, int), weights=np.array([5.0])),
        )
        assert join_rows([one, other]).weights.tolist() == [1.0, 1.0, 5.0]

    @pytest.mark.parametrize("turned", [False, True])
    def test_labels_of_some(self, turned):
        parts = [Rows(np.zeros((2, 1)), np.array(["a", "b"], object)), Rows(np.zeros((1, 1)))]
        found = join_rows(parts[::-1] if turned else parts)
        assert found.known.tolist() == ([False, True, True] if turned else [True, True, False])
        assert found.classes == ["a", "b"]
        assert sorted(found.coded(["a", "b"]).codes.tolist()) == [-1, 0, 1]

    def test_codes_of_some_are_refused(self):
        with pytest.raises(InputError, match=r"Call coded\(classes\)"):
            join_rows([Rows.of(np.zeros((1, 1)), [0]), Rows(np.zeros((1, 1)), np.array([0]))])

    def test_dense_and_sparse(self):
        (one, held), (other, _) = numbered(5), numbered(5, "sparse")
        found = join_rows([one[:2], other[2:]])
        assert found.X.format == "csr"
        assert_holds(found, held)


class TestRebatch:
    @given(
        sizes=st.lists(st.integers(0, 7), max_size=8),
        size=st.integers(1, 9),
        kind=st.sampled_from(["dense", "sparse"]),
    )
    def test_it_is_what_any_other_cut_gives(self, sizes, size, kind):
        n = sum(sizes)
        rows, held = numbered(n, kind, first=3)
        ends = np.cumsum([0, *sizes])
        parts = (rows[int(a) : int(b)] for a, b in itertools.pairwise(ends))
        found = list(rebatch(parts, size))
        assert [len(each) for each in found] == [size] * (n // size) + [n % size] * (n % size > 0)
        for k, each in enumerate(found):
            here = slice(k * size, (k + 1) * size)
            assert_holds(each, {name: array[here] for name, array in held.items()})

    @pytest.mark.parametrize("error", [InputError("line 7 is broken."), OSError("the disk is gone")])
    def test_what_came_before_an_error_comes_first(self, error):
        rows, held = numbered(10)

        def failing():
            yield rows[:4]
            yield rows[4:7]
            raise error

        found, got = rebatch(failing(), 5), []
        with pytest.raises(type(error)) as raised:
            got.extend(found)
        assert raised.value is error
        assert [len(each) for each in got] == [5, 2]
        assert_holds(join_rows(got), {name: array[:7] for name, array in held.items()})

    def test_other_errors_are_not_held_back(self):
        rows, _ = numbered(3)

        def failing():
            yield rows
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            next(rebatch(failing(), 5))

    def test_only_what_is_needed_is_taken(self):
        rows, _ = numbered(10)
        taken = []

        def one_by_one():
            for i in range(10):
                taken.append(i)
                yield rows[i : i + 1]

        found = rebatch(one_by_one(), 4)
        next(found)
        assert taken == [0, 1, 2, 3]

    def test_nothing_is_shared_with_the_parts(self):
        rows, _ = numbered(10)
        counted, clock = Counted(), Stopwatch()
        for each in rebatch([rows], 4, clock):
            each.answers(counted)
        assert counted.asked == 10
        assert clock.ns > 0
        rows.answers(counted)
        assert counted.asked == 20
