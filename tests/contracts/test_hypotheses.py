"""The contract of hypotheses, for every kind that files know and those that no file holds."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, ModelFileError, NotSavableError, OCBClassifier, hypotheses
from ocboost.foreign.columns import Chain, Columns
from ocboost.foreign.imputers import Filled
from ocboost.foreign.scalers import Affine
from ocboost.foreign.trees.nodes import TreeNodes
from ocboost.hypotheses import (
    Ballot,
    Balls,
    Boxes,
    Callables,
    CascadeStumps,
    CategoryTrees,
    Hypotheses,
    Joined,
    Stumps,
    Transformed,
    Trees,
    all_boxes,
    from_sklearn,
    join,
    join_tightly,
)
from ocboost.hypotheses.attribution import features_share
from ocboost.hypotheses.base import ROWS_PER_BLOCK
from ocboost.hypotheses.describe import NamedFeatures, in_words, path_in_words
from tests.contracts.examples import rows
from tests.support.cli_runs import ran

J = 6


def _rng():
    return np.random.default_rng(11)


def stumps(**more):
    rng = _rng()
    missing = rng.choice([-1, 1], J)
    return Stumps(
        rng.integers(9, size=J), rng.normal(size=J), rng.choice([-1, 1], J), missing, n_features=9, **more
    )


def trees():
    X, y = np.round(_rng().normal(size=(200, 9)), 2), rows(200)[1]
    members = [DecisionTreeClassifier(max_depth=3, random_state=t).fit(X[t::3], y[t::3]) for t in range(J)]
    return from_sklearn(members)


def balls():
    rng = _rng()
    return Balls(rng.normal(size=(J, 9)), np.sqrt(rng.uniform(10, 20, J)), rng.choice([-1, 1], J))


def boxes():
    rng = _rng()
    rects, weight = (array[rng.integers(0, 20, J)] for array in all_boxes(3))
    return Boxes(rects, weight, rng.normal(size=J) / 3, rng.choice([-1, 1], J), side=3)


def cascade_stumps():
    rng = _rng()
    rects = np.zeros((J, 3, 4), int)
    rects[:, 0] = [0, 0, 3, 3]
    rects[:, 1] = [[j % 3, 0, 1, 1 + j % 2] for j in range(J)]
    weight = np.stack([np.ones(J), rng.uniform(-9, -3, J), np.zeros(J)], axis=1)
    return CascadeStumps(rects, weight, rng.normal(size=J), width=3, height=3)


def category_trees():
    """Each asks first for the category, the whole part of a number, and then whether another is small."""
    rng = _rng()
    v = 5 * np.arange(J)
    columns = np.tile([0, 0, -1, -1, -1], (J, 1))
    columns[:, :2] = rng.integers(9, size=(J, 2))
    children = {"left": [1, 3, -1, -1, -1], "right": [2, 4, -1, -1, -1]}
    nodes = TreeNodes(
        v,
        columns.ravel(),
        rng.normal(size=5 * J),
        **{side: np.where(np.array(own) < 0, -1, own + v[:, None]).ravel() for side, own in children.items()},
        missing_left=rng.integers(0, 2, 5 * J),
        category=np.where(np.arange(5 * J) % 5 == 0, np.arange(5 * J) // 5, -1),
        sets=[np.array([1 + j % 3], np.uint32) for j in range(J)],
        n_columns=9,
    )
    return CategoryTrees(nodes, np.tile([-1, 1, -1], J))


def callables():
    members = [lambda X, f=f: np.where(np.nan_to_num(X[:, f]) > f / 8, 1, -1) for f in range(J)]
    return Callables(members, n_features=9)


def after_steps():
    scale = np.linspace(0.5, 2.0, 9)
    return Transformed(Chain([Columns(np.arange(9)[::-1], 9), Affine(9, scale, scale)]), stumps())


def after_an_imputer():
    filled = Filled(9, np.arange(9), np.linspace(-1, 1, 9), np.full(9, np.nan))
    return Transformed(filled, balls())


MADE = {
    "Stumps": stumps,
    "Trees": trees,
    "Balls": balls,
    "Boxes": boxes,
    "CascadeStumps": cascade_stumps,
    "CategoryTrees": category_trees,
    "Callables": callables,
    "Joined": lambda: join([balls()[:2], stumps()[:3], balls()[2:3]]),
    "Stumps, single": lambda: stumps(precision="single"),
    "Transformed": after_steps,
    "Transformed, filled": after_an_imputer,
    "Transformed, scaled": lambda: Transformed(Affine(9, np.ones(9)), balls()),
}
every = pytest.mark.parametrize("kind", MADE)
NOT_SAVED = {"Callables"}
AROUND_A_BLOCK = (ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1)


def subclasses(kind):
    """All of them but those that are abstract."""
    every = {each for sub in kind.__subclasses__() for each in ({sub} | subclasses(sub))}
    return {each for each in every if not inspect.isabstract(each)}


def features(n=600, seed=0):
    """Rows of 9 numbers: features, or the pixels of an image."""
    X = np.round(np.random.default_rng(seed).normal(size=(n, 9)), 2)
    return X


# Which there are --------------------------------------------------------------------------------------


def test_every_kind_is_made_here():
    ours = {each for each in subclasses(Hypotheses) if each.__module__.startswith("ocboost.")}
    assert {type(make()) for make in MADE.values()} == ours
    public = {getattr(hypotheses, name) for name in hypotheses.__all__}
    assert ours <= public
    assert len({each.kind for each in ours}) == len(ours)


@every
def test_what_it_is(kind):
    made = MADE[kind]()
    assert made.n_hypotheses == len(made) == J
    assert made.n_features == 9
    assert type(made).__name__ == kind.split(",")[0] == made.kind
    assert str(J) in repr(made)
    assert "\n" not in repr(made)


@every
def test_words_and_features(kind):
    made, x = MADE[kind](), features(1)[0]
    named = NamedFeatures.of_names([f"x{f}" for f in range(9)])
    amounts = _rng().uniform(1, 2, J)
    for j in range(J):
        for words in (in_words(made, named.features, j), path_in_words(made, named.features, j, x)):
            assert words
            assert not words.startswith("hypothesis ")  # of a kind that is not known
            assert "inf" not in words.lower()
            assert " at 0x" not in words
        np.testing.assert_array_equal(
            features_share(made[[j]], amounts[[j]]),
            features_share(made, np.where(np.arange(J) == j, amounts, 0.0)),
        )
    for row in (None, x):
        found = features_share(made, amounts, row)
        assert (found >= 0.0).all()
        assert found.sum() == pytest.approx(amounts.sum())


class Meanwhile:
    """When it is copied or pickled, another thread has just asked for words about the hypotheses."""

    def __init__(self, ask):
        self.ask = ask

    def __deepcopy__(self, memo):
        self.ask()
        return None

    def __reduce__(self):
        self.ask()
        return type(None), ()


@every
def test_copied_while_somebody_reads(kind):
    """Hypotheses are shared, and some compute things when first asked: copies are not disturbed by it."""
    for copied in (copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))):
        if kind == "Callables" and copied is not copy.deepcopy:
            continue  # lambdas are not pickled
        made, x = MADE[kind](), features(1)[0]
        named = NamedFeatures.of_names([f"x{f}" for f in range(9)])

        def ask(made=made, named=named, x=x):
            for j in range(J):
                path_in_words(made, named.features, j, x)
            features_share(made, np.ones(J), x)
            made.answers(sparse.csr_matrix(features()) if made.accepts_sparse else features())

        made.__dict__ = {"meanwhile": Meanwhile(ask), **made.__dict__}  # the first that is copied
        inside = made.__dict__.get("hypotheses")
        if inside is not None:
            inside.__dict__ = {"meanwhile": Meanwhile(ask), **inside.__dict__}
        np.testing.assert_array_equal(copied(made).answers(features()), MADE[kind]().answers(features()))


# Answers ----------------------------------------------------------------------------------------------


@every
def test_answers_are_signs_and_both_occur(kind):
    found = MADE[kind]().answers(features())
    assert (found.shape, found.dtype) == ((600, J), np.int8)
    assert set(np.unique(found)) == {-1, 1}
    varied = [len(np.unique(column)) == 2 for column in found.T]
    assert sum(varied) >= J - 2


@every
@pytest.mark.parametrize("n", [1, 2, *AROUND_A_BLOCK, 2 * ROWS_PER_BLOCK + 1])
def test_a_row_is_answered_the_same_among_any_others(kind, n):
    made, X = MADE[kind](), features()
    whole = made.answers(X)
    np.testing.assert_array_equal(made.answers(X[:n]), whole[:n])
    np.testing.assert_array_equal(made.answers(X[-n:]), whole[-n:])
    one_by_one = np.concatenate([made.answers(X[i : i + 1]) for i in (0, n - 1, 300)])
    np.testing.assert_array_equal(one_by_one, whole[[0, n - 1, 300]])


@every
@pytest.mark.parametrize("n", [1, *AROUND_A_BLOCK])
def test_votes_are_answers_times_alpha(kind, n):
    made, X = MADE[kind](), features(n)
    alpha, other = np.random.default_rng(2).normal(size=(2, J))
    ballots = [Ballot.of(alpha), Ballot.of(other[2:5], 2), Ballot(1, other[:2], alpha[:2])]
    answers = made.answers(X).astype(float)
    unlike = np.where(answers[:, 1:3] > 0, other[:2], alpha[:2]).sum(axis=1)
    expected = np.stack([answers @ alpha, answers[:, 2:5] @ other[2:5], unlike], axis=1)
    np.testing.assert_allclose(made.votes(X, ballots), expected, rtol=0, atol=1e-12)


@every
def test_no_rows(kind):
    made = MADE[kind]()
    assert made.answers(features()[:0]).shape == (0, J)
    assert made.votes(features()[:0], [Ballot.of(np.ones(J))]).shape == (0, 1)


@every
def test_other_layouts_of_the_same_rows(kind):
    made, X = MADE[kind](), features()
    whole = made.answers(X)
    wide = np.zeros((600, 18))
    wide[:, ::2] = X
    for same in (np.asfortranarray(X), wide[:, ::2], X.tolist()):
        np.testing.assert_array_equal(made.answers(same), whole)
    whole_numbers = np.round(10 * X).astype(int)
    np.testing.assert_array_equal(made.answers(whole_numbers), made.answers(whole_numbers.astype(float)))
    read_only = X.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(made.answers(read_only), whole)
    np.testing.assert_array_equal(X, features())  # nobody wrote to it


@every
def test_single_precision_is_the_same_numbers(kind):
    """Features of float32 are answered as the same numbers in float64 are."""
    made, X = MADE[kind](), features().astype(np.float32)
    np.testing.assert_array_equal(made.answers(X), made.answers(X.astype(np.float64)))


# Missing and sparse -----------------------------------------------------------------------------------


@every
def test_missing_numbers_as_its_flag_says(kind):
    made, X = MADE[kind](), features(300)
    X[::3, 4] = np.nan
    X[5] = np.nan
    if made.accepts_missing:
        found = made.answers(X)
        assert np.isin(found, (-1, 1)).all()
        np.testing.assert_array_equal(found[1::3], made.answers(X[1::3]))
        np.testing.assert_array_equal(made.answers(X.astype(np.float32)), made.answers(X))
    elif kind not in NOT_SAVED:  # Python objects are asked by whoever calls them
        with pytest.raises(InputError, match=r"finite"):
            made.answers(X)
    clf = OCBClassifier(made)
    y = rows(300)[1]
    assert clf.__sklearn_tags__().input_tags.allow_nan == made.accepts_missing
    if made.accepts_missing:
        clf.fit(X, y).predict(X)
    else:
        with pytest.raises(ValueError, match="NaN"):
            clf.fit(X, y)


@every
def test_sparse_matrices_as_its_flag_says(kind):
    made, X = MADE[kind](), features(300)
    X[np.random.default_rng(3).random(X.shape) < 0.5] = 0.0
    if made.accepts_sparse:
        for matrix in (sparse.csr_matrix(X), sparse.csr_array(X), sparse.csc_matrix(X)):
            np.testing.assert_array_equal(made.answers(matrix), made.answers(X))
        alpha = [Ballot.of(np.arange(1.0, J + 1))]
        np.testing.assert_array_equal(made.votes(sparse.csr_matrix(X), alpha), made.votes(X, alpha))
        np.testing.assert_array_equal(made.answers(sparse.csr_matrix(X)[7:8]), made.answers(X[7:8]))
    else:
        with pytest.raises(InputError, match=r"X must be a dense array.*Use X.toarray\(\)"):
            made.answers(sparse.csr_matrix(X))


@every
@pytest.mark.parametrize(
    "wrong",
    [np.ones((5, 8)), np.ones((5, 10)), np.ones(9), np.ones((2, 3, 9)), np.array([["a"] * 9])],
    ids=["too few", "too many", "one row", "three dimensions", "texts"],
)
def test_rows_that_do_not_fit(kind, wrong):
    made = MADE[kind]()
    for ask in (made.answers, lambda X: made.votes(X, [Ballot.of(np.ones(J))])):
        with pytest.raises(InputError, match="X must"):
            ask(wrong)


# Some of them, and more -------------------------------------------------------------------------------


@every
def test_some_of_them_in_any_order(kind):
    made, X = MADE[kind](), features(300)
    whole = made.answers(X)

    @settings(max_examples=15)
    @given(st.lists(st.integers(-J, J - 1), min_size=1, max_size=9))
    def some(members):
        part = made[members]
        assert (type(part), len(part), part.n_features) == (type(made), len(members), 9)
        np.testing.assert_array_equal(part.answers(X), whole[:, members])

    some()
    for members in (slice(1, 4), slice(None, None, -2), 3, -1, np.arange(J) % 2 == 0):
        expected = whole[:, np.atleast_1d(np.arange(J)[members])]
        np.testing.assert_array_equal(made[members].answers(X), expected)
    with pytest.raises(IndexError):
        made[[J]]
    np.testing.assert_array_equal(made.answers(X), whole)


@every
@pytest.mark.parametrize("other", MADE)
def test_beside_others(kind, other):
    """As one set of its kind, where there is one, or else joined; the answers are those of both."""
    one, two, X = MADE[kind](), MADE[other]()[[4, 0, 2]], features(300)
    expected = np.hstack([one.answers(X), two.answers(X)])
    both = one.beside(two)
    if both is not None:
        assert type(both) is type(one)
        np.testing.assert_array_equal(both.answers(X), expected)
    for joined in (join([one, two]), join_tightly([one, two]), Joined([one, two])):
        assert (len(joined), joined.n_features) == (J + 3, 9)
        np.testing.assert_array_equal(joined.answers(X), expected)
        assert joined.accepts_missing == (one.accepts_missing and two.accepts_missing)
        assert joined.accepts_sparse == (one.accepts_sparse and two.accepts_sparse)
    assert join([one]) is one


@every
def test_sets_over_other_features_are_not_joined(kind):
    with pytest.raises(InputError, match=r"sets must be over the same features; got sets for \[(9, )+2\]"):
        Joined([MADE[kind](), Stumps([1], [0.0], [1])])


# Files ------------------------------------------------------------------------------------------------


@every
def test_files(kind, tmp_path, capsys):
    made, X, path = MADE[kind](), features(300), tmp_path / "hypotheses.ocb"
    if kind in NOT_SAVED:
        with pytest.raises(NotSavableError):
            made.save(path)
        assert not path.exists()
        return
    made.save(path)
    loaded = type(made).load(path)
    assert type(loaded) is type(made)
    assert (len(loaded), loaded.n_features, repr(loaded)) == (J, 9, repr(made))
    np.testing.assert_array_equal(loaded.answers(X), made.answers(X))
    loaded.save(tmp_path / "again.ocb")
    assert (tmp_path / "again.ocb").read_bytes() == path.read_bytes()
    for other in subclasses(Hypotheses):
        if other.kind != made.kind and other.__module__.startswith("ocboost."):
            with pytest.raises((ModelFileError, NotSavableError)):
                other.load(path)
    code, out, err = ran(capsys, "info", path)
    assert (code, err) == (0, "")
    assert out.startswith(repr(made).strip("<>"))


@every
def test_in_a_classifier_and_its_file(kind, tmp_path, capsys):
    made, X, y = MADE[kind](), features(300), rows(300)[1]
    clf = OCBClassifier(made, head=20).fit(X[:100], y[:100])
    path = tmp_path / "clf.ocb"
    if kind in NOT_SAVED:
        with pytest.raises(NotSavableError):
            clf.save(path)
        return
    clf.save(path)
    loaded = OCBClassifier.load(path)
    assert type(loaded.hypotheses_) is type(made)
    for each in (clf, loaded):
        each.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    assert [clf.predict_one(x) for x in X[:20]] == clf.predict(X[:20]).tolist()
    code, out, err = ran(capsys, "info", path)
    assert (code, err) == (0, "")
    assert repr(made).strip("<>") in " ".join(out.split())


def test_trees_of_several_classes():
    X, y = features(), np.digitize(features()[:, 0], [-0.5, 0.5])
    made = from_sklearn(
        [DecisionTreeClassifier(max_depth=2, random_state=t).fit(X[t::2], y[t::2]) for t in (0, 1)]
    )
    assert isinstance(made, Trees)
    assert len(made) == 6
    np.testing.assert_array_equal(made[[5, 0]].answers(X), made.answers(X)[:, [5, 0]])
