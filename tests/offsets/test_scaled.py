"""Scores on another scale as offsets, and clones of classifiers that have them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from ocboost import InputError, OCBClassifier
from ocboost.offsets import ScaledOffset, fit_offset
from tests.support.offset_examples import assert_same, examples, linear


def test_scales_that_make_no_sense():
    with pytest.raises(InputError, match="scale must be finite"):
        ScaledOffset(linear(2), np.inf)
    with pytest.raises(InputError, match="a column for each of the 3 classes"):
        ScaledOffset(linear(2), np.ones(3), np.zeros(3))(np.zeros((2, 4)))


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
