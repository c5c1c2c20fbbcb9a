"""scikit-learn's trees and ensembles as portable models: their own answers, to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from threadpoolctl import threadpool_limits

from ocboost import InputError, NotSavableError
from ocboost._core.codec import read
from ocboost.foreign.trees import PortableTrees, tree_model
from ocboost.foreign.trees.categories import as_categories
from tests.support.foreign_trees import N_TEXTS, examples, midpoints, probes

NO_NAN = ("adaboost", "gradient")
MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "leaf": lambda: DecisionTreeClassifier(max_depth=1, min_samples_leaf=200),
    "extra tree": lambda: ExtraTreeClassifier(random_state=0),
    "weighted tree": lambda: DecisionTreeClassifier(max_depth=4, class_weight="balanced"),
    "forest": lambda: RandomForestClassifier(7, random_state=0),
    "forest by leaves": lambda: RandomForestClassifier(7, max_leaf_nodes=9, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(7, random_state=0),
    "bagging": lambda: BaggingClassifier(
        n_estimators=7, max_features=3, bootstrap_features=True, random_state=0
    ),
    "bagging of few": lambda: BaggingClassifier(n_estimators=9, max_samples=4, random_state=0),
    "adaboost": lambda: AdaBoostClassifier(n_estimators=9, random_state=0),
    "adaboost of trees": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=7),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=7, random_state=0),
    "gradient boosting from zero": lambda: GradientBoostingClassifier(n_estimators=5, init="zero"),
    "gradient boosting from the mode": lambda: GradientBoostingClassifier(
        n_estimators=5, init=DummyClassifier(strategy="most_frequent")
    ),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=7, random_state=0),
}


@pytest.fixture(autouse=True)
def one_thread():
    """Small models on many threads only wait for them."""
    with threadpool_limits(1):
        yield


def assert_same(fitted, X, frame=None):
    """The portable model answers as the model itself, to all rows and to each; before and after a file."""
    made = tree_model(fitted)
    again = read(made.tree(), "a file", PortableTrees.from_tree)
    given = X if frame is None else frame
    for portable in (made, again):
        assert portable.classes.tolist() == fitted.classes_.tolist()
        assert portable.n_columns == fitted.n_features_in_ == X.shape[1]
        np.testing.assert_array_equal(portable.probabilities(X), fitted.predict_proba(given))
        predicted = portable.classes[portable.predict_codes(X)]
        np.testing.assert_array_equal(predicted, fitted.predict(given))
    for i in range(min(5, len(X))):
        np.testing.assert_array_equal(
            made.probabilities(X[i : i + 1]), fitted.predict_proba(given[i : i + 1])
        )


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("name", MODELS)
def test_answers_to_the_last_bit(name, n_classes):
    missing = not name.startswith(NO_NAN)
    X, y = examples(n_classes, missing=missing)
    fitted = MODELS[name]().fit(X, y)
    assert_same(fitted, probes(X, missing=missing))
    trees = [fitted] if hasattr(fitted, "tree_") else np.ravel(getattr(fitted, "estimators_", []))
    if len(trees) and len(set(trees[0].tree_.feature)) > 1:
        assert_same(fitted, midpoints(trees))


def test_the_exponential_loss_and_a_tie():
    X, y = examples(2, missing=False)
    assert_same(
        GradientBoostingClassifier(n_estimators=5, loss="exponential").fit(X, y), probes(X, missing=False)
    )
    X, y = np.array([[0.0]] * 4), np.array([0, 1, 0, 1])
    tied = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    assert tied.predict(X[:1]).tolist() == [1]  # log-odds of zero, and still the second class
    assert_same(tied, X)
    assert_same(HistGradientBoostingClassifier(max_iter=2).fit(X, y), X)


class Unweighted(DecisionTreeClassifier):
    """Bagging gives such trees the drawn examples only."""

    def fit(self, X, y, check_input=True):
        return super().fit(X, y, check_input=check_input)


def test_a_member_that_has_seen_only_some_classes():
    X, y = examples(3)
    fitted = BaggingClassifier(Unweighted(), n_estimators=20, max_samples=3, random_state=0).fit(X, y)
    assert {len(each.classes_) for each in fitted.estimators_} == {1, 2, 3}
    assert_same(fitted, probes(X))


def test_labels_of_every_type():
    X, y = examples(3)
    code = np.unique(y, return_inverse=True)[1]
    for labels in (code, code - 1.0, np.array([f"{c}" for c in code], dtype=object), code > 0):
        fitted = DecisionTreeClassifier(max_depth=3).fit(X, labels)
        assert_same(fitted, X)
        assert tree_model(fitted).classes.dtype == fitted.classes_.dtype


# Categories ---------------------------------------------------------------------------------------------

TEXTS = np.array([f"t{(7 * i) % N_TEXTS:02d}" for i in range(N_TEXTS)], dtype=object)


def frame_of(X, column=3, known=None):
    """The rows as a table: a column of text for one of categories, of which the last four are unknown."""
    table = pd.DataFrame(X, columns=list("abcde"))
    texts = [
        None if np.isnan(c) else TEXTS[int(c)] if c < N_TEXTS else f"new {c}" for c in X[:, column].tolist()
    ]
    table["abcde"[column]] = pd.Categorical(texts, categories=known)
    return table


def in_vocabulary(X, table, vocabulary, column=3):
    """The rows with the places of a column's texts in a vocabulary, -1 for others."""
    codes = {text: code for code, text in enumerate(vocabulary)}
    out = X.copy()
    out[:, column] = [
        codes.get(text, -1) if isinstance(text, str) else np.nan for text in table["abcde"[column]].tolist()
    ]
    return out


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("columns", [[3], [4, 1], [False, True, False, True, False]])
def test_columns_of_categories_are_moved_to_the_front(columns, n_classes):
    X, y = examples(n_classes, category=3)
    X[:, 1], X[:, 4] = np.round(2 * X[:, 1]) / 2 - 9, np.round(X[:, 4])  # any numbers may be categories
    fitted = HistGradientBoostingClassifier(max_iter=8, categorical_features=columns).fit(X, y)
    made = tree_model(fitted)
    assert (made.nodes.category >= 0).any()
    assert set(made.nodes.codes) == set(np.arange(5)[columns].tolist())
    rows = np.vstack([X, probes(X, category=3)])
    rows[::7, 1] = 0.123  # no category
    assert_same(fitted, rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_text_by_its_place_in_the_vocabulary(n_classes):
    X, y = examples(n_classes, category=3)
    table = frame_of(X)
    fitted = HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype").fit(table, y)
    vocabulary = tree_model(fitted).vocabularies[3]
    assert set(vocabulary) == set(TEXTS)
    rows = probes(X, category=3)
    later = frame_of(rows)
    coded = in_vocabulary(rows, later, vocabulary)
    assert (coded[:, 3] == -1).any()
    assert_same(fitted, coded, later)


def test_categories_of_several_types_are_refused():
    with pytest.raises(
        NotSavableError, match=r"a model with categories in column 3 that are int, str cannot"
    ):
        as_categories({3: ["a", 1, None]}, "a model")
    codes, vocabularies = as_categories(
        {0: [True, False], 1: ["b", "a", np.nan], 2: [np.int64(4)]}, "a model"
    )
    assert {c: values.tolist() for c, values in codes.items()} == {0: [1.0, 0.0], 2: [4.0]}
    assert vocabularies == {1: ("b", "a")}


# What is not read ---------------------------------------------------------------------------------------


def test_what_is_no_tree_model():
    X, y = examples(2, missing=False)

    class Contrary(RandomForestClassifier):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

    others = [
        LogisticRegression().fit(X, y),
        BaggingClassifier(GaussianNB(), n_estimators=2).fit(X, y),
        AdaBoostClassifier(LogisticRegression(), n_estimators=2).fit(X, y),
        RandomForestRegressor(2).fit(X, X[:, 0]),
        DecisionTreeRegressor().fit(X, X[:, 0]),
        Contrary(2).fit(X, y),
        None,
        3,
    ]
    assert [tree_model(each) for each in others] == [None] * len(others)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_not_fitted(name):
    with pytest.raises(
        InputError, match=r"(?s)the model must be fitted; got .* which is not\. Call its fit first"
    ):
        tree_model(MODELS[name]())


def test_settings_that_are_not_supported_are_named():
    X, y = examples(2, missing=False)
    fitted = GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(X, y)
    with pytest.raises(NotSavableError, match=r"GradientBoostingClassifier with init=LogisticRegression\(\)"):
        tree_model(fitted)
    with pytest.raises(
        NotSavableError, match="DecisionTreeClassifier must predict one of at least two classes"
    ):
        tree_model(DecisionTreeClassifier().fit(X, np.zeros(len(X))))
    with pytest.raises(NotSavableError, match="it has several outputs"):
        tree_model(RandomForestClassifier(2).fit(X, np.stack([y, y], axis=1)))
    broken = AdaBoostClassifier(n_estimators=3).fit(X, y)
    broken.estimator_weights_[:] = np.nan
    with pytest.raises(NotSavableError, match="AdaBoostClassifier cannot be saved: value must be finite"):
        tree_model(broken)
