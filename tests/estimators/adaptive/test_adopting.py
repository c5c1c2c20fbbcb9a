"""A deployed model adopted: its own predictions and probabilities until the first label, then it learns."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from ocboost import AdaptiveClassifier
from ocboost.estimators.adaptive.deployed import FEW_ROWS
from ocboost.hypotheses import Joined
from tests.support.adaptive import same, sparse_stream, stream
from tests.support.adopted import (
    EVERY_MODEL,
    SAVED_WITHOUT_TREES,
    WITH_TREES,
    N,
    OnlyProbabilities,
    adopt,
    expected,
    fitted_model,
    rows,
)

SIZES = (1, 5, FEW_ROWS, FEW_ROWS + 1, 150)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", EVERY_MODEL)
def test_the_same_until_the_first_label(name, K):
    X, y = rows(K)
    model = fitted_model(name, K)
    clf = adopt(model, X, y)
    exact = np.testing.assert_array_equal if hasattr(model, "predict_proba") else nearly
    for n in SIZES:
        some = X[N : N + n]
        exact(clf.predict_proba(some, issue=False), expected(model, some))
        exact(clf.predict_proba(some), expected(model, some))
        predicted = clf.predict(some, issue=False)
        if hasattr(model, "predict"):
            np.testing.assert_array_equal(predicted, model.predict(some))
        else:
            np.testing.assert_array_equal(predicted, expected(model, some).argmax(axis=1))
    for i in range(N, N + 3):
        exact(clf.predict_proba_one(X[i]), expected(model, X[i : i + 1])[0])
        assert clf.predict_one(X[i].tolist(), issue=False) == clf.predict(X[i : i + 1], issue=False)[0]
    some = X[N : N + 60]
    for other in (copy.copy(clf), copy.deepcopy(clf)):
        exact(other.predict_proba(some), expected(model, some))
    share = {member.name: member.share for member in clf.members_}
    assert share["deployed"] == pytest.approx(1.0)
    clf.learn_one(X[N], y[N])
    assert (clf.predict_proba(some) != expected(model, some)).any()


def nearly(found, right):
    """The link of scores: scipy's logistic function may round otherwise than the formula does."""
    np.testing.assert_allclose(found, right, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", EVERY_MODEL)
def test_trees_are_in_the_pool(name, K):
    X, y = rows(K)
    clf = adopt(fitted_model(name, K), X, y)
    pool = clf.bank_.pool.hypotheses
    if name not in WITH_TREES:
        assert clf.bank_.given is None
        assert not isinstance(pool, Joined)
        return
    given = clf.bank_.given
    assert 1 <= len(given) <= (3 if K == 2 else 9)  # a quarter of twelve, for each class
    assert len(pool) == (12 if K == 2 else 36)
    own, ours = given.answers(X), pool.answers(X)
    for j in range(len(given)):  # each of them is there
        assert (ours == own[:, j : j + 1]).all(axis=0).any()


def test_the_logistic_link():
    X, y = rows()
    model = LinearSVC().fit(X[:N], y[:N])
    found = adopt(model, X, y).predict_proba(X)
    scores = model.decision_function(X)
    nearly(found[:, 1], 1.0 / (1.0 + np.exp(-scores)))
    np.testing.assert_array_equal(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found[:, 1] > 0.5, scores > 0.0)


@pytest.mark.parametrize("name", ["HistGradientBoosting", "LightGBM", "XGBoost"])
def test_missing_values_where_the_model_takes_them(name):
    X, y = stream(600)
    assert np.isnan(X[N : N + 60]).any()
    model = EVERY_MODEL[name]().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    for n in (20, 60):
        some = X[N : N + n]
        np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some))


def test_categories_as_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 400), rng.normal(size=400)]).astype(float)
    y = np.isin(X[:, 0], [1, 4]).astype(int)
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features=[0]).fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    assert clf.bank_.given is not None
    X[N:, 0] = rng.integers(0, 9, 400 - N)  # some are unknown
    X[-5:, 0] = np.nan
    for some in (X[N : N + 10], X[N:], X[-5:]):
        np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some))


