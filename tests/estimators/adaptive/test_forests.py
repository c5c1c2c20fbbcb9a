"""Rolling forests: what they learn, what they keep, and their files."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import ModelFileError
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._kernels.forest_trees import FIRST_LEAF, FIRST_NODE, MOST_LEAVES, MOST_NODES
from ocboost.estimators.adaptive.forests import RollingForests
from tests.kernels.test_forests import rows_of
from tests.support.saved_trees import GONE, changed


def bananas(n, seed=0, turn=1.0):
    """Two clouds in the shape of bananas; no line divides them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    angle = np.pi * (rng.random(n) + y)
    X = np.stack([np.cos(angle) + y, turn * (np.sin(angle) + 0.5 * y)], axis=1)
    return X + 0.2 * rng.normal(size=(n, 2)), y.astype(np.int64)


def back(tree, n_features, n_classes):
    return read(tree, "a file", lambda fields: RollingForests.from_tree(fields, n_features, n_classes))


def state_of(forests):
    return to_bytes("x", forests.tree())


def logits_of(forests, X):
    out = np.empty((len(X), 3, forests.n_classes))
    forests.logits_many(X, out)
    return out


def best_stump(X, y):
    """How often the best single threshold is right."""
    right = [np.mean((X[:, f] <= t) == (y == 0)) for f in range(2) for t in np.unique(X[:, f])]
    return max(*right, *(1.0 - r for r in right))


def test_every_forest_is_ahead_of_the_best_stump():
    X, y = bananas(3000)
    forests, right = RollingForests(2, 2, seed=1), np.zeros(3)
    out = np.empty((3, 2))
    for i in range(len(X)):
        forests.logits(X[i], out)
        right += (out.argmax(axis=1) == y[i]) & (i >= 1000)
        forests.learn(X[i], int(y[i]))
    accuracy = right / 2000
    assert (accuracy > best_stump(X[1000:], y[1000:]) + 0.05).all()
    assert accuracy[0] > 0.95


def test_short_windows_are_back_first_after_a_change():
    X, y = bananas(2000)
    turned, labels = bananas(400, seed=1)
    forests = RollingForests(2, 2)
    forests.learn_many(X, y)
    forests.learn_many(turned, 1 - labels)
    test, answers = bananas(500, seed=2)
    accuracy = (logits_of(forests, test).argmax(axis=2) == (1 - answers)[:, None]).mean(axis=0)
    assert accuracy[2] > 0.9
    assert accuracy[2] > accuracy[0]


def test_without_trees_classes_are_equally_likely_and_later_they_sum_to_one():
    X, y, _ = rows_of(300, 5, 4, seed=0, kind="mixed")
    forests = RollingForests(5, 4)
    for n, trees in ((0, (0, 0, 0)), (19, (0, 0, 0)), (20, (0, 0, 1)), (60, (0, 1, 3)), (230, (1, 4, 10))):
        more = n - forests.n_seen
        forests.learn_many(X[:more], y[:more], np.ones(more))
        assert forests.n_trees == trees
        out = logits_of(forests, X)
        np.testing.assert_allclose(np.exp(out).sum(axis=2), 1.0, rtol=0, atol=1e-12)
        without = np.array(trees) == 0
        np.testing.assert_allclose(out[:, without], np.log(0.25), rtol=0, atol=1e-12)
        assert np.isfinite(out).all()


def test_one_row_gives_what_a_matrix_of_rows_does():
    X, y, weights = rows_of(300, 5, 4, seed=0, kind="mixed")
    forests = RollingForests(5, 4)
    forests.learn_many(X, y, weights)
    out = np.empty((3, 4))
    for i, expected in enumerate(logits_of(forests, X[:50])):
        forests.logits(X[i], out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("n", "F", "K"), [(700, 5, 3), (4700, 5, 2)])
