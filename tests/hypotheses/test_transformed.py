"""Hypotheses over columns before preprocessing: they answer as the whole pipeline's members do."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from ocboost import Growth, InputError, ModelFileError, NotSavableError, OCBClassifier
from ocboost._core.codec import read
from ocboost.foreign.columns import Columns
from ocboost.foreign.scalers import Affine
from ocboost.hypotheses import Joined, Stumps, Transformed, from_sklearn, join_tightly, transformed
from ocboost.hypotheses.transformed import PythonSteps, same_step
from tests.foreign.frames import dense, frame, labels, late, matrix, rows_of


def forest():
    return RandomForestClassifier(4, max_depth=3, random_state=0)


def answers_of(pipe, X):
    """What the trees of a fitted pipeline predict."""
    given = dense(pipe[:-1].transform(X))
    return np.stack([np.where(tree.predict(given) == 1, 1, -1) for tree in pipe[-1].estimators_], axis=1)


def test_members_of_a_pipeline(tmp_path):
    X = matrix(missing=0.2)
    pipe = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), forest()).fit(X, labels())
    made = transformed([each for _, each in pipe.steps[:-1]], from_sklearn(pipe[-1]))
    assert isinstance(made, Transformed)
    assert (len(made), made.n_features, made.accepts_missing) == (4, 4, True)
    np.testing.assert_array_equal(made.answers(X), answers_of(pipe, X))
    made.save(tmp_path / "h.ocb")
    loaded = Transformed.load(tmp_path / "h.ocb")
    np.testing.assert_array_equal(loaded.answers(X), answers_of(pipe, X))
    np.testing.assert_array_equal(loaded[[2, 0]].answers(X), answers_of(pipe, X)[:, [2, 0]])


def test_tables_with_texts(tmp_path):
    table, other = frame(), frame(seed=1, unknown=True)
    words = OneHotEncoder(handle_unknown="ignore")
    pre = ColumnTransformer([("n", SimpleImputer(), ["size"]), ("w", words, ["town"])], remainder="drop")
    pipe = make_pipeline(pre, forest()).fit(table, late(table) == "yes")
    made = transformed([pre], from_sklearn(pipe[-1]))
    assert made.vocabularies == {1: ("Bern", "Nice", "Oslo", "Rome")}
    np.testing.assert_array_equal(made.answers(rows_of(made, other)), answers_of(pipe, other))
    made.save(tmp_path / "h.ocb")
    assert Transformed.load(tmp_path / "h.ocb").vocabularies == made[1:].vocabularies == made.vocabularies


def test_no_transformers():
    stumps = Stumps([0], [1.0], [1])
    assert transformed([], stumps) is stumps


@pytest.mark.parametrize("named", [False, True])
def test_transformers_that_are_called(named, tmp_path):
    """They work, by names of columns too, and the error of `save` names the one that cannot be saved."""
    X = frame()[["price", "rooms"]] if named else matrix()
    y = late(frame()) == "yes" if named else labels()
    pipe = make_pipeline(StandardScaler(), FunctionTransformer(np.abs), forest()).fit(X, y)
    made = transformed([each for _, each in pipe.steps[:-1]], from_sklearn(pipe[-1]))
    rows = np.asarray(X, dtype=float)
    np.testing.assert_array_equal(made.answers(rows), answers_of(pipe, X))
    assert not made.accepts_missing
    assert not made.thread_safe
    with pytest.raises(
        NotSavableError, match="the FunctionTransformer, a FunctionTransformer with a function"
    ):
        made.save(tmp_path / "h.ocb")
    assert list(tmp_path.iterdir()) == []
    assert made[1:].beside(made).answers(rows).shape == (len(rows), 7)
    clf = OCBClassifier(made).fit(rows, y)
    with pytest.raises(NotSavableError):
        clf.save(tmp_path / "c.ocb")


def test_sparse_output_of_transformers_that_are_called():
    table = np.round(matrix())
    encoder = OneHotEncoder(handle_unknown="ignore").fit(table)
    steps = [encoder, FunctionTransformer(abs, accept_sparse=True).fit(encoder.transform(table))]
    wide = encoder.transform(table).shape[1]
    made = Transformed(PythonSteps(steps, wide), Stumps([1], [0.5], [1], n_features=wide))
    expected = np.where(encoder.transform(table).toarray()[:, 1] <= 0.5, 1, -1)
    np.testing.assert_array_equal(made.answers(table)[:, 0], expected)


def test_growing_sets_stay_one():
    """After the same steps, neighbours become one set; after others they are joined."""
    X, scale = matrix(), np.array([0.5, 1.0, 2.0, 3.0])
    one = Transformed(Affine(4, scale), Stumps([0, 1], [0.0, 0.1], [1, -1], n_features=4))
    same = Transformed(Affine(4, scale.copy()), Stumps([2], [0.0], [1], n_features=4))
    other = Transformed(Affine(4, scale + 1), Stumps([2], [0.0], [1], n_features=4))
    plain = Stumps([3], [0.0], [1], n_features=4)
    tight = join_tightly([one, same])
    assert isinstance(tight, Transformed)
    assert isinstance(tight.hypotheses, Stumps)
    np.testing.assert_array_equal(tight.answers(X), np.hstack([one.answers(X), same.answers(X)]))
    for two in (other, plain):
        assert one.beside(two) is None
        both = join_tightly([one, two])
        assert isinstance(both, Joined)
        np.testing.assert_array_equal(both.answers(X), np.hstack([one.answers(X), two.answers(X)]))
    named = Transformed(one.step, one.hypotheses, {0: ("a",)})
    assert one.beside(named) is None
    assert not same_step(one.step, Columns([0, 1, 2, 3], 4))


def test_in_a_classifier_that_grows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4)).round(2)
    y = (np.where(np.arange(1500) < 700, X[:, 0], X[:, 2]) > 0).astype(int)
    pipe = make_pipeline(StandardScaler(), forest()).fit(X[:300], y[:300])
    made = transformed([pipe[0]], from_sklearn(pipe[-1]))
    clf = OCBClassifier(made, grow=Growth(budget=8, sample=200), head=50).fit(X[:300], y[:300])
    clf.partial_fit(X[300:], y[300:])
    kinds = {type(each) for each in getattr(clf.hypotheses_, "sets", [clf.hypotheses_])}
    assert kinds == {Transformed, Stumps}
    clf.save(tmp_path / "c.ocb")
    loaded = OCBClassifier.load(tmp_path / "c.ocb")
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))


def test_what_does_not_fit():
    with pytest.raises(InputError, match="over the 1 columns that the step gives; got some over 2 features"):
        Transformed(Columns([0], 3), Stumps([1], [0.0], [1]))
    made = Transformed(Columns([0], 3), Stumps([0], [0.0], [1]), {2: ("a", "b")})
    for key, wrong in (
        ("step", {"kind": "FixedAnswer"}),
        ("step", None),
        ("hypotheses", {"kind": "Columns"}),
        ("hypotheses", Stumps([1], [0.0], [1]).tree() | {"kind": "Stumps"}),
        ("vocabularies", [{"column": 3, "texts": []}]),
    ):
        tree = copy.deepcopy(made.tree())
        tree[key] = wrong
        with pytest.raises(ModelFileError):
            read(tree, "a file", Transformed.from_tree)
    assert read(made.tree(), "a file", Transformed.from_tree).vocabularies == {2: ("a", "b")}
