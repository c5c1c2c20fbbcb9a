"""Linear models as offsets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from ocboost import InputError, OCBClassifier
from ocboost.offsets import LinearOffset
from tests.support.offset_examples import examples, linear, pool


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


def test_a_score_does_not_depend_on_the_rows_beside_it():
    X = np.random.default_rng(0).normal(size=(5000, 4)) * [1e8, 1.0, 1e-8, 1.0]
    for offset in (linear(2), linear(10)):
        whole = offset(X)
        np.testing.assert_array_equal(np.concatenate([offset(X[i : i + 1]) for i in range(300)]), whole[:300])


def test_coefficients_that_make_no_sense():
    with pytest.raises(InputError, match=r"coef and intercept must be of shapes .* got \(2, 3\) and \(\)"):
        LinearOffset(np.ones((2, 3)))
    for coef in ([np.nan, 1.0], ["a"], [[[1.0]]], 1.0, [1e200], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="coef must be finite numbers"):
            LinearOffset(coef)
