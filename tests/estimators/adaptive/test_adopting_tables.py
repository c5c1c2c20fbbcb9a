"""Adopted models of tables: columns by name, categories that are not known, missing values, one row."""

from __future__ import annotations

import copy
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier
from xgboost import __version__ as xgboost_version

from ocboost import AdaptiveClassifier, InputError, LeftOutWarning, OCBClassifier
from tests.support.adopted import TABLE_MODELS, N, OnlyProbabilities, adopt, rows, table

TRANSFORMED = {"HistGradientBoosting", "AdaBoost", "search", "codes"}


def doubled(X):
    return X * 2.0


def of_functions():
    """A pipeline that no file holds: it answers to tables only."""
    return make_pipeline(
        ColumnTransformer([("numbers", SimpleImputer(), ["price", "size"])]),
        FunctionTransformer(doubled),
        LogisticRegression(),
    )


MODELS = {**TABLE_MODELS, "functions": of_functions}


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_until_the_first_label(name, K):
    X, y = table(K=K)
    model = MODELS[name]().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    for n in (1, 20, 100):
        some = X[N : N + n]
        probabilities, predicted = model.predict_proba(some), model.predict(some)
        moved = some[some.columns[::-1]].assign(other="x")
        for each in (some, moved):
            np.testing.assert_array_equal(clf.predict_proba(each), probabilities)
            np.testing.assert_array_equal(clf.predict(each, issue=False), predicted)
    for i in range(N, N + 15):
        row = X.iloc[i].to_dict()
        np.testing.assert_array_equal(clf.predict_proba_one(row), model.predict_proba(X[i : i + 1])[0])
        assert clf.predict_one(row, issue=False) == model.predict(X[i : i + 1])[0]
    assert clf.feature_names_in_.tolist() == list(X.columns)
    assert (clf.bank_.given is not None) == (name in TRANSFORMED)
    for i in range(N, N + 10):
        clf.learn_one(X.iloc[i].to_dict(), y[i])
    clf.partial_fit(X[N + 10 : N + 60], y[N + 10 : N + 60])
    found = clf.predict_proba(X)
    assert (found != model.predict_proba(X)).any()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", MODELS)
def test_unknown_and_missing_values(name):
    X, y = table()
    model = MODELS[name]().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    other = X[N : N + 60].copy()
    other.loc[other.index[::2], "town"] = "Paris"
    other.loc[other.index[1::5], "size"] = np.nan
    other.loc[other.index[3::4], "town"] = np.nan
    right = model.predict_proba(other)
    np.testing.assert_array_equal(clf.predict_proba(other), right)
    np.testing.assert_array_equal(clf.predict_proba(other[:9]), model.predict_proba(other[:9]))
    for i in (0, 1, 3, 7):
        row = other.iloc[i].to_dict()
        np.testing.assert_allclose(clf.predict_proba_one(row), right[i], rtol=1e-13)
        known = {key: value for key, value in row.items() if value == value}
        np.testing.assert_array_equal(clf.predict_proba_one(known), clf.predict_proba_one(row))
        nothing = {key: None if value != value else value for key, value in row.items()}
        np.testing.assert_array_equal(clf.predict_proba_one(nothing), clf.predict_proba_one(row))
    clf.partial_fit(other, y[N : N + 60])


@pytest.mark.parametrize("name", ["HistGradientBoosting", "logistic", "OCBClassifier"])
def test_tables_of_other_libraries(name):
    X, y = table()
    model = MODELS[name]().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    for some in (X[N : N + 10], X[N : N + 50]):
        right = model.predict_proba(some)
        for other in (pl.from_pandas(some), pa.Table.from_pandas(some), some.astype({"price": object})):
            np.testing.assert_array_equal(clf.predict_proba(other), right)


