"""Tables in scikit-learn's pipelines and searches: set_output, metadata routing, clone, cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ocboost import AdaptiveClassifier, OCBClassifier
from tests.support.tables import frame, quietly

MAKERS = {
    "adaptive": lambda: AdaptiveClassifier(n_hypotheses=5, random_state=0, without=["forests"]),
    "ocb": lambda: OCBClassifier(n_hypotheses=10, random_state=0),
}
NUMBERS = ["float", "int", "float32"]


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output(make, output):
    X, y = frame(240)
    encoder = ColumnTransformer(
        [("number", SimpleImputer(), NUMBERS), ("text", OneHotEncoder(sparse_output=False), ["category"])],
        verbose_feature_names_out=False,
    )
    pipe = make_pipeline(encoder, StandardScaler(), make()).set_output(transform=output).fit(X, y)
    clf = pipe[-1]
    names = [*NUMBERS, "category_p", "category_q", "category_r"]
    assert clf.feature_names_in_.tolist() == clf.get_feature_names_out().tolist() == names
    assert pipe.get_feature_names_out().tolist() == names
    assert type(pipe[:-1].transform(X)) is {"pandas": pd.DataFrame, "polars": pl.DataFrame}[output]
    plain = make_pipeline(clone(encoder), StandardScaler(), make()).set_output(transform="default").fit(X, y)
    assert plain[-1].schema_ is None
    np.testing.assert_array_equal(pipe.predict(X), plain.predict(X))


def test_texts_pass_through_a_pipeline(make):
    X, y = frame(240)
    scaler = ColumnTransformer(
        [("scale", StandardScaler(), make_column_selector(dtype_include="float"))],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    pipe = make_pipeline(scaler.set_output(transform="pandas"), make())
    quietly(pipe.fit, X, y)
    assert {"float", "text=UA", "stamp.hour"} <= set(pipe[-1].get_feature_names_out())
    assert pipe.score(X, y) > 0.6


@pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas])
def test_grid_search_over_a_table(make, convert):
    X, y = frame(200)
    X = convert(X[[*NUMBERS, "text", "stamp"]])
    search = GridSearchCV(make(), {"n_hypotheses": [3, 6]}, cv=2).fit(X, y)
    assert search.best_estimator_.schema_.column_names == (*NUMBERS, "text", "stamp")
    assert search.predict(X).shape == (200,)
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()
    assert cross_val_predict(make(), X, y, cv=2).shape == (200,)


def test_weights_are_routed(make, routing):
    X, y = frame(200)
    X = X[[*NUMBERS, "text"]]
    weights = pd.Series(np.where(y == "late", 3.0, 1.0))
    pipe = Pipeline([("keep", "passthrough"), ("clf", make().set_fit_request(sample_weight=True))])
    direct = make().fit(X, y, sample_weight=weights)
    found = pipe.fit(X, y, sample_weight=weights).predict_proba(X)
    np.testing.assert_array_equal(found, direct.predict_proba(X))
    assert not np.array_equal(found, make().fit(X, y).predict_proba(X))
    clf = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scores = cross_validate(clf, X, y, cv=2, params={"sample_weight": weights})["test_score"]
    plain = cross_validate(make(), X, y, cv=2)["test_score"]
    assert not np.array_equal(scores, plain)


def test_classes_and_ids_are_routed(routing):
    X, y = frame(60)
    X = X[[*NUMBERS, "text"]]
    clf = AdaptiveClassifier(n_hypotheses=5, random_state=0)
    clf.set_partial_fit_request(classes=True, ids=True, sample_weight=True)
    clf.set_predict_request(ids=True, issue=True)
    request = clf.get_metadata_routing()
    assert set(request.consumes("partial_fit", ["classes", "ids", "sample_weight"])) == {
        "classes",
        "ids",
        "sample_weight",
    }
    clf.partial_fit(X[:20], y[:20], classes=["late", "on time"])
    pipe = Pipeline([("keep", "passthrough"), ("clf", clf)])
    pipe.predict(X[20:40], ids=list(range(20)), issue=True)
    assert clf.n_waiting_ == 20
    pipe.predict(X[20:40], ids=list(range(20)), issue=False)
    clf.partial_fit(X[20:40][::-1], y[20:40][::-1], ids=list(range(20))[::-1])
    assert clf.n_waiting_ == 0
    ocb = OCBClassifier(n_hypotheses=5).set_partial_fit_request(classes=True)
    assert set(ocb.get_metadata_routing().consumes("partial_fit", ["classes"])) == {"classes"}
