"""Classifiers fitted on tables in Python, on the command line; dates in its files."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

from ocboost import AdaptiveClassifier, Model, OCBClassifier
from tests.support.cli_runs import ran, refused

NAMES = ["carrier", "distance", "departs"]


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 9_000, n)
    X = pd.DataFrame(
        {
            "carrier": rng.choice(["UA", "B6", None], n),
            "distance": rng.normal(size=n).round(3),
            "departs": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h"),
        }
    )
    return X, pd.Series(
        np.where((X["carrier"] == "UA") | (hours % 24 > 16), "late", "on time"), name="arrival"
    )


def csv_of(path, X, y=None):
    (X if y is None else X.assign(**{y.name: y})).to_csv(path, index=False)
    return path


def model_of(kind, y_name, path):
    X, y = frame(250)
    clf = kind(n_hypotheses=8, random_state=0).fit(X, y.rename(y_name))
    clf.save(path)
    return clf


@pytest.mark.parametrize("kind", [OCBClassifier, AdaptiveClassifier])
def test_predict_and_adapt_raw_columns(kind, tmp_path, capsys):
    clf = model_of(kind, "arrival", tmp_path / "m.ocb")
    X, y = frame(60, seed=1)
    path = csv_of(tmp_path / "new.csv", X[NAMES[::-1]])
    code, printed, _ = ran(capsys, "predict", tmp_path / "m.ocb", path)
    assert code == 0
    how = {"issue": False} if kind is AdaptiveClassifier else {}
    assert [row["prediction"] for row in csv.DictReader(printed.splitlines())] == clf.predict(
        X, **how
    ).tolist()
    more = csv_of(tmp_path / "more.csv", X, y)
    code, printed, _ = ran(capsys, "adapt", tmp_path / "m.ocb", more, "--out", tmp_path / "out.ocb")
    assert code == 0
    assert Model.load(tmp_path / "out.ocb").history[-1]["learnt"] == 60
    assert Model.load(tmp_path / "out.ocb").schema == clf.schema_
    message = refused(
        capsys, "predict", tmp_path / "m.ocb", csv_of(tmp_path / "x.csv", X[["carrier", "distance"]])
    )
    assert "it lacks 'departs'" in message


def test_a_label_that_the_model_does_not_know(tmp_path, capsys):
    model_of(OCBClassifier, None, tmp_path / "m.ocb")
    data = csv_of(tmp_path / "d.csv", *frame(60, seed=1))
    line = ["adapt", tmp_path / "m.ocb", data, "--out", tmp_path / "out.ocb"]
    assert "--label must name the column that holds the class" in refused(capsys, *line)
    assert ran(capsys, *line, "--label", "arrival")[0] == 0
    assert "the label is" not in ran(capsys, "info", tmp_path / "m.ocb")[1]


def test_info_names_dates_and_categories(tmp_path, capsys):
    model_of(OCBClassifier, "arrival", tmp_path / "m.ocb")
    code, printed, _ = ran(capsys, "info", tmp_path / "m.ocb")
    assert code == 0
    assert "3 columns, 1 of them categories and 1 of them dates; the label is arrival" in printed
    assert "departs.hour" in printed
    assert "carrier" in printed


def test_a_model_of_arrays_refuses_dates(tmp_path, capsys):
    X, y = frame(100)
    OCBClassifier(n_hypotheses=4).fit(X[["distance"]].to_numpy(), y.to_numpy()).save(tmp_path / "m.ocb")
    data = csv_of(tmp_path / "d.csv", X[["departs"]])
    message = refused(capsys, "predict", tmp_path / "m.ocb", data)
    assert "which does not know its columns; the column 'departs' holds dates" in message


def test_few_rows_are_fitted_as_in_python(tmp_path, capsys):
    X, y = frame(80)
    data = csv_of(tmp_path / "d.csv", X, y)
    words = ["--label", "arrival", "--hypotheses", "8", "--out", tmp_path / "m.ocb"]
    assert ran(capsys, "fit", data, *words)[0] == 0
    clf = AdaptiveClassifier(n_hypotheses=8, random_state=0).fit(X, y)
    loaded = AdaptiveClassifier.load(tmp_path / "m.ocb")
    assert loaded.bank_.pool is not None
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