def test_a_model_of_polars():
    """Its missing texts are None, which is another category than NaN in scikit-learn."""
    pandas, y = table()
    X = pl.from_pandas(pandas).drop("sold")
    texts = make_pipeline(
        SimpleImputer(strategy="constant", missing_values=None, fill_value="?"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    steps = ColumnTransformer([("n", numbers, ["size", "price"]), ("t", texts, ["town"])])
    model = make_pipeline(steps, LogisticRegression()).fit(X[:N], y[:N])
    clf = adopt(model, X, pl.Series("class", y.tolist()))
    for n in (1, 20, 100):
        some = X[N : N + n]
        for each in (some, some.select(sorted(some.columns))):
            np.testing.assert_array_equal(clf.predict_proba(each), model.predict_proba(some))
    for row in X[N : N + 20].iter_rows(named=True):
        one = pl.DataFrame([row], schema=X.schema)
        np.testing.assert_array_equal(clf.predict_proba_one(row), model.predict_proba(one)[0])
    clf.partial_fit(X[N:300], pl.Series("class", y[N:300].tolist()))
    assert np.isfinite(clf.predict_proba(pandas)).all()  # of pandas, later


CATEGORIES = {
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(
        max_iter=4, categorical_features="from_dtype", random_state=0
    ),
    "LightGBM": lambda: LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1),
    "XGBoost": lambda: XGBClassifier(n_estimators=4, n_jobs=1, enable_categorical=True),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_columns_of_categories(name, tmp_path):
    X, y = table()
    X = X.drop(columns="sold").astype({"town": "category"})
    codes = (y == "mid").astype(int).to_numpy()
    model = CATEGORIES[name]().fit(X[:N], codes[:N])
    clf = adopt(model, X, codes)
    keeps_none = name == "XGBoost" and tuple(map(int, xgboost_version.split(".")[:2])) < (3, 1)  # categories
    assert (clf.bank_.given is None) == keeps_none
    for n in (3, 100):
        some = X[N : N + n]
        np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some))
    for i in range(N, N + 12):
        row = X.iloc[i].to_dict()
        np.testing.assert_array_equal(clf.predict_proba_one(row), model.predict_proba(X[i : i + 1])[0])
    with pytest.warns(LeftOutWarning, match="reads numbers where") if keeps_none else nullcontext():
        clf.save(tmp_path / "model")
    for given in (model,) if keeps_none else (None, model):
        loaded = AdaptiveClassifier.load(tmp_path / "model", deployed=given)
        found = loaded.predict_proba(X, issue=False)
        np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-6)


def test_a_model_of_arrays_and_rows_of_tables():
    """The order of the columns is that of the table that came first."""
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = GaussianNB().fit(X[:N], y[:N])
    clf = adopt(model, frame, y)
    for some in (frame[list("dbca")][:300], frame[list("dbca")][:3]):
        np.testing.assert_allclose(clf.predict_proba(some), model.predict_proba(X[: len(some)]), rtol=1e-12)
    row = dict(reversed(frame.iloc[0].to_dict().items()))
    np.testing.assert_allclose(clf.predict_proba_one(row), model.predict_proba(X[:1])[0], rtol=1e-12)


def test_a_model_of_a_table_and_rows_of_arrays():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    chosen = ColumnTransformer([("some", StandardScaler(), ["b", "a"])])
    for model in (make_pipeline(chosen, LogisticRegression()), GaussianNB()):
        model.fit(frame[:N], y[:N])
        clf = adopt(model, frame, y)
        np.testing.assert_allclose(clf.predict_proba(X), model.predict_proba(frame), rtol=1e-12)
        clf = adopt(model, X, y)  # an array has no names: the model gives it its own
        np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(frame))
        clf.predict_one(X[0])
        clf.partial_fit(X[N:250], y[N:250])


def test_a_model_alone_takes_tables_by_its_names():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LogisticRegression().fit(frame[:N], y[:N])
    clf = AdaptiveClassifier.from_fitted(model, random_state=0)
    np.testing.assert_array_equal(clf.predict_proba(frame[list("cdab")]), model.predict_proba(frame))
    one = clf.predict_proba_one(frame.iloc[0].to_dict())
    np.testing.assert_array_equal(one, model.predict_proba(frame[:1])[0])
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(frame))
    clf.partial_fit(frame[N:], y[N:])
    assert clf.bank_.pool is not None
    few = RandomForestClassifier(n_estimators=1, max_depth=1, random_state=0).fit(frame[:N], y[:N])
    alone = AdaptiveClassifier.from_fitted(few)  # it reads one column, and takes arrays of four
    np.testing.assert_array_equal(alone.predict_proba(X), few.predict_proba(frame))


def test_one_of_our_own_alone(tmp_path):
    X, y = table()
    model = OCBClassifier(n_hypotheses=6, random_state=0).fit(X[:N], y[:N])
    clf = AdaptiveClassifier.from_fitted(model, random_state=0)
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(X))
    clf.partial_fit(X[N:300], y[N:300])
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    row = X.iloc[3].to_dict()
    np.testing.assert_array_equal(loaded.predict_proba_one(row), clf.predict_proba_one(row))


