"""LightGBM's and XGBoost's classifiers as portable models, and what of them is refused."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

from ocboost import NotSavableError
from ocboost._core.codec import read
from ocboost.foreign.trees import PortableTrees, tree_model
from tests.foreign.test_trees_sklearn import TEXTS, frame_of, in_vocabulary
from tests.support.foreign_trees import N_TEXTS, examples, probes

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM before 4.7


def light(**settings):
    return lightgbm.LGBMClassifier(
        **{"n_estimators": 8, "num_leaves": 8, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, **settings}
    )


def gradient(**settings):
    return xgboost.XGBClassifier(**{"n_estimators": 8, "max_depth": 3, "n_jobs": 1, **settings})


def coded(n_classes, **more):
    X, y = examples(n_classes, **more)
    return X, np.unique(y, return_inverse=True)[1]  # XGBoost takes no other labels


def assert_close(fitted, X, frame=None, tolerance=1e-12):
    """The portable model answers as the model itself, before and after a file."""
    made = tree_model(fitted)
    given = X if frame is None else frame
    for portable in (made, read(made.tree(), "a file", PortableTrees.from_tree)):
        assert portable.classes.tolist() == fitted.classes_.tolist()
        assert portable.n_columns == X.shape[1]
        found, expected = portable.probabilities(X), fitted.predict_proba(given)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
        predicted = portable.classes[portable.predict_codes(X)]
        np.testing.assert_array_equal(predicted, fitted.predict(given))
    return made


# LightGBM -----------------------------------------------------------------------------------------------

LIGHT = {
    "default": {},
    "dart": {"boosting_type": "dart"},
    "goss": {"data_sample_strategy": "goss"},
    "forest": {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
    "zero is missing": {"zero_as_missing": True},
    "nothing is missing": {"use_missing": False},
    "another slope": {"sigmoid": 0.6},
    "from zero": {"boost_from_average": False},
    "one against rest": {"objective": "multiclassova", "sigmoid": 0.6},
    "no split": {"min_child_samples": 1000},
    "balanced": {"class_weight": "balanced"},
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", LIGHT)
def test_lightgbm(name, n_classes):
    if name == "one against rest" and n_classes == 2:
        return
    X, y = examples(n_classes)
    rows = probes(X)
    made = assert_close(light(**LIGHT[name]).fit(X, y), rows)
    assert made.nodes.zero_missing.any() == (name == "zero is missing")


def test_lightgbm_on_its_thresholds():
    X, y = examples(2)
    fitted = light(n_estimators=20).fit(X, y)
    made = tree_model(fitted)
    cuts = made.nodes.threshold[made.nodes.feature >= 0]
    near = np.concatenate([cuts, np.nextafter(cuts, 9), np.nextafter(cuts, -9)])
    assert_close(fitted, np.random.default_rng(0).choice(near, (400, 5)))


def test_lightgbm_up_to_its_best_iteration():
    X, y = coded(3)
    fitted = light(n_estimators=60, learning_rate=0.5)
    later = {"eval_X": (X[150:],), "eval_y": (y[150:],)}
    if "eval_X" not in inspect.signature(fitted.fit).parameters:  # before 4.7
        later = {"eval_set": [(X[150:], y[150:])]}
    stopping = lightgbm.early_stopping(2, verbose=False)
    fitted.fit(X[:150], y[:150], **later, callbacks=[stopping])
    made = assert_close(fitted, X)
    assert made.nodes.root.size == 3 * fitted.best_iteration_ < 3 * 60


CATEGORICAL = {"cat_smooth": 1, "min_data_per_group": 5, "cat_l2": 1}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lightgbm_with_categories(n_classes):
    X, y = examples(n_classes, category=3)
    rows = probes(X, category=3)
    rows[:5, 3] = [-1, 1000, np.inf, -np.inf, 3.7]
    fitted = light(**CATEGORICAL).fit(X, y, categorical_feature=[3])
    with np.errstate(invalid="ignore"):
        made = assert_close(fitted, np.vstack([X, rows[rows[:, 3] < 1e6]]))
    assert (made.nodes.category >= 0).any()
    assert made.vocabularies == {}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lightgbm_with_texts(n_classes):
    X, y = examples(n_classes, category=3)
    table = frame_of(X, known=TEXTS[::-1])
    fitted = light(**CATEGORICAL).fit(table, y)
    assert tree_model(fitted).vocabularies == {3: tuple(TEXTS[::-1])}
    rows = probes(X, category=3)
    later = frame_of(rows)
    assert_close(fitted, in_vocabulary(rows, later, TEXTS[::-1]), later)


def test_lightgbm_with_numbers_as_pandas_categories():
    X, y = examples(2, category=3)
    values = 100.0 - 5.0 * np.arange(N_TEXTS)

    def table(rows):
        made = pd.DataFrame(rows, columns=list("abcde"))
        known = np.where(np.isin(rows[:, 3], values), rows[:, 3], np.nan)
        made["d"] = pd.Categorical(known, categories=values)
        return made

    X[:, 3] = 100.0 - 5.0 * X[:, 3]
    fitted = light(**CATEGORICAL).fit(table(X), y)
    rows = X.copy()
    rows[::9, 3] = 7.0  # no category: missing
    made = assert_close(fitted, rows, table(rows))
    assert made.nodes.codes[3].tolist() == values.tolist()


def test_lightgbm_that_is_refused():
    X, y = examples(2, category=3, missing=False)
    with pytest.raises(NotSavableError, match="LGBMClassifier with linear_tree=True cannot be saved"):
        tree_model(light(linear_tree=True).fit(X, y))
    with pytest.raises(
        NotSavableError, match="LGBMClassifier with objective='cross_entropy' cannot be saved"
    ):
        tree_model(light(objective="cross_entropy").fit(X, y == "red"))
    table = frame_of(X)
    table["d"] = table["d"].cat.as_ordered()
    with pytest.raises(NotSavableError, match="LGBMClassifier with ordered categories"):
        tree_model(light().fit(table, y))


# XGBoost ------------------------------------------------------------------------------------------------

SINGLE = 1e-6
GRADIENT = {
    "default": {},
    "another start": {"base_score": 0.3},
    "many trees a round": {"num_parallel_tree": 3, "subsample": 0.5, "colsample_bynode": 0.5},
    "zero is missing": {"missing": 0.0},
    "pruned": {"gamma": 3.0, "tree_method": "exact"},
    "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0},
    "no split": {"min_child_weight": 1e6},
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", GRADIENT)
def test_xgboost(name, n_classes):
    X, y = coded(n_classes)
    fitted = gradient(**GRADIENT[name]).fit(X, y)
    assert_close(fitted, probes(X), tolerance=SINGLE)
    cuts = tree_model(fitted).nodes.threshold[tree_model(fitted).nodes.feature >= 0].astype(np.float32)
    if cuts.size:
        up, down = np.nextafter(cuts, np.float32(9)), np.nextafter(cuts, np.float32(-9))
        near = np.concatenate([cuts, up, down]).astype(np.float64)
        near = np.concatenate([near, np.nextafter(near, 9), np.nextafter(near, -9)])
        assert_close(fitted, np.random.default_rng(0).choice(near, (400, 5)), tolerance=SINGLE)


def test_xgboost_sums_many_trees_in_single_precision():
    X, y = coded(2)
    fitted = gradient(n_estimators=400, learning_rate=0.5, max_depth=2).fit(X, y)
    margin = fitted.predict(X, output_margin=True)
    np.testing.assert_array_equal(tree_model(fitted)._sums(X)[:, 0], margin)
    assert_close(xgboost.XGBRFClassifier(n_estimators=20, n_jobs=1).fit(X, y), X, tolerance=SINGLE)


def test_xgboost_up_to_its_best_iteration():
    X, y = coded(3)
    fitted = gradient(n_estimators=60, learning_rate=0.7, early_stopping_rounds=2)
    fitted.fit(X[:150], y[:150], eval_set=[(X[150:], y[150:])], verbose=False)
    made = assert_close(fitted, X, tolerance=SINGLE)
    assert made.nodes.root.size == 3 * (fitted.best_iteration + 1) < 3 * 60


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("one_hot", [1, 100])
def test_xgboost_with_categories(one_hot, n_classes):
    X, y = coded(n_classes, category=3)
    fitted = gradient(
        enable_categorical=True, feature_types=["q", "q", "q", "c", "q"], max_cat_to_onehot=one_hot
    ).fit(X, y)
    rows = probes(X, category=3)
    rows[rows[:, 3] >= N_TEXTS, 3] = np.nan
    made = assert_close(fitted, rows, tolerance=SINGLE)
    assert (made.nodes.category >= 0).any()


def test_xgboost_with_numbers_as_pandas_categories():
    if not hasattr(xgboost.Booster, "get_categories"):
        pytest.skip("before 3.1 a model does not know its categories")
    X, y = coded(2, category=3)
    table = pd.DataFrame(X, columns=list("abcde"))
    given = np.nan_to_num(X[:, 3]).astype(int)
    table["d"] = pd.Categorical.from_codes(given, categories=100 - 5 * np.arange(N_TEXTS))
    fitted = gradient(enable_categorical=True).fit(table, y)
    rows = X.copy()
    rows[:, 3] = 100 - 5 * given
    assert_close(fitted, rows, table, tolerance=SINGLE)


def test_xgboost_with_texts():
    X, y = coded(2, category=3)
    table = frame_of(X, known=TEXTS[::-1])
    fitted = gradient(enable_categorical=True, max_cat_to_onehot=1).fit(table, y)
    rows = probes(X, category=3)
    rows[rows[:, 3] >= N_TEXTS, 3] = np.nan
    later = frame_of(rows, known=TEXTS[::-1])
    made = assert_close(fitted, in_vocabulary(rows, later, TEXTS[::-1]), later, tolerance=SINGLE)
    if hasattr(xgboost.Booster, "get_categories"):  # since 3.1 a model knows its categories
        assert made.vocabularies == {3: tuple(TEXTS[::-1])}


def test_xgboost_that_is_refused():
    X, y = coded(2)
    with pytest.raises(NotSavableError, match="XGBClassifier with booster='gblinear' cannot be saved"):
        tree_model(gradient(booster="gblinear", max_depth=None).fit(np.nan_to_num(X), y))
    with pytest.raises(NotSavableError, match="XGBClassifier with booster='dart' cannot be saved"):
        tree_model(gradient(booster="dart").fit(X, y))
    with pytest.raises(NotSavableError, match="XGBClassifier with objective='binary:hinge' cannot be saved"):
        tree_model(gradient(objective="binary:hinge").fit(X, y))
    if hasattr(xgboost.Booster, "get_categories"):
        table = frame_of(coded(2, category=3)[0])
        table["d"] = table["d"].cat.rename_categories(lambda text: f"été {text}")
        with pytest.raises(NotSavableError, match=r"column 3 that are not plain ASCII.*\.cat\.codes"):
            tree_model(gradient(enable_categorical=True).fit(table, y))
    several = gradient(multi_strategy="multi_output_tree", tree_method="hist").fit(*coded(3))
    with pytest.raises(NotSavableError, match="multi_strategy='multi_output_tree' cannot be saved"):
        tree_model(several)
