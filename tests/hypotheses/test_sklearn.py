"""Members of scikit-learn's models answer as their own ``predict``, everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from ocboost import InputError
from ocboost.hypotheses import Callables, Stumps, Trees, from_sklearn

NAMES = np.array(["red", "green", "blue"])  # not in the order of the alphabet
SEED = 0


def examples(n_classes, n=120, missing=False):
    rng = np.random.default_rng(n_classes)
    X = np.round(rng.normal(size=(n, 4)), 2)
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)
    y = NAMES[np.digitize(score, [0.0] if n_classes == 2 else [-0.5, 0.5])]
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def thresholds_of(fitted):
    trees = np.ravel(getattr(fitted, "estimators_", [fitted]))
    cuts = np.concatenate([each.tree_.threshold[each.tree_.children_left >= 0] for each in trees])
    return np.unique(np.append(cuts, 0.0))[:200]


def probes(fitted, missing):
    """Rows of values on the thresholds, and one step of float32 or float64 beside them."""
    cuts = thresholds_of(fitted)
    single = cuts.astype(np.float32)
    values = np.concatenate(
        [
            cuts,
            np.nextafter(cuts, np.inf),
            np.nextafter(cuts, -np.inf),
            single,
            np.nextafter(single, np.float32(np.inf)),
            np.nextafter(single, np.float32(-np.inf)),
        ]
    )
    values = values[
        np.abs(values) <= np.finfo(np.float32).max
    ]  # a cut that only parts off NaN is at infinity
    rng = np.random.default_rng(9)
    X = rng.choice(values, (500, 4))
    if missing:
        X[rng.random(X.shape) < 0.3] = np.nan
    return X


def predicted(fitted, X):
    """What each member predicts, in the labels of the whole, by its own ``predict``."""
    out = []
    for m, member in enumerate(fitted.estimators_):
        taken = getattr(fitted, "estimators_features_", None)
        found = member.predict(X if taken is None else X[:, taken[m]])
        out.append(found if isinstance(fitted, AdaBoostClassifier) else fitted.classes_[found.astype(int)])
    return np.stack(out, axis=1)


def as_columns(labels, classes):
    wanted = classes[1:] if len(classes) == 2 else classes
    return np.concatenate([np.where(labels == label, 1, -1) for label in wanted], axis=1)


ENSEMBLES = {
    "adaboost stumps": lambda: AdaBoostClassifier(n_estimators=15, random_state=SEED),
    "adaboost trees": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=10),
    "forest": lambda: RandomForestClassifier(10, random_state=SEED),
    "forest by leaves": lambda: RandomForestClassifier(10, max_leaf_nodes=6, random_state=SEED),
    "forest of stumps": lambda: RandomForestClassifier(20, max_depth=1, random_state=SEED),
    "pruned forest": lambda: RandomForestClassifier(10, ccp_alpha=0.02, random_state=SEED),
    "extra trees": lambda: ExtraTreesClassifier(10, max_depth=5, random_state=SEED),
    "bagging": lambda: BaggingClassifier(n_estimators=10, max_features=2, random_state=SEED),
    "bagging of few": lambda: BaggingClassifier(n_estimators=30, max_samples=3, random_state=SEED),
    "bagging features again": lambda: BaggingClassifier(
        ExtraTreeClassifier(max_depth=4),
        n_estimators=10,
        max_features=4,
        bootstrap_features=True,
        random_state=1,
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_members_of_an_ensemble(name, n_classes, missing, dtype):
    X, y = examples(n_classes, missing=missing and not name.startswith("adaboost"))  # whose fit takes no NaN
    fitted = ENSEMBLES[name]().fit(X, y)
    members = from_sklearn(fitted)
    rows = probes(fitted, missing).astype(dtype)
    expected = as_columns(predicted(fitted, rows), fitted.classes_)
    assert np.array_equal(members.answers(rows), expected)
    assert members.n_features == 4
    stumps = n_classes == 2 and name in ("adaboost stumps", "forest of stumps")
    few = name == "bagging of few" and isinstance(members, Stumps)
    assert isinstance(members, Stumps if stumps or few else Trees)


def test_missing_values_where_none_were_seen():
    X, y = examples(3)
    fitted = RandomForestClassifier(10, random_state=SEED).fit(X, y)
    rows = probes(fitted, missing=True)
    expected = as_columns(predicted(fitted, rows), fitted.classes_)
    assert np.array_equal(from_sklearn(fitted).answers(rows), expected)


class Unweighted(DecisionTreeClassifier):
    """Bagging gives such trees the drawn examples only."""

    def fit(self, X, y, check_input=True):
        return super().fit(X, y, check_input=check_input)


@pytest.mark.parametrize(("member", "kind"), [(Unweighted(), Trees), (KNeighborsClassifier(1), Callables)])
def test_a_member_that_has_seen_only_some_classes(member, kind):
    X, y = examples(3)
    fitted = BaggingClassifier(member, n_estimators=30, max_samples=3, random_state=SEED).fit(X, y)
    assert {len(each.classes_) for each in fitted.estimators_} == {1, 2, 3}
    members = from_sklearn(fitted)
    assert isinstance(members, kind)
    assert np.array_equal(members.answers(X), as_columns(predicted(fitted, X), fitted.classes_))


def test_a_tree_that_predicts_otherwise_is_asked_itself():
    class Contrary(DecisionTreeClassifier):
        def predict(self, X, check_input=True):
            return np.where(super().predict(X) == "red", "green", "red")

    X, y = examples(2)
    fitted = Contrary(max_depth=2).fit(X, y)
    members = from_sklearn(fitted)
    assert isinstance(members, Callables)
    assert np.array_equal(members.answers(X)[:, 0] == 1, fitted.predict(X) == "red")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_of_gradient_boosting(n_classes, depth, dtype):
    X, y = examples(n_classes)
    fitted = GradientBoostingClassifier(n_estimators=12, max_depth=depth, random_state=SEED).fit(X, y)
    rows = probes(fitted, missing=False).astype(dtype)
    members = from_sklearn(fitted)
    by_class = [
        [np.where(tree.predict(rows) >= 0, 1, -1) for tree in trees] for trees in fitted.estimators_.T
    ]
    expected = np.stack([column for columns in by_class for column in columns], axis=1)
    assert np.array_equal(members.answers(rows), expected)
    assert isinstance(members, Stumps if depth == 1 else Trees)
    turned = from_sklearn(fitted, classes=fitted.classes_[::-1])
    by_class = [[-by_class[0][t] for t in range(12)]] if n_classes == 2 else by_class[::-1]
    expected = np.stack([column for columns in by_class for column in columns], axis=1)
    assert np.array_equal(turned.answers(rows), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tree", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_a_single_tree_and_a_list_of_them(tree, n_classes):
    X, y = examples(n_classes)
    fitted = tree(max_depth=4, random_state=SEED).fit(X, y)
    rows = probes(fitted, missing=False)
    expected = as_columns(fitted.predict(rows)[:, None], fitted.classes_)
    assert np.array_equal(from_sklearn(fitted).answers(rows), expected)
    other = tree(max_depth=2, random_state=1).fit(X[y != "green"], y[y != "green"])
    both = from_sklearn([fitted, other])
    labels = np.stack([fitted.predict(rows), other.predict(rows)], axis=1)
    assert np.array_equal(both.answers(rows), as_columns(labels, np.unique(labels)))
    order = np.array(["red", "green", "blue"])
    named = from_sklearn([fitted, other], classes=order)
    assert np.array_equal(named.answers(rows), as_columns(labels, order))


def test_regression_trees_answer_their_sign():
    X, _ = examples(2)
    score = np.round(X[:, 0] + X[:, 1])
    trees = [DecisionTreeRegressor(max_depth=d, random_state=SEED).fit(X, score) for d in (2, 8)]
    expected = np.stack([np.where(tree.predict(X) >= 0, 1, -1) for tree in trees], axis=1)
    assert (trees[1].predict(X) == 0).any()
    assert np.array_equal(from_sklearn(trees).answers(X), expected)
    assert np.array_equal(from_sklearn(trees[0]).answers(X), expected[:, :1])
    forest = RandomForestRegressor(3, random_state=SEED).fit(X, score)
    assert len(from_sklearn(list(forest.estimators_))) == 3


def test_stumps_that_do_not_split_or_answer_the_same_on_both_sides():
    X = np.array([[1.0], [2.0], [3.0], [np.nan]])
    constant = DecisionTreeClassifier().fit(X, ["b", "b", "b", "b"])
    one_sided = DecisionTreeClassifier(max_depth=1).fit(
        np.array([[0.0]] * 5 + [[1.0]] * 5), ["a", "b", "b", "b", "b", "a", "a", "b", "b", "b"]
    )
    stumps = from_sklearn([constant, one_sided], classes=["a", "b"])
    assert isinstance(stumps, Stumps)
    rows = np.array([[-np.inf], [0.0], [np.inf], [np.nan]])
    assert one_sided.tree_.node_count == 3
    assert (one_sided.predict([[0.0], [1.0]]) == "b").all()
    assert (stumps.answers(rows) == 1).all()
    assert (from_sklearn([constant, one_sided], classes=["b", "a"]).answers(rows) == -1).all()


def test_a_stump_sends_missing_values_where_scikit_learn_does():
    X = np.array([[1.0]] * 4 + [[2.0]] * 4 + [[np.nan]] * 4)
    for labels in ("aaaabbbbbbbb", "aaaabbbbaaaa"):
        tree = DecisionTreeClassifier(max_depth=1).fit(X, list(labels))
        expected = np.where(tree.predict(X) == "b", 1, -1)
        assert np.array_equal(from_sklearn(tree).answers(X)[:, 0], expected)
        assert expected[-1] == (1 if labels[-1] == "b" else -1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_that_are_no_trees(n_classes):
    X, y = examples(n_classes)
    bagging = BaggingClassifier(GaussianNB(), n_estimators=4, max_features=2, random_state=SEED).fit(X, y)
    boosted = AdaBoostClassifier(LogisticRegression(), n_estimators=3).fit(X, y)
    voting = VotingClassifier([("nb", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2))]).fit(X, y)
    for fitted in (bagging, boosted, voting):
        members = from_sklearn(fitted)
        assert isinstance(members, Callables)
        assert np.array_equal(members.answers(X), as_columns(predicted(fitted, X), fitted.classes_))
        if n_classes == 3:
            turned = from_sklearn(fitted, classes=fitted.classes_[::-1])
            assert np.array_equal(turned.answers(X), as_columns(predicted(fitted, X), fitted.classes_[::-1]))
    alone = LogisticRegression().fit(X, y)
    assert np.array_equal(
        from_sklearn(alone).answers(X), as_columns(alone.predict(X)[:, None], alone.classes_)
    )


def test_what_members_say_of_sparse_and_missing_values():
    X, y = examples(2, missing=True)
    histogram = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    members = from_sklearn([histogram])
    assert members.accepts_missing
    assert not members.accepts_sparse
    assert np.array_equal(members.answers(X)[:, 0] == 1, histogram.predict(X) == histogram.classes_[1])
    X, y = examples(2)
    linear = from_sklearn([LogisticRegression().fit(X, y)])
    assert linear.accepts_sparse
    assert not linear.accepts_missing
    assert np.array_equal(linear.answers(sparse.csr_matrix(X)), linear.answers(X))


def test_taken_over_members_can_be_saved(tmp_path):
    X, y = examples(3)
    members = from_sklearn(RandomForestClassifier(5, random_state=SEED).fit(X, y))
    members.save(tmp_path / "forest")
    assert np.array_equal(Trees.load(tmp_path / "forest").answers(X), members.answers(X))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(),
        AdaBoostClassifier(),
        GradientBoostingClassifier(),
        DecisionTreeClassifier(),
        [DecisionTreeRegressor()],
        LogisticRegression(),
    ],
)
def test_what_is_not_fitted_is_refused(model):
    with pytest.raises(InputError, match=r"which is not fitted. Call its fit first"):
        from_sklearn(model)


def test_what_cannot_be_taken_over_is_refused():
    X, y = examples(3)
    with pytest.raises(InputError, match=r"list\(np.ravel\(fitted.estimators_\)\)"):
        from_sklearn(GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0]))
    for wrong in (3, "forest", None, DecisionTreeClassifier, [None]):
        with pytest.raises(InputError, match="fitted must be a fitted scikit-learn ensemble"):
            from_sklearn(wrong)
    with pytest.raises(InputError, match="at least one member"):
        from_sklearn([])
    two = np.stack([y, y], axis=1)
    for several in (DecisionTreeClassifier(), RandomForestClassifier(2)):
        with pytest.raises(InputError, match="which predicts several"):
            from_sklearn(several.fit(X, two))
    with pytest.raises(InputError, match="which predicts several"):
        from_sklearn(DecisionTreeRegressor().fit(X, X[:, :2]))
    tree, small = DecisionTreeClassifier().fit(X, y), DecisionTreeClassifier().fit(X[:, :2], y)
    with pytest.raises(InputError, match=r"over the same features; got \[2, 4\]"):
        from_sklearn([tree, small])
    with pytest.raises(InputError, match="classes must name every class the model knows"):
        from_sklearn(tree, classes=["red", "green"])
    with pytest.raises(InputError, match="at least two different ones"):
        from_sklearn(tree, classes=["red", "green", "blue", "blue"])
    boosting = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(InputError, match="Gradient boosting has no trees for another"):
        from_sklearn(boosting, classes=["red", "green", "blue", "white"])
    regression = DecisionTreeRegressor().fit(X, X[:, 0])
    with pytest.raises(InputError, match="whose sign cannot name them"):
        from_sklearn([tree, regression])
    with pytest.raises(InputError, match="all trees, or all classifiers"):
        from_sklearn([GaussianNB().fit(X, y), regression])
    with pytest.raises(InputError, match="classes must be two for regression trees"):
        from_sklearn(regression, classes=["red", "green", "blue"])
    with pytest.raises(InputError, match="needs the others named with classes="):
        from_sklearn(DecisionTreeClassifier().fit(X, np.zeros(len(X))))