@pytest.mark.parametrize("name", ["AdaBoost", "logistic", "codes"])
def test_a_model_of_texts_alone(name, tmp_path):
    X, y = table()
    model = MODELS[name]().fit(X[:N], y[:N])
    clf = AdaptiveClassifier.from_fitted(model, random_state=0, n_hypotheses=12)
    for some in (X, X[:3]):
        np.testing.assert_array_equal(clf.predict_proba(some), model.predict_proba(some))
    row = X.iloc[N].to_dict()
    np.testing.assert_array_equal(clf.predict_proba_one(row), model.predict_proba(X[N : N + 1])[0])
    clf.save(tmp_path / "model")
    for deployed in (None, model):
        loaded = AdaptiveClassifier.load(tmp_path / "model", deployed=deployed)
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-6)
    clf.partial_fit(X[N:], y[N:])
    assert clf.bank_.pool is not None


def test_the_name_of_the_label():
    X, y = rows()
    frame, labels = pd.DataFrame(X, columns=list("abcd")), pd.Series(y, name="a")
    model = GaussianNB().fit(frame[:N], y[:N])
    clf = adopt(model, frame, labels)  # a feature has the same name
    assert clf.schema_.label is None
    np.testing.assert_array_equal(clf.predict_proba(frame), model.predict_proba(frame))
    with_label = frame.assign(y=y)
    for each in (model, OnlyProbabilities(GaussianNB().fit(X[:N], y[:N]))):
        with pytest.warns(UserWarning, match="Column 'y' is left out: it is the label"):
            clf = adopt(each, with_label, with_label["y"])
        assert clf.schema_.label == "y"
        np.testing.assert_array_equal(clf.predict_proba(with_label), clf.predict_proba(frame))


def test_late_labels_of_a_table():
    X, y = table()
    model = MODELS["AdaBoost"]().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    at_once = copy.copy(clf)
    clf.predict(X[N : N + 40], ids=[f"row {i}" for i in range(40)])
    order = np.random.default_rng(0).permutation(40)
    clf.partial_fit(X[N : N + 40].iloc[order], y[N : N + 40].iloc[order], ids=[f"row {i}" for i in order])
    assert clf.n_waiting_ == 0
    assert clf.n_learnt_ == at_once.n_learnt_ + 40


def test_why(tmp_path):
    """A model without a form in ocboost cannot be asked about columns one by one; the rest is told."""
    X, y = table()
    for name in ("functions", "AdaBoost"):
        clf = adopt(MODELS[name]().fit(X[:N], y[:N]), X, y)
        for _ in range(2):
            why = clf.explain(X[N : N + 1])[0]
            assert why.members
            assert clf.feature_importances_.shape == (5,)
            clf.partial_fit(X[N:300], y[N:300])
        assert clf.feature_importances_.sum() > 0.0


# What is refused -----------------------------------------------------------------------------------------


def test_columns_that_do_not_fit():
    X, y = table()
    model = MODELS["AdaBoost"]().fit(X[:N], y[:N])
    for lacking in (X.rename(columns={"town": "city"}), pl.from_pandas(X.drop(columns="town"))):
        with pytest.raises(InputError, match=r"columns of the model, \['size', .*; it lacks \['town'\]"):
            adopt(model, lacking, y)
    clf = adopt(model, X, y)
    with pytest.raises(InputError, match="must have the columns the model was made for; it lacks 'size'"):
        clf.predict(X.drop(columns="size"))
    with pytest.raises(InputError, match="row must have values of the columns"):
        clf.predict_one({"other": 1.0})
    with pytest.raises(InputError, match="column 'price' must hold numbers"):
        clf.predict(X.assign(price="much"))
    with pytest.raises(InputError, match="X has 2 features, but AdaptiveClassifier is expecting"):
        clf.predict(np.ones((3, 2)))
    assert clf.n_waiting_ == 0


def test_a_model_of_tables_only():
    X, y = table()
    clf = adopt(of_functions().fit(X[:N], y[:N]), X, y)
    features = np.zeros((3, len(clf.get_feature_names_out())))
    with pytest.raises(
        InputError, match=r"X must be a table for the deployed model, Pipeline.*'functiontransformer'"
    ):
        clf.predict(features)
