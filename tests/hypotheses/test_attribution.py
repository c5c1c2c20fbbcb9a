"""Votes shared among the features that hypotheses look at."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ocboost.hypotheses import Balls, Boxes, Callables, CascadeStumps, Joined, Stumps, Trees, from_sklearn
from ocboost.hypotheses.attribution import features_share


def plainly_shared(trees, j, row):
    """The features of the conditions on the way of a row, up to where all leaves agree, each equally."""
    group, tree = divmod(j, trees.root.size)

    def leaves(v):
        if trees.feature[v] < 0:
            return {int(trees.answer[v, group])}
        return leaves(trees.left[v]) | leaves(trees.right[v])

    v, met = trees.root[tree], []
    while len(leaves(v)) > 1:
        f = trees.feature[v]
        x = np.float32(row[f]) if trees.precision == "single" else row[f]
        met.append(int(f))
        left = trees.missing_left[v] if np.isnan(x) else x <= trees.threshold[v]
        v = trees.left[v] if left else trees.right[v]
    return np.bincount(met, minlength=trees.n_features) / max(len(met), 1)


def forest(classes=2, **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], np.linspace(-0.5, 0.5, classes - 1))
    return from_sklearn(RandomForestClassifier(5, max_depth=4, random_state=0, **options).fit(X, y)), rng


@pytest.mark.parametrize("classes", [2, 3])
def test_ways_through_trees(classes):
    trees, rng = forest(classes)
    amounts = rng.normal(size=len(trees))
    for row in rng.normal(size=(20, 4)):
        row[rng.random(4) < 0.2] = np.nan
        expected = sum(amount * plainly_shared(trees, j, row) for j, amount in enumerate(amounts))
        np.testing.assert_allclose(features_share(trees, amounts, row), expected, atol=1e-12)


def test_all_ways_are_the_mean_of_random_ones():
    def walks(v, met, chance):
        if trees.feature[v] < 0:
            yield chance, met
            return
        for child in (trees.left[v], trees.right[v]):
            yield from walks(child, [*met, int(trees.feature[v])], chance / 2)

    trees = Trees(
        [0, 5],
        [0, 1, -1, -1, -1, 1, -1, -1],
        [1, 5, 0, 0, 0, 2, 0, 0],
        [1, 2, -1, -1, -1, 6, -1, -1],
        [4, 3, -1, -1, -1, 7, -1, -1],
        [1, 1, 1, -1, 1, 1, -1, 1],
    )
    expected = np.zeros(2)
    for amount, root in ((0.7, 0), (-0.2, 5)):
        for chance, met in walks(root, [], amount):
            np.add.at(expected, met, chance / len(met))
    np.testing.assert_allclose(features_share(trees, np.array([0.7, -0.2])), expected, atol=1e-15)
    assert expected.sum() == pytest.approx(0.5)


@pytest.mark.parametrize("classes", [2, 3])
def test_everything_is_shared_but_constants(classes):
    trees, rng = forest(classes)
    amounts = rng.random(len(trees))
    assert features_share(trees, amounts).sum() == pytest.approx(amounts.sum())
    constant = Trees([0], [0, -1, -1], [1, 0, 0], [1, -1, -1], [2, -1, -1], [1, 1, 1])
    for row in (None, np.zeros(1)):
        assert features_share(constant, np.ones(1), row).tolist() == [0.0]


def test_stumps():
    inf = np.inf
    stumps = Stumps([0, 1, 1, 0, 0], [0.5, 1.0, inf, -inf, inf], [1, 1, 1, 1, 1], [1, 1, 1, -1, -1])
    # The third and fourth always answer the same; the fifth asks whether the first feature is missing.
    assert features_share(stumps, np.array([1.0, 2.0, 4.0, 8.0, 16.0])).tolist() == [17.0, 2.0]


def test_other_kinds():
    assert features_share(Balls(np.ones((2, 4)), [1.0, 0.0]), np.array([2.0, 5.0])).tolist() == [0.5] * 4
    assert features_share(Callables([np.sign], 2), np.array([3.0])).tolist() == [1.5, 1.5]
    rects = [[[0, 0, 1, 2], [1, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]]
    assert features_share(Boxes(rects, [[1, -1, 0, 0]], [0.0], side=2), np.array([3.0])).tolist() == [
        1,
        1,
        1,
        0,
    ]
    haar = [[[0, 0, 2, 4], [0, 0, 0, 0], [0, 0, 0, 0]]] * 2
    stumps = CascadeStumps(haar[:1], [[1, 0, 0]], [0.0], width=4, height=4)
    assert features_share(stumps, np.array([8.0])).reshape(4, 4)[0].tolist() == [1, 1, 0, 0]
    joined = Joined([Stumps([0], [1], [1], n_features=2), Balls([[1.0, 2.0]], [1.0])])
    assert features_share(joined, np.array([1.0, 4.0])).tolist() == [3.0, 2.0]
