"""The kinds of offsets: linear models, votes, scaled scores, functions and classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from ocboost import InputError, OCBClassifier
from ocboost.hypotheses import Stumps, from_sklearn
from ocboost.offsets import LinearOffset, ScaledOffset, VotedOffset, fit_offset
from tests.support.offset_examples import assert_same, examples, linear, pool


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier(), LinearSVC()])
def test_a_linear_model(model, n_classes):
    X, y = examples(n_classes, 200)
    fitted = clone(model).fit(X, y)
    same = LinearOffset.from_sklearn(fitted)
    np.testing.assert_allclose(same(X), fitted.decision_function(X), atol=1e-12)
    for offset in (fitted, fitted.decision_function, FrozenEstimator(fitted), same):
        clf = OCBClassifier.from_offset(offset, pool(), range(n_classes))
        np.testing.assert_array_equal(clf.predict(X), fitted.predict(X))
        np.testing.assert_allclose(clf.decision_function(X), fitted.decision_function(X), atol=1e-12)
    with pytest.raises(InputError, match="fitted must be a fitted linear classifier"):
        LinearOffset.from_sklearn(clone(model))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_deployed_adaboost_is_on_the_scale_it_was_boosted_on(n_classes):
    X, y = examples(n_classes, 200)
    deployed = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, y)
    votes = sum(
        weight / 2 * np.where(member.predict(X)[:, None] == np.arange(n_classes), 1, -1)
        for weight, member in zip(deployed.estimator_weights_, deployed.estimators_, strict=True)
    )
    for offset in (deployed, FrozenEstimator(deployed), VotedOffset.from_adaboost(deployed)):
        clf = OCBClassifier.from_offset(offset, from_sklearn(deployed))
        np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
        expected = votes[:, 1] if n_classes == 2 else votes
        np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-12)
        assert np.abs(expected).max() > 1.5 * np.abs(deployed.decision_function(X)).max()
    clf.partial_fit(X, y)


def test_a_sum_of_leaves():
    X, _ = examples()
    up, down = np.array([0.7, 0.1]), np.array([-0.2, 0.4])
    stumps = Stumps([0, 1], [0.0, 0.3], [1, -1], n_features=4)
    offset = VotedOffset(stumps, (up - down) / 2, ((up + down) / 2).sum())
    expected = np.where(stumps.answers(X) > 0, up, down).sum(axis=1)
    np.testing.assert_allclose(offset(X), expected, atol=1e-12)


def test_offsets_that_make_no_sense():
    with pytest.raises(InputError, match=r"coef and intercept must be of shapes .* got \(2, 3\) and \(\)"):
        LinearOffset(np.ones((2, 3)))
    for coef in ([np.nan, 1.0], ["a"], [[[1.0]]], 1.0, [1e200], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="coef must be finite numbers"):
            LinearOffset(coef)
    with pytest.raises(InputError, match="one weight for each of the 20 hypotheses"):
        VotedOffset(pool(), np.ones(19))
    with pytest.raises(InputError, match="shift must be one number, or one for each class"):
        VotedOffset(pool(), np.ones((3, 20)), np.ones(2))
    with pytest.raises(InputError, match=r"hypotheses must be of ocboost\.hypotheses"):
        VotedOffset("stump", np.ones(2))
    with pytest.raises(InputError, match="scale must be finite"):
        ScaledOffset(linear(2), np.inf)
    with pytest.raises(InputError, match="a column for each of the 3 classes"):
        ScaledOffset(linear(2), np.ones(3), np.zeros(3))(np.zeros((2, 4)))


def test_a_score_does_not_depend_on_the_rows_beside_it():
    X = np.random.default_rng(0).normal(size=(5000, 4)) * [1e8, 1.0, 1e-8, 1.0]
    for offset in (linear(2), linear(10)):
        whole = offset(X)
        np.testing.assert_array_equal(np.concatenate([offset(X[i : i + 1]) for i in range(300)]), whole[:300])


def test_clone_and_parameters():
    X, y = examples(2, 200)
    fitted = LogisticRegression().fit(X, y)
    for offset in (linear(2), fitted.decision_function, FrozenEstimator(fitted), fit_offset(fitted, X, y)):
        clf = OCBClassifier(n_hypotheses=5, offset=offset)
        assert clf.get_params()["offset"] is offset
        fresh = clone(clf)
        assert not hasattr(fresh, "committee_")
        assert_same(fresh.fit(X, y), clf.fit(X, y), X)
        assert cross_val_score(clf, X, y, cv=2, error_score="raise").mean() > 0.6
    with pytest.raises(InputError, match="clone takes away what was fitted"):
        clone(OCBClassifier(offset=fitted)).fit(X, y)
    repr(OCBClassifier(offset=linear(2)))
