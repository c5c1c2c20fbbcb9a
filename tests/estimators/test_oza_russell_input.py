"""Input and parameters that Oza and Russell's classifier refuses, and those that change."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from ocboost.errors import InputError
from ocboost.lineage import OzaRussellClassifier
from tests.naive.oza_russell import Counts, some_examples

# What it refuses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"updates": "both"}, 'updates must be "poisson" or "weighted"; got \'both\''),
        ({"votes": "soft"}, 'votes must be "answers" or "probabilities"; got \'soft\''),
        ({"votes": ["answers"]}, "votes must be"),
        ({"smoothing": -1.0}, "smoothing must be"),
        ({"smoothing": np.nan}, "smoothing must be"),
        ({"forgetting": 0.0}, "forgetting must be"),
        ({"forgetting": 1.5}, "forgetting must be"),
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1; got 0"),
        ({"n_estimators": 2.5}, "n_estimators must be a whole number"),
        ({"estimator": []}, "estimator must be a classifier or a list of at least one"),
        ({"estimator": DecisionTreeClassifier()}, "has neither partial_fit nor learn_one"),
        ({"estimator": [GaussianNB(), "stump"]}, "'stump' has neither"),
    ],
)
def test_bad_parameters(parameters, text):
    X, y = some_examples(17, 20)
    clf = OzaRussellClassifier(**parameters)
    for learn in (clf.fit, clf.partial_fit):
        with pytest.raises(InputError, match=text):
            learn(X, y)
    assert not hasattr(clf, "classes_")
    assert not hasattr(clf, "n_features_in_")


def test_bad_examples_change_nothing():
    X, y = some_examples(18, 40)
    clf = OzaRussellClassifier(n_estimators=3, random_state=0).fit(X, y)
    before = pickle.dumps(clf)
    for X_bad, y_bad, more, text in (
        (X, np.full(40, 7), {}, "y must hold the classes"),
        (X[:, :2], y, {}, "features"),
        (np.full_like(X, np.nan), y, {}, "NaN"),
        (X[:0], y[:0], {}, "0 sample"),
        (X, y[:3], {}, "inconsistent numbers of samples"),
        (X, y.reshape(-1, 1).repeat(2, axis=1), {}, "1d array"),
        (X, np.where(y, np.nan, 0.0), {}, "NaN|y must hold the classes"),
        (X, np.array(["a"] * 40), {}, "y must hold the classes"),
        (X, y, {"classes": [0, 5]}, "classes must be those of the first call"),
        (X, y, {"sample_weight": np.full(40, 1e101)}, "sample_weight must be at most 1e"),
        (X, y, {"sample_weight": np.full(40, -1.0)}, "sample_weight must be finite and not negative"),
        (X, y, {"sample_weight": np.ones(3)}, "sample_weight must have one weight for each"),
    ):
        with pytest.raises(ValueError, match=text):
            clf.partial_fit(X_bad, y_bad, **more)
    with pytest.raises(InputError, match=r"at least two classes; got one class, 0, in all 40"):
        clf.fit(X[:, :2], np.zeros(40, int))
    with pytest.raises(ValueError, match=r"(?i)sample weights must contain at least one non-zero"):
        clf.fit(X, y, np.zeros(40))
    for change in ({"n_estimators": 5}, {"estimator": GaussianNB()}):
        other = pickle.loads(before).set_params(**change)
        with pytest.raises(InputError, match="cannot change once the classifier has been fitted"):
            other.partial_fit(X, y)
    assert pickle.dumps(clf) == before


def test_no_classes_at_all():
    X, y = some_examples(18, 10)
    with pytest.raises(InputError, match=r"classes must be at least two; got none\. Give"):
        OzaRussellClassifier().partial_fit(X, y, classes=[])


class Fails(Counts):
    """Will not learn a row whose first feature is far off."""

    def learn(self, example, code, weight=1.0):
        if abs(example.X[0, 0]) > 1e3:
            raise ValueError("cannot learn this")
        super().learn(example, code, weight)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_fit_that_fails_leaves_what_was_there(monkeypatch, error):
    X, y = some_examples(18, 40)
    bad = X.copy()
    bad[17, 0] = 1e6
    clf = OzaRussellClassifier(Fails(), 3, updates="weighted").fit(X, y)
    before = pickle.dumps(clf)
    if error is KeyboardInterrupt:
        plain = Fails.learn

        def interrupted(self, example, code, weight=1.0):
            try:
                plain(self, example, code, weight)
            except ValueError:
                raise KeyboardInterrupt from None

        monkeypatch.setattr(Fails, "learn", interrupted)
    with pytest.raises(error):
        clf.fit(bad[:, :2], y)
    assert pickle.dumps(clf) == before
    fresh = OzaRussellClassifier(Fails(), 3, updates="weighted")
    for learn in (fresh.fit, fresh.partial_fit):
        with pytest.raises(error):
            learn(bad, y)
        with pytest.raises(NotFittedError):
            fresh.predict(X)
        assert not hasattr(fresh, "n_seen_")


def test_a_member_that_fails_on_the_way_leaves_the_rows_before():
    X, y = some_examples(18, 40)
    bad = X.copy()
    bad[17, 0] = 1e6
    clf, other = (OzaRussellClassifier(Fails(), 3, updates="weighted").fit(X, y) for _ in range(2))
    with pytest.raises(ValueError, match="cannot learn this"):
        clf.partial_fit(bad, y)
    assert clf.n_seen_ == 40 + 17
    other.partial_fit(X[:17], y[:17])
    np.testing.assert_array_equal(clf.lambda_right_, other.lambda_right_)


@pytest.mark.parametrize("smoothing", [np.nan, -5.0, np.inf, "a", None, True])
def test_smoothing_is_checked_whenever_it_is_used(smoothing):
    X, y = some_examples(18, 40)
    clf = OzaRussellClassifier(n_estimators=3, random_state=0).fit(X, y).set_params(smoothing=smoothing)
    for use in (
        lambda: clf.alpha_,
        lambda: clf.errors_,
        lambda: clf.decision_function(X),
        lambda: clf.predict(X),
        lambda: clf.predict_proba(X),
    ):
        with pytest.raises(InputError, match="smoothing must be a"):
            use()
    assert np.isfinite(clf.set_params(smoothing=0.5).alpha_).all()


def test_updates_can_change_on_the_way_where_the_members_can():
    X, y = some_examples(19, 80)
    clf, other = (OzaRussellClassifier(n_estimators=3, random_state=0).fit(X[:40], y[:40]) for _ in range(2))
    clf.set_params(updates="weighted").partial_fit(X[40:], y[40:])
    other.partial_fit(X[40:], y[40:])
    assert (clf.alpha_ != other.alpha_).any()
    before = pickle.dumps(clf)
    for _ in range(2):
        with pytest.raises(InputError, match="updates must be"):
            clf.set_params(updates="often").partial_fit(X, y)
    clf.set_params(updates="weighted")
    assert pickle.dumps(clf) == before
    river = pytest.importorskip("river.naive_bayes")
    clf = OzaRussellClassifier(river.GaussianNB(), 2, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="has no w in its learn_one"):
        clf.set_params(updates="weighted").partial_fit(X, y)


def test_rows_of_other_types_are_the_same_rows():
    X, y = some_examples(20, 60)
    X = X.astype(np.float32)
    plain, listed, strided, typed = (OzaRussellClassifier(n_estimators=3, random_state=0) for _ in range(4))
    for part in (slice(0, 30), slice(30, 60)):
        wide = np.repeat(X[part].astype(np.float64), 2, axis=1)
        plain.partial_fit(X[part].astype(np.float64), y[part])
        listed.partial_fit(X[part].tolist(), y[part].tolist())
        strided.partial_fit(wide[:, ::2], y[part].astype(float))
        typed.partial_fit(X[part], y[part].astype(np.int8))
    for other in (listed, strided, typed):
        np.testing.assert_array_equal(other.decision_function(X.tolist()), plain.decision_function(X))
    assert (plain.decision_function(X.astype(np.float64)) == plain.decision_function(X)).all()


def test_nothing_is_known_before_the_first_example():
    clf = OzaRussellClassifier()
    for what in ("alpha_", "errors_", "members_", "lambda_right_", "lambda_wrong_"):
        with pytest.raises((NotFittedError, AttributeError)):
            getattr(clf, what)
    with pytest.raises(NotFittedError):
        clf.predict([[0.0]])
