"""The contract of learners: every named one, and scikit-learn's classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, OCBClassifier, learners
from ocboost.hypotheses import Hypotheses
from ocboost.learners import LEARNERS as NAMED
from ocboost.learners import (
    BallLearner,
    BoxLearner,
    Learner,
    SklearnLearner,
    StumpLearner,
    learner_for,
)
from tests.contracts.test_hypotheses import subclasses

LEARNERS = {
    **{name: lambda name=name: learner_for(name) for name in NAMED},
    "stump, gini": lambda: StumpLearner(criterion="gini"),
    "ball, few candidates": lambda: BallLearner(n_sample=60, n_candidates=7),
    "box, few filters": lambda: BoxLearner(n_sample=60, n_filters=30),
    "trees": lambda: SklearnLearner(DecisionTreeClassifier(max_depth=2)),
    "naive Bayes": lambda: SklearnLearner(GaussianNB()),
    "neighbours": lambda: SklearnLearner(KNeighborsClassifier(3)),  # its fit takes no weights
}
every = pytest.mark.parametrize("name", LEARNERS)
N, J = 240, 5


def examples(n=N, seed=0):
    """Nine features, or images of 3 × 3 pixels, and labels ±1, a tenth of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 9)).round(2)
    score = X[:, 0] + X[:, 3] - X[:, 2] - X[:, 5]
    return X, np.where((score > 0) ^ (rng.random(n) < 0.1), 1, -1).astype(np.int8)


def learnt(name, X, y, seed=0, n_hypotheses=J, **more):
    rng = np.random.default_rng(seed)
    return LEARNERS[name]().learn(X, y, n_hypotheses=n_hypotheses, rng=rng, **more)


def same(one, other, X):
    return len(one) == len(other) and np.array_equal(one.answers(X), other.answers(X))


def test_every_learner_is_tried():
    ours = {each for each in subclasses(Learner) if each.__module__.startswith("ocboost.")}
    assert {type(make()) for make in LEARNERS.values()} == ours
    public = {getattr(learners, name) for name in learners.__all__}
    assert ours <= public


@every
def test_it_finds_as_many_as_asked_and_better_than_chance(name):
    X, y = examples()
    fresh, truth = examples(1000, seed=1)
    for n in (1, 2, J):
        found = learnt(name, X, y, n_hypotheses=n)
        assert isinstance(found, Hypotheses)
        assert 1 <= len(found) <= n
        assert found.n_features == 9
        assert np.mean(found.answers(X)[:, 0] == y) > 0.55
    right = (found.answers(fresh) * truth[:, None] > 0).mean(axis=0)
    assert right[0] > 0.55
    assert right.mean() > 0.5
    assert type(LEARNERS[name]()).__name__ in repr(LEARNERS[name]())


@every
def test_the_first_ones_are_those_of_a_shorter_run(name):
    X, y = examples()
    few, more = learnt(name, X, y, n_hypotheses=2), learnt(name, X, y, n_hypotheses=J)
    assert same(few, more[: len(few)], X)


@every
def test_the_same_generator_finds_the_same(name):
    X, y = examples()
    before = X.copy(), y.copy()
    one, other = learnt(name, X, y, seed=3), learnt(name, X, y, seed=3)
    assert same(one, other, examples(seed=2)[0])
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@every
def test_labels_of_examples_without_weight_mean_nothing(name):
    X, y = examples()
    w = np.random.default_rng(6).choice([0.0, 1.0, 2.0], N)
    turned = np.where(w == 0.0, -y, y).astype(np.int8)
    one = learnt(name, X, y, sample_weight=w)
    assert same(one, learnt(name, X, turned, sample_weight=w), X)
    assert not same(one, learnt(name, X, np.where(w == 1.0, -y, y).astype(np.int8), sample_weight=w), X)


@every
def test_in_a_classifier_examples_without_weight_are_none(name):
    X, y = examples()
    w = np.random.default_rng(6).choice([0.0, 1.0, 2.0], N)
    one = OCBClassifier(LEARNERS[name](), J, random_state=0).fit(X, y, w)
    other = OCBClassifier(LEARNERS[name](), J, random_state=0).fit(X[w > 0], y[w > 0], w[w > 0])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@every
def test_a_factor_of_all_weights_means_nothing(name):
    X, y = examples()
    w = np.random.default_rng(7).choice([1.0, 2.0], N)
    assert same(learnt(name, X, y, sample_weight=w / 256), learnt(name, X, y, sample_weight=w / 4096), X)


