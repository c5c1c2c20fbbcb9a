"""Oza and Russell's online boosting with members that learn."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB

import ocboost
from ocboost.estimators.base_learners import BaseLearner
from ocboost.estimators.oza_russell_classifier import ALPHA_OF_LAST_RESORT
from ocboost.lineage import OzaRussellClassifier
from tests.naive.oza_russell import Counts, Plain, boosted_by_river, some_examples, stream_of
from tests.support.makers import random_margins


class Column(BaseLearner):
    """Answers by the sign of a feature, the next one for each copy, and learns nothing."""

    def __init__(self):
        self.given = 0
        self.column = None

    def begin(self, n_features, n_classes, rng):
        other = type(self)()
        other.column = self.given
        self.given = (self.given + 1) % n_features
        return other

    def learn(self, example, code, weight=1.0):
        pass

    def answer(self, example):
        return int(example.X[0, self.column] > 0)


class Fixed(BaseLearner):
    """Always the same class."""

    def __init__(self, code):
        self.code = code

    def begin(self, n_features, n_classes, rng):
        return type(self)(self.code)

    def learn(self, example, code, weight=1.0):
        pass

    def answer(self, example):
        return self.code


@pytest.mark.parametrize("features", [[0], [0, 1, 2, 3]])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("updates", ["weighted", "poisson"])
def test_is_the_published_loop(updates, smoothing, forgetting, K, features):
    X, codes = some_examples(1, 150, K=K)
    weights = np.random.default_rng(2).uniform(0.1, 2.0, 150)
    labels = np.array(["ant", "bee", "cow"])[codes]
    clf = OzaRussellClassifier(
        [Counts(feature) for feature in features],
        6,
        updates=updates,
        smoothing=smoothing,
        forgetting=forgetting,
        random_state=5,
    )
    rng = stream_of(5)
    draw = (lambda lam: int(rng.poisson(min(lam, 1000.0)))) if updates == "poisson" else None
    plain = Plain(features, 6, K, smoothing=smoothing, forgetting=forgetting, weight_of_draw=draw)
    for i in range(150):
        clf.partial_fit(
            X[i : i + 1],
            labels[i : i + 1],
            classes=["ant", "bee", "cow"][:K],
            sample_weight=weights[i : i + 1],
        )
        plain.learn(X[i], int(codes[i]), weights[i])
    np.testing.assert_array_equal([clf.lambda_right_, clf.lambda_wrong_], plain.sums())
    assert [selector.chosen for selector in clf.selectors_] == plain.best
    votes = np.array([plain.vote(m) for m in range(6)])
    np.testing.assert_allclose(
        2 * clf.alpha_, votes if K == 2 else np.maximum(votes, 0), rtol=1e-12, atol=1e-14
    )
    if len(features) > 1:
        assert len(set(plain.best)) > 1  # otherwise nothing would have been chosen
    answers = np.array([[plain.answer(m, plain.best[m], x) for m in range(6)] for x in X])
    by_class = np.array([((answers == c) * clf.alpha_).sum(axis=1) for c in range(K)]).T
    expected = by_class[:, 1] - by_class[:, 0] if K == 2 else by_class
    np.testing.assert_allclose(clf.decision_function(X), expected, rtol=0, atol=1e-12)
    assert clf.n_seen_ == 150


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
def test_members_that_do_not_learn_are_the_booster_over_margins(smoothing, forgetting):
    margins = random_margins(np.random.default_rng(3), 300, 8)
    labels = np.random.default_rng(4).choice([-1, 1], 300)
    weights = np.random.default_rng(5).uniform(0, 2, 300)
    clf = OzaRussellClassifier(
        Column(), 8, updates="weighted", smoothing=smoothing, forgetting=forgetting
    ).fit(margins * labels[:, None].astype(float), labels, weights)
    booster = ocboost.OzaRussell(8, smoothing=smoothing, forgetting=forgetting)
    booster.update_many(margins, sample_weight=weights)
    np.testing.assert_allclose(clf.alpha_, booster.alpha, rtol=0, atol=1e-12)
    assert np.abs(clf.alpha_).max() > 0.1
    assert (clf.alpha_ < 0).any()


def test_sums_are_those_of_river_with_the_same_draws(monkeypatch):
    pytest.importorskip("river")
    X, y = some_examples(6, 400)
    theirs, clf = boosted_by_river(monkeypatch, X, y, 7)
    np.testing.assert_allclose(clf.lambda_right_, [theirs.correct_weight[m] for m in range(7)], rtol=1e-12)
    np.testing.assert_allclose(clf.lambda_wrong_, [theirs.wrong_weight[m] for m in range(7)], rtol=1e-12)


@pytest.mark.parametrize("estimator", [None, SGDClassifier(loss="log_loss"), [None, Perceptron()]])
@pytest.mark.parametrize("updates", ["weighted", "poisson"])
def test_how_rows_are_cut_into_calls_makes_no_difference(updates, estimator):
    if isinstance(estimator, list):
        estimator = [GaussianNB(), Perceptron()]
    X, y = some_examples(7, 90)
    weights = np.tile([1.0, 0.0, 2.5], 30)
    whole, cut = (
        OzaRussellClassifier(estimator, 4, updates=updates, forgetting=0.99, random_state=1) for _ in range(2)
    )
    whole.fit(X, y, weights)
    for part in np.split(np.arange(90), [1, 2, 3, 40, 41, 77]):
        cut.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weights[part])
    np.testing.assert_array_equal(whole.alpha_, cut.alpha_)
    np.testing.assert_array_equal(whole.decision_function(X), cut.decision_function(X))
    assert whole.n_seen_ == cut.n_seen_ == 90


def test_fit_begins_anew_and_seeds_repeat():
    X, y = some_examples(8, 120)
    clf = OzaRussellClassifier(n_estimators=5, random_state=3).fit(X, y)
    first = clf.decision_function(X)
    np.testing.assert_array_equal(clf.fit(X, y).decision_function(X), first)
    other = clone(clf).set_params(random_state=4).fit(X, y)
    assert (other.decision_function(X) != first).any()


@pytest.mark.parametrize("go_on", [copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))])
def test_a_copy_goes_on_as_the_original(go_on):
    X, y = some_examples(9, 120)
    clf = OzaRussellClassifier(n_estimators=5, random_state=3).fit(X[:60], y[:60])
    other = go_on(clf)
    for each in (clf, other):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(clf.decision_function(X), other.decision_function(X))
    assert not hasattr(clf, "save")  # members of any kind are not plain arrays


# What it is good for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("updates", ["weighted", "poisson"])
def test_naive_bayes_ends_near_scikit_learns_adaboost(updates):
    X, y = make_moons(7_000, noise=0.3, random_state=1)
    train, test = slice(0, 4_000), slice(4_000, None)
    batch = AdaBoostClassifier(GaussianNB(), n_estimators=10).fit(X[train], y[train])
    assert len(batch.estimators_) > 3
    clf = OzaRussellClassifier(n_estimators=10, updates=updates, random_state=0).fit(X[train], y[train])
    noise = 3 * math.sqrt(2 * 0.15 * 0.85 / 3_000)
    assert abs(clf.score(X[test], y[test]) - batch.score(X[test], y[test])) < noise


class NextCounts(Counts):
    """The toy over feature after feature, one for each copy."""

    next = 0

    def begin(self, n_features, n_classes, rng):
        other = Counts(self.next).begin(n_features, n_classes, rng)
        self.next = (self.next + 1) % n_features
        return other


@pytest.mark.parametrize("updates", ["weighted", "poisson"])
def test_stumps_that_learn_end_near_batch_adaboost_over_them(updates):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (7_000, 8))
    y = (X @ rng.uniform(0.2, 1, 8) + 0.7 * rng.normal(size=7_000) > 0).astype(int)
    train, test = slice(0, 4_000), slice(4_000, None)
    clf = OzaRussellClassifier(NextCounts(), 8, updates=updates, random_state=0).fit(X[train], y[train])
    alpha = ocboost.adaboost_weights((X * np.where(y > 0, 1, -1)[:, None])[train])
    batch = ((X[test] @ alpha > 0) == y[test]).mean()
    best_alone = max(np.mean((X[test, j] > 0) == y[test]) for j in range(8))
    noise = 3 * math.sqrt(2 * 0.12 * 0.88 / 3_000)
    assert batch > best_alone + 0.1
    assert abs(clf.score(X[test], y[test]) - batch) < noise
    np.testing.assert_allclose(clf.alpha_, alpha, atol=0.1)


def test_boosting_helps_where_one_member_cannot():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(4_000, 5))
    y = (np.sign(X).sum(axis=1) > 0).astype(int)  # a vote of five signs, and a member sees one of them
    several = [Counts(feature) for feature in range(5)]
    alone = OzaRussellClassifier(several, 1, updates="weighted").fit(X[:3000], y[:3000])
    boosted = OzaRussellClassifier(several, 10, updates="weighted").fit(X[:3000], y[:3000])
    assert boosted.score(X[3000:], y[3000:]) > alone.score(X[3000:], y[3000:]) + 0.2
    assert len({selector.chosen for selector in boosted.selectors_}) > 3


def test_each_position_chooses_the_member_with_the_least_error():
    X, y = some_examples(11, 400)
    X[:, 3] = np.where(y > 0, 1.0, -1.0)  # this one knows
    clf = OzaRussellClassifier([Counts(0), Counts(3)], 3, random_state=0).fit(X, y)
    assert clf.selectors_[0].chosen == 1
    assert clf.members_[0].feature == 3
    assert clf.selectors_[0].wrong[1] < clf.selectors_[0].wrong[0]
    assert clf.lambda_wrong_[0] == clf.selectors_[0].wrong[1]


# Members worse than chance -------------------------------------------------------------------------------


class Liar(Column):
    """Column 0 from the other side."""

    def answer(self, example):
        return 1 - int(example.X[0, 0] > 0)


def test_of_two_classes_the_answer_of_a_bad_member_is_turned_round():
    X, y = some_examples(12, 300)
    honest = OzaRussellClassifier(Counts(0), 1, random_state=0).fit(X, y)
    clf = OzaRussellClassifier(Liar(), 1, random_state=0).fit(X, y)
    assert clf.errors_[0] > 0.5
    assert clf.alpha_[0] < 0
    assert clf.alpha_[0] == pytest.approx(0.5 * math.log((1 - clf.errors_[0]) / clf.errors_[0]))
    assert clf.score(X, y) == pytest.approx(honest.score(X, y))
    assert clf.score(X, y) > 0.6


def test_of_more_classes_a_bad_member_has_no_vote():
    y = np.array([0, 1, 2, 1, 1, 1] * 40)
    X = np.zeros((240, 1))
    clf = OzaRussellClassifier([Fixed(0)], 2, updates="weighted").fit(X, y)
    assert (clf.errors_ > 0.5).any()
    # Nobody has a vote: the first member decides, by a vote that is none to speak of.
    np.testing.assert_array_equal(clf.alpha_, [ALPHA_OF_LAST_RESORT, 0.0])
    np.testing.assert_array_equal(clf.predict(X[:3]), [0, 0, 0])
    np.testing.assert_allclose(clf.predict_proba(X[:1]), 1 / 3, atol=1e-5)
    clf = OzaRussellClassifier([Fixed(1)], 2, updates="weighted").fit(X, y)
    assert clf.alpha_[0] > 0.1
    np.testing.assert_array_equal(clf.predict(X[:3]), [1, 1, 1])


def test_votes_become_probabilities_alike_for_two_classes_and_more():
    X, y = some_examples(13, 200)
    two = OzaRussellClassifier(Counts(0), 3, updates="weighted").fit(X, y)
    three = OzaRussellClassifier(Counts(0), 3, updates="weighted").partial_fit(X, y, classes=[0, 1, 2])
    votes = three.decision_function(X)
    assert votes.shape == (200, 3)
    # With votes that are not negative the two classes' are those of two.
    positive = np.maximum(two.alpha_, 0)
    np.testing.assert_array_equal(three.alpha_, positive)
    both = three.predict_proba(X)[:, :2]
    np.testing.assert_allclose(
        both[:, 1] / both.sum(axis=1), 1 / (1 + np.exp(-2 * (votes[:, 1] - votes[:, 0]))), rtol=1e-12
    )
    np.testing.assert_allclose(
        two.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * two.decision_function(X))), rtol=1e-12
    )


def test_a_member_that_has_not_learnt_is_wrong_and_does_not_vote():
    X, y = some_examples(14, 1)
    never = OzaRussellClassifier(Counts(0), 30, random_state=0)
    never.partial_fit(X, y, classes=[0, 1])
    empty = [not any(map(any, member.counts.values())) for member in never.members_]
    assert 0 < sum(empty) < 30  # Poisson(1) is 0 in one case of e
    np.testing.assert_array_equal(never.lambda_right_[empty], 0.0)
    assert (never.lambda_wrong_[empty] > 0).all()
    known = np.delete(never.alpha_, np.flatnonzero(empty)).sum()
    assert never.decision_function(X)[0] == pytest.approx(known if y[0] else -known)


# Extremes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("updates", ["weighted", "poisson"])
def test_finite_where_members_never_err_or_always(updates, smoothing):
    y = np.array([0, 1] * 8)
    X = np.where(y > 0, 1.0, -1.0)[:, None]
    for member in (Counts(0), Liar()):
        # 1,100 halvings are more than a double can hold.
        clf = OzaRussellClassifier(member, 1100, updates=updates, smoothing=smoothing, random_state=0)
        clf.fit(X, y)
        assert np.isfinite(clf.alpha_).all()
        assert np.isfinite(clf.decision_function(X)).all()
        assert np.isfinite(clf.predict_proba(X)).all()
        assert (clf.predict(X) == y).all()


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1e-5, 1.0, 1e5, 1e100]), min_size=3, max_size=12),
    st.sampled_from(["weighted", "poisson"]),
    st.sampled_from([0.0, 1e-3, 1.0, 1e300]),
    st.sampled_from([1.0, 0.5, 1e-300]),
)
def test_finite_whatever_the_weights(weights, updates, smoothing, forgetting):
    X, y = some_examples(15, len(weights))
    clf = OzaRussellClassifier(
        n_estimators=4, updates=updates, smoothing=smoothing, forgetting=forgetting, random_state=0
    )
    clf.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    assert np.isfinite(clf.alpha_).all()
    assert ((clf.errors_ >= 0) & (clf.errors_ <= 1)).all()
    assert np.isfinite(clf.predict_proba(X)).all()


def test_a_draw_is_never_of_more_than_a_thousand_or_so():
    seen = []

    class Noting(Counts):
        def repeat(self, example, code, times):
            seen.append(times)

    OzaRussellClassifier(Noting(), 1, random_state=0).fit([[1.0], [2.0]], [0, 1], [1e9, 1e90])
    assert [900 < times < 1100 for times in seen] == [True, True]


def test_an_example_without_weight_is_none():
    X, y = some_examples(16, 60)
    weights = np.tile([1.0, 0.0], 30)
    some, fewer = (OzaRussellClassifier(n_estimators=4, random_state=0) for _ in range(2))
    some.fit(X, y, weights)
    fewer.partial_fit(X[::2], y[::2], classes=[0, 1])
    np.testing.assert_array_equal(some.alpha_, fewer.alpha_)
