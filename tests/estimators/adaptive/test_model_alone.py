"""``AdaptiveClassifier.from_fitted`` without rows: a deployed model alone, hypotheses from the stream."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import AdaptiveClassifier, InputError, OCBClassifier
from tests.support.comparisons import rows_of


@pytest.fixture(scope="module")
def data():
    X, codes = rows_of(600, 3)
    return X, np.array(["no", "yes"])[codes]


def test_it_is_the_model_until_the_first_label_and_can_be_saved(data, tmp_path):
    X, y = data
    model = OCBClassifier(n_hypotheses=8).fit(X[:200], y[:200])
    clf = AdaptiveClassifier.from_fitted(model, random_state=0)
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clf.predict(X, issue=False), model.predict(X))
    saved = clf
    for k in range(200, 600):
        if k in (200, 300, 450):
            saved.save(tmp_path / "c")
            saved = AdaptiveClassifier.load(tmp_path / "c")
        clf.learn_one(X[k], y[k])
        saved.learn_one(X[k], y[k])
    assert clf.bank_.pool is not None
    np.testing.assert_array_equal(clf.predict_proba(X, issue=False), saved.predict_proba(X, issue=False))
    assert "deployed" in [member.name for member in clf.members_]


def test_what_must_be_given(data):
    X, y = data
    model = OCBClassifier(n_hypotheses=8).fit(X, y)
    with pytest.raises(InputError, match="must be given both, or neither; got X alone"):
        AdaptiveClassifier.from_fitted(model, X)
    with pytest.raises(InputError, match="got y alone"):
        AdaptiveClassifier.from_fitted(model, y=y)

    class Unknown:
        classes_ = model.classes_
        predict_proba = model.predict_proba

    with pytest.raises(InputError, match="as Unknown has no n_features_in_; got neither"):
        AdaptiveClassifier.from_fitted(Unknown())
    del Unknown.classes_
    with pytest.raises(InputError, match="as Unknown has no classes_; got neither"):
        AdaptiveClassifier.from_fitted(Unknown())
