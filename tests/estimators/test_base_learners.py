"""Members of other libraries, and our own naive Bayes, as the booster uses them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ocboost.errors import InputError
from ocboost.estimators.base_learners import NO_ANSWER, NaiveBayes, as_base_learner, require_weights
from ocboost.lineage import OzaRussellClassifier
from ocboost.streams.rows import Rows


def examples_of(X, names=None):
    names = list(range(X.shape[1])) if names is None else names
    rows = Rows(X, names=names)
    return [rows[i : i + 1] for i in range(len(X))]


def begun(prototype, n_features, n_classes=2, seed=0):
    return as_base_learner(prototype).begin(n_features, n_classes, np.random.default_rng(seed))


def two_blobs(n=120, d=3, seed=0, K=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    return rng.normal(size=(n, d)) + 2.0 * y[:, None], y


def river_models():
    pytest.importorskip("river")
    from river import linear_model, naive_bayes, preprocessing, tree

    return {
        "tree": tree.HoeffdingTreeClassifier(grace_period=20),
        "bayes": naive_bayes.GaussianNB(),
        "logistic": linear_model.LogisticRegression(),
        "scaled logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "scaled bayes": preprocessing.StandardScaler() | naive_bayes.GaussianNB(),
    }


# scikit-learn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [SGDClassifier(), Perceptron(), GaussianNB(), BernoulliNB()])
def test_a_scikit_learn_member_is_its_own_partial_fit(estimator):
    X, y = two_blobs(K=3)
    member = begun(estimator, 3, 3, seed=4)
    beside = begun(estimator, 3, 3, seed=4).model
    assert member.answer(examples_of(X)[0]) == NO_ANSWER
    np.testing.assert_array_equal(member.answers(X, [0, 1, 2]), NO_ANSWER)
    for i, example in enumerate(examples_of(X)):
        member.learn(example, int(y[i]), 0.5 + i % 3)
        beside.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2], sample_weight=[0.5 + i % 3])
    if not isinstance(estimator, GaussianNB):  # whose variances have a floor here
        np.testing.assert_array_equal(member.answers(X, [0, 1, 2]), beside.predict(X))
    assert [member.answer(example) for example in examples_of(X)] == member.answers(X, [0, 1, 2]).tolist()
    assert (member.answers(X, [0, 1, 2]) == y).mean() > 0.4
    assert not hasattr(estimator, "classes_")  # the prototype never learns


@pytest.mark.parametrize("estimator", [SGDClassifier(), Perceptron(), GaussianNB(), NaiveBayes()])
def test_repeating_is_learning_so_many_times(estimator):
    X, y = two_blobs()
    at_once, looped = begun(estimator, 3), begun(estimator, 3)
    for i, example in enumerate(examples_of(X)):
        at_once.repeat(example, int(y[i]), i % 4)
        for _ in range(i % 4):
            looped.learn(example, int(y[i]))
    np.testing.assert_array_equal(at_once.answers(X, [0, 1, 2]), looped.answers(X, [0, 1, 2]))


def test_members_that_draw_have_seeds_of_their_own():
    rng = np.random.default_rng(0)
    prototype = as_base_learner(SGDClassifier())
    seeds = [prototype.begin(2, 2, rng).model.random_state for _ in range(3)]
    assert len(set(seeds)) == 3
    assert prototype.model.random_state is None
    assert as_base_learner(SGDClassifier(random_state=7)).begin(2, 2, rng).model.random_state == 7


def test_scikit_learns_naive_bayes_is_fed_single_rows_without_dividing_by_zero():
    """A constant feature, and classes of one example: scikit-learn alone would answer from NaN."""
    X, y = two_blobs(200)
    X[:, 1] = 3.0
    member = begun(GaussianNB(), 3)
    with np.errstate(all="raise"):
        for i, example in enumerate(examples_of(X)):
            member.learn(example, int(y[i]))
            with np.errstate(divide="ignore"):
                member.answer(example)
    batch = GaussianNB().fit(X, y)
    np.testing.assert_allclose(member.model.theta_, batch.theta_, rtol=1e-10)
    np.testing.assert_allclose(member.model.var_, batch.var_, rtol=1e-6)
    np.testing.assert_array_equal(member.answers(X, [0, 1, 2]), batch.predict(X))


# River ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["tree", "bayes", "logistic", "scaled logistic", "scaled bayes"])
def test_a_river_member_is_its_own_learn_one(which):
    prototype = river_models()[which]
    beside = prototype.clone()
    X, y = two_blobs(200)
    member = begun(prototype, 3)
    names = ["a", "b", "c"]
    for i, example in enumerate(examples_of(X, names)):
        member.learn(example, int(y[i]))
        beside.learn_one(dict(zip(names, X[i].tolist(), strict=True)), int(y[i]))
    expected = [beside.predict_one(dict(zip(names, x.tolist(), strict=True))) for x in X]
    np.testing.assert_array_equal(member.answers(X, names), np.array(expected, int))
    assert (member.answers(X, names) == y).mean() > 0.75


@pytest.mark.parametrize("which", ["tree", "scaled logistic"])
def test_river_members_that_take_weights_heed_them(which):
    prototype = river_models()[which]
    X, y = two_blobs(60)
    weighted, beside, plain = begun(prototype, 3), prototype.clone(), prototype.clone()
    for i, example in enumerate(examples_of(X)):
        weighted.learn(example, int(y[i]), 0.25 + 3.0 * int(y[i]))
        beside.learn_one(example.dictionaries()[0], int(y[i]), w=0.25 + 3.0 * int(y[i]))
        plain.learn_one(example.dictionaries()[0], int(y[i]))
    shares = [
        [model.predict_proba_one(example.dictionaries()[0])[1] for example in examples_of(X)]
        for model in (weighted.model, beside, plain)
    ]
    assert shares[0] == shares[1]
    heeded = shares[1] != shares[2]
    assert as_base_learner(prototype).takes_weights == heeded
    if heeded:
        require_weights(as_base_learner(prototype))
    else:  # River's pipelines dropped them before 0.24
        assert which == "scaled logistic"
        with pytest.raises(InputError, match="Pipeline has no w in its learn_one"):
            require_weights(as_base_learner(prototype))


def test_a_river_member_that_has_not_learnt_has_no_answer():
    X, _ = two_blobs(3)
    assert begun(river_models()["bayes"], 3).answer(examples_of(X)[0]) == NO_ANSWER


def test_river_members_that_draw_have_seeds_of_their_own():
    forest = pytest.importorskip("river.forest")
    rng = np.random.default_rng(0)
    free, fixed = (as_base_learner(forest.ARFClassifier(n_models=1, seed=seed)) for seed in (None, 5))
    assert len({free.begin(2, 2, rng).model.seed for _ in range(3)}) == 3
    assert fixed.begin(2, 2, rng).model.seed == 5


@pytest.mark.parametrize(
    ("which", "updates"),
    [
        ("tree", "poisson"),
        ("tree", "weighted"),
        ("bayes", "poisson"),
        ("scaled logistic", "poisson"),
        ("scaled logistic", "weighted"),
        ("scaled bayes", "poisson"),
    ],
)
def test_river_members_boosted(which, updates):
    model = river_models()[which]
    if updates == "weighted" and not as_base_learner(model).takes_weights:
        pytest.skip("River's pipelines dropped weights before 0.24")
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], np.where(y[order], "benign", "malignant")
    clf = OzaRussellClassifier(model, 3, updates=updates, random_state=1).fit(X[:300], y[:300])
    assert clf.score(X[300:], y[300:]) > 0.88
    assert type(clf.members_[0]) is type(model)


def test_river_sees_the_names_of_columns():
    pd = pytest.importorskip("pandas")
    from river import compose, naive_bayes

    X, y = two_blobs(200)
    X[:, 0] = np.random.default_rng(1).normal(size=200)  # only b says anything
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = compose.Select("b") | naive_bayes.GaussianNB()
    clf = OzaRussellClassifier(model, 2, random_state=0).fit(frame, y)
    assert clf.score(frame, y) > 0.7
    assert set(clf.members_[0]._last_step.gaussians[0]) == {"b"}


def test_more_classes_than_a_river_model_knows():
    from river import multiclass

    logistic = river_models()["logistic"]
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=r"there are 3; LogisticRegression knows two.*OneVsRestClassifier"):
        OzaRussellClassifier(logistic).fit(X, y)
    clf = OzaRussellClassifier(multiclass.OneVsRestClassifier(logistic), 3, random_state=0)
    order = np.random.default_rng(0).permutation(np.arange(450) % 150)
    assert clf.fit(X[order], y[order]).score(X, y) > 0.6


# Our own -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 4])
def test_naive_bayes_is_scikit_learns_in_batch(K):
    X, y = two_blobs(400, K=K, seed=3)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 400) * np.where(y > 0, 1.0, 50.0)
    member = begun(NaiveBayes(), 3, K)
    for i, example in enumerate(examples_of(X)):
        member.learn(example, int(y[i]), float(weights[i]))
    batch = GaussianNB().fit(X, y, weights)
    np.testing.assert_allclose(member.mean, batch.theta_, rtol=1e-10)
    np.testing.assert_allclose(member.variance, batch.var_, rtol=1e-6)
    np.testing.assert_allclose(member.count, batch.class_count_, rtol=1e-12)
    np.testing.assert_array_equal(member.answers(X, []), batch.predict(X))
    assert [member.answer(example) for example in examples_of(X)] == batch.predict(X).tolist()


def test_naive_bayes_before_it_knows_much():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [1.0, 5.0]])
    first, second, third = examples_of(X)
    member = begun(NaiveBayes(), 2, 3)
    assert member.answer(first) == NO_ANSWER
    member.learn(first, 2)
    assert member.answer(second) == 2  # it knows no other class
    member.learn(second, 0)
    assert [member.answer(each) for each in (first, second, third)] == [2, 0, 2]


@pytest.mark.parametrize("size", [1e-300, 1e200, 1e308])
def test_naive_bayes_answers_whatever_the_range(size):
    X, y = two_blobs(40)
    X = X / np.abs(X).max() * size
    member = begun(NaiveBayes(), 3)
    for i, example in enumerate(examples_of(X)):
        member.learn(example, int(y[i]), 1e100 if i % 2 else 1e-300)
        assert member.answer(example) in (0, 1)


def test_naive_bayes_answers_with_the_commoner_class_where_features_say_nothing():
    member = begun(NaiveBayes(), 1)
    rows = examples_of(np.array([[1e308], [-1e308], [1e308], [-1e308], [1e308]]))
    for example, code in zip(rows, [0, 0, 1, 1, 1], strict=True):
        member.learn(example, code)
    assert [member.answer(example) for example in rows] == [1] * 5


def test_naive_bayes_checks_its_parameter():
    for bad in (0.0, -1.0, "much"):
        with pytest.raises(InputError, match="var_smoothing must be"):
            NaiveBayes(bad)
    assert repr(NaiveBayes(0.5)) == "NaiveBayes(var_smoothing=0.5)"


# What is refused -----------------------------------------------------------------------------------------


class Learns(BaseEstimator):
    def partial_fit(self, X, y, classes=None):
        return self


class LearnsOne:
    def learn_one(self, x, y):
        pass


class NoWeights(ClassifierMixin, Learns):
    def predict(self, X):
        return np.zeros(len(X), int)


@pytest.mark.parametrize(
    ("prototype", "text"),
    [
        (
            KNeighborsClassifier(),
            r"KNeighborsClassifier\(\) has neither partial_fit nor learn_one.*SGDClass.*river",
        ),
        (make_pipeline(StandardScaler(), SGDClassifier()), "neither partial_fit nor learn_one"),
        (None, "None has neither"),
        (Learns(), "Learns has partial_fit but no predict"),
        (LearnsOne(), "LearnsOne has learn_one but no predict_one"),
        (SGDRegressor(), "estimator must be a classifier; got SGDRegressor"),
        (MiniBatchKMeans(), "estimator must be a classifier; got MiniBatchKMeans"),
        (SGDClassifier, r"not its class; got SGDClassifier. Call it: SGDClassifier\(\)"),
    ],
)
def test_what_cannot_be_boosted(prototype, text):
    with pytest.raises(InputError, match=text):
        as_base_learner(prototype)


def test_river_regressors_are_refused():
    from river import linear_model, preprocessing

    for model in (
        linear_model.LinearRegression(),
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
    ):
        with pytest.raises(InputError, match="must be a classifier; got LinearRegression"):
            as_base_learner(model)


def test_weights_for_those_that_take_none():
    X, y = two_blobs()
    with pytest.raises(InputError, match=r'NoWeights has no sample_weight in its partial_fit.*"poisson"'):
        OzaRussellClassifier(NoWeights(), updates="weighted").fit(X, y)
    assert OzaRussellClassifier(NoWeights(), 2).fit(X, y).n_seen_ == 120
    for which in ("bayes", "scaled bayes"):
        with pytest.raises(InputError, match=r'updates must be "poisson".*has no w in its learn_one'):
            OzaRussellClassifier(river_models()[which], updates="weighted").fit(X, y)
    require_weights(as_base_learner(river_models()["tree"]))
