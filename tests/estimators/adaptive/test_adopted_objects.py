"""Adopted models that are no estimators of a library, or that read tables and have no portable form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ocboost import AdaptiveClassifier
from ocboost.errors import LeftOutWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(320, 3))
Y = np.where(X[:, 0] > 0.0, "b", "a")


class Served:
    """A model behind something else: it answers, and was never fitted here."""

    classes_ = np.array(["a", "b"])

    def predict_proba(self, X):
        p = 1.0 / (1.0 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1.0 - p, p])


class Scored:
    """It only decides."""

    classes_ = np.array(["a", "b"])

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


@pytest.mark.parametrize("model", [Served(), Scored()], ids=["probabilities", "scores"])
def test_an_object_without_fit_is_left_out_of_the_file(model, tmp_path):
    clf = AdaptiveClassifier.from_fitted(model, X[:220], Y[:220], n_hypotheses=6, random_state=0)
    path = tmp_path / "m.ocb"
    with pytest.warns(LeftOutWarning, match=f"a {type(model).__name__}, which is of no class"):
        clf.save(path)
    again = AdaptiveClassifier.load(path, deployed=model)
    for each in (clf, again):
        each.partial_fit(X[220:], Y[220:])
    assert np.array_equal(clf.predict_proba(X, issue=False), again.predict_proba(X, issue=False))


def hours(table):
    return table[["late"]].to_numpy()


def test_explained_without_a_portable_form():
    table = pd.DataFrame({"late": X[:, 0], "from": RNG.choice(["EWR", "JFK"], len(X))})
    model = make_pipeline(FunctionTransformer(hours), RandomForestClassifier(5, random_state=0))
    model.fit(table[:220], Y[:220])
    clf = AdaptiveClassifier.from_fitted(model, table[:220], Y[:220], n_hypotheses=6, random_state=0)
    why = clf.explain(table[:2])
    assert [each.prediction for each in why] == model.predict(table[:2]).tolist()
    assert all(each.alone and each.features == () for each in why)
    assert clf.feature_importances_.tolist() == [0.0, 0.0]
    clf.partial_fit(table[220:], Y[220:])
    why = clf.explain(table[:1])[0]
    assert why.members
    assert why.hypotheses
    assert why.features == ()
    assert clf.feature_importances_[0] > 0.5
