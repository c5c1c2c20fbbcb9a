"""Files of adopted models: what they hold, what they leave out, and how a model is recognised."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ocboost import AdaptiveClassifier, InputError, ModelFileError, OCBClassifier
from ocboost._core.codec import read
from ocboost._core.file_format import load
from ocboost.errors import LeftOutWarning
from ocboost.estimators.adaptive.deployed import DeployedModel
from ocboost.estimators.adaptive.file import ADAPTIVE_KIND, adaptive_from_tree
from tests.support.adaptive import same, sparse_stream
from tests.support.adopted import (
    NEVER_SAVED,
    SAVED_WITHOUT_TREES,
    TABLE_MODELS,
    WITH_TREES,
    N,
    OnlyProbabilities,
    adopt,
    expected,
    fitted_model,
    prepared,
    rows,
    table,
)
from tests.support.saved_trees import GONE, changed, found, places

SAVED = {**WITH_TREES, **SAVED_WITHOUT_TREES}
EXACT = {*WITH_TREES, "OCBClassifier"} - {"XGBoost", "LightGBM"}


def of_functions(last=None):
    """A pipeline over some columns of the table, with a step that no file holds."""
    return make_pipeline(
        ColumnTransformer([("numbers", SimpleImputer(), ["price", "size"])]),
        FunctionTransformer(lambda X: X * 2.0),
        last or LogisticRegression(),
    )


def continued(clf, other, X, y, start, *, atol=0.0):
    """Let two learn the same rows, and see that they say the same."""
    for i in range(start, start + 20):
        row = X.iloc[i].to_dict() if hasattr(X, "iloc") else X[i]
        for each in (clf, other):
            each.predict_one(row)
            each.learn_one(row, y[i])
    for each in (clf, other):
        each.partial_fit(X[start + 20 : start + 60], y[start + 20 : start + 60])
    one, two = clf.predict_proba(X, issue=False), other.predict_proba(X, issue=False)
    if atol:
        np.testing.assert_allclose(one, two, rtol=0.0, atol=atol)
    else:
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", SAVED)
def test_a_model_comes_back(name, K, tmp_path):
    X, y = rows(K)
    model = fitted_model(name, K)
    clf = adopt(model, X, y)
    clf.predict(X[N : N + 10])
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    assert loaded.n_waiting_ == 10
    atol = 0.0 if name in EXACT else 1e-6
    for some in (X, X[:3]):
        np.testing.assert_allclose(
            loaded.predict_proba(some, issue=False), expected(model, some), rtol=0, atol=atol
        )
        np.testing.assert_array_equal(loaded.predict(some, issue=False), model.predict(some))
    loaded.save(tmp_path / "again")
    if name in EXACT:
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    continued(clf, loaded, X, y, N, atol=atol)


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_a_model_of_a_table_comes_back(name, tmp_path):
    X, y = table()
    model = TABLE_MODELS[name]().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    clf.save(tmp_path / "model")
    atol = 1e-12 if name == "logistic" else 0.0
    for deployed in (None, model):
        loaded = AdaptiveClassifier.load(tmp_path / "model", deployed=deployed)
        other = X.copy()
        other.loc[::3, "town"] = "Paris"
        for some in (X, X[:3], other):
            given = loaded.predict_proba(some[some.columns[::-1]], issue=False)
            np.testing.assert_allclose(given, model.predict_proba(some), rtol=0, atol=atol)
        assert loaded.schema_ == clf.schema_
        continued(copy.copy(clf), loaded, X, y, N, atol=atol)
        loaded.save(tmp_path / "again")
        again = AdaptiveClassifier.load(tmp_path / "again")
        given = again.predict_proba(X, issue=False)
        np.testing.assert_allclose(given, loaded.predict_proba(X, issue=False), rtol=0, atol=1e-12)


FRESH = """
import sys
import pandas as pd
for name in ("lightgbm", "xgboost"):
    sys.modules[name] = None  # not installed
import ocboost
clf = ocboost.AdaptiveClassifier.load("model")
rows = pd.read_csv("rows.csv")
pd.DataFrame(clf.predict_proba(rows, issue=False)).to_csv("found.csv", index=False)
clf.partial_fit(rows[:40], rows["class"][:40])
clf.save("later")
for name in ("sklearn.ensemble", "sklearn.compose", "sklearn.linear_model", "sklearn.impute"):
    assert name not in sys.modules, name
