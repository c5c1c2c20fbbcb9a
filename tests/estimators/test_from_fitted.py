"""A deployed AdaBoostClassifier, adopted: at first exactly as it was, then it learns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, NotSavableError, OCBClassifier, adaboost_weights

NAMES = np.array(["red", "green", "blue", "black", "amber"])


def examples(n_classes, seed, n=150):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)  # many values are equal, so many votes are
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.6 * rng.normal(size=n)
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, NAMES[np.digitize(score, cuts)]


def thresholds(deployed):
    cuts = [m.tree_.threshold[m.tree_.children_left >= 0] for m in deployed.estimators_]
    return np.unique(np.concatenate([*cuts, [0.0]]))


def probes(deployed, rng):
    """Rows of values at the thresholds and next to them, as float64 and as float32."""
    cuts = thresholds(deployed)
    cuts = cuts[np.abs(cuts) < 1e30]
    values = np.concatenate(
        [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts.astype(np.float32)]
    )
    return rng.choice(values, (800, 4))


def assert_same(clf, deployed, *Xs):
    for X in Xs:
        for rows in (X, X.astype(np.float32), np.asfortranarray(X)):
            np.testing.assert_array_equal(clf.predict(rows), deployed.predict(rows))


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_exactly_as_deployed(n_classes, depth, learning_rate):
    for seed in range(4):
        X, y = examples(n_classes, seed)
        rng = np.random.default_rng(seed)
        deployed = AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=depth),
            n_estimators=30,
            learning_rate=learning_rate,
            random_state=0,
        ).fit(X, y)
        clf = OCBClassifier.from_fitted(deployed, X[:80], y[:80])
        assert_same(clf, deployed, X, probes(deployed, rng), rng.normal(size=(300, 4)))
        np.testing.assert_array_equal(clf.classes_, deployed.classes_)
        if n_classes == 2:  # scikit-learn has them twice, for both classes, of weights that are twice α
            votes = deployed.decision_function(X) * deployed.estimator_weights_.sum() / 4
            np.testing.assert_allclose(clf.decision_function(X), votes, atol=1e-10)


def test_missing_values_go_where_the_members_send_them():
    """AdaBoostClassifier itself refuses them; its trees do not."""
    X, y = examples(2, 12)
    deployed = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10, random_state=0).fit(
        X, y
    )
    clf = OCBClassifier.from_fitted(deployed, X, y)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    votes = sum(
        weight * np.where(member.predict(X) == clf.classes_[1], 0.5, -0.5)
        for weight, member in zip(deployed.estimator_weights_, deployed.estimators_, strict=True)
    )
    np.testing.assert_allclose(clf.decision_function(X), votes, atol=1e-12)
    clf.partial_fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties_fall_as_they_did(n_classes):
    """Members of one weight each, so that the votes often tie."""
    for seed in range(20):
        X, y = examples(n_classes, seed, 60)
        deployed = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, y)
        deployed.estimator_weights_[: len(deployed.estimators_)] = 0.1
        clf = OCBClassifier.from_fitted(deployed, X, y)
        assert_same(clf, deployed, np.random.default_rng(seed).normal(size=(2000, 4)))


def test_a_perfect_member():
    X, y = load_iris(return_X_y=True)
    for member, rows in ((DecisionTreeClassifier(), X), (DecisionTreeClassifier(max_depth=1), X[:100])):
        deployed = AdaBoostClassifier(member, n_estimators=40, random_state=0).fit(rows, y[: len(rows)])
        assert deployed.estimator_weights_[0] == 1.0
        assert len(deployed.estimators_) == 1
        clf = OCBClassifier.from_fitted(deployed, rows, y[: len(rows)])
        assert_same(clf, deployed, X)
        clf.partial_fit(rows, y[: len(rows)])


def test_the_sum_of_the_weights_is_rounded_as_scikit_learn_does():
    X, y = examples(3, 0)
    deployed = AdaBoostClassifier(n_estimators=9, random_state=0).fit(X, y)
    deployed.estimators_ = deployed.estimators_[:5]  # as if it had ended early: zeros follow
    deployed.estimator_weights_ = np.concatenate([[0.1, 0.7, 1e-9, 0.3, 1e9], np.zeros(60)])
    clf = OCBClassifier.from_fitted(deployed, X, y)
    assert clf.committee_.deployed_weights.total == deployed.estimator_weights_.sum()
    assert_same(clf, deployed, X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "member", [GaussianNB(), LogisticRegression(), BaggingClassifier(n_estimators=3, random_state=0)]
)
def test_members_that_are_no_trees(member, n_classes, tmp_path):
    X, y = examples(n_classes, 1)
    deployed = AdaBoostClassifier(member, n_estimators=5, random_state=0).fit(X, y)
    clf = OCBClassifier.from_fitted(deployed, X, y)
    np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
    before = clf.decision_function(X)
    clf.partial_fit(X, y)
    assert (clf.decision_function(X) != before).any()
    with pytest.raises(NotSavableError, match="Python objects"):
        clf.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_before_anything_new_a_file_keeps_it_exact(n_classes, tmp_path):
    X, y = examples(n_classes, 2)
    deployed = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    clf = OCBClassifier.from_fitted(deployed, X, y, forgetting=0.99)
    clf.save(tmp_path / "model")
    loaded = OCBClassifier.load(tmp_path / "model")
    assert_same(loaded, deployed, X, np.random.default_rng(0).normal(size=(500, 4)))
    for each in (clf, loaded):
        each.partial_fit(X[:50], y[:50], sample_weight=np.linspace(0, 2, 50))
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))


# Then it learns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_deployed_weights_fade(n_classes):
    X, y = examples(n_classes, 3)
    deployed = AdaBoostClassifier(n_estimators=20, learning_rate=0.3, random_state=0).fit(X, y)
    clf = OCBClassifier.from_fitted(deployed, X[:50], y[:50], head=100_000)
    shares = [clf.committee_.deployed_weights.share]
    for _ in range(20):
        clf.partial_fit(X, y)
        shares.append(clf.committee_.deployed_weights.share)
    np.testing.assert_allclose(shares, [50 / (50 + 150 * k) for k in range(21)])
    gap = np.abs(clf.alpha_[0] - clf.boosters_[0].alpha).max()
    assert 0 < gap < 0.05
    own = np.concatenate([clf.hypotheses_.answers(X[:50]), *[clf.hypotheses_.answers(X)] * 20])
    labels = np.concatenate([y[:50], *[y] * 20])
    target = clf.classes_[1 if n_classes == 2 else 0]
    margins = own[:, clf.committee_.columns[0]] * np.where(labels == target, 1, -1)[:, None]
    np.testing.assert_allclose(clf.boosters_[0].alpha, adaboost_weights(margins), atol=1e-9)


def test_a_window_drops_them_altogether():
    X, y = examples(2, 4)
    deployed = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    clf = OCBClassifier.from_fitted(deployed, X[:60], y[:60], tail=False, head=40)
    np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
    clf.partial_fit(X[:10], y[:10])
    assert clf.committee_.deployed_weights.share == 0.75
    clf.partial_fit(X[10:40], y[10:40])
    assert clf.committee_.deployed_weights.share == 0.0
    margins = clf.hypotheses_.answers(X[:40]) * np.where(y[:40] == clf.classes_[1], 1, -1)[:, None]
    np.testing.assert_allclose(clf.alpha_[0], adaboost_weights(margins), atol=1e-10)


def test_into_a_window_and_out_of_it():
    X, y = examples(2, 5)
    deployed = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    clf = OCBClassifier.from_fitted(deployed, X[:60], y[:60], head=500)
    clf.set_params(tail=False, head=40).partial_fit(X[:10], y[:10])
    assert clf.committee_.deployed_weights.share == 0.75
    clf.set_params(tail=True, head=500).partial_fit(X, y)  # nothing more is dropped
    assert clf.committee_.deployed_weights.share == pytest.approx(30 / 190)


@pytest.mark.parametrize("forgetting", [1.0, 0.95])
def test_however_the_stream_is_cut(forgetting):
    X, y = examples(3, 6)
    deployed = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    weights = np.random.default_rng(0).uniform(0, 3, 150)
    whole, parts = (
        OCBClassifier.from_fitted(deployed, X[:60], y[:60], forgetting=forgetting, head=16) for _ in range(2)
    )
    whole.partial_fit(X, y, sample_weight=weights)
    for i in range(150):
        parts.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1])
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


# Names --------------------------------------------------------------------------------------------------


def test_names_of_features():
    X, y = examples(2, 7)
    frame = pd.DataFrame(X, columns=list("abcd"))
    deployed = AdaBoostClassifier(n_estimators=10, random_state=0).fit(frame, y)
    for first in (frame, X):  # names are the deployed model's, whether or not the examples have them
        clf = OCBClassifier.from_fitted(deployed, first, y)
        assert clf.feature_names_in_.tolist() == list("abcd")
        np.testing.assert_array_equal(clf.predict(frame), deployed.predict(frame))
        np.testing.assert_array_equal(clf.predict(frame[["b", "a", "c", "d"]]), deployed.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        OCBClassifier.from_fitted(deployed, frame[["b", "a", "c"]], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OCBClassifier.from_fitted(deployed, frame, y).partial_fit(frame, y)


# What it refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda X, y: RandomForestClassifier(2).fit(X, y),
            r"got RandomForestClassifier\. Use AdaptiveClassifier\.from_fitted\(model, X, y\), which.* or "
            r"OCBClassifier\(from_sklearn\(model\)\)\.fit\(X, y\)",
        ),
        (
            lambda X, y: make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=2)).fit(X, y),
            "got Pipeline around AdaBoostClassifier, with StandardScaler before it. Use AdaptiveClassifier",
        ),
        (lambda X, y: AdaBoostClassifier(), "fitted must have been fitted; got one that is not"),
        (lambda X, y: AdaBoostClassifier, "got ABCMeta"),
        (lambda X, y: None, "got NoneType"),
    ],
)
def test_what_is_no_fitted_adaboost(make, match):
    X, y = examples(2, 8)
    with pytest.raises(InputError, match=match):
        OCBClassifier.from_fitted(make(X, y), X, y)


def test_examples_that_do_not_fit():
    X, y = examples(2, 9)
    deployed = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="X and y must be examples to start from; got None"):
        OCBClassifier.from_fitted(deployed, None, y)
    with pytest.raises(InputError, match="X and y must be examples to start from; got None"):
        OCBClassifier.from_fitted(deployed, X, None)
    with pytest.raises(
        InputError, match=r"y must hold the classes \['green', 'red'\]; got .*'pink'.* in row 0"
    ):
        OCBClassifier.from_fitted(deployed, X, np.full(len(y), "pink"))
    with pytest.raises(InputError, match="X must have the 4 features of the hypotheses; got 3"):
        OCBClassifier.from_fitted(deployed, X[:, :3], y)
    with pytest.raises(TypeError, match="heads"):
        OCBClassifier.from_fitted(deployed, X, y, heads=3)


def test_one_class_of_the_examples_will_do():
    X, y = examples(3, 10)
    deployed = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    clf = OCBClassifier.from_fitted(deployed, X[y == "red"], y[y == "red"])
    np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_weights_that_make_no_sense(value):
    X, y = examples(2, 11)
    deployed = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    deployed.estimator_weights_[:] = value
    with pytest.raises(InputError, match="fitted must have weights that are finite and not all zero"):
        OCBClassifier.from_fitted(deployed, X, y)
