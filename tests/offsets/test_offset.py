"""An offset: an existing score F₀ that a classifier learns corrections on top of."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, Model, ModelFileError, NotSavableError, OCBClassifier, adaboost_weights
from ocboost._core import storage
from ocboost.deployment.adaptation import Adaptation
from ocboost.estimators import committee
from ocboost.evaluation import View
from ocboost.evaluation.contenders import OCB
from ocboost.hypotheses import Callables, Stumps, from_sklearn
from ocboost.hypotheses.learners import StumpLearner
from ocboost.offsets import LinearOffset, ScaledOffset, VotedOffset, fit_offset
from ocboost.streams import Batch
from tests.support.saved_trees import GONE, changed


def examples(n_classes=2, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 2)
    score = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n)
    cuts = [0.0] if n_classes == 2 else np.linspace(-1.2, 1.2, n_classes - 1)
    return X, np.digitize(score, cuts)


COEF = np.random.default_rng(5).normal(size=(10, 4)) / 2
INTERCEPT = np.linspace(-0.5, 0.4, 10)


def linear(n_classes):
    """A score that is right now and then."""
    if n_classes == 2:
        return LinearOffset([0.7, 0.0, 0.3, 0.0], -0.2)
    return LinearOffset(COEF[:n_classes], INTERCEPT[:n_classes])


def zero(n_classes):
    return lambda X: np.zeros(X.shape[0] if n_classes == 2 else (X.shape[0], n_classes))


def pool(n=20):
    rng = np.random.default_rng(3)
    return Stumps(rng.integers(4, size=n), rng.normal(size=n), rng.choice([-1, 1], n), n_features=4)


def assert_same(a, b, X):
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


# What it learns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("how", ["fit", "batches", "rows"])
@pytest.mark.parametrize("estimator", [None, "given"])
def test_while_all_fits_in_the_head_it_is_adaboost_from_there(estimator, how, n_classes):
    X, y = examples(n_classes, 300)
    w = np.random.default_rng(1).uniform(1, 3, 300)
    offset = linear(n_classes)
    clf = OCBClassifier(
        pool() if estimator else None, 8, offset=offset, smoothing=3.0, head=1000, random_state=0
    )
    if how == "fit":
        clf.fit(X, y, w)
    else:
        clf.fit(X[:200], y[:200], w[:200])
        step = 33 if how == "batches" else 1
        for start in range(200, 300, step):
            part = slice(start, start + step)
            clf.partial_fit(X[part], y[part], sample_weight=w[part])
    answers, scores = clf.hypotheses_.answers(X), offset(X).reshape(300, -1)
    votes = scores.copy()
    for k, (alpha, columns) in enumerate(zip(clf.alpha_, clf.committee_.columns, strict=True)):
        signs = np.where(y == (1 if n_classes == 2 else k), 1, -1)
        expected = adaboost_weights(
            answers[:, columns] * signs[:, None],
            sample_weight=w * np.exp(-signs * scores[:, k]),
            smoothing=3.0,
        )
        np.testing.assert_allclose(alpha, expected, atol=1e-12)
        votes[:, k] += answers[:, columns] @ alpha
        assert np.abs(alpha).max() > 0.01
    if n_classes == 2:
        votes = votes[:, 0]
        np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * votes)))
        np.testing.assert_array_equal(clf.predict(X), votes > 0)
    else:
        np.testing.assert_array_equal(clf.predict(X), votes.argmax(axis=1))
    np.testing.assert_allclose(clf.decision_function(X), votes, atol=1e-12)
    np.testing.assert_allclose(
        clf.committee_.votes_of(answers, clf.committee_.scores_of(X)), votes, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, 10])
def test_before_the_first_example_it_is_the_offset(n_classes):
    X, y = examples(n_classes, 300)
    offset = linear(n_classes)
    clf = OCBClassifier.from_offset(offset, pool(), np.arange(n_classes))
    scores = offset(X)
    np.testing.assert_array_equal(clf.decision_function(X), scores)
    np.testing.assert_array_equal(clf.predict(X), scores > 0 if n_classes == 2 else scores.argmax(axis=1))
    before = clf.predict_proba(X)
    clf.partial_fit(X[:100], y[:100])
    assert (clf.predict_proba(X) != before).any()
    started = OCBClassifier(pool(), offset=offset).partial_fit(X[:100], y[:100], np.arange(n_classes))
    assert_same(clf, started, X)


SETTINGS = {
    "auto": {},
    "small head": {"head": 7},
    "window": {"head": 30, "tail": False},
    "forgetting": {"forgetting": 0.97, "head": 16},
    "band": {"order": 2, "head": 9, "batch_size": 5},
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("estimator", [None, "ball", DecisionTreeClassifier(max_depth=2)])
def test_an_offset_of_zero_is_none(estimator, name, n_classes):
    X, y = examples(n_classes, 200)
    w = np.random.default_rng(1).uniform(0, 2, 200)
    settings = {"n_hypotheses": 6, "smoothing": 1.0, "random_state": 0, **SETTINGS[name]}
    pair = [OCBClassifier(estimator, offset=offset, **settings) for offset in (None, zero(n_classes))]
    for clf in pair:
        clf.fit(X[:80], y[:80], w[:80]).partial_fit(X[80:150], y[80:150], sample_weight=w[80:150])
        for i in range(150, 170):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(*pair, X)
    for mine, others in zip(pair[0].alpha_, pair[1].alpha_, strict=True):
        np.testing.assert_array_equal(mine, others)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", SETTINGS)
def test_however_the_stream_is_cut(name, n_classes):
    X, y = examples(n_classes, 150)
    offset = linear(n_classes)
    whole, rows, parts = (
        OCBClassifier(n_hypotheses=6, offset=offset, **SETTINGS[name]).fit(X[:60], y[:60]) for _ in range(3)
    )
    whole.partial_fit(X[60:], y[60:])
    for i in range(60, 150):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    for start, stop in ((60, 77), (77, 78), (78, 140), (140, 150)):
        parts.partial_fit(X[start:stop], y[start:stop])
    assert_same(rows, whole, X)
    assert_same(parts, whole, X)


def test_forgetting_and_a_window():
    X, y = examples(2, 200)
    offset, signs = linear(2), np.where(y == 1, 1, -1)
    w = np.exp(-signs * offset(X))
    margins = pool().answers(X) * signs[:, None]
    fading = OCBClassifier(pool(), offset=offset, forgetting=0.98, head=1000, smoothing=2.0).fit(X, y)
    faded = adaboost_weights(margins, sample_weight=w * 0.98 ** np.arange(199, -1, -1.0), smoothing=2.0)
    np.testing.assert_allclose(fading.alpha_[0], faded, atol=1e-12)
    window = OCBClassifier(pool(), offset=offset, tail=False, head=40, smoothing=2.0).fit(X, y)
    last = adaboost_weights(margins[-40:], sample_weight=w[-40:], smoothing=2.0)
    np.testing.assert_allclose(window.alpha_[0], last, atol=1e-12)


def test_jobs_and_one_booster_at_a_time_change_nothing(monkeypatch):
    X, y = examples(3, 200)

    def made(n_jobs=None):
        clf = OCBClassifier(n_hypotheses=8, offset=linear(3), head=20, n_jobs=n_jobs)
        return clf.fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])

    expected = made()
    monkeypatch.setattr(committee, "MIN_ANSWERS_FOR_JOBS", 1)
    assert_same(made(2), expected, X)
    monkeypatch.setattr(committee, "MAX_ANSWERS_IN_MEMORY", 10)
    assert_same(made(), expected, X)


def test_sparse_rows_and_float32():
    X, y = examples(3, 200)
    X[np.abs(X) < 0.6] = 0.0
    dense = OCBClassifier(n_hypotheses=8, offset=linear(3)).fit(X, y)
    other = OCBClassifier(n_hypotheses=8, offset=linear(3)).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(
        other.decision_function(sparse.csr_matrix(X)), dense.decision_function(X), atol=1e-9
    )
    assert np.isfinite(dense.decision_function(X.astype(np.float32))).all()


def test_a_class_that_comes_later():
    X, y = examples(3, 300)
    early = y[:150] != 0
    clf = OCBClassifier(n_hypotheses=10, offset=linear(3))
    clf.partial_fit(X[:150][early], y[:150][early], classes=[0, 1, 2])
    assert len(clf.alpha_[0]) == len(clf.alpha_[1]) + len(clf.alpha_[2])
    clf.partial_fit(X[150:], y[150:])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_hypotheses_are_found_where_the_offset_is_wrong(factor, n_classes):
    """By the weights w·exp(-y F₀), as heavy together as w, for each class its own."""
    X, y = examples(n_classes, 200)
    w = np.random.default_rng(1).uniform(1, 3, 200)
    offset = ScaledOffset(linear(n_classes), 4 * factor)
    clf = OCBClassifier(n_hypotheses=15, offset=offset).fit(X, y, w)
    for k, columns in enumerate(clf.committee_.columns):
        signs = np.where(y == (1 if n_classes == 2 else k), 1, -1)
        own = w * np.exp(-signs * offset(X).reshape(200, -1)[:, k])
        own *= w.sum() / own.sum()
        found = StumpLearner().learn(X, signs.astype(np.int8), n_hypotheses=15, sample_weight=own)
        for name in ("feature", "threshold", "left"):
            np.testing.assert_array_equal(getattr(clf.hypotheses_[columns], name), getattr(found, name))


# Weights far apart --------------------------------------------------------------------------------------


def adaboost_in_logarithms(margins, log_w, smoothing):
    """The twin of `adaboost_weights` for weights of any size."""
    d, alpha = log_w.astype(float).copy(), []
    total = np.logaddexp.reduce(d)
    for m in margins.T:
        both = np.logaddexp.reduce(d)
        extra = np.log(smoothing) + both - total
        right, wrong = (np.logaddexp.reduce(np.append(d[m == s], extra)) for s in (1, -1))
        alpha.append(0.5 * (right - wrong))
        d = d - alpha[-1] * m
    return np.array(alpha)


@pytest.mark.parametrize("size", [1.0, 50.0, 300.0, 680.0])
@pytest.mark.parametrize("head", [1000, 10, 1])
def test_weights_far_apart(size, head):
    X, y = examples(2, 200)
    scores = np.random.default_rng(2).uniform(-size, size, 200)
    X[:, 3] = scores / size
    clf = OCBClassifier.from_offset(lambda X: X[:, 3] * size, pool(), [0, 1], head=head, smoothing=1.0)
    with np.errstate(all="raise"):
        for start in range(0, 200, 25):
            clf.partial_fit(X[start : start + 25], y[start : start + 25])
    alpha = clf.alpha_[0]
    assert np.isfinite(alpha).all()
    assert np.isfinite(clf.decision_function(X)).all()
    assert np.isfinite(clf.predict_proba(X)).all()
    if head == 1000:
        signs = np.where(y == 1, 1, -1)
        margins = pool().answers(X) * signs[:, None]
        expected = adaboost_in_logarithms(margins, -signs * X[:, 3] * size, 1.0)
        np.testing.assert_allclose(alpha, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [300.0, -680.0])
@pytest.mark.parametrize("estimator", [None, "ball", DecisionTreeClassifier(max_depth=2)])
def test_hypotheses_are_found_whatever_the_weights(estimator, size, n_classes):
    X, y = examples(n_classes, 150)

    def sure(X):
        scores = size * np.tanh(3 * X[:, 0])
        return scores if n_classes == 2 else np.stack([scores] * n_classes, axis=1)

    clf = OCBClassifier(estimator, 5, offset=sure, random_state=0).fit(X, y).partial_fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize("weight", [1.0, 1e200, 1e-200])
def test_beyond_the_range_nothing_is_learnt(weight):
    X, y = examples(2, 60)
    most = 690.0 - abs(np.log(weight))
    clf = OCBClassifier.from_offset(lambda X: np.where(X[:, 3] > 5, X[:, 3], 0.0), pool(), [0, 1])
    clf.partial_fit(X[:30], y[:30])
    before = clf.alpha_[0]
    X[40, 3] = most + 0.1
    with pytest.raises(
        InputError, match=rf"offset must keep .* got F₀ = \[{int(most + 0.1)}\..* in row 10\. Put"
    ):
        clf.partial_fit(X[30:], y[30:], sample_weight=np.full(30, weight))
    far = X[30:].copy()
    far[10, 3] = 700.0
    with pytest.raises(InputError, match="offset must keep"):
        clf.fit(far, y[30:])
    np.testing.assert_array_equal(clf.alpha_[0], before)
    assert clf.boosters_[0].n_seen == 30
    assert np.isfinite(clf.predict_proba(X)).all()  # to answer it is no matter
    X[40, 3] = most - 0.1
    clf.partial_fit(X[30:], y[30:], sample_weight=np.full(30, weight))
    assert np.isfinite(clf.alpha_[0]).all()
    clf.partial_fit(far[9:11], [0, 1], sample_weight=[1.0, 0.0])  # the second counts for nothing


# Hostile offsets ----------------------------------------------------------------------------------------


def raising(X):
    raise RuntimeError("no score today")


HOSTILE = {
    "a column too many": (lambda X: np.zeros((len(X), 2)), r"of shape \(\d+,\) for two classes; got shape"),
    "too few": (lambda X: np.zeros(len(X) - 1), "to each of the .* rows; got shape"),
    "one number": (lambda X: 0.5, r"got shape \(\)"),
    "a cube": (lambda X: np.zeros((len(X), 1, 1)), "got shape"),
    "NaN": (lambda X: np.where(np.arange(len(X)) == 2, np.nan, 0.0), "must be finite.* got nan for row 2"),
    "infinite": (lambda X: np.full(len(X), -np.inf), "must be finite.* got -inf for row 0"),
    "huge": (lambda X: np.full(len(X), 1e300), "must be finite, below 1e"),
    "objects": (
        lambda X: np.array([0.5] * len(X), dtype=object),
        "must give numbers; got ndarray of dtype ob",
    ),
    "words": (lambda X: ["a"] * len(X), "must give numbers; got list"),
    "truths": (lambda X: X[:, 0] > 0, "must give numbers; got ndarray of dtype bool"),
    "complex": (lambda X: X[:, 0] * 1j, "must give numbers; got ndarray of dtype complex"),
    "nothing": (lambda X: None, "must give numbers; got NoneType"),
    "ragged": (lambda X: [[0.0], [0.0, 1.0]], "must give numbers"),
    "masked": (lambda X: np.ma.masked_less(X[:, 0], 0.0), "must give numbers; got MaskedArray"),
    "no function": (7, "offset must be None, an offset of ocboost.offsets, a function"),
    "a word": ("linear", "offset must be None"),
    "a class": (LinearOffset, "offset must be None"),
    "not fitted": (
        LogisticRegression(),
        r"offset must be fitted; got LogisticRegression\(\).*FrozenEstimator",
    ),
    "no decision function": (DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), "offset must be None"),
    "of other features": (LinearOffset([1.0, 2.0]), "X must have the 2 features of the offset's coef"),
    "of three classes": (linear(3), "for two classes; got shape"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name):
    X, y = examples(2, 60)
    offset, match = HOSTILE[name]
    for learn in (
        OCBClassifier(n_hypotheses=4, offset=offset).fit,
        OCBClassifier(n_hypotheses=4, offset=offset).partial_fit,
        OCBClassifier(pool(), offset=offset).partial_fit,
    ):
        with pytest.raises(InputError, match=match):
            learn(X, y)
        assert not hasattr(learn.__self__, "committee_")


def test_hostile_later():
    X, y = examples(3, 60)
    bad = []
    clf = OCBClassifier(n_hypotheses=4, offset=lambda X: bad[0](X) if bad else np.zeros((len(X), 3))).fit(
        X, y
    )
    before = clf.alpha_
    for offset in (lambda X: np.zeros(len(X)), lambda X: np.full((len(X), 3), np.nan), raising):
        bad[:] = [offset]
        for call in (lambda: clf.partial_fit(X, y), lambda: clf.predict(X), lambda: clf.fit(X, y)):
            with pytest.raises((InputError, RuntimeError), match=r"offset must|no score today") as caught:
                call()
            if offset is raising:
                assert "It was raised by the offset" in caught.value.__notes__[0]
    bad.clear()
    for mine, others in zip(clf.alpha_, before, strict=True):
        np.testing.assert_array_equal(mine, others)
    assert clf.boosters_[0].n_seen == 60


def test_other_classes_than_the_scorer_knows():
    X, y = examples(3, 200)
    scorer = LinearSVC().fit(X, np.array(["b", "c", "a"])[y])
    with pytest.raises(InputError, match=r"offset must score the classes \[0, 1, 2\].*got a scorer of \['a'"):
        OCBClassifier(offset=scorer).fit(X, y)
    clf = OCBClassifier(offset=scorer, n_hypotheses=4).fit(X, np.array(["b", "c", "a"])[y])
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert OCBClassifier.from_offset(scorer, pool()).classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="classes must name all classes where the offset does not know"):
        OCBClassifier.from_offset(linear(3), pool())
    with pytest.raises(InputError, match=r"hypotheses must be of ocboost\.hypotheses"):
        OCBClassifier.from_offset(linear(3), "stump", [0, 1, 2])


def test_it_cannot_change_once_fitted():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=4, offset=linear(2)).fit(X, y)
    for other in (linear(2), None):
        with pytest.raises(InputError, match="offset cannot change once the classifier has been fitted"):
            copy.copy(clf).set_params(offset=other).partial_fit(X, y)
    with pytest.raises(InputError, match="offset cannot change"):
        OCBClassifier(n_hypotheses=4).fit(X, y).set_params(offset=linear(2)).partial_fit(X, y)
    fresh = OCBClassifier(n_hypotheses=4).fit(X, y)
    assert_same(clf.set_params(offset=None).fit(X, y), fresh, X)
    deployed = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="offset must be None for from_fitted"):
        OCBClassifier.from_fitted(deployed, X, y, offset=linear(2))


def test_scores_are_not_forgotten():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=4, offset=linear(2)).fit(X, y)
    answers = clf.hypotheses_.answers(X)
    with pytest.raises(InputError, match="scores must be those of the offset where there is one"):
        clf.committee_.votes_of(answers)
    with pytest.raises(InputError, match="scores must be those of the offset"):
        clf.committee_.learn(answers, y, np.ones(len(y)))
    none = OCBClassifier(n_hypotheses=4).fit(X, y)
    with pytest.raises(InputError, match="and None elsewhere"):
        none.committee_.votes_of(none.hypotheses_.answers(X), linear(2)(X)[:, None])


# Scorers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier(), LinearSVC()])
def test_a_linear_model(model, n_classes):
    X, y = examples(n_classes, 200)
    fitted = clone(model).fit(X, y)
    same = LinearOffset.from_sklearn(fitted)
    np.testing.assert_allclose(same(X), fitted.decision_function(X), atol=1e-12)
    for offset in (fitted, fitted.decision_function, FrozenEstimator(fitted), same):
        clf = OCBClassifier.from_offset(offset, pool(), range(n_classes))
        np.testing.assert_array_equal(clf.predict(X), fitted.predict(X))
        np.testing.assert_allclose(clf.decision_function(X), fitted.decision_function(X), atol=1e-12)
    with pytest.raises(InputError, match="fitted must be a fitted linear classifier"):
        LinearOffset.from_sklearn(clone(model))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_deployed_adaboost_is_on_the_scale_it_was_boosted_on(n_classes):
    X, y = examples(n_classes, 200)
    deployed = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, y)
    votes = sum(
        weight / 2 * np.where(member.predict(X)[:, None] == np.arange(n_classes), 1, -1)
        for weight, member in zip(deployed.estimator_weights_, deployed.estimators_, strict=True)
    )
    for offset in (deployed, FrozenEstimator(deployed), VotedOffset.from_adaboost(deployed)):
        clf = OCBClassifier.from_offset(offset, from_sklearn(deployed))
        np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
        expected = votes[:, 1] if n_classes == 2 else votes
        np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-12)
        assert np.abs(expected).max() > 1.5 * np.abs(deployed.decision_function(X)).max()
    clf.partial_fit(X, y)


def test_a_sum_of_leaves():
    X, _ = examples()
    up, down = np.array([0.7, 0.1]), np.array([-0.2, 0.4])
    stumps = Stumps([0, 1], [0.0, 0.3], [1, -1], n_features=4)
    offset = VotedOffset(stumps, (up - down) / 2, ((up + down) / 2).sum())
    expected = np.where(stumps.answers(X) > 0, up, down).sum(axis=1)
    np.testing.assert_allclose(offset(X), expected, atol=1e-12)


def test_offsets_that_make_no_sense():
    with pytest.raises(InputError, match=r"coef and intercept must be of shapes .* got \(2, 3\) and \(\)"):
        LinearOffset(np.ones((2, 3)))
    for coef in ([np.nan, 1.0], ["a"], [[[1.0]]], 1.0, [1e200], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="coef must be finite numbers"):
            LinearOffset(coef)
    with pytest.raises(InputError, match="one weight for each of the 20 hypotheses"):
        VotedOffset(pool(), np.ones(19))
    with pytest.raises(InputError, match="shift must be one number, or one for each class"):
        VotedOffset(pool(), np.ones((3, 20)), np.ones(2))
    with pytest.raises(InputError, match=r"hypotheses must be of ocboost\.hypotheses"):
        VotedOffset("stump", np.ones(2))
    with pytest.raises(InputError, match="scale must be finite"):
        ScaledOffset(linear(2), np.inf)
    with pytest.raises(InputError, match="a column for each of the 3 classes"):
        ScaledOffset(linear(2), np.ones(3), np.zeros(3))(np.zeros((2, 4)))


def test_a_score_does_not_depend_on_the_rows_beside_it():
    X = np.random.default_rng(0).normal(size=(5000, 4)) * [1e8, 1.0, 1e-8, 1.0]
    for offset in (linear(2), linear(10)):
        whole = offset(X)
        np.testing.assert_array_equal(np.concatenate([offset(X[i : i + 1]) for i in range(300)]), whole[:300])


# The scale ----------------------------------------------------------------------------------------------


def test_the_scale_of_a_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    y = np.where(1.5 * X[:, 0] - 0.5 + rng.logistic(size=4000) > 0, "yes", "no")
    for factor, shift in ((1.0, 0.0), (1000.0, 5e4), (1e-9, -3.0), (1e90, 0.0)):
        offset = fit_offset(lambda X, f=factor, s=shift: f * X[:, 0] + s, X, y)
        np.testing.assert_allclose(offset(X), 0.5 * (1.5 * X[:, 0] - 0.5), atol=0.25)
    reference = LogisticRegression(C=1e8).fit(X, y)
    offset = fit_offset(lambda X: X[:, 0], X, y)
    np.testing.assert_allclose(offset(X), reference.decision_function(X) / 2, atol=1e-3)
    twice = fit_offset(offset, X, y)
    np.testing.assert_allclose(twice(X), offset(X), atol=1e-3)
    assert twice.scorer is offset.scorer
    assert repr(offset).startswith("<GivenOffset scaled by 1.")


def test_weights_of_the_scale():
    X, y = examples(2, 300)
    counts = np.random.default_rng(0).integers(0, 3, 300)
    score = linear(2)
    weighted = fit_offset(score, X, y, sample_weight=counts.astype(float))
    repeated = fit_offset(score, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted(X), repeated(X), atol=0.01)
    small = fit_offset(score, X, y, sample_weight=counts * 1e-200)
    np.testing.assert_allclose(small(X), weighted(X), atol=1e-9)
    rare = np.flatnonzero((y == 0) | (np.arange(300) % 5 == 0))
    balanced = fit_offset(score, X[rare], y[rare], class_weight="balanced")
    assert balanced(X).mean() > fit_offset(score, X[rare], y[rare])(X).mean() + 0.3
    chosen = fit_offset(score, X[rare], y[rare], class_weight={0: 0.0, 1: 1.0})
    assert chosen(X).min() > 1.0


def test_a_score_that_separates_stays_finite():
    X = np.linspace(-1, 1, 200)[:, None]
    y = X[:, 0] > 0
    offset = fit_offset(lambda X: X[:, 0], X, y)
    assert 3.0 < offset(X).max() < 50.0
    with pytest.warns(
        UserWarning, match="the score is higher where the class is not True, so it is left out"
    ):
        turned = fit_offset(lambda X: -X[:, 0], X, y)
    np.testing.assert_allclose(turned(X), 0.0, atol=1e-6)
    constant = fit_offset(lambda X: np.full(len(X), 3.0), X, np.arange(200) % 4 == 0)
    np.testing.assert_allclose(constant(X), 0.5 * np.log(1 / 3), atol=1e-3)


def test_the_scale_of_each_class():
    X, y = examples(3, 400)
    fitted = LinearSVC().fit(X, y)
    offset = fit_offset(fitted, X, y)
    for k in range(3):
        own = LogisticRegression(C=1e8).fit(fitted.decision_function(X)[:, [k]], y == k)
        expected = own.decision_function(fitted.decision_function(X)[:, [k]]) / 2
        np.testing.assert_allclose(offset(X)[:, k], expected, atol=0.06)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        few = fit_offset(fitted, X[y < 2], y[y < 2])  # the third class has not come
    assert np.isfinite(few(X)).all()
    assert few(X)[:, 2].max() < -2.0


def test_what_the_scale_cannot_be_fitted_to():
    X, y = examples()
    with pytest.raises(InputError, match="y must hold at least two classes"):
        fit_offset(linear(2), X, np.zeros(len(y)))
    with pytest.raises(InputError, match=r"X and y must be of shapes"):
        fit_offset(linear(2), X, y[:-1])
    with pytest.raises(InputError, match="finite sum above zero"):
        fit_offset(linear(2), X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(InputError, match="offset must be finite"):
        fit_offset(lambda X: np.full(len(X), np.nan), X, y)
    with pytest.raises(InputError, match="for 3 classes; got shape"):
        fit_offset(linear(2), X, y, classes=[0, 1, 2])


# With scikit-learn --------------------------------------------------------------------------------------


def test_clone_and_parameters():
    X, y = examples(2, 200)
    fitted = LogisticRegression().fit(X, y)
    for offset in (linear(2), fitted.decision_function, FrozenEstimator(fitted), fit_offset(fitted, X, y)):
        clf = OCBClassifier(n_hypotheses=5, offset=offset)
        assert clf.get_params()["offset"] is offset
        fresh = clone(clf)
        assert not hasattr(fresh, "committee_")
        assert_same(fresh.fit(X, y), clf.fit(X, y), X)
        assert cross_val_score(clf, X, y, cv=2, error_score="raise").mean() > 0.6
    with pytest.raises(InputError, match="clone takes away what was fitted"):
        clone(OCBClassifier(offset=fitted)).fit(X, y)
    repr(OCBClassifier(offset=linear(2)))


def test_smoothing():
    X, y = examples(3, 100)
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    assert [booster.smoothing for booster in clf.boosters_] == [1.0] * 3
    clf = OCBClassifier(n_hypotheses=5, offset=linear(3)).fit(X, y)
    assert [booster.smoothing for booster in clf.boosters_] == [50.0] * 3
    clf.set_params(smoothing=7).partial_fit(X, y)
    assert clf.boosters_[0].smoothing == 7.0
    clf.set_params(smoothing="auto").partial_fit(X, y)
    assert clf.boosters_[0].smoothing == 50.0
    for smoothing in ("much", -1.0, None):
        with pytest.raises(InputError, match="smoothing must be a"):
            OCBClassifier(smoothing=smoothing).fit(X, y)


def test_copies_go_their_own_ways():
    X, y = examples(3)
    clf = OCBClassifier(n_hypotheses=6, offset=linear(3)).fit(X, y)
    before = clf.decision_function(X)
    for made in (copy.copy(clf), copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert_same(made, clf, X)
        made.partial_fit(X, y)
        assert (made.decision_function(X) != before).any()
    np.testing.assert_array_equal(clf.decision_function(X), before)


# In a file ----------------------------------------------------------------------------------------------


def voted(n_classes):
    X, y = examples(n_classes, 200)
    return VotedOffset.from_adaboost(AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y))


def scaled(n_classes):
    return fit_offset(linear(n_classes), *examples(n_classes, 300, 4))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "make",
    [linear, voted, lambda K: fit_offset(linear(K), *examples(K, 300, 4)), lambda K: ScaledOffset(voted(K))],
)
@pytest.mark.filterwarnings("ignore:the score is higher where:UserWarning")
def test_an_offset_of_numbers_is_saved(make, n_classes, tmp_path):
    X, y = examples(n_classes, 200)
    clf = OCBClassifier(n_hypotheses=5, offset=make(n_classes), head=30).fit(X[:100], y[:100])
    clf.save(tmp_path / "model")
    for loaded in (OCBClassifier.load(tmp_path / "model"), Model.load(tmp_path / "model").classifier):
        expected = copy.copy(clf)
        assert_same(loaded, expected, X)
        for each in (loaded, expected):
            each.partial_fit(X[100:], y[100:])
        assert_same(loaded, expected, X)
        assert type(loaded.offset) is type(clf.offset)
        loaded.save(tmp_path / "one")
        expected.save(tmp_path / "other")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    with pytest.raises(InputError, match=r"offset must be left out for .* whose own is in the file"):
        OCBClassifier.load(tmp_path / "model", offset=linear(n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_function_is_given_again(n_classes, tmp_path):
    X, y = examples(n_classes, 200)
    fitted = LogisticRegression().fit(X, y)
    rules = Callables([lambda X: np.where(X[:, 0] > 0, 1, -1)], n_features=4)
    shape = (n_classes, 1) if n_classes > 2 else 1
    for offset in (
        fitted,
        fitted.decision_function,
        ScaledOffset(fitted),
        VotedOffset(rules, np.ones(shape)),
    ):
        clf = OCBClassifier(n_hypotheses=5, offset=offset).fit(X[:100], y[:100])
        for each in (clf, Model(clf), Adaptation(Model(clf), {})):
            with pytest.raises(
                NotSavableError,
                match=r"made of numbers .* ocboost\.offsets, .* clf\.save\(path, without_offset=True\), and "
                r"give it again, OCBClassifier\.load\(path, offset=scorer\)",
            ):
                each.save(tmp_path / "no model")
        assert not (tmp_path / "no model").exists()
        clf.save(tmp_path / "model", without_offset=True)
        for load in (OCBClassifier.load, Model.load):
            with pytest.raises(ModelFileError, match=r"without its offset.*Give it again: .*offset=scorer"):
                load(tmp_path / "model")
        loaded = OCBClassifier.load(tmp_path / "model", offset=offset)
        assert_same(loaded.partial_fit(X, y), clf.partial_fit(X, y), X)
    with pytest.raises(InputError, match="offset must score the classes"):
        OCBClassifier.load(tmp_path / "model", offset=LogisticRegression().fit(X, y + 1))
    with pytest.raises(InputError, match="offset must be None, an offset"):
        OCBClassifier.load(tmp_path / "model", offset=3)
    OCBClassifier(n_hypotheses=5).fit(X, y).save(tmp_path / "without")
    with pytest.raises(InputError, match=r"offset must be left out for .* whose own has none"):
        OCBClassifier.load(tmp_path / "without", offset=fitted)


def test_an_offset_of_numbers_may_be_left_out(tmp_path):
    X, y = examples(n=200)
    clf = OCBClassifier(n_hypotheses=5, offset=linear(2)).fit(X[:100], y[:100])
    clf.save(tmp_path / "model", without_offset=True)
    with pytest.raises(ModelFileError, match="Give it again"):
        OCBClassifier.load(tmp_path / "model")
    assert_same(OCBClassifier.load(tmp_path / "model", offset=linear(2)), clf, X)
    # One without an offset has none to leave out.
    OCBClassifier(n_hypotheses=5).fit(X, y).save(tmp_path / "other", without_offset=True)
    OCBClassifier.load(tmp_path / "other")


class Doubled(LinearOffset):
    """Somebody's own: a file would have it loaded as another one."""

    def __call__(self, X):
        return 2.0 * super().__call__(X)