@pytest.mark.parametrize("name", ["RandomForest", "XGBoost", "logistic", "LinearSVC", "only probabilities"])
def test_it_learns_where_the_model_does_not(name):
    X, y = rows()
    model = fitted_model(name)
    clf = adopt(model, X, y)
    right = []
    for i in range(N, 600):
        right.append(clf.predict_one(X[i]) == y[i])
        clf.learn_one(X[i], y[i])
    fixed = (expected(model, X[400:]).argmax(axis=1) == y[400:]).mean()
    assert np.mean(right[400 - N :]) > fixed + 0.1
    assert clf.n_learnt_ == 600


def test_what_becomes_of_the_model_makes_no_difference():
    X, y = rows()
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X[:N], y[:N])
    before = model.predict_proba(X)
    clf = adopt(model, X, y)
    model.partial_fit(X[300:], 1 - y[300:])
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_a_model_that_cannot_be_copied():
    X, y = rows()
    model = OnlyProbabilities(fitted_model("logistic"))
    model.lock = threading.Lock()
    clf = adopt(model, X, y)
    np.testing.assert_array_equal(copy.copy(clf).predict_proba(X), model.predict_proba(X))


def test_late_labels_and_copies_after_adoption():
    X, y = rows()
    clf = adopt(fitted_model("RandomForest"), X, y)
    moved = copy.copy(clf)
    for i in range(N, N + 60):
        for each in (clf, moved):
            each.predict(X[i : i + 1], ids=[i])
            if i >= N + 9:
                each.partial_fit(X[i - 9 : i - 8], y[i - 9 : i - 8], ids=[i - 9])
        if i % 20 == 5:
            moved = pickle.loads(pickle.dumps(moved))
    assert same(clf, moved)
    assert clf.n_waiting_ == 9


def test_settings_later():
    X, y = rows()
    model = fitted_model("logistic")
    clf = adopt(model, X, y)
    assert not hasattr(clone(clf), "bank_")
    clf.set_params(n_hypotheses=3, without=["forests"])
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(X))
    clf.partial_fit(X[N:300], y[N:300])
    assert clf.bank_.deployed is not None
    assert clf.fit(X, y).bank_.deployed is None


# Rows and classes of other types ---------------------------------------------------------------------------


def test_a_model_of_sparse_rows():
    X, y = sparse_stream()
    for model in (LogisticRegression(), RandomForestClassifier(n_estimators=4, random_state=0)):
        model.fit(X[:N], y[:N])
        clf = adopt(model, X, y)
        for some in (X, X[:3], X[:50].tocsc()):
            np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some))
        clf.partial_fit(X[N:300], y[N:300])
        assert np.isfinite(clf.predict_proba(X)).all()


def test_rows_go_to_the_model_as_they_came():
    """Some models compute in single precision if they are given it, and sums depend on the memory's order."""
    X, y = rows()
    single = X.astype(np.float32)
    model = LogisticRegression().fit(single[:N], y[:N])
    clf = adopt(model, single, y)
    assert (model.predict_proba(single) != model.predict_proba(X)).any()
    for some in (single, X, np.asfortranarray(X), pd.DataFrame(X), single[:3]):
        np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some))
    listed = clf.predict_proba(X.tolist())
    np.testing.assert_array_equal(listed, model.predict_proba(X))


