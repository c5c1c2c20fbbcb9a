"""OCBClassifier: what it learns, however the stream is cut, what it refuses, how it fits scikit-learn."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, OCBClassifier, adaboost_weights
from ocboost.hypotheses import Stumps
from ocboost.learners import Learner, StumpLearner
from tests.support.classifiers import BOOSTER_SETTINGS, assert_same_weights, examples

# What it learns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", BOOSTER_SETTINGS)
@given(data=st.data())
@settings(max_examples=5)
def test_however_the_stream_is_cut(name, n_classes, data):
    X, y = examples(n_classes, 100)
    weights = np.random.default_rng(1).uniform(0, 2, 100) if data.draw(st.booleans()) else None
    cuts = sorted(data.draw(st.sets(st.integers(41, 99), max_size=8)))
    whole, parts, rows = (
        OCBClassifier(n_hypotheses=6, **BOOSTER_SETTINGS[name]).fit(X[:40], y[:40]) for _ in range(3)
    )

    def feed(clf, start, stop):
        clf.partial_fit(
            X[start:stop], y[start:stop], sample_weight=None if weights is None else weights[start:stop]
        )

    feed(whole, 40, 100)
    for start, stop in zip([40, *cuts], [*cuts, 100], strict=True):
        feed(parts, start, stop)
    for i in range(40, 100):
        feed(rows, i, i + 1)
    assert_same_weights(parts, whole)
    assert_same_weights(rows, whole)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("estimator", [None, "ball", DecisionTreeClassifier(max_depth=2)])
def test_while_all_fits_in_the_head_it_is_adaboost(estimator, n_classes):
    X, y = examples(n_classes)
    weights = np.random.default_rng(2).uniform(0.1, 3, len(y))
    clf = OCBClassifier(estimator, 8, head=1000, random_state=0).fit(X[:80], y[:80], weights[:80])
    clf.partial_fit(X[80:], y[80:], sample_weight=weights[80:])
    answers = clf.hypotheses_.answers(X)
    for k, (alpha, columns) in enumerate(zip(clf.alpha_, clf.committee_.columns, strict=True)):
        signs = np.where(y == (1 if n_classes == 2 else k), 1, -1)
        expected = adaboost_weights(answers[:, columns] * signs[:, None], sample_weight=weights)
        np.testing.assert_allclose(alpha, expected, atol=1e-10)
    votes = np.stack(
        [answers[:, c] @ a for c, a in zip(clf.committee_.columns, clf.alpha_, strict=True)], axis=1
    )
    found = clf.decision_function(X)
    assert found.shape == ((len(y),) if n_classes == 2 else (len(y), n_classes))
    np.testing.assert_allclose(found.reshape(votes.shape), votes, atol=1e-12)
    np.testing.assert_allclose(clf.committee_.votes_of(answers), found, atol=1e-12)
    expected = votes[:, 0] > 0 if n_classes == 2 else votes.argmax(axis=1)
    np.testing.assert_array_equal(clf.predict(X), expected)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_are_the_logistic_link(n_classes):
    X, y = examples(n_classes)
    clf = OCBClassifier(n_hypotheses=10).fit(X, y)
    shares, votes = clf.predict_proba(X), clf.decision_function(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    if n_classes == 2:
        np.testing.assert_allclose(shares[:, 1], 1 / (1 + np.exp(-2 * votes)))
    else:
        np.testing.assert_allclose(shares, np.exp(2 * votes) / np.exp(2 * votes).sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(shares.argmax(axis=1), votes.argmax(axis=1))


def test_no_vote_is_beyond_the_link():
    X = np.repeat([[0.0], [1.0]], 20_000, axis=0)
    y = X[:, 0] > 0.5
    clf = OCBClassifier(n_hypotheses=5, smoothing=0.0).fit(X, y)
    shares = clf.predict_proba(X)
    assert np.isfinite(shares).all()
    assert clf.score(X, y) == 1.0


def test_it_follows_a_stream_that_turns():
    X, y = examples(n=600)
    clf = OCBClassifier(n_hypotheses=10, forgetting=0.98).fit(X[:200], y[:200])
    assert clf.score(X[200:], y[200:]) > 0.65
    clf.partial_fit(X[200:], 1 - y[200:])
    assert clf.score(X, y) < 0.35


@pytest.mark.parametrize("n_classes", [2, 3])
def test_given_hypotheses_are_shared_by_all_classes(n_classes):
    X, y = examples(n_classes)
    pool = Stumps([0, 1, 2, 0], [0.0, 0.1, 0.2, -0.5], [-1, -1, -1, -1], n_features=4)
    clf = OCBClassifier(pool).partial_fit(X, y)
    assert clf.hypotheses_ is pool
    assert all(alpha.shape == (4,) for alpha in clf.alpha_)
    one_by_one = OCBClassifier(pool)
    for i in range(len(y)):
        one_by_one.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(n_classes))
    assert_same_weights(one_by_one, clf)
    assert clf.score(X, y) > 1 / n_classes + 0.1


@pytest.mark.parametrize("estimator", [None, "ball", LogisticRegression(), StumpLearner(max_bins=4)])
def test_a_class_that_comes_later_weighs_the_hypotheses_of_the_others(estimator):
    X, y = examples(3, 600)
    early = y[:300] != 0
    clf = OCBClassifier(estimator, 20, random_state=0, forgetting=0.99)
    clf.partial_fit(X[:300][early], y[:300][early], classes=[0, 1, 2])
    assert len(clf.alpha_[0]) == len(clf.alpha_[1]) + len(clf.alpha_[2])
    assert not (clf.predict(X) == 0).any()
    clf.partial_fit(X[300:], y[300:])
    found = clf.predict(X[300:])
    assert (found == 0).any()
    assert np.mean(found == y[300:]) > 0.5


class OneForEach(Learner):
    """One stump for the first target, two for the second, and so on."""

    def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
        raise NotImplementedError

    def learn_each(self, X, targets, *, n_hypotheses, sample_weight=None, rng=None, n_jobs=None):
        return [StumpLearner().learn(X, y, n_hypotheses=k + 1) for k, y in enumerate(targets)]


def test_a_band_wider_than_the_hypotheses():
    X, y = examples(4)
    clf = OCBClassifier(OneForEach(), order=2).fit(X, y)
    assert [booster.n_hypotheses for booster in clf.boosters_] == [1, 2, 3, 4]
    assert [booster.order for booster in clf.boosters_] == [1, 2, 2, 2]
    with pytest.raises(InputError, match="order must be a whole number of at least 1; got 0"):
        OCBClassifier(order=0).fit(X, y)


def test_an_example_of_no_weight_is_none():
    X, y = examples(3)
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    with_them = OCBClassifier(n_hypotheses=8).fit(X, y, weights)
    without = OCBClassifier(n_hypotheses=8).fit(X[weights > 0], y[weights > 0])
    assert_same_weights(with_them, without)
    with pytest.raises(ValueError, match=r"(?i)sample weights must contain at least one non-zero"):
        OCBClassifier().fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"(?i)negative"):
        OCBClassifier().fit(X, y, -weights)


# Settings that change ---------------------------------------------------------------------------------


def test_forgetting_set_later_takes_effect():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=6, head=1000).fit(X[:60], y[:60]).set_params(forgetting=0.9)
    clf.partial_fit(X[60:], y[60:])
    weights = np.concatenate([np.full(60, 0.9**60), 0.9 ** np.arange(59, -1, -1.0)])
    margins = clf.hypotheses_.answers(X) * np.where(y == 1, 1, -1)[:, None]
    np.testing.assert_allclose(clf.alpha_[0], adaboost_weights(margins, sample_weight=weights), atol=1e-10)


def test_smoothing_and_a_window_set_later_take_effect():
    X, y = examples(3)
    clf = OCBClassifier(n_hypotheses=6).fit(X[:60], y[:60])
    clf.set_params(tail=False, head=25, smoothing=3.0).partial_fit(X[60:], y[60:])
    for k, columns in enumerate(clf.committee_.columns):
        margins = clf.hypotheses_.answers(X[-25:])[:, columns] * np.where(y[-25:] == k, 1, -1)[:, None]
        np.testing.assert_allclose(clf.alpha_[k], adaboost_weights(margins, smoothing=3.0), atol=1e-10)
    clf.set_params(tail=True, head="auto").partial_fit(X[:5], y[:5])
    assert clf.boosters_[0].tail
    assert clf.boosters_[0].n_head > 0


@pytest.mark.parametrize("change", [{"order": 2}, {"correction": "own"}])
def test_what_cannot_change_once_fitted(change):
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=6).fit(X, y)
    before = clf.alpha_[0]
    clf.set_params(**change)
    with pytest.raises(InputError, match=f"got {next(iter(change))}"):
        clf.partial_fit(X, y)
    np.testing.assert_array_equal(clf.alpha_[0], before)
    clf.fit(X, y)  # from the beginning it can


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("batch_size", [0, -1, 1.5, "many", True])
def test_a_wrong_batch_size(batch_size, n_classes):
    X, y = examples(n_classes)
    with pytest.raises(InputError, match="batch_size must be a whole number of at least 1"):
        OCBClassifier(batch_size=batch_size).fit(X, y)
    clf = OCBClassifier(n_hypotheses=5).fit(X, y).set_params(batch_size=batch_size)
    with pytest.raises(InputError, match="batch_size must be a whole number of at least 1"):
        clf.partial_fit(X, y)


def test_a_huge_batch_size_is_all_at_once():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=5, head=1, batch_size=10**30).fit(X, y).partial_fit(X, y)
    assert clf.boosters_[0].n_seen == 240


def test_fitting_again_takes_what_the_new_learner_takes():
    X, y = examples()
    clf = OCBClassifier("ball", 5, random_state=0).fit(X, y)
    holes = np.where(X > 1.5, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        clf.predict(holes)
    clf.set_params(estimator=None).fit(holes, y)
    assert np.isfinite(clf.decision_function(holes)).all()


# With scikit-learn ------------------------------------------------------------------------------------


def test_in_a_pipeline_with_holes():
    X, y = examples(n=300)
    X[::7, 1] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), OCBClassifier(n_hypotheses=20))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.65


def test_grid_search_and_clone():
    X, y = examples(n=200)
    grid = GridSearchCV(
        OCBClassifier(), {"n_hypotheses": [2, 10], "forgetting": [0.99, 1.0]}, cv=2, error_score="raise"
    )
    best = grid.fit(X, y).best_estimator_
    assert set(grid.best_params_) == {"n_hypotheses", "forgetting"}
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    fresh = clone(best)
    assert fresh.get_params() == best.get_params()
    assert not hasattr(fresh, "boosters_")
    stumps = clone(OCBClassifier(Stumps([0], [0.0], [-1], n_features=4))).partial_fit(X, y)
    assert stumps.score(X, y) > 0.6


def test_calibrated():
    X, y = examples(3, 300)
    model = CalibratedClassifierCV(OCBClassifier(n_hypotheses=10), cv=3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_copies_go_their_own_ways():
    X, y = examples(3)
    clf = OCBClassifier(n_hypotheses=6).fit(X, y)
    before = clf.alpha_
    for made in (copy.copy(clf), copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert_same_weights(made, clf)
        made.partial_fit(X, y)
        assert (made.alpha_[0] != before[0]).any()
    np.testing.assert_array_equal(clf.alpha_[0], before[0])


def test_names_of_features():
    X, y = examples()
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = OCBClassifier(n_hypotheses=6).fit(frame, pd.Series(np.where(y == 1, "up", "down")))
    assert clf.feature_names_in_.tolist() == list("abcd")
    assert set(clf.predict(frame)) == {"up", "down"}
    for ask in (clf.predict, clf.predict_proba, clf.decision_function):
        with pytest.raises(ValueError, match="feature names"):
            ask(frame.rename(columns={"b": "other"}))
    np.testing.assert_array_equal(clf.predict(frame[["b", "a", "c", "d"]]), clf.predict(frame))


def test_sparse_is_as_dense():
    X, y = examples(3, 300)
    X[np.abs(X) < 0.7] = 0.0
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        dense = OCBClassifier(n_hypotheses=15).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
        other = OCBClassifier(n_hypotheses=15).fit(form(X[:200]), y[:200]).partial_fit(form(X[200:]), y[200:])
        assert_same_weights(other, dense)
        np.testing.assert_array_equal(other.decision_function(form(X)), dense.decision_function(X))


def test_sparse_is_refused_where_it_cannot_be_used():
    X, y = examples()
    with pytest.raises(TypeError, match=r"(?i)sparse .*dense"):
        OCBClassifier("ball").fit(sparse.csr_matrix(X), y)


def test_missing_values():
    X, y = examples(n=300)
    X[::5, 0] = np.nan
    clf = OCBClassifier(n_hypotheses=10).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    with pytest.raises(ValueError, match="infinity"):
        clf.predict(np.where(np.isnan(X), np.inf, X))
    with pytest.raises(ValueError, match="NaN"):
        OCBClassifier("ball").fit(X, y)


# What it refuses --------------------------------------------------------------------------------------


def test_a_class_that_was_never_named():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    before = clf.alpha_[0]
    with pytest.raises(InputError, match=r"y must hold the classes \[0, 1\]; got .*7.* in row 2"):
        clf.partial_fit(X[:4], [0, 1, 7, 0])
    with pytest.raises(InputError, match=r"got .*'up'.* in row 0"):
        clf.partial_fit(X[:2], ["up", "down"])
    with pytest.raises(InputError, match=r"got .*5.* in row 0"):
        OCBClassifier().partial_fit(X, np.where(y == 1, 5, 0), classes=[0, 1])
    with pytest.raises(InputError, match="classes must be those of the first call"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(clf.alpha_[0], before)


@pytest.mark.parametrize("labels", [[0.0, 1.0], [False, True], np.array([0, 1], np.uint8)])
def test_labels_of_another_type_that_mean_the_same(labels):
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    expected = copy.copy(clf).partial_fit(X, y)
    assert_same_weights(clf.partial_fit(X, np.asarray(labels)[y]), expected)


@pytest.mark.parametrize("estimator", [None, "ball", Stumps([0], [0.0], [1], n_features=4)])
def test_one_class_only(estimator):
    X, _ = examples()
    for learn in (OCBClassifier(estimator).fit, OCBClassifier(estimator).partial_fit):
        with pytest.raises(ValueError, match=r"at least two.*got.*3"):
            learn(X, np.full(len(X), 3))
    with pytest.raises(InputError, match="at least two"):
        OCBClassifier(estimator).partial_fit(X, np.full(len(X), 3), classes=[3])


def test_wrong_shapes():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    with pytest.raises(ValueError, match="0 sample"):
        clf.partial_fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"3 features.*expecting 4"):
        clf.predict(X[:, :3])
    with pytest.raises(ValueError, match="inconsistent"):
        clf.partial_fit(X, y[:-1])
    with pytest.raises(InputError, match="X must have the 9 features of the hypotheses; got 4"):
        OCBClassifier(Stumps([0], [0.0], [1], n_features=9)).fit(X, y)
    with pytest.raises(NotFittedError):
        OCBClassifier().predict(X)
    assert not hasattr(OCBClassifier(), "alpha_")


@pytest.mark.parametrize("estimator", ["tree", 7, object()])
def test_an_estimator_that_is_none(estimator):
    X, y = examples()
    clf = OCBClassifier(estimator)
    repr(clf.__sklearn_tags__())
    with pytest.raises(InputError, match="estimator must be None, 'stump', 'ball'"):
        clf.fit(X, y)


@pytest.mark.parametrize("n_hypotheses", [0, 2.5, None])
def test_a_wrong_number_of_hypotheses(n_hypotheses):
    with pytest.raises(InputError, match="n_hypotheses must be a whole number of at least 1"):
        OCBClassifier(n_hypotheses=n_hypotheses).fit(*examples())


@pytest.mark.parametrize("scale", [1 / 300, 1e-30, 1e-300])
def test_weights_on_a_small_scale_weigh_the_same(scale):
    X, y = examples(2, 300)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 300)
    weights *= 300 / weights.sum()
    plain = OCBClassifier(n_hypotheses=20).fit(X, y, weights)
    small = OCBClassifier(n_hypotheses=20).fit(X, y, weights * scale)
    for clf, w in ((plain, weights), (small, weights * scale)):
        clf.partial_fit(X[:50], y[:50], sample_weight=w[:50])
    np.testing.assert_allclose(small.alpha_[0], plain.alpha_[0], atol=1e-9)
    assert np.abs(small.alpha_[0]).max() > 0.1


def test_weights_too_small_for_any_scale():
    X, y = examples(2, 30)
    with pytest.raises(InputError, match="must not be as small as this"):
        OCBClassifier().fit(X, y, np.full(30, 1e-320))


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = examples(2, 100)
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    before = clf.predict(X)
    with pytest.raises(InputError, match="at least two classes"):
        clf.fit(X[:, :2], np.zeros(100))
    np.testing.assert_array_equal(clf.predict(X), before)
    assert clf.n_features_in_ == X.shape[1]


def test_classes_must_be_finite_and_of_one_type():
    X, y = examples(2, 30)
    with pytest.raises(InputError, match="classes must be finite"):
        OCBClassifier().partial_fit(X, y.astype(float), classes=[0.0, 1.0, np.nan])
    with pytest.raises(ValueError, match="label"):
        OCBClassifier().fit(X, np.array([None, "a"] * 15, dtype=object))
