"""Tables in both classifiers: columns by name, rows as dictionaries, files, and what scikit-learn expects."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier

from ocboost import AdaptiveClassifier, InputError, Model, ModelFileError, OCBClassifier
from ocboost._core.file_format import load_any, save
from ocboost.streams import Column, Schema
from tests.support.tables import LEFT_OUT, frame, quietly

MAKERS = {
    "adaptive": lambda: AdaptiveClassifier(n_hypotheses=6, random_state=0),
    "ocb": lambda: OCBClassifier(n_hypotheses=15, random_state=0),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def fitted(make, n=260):
    X, y = frame(n)
    return quietly(make().fit, X, y)


def unissued(clf):
    return {"issue": False} if isinstance(clf, AdaptiveClassifier) else {}


def test_it_knows_its_columns(make):
    X, y = frame(260)
    with pytest.warns(UserWarning, match="Column 'empty' is left out.* Column 'row' is left out") as warned:
        clf = make().fit(X, y)
    assert len(warned) == 1
    names = [name for name in X.columns if name not in LEFT_OUT]
    assert clf.feature_names_in_.tolist() == names
    assert clf.feature_names_in_.dtype == object
    assert clf.n_features_in_ == len(names)
    assert clf._n_encoded == clf.schema_.n_features == len(clf.get_feature_names_out())
    assert {"zone.hour", "text=UA", "category=p", "int8"} <= set(clf.get_feature_names_out())
    assert (clf.schema_.label, clf.schema_.label_kind) == ("arrival", "text")
    assert clf.classes_.tolist() == ["late", "on time"]
    assert clf.score(X, y) > 0.6
    assert clf.score(pl.from_pandas(X), pl.Series(y)) == clf.score(X, y.to_numpy())


def test_names_not_order_and_every_form(make):
    clf, (X, _) = fitted(make), frame(40, seed=1)
    how = unissued(clf)
    encoded = clf.schema_.encode(pa.Table.from_pandas(X))
    expected = clf.predict_proba(encoded, **how)
    others = [X[X.columns[::-1]], X.assign(more="x"), X.drop(columns=list(LEFT_OUT)), pl.from_pandas(X)]
    for table in [*others, pa.Table.from_pandas(X), encoded.tolist()]:
        np.testing.assert_array_equal(clf.predict_proba(table, **how), expected)
    rows = X.to_dict("records")
    assert [clf.predict_one(row, **how) for row in rows] == clf.predict(X, **how).tolist()
    assert [clf.predict_one(row, **how) for _, row in X[:5].iterrows()] == clf.predict(X[:5], **how).tolist()
    np.testing.assert_array_equal([clf.predict_proba_one(row, **how) for row in rows[:5]], expected[:5])
    np.testing.assert_array_equal(clf.predict_proba_one(encoded[0], **how), expected[0])


def test_it_keeps_learning(make):
    a, (X, y) = fitted(make), frame(60, seed=1)
    b, c = copy.copy(a), copy.deepcopy(a)
    a.partial_fit(X, y)
    b.partial_fit(a.schema_.encode(pa.Table.from_pandas(X)), y.to_numpy())
    for row, label in zip(X.to_dict("records"), y, strict=True):
        c.learn_one(row, label)
    other = frame(30, seed=2)[0]
    for clf in (b, c):
        np.testing.assert_array_equal(clf.decision_function(other), a.decision_function(other))


def test_partial_fit_first(make):
    X, y = frame(260)
    clf = quietly(make().partial_fit, X, y == "late", classes=[False, True])
    assert clf.schema_.columns == fitted(make).schema_.columns
    assert (clf.schema_.label, clf.schema_.label_kind) == ("arrival", "boolean")
    assert clf.predict_one(X.iloc[0].to_dict()) in (True, False)


def test_a_label_among_the_columns_is_left_out(make):
    X, y = frame(200)
    X = X[["float", "text"]].assign(arrival=y)
    with pytest.warns(UserWarning, match="Column 'arrival' is left out: it is the label"):
        clf = make().fit(X, X["arrival"])
    assert clf.feature_names_in_.tolist() == ["float", "text"]
    assert clf.score(X, X["arrival"]) < 1.0


def test_a_column_of_the_name_of_the_labels_that_is_another(make):
    X, _ = frame(200)
    clf = make().fit(X[["int", "text"]], X["int"] > 0)
    assert clf.feature_names_in_.tolist() == ["int", "text"]
    assert clf.schema_.label is None


def test_labels_without_a_name(make):
    X, y = frame(200)
    clf = make().fit(X[["float", "text"]], y.to_numpy())
    assert (clf.schema_.label, clf.schema_.label_kind) == (None, None)
    assert make().fit(X[["float"]], y.rename(None)).schema_.label is None


def test_another_fit_forgets_the_table(make):
    clf, X = fitted(make), np.random.default_rng(0).normal(size=(220, 3))
    clf.fit(X, X[:, 0] > 0)
    assert clf.schema_ is None
    assert clf.n_features_in_ == clf._n_encoded == 3
    assert not hasattr(clf, "feature_names_in_")
    assert clf.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert not hasattr(clone(fitted(make)), "classes_")
    table, y = frame(220)
    with pytest.raises(InputError, match="fitted on an array; got a table with texts or dates"):
        clf.predict(table)
    with pytest.raises(InputError, match="fitted on an array; got a table with texts or dates"):
        clf.partial_fit(table, y == "late")
    with pytest.raises(InputError, match="row must be a sequence of 3 numbers"):
        clf.predict_one({"x0": 1.0})


def test_refusals(make):
    clf, (X, y) = fitted(make), frame(30, seed=1)
    before = clf.decision_function(X)
    for call in (clf.predict, lambda X: clf.partial_fit(X, y)):
        with pytest.raises(
            InputError, match=r"it lacks 'text', and has 'empty', 'row', 'Text'.*rename 'Text' to 'text'"
        ):
            call(X.rename(columns={"text": "Text"}))
        with pytest.raises(
            InputError, match="column 'text' must hold texts, such as 'UA'; got values of type"
        ):
            call(X.assign(text=1))
        with pytest.raises(InputError, match="column 'float' must hold finite numbers; got inf in row 0"):
            call(X.assign(float=np.inf))
        with pytest.raises(InputError, match="column 'int' must hold numbers; got 'many' in row 0"):
            call(X.assign(int="many"))
        with pytest.raises(InputError, match="column 'stamp' must hold dates or times"):
            call(X.assign(stamp=3))
        with pytest.raises(InputError, match=r"X has 2 features, but \w+ is expecting 1\d\d features"):
            call(np.zeros((30, 2)))
    with pytest.raises(InputError, match=r"row must have values of the columns 'bool', .*; got \['x'\]"):
        clf.predict_one({"x": 1})
    with pytest.raises(InputError, match="column 'int' must hold numbers; got 'many'"):
        clf.learn_one({"int": "many"}, "late")
    with pytest.raises(InputError, match="y must hold"):
        clf.partial_fit(X, y.mask(y == "late"))
    np.testing.assert_array_equal(clf.decision_function(X), before)


def test_unknown_texts_are_zeros_and_told(make):
    clf, (X, _) = fitted(make), frame(30, seed=1)
    with pytest.warns(UserWarning, match="Column 'text' holds no text that the model knows in the first 30"):
        found = clf.decision_function(X.assign(text="new"))
    np.testing.assert_array_equal(found, clf.decision_function(X.assign(text=None)))
    assert np.isfinite(found).all()


# What scikit-learn's check of names asks for, but for their order -------------------------------------------


def test_names_of_numbers(make):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(220, 4)), columns=[f"col{i}" for i in range(4)])
    y = (X["col0"] > 0).astype(int)
    clf = make().fit(X, y)
    unseen = X.rename(columns={"col1": "another"})
    missing = X[["col0", "col1"]]
    should = "The feature names should match those that were passed during fit.\n"
    calls = [clf.predict, clf.predict_proba, clf.decision_function, lambda X: clf.partial_fit(X, y)]
    for call in calls:
        with pytest.raises(ValueError, match=f"{should}Feature names unseen at fit time:\n- another"):
            call(unseen)
        with pytest.raises(
            ValueError, match=f"{should}Feature names seen at fit time, yet now missing:\n- col2"
        ):
            call(missing)
    expected = clf.decision_function(X)
    np.testing.assert_array_equal(clf.decision_function(X[X.columns[::-1]]), expected)
    np.testing.assert_array_equal(clf.decision_function(X.to_numpy()), expected)
    plain = make().fit(X.to_numpy(), y.to_numpy())
    np.testing.assert_array_equal(plain.decision_function(X.to_numpy()), expected)


def test_other_names_and_sparse_frames_are_as_arrays(make):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(220, 3)))
    y = (X[0] > 0).astype(int)
    for table in (X, X.add_prefix("x").astype(pd.SparseDtype(float, 0.0))):
        clf = make().fit(table, y)
        assert clf.schema_ is None
        np.testing.assert_array_equal(clf.predict(table), make().fit(X.to_numpy(), y).predict(X.to_numpy()))


def test_numbers_need_no_pyarrow(make, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("ocboost.streams.encoding.import_module", missing)
    X, y = frame(220)
    numbers = X.select_dtypes(["number", "bool", "boolean"]).drop(columns="empty", errors="ignore")
    clf = make().fit(numbers, y)
    assert clf.score(numbers[numbers.columns[::-1]], y) == clf.score(numbers, y)
    assert clf.predict_one(numbers.iloc[0].to_dict()) in ("late", "on time")


def test_adopted_ensembles_find_columns_by_name():
    X, y = frame(200)
    numbers = X[["int", "int8", "float32", "bool"]].astype(float)
    deployed = AdaBoostClassifier(n_estimators=8, random_state=0).fit(numbers, y)
    clf = OCBClassifier.from_fitted(deployed, numbers[numbers.columns[::-1]], y)
    np.testing.assert_array_equal(clf.predict(X), deployed.predict(numbers))
    assert clf.feature_names_in_.tolist() == list(numbers.columns)


# Files ------------------------------------------------------------------------------------------------------


def test_files_keep_the_schema_and_the_history(make, tmp_path):
    clf, (X, _) = fitted(make), frame(30, seed=1)
    path = tmp_path / "m.ocb"
    model = Model(clf, history=[{"event": "fit", "rows": 3}])
    assert model.schema is clf.schema_
    model.save(path)
    loaded = type(clf).load(path)
    assert loaded.schema_ == clf.schema_
    assert loaded.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), clf.predict(X, **unissued(clf)))
    loaded.save(path)
    assert Model.load(path).history == [{"event": "fit", "rows": 3}]
    assert Model.load(path).schema == clf.schema_
    quietly(loaded.fit, *frame(220))
    loaded.save(path)
    assert Model.load(path).history == []
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))


def test_hostile_schemas(make, tmp_path):
    clf, path = fitted(make), tmp_path / "m.ocb"
    clf.save(path)
    kind, tree = load_any(path)
    schema = tree["schema"]
    for changed in (
        {**schema, "columns": schema["columns"][1:]},
        {**schema, "columns": [*schema["columns"], "more"]},
        {**schema, "columns": [["a", "date", ["never"]]]},
        {**schema, "label": "bool"},
        [],
    ):
        save(path, kind, {**tree, "schema": changed})
        for load in (type(clf).load, Model.load):
            with pytest.raises(ModelFileError, match="is not a valid model"):
                load(path)
    save(path, kind, {**tree, "history": [1]})
    with pytest.raises(ModelFileError, match="its history is not known"):
        type(clf).load(path)


def test_a_schema_of_other_features_is_refused(make):
    X = np.random.default_rng(0).normal(size=(220, 3))
    clf = make().fit(X, X[:, 0] > 0)
    with pytest.raises(InputError, match="schema must have the 3 features of the classifier; got 2"):
        Model(clf, Schema.of_numbers("ab"))
    Model(clf, Schema((Column("a"), Column("b", "category", ("x", "y")))))
    assert clf.n_features_in_ == 2
    assert clf.predict_one({"a": 1.0, "b": "x"}) in (True, False)
    clf.set_schema(None)
    assert clf.n_features_in_ == 3
    assert clf.predict_one([1.0, 0.0, 1.0]) in (True, False)


class TestNoTable:
    """What looks like a table, and is none."""

    @pytest.mark.parametrize("names", [[0, 1], [("a", "x"), ("a", "y")], [0, "y"]], ids=str)
    def test_texts_need_names_that_are_texts(self, make, names):
        X = pd.DataFrame({"x": [1.0, 2.0] * 20, "y": ["a", "b"] * 20})
        X.columns = pd.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else names
        with pytest.raises(InputError, match=r"must have texts as the names of its columns.*Name them"):
            make().fit(X, [0, 1] * 20)

    def test_numbers_held_as_objects_need_none(self, make):
        values = np.array([[1.0, 2.0], [3.0, 0.5]] * 20)
        clf = make().fit(pd.DataFrame(values.astype(object)), [0, 1] * 20)
        assert clf.schema_ is None
        assert clf.predict(pd.DataFrame(values.astype(object))[:2], **unissued(clf)).tolist() == [0, 1]

    def test_no_columns(self, make):
        with pytest.raises(InputError, match="at least one column"):
            make().fit(pd.DataFrame(index=range(4)), [0, 1, 0, 1])

    @pytest.mark.parametrize("on", ["table", "array"])
    @pytest.mark.parametrize("rows", [{"x": 1.0}, [{"x": 1.0}], {"x": [1.0]}], ids=str)
    def test_dictionaries_are_single_rows(self, make, rows, on):
        X = pd.DataFrame({"x": [1.0, 2.0] * 20})
        clf = make().fit(X if on == "table" else X.to_numpy(), [0, 1] * 20)
        for call in (clf.predict, clf.explain):
            with pytest.raises(InputError, match=r"got dictionaries\. Give pandas\.DataFrame"):
                call(rows)

    @pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
    def test_texts_for_a_model_of_arrays(self, make, convert):
        clf = make().fit(np.array([[1.0, 2.0], [3.0, 0.5]] * 20), [0, 1] * 20)
        X = pd.DataFrame({"x": [1.0], "y": ["a"]})
        with pytest.raises(InputError, match="fitted on an array; got a table with texts"):
            clf.predict(convert(X))
        assert clf.predict_proba(convert(X.assign(y=True)).to_pandas().to_numpy(float)).shape == (1, 2)

    def test_two_columns_of_one_name_later(self, make):
        X = pd.DataFrame({"x": [1.0, 2.0] * 20, "y": ["a", "b"] * 20})
        clf = make().fit(X, [0, 1] * 20)
        with pytest.raises(InputError, match=r"'y' appear more than once\. Rename them\.$"):
            clf.predict(pd.concat([X, X[["y"]]], axis=1))
        other = pd.concat([X, pd.DataFrame({"z": [1] * 40}), pd.DataFrame({"z": [2] * 40})], axis=1)
        assert clf.predict(other, **unissued(clf)).tolist() == [0, 1] * 20