class Named(Doubled):
    kind = "Named"


@pytest.mark.parametrize("make", [Doubled, Named, lambda *a: ScaledOffset(Doubled(*a))])
def test_an_offset_that_load_does_not_know_is_not_saved(make, tmp_path):
    X, y = examples()
    offset = make(np.ones(4), 0.5)
    clf = OCBClassifier(n_hypotheses=5, offset=offset).fit(X, y)
    with pytest.raises(NotSavableError, match="made of numbers"):
        clf.save(tmp_path / "model")
    clf.save(tmp_path / "model", without_offset=True)
    assert_same(OCBClassifier.load(tmp_path / "model", offset=offset), clf, X)


def test_a_pickle_keeps_what_a_file_does_not():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=5, offset=LogisticRegression().fit(X, y)).fit(X, y)
    assert_same(pickle.loads(pickle.dumps(clf)), clf, X)


FILES = {
    "another kind": ("offset.kind", "Stumps", "offset of the kind 'Stumps', and this ocboost knows Linear"),
    "a function": ("offset.kind", "GivenOffset", "offset of the kind 'GivenOffset'"),
    "no entries": ("offset", 7, "offset must be entries with names"),
    "no word": ("offset.kind", {}, "offset.kind must be a text"),
    "not there": ("offset", GONE, "offset is missing"),
    "left out": ("offset", "given", "without its offset"),
    "another word": ("offset", "gone", "offset must be entries with names"),
    "scaled twice": (
        "offset.scorer",
        lambda scorer: {"kind": "ScaledOffset", "scorer": scorer, "scale": np.ones(()), "shift": np.ones(())},
        "not scaled again",
    ),
    "no scorer": ("offset.scorer", GONE, "offset.scorer is missing"),
    "more": ("offset.scorer.more", 1, "entries that are not known: 'more'"),
    "no scale": ("offset.scale", GONE, "offset.scale is missing"),
    "no coef": ("offset.scorer.coef", GONE, "offset.scorer.coef is missing"),
    "no array": ("offset.scorer.coef", 1.0, "the array .*offset.scorer.coef has the wrong shape or type"),
    "more arrays": ("offset.x", np.ones(1), "entries that are not known: 'x'"),
    "not finite": ("offset.scorer.coef", lambda coef: coef * np.nan, "coef must be finite"),
    "another shape": ("offset.scale", np.ones((2, 2)), "scale must be finite"),
    "of three classes": (
        "offset.scorer",
        {"kind": "LinearOffset", "coef": np.ones((3, 4)), "intercept": np.ones(3)},
        "offset does not fit its classes",
    ),
    "of other features": ("offset.scorer.coef", np.ones(5), "offset does not fit its classes or features"),
    "a handover": ("handover", {"old": 1.0}, "handover.new is missing"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_strangers_file(name, tmp_path):
    path, value, match = FILES[name]
    X, y = examples()
    OCBClassifier(n_hypotheses=4, offset=scaled(2)).fit(X, y).save(tmp_path / "model")
    tree = storage.load(tmp_path / "model", "OCBClassifier")
    storage.save(tmp_path / "model", "OCBClassifier", changed(tree, f"committee.{path}", value))
    for load in (OCBClassifier.load, Model.load):
        with pytest.raises(ModelFileError, match=match):
            load(tmp_path / "model")


# On its way through a stream ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_through_a_stream_with_checkpoints(n_classes, tmp_path):
    X, y = examples(n_classes, 200)
    clf = OCBClassifier(n_hypotheses=5, offset=linear(n_classes)).fit(X[:100], y[:100])
    expected = copy.copy(clf).partial_fit(X[100:], y[100:])
    known = np.ones(50, np.bool_)
    labels = np.arange(100) % 3 > 0
    partly = Adaptation(Model(copy.copy(clf)), {})
    partly.take(Batch(X[100:], y[100:], labels, 0), 10)
    some = copy.copy(clf).partial_fit(X[100:][labels], y[100:][labels])
    assert_same(partly.model.classifier, some, X)
    adaptation = Adaptation(Model(copy.copy(clf)), {})
    adaptation.take(Batch(X[100:150], y[100:150], known, 0))
    adaptation.save(tmp_path / "checkpoint")
    adaptation = Adaptation.load(tmp_path / "checkpoint")
    adaptation.take(Batch(X[150:], y[150:], known, 50), 7)
    assert_same(adaptation.model.classifier, expected, X)
    first = clf.predict(X[100:101])[0]
    assert adaptation.confusion[:, first].sum() > 0
    contender = OCB(copy.copy(clf))
    view = View.of(X[100:], y[100:])
    np.testing.assert_array_equal(contender.predict(view), clf.predict_proba(X[100:]))
    contender.learn(view)
    np.testing.assert_allclose(
        contender.classifier.decision_function(X), expected.decision_function(X), atol=1e-12
    )


# What it is for -----------------------------------------------------------------------------------------


def drawn(n, rng, later):
    """Twenty features that all count; later one of them counts in another way, which is no line."""
    X = rng.normal(size=(n, 20))
    score = X.sum(axis=1) / 2 + 0.5 * rng.normal(size=n)
    return X, (score + later * np.where(np.abs(X[:, 0]) < 0.7, 1.5, -1.5) > 0).astype(int)


@pytest.mark.parametrize("how", ["fit", "stream"])
def test_it_adapts_a_linear_scorer_whose_data_are_gone(how):
    rng = np.random.default_rng(0)
    scorer = LogisticRegression().fit(*drawn(2000, rng, 0))
    X, y = drawn(400, rng, 1)
    X_test, y_test = drawn(4000, rng, 1)
    offset = fit_offset(scorer, X[:200], y[:200])
    alone = np.mean((offset(X_test) > 0) == y_test)
    found = []
    for clf in (OCBClassifier(n_hypotheses=20), OCBClassifier(n_hypotheses=20, offset=offset)):
        if how == "fit":
            clf.fit(X, y)
        else:
            clf.fit(X[:200], y[:200])
            for i in range(200, 400):
                clf.partial_fit(X[i : i + 1], y[i : i + 1])
        found.append(clf.score(X_test, y_test))
    scratch, adapted = found
    assert adapted > alone + 0.04
    assert adapted > scratch + 0.04
