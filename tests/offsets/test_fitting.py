"""The scale and the shift that `fit_offset` finds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from ocboost import InputError
from ocboost.offsets import fit_offset
from tests.support.offset_examples import examples, linear


def test_the_scale_of_a_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    y = np.where(1.5 * X[:, 0] - 0.5 + rng.logistic(size=4000) > 0, "yes", "no")
    for factor, shift in ((1.0, 0.0), (1000.0, 5e4), (1e-9, -3.0), (1e90, 0.0)):
        offset = fit_offset(lambda X, f=factor, s=shift: f * X[:, 0] + s, X, y)
        np.testing.assert_allclose(offset(X), 0.5 * (1.5 * X[:, 0] - 0.5), atol=0.25)
    reference = LogisticRegression(C=1e8).fit(X, y)
    offset = fit_offset(lambda X: X[:, 0], X, y)
    np.testing.assert_allclose(offset(X), reference.decision_function(X) / 2, atol=1e-3)
    twice = fit_offset(offset, X, y)
    np.testing.assert_allclose(twice(X), offset(X), atol=1e-3)
    assert twice.scorer is offset.scorer
    assert repr(offset).startswith("<GivenOffset scaled by 1.")


def test_weights_of_the_scale():
    X, y = examples(2, 300)
    counts = np.random.default_rng(0).integers(0, 3, 300)
    score = linear(2)
    weighted = fit_offset(score, X, y, sample_weight=counts.astype(float))
    repeated = fit_offset(score, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted(X), repeated(X), atol=0.01)
    small = fit_offset(score, X, y, sample_weight=counts * 1e-200)
    np.testing.assert_allclose(small(X), weighted(X), atol=1e-9)
    rare = np.flatnonzero((y == 0) | (np.arange(300) % 5 == 0))
    balanced = fit_offset(score, X[rare], y[rare], class_weight="balanced")
    assert balanced(X).mean() > fit_offset(score, X[rare], y[rare])(X).mean() + 0.3
    chosen = fit_offset(score, X[rare], y[rare], class_weight={0: 0.0, 1: 1.0})
    assert chosen(X).min() > 1.0


def test_a_score_that_separates_stays_finite():
    X = np.linspace(-1, 1, 200)[:, None]
    y = X[:, 0] > 0
    offset = fit_offset(lambda X: X[:, 0], X, y)
    assert 3.0 < offset(X).max() < 50.0
    with pytest.warns(UserWarning, match="the score is higher where the class is not True, so it is ignored"):
        turned = fit_offset(lambda X: -X[:, 0], X, y)
    np.testing.assert_allclose(turned(X), 0.0, atol=1e-6)
    constant = fit_offset(lambda X: np.full(len(X), 3.0), X, np.arange(200) % 4 == 0)
    np.testing.assert_allclose(constant(X), 0.5 * np.log(1 / 3), atol=1e-3)


def test_the_scale_of_each_class():
    X, y = examples(3, 400)
    fitted = LinearSVC().fit(X, y)
    offset = fit_offset(fitted, X, y)
    for k in range(3):
        own = LogisticRegression(C=1e8).fit(fitted.decision_function(X)[:, [k]], y == k)
        expected = own.decision_function(fitted.decision_function(X)[:, [k]]) / 2
        np.testing.assert_allclose(offset(X)[:, k], expected, atol=0.06)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        few = fit_offset(fitted, X[y < 2], y[y < 2])  # the third class has not come
    assert np.isfinite(few(X)).all()
    assert few(X)[:, 2].max() < -2.0


def test_what_the_scale_cannot_be_fitted_to():
    X, y = examples()
    with pytest.raises(InputError, match="y must hold at least two classes"):
        fit_offset(linear(2), X, np.zeros(len(y)))
    with pytest.raises(InputError, match=r"X and y must be of shapes"):
        fit_offset(linear(2), X, y[:-1])
    with pytest.raises(InputError, match="finite sum above zero"):
        fit_offset(linear(2), X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(InputError, match="offset must be finite"):
        fit_offset(lambda X: np.full(len(X), np.nan), X, y)
    with pytest.raises(InputError, match="for 3 classes; got shape"):
        fit_offset(linear(2), X, y, classes=[0, 1, 2])
