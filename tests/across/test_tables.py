"""A table with columns of every type through Python, River and the command line: the same model."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost import AdaptiveClassifier, Model, OCBClassifier
from ocboost._core.file_format import load_any
from tests.support.cli_runs import main
from tests.support.tables import LEFT_OUT, frame, quietly

KINDS = {
    "adaptive": (lambda: AdaptiveClassifier(n_hypotheses=8, random_state=3), []),
    "ocb": (lambda: OCBClassifier("stump", 20, random_state=3), ["--method", "ocb"]),
}
HYPOTHESES = {"adaptive": "8", "ocb": "20"}


def assert_equal_trees(a, b, path=""):
    assert type(a) is type(b), path
    if isinstance(a, dict):
        assert list(a) == list(b), path
        for key in a:
            assert_equal_trees(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), path
        for i, pair in enumerate(zip(a, b, strict=True)):
            assert_equal_trees(*pair, f"{path}[{i}]")
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, path
        np.testing.assert_array_equal(a, b, path)
    else:
        assert a == b or (a != a and b != b), path


def tree_of(path):
    tree = load_any(path)[1]
    return {key: value for key, value in tree.items() if key != "history"}


def in_file(X, y, folder, ending):
    table = X.assign(**{y.name: y})
    path = folder / f"data.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_python_and_the_command_line_make_the_same_model(kind, ending, tmp_path):
    X, y = frame()
    make, method = KINDS[kind]
    here, there = tmp_path / "here.ocb", tmp_path / "there.ocb"
    clf = quietly(make().fit, X, y)
    clf.save(here)
    words = ["--label", y.name, "--seed", "3", "--hypotheses", HYPOTHESES[kind], *method, "--out", str(there)]
    assert main(["fit", str(in_file(X, y, tmp_path, ending)), *words]) == 0
    assert_equal_trees(tree_of(here), tree_of(there))

    other, labels = frame(150, seed=1)
    loaded = type(clf).load(there)
    assert loaded.schema_ == clf.schema_ == Model.load(here).schema
    assert not set(LEFT_OUT) & set(loaded.feature_names_in_)
    assert loaded.n_features_in_ == len(X.columns) - len(LEFT_OUT)
    backwards = other[other.columns[::-1]]
    for table in (other, backwards, pl.from_pandas(other), pa.Table.from_pandas(other)):
        np.testing.assert_array_equal(loaded.decision_function(table), clf.decision_function(other))

    # It goes on in Python as on the command line, which knows the label.
    more = in_file(other, labels, tmp_path, ending)
    assert (
        main(["adapt", str(there), str(more), "--out", str(tmp_path / "adapted.ocb"), "--batch", "150"]) == 0
    )
    if kind == "ocb":
        clf.partial_fit(other, labels)
        clf.save(here)
        assert_equal_trees(tree_of(here), tree_of(tmp_path / "adapted.ocb"))


@pytest.mark.parametrize("kind", KINDS)
def test_river_makes_the_same_model(kind):
    pytest.importorskip("river")
    from ocboost import river

    X, y = frame(300)
    codes = (y == "on time").astype(int)
    names = {"adaptive": (river.AdaptiveClassifier, 8), "ocb": (river.OCBClassifier, 20)}
    maker, n = names[kind]
    one, many = (maker(n_hypotheses=n, grace_period=len(X), seed=3) for _ in range(2))
    clf = KINDS[kind][0]()
    if kind == "ocb":
        quietly(clf.fit, X, codes)
    else:
        quietly(clf.partial_fit, X, codes, classes=[0, 1])
    for row, label in zip(X.to_dict("records"), y, strict=True):
        quietly(one.learn_one, row, label)
    quietly(many.learn_many, X[X.columns[::-1]], y)
    assert one._schema == many._schema
    assert one._schema.columns == clf.schema_.columns

    other, labels = frame(60, seed=1)
    found = many.predict_proba_many(other)[["late", "on time"]].to_numpy()
    expected = clf.predict_proba(other) if kind == "ocb" else [clf.predict_proba_one(r) for r in rows(other)]
    np.testing.assert_array_equal(found, expected)
    one.predict_proba_many(other)  # an adaptive classifier remembers what it said
    one.learn_many(other, labels)
    for row, label in zip(rows(other), labels, strict=True):
        many.learn_one(row, label)
        clf.learn_one(row, int(label == "on time"))
    last = rows(frame(1, seed=2)[0])[0]
    shares = [tuple(model.predict_proba_one(last).values()) for model in (one, many)]
    assert shares[0] == shares[1] == tuple(clf.predict_proba_one(last))
    if kind == "ocb":
        np.testing.assert_array_equal(one._clf.alpha_[0], clf.alpha_[0])


def rows(X):
    return X.to_dict("records")