@pytest.mark.parametrize(
    "classes",
    [
        ["x", "yy"],
        np.array(["x", "yy"], object),
        [False, True],
        [0.0, 1.0],
        [-1, 1],
        np.array([3, 7], np.uint8),
    ],
    ids=["texts", "objects", "truth values", "floats", "negative", "small"],
)
def test_classes_of_every_type(classes):
    X, y = rows()
    labels = np.asarray(classes)[y]
    model = LogisticRegression().fit(X[:N], labels[:N])
    clf = adopt(model, X, labels)
    assert clf.classes_.dtype == model.classes_.dtype
    for _ in range(2):
        predicted = clf.predict(X, issue=False)
        assert predicted.dtype == model.predict(X).dtype
        if clf.bank_.untouched is not None:
            np.testing.assert_array_equal(predicted, model.predict(X))
            clf.partial_fit(X[N:300], labels[N:300])
    assert type(clf.predict_one(X[0])) is type(model.predict(X[:1]).tolist()[0])


@pytest.mark.parametrize("name", ["logistic", "RandomForest"])
def test_classes_in_another_order(name):
    X, y = rows(3)
    model = copy.deepcopy(fitted_model(name, 3))
    model.classes_ = np.array(["c", "a", "b"])
    order = [1, 2, 0]
    labels = model.classes_[y]
    clf = adopt(model, X, labels)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    for some in (X[:4], X):
        np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some)[:, order])
        np.testing.assert_array_equal(clf.predict(some), model.predict(some))
    clf.partial_fit(X[300:], labels[300:])
    assert (clf.predict(X[400:]) == labels[400:]).mean() > 0.5


def test_fewer_classes_among_the_rows():
    X, y = rows(3)
    model = fitted_model("logistic", 3)
    clf = adopt(model, X, np.minimum(y, 1))
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(X))
    clf.partial_fit(X[N:], y[N:])
    assert 2 in clf.predict(X)


class Contrary(LogisticRegression):
    def predict(self, X):
        return self.classes_[1 - super().predict_proba(X).argmax(axis=1)][:, None].tolist()


def test_predictions_are_the_model_s_own():
    X, y = rows()
    model = Contrary().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    np.testing.assert_array_equal(clf.predict(X), np.ravel(model.predict(X)))
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(X))
    assert clf.predict_one(X[0]) != clf.predict_proba(X[:1]).argmax()


ANSWERS = {
    "single precision": (lambda p: p.astype(np.float32), lambda p: p.astype(np.float32)),
    "sums other than one": (lambda p: p / 2.0, lambda p: p / 2.0),
    "a list": (lambda p: p.tolist(), lambda p: p),
    "a table": (pd.DataFrame, lambda p: p),
    "objects": (lambda p: p.astype(object), lambda p: p),
}


@pytest.mark.parametrize(("change", "right"), ANSWERS.values(), ids=ANSWERS)
def test_answers_of_other_types(change, right):
    X, y = rows()
    inside = fitted_model("logistic")
    clf = adopt(OnlyProbabilities(inside, change), X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), right(inside.predict_proba(X)))
    clf.partial_fit(X[N:300], y[N:300])
    assert clf.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


def test_readers_meanwhile():
    X, y = rows()
    clf = adopt(fitted_model("XGBoost"), X, y)
    errors = []

    def read():
        try:
            for _ in range(15):
                found = clf.predict_proba(X[:40], issue=False)
                assert np.abs(found.sum(axis=1) - 1.0).max() < 1e-6
                clf.predict_one(X[0], issue=False)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    clf.partial_fit(X[N:400], y[N:400])
    for thread in threads:
        thread.join()
    assert not errors
    alone = adopt(fitted_model("XGBoost"), X, y).partial_fit(X[N:400], y[N:400])
    np.testing.assert_array_equal(clf.predict_proba(X), alone.predict_proba(X))


def test_many_columns_and_deep_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 400))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = RandomForestClassifier(n_estimators=60, random_state=0).fit(X[:N], y[:N])
    clf = adopt(model, X, y, without=["forests"])
    for some in (X[:2], X):
        np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some))


def test_the_names_of_tests_are_all_kinds():
    assert {*WITH_TREES, *SAVED_WITHOUT_TREES} < set(EVERY_MODEL)
    assert AdaptiveClassifier.from_fitted(fitted_model("RandomForest")).bank_.pool is None
