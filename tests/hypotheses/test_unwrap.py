"""Ensembles inside pipelines, searches, thresholds and calibration."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, OCBClassifier
from ocboost.hypotheses import Callables, Stumps, from_sklearn
from ocboost.hypotheses.member_trees import member_trees
from ocboost.hypotheses.unwrap import unwrapped
from tests.support.foreign_trees import examples

DEPTH = {"max_depth": [2]}


def forest(n=3):
    return RandomForestClassifier(n, max_depth=2, random_state=0)


def rows(n_classes=2):
    return examples(n_classes, n=200, missing=False)


SEARCHES = {
    "grid": lambda model: GridSearchCV(model, DEPTH, cv=2),
    "random": lambda model: RandomizedSearchCV(model, DEPTH, n_iter=1, cv=2),
    "halving": lambda model: HalvingGridSearchCV(model, DEPTH, cv=2),
}
WRAPPED = {
    **SEARCHES,
    "pipeline": make_pipeline,
    "nested": lambda model: make_pipeline(
        "passthrough", make_pipeline("passthrough", GridSearchCV(model, DEPTH))
    ),
    "of nothing": lambda model: Pipeline([("no", None), ("model", model)]),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_the_ensemble_inside(name):
    X, y = rows(3)
    fitted = WRAPPED[name](forest()).fit(X, y)
    transformers, inside = unwrapped(fitted)
    assert transformers == []
    assert isinstance(inside, RandomForestClassifier)
    members = from_sklearn(fitted)
    np.testing.assert_array_equal(members.answers(X), from_sklearn(inside).answers(X))
    assert len(members) == 9
    turned = from_sklearn(fitted, classes=fitted.classes_[::-1])
    np.testing.assert_array_equal(
        turned.answers(X), from_sklearn(inside, classes=inside.classes_[::-1]).answers(X)
    )


def test_transformers_before_it():
    X, y = rows()
    scaler, other = StandardScaler(), MinMaxScaler()
    inner = Pipeline([("other", other), ("none", "passthrough")])
    fitted = make_pipeline(scaler, None, inner, GridSearchCV(forest(), DEPTH, cv=2)).fit(X, y)
    transformers, inside = unwrapped(fitted)
    assert [type(each) for each in transformers] == [StandardScaler, MinMaxScaler]
    assert inside is fitted[-1].best_estimator_
    search = GridSearchCV(make_pipeline(scaler, forest()), {"randomforestclassifier__max_depth": [2]}, cv=2)
    transformers, inside = unwrapped(search.fit(X, y))
    assert [type(each) for each in transformers] == [StandardScaler]
    assert transformers[0] is search.best_estimator_[0]
    assert inside is search.best_estimator_[1]
    assert unwrapped(FrozenEstimator(search)) == unwrapped(search)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_after_transformers_take_rows_as_they_came(n_classes):
    X, y = rows(n_classes)
    pipeline = make_pipeline(StandardScaler(), MinMaxScaler(), forest())
    for fitted in (
        pipeline.fit(X, y),
        GridSearchCV(pipeline, {"randomforestclassifier__max_depth": [2]}, cv=2).fit(X, y),
    ):
        transformers, inside = unwrapped(fitted)
        Z = transformers[1].transform(transformers[0].transform(X))
        members = from_sklearn(fitted)
        np.testing.assert_array_equal(members.answers(X), from_sklearn(inside).answers(Z))
    fitted = CalibratedClassifierCV(pipeline, cv=2).fit(X, y)
    each = [from_sklearn(one.estimator).answers(X) for one in fitted.calibrated_classifiers_]
    groups = 1 if n_classes == 2 else n_classes
    by_class = [np.hsplit(answers, groups)[k] for k in range(groups) for answers in each]
    np.testing.assert_array_equal(from_sklearn(fitted).answers(X), np.hstack(by_class))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_models_give_the_trees_of_all_of_them(n_classes):
    X, y = rows(n_classes)
    for base in (forest(), make_pipeline("passthrough", forest())):
        fitted = CalibratedClassifierCV(base, cv=2).fit(X, y)
        inside = [unwrapped(each.estimator)[1] for each in fitted.calibrated_classifiers_]
        every = from_sklearn(
            [tree for each in inside for tree in each.estimators_], classes=np.arange(n_classes)
        )
        members = from_sklearn(fitted)
        np.testing.assert_array_equal(members.answers(X), every.answers(X))
        np.testing.assert_array_equal(member_trees(fitted).answers(X), every.answers(X))
    once = CalibratedClassifierCV(forest(), cv=2, ensemble=False).fit(X, y)
    assert len(from_sklearn(once)) == 3 * (1 if n_classes == 2 else 3)
    linear = CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, y)
    members = from_sklearn(linear)
    assert isinstance(members, Callables)
    assert len(members) == 3 * (1 if n_classes == 2 else 3)
    assert member_trees(linear) is None


def test_a_threshold_moved():
    X, y = rows()
    for wrap in (FixedThresholdClassifier, TunedThresholdClassifierCV):
        fitted = wrap(make_pipeline("passthrough", forest())).fit(X, y == "red")
        expected = from_sklearn(fitted.estimator_[-1]).answers(X)
        np.testing.assert_array_equal(from_sklearn(fitted).answers(X), expected)
        np.testing.assert_array_equal(member_trees(fitted).answers(X), expected)


def test_member_trees_or_none():
    X, y = rows()
    one = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert isinstance(member_trees(one), Stumps)
    mixed = VotingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier())]).fit(X, y)
    trees = VotingClassifier([("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier())]).fit(X, y)
    assert len(member_trees(trees)) == 2
    assert isinstance(from_sklearn(mixed), Callables)
    for none in (mixed, LogisticRegression().fit(X, y), AdaBoostClassifier(LogisticRegression()).fit(X, y)):
        assert member_trees(none) is None
    for unfitted in (forest(), AdaBoostClassifier(), CalibratedClassifierCV(forest())):
        with pytest.raises(InputError, match=r"which is not fitted\. Call its fit first"):
            member_trees(unfitted)


# What is refused ----------------------------------------------------------------------------------------


def test_a_model_without_members_is_not_one_silent_hypothesis():
    X, y = rows()
    for fitted in (
        GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2).fit(X, y),
        make_pipeline(LogisticRegression()).fit(X, y),
    ):
        with pytest.raises(
            InputError,
            match=rf"got {type(fitted).__name__} around LogisticRegression, which has none. Give \[fitted\]",
        ):
            from_sklearn(fitted)
        assert len(from_sklearn([fitted])) == 1


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=list(WRAPPED))
def test_what_is_not_fitted(wrap):
    with pytest.raises(InputError, match=r"which is not fitted\. Call its fit first"):
        from_sklearn(wrap(forest()))


def test_a_search_without_a_best_estimator_and_a_pipeline_without_a_classifier():
    X, y = rows()
    search = GridSearchCV(forest(), DEPTH, cv=2, refit=False).fit(X, y)
    with pytest.raises(InputError, match=r"got a GridSearchCV with refit=False. Fit it with refit=True"):
        from_sklearn(search)
    steps = Pipeline([("scale", StandardScaler()), ("none", "passthrough")]).fit(X)
    with pytest.raises(
        InputError, match="fitted must end in a classifier; got a Pipeline whose last step is 'pass"
    ):
        from_sklearn(steps)


# OCBClassifier.from_fitted ------------------------------------------------------------------------------


def test_adaboost_inside_is_adopted():
    X, y = rows(3)
    for wrap in (
        lambda model: GridSearchCV(model, {"n_estimators": [5]}, cv=2),
        lambda model: make_pipeline("passthrough", model),
    ):
        deployed = wrap(AdaBoostClassifier(random_state=0)).fit(X, y)
        clf = OCBClassifier.from_fitted(deployed, X, y)
        np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
        alone = OCBClassifier.from_fitted(unwrapped(deployed)[1], X, y)
        np.testing.assert_array_equal(clf.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize(
    ("make", "what", "trees"),
    [
        (forest, "RandomForestClassifier", True),
        (lambda: GridSearchCV(forest(), DEPTH, cv=2), "GridSearchCV around RandomForestClassifier", True),
        (LogisticRegression, "LogisticRegression", False),
        (
            lambda: make_pipeline(StandardScaler(), LogisticRegression()),
            "Pipeline around LogisticRegression, with StandardScaler before it",
            False,
        ),
        (lambda: FixedThresholdClassifier(AdaBoostClassifier()), "FixedThresholdClassifier", True),
    ],
)
def test_the_way_that_works_is_named(make, what, trees):
    X, y = rows()
    fitted = make()
    with pytest.raises(InputError, match="which is not fitted"):
        OCBClassifier.from_fitted(fitted, X, y)
    fitted.fit(X, y == "red")
    with pytest.raises(InputError, match=rf"AdaBoostClassifier of scikit-learn; got {what}\. Use ") as caught:
        OCBClassifier.from_fitted(fitted, X, y)
    assert "AdaptiveClassifier.from_fitted(model, X, y)" in str(caught.value)
    assert ("OCBClassifier(from_sklearn(model)).fit(X, y)" in str(caught.value)) == trees