"""


def test_in_a_fresh_process(tmp_path):
    """Neither the code that trained it nor the libraries that it was made with are needed."""
    X, y = table()
    model = prepared(WITH_TREES["HistGradientBoosting"]()).fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    clf.save(tmp_path / "model")
    rest = X[N:].reset_index(drop=True)
    rest.assign(**{"class": y[N:].to_numpy()}).to_csv(tmp_path / "rows.csv", index=False)
    run = subprocess.run(
        [sys.executable, "-c", FRESH], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    answers = np.loadtxt(tmp_path / "found.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(answers, model.predict_proba(rest), rtol=1e-12)
    clf.partial_fit(rest[:40], y[N : N + 40])
    later = AdaptiveClassifier.load(tmp_path / "later")
    np.testing.assert_array_equal(later.predict_proba(X, issue=False), clf.predict_proba(X, issue=False))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("learnt", [0, 40])
def test_an_adopted_ocb_goes_on_from_a_file(K, learnt, tmp_path):
    X, y = rows(K)
    model = fitted_model("OCBClassifier", K)
    clf = adopt(model, X, y)
    clf.predict(X[N : N + 10])
    if learnt:
        clf.partial_fit(X[N : N + learnt], y[N : N + learnt])
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    for i in range(300, 360):
        for each in (clf, loaded):
            each.predict_one(X[i])
            each.learn_one(X[i], y[i])
    assert same(clf, loaded)


def test_sparse_rows(tmp_path):
    X, y = sparse_stream()
    model = LogisticRegression().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    clf.save(tmp_path / "model")
    for deployed in (None, model):
        loaded = AdaptiveClassifier.load(tmp_path / "model", deployed=deployed)
        np.testing.assert_allclose(loaded.predict_proba(X, issue=False), model.predict_proba(X), atol=1e-12)


# What a file leaves out -----------------------------------------------------------------------------------


@pytest.mark.parametrize("learnt", [0, 40])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", NEVER_SAVED)
def test_a_model_is_left_out_and_given_again(name, K, learnt, tmp_path):
    X, y = rows(K)
    model = fitted_model(name, K)
    clf = adopt(model, X, y)
    clf.partial_fit(X[400 : 400 + learnt], y[400 : 400 + learnt]) if learnt else None
    path, title = tmp_path / "model", type(model).__name__
    with pytest.warns(LeftOutWarning, match=rf"{title}.*give it again: load\(path, deployed=model\)"):
        clf.save(path)
    with pytest.raises(
        ModelFileError, match=rf"not hold the deployed model, {title}, .*load\(path, deployed=model"
    ):
        AdaptiveClassifier.load(path)
    loaded = AdaptiveClassifier.load(path, deployed=model)
    with pytest.warns(LeftOutWarning):
        loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    continued(clf, loaded, X, y, N)


def test_a_table_s_model_is_left_out_and_given_again(tmp_path):
    X, y = table()
    model = of_functions().fit(X[:N], y[:N])
    clf = adopt(model, X, y)
    with pytest.warns(LeftOutWarning, match="the step 'functiontransformer' of the Pipeline"):
        clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model", deployed=model)
    some = X[X.columns[::-1]]
    np.testing.assert_array_equal(loaded.predict_proba(some, issue=False), model.predict_proba(X))
    continued(clf, loaded, X, y, N)
    other = of_functions().fit(X[100:300], y[100:300])
    with pytest.raises(InputError, match=r"whose probabilities of 16 rows differ by up to"):
        AdaptiveClassifier.load(tmp_path / "model", deployed=other)


def test_what_becomes_of_the_given_model_makes_no_difference(tmp_path):
    X, y = rows()
    model = KNeighborsClassifier(3).fit(X[:N], y[:N])
    before = model.predict_proba(X)
    clf = adopt(model, X, y)
    with pytest.warns(LeftOutWarning):
        clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model", deployed=model)
    model.fit(X[300:], 1 - y[300:])
    np.testing.assert_array_equal(loaded.predict_proba(X), before)


def refusing(p):
    raise RuntimeError("not today")


OTHERS = {
    "other answers": (
        lambda X, y: KNeighborsClassifier(9).fit(X, y),
        "differ by up to .* adopt this one with",
    ),
    "other classes": (
        lambda X, y: KNeighborsClassifier(3).fit(X, y + 1),
        r"of the classes \[0, 1\]; got KNeigh",
    ),
    "more classes": (
        lambda X, y: GaussianNB().fit(X, np.arange(len(X)) % 3),
        r"got GaussianNB of \[0, 1, 2\]",
    ),
    "other columns": (lambda X, y: GaussianNB().fit(X[:, :3], y), "of 4 columns; got GaussianNB of 3"),
    "refuses": (
        lambda X, y: OnlyProbabilities(GaussianNB().fit(X, y), refusing),
        "refuses its rows: not today",
    ),
    "no numbers": (
        lambda X, y: OnlyProbabilities(GaussianNB().fit(X, y), lambda p: p * np.nan),
        "refuses its",
    ),
    "unfitted": (lambda X, y: GaussianNB(), "GaussianNB, which is not fitted"),
    "a regressor": (lambda X, y: "a model", "must be a fitted classifier"),
    "learns by itself": (lambda X, y: AdaptiveClassifier(n_hypotheses=2).fit(X, y), "which learns by itself"),
}


@pytest.mark.parametrize(("make", "message"), OTHERS.values(), ids=OTHERS)
def test_another_model_is_given(make, message, tmp_path):
    X, y = rows()
    clf = adopt(KNeighborsClassifier(3).fit(X[:N], y[:N]), X, y)
    with pytest.warns(LeftOutWarning):
        clf.save(tmp_path / "model")
    with pytest.raises(InputError, match=message):
        AdaptiveClassifier.load(tmp_path / "model", deployed=make(X[:N], y[:N]))


def test_a_form_that_answers_otherwise_is_not_saved(tmp_path, monkeypatch):
    """A library that computes otherwise than its form in ocboost does is found out when it is adopted."""
    X, y = rows()
    model = fitted_model("RandomForest")
    right = model.predict_proba(X)
    form = DeployedModel(model).portable()
    monkeypatch.setattr(type(form.model), "probabilities", lambda self, X: np.full((len(X), 2), 0.5))
    clf = adopt(model, X, y)
    for some in (X, X[:2]):
        np.testing.assert_array_equal(clf.predict_proba(some, issue=False), right[: len(some)])
    with pytest.warns(LeftOutWarning, match=r"whose form in ocboost answers otherwise, by up to 0\.5"):
        clf.save(tmp_path / "model")
    AdaptiveClassifier.load(tmp_path / "model", deployed=model)


def test_a_file_stays_where_saving_fails(tmp_path):
    X, y = rows()
    clf = adopt(KNeighborsClassifier(3).fit(X[:N], y[:N]), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LeftOutWarning):
            clf.save(tmp_path / "model")  # the warning comes last: the file is there
    assert (tmp_path / "model").exists()


# Files that others have changed ---------------------------------------------------------------------------

VALUES = [
    None,
    True,
    -1,
    1 << 70,
    0.5,
    float("nan"),
    "",
    "text",
    [],
    [1],
    {},
    np.zeros(3),
    np.zeros((2, 2), int),
    GONE,
]


def spoilt(array):
    yield array[:-1]
    yield array.astype(np.float32)
    yield np.full_like(array, np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max)
    yield -array - 1


def hostile_cases():
    X, y = table(K=2)
    cat = X.drop(columns="sold").astype({"town": "category"})
    return {
        "trees": lambda: (fitted_model("RandomForest"), *rows()),
        "a table": lambda: (prepared(RandomForestClassifier(2, max_depth=2)).fit(X[:N], y[:N]), X, y),
        "categories": lambda: (TABLE_MODELS["codes"]().fit(cat[:N], y[:N]), cat, y),
        "left out": lambda: (of_functions().fit(X[:N], y[:N]), X, y),
        "OCBClassifier": lambda: (OCBClassifier(n_hypotheses=3).fit(X[:N], y[:N]), X, y),
    }


@pytest.mark.parametrize("name", ["trees", "a table", "categories", "left out", "OCBClassifier"])
def test_any_entry_changed(name, tmp_path):
    """Refused, or a classifier that predicts and learns."""
    model, X, y = hostile_cases()[name]()
    clf = adopt(model, X, y, n_hypotheses=3, without=["forests", "neighbours"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        clf.save(tmp_path / "model")
    given = model if name == "left out" else None
    tree = load(tmp_path / "model", ADAPTIVE_KIND)
    whole = found(tree, "bank.deployed")
    rng, refused, used = np.random.default_rng(0), 0, 0
    paths = list(places(whole))
    for number in rng.choice(len(paths), min(len(paths), 70), replace=False):
        leaf = found(whole, paths[number])
        values = [*VALUES, *(spoilt(leaf) if isinstance(leaf, np.ndarray) else ())]
        for value in rng.choice(len(values), 3, replace=False):
            other = changed(tree, ("bank", "deployed", *paths[number]), values[value])
            try:
                loaded = read(other, "a file", lambda one: adaptive_from_tree(one, AdaptiveClassifier, given))
            except ModelFileError:
                refused += 1
                continue
            except InputError:
                if given is None:
                    raise
                refused += 1
                continue
            used += 1
            try:
                loaded.predict_proba(X[:3])
                loaded.partial_fit(X[:3], y[:3])
            except InputError:  # it says so where a model does not answer
                continue
            assert np.isfinite(loaded.predict_proba(X[:5])).all(), (paths[number], values[value])
    assert refused > 2 * used
