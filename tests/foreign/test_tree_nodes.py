"""Trees of other libraries against plain loops, and what may not be said of them."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import InputError, ModelFileError
from ocboost._core.codec import read
from ocboost._core.file_format import load, save
from ocboost.foreign.trees import PortableTrees
from ocboost.foreign.trees.nodes import TreeNodes
from tests.naive import tree_values as naive
from tests.support.foreign_trees import random_nodes, random_rows
from tests.support.saved_trees import GONE, changed, places

CODED = {"codes": {3: [5.0, 0.0, 2.0, 64.0]}, "missing": 0.5}
SETTINGS = {
    "plain": {},
    "single": {"precision": "single"},
    "values of categories": CODED,
    "texts, single": {"vocabularies": {3: ("b", "a", "c")}, "precision": "single", "missing": 0.1},
}


def model(rng, link="softmax", **more):
    nodes = random_nodes(rng, **more)
    K = 2 if link == "logistic" else 3
    width = {"mean": K, "adaboost": K}.get(link, 1)
    value = rng.normal(size=(nodes.n_leaves, width))
    T = nodes.root.size
    if link == "mean":
        value = np.exp(value) / np.exp(value).sum(axis=1, keepdims=True)
        return PortableTrees(nodes, value, np.arange(K), link, divisor=T)
    group = np.arange(T) % (1 if width > 1 or link == "logistic" else K)
    start = rng.normal(size=1 if link == "logistic" else K)
    return PortableTrees(nodes, value, np.arange(K), link, group=group, start=start, divisor=1.5, scale=0.7)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_plain_walk_adds_the_same(settings):
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        for link in ("mean", "adaboost", "logistic", "softmax", "one against rest"):
            made, X = model(rng, link, **SETTINGS[settings]), random_rows(rng)
            np.testing.assert_array_equal(made._sums(X), naive.sums(made, X))
            before = X.copy()
            np.testing.assert_array_equal(made._sums(np.asfortranarray(X)), naive.sums(made, X))
            np.testing.assert_array_equal(X, before)  # coding works on a copy


def test_sums_in_single_precision():
    rng = np.random.default_rng(2)
    nodes = random_nodes(rng, 30, precision="single")
    made = PortableTrees(
        nodes, np.float32(rng.normal(size=(nodes.n_leaves, 1))), np.arange(2), "logistic", single_sums=True
    )
    X = rng.normal(size=(50, 4))
    np.testing.assert_array_equal(made._sums(X), naive.sums(made, X))
    exact = PortableTrees(nodes, made.value, np.arange(2), "logistic")
    assert not np.array_equal(made._sums(X), exact._sums(X))


def test_more_rows_than_are_taken_at_once():
    rng = np.random.default_rng(3)
    made, X = model(rng), random_rows(rng, 600)
    np.testing.assert_array_equal(made.probabilities(X), np.vstack([made.probabilities(x[None]) for x in X]))
    assert made.probabilities(X[:0]).shape == (0, 3)


def test_links():
    one_leaf = TreeNodes([0], [-1], [0.0], [-1], [-1], n_columns=1)
    X = np.zeros((1, 1))

    def ask(value, link, **more):
        K = 2 if link == "logistic" else 3
        made = PortableTrees(one_leaf, [value], np.arange(K), link, **more)
        return made.probabilities(X)[0], int(made.predict_codes(X)[0])

    p, code = ask([0.0], "logistic")
    assert (p.tolist(), code) == ([0.5, 0.5], 0)
    assert ask([0.0], "logistic", zero_is_second=True)[1] == 1
    np.testing.assert_allclose(ask([2.0], "logistic", scale=0.5)[0][1], 1 / (1 + np.exp(-1)))
    np.testing.assert_allclose(ask([3.0], "softmax", group=[2], start=[1.0, 0.0, -1.0])[0].sum(), 1.0)
    assert ask([3.0], "softmax", group=[2])[1] == 2
    np.testing.assert_allclose(
        ask([0.0, 2.0, -2.0], "one against rest")[0], 1 / (1 + np.exp([0.0, -2.0, 2.0]))
    )
    assert ask([0.25, 0.5, 0.25], "mean")[0].tolist() == [0.25, 0.5, 0.25]
    np.testing.assert_allclose(
        ask([-0.5, 1.0, -0.5], "adaboost")[0], np.exp([-0.25, 0.5, -0.25]) / np.exp([-0.25, 0.5, -0.25]).sum()
    )
    two = PortableTrees(one_leaf, [[-1.0, 1.0]], np.arange(2), "adaboost")
    np.testing.assert_allclose(two.probabilities(X)[0, 1], 1 / (1 + np.exp(-2.0)))
    assert two.predict_codes(X).tolist() == [1]


def test_some_of_the_trees():
    rng = np.random.default_rng(4)
    nodes, X = random_nodes(rng, 8, **CODED), random_rows(rng)
    number = naive.leaves(nodes, X)
    for at in ([0], [7, 2, 2], [5, 4, 3, 2, 1, 0]):
        fewer, kept = nodes.taken(np.array(at))
        np.testing.assert_array_equal(np.flatnonzero(kept)[naive.leaves(fewer, X)], number[:, at])
        assert len(fewer.sets) <= len(nodes.sets)


def test_rows_that_do_not_fit():
    made = model(np.random.default_rng(5))
    for wrong in (np.zeros((3, 5)), np.zeros(4), np.zeros((1, 1, 4))):
        with pytest.raises(InputError, match=r"X must have shape \(rows, 4\), one column for each"):
            made.probabilities(wrong)


# What may not be said -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_columns": 0}, "n_columns must be from 1"),
        ({"feature": [1, -1, -1]}, "n_columns must be from 2, the last that the trees look at"),
        ({"threshold": [np.nan, 0, 0]}, "threshold must be 3 numbers"),
        ({"left": [0, -1, -1]}, "left of node 0 must be a node from 1 to 2"),
        ({"precision": "half"}, "precision must be 'double' or 'single'"),
        ({"category": [1, -1, -1], "sets": [np.ones(1, np.uint32)]}, "category must be one of the 1 sets"),
        ({"category": [-1, 0, -1], "sets": [np.ones(1, np.uint32)]}, "-1 at a leaf"),
        ({"sets": [np.ones(0, np.uint32)]}, "sets must each have from 1 to 65536 words"),
        ({"codes": {1: [0.0]}}, "codes and vocabularies must be of different columns from 0 to 0"),
        ({"codes": {0: [0.0]}, "vocabularies": {0: ["a"]}}, "must be of different columns"),
        ({"codes": {0: [1.0, 1.0]}}, "categories of column 0 must be different"),
        ({"codes": {0: [1.0, np.inf]}}, "codes must be lists of finite numbers"),
        ({"vocabularies": {0: [str(i) for i in range(70_000)]}}, "at most 65536; got 70000. Group the rare"),
        ({"zero_missing": [2, 0, 0]}, "zero_missing must be 3 times 0 or 1"),
    ],
)
def test_nodes_that_make_no_sense(change, match):
    arrays = {
        "root": [0],
        "feature": [0, -1, -1],
        "threshold": [0.5, 0, 0],
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "n_columns": 1,
    }
    TreeNodes(**arrays)
    with pytest.raises(InputError, match=match):
        TreeNodes(**{**arrays, **change})


def test_files(tmp_path):
    rng = np.random.default_rng(6)
    X = random_rows(rng)
    for name, settings in SETTINGS.items():
        for link in ("mean", "adaboost", "logistic", "softmax", "one against rest"):
            made = model(rng, link, **settings)
            save(tmp_path / "model", made.kind, made.tree())
            loaded = read(load(tmp_path / "model", made.kind), "model", PortableTrees.from_tree)
            np.testing.assert_array_equal(loaded.probabilities(X), made.probabilities(X))
            np.testing.assert_array_equal(loaded.predict_codes(X), made.predict_codes(X))
            assert (repr(loaded), loaded.vocabularies, loaded.reads) == (
                repr(made),
                made.vocabularies,
                made.reads,
            ), name


HOSTILE = [GONE, None, -1, 1 << 40, "x", np.nan, [], {}, np.zeros(0), np.full((3, 3), np.nan), True]


@pytest.mark.parametrize("link", ["mean", "adaboost", "logistic", "softmax"])
def test_a_file_with_anything_else_in_a_place_is_refused(link):
    """Refused, or a model that answers: never a crash, never NaN."""
    rng = np.random.default_rng(7)
    made, X = model(rng, link, splits=3, **CODED), random_rows(rng, 20)
    tree, refused = made.tree(), 0
    for path in places(tree):
        for value in HOSTILE:
            other = changed(tree, path, value)
            try:
                found = read(other, "a file", PortableTrees.from_tree)
            except ModelFileError:
                refused += 1
            else:
                assert np.isfinite(found.probabilities(X)).all(), (path, value)
    assert refused > 200


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("value", lambda a: np.where(a == a[0], np.nan, a)),
        ("value", lambda a: a * 1e300),
        ("value", lambda a: a[1:]),
        ("value", lambda a: -a),
        ("value", lambda a: 2 * a),
        ("group", lambda a: a + 1),
        ("group", lambda a: a - 1),
        ("start", lambda a: a + np.inf),
        ("divisor", 0.0),
        ("scale", -1.0),
        ("link", "softmin"),
        ("classes.values", [1, 0, 2]),
        ("nodes.left", lambda a: np.where(a < 0, a, 0)),
        ("nodes.feature", lambda a: np.where(a < 0, a, 4)),
        ("nodes.set_sizes", lambda a: a + 1),
        ("nodes.set_sizes", lambda a: np.append(a, 1 << 62)),
        ("nodes.set_sizes", lambda a: np.append(a, -1)),
        ("nodes.category", lambda a: np.where(a < 0, a, 1 << 20)),
        ("nodes.codes.0.values", lambda a: a + np.nan),
        ("nodes.codes.0.column", 4),
        ("nodes.codes", lambda a: a + a),
        ("nodes.missing", float("inf")),
    ],
)
def test_a_file_of_numbers_that_do_not_fit_is_refused(path, value):
    tree = model(np.random.default_rng(8), "mean", n_trees=9, **CODED).tree()
    read(tree, "a file", PortableTrees.from_tree)
    with pytest.raises(ModelFileError, match="a file is not a valid model"):
        read(changed(tree, path, value), "a file", PortableTrees.from_tree)