def test_rows_at_once_are_as_row_by_row(n, F, K):
    X, y, weights = rows_of(n, F, K, seed=4, kind="mixed")
    single, many, parts = (RollingForests(F, K, seed=9) for _ in range(3))
    for i in range(n):
        single.learn(X[i], int(y[i]), float(weights[i]))
    many.learn_many(X, y, weights)
    for part in np.array_split(np.arange(n), 7):
        parts.learn_many(X[part], y[part], weights[part])
    # What lies behind the end of a tree is left over from an older one, which was not built here.
    for other in (many, parts):
        for name in ("clock", "rows", "labels", "weights", "edges", "splits"):
            np.testing.assert_array_equal(other.tree()[name], single.tree()[name])
        np.testing.assert_array_equal(logits_of(other, X), logits_of(single, X))
    X, y, weights = rows_of(300, F, K, seed=5, kind="mixed")
    for forests in (single, many, parts):
        forests.learn_many(X, y, weights)
    np.testing.assert_array_equal(logits_of(many, X), logits_of(single, X))
    np.testing.assert_array_equal(logits_of(parts, X), logits_of(single, X))


def test_rows_of_weight_zero_are_passed_over():
    X, y, _ = rows_of(400, 3, 2, seed=0)
    keep = np.random.default_rng(0).random(400) < 0.5
    some, few = RollingForests(3, 2), RollingForests(3, 2)
    some.learn_many(X, y, keep.astype(float))
    few.learn_many(X[keep], y[keep])
    assert state_of(some) == state_of(few)


def test_weights_matter_and_their_scale_hardly_does():
    X, y = bananas(600)
    X = np.vstack([X, X])  # every row with both labels, one of them heavy
    order = np.random.default_rng(0).permutation(1200)
    labels, weights = np.concatenate([y, 1 - y])[order], np.repeat([1.0, 0.05], 600)[order]
    forests = RollingForests(2, 2)
    forests.learn_many(X[order], labels, weights)
    assert (logits_of(forests, X[:600]).argmax(axis=2)[:, 0] == y).mean() > 0.9


@pytest.mark.parametrize(
    "column",
    [np.full(400, 3.0), np.full(400, np.nan), np.full(400, 1e30), np.where(np.arange(400) % 2, 1e30, -1e30)],
    ids=["constant", "missing", "huge", "both ends"],
)
@pytest.mark.parametrize("one_class", [False, True])
def test_any_column_gives_finite_answers(column, one_class):
    X = column[:, None]
    y = np.zeros(400, np.int64) if one_class else (np.arange(400) % 2).astype(np.int64)
    forests = RollingForests(1, 2)
    for i in range(400):
        forests.learn(X[i], int(y[i]))
    out = logits_of(forests, np.array([[0.0], [np.nan], [1e30], [-1e308]]))
    assert np.isfinite(out).all()
    if one_class:
        assert (out[:, :, 0] > np.log(0.95)).all()
    elif column[0] == -1e30:
        assert (out[2, :, 1] > np.log(0.9)).all()
        assert (out[3, :, 0] > np.log(0.9)).all()
    else:
        np.testing.assert_allclose(out, np.log(0.5), atol=0.2)


def test_missing_values_tell_classes_apart():
    y = np.random.default_rng(0).integers(0, 2, 400)
    X = np.where(y, np.nan, 1.0)[:, None]
    forests = RollingForests(1, 2)
    forests.learn_many(X, y)
    assert (logits_of(forests, X).argmax(axis=2) == y[:, None]).all()


def test_the_seed_decides():
    X, y = bananas(500)
    states = []
    for seed in (1, 1, 2):
        forests = RollingForests(2, 2, seed=seed)
        forests.learn_many(X, y)
        states.append(logits_of(forests, X).tobytes())
    assert states[0] == states[1] != states[2]


def test_a_copy_goes_its_own_way():
    X, y = bananas(500)
    forests = RollingForests(2, 2)
    forests.learn_many(X, y)
    before = state_of(forests)
    copied = forests.copy()
    assert state_of(copied) == before
    copied.learn_many(X, 1 - y)
    assert state_of(forests) == before
    forests.learn_many(X, 1 - y)
    assert state_of(forests) == state_of(copied)


def test_rows_take_memory_as_they_come():
    forests = RollingForests(200, 2)
    empty = forests.nbytes
    assert empty < 800_000
    forests.learn_many(np.zeros((1000, 200)), np.zeros(1000, np.int64))
    assert 1000 * 200 * 9 - 250_000 < forests.nbytes - empty < 1000 * 200 * 9 + 50_000
    forests.learn_many(np.zeros((9000, 200)), np.zeros(9000, np.int64))
    assert forests.nbytes - empty < 4000 * 200 * 9 + 100_000
    small = RollingForests(8, 2)
    small.learn_many(np.zeros((5000, 8)), np.zeros(5000, np.int64))
    assert small.nbytes - 4000 * 8 * 8 < 700_000