@every
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_several_targets_are_learnt_as_each_alone(name, n_jobs):
    X, y = examples()
    targets = [y, np.where(X[:, 1] > 0.2, 1, -1).astype(np.int8), -y]
    w = np.random.default_rng(8).uniform(0.5, 1.5, (3, N))
    learner = LEARNERS[name]()
    for given in (None, w[0], w):
        rng = np.random.default_rng(1)
        found = learner.learn_each(X, targets, n_hypotheses=3, sample_weight=given, rng=rng, n_jobs=n_jobs)
        assert len(found) == 3
        for k, own in enumerate(np.random.default_rng(1).spawn(3)):
            alone = None if given is None else given if given.ndim == 1 else given[k]
            expected = learner.learn(X, targets[k], n_hypotheses=3, sample_weight=alone, rng=own)
            assert same(found[k], expected, X)


@every
def test_missing_numbers_as_its_flag_says(name):
    X, y = examples()
    X[::3, 4] = np.nan
    learner = LEARNERS[name]()
    if learner.accepts_missing:
        found = learnt(name, X, y)
        assert found.accepts_missing
        assert np.mean(found.answers(X)[:, 0] == y) > 0.55
    else:
        with pytest.raises(ValueError, match=r"finite|NaN"):
            learnt(name, X, y)
    X = np.nan_to_num(X)
    X[2, 2] = np.inf
    with pytest.raises(ValueError, match=r"finite|infin"):
        OCBClassifier(learner, J).fit(X, y)


@every
def test_sparse_matrices_as_its_flag_says(name):
    X, y = examples()
    X[np.random.default_rng(9).random(X.shape) < 0.5] = 0.0
    if LEARNERS[name]().accepts_sparse:
        found = learnt(name, sparse.csr_matrix(X), y)
        assert same(found, learnt(name, X, y), X)
    else:
        with pytest.raises((InputError, TypeError), match=r"sparse|dense"):
            learnt(name, sparse.csr_matrix(X), y)


@every
def test_single_precision(name):
    X, y = examples()
    narrow = X.astype(np.float32)
    found = learnt(name, narrow, y)
    assert same(found, learnt(name, narrow.astype(np.float64), y), narrow.astype(np.float64))


@every
def test_one_class_alone(name):
    """A learner finds what there is to find: one that always answers so. A classifier refuses it."""
    X, _ = examples()
    for label in (1, -1):
        found = learnt(name, X, np.full(N, label, np.int8))
        assert len(found) >= 1
        assert np.mean(found.answers(X)[:, 0] == label) > 0.95
    with pytest.raises(InputError, match=r"y must hold at least two classes.*got one class"):
        OCBClassifier(LEARNERS[name](), J).fit(X, np.ones(N, int))


@every
@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_examples(name, n):
    if n < {"neighbours": 3, "naive Bayes": 2}.get(name, 1):
        pytest.skip("scikit-learn's own needs more")
    X, _ = examples(n)
    y = np.array([1, -1, 1], np.int8)[:n]
    found = learnt(name, X, y)
    assert 1 <= len(found) <= J


BAD = {
    "labels of 0": lambda X, y: {"y": np.zeros(N, np.int8)},
    "too few labels": lambda X, y: {"y": y[1:]},
    "no rows": lambda X, y: {"X": X[:0], "y": y[:0]},
    "one dimension": lambda X, y: {"X": X[0]},
    "no weight": lambda X, y: {"sample_weight": np.zeros(N)},
    "negative weights": lambda X, y: {"sample_weight": -np.ones(N)},
    "too few weights": lambda X, y: {"sample_weight": np.ones(3)},
    "none to find": lambda X, y: {"n_hypotheses": 0},
    "half a hypothesis": lambda X, y: {"n_hypotheses": 1.5},
}


@every
@pytest.mark.parametrize("what", BAD)
def test_what_makes_no_sense(name, what):
    X, y = examples()
    given = {"X": X, "y": y, "n_hypotheses": J, **BAD[what](X, y)}
    with pytest.raises(InputError, match=r"(X|y|sample_weight|n_hypotheses) must"):
        LEARNERS[name]().learn(**given)


@every
def test_what_it_finds_goes_on_learning(name):
    X, y = examples()
    clf = OCBClassifier(LEARNERS[name](), J, random_state=0).fit(X, y)
    X, y = examples(seed=4)
    assert clf.partial_fit(X, y).score(X, y) > 0.6
    assert [clf.predict_one(x) for x in X[:9]] == clf.predict(X[:9]).tolist()
