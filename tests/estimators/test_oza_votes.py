"""What members of Oza and Russell's online boosting put into the vote: answers, or probabilities."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB

from ocboost.errors import InputError
from ocboost.estimators.base_learners import BaseLearner, NaiveBayes, as_base_learner
from ocboost.estimators.oza_russell_classifier import ALPHA_OF_LAST_RESORT, ROWS_PREDICTED_AT_ONCE
from ocboost.lineage import OzaRussellClassifier
from tests.naive.oza_russell import Counts, Plain, boosted_by_river, some_examples, stream_of


class Says(BaseLearner):
    """Gives the same probabilities always, and the class they favour."""

    def __init__(self, *shares):
        self.shares = shares

    def begin(self, n_features, n_classes, rng):
        return type(self)(*self.shares)

    def learn(self, example, code, weight=1.0):
        pass

    def answer(self, example):
        return self.shares.index(max(self.shares))

    def probabilities(self, X, names):
        return np.tile(np.array(self.shares, dtype=float), (len(X), 1))


class Mute(Says):
    """Answers, and knows no probabilities."""

    probabilities = BaseLearner.probabilities


@pytest.mark.parametrize("features", [[0], [0, 1, 2, 3]])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("updates", ["weighted", "poisson"])
@pytest.mark.parametrize("votes", ["answers", "probabilities"])
def test_votes_are_those_of_the_plain_loop(votes, updates, K, features):
    X, codes = some_examples(21, 130, K=K)
    several = [Counts(feature) for feature in features]
    clf = OzaRussellClassifier(several, 6, updates=updates, votes=votes, random_state=5)
    rng = stream_of(5)
    draw = (lambda lam: int(rng.poisson(min(lam, 1000.0)))) if updates == "poisson" else None
    plain = Plain(features, 6, K, smoothing=1.0, weight_of_draw=draw)
    soft = votes == "probabilities"
    for i in range(130):
        clf.partial_fit(X[i : i + 1], codes[i : i + 1], classes=range(K))
        plain.learn(X[i], int(codes[i]))
        if i % 43 == 0:  # at first many know one side only, or nothing
            scores = np.array([plain.scores(x, soft=soft) for x in X])
            expected = scores[:, 1] - scores[:, 0] if K == 2 else scores
            np.testing.assert_allclose(clf.decision_function(X), expected, rtol=0, atol=1e-12)
    assert i % 43 == 0
    np.testing.assert_array_equal([clf.lambda_right_, clf.lambda_wrong_], plain.sums())
    other = np.array([plain.scores(x, soft=not soft) for x in X])
    assert np.abs(scores - other).max() > 0.1 * clf.alpha_.max()  # the two are not the same thing


@pytest.mark.parametrize("updates", ["weighted", "poisson"])
@pytest.mark.parametrize("estimator", [None, GaussianNB(), [NaiveBayes(), SGDClassifier(loss="log_loss")]])
def test_how_members_vote_makes_no_difference_to_what_is_learnt(estimator, updates):
    X, y = some_examples(22, 60)
    hard = OzaRussellClassifier(estimator, 5, updates=updates, random_state=1).fit(X, y)
    soft = clone(hard).set_params(votes="probabilities").fit(X, y)
    for what in ("alpha_", "errors_", "lambda_right_", "lambda_wrong_"):
        np.testing.assert_array_equal(getattr(hard, what), getattr(soft, what))
    assert (hard.decision_function(X) != soft.decision_function(X)).any()
    # So it can be changed at any time.
    np.testing.assert_array_equal(
        hard.set_params(votes="probabilities").decision_function(X), soft.decision_function(X)
    )


def test_votes_are_those_of_river_with_the_same_draws(monkeypatch):
    pytest.importorskip("river")
    X, y = some_examples(6, 200)
    theirs, clf = boosted_by_river(monkeypatch, X, y, 7, votes="probabilities")
    assert (clf.errors_ < 0.5).all()  # with others they do as they like
    shares = np.array([theirs.predict_proba_one(dict(enumerate(x)))[1] for x in X.tolist()])
    np.testing.assert_allclose(
        clf.decision_function(X), clf.alpha_.sum() * (2 * shares - 1), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("estimator", [None, Counts(0), GaussianNB(), SGDClassifier(loss="log_loss")])
def test_probabilities_add_up_to_one_and_go_with_the_answers(estimator, K):
    X, y = some_examples(23, 80, K=K)
    clf = OzaRussellClassifier(estimator, 5, votes="probabilities", random_state=0).fit(X, y)
    shares = clf.predict_proba(X)
    assert shares.shape == (80, K)
    assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(clf.classes_[shares.argmax(axis=1)], clf.predict(X))


def test_rows_are_answered_alike_alone_and_by_the_thousand():
    X, y = some_examples(24, ROWS_PREDICTED_AT_ONCE + 10)
    clf = OzaRussellClassifier(n_estimators=3, votes="probabilities", random_state=0).fit(X[:100], y[:100])
    some = [0, 1, ROWS_PREDICTED_AT_ONCE - 1, ROWS_PREDICTED_AT_ONCE, ROWS_PREDICTED_AT_ONCE + 9]
    alone = [clf.decision_function(X[i : i + 1])[0] for i in some]
    np.testing.assert_allclose(clf.decision_function(X)[some], alone, rtol=0, atol=1e-12)


# Members worse than chance, and those that know nothing ---------------------------------------------------


def test_of_two_classes_the_probabilities_of_a_bad_member_are_turned_round():
    X, y = np.zeros((40, 1)), np.array([0, 1, 1, 1] * 10)
    clf = OzaRussellClassifier(Says(0.9, 0.1), 1, updates="weighted", votes="probabilities").fit(X, y)
    assert clf.errors_[0] == pytest.approx(31 / 42)
    assert clf.alpha_[0] == pytest.approx(0.5 * math.log(11 / 31))
    assert clf.decision_function(X[:1])[0] == pytest.approx(0.8 * 0.5 * math.log(31 / 11))
    assert clf.predict(X[:1])[0] == 1


def test_of_more_classes_a_bad_member_has_no_vote():
    X, y = np.zeros((60, 1)), np.array([0, 1, 2, 1, 1, 1] * 10)
    bad = OzaRussellClassifier(Says(0.6, 0.3, 0.1), 2, updates="weighted", votes="probabilities").fit(X, y)
    # Nobody has a vote: the first member decides, by a vote that is none to speak of.
    np.testing.assert_array_equal(bad.alpha_, [ALPHA_OF_LAST_RESORT, 0.0])
    np.testing.assert_allclose(
        bad.decision_function(X[:1]),
        [[0.6 * ALPHA_OF_LAST_RESORT, 0.3 * ALPHA_OF_LAST_RESORT, 0.1 * ALPHA_OF_LAST_RESORT]],
    )
    assert bad.predict(X[:1])[0] == 0
    good = OzaRussellClassifier(Says(0.3, 0.6, 0.1), 1, updates="weighted", votes="probabilities").fit(X, y)
    assert good.alpha_[0] > 0.1
    np.testing.assert_allclose(good.decision_function(X[:1]) / good.alpha_[0], [[0.3, 0.6, 0.1]])


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("which", ["ours", "scikit-learn", "river"])
def test_members_that_have_not_learnt_do_not_vote(which, K):
    if which == "river":
        estimator = pytest.importorskip("river.naive_bayes").GaussianNB()
    else:
        estimator = GaussianNB() if which == "scikit-learn" else None
    clf = OzaRussellClassifier(estimator, 30, votes="probabilities", random_state=0)
    clf.partial_fit([[1.0, 2.0]], [1], classes=range(K))
    learnt = clf.lambda_right_ > 0
    assert 0 < learnt.sum() < 30  # Poisson(1) is 0 in one case of e
    expected = clf.alpha_[learnt].sum()
    votes = clf.decision_function([[1.0, 2.0]])
    np.testing.assert_allclose(votes, [expected] if K == 2 else [[0.0, expected, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("shares", [(np.nan, 1.0), (np.inf, 0.0), (-0.5, 1.5), (0.0, 0.0)])
def test_what_is_no_probability_is_no_vote(shares):
    class Odd(Says):
        def answer(self, example):
            return 1

    clf = OzaRussellClassifier(Odd(*shares), 2, votes="probabilities").fit([[0.0]] * 4, [0, 1, 1, 1])
    assert clf.alpha_[0] != 0
    np.testing.assert_array_equal(clf.decision_function([[0.0]]), [0.0])
    np.testing.assert_array_equal(clf.predict_proba([[0.0]]), [[0.5, 0.5]])


def test_probabilities_that_do_not_add_up_are_made_to():
    X, y = [[0.0]] * 4, [0, 1, 1, 1]
    votes = [
        OzaRussellClassifier(Says(*shares), 2, updates="weighted", votes="probabilities")
        .fit(X, y)
        .decision_function([[0.0]])[0]
        for shares in ((0.25, 0.75), (1.0, 3.0))
    ]
    assert votes[0] == pytest.approx(votes[1])
    assert votes[0] > 0


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1.0, 1e100]), min_size=3, max_size=10),
    st.sampled_from([1e-300, 1.0, 1e200, 1e306]),
    st.sampled_from(["weighted", "poisson"]),
)
def test_finite_whatever_the_weights_and_the_range(weights, size, updates):
    X, y = some_examples(25, len(weights))
    X = X / np.abs(X).max() * size
    clf = OzaRussellClassifier(n_estimators=4, updates=updates, votes="probabilities", random_state=0)
    clf.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    shares = clf.predict_proba(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


# What members give ---------------------------------------------------------------------------------------


def test_naive_bayes_gives_the_probabilities_of_scikit_learns():
    X, y = some_examples(26, 300, K=3)
    member = NaiveBayes().begin(4, 4, np.random.default_rng(0))  # of four classes one never comes
    adapted = as_base_learner(GaussianNB()).begin(4, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(member.probabilities(X[:2], []), np.zeros((2, 4)))
    np.testing.assert_array_equal(adapted.probabilities(X[:2], []), np.zeros((2, 4)))
    clf = OzaRussellClassifier([member, adapted], 1, updates="weighted")
    clf.partial_fit(X, y, classes=range(4))
    batch = GaussianNB().fit(X, y).predict_proba(X)
    for learner in clf.selectors_[0].candidates:
        given_shares = learner.probabilities(X, [])
        np.testing.assert_allclose(given_shares[:, :3], batch, rtol=1e-6, atol=1e-12)
        np.testing.assert_array_equal(given_shares[:, 3], 0.0)
        np.testing.assert_array_equal(given_shares.argmax(axis=1), learner.answers(X, []))


def test_naive_bayes_where_features_say_nothing_gives_the_classes_shares():
    clf = OzaRussellClassifier(NaiveBayes(), 1, updates="weighted")
    clf.fit([[1e308], [-1e308], [1e308], [-1e308], [1e308]], [0, 0, 1, 1, 1])
    member = clf.members_[0]
    np.testing.assert_allclose(member.probabilities(np.array([[1e308]]), []), [[0.4, 0.6]])


@pytest.mark.parametrize("which", ["tree", "logistic", "scaled logistic", "one against the rest"])
def test_a_river_member_gives_its_own_probabilities(which):
    pytest.importorskip("river")
    from river import linear_model, multiclass, preprocessing, tree

    logistic = linear_model.LogisticRegression()
    model = {
        "tree": tree.HoeffdingTreeClassifier(grace_period=20),
        "logistic": logistic,
        "scaled logistic": preprocessing.StandardScaler() | logistic,
        "one against the rest": multiclass.OneVsRestClassifier(logistic),
    }[which]
    K = 3 if which in ("tree", "one against the rest") else 2
    X, y = some_examples(27, 200, K=K)
    names = np.array(["ant", "bee", "cow"])
    clf = OzaRussellClassifier(model, 1, votes="probabilities", random_state=0).fit(X, names[y])
    own = [clf.members_[0].predict_proba_one(dict(enumerate(x))) for x in X.tolist()]
    expected = np.array([[each.get(c, 0.0) for c in range(K)] for each in own])
    votes = clf.decision_function(X)
    if K == 2:
        expected = expected[:, 1] - expected[:, 0]
    np.testing.assert_allclose(votes, clf.alpha_[0] * expected, rtol=0, atol=1e-12)
    assert np.ptp(expected, axis=0).min() > 0.01


# What is refused -----------------------------------------------------------------------------------------


class LearnsOne:
    def learn_one(self, x, y):
        pass

    def predict_one(self, x):
        return 0


@pytest.mark.parametrize(
    ("estimator", "text"),
    [
        (Perceptron(), r"Perceptron has no predict_proba\. .*log_loss.*HoeffdingTree.*NaiveBayes"),
        (SGDClassifier(), "SGDClassifier has no predict_proba"),  # that of a hinge has none
        ([GaussianNB(), Perceptron()], "Perceptron has no predict_proba"),
        (LearnsOne(), "LearnsOne has no predict_proba_one"),
        (Mute(0.0, 1.0), "Mute has no method probabilities"),
    ],
)
def test_members_without_probabilities(estimator, text):
    X, y = some_examples(28, 20)
    clf = OzaRussellClassifier(estimator, 2, votes="probabilities")
    for learn in (clf.fit, clf.partial_fit):
        with pytest.raises(InputError, match=f'votes must be "answers" for an estimator.*{text}'):
            learn(X, y)
    assert not hasattr(clf, "classes_")
    clf.set_params(votes="answers").fit(X, y)
    before = pickle.dumps(clf)
    clf.set_params(votes="probabilities")
    for ask in (clf.predict, clf.predict_proba, clf.decision_function):
        with pytest.raises(InputError, match=text):
            ask(X)
    with pytest.raises(InputError, match=text):
        clf.partial_fit(X, y)
    assert pickle.dumps(clf.set_params(votes="answers")) == before


def test_rivers_that_only_answer_are_refused():
    base = pytest.importorskip("river.base")

    class Answers(base.Classifier):
        def learn_one(self, x, y):
            pass

        def predict_one(self, x):
            return 0

    from river import preprocessing

    for model in (Answers(), preprocessing.StandardScaler() | Answers()):
        assert not as_base_learner(model).gives_probabilities
        with pytest.raises(InputError, match="has no predict_proba_one"):
            OzaRussellClassifier(model, votes="probabilities").fit([[0.0], [1.0]], [0, 1])


def test_a_way_to_vote_that_there_is_not():
    X, y = some_examples(29, 30)
    clf = OzaRussellClassifier(n_estimators=2, random_state=0).fit(X, y)
    for bad in ("soft", None, 1):
        clf.set_params(votes=bad)
        for ask in (clf.predict, lambda rows: clf.partial_fit(rows, y)):
            with pytest.raises(InputError, match='votes must be "answers" or "probabilities"; got'):
                ask(X)
    assert clf.n_seen_ == 30


def test_probabilities_of_another_shape():
    class Half(ClassifierMixin, BaseEstimator):
        def partial_fit(self, X, y, classes=None):
            return self

        def predict(self, X):
            return np.zeros(len(X), int)

        def predict_proba(self, X):
            return np.ones((len(X), 1))

    clf = OzaRussellClassifier(Half(), 2, votes="probabilities", random_state=0).fit([[0.0]] * 6, [0, 1] * 3)
    with pytest.raises(InputError, match=r"each of the 2 classes in each row, \(3, 2\); Half gave \(3, 1\)"):
        clf.predict([[0.0]] * 3)
