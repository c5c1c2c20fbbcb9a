"""AdaBoost over scikit-learn's classifiers, against a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ocboost import InputError
from ocboost.hypotheses import Callables, Stumps, Trees
from ocboost.learners import SklearnLearner


def examples(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1).astype(np.int8)


def boosted(make, X, y, rounds, weights):
    """Discrete AdaBoost, plainly: the answers of each round."""
    d = weights / weights.sum()
    columns = []
    for _ in range(rounds):
        model = make().fit(X, y, sample_weight=d * len(d))
        columns.append(model.predict(X))
        right, wrong = d[columns[-1] == y].sum(), d[columns[-1] != y].sum()
        ε = 1.0 / weights.sum()
        α = 0.5 * math.log((right + ε) / (wrong + ε))
        d = d * np.exp(-α * y * columns[-1])
        d /= d.sum()
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("depth", "kind"), [(1, Stumps), (3, Trees)])
def test_trees_are_those_of_a_plain_loop(depth, kind, weighted):
    X, y = examples()
    weights = np.random.default_rng(1).uniform(0.5, 3.0, len(y)) if weighted else np.ones(len(y))

    def tree():
        return DecisionTreeClassifier(max_depth=depth, random_state=0)

    found = SklearnLearner(tree()).learn(X, y, n_hypotheses=8, sample_weight=weights if weighted else None)
    assert isinstance(found, kind)
    # The random state only breaks ties, and with normal features there are none.
    assert np.array_equal(found.answers(X), boosted(tree, X, y, 8, weights))


def test_other_classifiers_are_boosted_too():
    X, y = examples()
    found = SklearnLearner(GaussianNB()).learn(X, y, n_hypotheses=5)
    assert isinstance(found, Callables)
    assert np.array_equal(found.answers(X), boosted(GaussianNB, X, y, len(found), np.ones(len(y))))


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsClassifier(3), make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3))],
)
def test_without_sample_weight_examples_are_drawn(estimator):
    X, y = examples()
    learner = SklearnLearner(estimator)
    found = learner.learn(X, y, n_hypotheses=4, rng=np.random.default_rng(3))
    again = learner.learn(X, y, n_hypotheses=4, rng=np.random.default_rng(3))
    assert 2 <= len(found) <= 4
    assert np.array_equal(found.answers(X), again.answers(X))
    assert ((found.answers(X) == y[:, None]).mean(axis=0) > 0.5).all()
    # What has no weight is never drawn: its labels may be anything.
    weights = np.where(np.arange(len(y)) < 200, 1.0, 0.0)
    spoilt = np.where(weights > 0, y, -y)
    a = learner.learn(X, y, n_hypotheses=1, sample_weight=weights, rng=np.random.default_rng(5))
    b = learner.learn(X, spoilt, n_hypotheses=1, sample_weight=weights, rng=np.random.default_rng(5))
    assert np.array_equal(a.answers(X), b.answers(X))


def test_both_classes_are_drawn_even_if_one_is_rare():
    X, y = examples(50)
    y[:] = -1
    y[7] = 1
    weights = np.where(y > 0, 1e-9, 1.0)
    seen = []

    class Watching(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(set(y))
            return super().fit(X, y)

    SklearnLearner(Watching(1)).learn(
        X, y, n_hypotheses=3, sample_weight=weights, rng=np.random.default_rng(0)
    )
    assert seen
    assert all(classes == {-1, 1} for classes in seen)


def test_the_random_state_comes_from_the_generator():
    X, y = examples()
    learner = SklearnLearner(DecisionTreeClassifier(max_depth=3, max_features=1, random_state=0))
    first, same, other = (
        learner.learn(X, y, n_hypotheses=5, rng=np.random.default_rng(seed)).answers(X) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[:, 0], first[:, 1])


def test_learning_stops_at_a_perfect_one():
    X, y = examples(60)
    found = SklearnLearner(DecisionTreeClassifier()).learn(X, y, n_hypotheses=10)
    assert len(found) == 1
    assert np.array_equal(found.answers(X)[:, 0], y)


def test_perfect_is_perfect_on_what_has_weight():
    _X, y = examples(60)
    weights = np.ones(60)
    weights[:5] = 0.0
    spoilt = y.copy()
    spoilt[:5] *= -1
    stump_like = np.where(y > 0, 1.0, 0.0)[:, None]
    found = SklearnLearner(DecisionTreeClassifier(max_depth=1)).learn(
        stump_like, spoilt, n_hypotheses=10, sample_weight=weights
    )
    assert len(found) == 1


def test_learning_stops_at_chance_but_gives_one():
    X = np.zeros((40, 2))
    y = np.where(np.arange(40) % 2, 1, -1)
    found = SklearnLearner(DecisionTreeClassifier(max_depth=1)).learn(X, y, n_hypotheses=10)
    assert len(found) == 1
    y = np.where(np.arange(40) % 4, 1, -1)  # the first is right on three of four, then nothing is left
    found = SklearnLearner(DecisionTreeClassifier(max_depth=1)).learn(X, y, n_hypotheses=10)
    assert (found.answers(X)[:, 0] == 1).all()
    assert len(found) < 10


def test_one_class_only():
    X, _y = examples(20)
    found = SklearnLearner(DecisionTreeClassifier()).learn(X, np.ones(20), n_hypotheses=3)
    assert isinstance(found, Stumps)
    assert (found.answers(X) == 1).all()
    found = SklearnLearner(DecisionTreeClassifier()).learn(X, -np.ones(20), n_hypotheses=3)
    assert (found.answers(X) == -1).all()


def test_what_the_estimator_takes():
    X, y = examples()
    tree = SklearnLearner(DecisionTreeClassifier(max_depth=2))
    assert tree.accepts_missing
    assert tree.accepts_sparse
    assert not SklearnLearner(LogisticRegression()).accepts_missing
    assert not SklearnLearner(GaussianNB()).accepts_sparse
    with pytest.raises(InputError, match="X must be a dense array for GaussianNB"):
        SklearnLearner(GaussianNB()).learn(sparse.csr_matrix(X), y, n_hypotheses=1)
    dense, thin = tree.learn(X, y, n_hypotheses=3), tree.learn(sparse.csr_matrix(X), y, n_hypotheses=3)
    assert np.array_equal(dense.answers(X), thin.answers(X))
    X[::7, 0] = np.nan
    assert len(tree.learn(X, y, n_hypotheses=3)) == 3
    histogram = SklearnLearner(HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3))
    found = histogram.learn(X, y, n_hypotheses=2)
    assert found.accepts_missing
    assert found.answers(X).shape == (300, 2)


def test_what_is_no_classifier_is_refused():
    for wrong in (3, DecisionTreeClassifier, np.sum):
        with pytest.raises(InputError, match="estimator must be a scikit-learn classifier"):
            SklearnLearner(wrong)
    with pytest.raises(InputError, match="estimator must be a classifier; got DecisionTreeRegressor"):
        SklearnLearner(DecisionTreeRegressor())
    X, y = examples(20)
    learner = SklearnLearner(DecisionTreeClassifier())
    with pytest.raises(InputError, match="y must be -1 and"):
        learner.learn(X, np.arange(20), n_hypotheses=3)
    with pytest.raises(InputError, match="n_hypotheses must be"):
        learner.learn(X, y, n_hypotheses=0)
    with pytest.raises(InputError, match="sample_weight must have a finite sum above zero"):
        learner.learn(X, y, n_hypotheses=1, sample_weight=np.zeros(20))
