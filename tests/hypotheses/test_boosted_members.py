"""Trees of HistGradientBoosting, LightGBM and XGBoost as hypotheses: the sign of what each adds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from ocboost import InputError, OCBClassifier
from ocboost.foreign.trees import tree_model
from ocboost.hypotheses import CategoryTrees, Stumps, Trees, from_sklearn
from ocboost.hypotheses.member_trees import member_trees
from tests.support.foreign_trees import examples, probes

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM before 4.7


@pytest.fixture(autouse=True)
def one_thread():
    """Small models on many threads only wait for them."""
    with threadpool_limits(1):
        yield


def histogram(depth, **settings):
    return HistGradientBoostingClassifier(max_iter=6, max_depth=depth, **settings)


def light(depth, **settings):
    return lightgbm.LGBMClassifier(n_estimators=6, max_depth=depth, verbose=-1, n_jobs=1, **settings)


def gradient(depth, **settings):
    return xgboost.XGBClassifier(n_estimators=6, max_depth=depth, n_jobs=1, **settings)


def added_by_histogram(fitted, X):
    """What each tree adds, (n, T, G), by the library's own stages."""
    raw = [np.broadcast_to(fitted._baseline_prediction, (len(X), fitted._baseline_prediction.size))]
    raw += list(fitted._staged_raw_predict(X))
    return np.diff(np.stack(raw, axis=1), axis=1)


def added_by_lightgbm(fitted, X):
    raw = [fitted.predict_proba(X, raw_score=True, num_iteration=t + 1).reshape(len(X), -1) for t in range(6)]
    added = np.diff(np.stack([np.zeros_like(raw[0]), *raw], axis=1), axis=1)
    roots = [tree["tree_structure"] for tree in fitted.booster_.dump_model()["tree_info"]]
    first = [root.get("internal_value", root.get("leaf_value")) for root in roots[: added.shape[2]]]
    added[:, 0] -= first
    return added


def added_by_xgboost(fitted, X):
    """Of a booster's slices: differences of sums in single precision would lose the signs of small ones."""
    rows = xgboost.DMatrix(X)
    booster = fitted.get_booster()
    raw = [booster[t : t + 1].predict(rows, output_margin=True).reshape(len(X), -1) for t in range(6)]
    start = tree_model(fitted).start
    return np.stack(raw, axis=1) - start


KINDS = {
    "histogram": (histogram, added_by_histogram),
    "lightgbm": (light, added_by_lightgbm),
    "xgboost": (gradient, added_by_xgboost),
}


def coded(n_classes, **more):
    X, y = examples(n_classes, **more)
    return X, np.unique(y, return_inverse=True)[1]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("name", KINDS)
def test_each_tree_answers_the_sign_of_what_it_adds(name, depth, n_classes):
    make, added = KINDS[name]
    X, y = coded(n_classes)
    fitted, rows = make(depth).fit(X, y), probes(X)
    members = from_sklearn(fitted)
    assert isinstance(members, Stumps if depth == 1 else Trees)
    assert (len(members), members.n_features) == (6 * (1 if n_classes == 2 else 3), 5)
    expected = added(fitted, rows)
    found = members.answers(rows).reshape(len(rows), -1, 6).transpose(0, 2, 1)  # column k·T + t
    clear = np.abs(expected) > 1e-5
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found[clear], np.sign(expected)[clear])
    assert [np.unique(column).size for column in members.answers(rows).T].count(2) > len(members) * 0.8
    np.testing.assert_array_equal(member_trees(fitted).answers(rows), members.answers(rows))
    turned = from_sklearn(fitted, classes=fitted.classes_[::-1]).answers(rows)
    blocks = np.hsplit(members.answers(rows), n_classes if n_classes > 2 else 1)
    np.testing.assert_array_equal(turned, -blocks[0] if n_classes == 2 else np.hstack(blocks[::-1]))
    with pytest.raises(InputError, match="classes must"):
        from_sklearn(fitted, classes=[*fitted.classes_, 99])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", KINDS)
def test_splits_by_category(name, n_classes, tmp_path):
    X, y = coded(n_classes, category=3)
    make, added = KINDS[name]
    if name == "histogram":
        fitted = make(3, categorical_features=[3]).fit(X, y)
    elif name == "lightgbm":
        settings = {"cat_smooth": 1, "min_data_per_group": 5, "min_child_samples": 5}
        fitted = make(3, **settings).fit(X, y, categorical_feature=[3])
    else:
        fitted = make(3, enable_categorical=True, feature_types=["q", "q", "q", "c", "q"]).fit(X, y)
    members = from_sklearn(fitted)
    assert isinstance(members, CategoryTrees)
    if name == "xgboost":
        answers = np.where(tree_model(fitted).value[:, 0] >= 0, 1, -1)
        assert {*answers} == {-1, 1}
    else:
        expected = added(fitted, X)
        found = members.answers(X).reshape(len(X), -1, 6).transpose(0, 2, 1)
        clear = np.abs(expected) > 1e-5
        np.testing.assert_array_equal(found[clear], np.sign(expected)[clear])
    members.save(tmp_path / "trees")
    np.testing.assert_array_equal(CategoryTrees.load(tmp_path / "trees").answers(X), members.answers(X))
    clf = OCBClassifier(members).fit(X[:200], y[:200])
    assert np.mean(clf.predict(X[200:]) == y[200:]) > 1.2 / n_classes


def test_lightgbm_without_its_starting_score():
    """With one class in ten all leaves of the first tree are negative: their signs alone say nothing."""
    X, _ = coded(2, missing=False)
    y = (X[:, 0] > np.quantile(X[:, 0], 0.9)).astype(int)
    fitted = light(2, min_child_samples=5).fit(X, y)
    first = fitted.predict_proba(X, raw_score=True, num_iteration=1)
    assert first.max() < 0
    answers = from_sklearn(fitted).answers(X)[:, 0]
    assert (answers[y == 1] == 1).mean() > 0.9
    assert (answers[y == 0] == -1).mean() > 0.9


def test_two_classes_with_trees_of_their_own_each():
    X, y = coded(2)
    fitted = light(3, objective="multiclass", num_class=2).fit(X, y)
    assert tree_model(fitted).n_sums == 2
    for classes, second in (([0, 1], 1), ([1, 0], 0)):
        members = from_sklearn(fitted, classes=classes)
        assert len(members) == 6
        assert np.mean((members.answers(X)[:, 0] == 1) == (y == second)) > 0.6


def test_zero_as_missing_needs_more_than_trees():
    X, y = coded(2)
    fitted = light(3, zero_as_missing=True).fit(X, y)
    rows = probes(X)
    members = from_sklearn(fitted)
    assert isinstance(members, CategoryTrees)
    expected = added_by_lightgbm(fitted, rows)[:, :, 0]
    clear = np.abs(expected) > 1e-5
    np.testing.assert_array_equal(members.answers(rows)[clear], np.sign(expected)[clear])


def test_what_cannot_be_read():
    X, y = coded(2, missing=False)
    linear = gradient(None, booster="gblinear").fit(X, y)
    assert member_trees(linear) is None
    with pytest.raises(
        InputError, match=r"trees that can be taken out; .*booster='gblinear'.* Or give \[fitted\]"
    ):
        from_sklearn(linear)
    for model in (histogram(2), light(2), gradient(2)):
        with pytest.raises(InputError, match=r"which is not fitted. Call its fit first"):
            from_sklearn(model)
