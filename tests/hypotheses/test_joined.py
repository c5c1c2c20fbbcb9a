"""Several sets of hypotheses as one: each answers as it does alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, ModelFileError
from ocboost._core.codec import read
from ocboost.hypotheses import (
    Ballot,
    Balls,
    Boxes,
    Callables,
    Joined,
    Stumps,
    Trees,
    from_sklearn,
    join,
    join_tightly,
)

STUMPS = Stumps([0, 2, 1], [0.1, -0.3, 0.7], [1, -1, 1], n_features=3)
SINGLE = Stumps([1], [0.25], [-1], n_features=3, precision="single")
BALLS = Balls([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]], [0.9, 1.1], [1, -1])


def examples(n=700):
    return np.random.default_rng(0).normal(size=(n, 3))


def test_answers_and_votes_are_those_of_the_sets():
    X = examples()
    joined = join([STUMPS, BALLS, SINGLE])
    assert isinstance(joined, Joined)
    expected = np.hstack([each.answers(X) for each in (STUMPS, BALLS, SINGLE)])
    np.testing.assert_array_equal(joined.answers(X), expected)
    alpha = np.arange(1.0, 7.0)
    np.testing.assert_allclose(joined.votes(X, [Ballot.of(alpha)])[:, 0], expected @ alpha)
    assert (len(joined), joined.n_features) == (6, 3)


def test_stumps_become_one_set_and_a_single_set_is_itself():
    X = examples()
    both = join([STUMPS, STUMPS[1:]])
    assert type(both) is Stumps
    np.testing.assert_array_equal(both.answers(X), STUMPS.answers(X)[:, [0, 1, 2, 1, 2]])
    assert join([BALLS]) is BALLS


@pytest.mark.parametrize("members", [slice(1, 5), [5, 0, 3, 3, 4, 1], [2], -1, np.arange(6) % 2 == 0])
def test_some_of_them_in_any_order(members):
    X = examples()
    joined = join([STUMPS, BALLS, SINGLE])
    expected = joined.answers(X)[:, np.atleast_1d(np.arange(6)[members])]
    np.testing.assert_array_equal(joined[members].answers(X), expected)


def test_a_set_of_sets_is_flat_and_survives_a_file(tmp_path):
    X = examples()
    joined = Joined([Joined([STUMPS, BALLS]), SINGLE])
    assert [type(each) for each in joined.sets] == [Stumps, Balls, Stumps]
    joined.save(tmp_path / "model")
    np.testing.assert_array_equal(Joined.load(tmp_path / "model").answers(X), joined.answers(X))


def test_more_than_ten_sets_keep_their_arrays_apart(tmp_path):
    X = examples()
    sets = [
        each for k in range(12) for each in (Stumps([k % 3], [k / 10], [1], n_features=3), BALLS[[k % 2]])
    ]
    joined = join(sets)
    joined.save(tmp_path / "model")
    np.testing.assert_array_equal(Joined.load(tmp_path / "model").answers(X), joined.answers(X))


def test_what_one_set_refuses_all_refuse():
    X = examples(5)
    X[3, 1] = np.nan
    joined = join([STUMPS, BALLS])
    assert not joined.accepts_missing
    with pytest.raises(InputError, match="X must be finite for Balls; got nan at row 3, column 1"):
        joined.answers(X)
    dense = Callables([lambda X: np.ones(len(X))], 3)
    with pytest.raises(InputError, match="X must be a dense array for Callables"):
        join([STUMPS, dense]).answers(sparse.csr_matrix(examples(5)))
    np.testing.assert_array_equal(joined.answers(sparse.csr_matrix(examples(9))), joined.answers(examples(9)))


def test_different_features():
    with pytest.raises(InputError, match=r"sets must be over the same features; got sets for \[3, 2\]"):
        Joined([STUMPS, Stumps([1], [0.0], [1], n_features=2)])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda p: p.update(more=1), "entries that are not known: 'more'"),
        (lambda p: p.update(sets={}), "sets must be a list"),
        (lambda p: p.update(sets=[]), "a set is not known"),
        (lambda p: p["sets"][0].update(kind="Joined"), "sets.0..sets is missing"),
        (lambda p: p["sets"].append({"kind": "Joined", "sets": [p["sets"][0]]}), "a set is not known"),
        (lambda p: p["sets"][0].update(kind=7), "kind must be a text"),
        (lambda p: p["sets"][0].update(kind="Callables"), "knows Stumps, Trees, Balls, Boxes"),
        (lambda p: p["sets"][0].update(kind="Adaptation"), "hypotheses of the kind 'Adaptation'"),
        (lambda p: p["sets"][0].update(kind="Winnow"), "hypotheses of the kind 'Winnow'"),
        (lambda p: p["sets"].append(None), "must be entries with names"),
        (lambda p: p["sets"][0].update(kind="Balls"), "is missing"),
        (lambda p: p["sets"][0].update(n_features=4), "sets must be over the same features"),
    ],
)
def test_hostile_trees(change, match):
    tree = join([STUMPS, BALLS]).tree()
    change(tree)
    with pytest.raises(ModelFileError, match=match):
        read(tree, "a file", Joined.from_tree)


# Neighbours of one kind as one set ------------------------------------------------------------------------


def some_trees(n, depth=3, n_features=4, classes=(-1, 1)):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(80, n_features))
    y = rng.choice(classes, 80)
    members = [DecisionTreeClassifier(max_depth=depth, random_state=k).fit(X, y) for k in range(n)]
    return from_sklearn(members, classes=np.array(classes))


def some_boxes(n, side=2):
    rects = np.zeros((n, 4, 4), int)
    rects[:, 0, 2:] = rects[:, 1, 2:] = 1
    rects[:, 1, 0] = 1
    weight = np.tile([1.0, -1.0, 0.0, 0.0], (n, 1))
    return Boxes(rects, weight, np.linspace(-1, 1, n), np.where(np.arange(n) % 2, 1, -1), side=side)


def some_stumps(n, n_features=4, precision="double"):
    rng = np.random.default_rng(n)
    signs = rng.choice([-1, 1], (2, n))
    return Stumps(
        rng.integers(0, n_features, n),
        rng.normal(size=n),
        signs[0],
        signs[1],
        n_features=n_features,
        precision=precision,
    )


def some_balls(n, n_features=4):
    rng = np.random.default_rng(n)
    return Balls(rng.normal(size=(n, n_features)), rng.uniform(1, 3, n), rng.choice([-1, 1], n))


MAKERS = {"stumps": some_stumps, "balls": some_balls, "boxes": some_boxes, "trees": some_trees}


@pytest.mark.parametrize("name", MAKERS)
def test_of_one_kind_they_become_one_set_of_it(name, tmp_path):
    X = np.random.default_rng(1).normal(size=(300, 4))
    X[::7, 1] = np.nan if MAKERS[name](1).accepts_missing else 0.0
    sets = [MAKERS[name](n) for n in (3, 1, 4, 2)]
    both = sets[0].beside(sets[1])
    tight = join_tightly(sets)
    assert type(both) is type(tight) is type(sets[0])
    np.testing.assert_array_equal(both.answers(X), np.hstack([each.answers(X) for each in sets[:2]]))
    np.testing.assert_array_equal(tight.answers(X), np.hstack([each.answers(X) for each in sets]))
    np.testing.assert_array_equal(tight.answers(X), join(sets).answers(X))
    np.testing.assert_array_equal(tight[[9, 0, 4]].answers(X), tight.answers(X)[:, [9, 0, 4]])
    assert [len(each) for each in sets] == [3, 1, 4, 2]  # they stay as they were
    tight.save(tmp_path / "model")
    np.testing.assert_array_equal(type(tight).load(tmp_path / "model").answers(X), tight.answers(X))


def test_of_other_kinds_they_stay_apart():
    functions = Callables([lambda X: np.ones(len(X))], 4)
    apart = [
        (some_stumps(2), some_balls(2)),
        (some_balls(2), some_stumps(2)),
        (some_trees(2), some_stumps(2)),
        (some_stumps(2), some_trees(2)),
        (some_boxes(2), some_balls(2)),
        (some_stumps(2), some_stumps(2, precision="single")),
        (some_stumps(2), some_stumps(2, n_features=5)),
        (some_balls(2), some_balls(2, n_features=3)),
        (some_boxes(2), some_boxes(2, side=3)),
        (some_trees(2), some_trees(2, n_features=5)),
        (some_trees(2), some_trees(2, classes=(0, 1, 2))),
        (some_trees(2, classes=(0, 1, 2)), some_trees(2)),
        (some_trees(2, classes=(0, 1, 2)), some_trees(2, classes=(0, 1, 2))),
        (functions, functions),
        (functions, some_stumps(2)),
        (join([some_stumps(2), some_balls(2)]), some_balls(2)),
    ]
    for one, other in apart:
        assert one.beside(other) is None


def test_only_neighbours_are_put_together():
    X = np.random.default_rng(2).normal(size=(200, 4))
    sets = [
        some_stumps(2),
        Joined([some_stumps(3), some_balls(1)]),
        some_balls(2),
        some_trees(2),
        Joined([some_trees(1), some_stumps(1)]),
        some_stumps(1),
    ]
    tight = join_tightly(sets)
    assert [(type(each), len(each)) for each in tight.sets] == [
        (Stumps, 5),
        (Balls, 3),
        (Trees, 3),
        (Stumps, 2),
    ]
    np.testing.assert_array_equal(tight.answers(X), np.hstack([each.answers(X) for each in sets]))
    assert join_tightly(sets[:1]) is sets[0]


def test_trees_taken_out_again_leave_no_nodes_behind():
    X = np.random.default_rng(3).normal(size=(200, 4))
    trees = some_trees(3)
    for k in range(20):
        new = some_trees(k % 3 + 1)
        expected = np.hstack([trees.answers(X)[:, -2:], new.answers(X)])
        trees = join_tightly([trees[len(trees) - 2 :], new])
        np.testing.assert_array_equal(trees.answers(X), expected)
    assert trees.feature.size < 5 * 15 + 1
