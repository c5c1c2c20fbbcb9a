"""Models that were adopted in Python, on the command line, with files as people have them."""

from __future__ import annotations

import copy
import csv
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier

from ocboost import AdaptiveClassifier
from ocboost.errors import LeftOutWarning
from tests.support.adopted import N, adopt, prepared, rows, table
from tests.support.cli_runs import ran, refused

LASTS = {
    "trees": lambda: HistGradientBoostingClassifier(max_iter=4, random_state=0),
    "linear": LogisticRegression,
}


@cache
def adopted(name):
    X, y = table(K=3)
    model = prepared(LASTS[name]()).fit(X[:N], y[:N])
    return model, adopt(model, X, y)


@pytest.fixture(params=LASTS)
def saved(request, tmp_path):
    """An adopted pipeline in a file, its rows as a file, and both in Python."""
    X, y = table(K=3)
    model, clf = adopted(request.param)
    clf = copy.copy(clf)
    clf.save(tmp_path / "model.ocb")
    rest = X[N:].reset_index(drop=True)
    rest.loc[::7, "town"] = "Paris"  # not known
    labels = y[N:].reset_index(drop=True)
    moved = rest[rest.columns[::-1]].assign(**{"class": labels, "note": "x"})
    moved.to_csv(tmp_path / "rows.csv", index=False)
    return model, clf, rest, labels, tmp_path


def test_predict(saved, capsys):
    model, _, X, _, folder = saved
    code, out, err = ran(capsys, "predict", folder / "model.ocb", folder / "rows.csv", "--all")
    assert code == 0, err
    lines = list(csv.DictReader(out.splitlines()))
    assert [line["prediction"] for line in lines] == model.predict(X).tolist()
    found = [[float(line[f"p({label})"]) for label in model.classes_] for line in lines]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-5)


def test_adapt_as_in_python(saved, capsys):
    _, clf, X, y, folder = saved
    path, out = folder / "model.ocb", folder / "later.ocb"
    code, _, err = ran(capsys, "adapt", path, folder / "rows.csv", "--out", out)
    assert code == 0, err
    later = AdaptiveClassifier.load(out)
    assert later.n_learnt_ == clf.n_learnt_ + len(X)
    for i in range(len(X)):
        clf.predict(X[i : i + 1], ids=[i])
        clf.partial_fit(X[i : i + 1], y[i : i + 1], ids=[i])
    np.testing.assert_allclose(
        later.predict_proba(X, issue=False), clf.predict_proba(X, issue=False), atol=1e-6
    )
    assert (clf.predict(X[200:], issue=False) == y[200:]).mean() > 0.6


def test_evaluate_info_explain(saved, capsys):
    model, _, X, _, folder = saved
    path, data = folder / "model.ocb", folder / "rows.csv"
    code, out, err = ran(capsys, "evaluate", data, "--model", path)
    assert code == 0, err
    assert "accuracy" in out.lower()
    code, out, err = ran(capsys, "info", path)
    assert code == 0, err
    assert "the label is class" in out
    code, out, err = ran(capsys, "explain", path, data, "--row", "1")
    assert code == 0, err
    assert f"Row 1: class {model.predict(X[1:2])[0]}" in out
    assert "deployed" in out


def test_predictions_of_a_threshold(tmp_path, capsys):
    """They are the model's own, not the likeliest classes, until the first label."""
    X, y = table()
    model = FixedThresholdClassifier(prepared(LogisticRegression()), threshold=0.8).fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    assert (model.predict(X) != model.classes_[model.predict_proba(X).argmax(axis=1)]).any()
    np.testing.assert_array_equal(clf.predict(X, issue=False), model.predict(X))
    clf.save(tmp_path / "model.ocb")
    X.to_csv(tmp_path / "rows.csv", index=False)
    code, out, err = ran(capsys, "predict", tmp_path / "model.ocb", tmp_path / "rows.csv")
    assert code == 0, err
    assert [line["prediction"] for line in csv.DictReader(out.splitlines())] == model.predict(X).tolist()


def test_a_file_without_its_model(tmp_path, capsys):
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    clf = adopt(KNeighborsClassifier().fit(X[:N], y[:N]), X, y)
    path = tmp_path / "model.ocb"
    with pytest.warns(LeftOutWarning):
        clf.save(path)
    before = path.read_bytes()
    for line in (
        ("adapt", path, tmp_path / "rows.csv", "--label", "y", "--out", tmp_path / "later.ocb"),
        ("predict", path, tmp_path / "rows.csv"),
        ("evaluate", tmp_path / "rows.csv", "--label", "y", "--model", path),
        ("info", path),
        ("explain", path, tmp_path / "rows.csv"),
    ):
        message = refused(capsys, *line)
        assert "does not hold the deployed model, KNeighborsClassifier" in message
        assert "AdaptiveClassifier.load(path, deployed=model)" in message
    assert path.read_bytes() == before
    assert not (tmp_path / "later.ocb").exists()
