"""Models that cannot be adopted, and rows that an adopted model refuses."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

from ocboost import AdaptiveClassifier, InputError, OCBClassifier
from tests.support.adaptive import state
from tests.support.adopted import N, OnlyProbabilities, adopt, fitted_model, rows

UNFITTED = [
    LogisticRegression(),
    RandomForestClassifier(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    GridSearchCV(LogisticRegression(), {}),
    LGBMClassifier(),
    XGBClassifier(),
    OCBClassifier(),
]


@pytest.mark.parametrize("model", UNFITTED, ids=lambda model: type(model).__name__)
def test_models_that_are_not_fitted(model):
    with pytest.raises(
        InputError, match=f"got {type(model).__name__}, which is not fitted. Call its fit first"
    ):
        adopt(model, *rows())


OTHERS = {
    "regressor": lambda X, y: RandomForestRegressor(2).fit(X, y),
    "clusterer": lambda X, y: KMeans(2, n_init=1).fit(X),
    "density estimator": lambda X, y: GaussianMixture(2).fit(X),
    "outlier detector": lambda X, y: IsolationForest(n_estimators=2).fit(X),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_estimators_of_other_kinds(kind):
    X, y = rows()
    with pytest.raises(InputError, match=rf"model must be a classifier; got \w+, a {kind}\."):
        adopt(OTHERS[kind](X, y), X, y)


def test_things_that_are_no_classifiers():
    X, y = rows()
    for nothing in (None, "a model", lambda X: X, StandardScaler().fit(X)):
        with pytest.raises(
            InputError, match="a fitted classifier with predict_proba or decision_function; got"
        ):
            adopt(nothing, X, y)
    with pytest.raises(InputError, match=r"got the class LogisticRegression\. Fit one first"):
        adopt(LogisticRegression, X, y)
    own = AdaptiveClassifier(n_hypotheses=3).fit(X[:N], y[:N])
    with pytest.raises(
        InputError, match="got AdaptiveClassifier, which learns by itself: call its partial_fit"
    ):
        adopt(own, X, y)
    search = GridSearchCV(LogisticRegression(), {}, refit=False, cv=2).fit(X[:N], y[:N])
    with pytest.raises(InputError, match=r"got GridSearchCV, which keeps none\. Fit it with refit=True"):
        adopt(search, X, y)


def test_classes_that_do_not_fit():
    X, y = rows()
    model = fitted_model("logistic")
    with pytest.raises(InputError, match=r"y must hold the classes \[0, 1\]; got 2 in row"):
        adopt(model, *rows(3))
    with pytest.raises(InputError, match=r"y must hold the classes \[0, 1\]; got '1' in row 0"):
        adopt(model, X, y.astype(str))
    with pytest.raises(InputError, match=r"y must hold a label for each row; got None in row"):
        adopt(model, X, np.where(y == 0, None, y))
    with pytest.raises(InputError, match="RandomForestClassifier, which predicts several"):
        adopt(RandomForestClassifier(n_estimators=2).fit(X, np.c_[y, y]), X, y)
    with pytest.raises(InputError, match=r"classes_ must be two or more, all different; got \[0\]"):
        adopt(DummyClassifier().fit(X, np.zeros(len(X), int)), X, y)
    doubled = copy.deepcopy(model)
    doubled.classes_ = np.array([1, 1])
    with pytest.raises(InputError, match=r"all different; got \[1, 1\]"):
        adopt(doubled, X, y)


def test_rows_that_do_not_fit():
    X, y = rows()
    model = fitted_model("logistic")
    with pytest.raises(InputError, match="X must have the 4 features of the model; got 3"):
        adopt(model, X[:, :3], y)
    with pytest.raises(
        InputError, match=r"at least 200 labelled rows of two classes or more, .*; got 50 rows of 2"
    ):
        AdaptiveClassifier.from_fitted(model, X[:50], y[:50])
    with pytest.raises(InputError, match="got 300 rows of 1"):
        AdaptiveClassifier.from_fitted(model, X[:300], np.zeros(300, int))
    with pytest.raises(InputError, match="must be given both, or neither; got y alone"):
        AdaptiveClassifier.from_fitted(model, None, y)
    with pytest.raises(ValueError, match="0 sample"):
        AdaptiveClassifier.from_fitted(model, X[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdaptiveClassifier.from_fitted(model, X[:300], y[:200])
    with pytest.raises(ValueError, match="sample_weight"):
        adopt(model, X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        adopt(model, np.where(X > 2.0, np.nan, X), y)


ANSWERS = {
    "NaN": (
        lambda p: p * np.nan,
        r"must give finite probabilities; OnlyProbabilities gives \[nan, nan\] for",
    ),
    "one column": (lambda p: p[:, :1], r"probabilities of shape \(220, 2\); .* gives shape \(220, 1\)"),
    "one dimension": (lambda p: p[:, 1], r"gives shape \(220,\)"),
    "fewer rows": (lambda p: p[:-1], r"gives shape \(219, 2\)"),
    "nothing": (lambda p: None, r"gives shape \(\)"),
    "ragged": (lambda p: [[1.0], [0.5, 0.5]], "must answer with numbers; OnlyProbabilities gives"),
    "texts": (lambda p: p.astype(str), "must answer with numbers"),
    "complex": (lambda p: p + 1j, "must answer with numbers"),
    "sparse": (csr_matrix, "must answer with numbers"),
    "scores": (lambda p: 3.0 * p - 1.0, "must give probabilities from 0 to 1; OnlyProbabilities gives"),
}


@pytest.mark.parametrize(("change", "message"), ANSWERS.values(), ids=ANSWERS)
def test_answers_that_are_no_probabilities(change, message):
    X, y = rows()
    with pytest.raises(InputError, match=message):
        adopt(OnlyProbabilities(fitted_model("logistic"), change), X, y)


@pytest.mark.parametrize("change", [lambda p: p * np.nan, lambda p: p[:, :1]], ids=["NaN", "shape"])
def test_answers_that_go_bad_later(change):
    X, y = rows()
    clf = adopt(OnlyProbabilities(fitted_model("logistic")), X, y)
    clf.bank_.deployed.model.change = change
    before = state_but_the_model(clf)
    for call in (
        lambda: clf.predict_proba(X[:3]),
        lambda: clf.predict_one(X[0]),
        lambda: clf.partial_fit(X[:3], y[:3]),
        lambda: clf.learn_one(X[0], y[0]),
    ):
        with pytest.raises(InputError, match="the deployed model must give"):
            call()
    assert clf.n_waiting_ == 0
    assert state_but_the_model(clf) == before


def state_but_the_model(clf):
    other = copy.copy(clf)
    other.bank_.deployed = other.bank_.untouched = None
    return state(other)


class Numbering(LogisticRegression):
    def predict(self, X):
        return super().predict_proba(X)


class Stranger(LogisticRegression):
    def predict(self, X):
        return np.full(len(X), 7)


@pytest.mark.parametrize("kind", [Numbering, Stranger])
def test_predictions_that_are_no_classes(kind):
    X, y = rows()
    clf = adopt(kind().fit(X[:N], y[:N]), X, y)
    with pytest.raises(
        InputError, match=r"predict of the deployed model must give one of the classes \[0, 1\] for each of 3"
    ):
        clf.predict(X[:3])
    assert clf.n_waiting_ == 0
    assert clf.predict_proba(X[:3]).shape == (3, 2)


def test_scores_of_pairs_of_classes():
    X = rows()[0]
    y = np.arange(len(X)) % 4
    model = SVC(decision_function_shape="ovo").fit(X[:N], y[:N])
    with pytest.raises(InputError, match=r"scores of shape \(220, 4\); SVC gives shape \(220, 6\)"):
        adopt(model, X, y)


@pytest.mark.parametrize("late", [False, True])
def test_a_row_that_the_model_refuses_changes_nothing(late):
    """Of a call with such a row nothing is learnt, and nothing is remembered of a prediction."""
    X, y = rows()
    clf = adopt(fitted_model("logistic"), X, y)
    with_gap = X[N : N + 5].copy()
    clf.partial_fit(X[N + 5 : N + 10], y[N + 5 : N + 10])
    if late:
        clf.predict(X[N : N + 5], ids=range(5))
        clf.partial_fit(X[N + 10 : N + 12], y[N + 10 : N + 12])
    with_gap[3, 1] = np.nan
    before = state(clf)
    ids = range(5) if late else None
    for call in (
        lambda: clf.partial_fit(with_gap, y[N : N + 5], ids=ids),
        lambda: clf.partial_fit(with_gap[3:4], y[N : N + 1], ids=[3] if late else None),
        lambda: clf.predict(with_gap),
        lambda: clf.predict_proba(with_gap, issue=False),
    ):
        with pytest.raises(ValueError, match=r"(?i)nan"):
            call()
    assert state(clf) == before
