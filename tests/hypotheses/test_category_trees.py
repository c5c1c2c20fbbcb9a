"""Trees with splits by category against a plain walk, and what may not be said of them."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import InputError, ModelFileError
from ocboost._core.codec import read
from ocboost.hypotheses import CategoryTrees
from tests.naive import tree_values as naive
from tests.support.foreign_trees import random_nodes, random_rows
from tests.support.saved_trees import GONE, changed


def made(rng, **settings):
    nodes = random_nodes(rng, 12, **settings)
    return CategoryTrees(nodes, rng.choice([-1, 1], nodes.n_leaves))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"precision": "single"},
        {"codes": {3: [7.0, 0.0, 2.0]}},
        {"vocabularies": {3: "abc"}, "missing": 0.5},
    ],
)
def test_a_plain_walk_answers_the_same(settings):
    rng = np.random.default_rng(0)
    trees, X = made(rng, **settings), random_rows(rng, 300)
    with np.errstate(over="ignore"):
        expected = trees.answer[naive.leaves(trees.nodes, X)]
        np.testing.assert_array_equal(trees.answers(X), expected)
        np.testing.assert_array_equal(trees[[3, 0, 3]].answers(X), expected[:, [3, 0, 3]])
        np.testing.assert_array_equal(np.vstack([trees.answers(x[None]) for x in X]), expected)


def test_what_is_refused():
    rng = np.random.default_rng(1)
    nodes = random_nodes(rng)
    for wrong in (np.ones(nodes.n_leaves + 1), np.zeros(nodes.n_leaves), np.ones((nodes.n_leaves, 1))):
        with pytest.raises(
            InputError, match=f"answer must be -1 or .1 for each of the {nodes.n_leaves} leaves"
        ):
            CategoryTrees(nodes, wrong)
    trees = made(rng)
    with pytest.raises(InputError, match="members must name at least one hypothesis"):
        trees[[]]
    for path, value in [("answer", lambda a: a * 2), ("answer", lambda a: a[1:]), ("nodes", GONE)]:
        with pytest.raises(ModelFileError, match="a file is not a valid model"):
            read(changed(trees.tree(), path, value), "a file", CategoryTrees.from_tree)
