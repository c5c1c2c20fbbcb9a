"""A deployed model adopted: its own predictions and probabilities until the first label, then it learns."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ocboost import AdaptiveClassifier, InputError, NotSavableError, OCBClassifier
from tests.support.adaptive import same, sparse_stream, state, stream

N = 220


def rows(K=2):
    X, y = stream(600, K)
    return np.nan_to_num(X), y


def adopt(model, X, y, **options):
    return AdaptiveClassifier.from_fitted(
        model, X[:N], y[:N], **{"n_hypotheses": 10, "random_state": 0, **options}
    )


MODELS = {
    "OCBClassifier": lambda: OCBClassifier(n_hypotheses=8, random_state=0),
    "AdaBoost": lambda: AdaBoostClassifier(n_estimators=5, random_state=0),
    "logistic": LogisticRegression,
    "forest": lambda: RandomForestClassifier(n_estimators=5, random_state=0),
    "pipeline": lambda: make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "naive Bayes": GaussianNB,
    "SGD": lambda: SGDClassifier(loss="log_loss", random_state=0),
}


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_same_until_the_first_label(make, K):
    X, y = rows(K)
    model = make().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    rest = X[N : N + 40]
    np.testing.assert_array_equal(clf.predict(rest, issue=False), model.predict(rest))
    np.testing.assert_array_equal(clf.predict_proba(rest), model.predict_proba(rest))
    np.testing.assert_array_equal(clf.predict(rest), model.predict(rest))
    for i in range(N, N + 5):
        assert clf.predict_one(X[i]) == model.predict(X[i : i + 1])[0]
        np.testing.assert_array_equal(clf.predict_proba_one(X[i]), model.predict_proba(X[i : i + 1])[0])
    for other in (copy.copy(clf), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(other.predict_proba(rest), model.predict_proba(rest))
    share = {member.name: member.share for member in clf.members_}
    assert share["deployed"] == pytest.approx(1.0)
    clf.learn_one(X[N], y[N])
    assert (clf.predict_proba(rest) != model.predict_proba(rest)).any()


def test_it_learns_where_the_model_does_not():
    X, y = rows()
    model = LogisticRegression().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    right = []
    for i in range(N, 600):
        right.append(clf.predict_one(X[i]) == y[i])
        clf.learn_one(X[i], y[i])
    fixed = (model.predict(X[400:]) == y[400:]).mean()
    assert np.mean(right[400 - N :]) > fixed + 0.1
    assert clf.n_learnt_ == 600


def test_what_becomes_of_the_model_makes_no_difference():
    X, y = rows()
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X[:N], y[:N])
    before = model.predict_proba(X)
    clf = adopt(model, X, y)
    model.partial_fit(X[300:], 1 - y[300:])
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_late_labels_and_copies_after_adoption():
    X, y = rows()
    clf = adopt(RandomForestClassifier(n_estimators=3, random_state=0).fit(X[:N], y[:N]), X, y)
    moved = copy.copy(clf)
    for i in range(N, N + 60):
        for each in (clf, moved):
            each.predict(X[i : i + 1], ids=[i])
            if i >= N + 9:
                each.partial_fit(X[i - 9 : i - 8], y[i - 9 : i - 8], ids=[i - 9])
        if i % 20 == 5:
            moved = pickle.loads(pickle.dumps(moved))
    np.testing.assert_array_equal(clf.predict_proba(X), moved.predict_proba(X))


def test_a_model_of_a_table():
    X, y = rows()
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    chosen = ColumnTransformer([("some", StandardScaler(), ["b", "a"])])
    whole = table
    for model in (make_pipeline(chosen, LogisticRegression()), GaussianNB()):
        table = whole
        model.fit(table[:N], y[:N])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf = adopt(model, table, y)
            table = table[:250]
            np.testing.assert_array_equal(clf.predict_proba(table), model.predict_proba(table))
            np.testing.assert_array_equal(clf.predict(table), model.predict(table))
            clf.predict_one(X[0])
            clf.partial_fit(table[N:], y[N:250])
            assert np.isfinite(clf.predict_proba(table)).all()
        with pytest.raises(
            InputError, match=r"X must have the columns of the model, \['a', .*; got \['a', 'z'"
        ):
            adopt(model, table.rename(columns={"b": "z"}), y)


def test_a_model_of_sparse_rows(tmp_path):
    X, y = sparse_stream()
    model = LogisticRegression().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(X))
    clf.partial_fit(X[N:300], y[N:300])
    assert np.isfinite(clf.predict_proba(X)).all()


def test_texts_as_classes():
    X, y = rows(3)
    names = np.array(["x", "yy", "z"])[y]
    model = LogisticRegression().fit(X[:N], names[:N])
    clf = adopt(model, X, names)
    assert (clf.predict(X) == model.predict(X)).all()
    assert clf.predict(X).dtype == model.predict(X).dtype
    clf.partial_fit(X[N:], names[N:])
    assert set(clf.predict(X)) <= {"x", "yy", "z"}


# What is refused -------------------------------------------------------------------------------------------


def test_models_that_do_not_fit():
    X, y = rows()
    model = LogisticRegression().fit(X[:N], y[:N])
    with pytest.raises(InputError, match="X must have the 4 features of the model; got 3"):
        adopt(model, X[:, :3], y)
    with pytest.raises(InputError, match=r"y must hold the classes \[0, 1\]; got 2 in row"):
        adopt(model, *rows(3))
    for other in (LinearSVC(), Perceptron(), RidgeClassifier()):
        with pytest.raises(
            InputError, match=r"with classes_ and predict_proba; got \w+\. .*CalibratedClassifierCV"
        ):
            adopt(other.fit(X[:N], y[:N]), X, y)
    with pytest.raises(
        InputError, match=r"model must be a fitted classifier .*; got LogisticRegression. Fit it first"
    ):
        adopt(LogisticRegression(), X, y)
    for nothing in (None, "a model", LogisticRegression, lambda X: X):
        with pytest.raises(InputError, match="model must be a fitted classifier"):
            adopt(nothing, X, y)
    own = AdaptiveClassifier(n_hypotheses=3).fit(X[:N], y[:N])
    with pytest.raises(
        InputError, match="got a AdaptiveClassifier, which learns by itself: call its partial_fit"
    ):
        adopt(own, X, y)
    unsorted = copy.deepcopy(model)
    unsorted.classes_ = np.array([1, 0])
    with pytest.raises(InputError, match=r"the model's classes_ must be sorted; got \[1, 0\]"):
        adopt(unsorted, X, y)


def test_rows_that_are_too_few():
    X, y = rows()
    model = LogisticRegression().fit(X[:N], y[:N])
    with pytest.raises(
        InputError, match=r"at least 200 labelled rows of two classes or more, .*; got 50 rows of 2"
    ):
        AdaptiveClassifier.from_fitted(model, X[:50], y[:50])
    with pytest.raises(InputError, match="got 300 rows of 1"):
        AdaptiveClassifier.from_fitted(model, X[:300], np.zeros(300, int))


class Odd(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, :1]


class Wild(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X) * np.nan


@pytest.mark.parametrize("kind", [Odd, Wild])
def test_probabilities_that_are_none(kind):
    X, y = rows()
    clf = adopt(kind().fit(X[:N], y[:N]), X, y)
    with pytest.raises(
        InputError, match=r"the deployed model must give finite probabilities of shape \(3, 2\)"
    ):
        clf.predict_proba(X[:3])
    assert clf.n_waiting_ == 0


@pytest.mark.parametrize("late", [False, True])
def test_a_row_that_the_model_refuses_changes_nothing(late):
    """Of a call with such a row nothing is learnt, and nothing is remembered of a prediction."""
    X, y = rows()
    clf = adopt(LogisticRegression().fit(X[:N], y[:N]), X, y)
    with_gap = X[N : N + 5].copy()
    clf.partial_fit(X[N + 5 : N + 10], y[N + 5 : N + 10])
    if late:
        clf.predict(X[N : N + 5], ids=range(5))
        clf.partial_fit(X[N + 10 : N + 12], y[N + 10 : N + 12])
    with_gap[3, 1] = np.nan
    model, clf.bank_.deployed = clf.bank_.deployed, None  # a foreign model is not saved
    before = state(clf)
    clf.bank_.deployed = model
    ids = range(5) if late else None
    for call in (
        lambda: clf.partial_fit(with_gap, y[N : N + 5], ids=ids),
        lambda: clf.partial_fit(with_gap[3:4], y[N : N + 1], ids=[3] if late else None),
        lambda: clf.predict(with_gap),
        lambda: clf.predict_proba(with_gap, issue=False),
    ):
        with pytest.raises(ValueError, match="NaN"):
            call()
    clf.bank_.deployed = None
    assert state(clf) == before


# Files -----------------------------------------------------------------------------------------------------


def test_a_foreign_model_is_not_saved(tmp_path):
    X, y = rows()
    clf = adopt(LogisticRegression().fit(X[:N], y[:N]), X, y)
    path = tmp_path / "model"
    for _ in range(2):
        with pytest.raises(
            NotSavableError, match="must be an OCBClassifier to be saved; it is LogisticRegression"
        ):
            clf.save(path)
        assert not path.exists()
        assert not list(tmp_path.iterdir())
        clf.partial_fit(X[N:300], y[N:300])
    path.write_bytes(b"before")
    with pytest.raises(NotSavableError):
        clf.save(path)
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("learnt", [0, 40])
def test_an_adopted_ocb_goes_on_from_a_file(K, learnt, tmp_path):
    X, y = rows(K)
    model = OCBClassifier(n_hypotheses=8, random_state=0).fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    clf.predict(X[N : N + 10])
    if learnt:
        clf.partial_fit(X[N : N + learnt], y[N : N + learnt])
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    if not learnt:
        np.testing.assert_array_equal(loaded.predict_proba(X, issue=False), model.predict_proba(X))
    for i in range(300, 360):
        for each in (clf, loaded):
            each.predict_one(X[i])
            each.learn_one(X[i], y[i])
    assert same(clf, loaded)