# Files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 7, 130, 730, 4450])
def test_loaded_they_go_on_as_they_would_have(n):
    X, y, weights = rows_of(n + 450, 5, 3, seed=n, kind="mixed")
    forests = RollingForests(5, 3, seed=(1 << 64) - 1)
    forests.learn_many(X[:n], y[:n], weights[:n])
    tree = from_bytes(state_of(forests), "x")
    loaded = back(tree, 5, 3)
    assert state_of(loaded) == state_of(forests)
    out, expected = np.empty((3, 3)), np.empty((3, 3))
    for i in range(n, n + 450):
        forests.logits(X[i], expected)
        loaded.logits(X[i], out)
        np.testing.assert_array_equal(out, expected)
        for each in (forests, loaded):
            each.learn(X[i], int(y[i]), float(weights[i]))
    assert state_of(loaded) == state_of(forests)


def with_entry(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


CHILDREN = "the children of a node must come after it"
SHAPE = "has the wrong shape or type"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("clock", with_entry(1, (1 << 63) + 5), "too many rows"),
        ("clock", with_entry(1, 299), f"rows {SHAPE}"),
        ("clock", GONE, "clock is missing"),
        ("rows", with_entry((3, 1), np.inf), "rows must be finite"),
        ("rows", lambda rows: rows[:, :1], f"rows {SHAPE}"),
        ("labels", with_entry(3, 2), "labels must be among the classes"),
        ("labels", with_entry(3, -1), "labels must be among the classes"),
        ("weights", with_entry(3, np.nan), "weights must be positive"),
        ("weights", with_entry(3, 0.0), "weights must be positive"),
        ("weights", with_entry(3, 1e7), "weights must be positive"),
        ("edges", with_entry((0, 3), np.nan), "edges must be in order"),
        ("edges", with_entry((0, 3), 1e9), "edges must be in order"),
        ("edges", with_entry((1, -1), 1e300), "edges must be in order"),
        ("splits", with_entry(0, 2), "splits must be 0 or 1"),
        ("threshold", with_entry(700, np.nan), "threshold must not be NaN"),
        ("feature", with_entry(0, 2), "feature of its nodes does not exist"),
        ("feature", with_entry(0, -1), "feature of its nodes does not exist"),
        ("left", with_entry(0, 0), CHILDREN),
        ("left", with_entry(MOST_NODES[0] + 5, 5), CHILDREN),
        ("left", with_entry(0, MOST_NODES[0] - 1), CHILDREN),
        ("left", with_entry(FIRST_NODE[2], MOST_NODES[2]), CHILDREN),
        ("left", with_entry(3, -1 - MOST_LEAVES[0]), CHILDREN),
        ("left", with_entry(FIRST_NODE[2], -1 - MOST_LEAVES[2]), CHILDREN),
        ("left", with_entry(slice(0, 20, 2), range(1, 21, 2)), "a tree is too deep"),
        (
            "left",
            with_entry(slice(FIRST_NODE[2] + 1, FIRST_NODE[2] + 21), range(2, 22)),
            "a tree is too deep",
        ),
        ("left", lambda left: left[:-1], f"left {SHAPE}"),
        ("left", lambda left: left.astype(np.int64), f"left {SHAPE}"),
        ("counts", with_entry((5, 0), -0.5), "counts must be finite and not negative"),
        ("counts", with_entry((5, 0), np.nan), "counts must be finite and not negative"),
        ("counts", with_entry((5, 0), np.inf), "counts must be finite and not negative"),
        ("counts", np.zeros((FIRST_LEAF[-1], 3)), f"counts {SHAPE}"),
        ("more", 1, "entries that are not known: 'more'"),
    ],
)
def test_a_file_that_no_forest_wrote_is_refused(path, value, message):
    X, y = bananas(300)
    forests = RollingForests(2, 2)
    forests.learn_many(X, y)
    tree = forests.tree()
    back(tree, 2, 2)
    with pytest.raises(ModelFileError, match=message):
        back(changed(tree, path, value), 2, 2)
