"""Learning on top of an offset: AdaBoost that began with the score F₀."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, Model, OCBClassifier, adaboost_weights
from ocboost.deployment.adaptation import Adaptation
from ocboost.estimators import committee
from ocboost.evaluation import View
from ocboost.evaluation.contenders import OCB
from ocboost.learners import StumpLearner
from ocboost.offsets import ScaledOffset, fit_offset
from ocboost.streams import Batch
from tests.naive.offsets import adaboost_in_logarithms
from tests.support.classifiers import BOOSTER_SETTINGS
from tests.support.offset_examples import assert_same, examples, linear, pool, zero


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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", BOOSTER_SETTINGS)
@pytest.mark.parametrize("estimator", [None, "ball", DecisionTreeClassifier(max_depth=2)])
def test_an_offset_of_zero_is_none(estimator, name, n_classes):
    X, y = examples(n_classes, 200)
    w = np.random.default_rng(1).uniform(0, 2, 200)
    settings = {"n_hypotheses": 6, "smoothing": 1.0, "random_state": 0, **BOOSTER_SETTINGS[name]}
    pair = [OCBClassifier(estimator, offset=offset, **settings) for offset in (None, zero(n_classes))]
    for clf in pair:
        clf.fit(X[:80], y[:80], w[:80]).partial_fit(X[80:150], y[80:150], sample_weight=w[80:150])
        for i in range(150, 170):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(*pair, X)
    for mine, others in zip(pair[0].alpha_, pair[1].alpha_, strict=True):
        np.testing.assert_array_equal(mine, others)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", BOOSTER_SETTINGS)
def test_however_the_stream_is_cut(name, n_classes):
    X, y = examples(n_classes, 150)
    offset = linear(n_classes)
    whole, rows, parts = (
        OCBClassifier(n_hypotheses=6, offset=offset, **BOOSTER_SETTINGS[name]).fit(X[:60], y[:60])
        for _ in range(3)
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
def test_hypotheses_are_found_with_any_weights(estimator, size, n_classes):
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


# Smoothing and copies -----------------------------------------------------------------------------------


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
