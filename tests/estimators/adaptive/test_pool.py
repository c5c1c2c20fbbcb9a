"""The pool: it learns in blocks, its hypotheses come and go, and members follow."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ocboost import Growth, ModelFileError, OCBClassifier
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.estimators.adaptive.neighbours import Neighbours
from ocboost.estimators.adaptive.pool import ROWS_KEPT, ROWS_PER_STEP, Pool, growing_classifier
from ocboost.estimators.adaptive.settings import USUAL
from ocboost.estimators.adaptive.voting import Voting
from ocboost.streams.rows import Rows
from tests.estimators.adaptive.test_neighbours import assert_same_scores, from_scratch
from tests.estimators.adaptive.test_voting import assert_window_knows_its_rows
from tests.support.adaptive_members import learn_all
from tests.support.growing import stream
from tests.support.saved_trees import GONE, changed

N, FIRST = 700, 105
EAGER = Growth(9, sample=12, candidates=3, test=6, delta=0.4, every=ROWS_PER_STEP)


def rows_of(K, *, sparse=False, unseen=False):
    X, y = stream(N, K, n_features=4)
    if unseen:  # the last class comes only after the start
        y[:FIRST] = np.minimum(y[:FIRST], K - 2)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], N)
    return Rows(csr_matrix(np.maximum(X, 0.0)) if sparse else X, codes=y.astype(np.int64), weights=weights)


def pool_of(K, rows):
    """A pool begun on the first rows, which grows readily."""
    driver = OCBClassifier(n_hypotheses=6, forgetting=0.99, head=50, grow=EAGER, random_state=0)
    first = rows[:FIRST]
    driver.partial_fit(first.X, first.codes, classes=np.arange(K), sample_weight=first.weights)
    driver.weight_scale_ = 1.0
    pool = Pool(driver)
    pool.recent.take(first)
    return pool


def learn(pool, rows, start, stop):
    """Gives what each row gave."""
    return [
        pool.learn(rows.X[i : i + 1], int(rows.codes[i]), float(rows.weights[i])) for i in range(start, stop)
    ]


@pytest.mark.parametrize("K", [2, 3])
def test_it_learns_in_blocks_as_its_classifier_does(K):
    rows = rows_of(K)
    pool = pool_of(K, rows)
    plain = copy.copy(pool.driver)
    found = learn(pool, rows, FIRST, N)
    block = [True] * (ROWS_PER_STEP - 1) + [False]
    assert [each is None for each in found[: 2 * ROWS_PER_STEP]] == 2 * block
    for at in range(FIRST, N - ROWS_PER_STEP + 1, ROWS_PER_STEP):
        plain.learn_rows(rows[at : at + ROWS_PER_STEP])
    for a, b in zip(pool.alphas, plain.committee_.alphas, strict=True):
        np.testing.assert_array_equal(a, b)
    assert pool.driver.grower_.n_grown == plain.grower_.n_grown > 5
    assert plain.grower_.n_retired > 0


@pytest.mark.parametrize(("K", "unseen"), [(2, False), (3, False), (3, True)])
def test_changes_say_where_each_hypothesis_was(K, unseen):
    rows = rows_of(K, unseen=unseen)
    pool = pool_of(K, rows)
    X, n_changes = rows.X, 0
    if unseen:
        assert pool.columns[2].start == 0
    before, columns = pool.answers(X), pool.columns
    for i in range(FIRST, N):
        for change in learn(pool, rows, i, i + 1)[0] or ():
            after = change.hypotheses.answers(X)
            known = change.origin >= 0
            np.testing.assert_array_equal(after[:, known], before[:, change.origin[known]])
            own = change.columns[change.booster]
            assert own.stop - own.start == len(change.keep) + change.n_added
            new = np.zeros(len(known), bool)
            new[own.stop - change.n_added : own.stop] = True
            np.testing.assert_array_equal(~known, new)
            kept = columns[change.booster].start + change.keep
            np.testing.assert_array_equal(change.origin[own.start : own.stop - change.n_added], kept)
            np.testing.assert_array_equal(change.recent.X[-5:], X[i - 4 : i + 1])
            np.testing.assert_array_equal(change.recent.codes[-5:], rows.codes[i - 4 : i + 1])
            before, columns, n_changes = after, change.columns, n_changes + 1
    assert n_changes > 5
    np.testing.assert_array_equal(before, pool.answers(X))
    assert columns == pool.columns


@pytest.mark.parametrize(("K", "unseen"), [(2, False), (3, False), (3, True)])
def test_members_follow_it(K, unseen):
    rows = rows_of(K, unseen=unseen)
    pool = pool_of(K, rows)
    neighbours, voting = Neighbours(K), Voting(list(USUAL), pool.columns)
    for member in (neighbours, voting):
        member.begin(rows[:FIRST], pool.answers(rows.X[:FIRST]))
    followed = 0
    for i in range(FIRST, N):
        one = rows[i : i + 1]
        for member in (neighbours, voting):
            learn_all(member, one, pool.answers(one.X))
        for change in learn(pool, rows, i, i + 1)[0] or ():
            neighbours.follow(change)
            voting.follow(change)
            followed += 1
            neighbours.check_pool(len(change.hypotheses))
    assert followed > 5
    assert_same_scores(neighbours, from_scratch(pool, rows, K), pool, K)
    assert_window_knows_its_rows(voting, pool, rows)


def test_the_usual_driver_forgets_and_grows_by_half():
    clf = growing_classifier(100, 3)
    assert (clf.forgetting, clf.head, clf.grow.budget, clf.grow.every) == (0.995, 500, 150, ROWS_PER_STEP)
    assert growing_classifier(1, 3).grow.budget == 2


def test_a_copy_goes_its_own_way():
    rows = rows_of(2)
    pool = pool_of(2, rows)
    learn(pool, rows, FIRST, 303)
    before = to_bytes("x", pool.tree())
    copied = pool.copy()
    learn(copied, rows, 303, 600)
    assert to_bytes("x", pool.tree()) == before
    learn(pool, rows, 303, 600)
    assert to_bytes("x", pool.tree()) == to_bytes("x", copied.tree())


def test_bytes_grow_with_the_rows_kept():
    rows = rows_of(2)
    pool = pool_of(2, rows)
    before = pool.nbytes
    learn(pool, rows, FIRST, 605)
    assert pool.nbytes - before >= 500 * 4 * 8


# Files ------------------------------------------------------------------------------------------------------


def back(tree, F=4, K=3):
    return read(tree, "a file", lambda fields: Pool.from_tree(fields, F, K))


def tree_of(pool):
    return from_bytes(to_bytes("x", pool.tree()), "x")


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [FIRST, FIRST + 200, FIRST + 203])
def test_loaded_it_goes_on_bit_for_bit(K, sparse, n):
    rows = rows_of(K, sparse=sparse)
    pool = pool_of(K, rows)
    learn(pool, rows, FIRST, n)
    loaded = back(tree_of(pool), K=K)
    assert to_bytes("x", loaded.tree()) == to_bytes("x", pool.tree())
    for one, other in zip(learn(pool, rows, n, N), learn(loaded, rows, n, N), strict=True):
        assert (one is None) == (other is None)
        for a, b in zip(one or (), other or (), strict=True):
            np.testing.assert_array_equal(a.origin, b.origin)
            assert a.columns == b.columns
    for a, b in zip(pool.alphas, loaded.alphas, strict=True):
        np.testing.assert_array_equal(a, b)


def with_entry(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("codes", with_entry(1, 3), "its rows do not fit"),
        ("codes", with_entry(1, -1), "its rows do not fit"),
        ("codes", lambda codes: codes[:2], "weights has the wrong shape"),
        ("codes", lambda codes: codes.astype(np.int32), "codes has the wrong shape or type"),
        ("weights", with_entry(1, -1.0), "its rows do not fit"),
        ("weights", with_entry(1, np.nan), "its rows do not fit"),
        ("weights", with_entry(1, np.inf), "its rows do not fit"),
        ("waiting", with_entry((1, 1), np.inf), "waiting must be finite numbers"),
        ("waiting", lambda rows: rows[:2], "waiting has the wrong shape"),
        ("waiting", lambda rows: rows[:, :2], "waiting has the wrong shape"),
        ("waiting", None, "waiting must be entries with names"),
        ("waiting", GONE, "waiting is missing"),
        ("recent.capacity", ROWS_KEPT + 1, "it keeps another number of rows"),
        ("recent.codes", with_entry(1, 3), "codes must be those of its classes"),
        ("driver", None, "driver must be entries with names"),
        ("recent", GONE, "recent is missing"),
    ],
)
def test_a_file_that_was_never_written_is_refused(path, value, message):
    rows = rows_of(3)
    pool = pool_of(3, rows)
    learn(pool, rows, FIRST, FIRST + 4)
    tree = tree_of(pool)
    back(tree)
    with pytest.raises(ModelFileError, match=message):
        back(changed(tree, path, value))


def test_a_file_with_rows_but_no_labels_is_refused():
    tree = tree_of(pool_of(3, rows_of(3)))
    with pytest.raises(ModelFileError, match="its rows have no labels"):
        back({**tree, "waiting": np.zeros((1, 4))})


def test_a_file_with_another_driver_is_refused():
    rows = rows_of(3)
    pool = pool_of(3, rows)
    tree = tree_of(pool)
    with pytest.raises(ModelFileError, match="it does not fit"):
        back(tree, K=2)
    with pytest.raises(ModelFileError, match="it does not fit"):
        back(tree, F=5)
    for grow, message in ((None, "it does not fit"), (Growth(9, every=5), "it grows otherwise")):
        driver = OCBClassifier(n_hypotheses=6, forgetting=0.99, head=50, grow=grow)
        pool.driver = driver.partial_fit(rows.X, rows.codes, classes=np.arange(3))
        with pytest.raises(ModelFileError, match=message):
            back(tree_of(pool))
