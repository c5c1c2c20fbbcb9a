"""From nothing: one row, one class, constant features; hypotheses come when enough has been seen."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ocboost import AdaptiveClassifier
from ocboost.estimators.adaptive.bank import MAX_START_ROWS, START_ROWS
from ocboost.estimators.adaptive.classifier import ENOUGH_ROWS
from tests.support.adaptive import classifier, same, sparse_stream, state, stream


def finite(clf, X):
    p = clf.predict_proba(X, issue=False)
    assert np.isfinite(p).all()
    assert (p > 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    return p


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("sparse", [False, True])
def test_from_one_row(K, sparse, tmp_path):
    X, y = sparse_stream(K=K) if sparse else stream(K=K)
    clf = classifier().partial_fit(X[:1], y[:1], classes=range(K))
    assert (clf.n_learnt_, clf.bank_.pool) == (1, None)
    finite(clf, X[:20])
    moved, right = copy.copy(clf), 0
    for i in range(1, 320):
        for each in (clf, moved):
            right += each.predict(X[i : i + 1])[0] == y[i]
            each.partial_fit(X[i : i + 1], y[i : i + 1])
        assert (clf.bank_.pool is not None) == (clf.n_learnt_ >= START_ROWS), i
        if i in (1, 50, START_ROWS - 2, START_ROWS - 1, START_ROWS, 305):
            moved.save(tmp_path / "model")
            moved = AdaptiveClassifier.load(tmp_path / "model")
    assert same(clf, moved)
    finite(clf, X)
    if not sparse:
        assert right / 638 > 1.2 / K
    assert not clf.bank_._kept


def test_from_one_row_in_any_cut():
    X, y = stream()
    one_by_one, cut = (classifier().partial_fit(X[:1], y[:1], classes=[0, 1]) for _ in range(2))
    for i in range(1, 260):
        one_by_one.learn_one(X[i], y[i])
    for part in np.split(np.arange(1, 260), [30, 199, 200, 222]):
        cut.partial_fit(X[part], y[part])
    assert same(one_by_one, cut)
    first = classifier().partial_fit(X[:150], y[:150], classes=[0, 1]).partial_fit(X[150:260], y[150:260])
    assert same(first, cut)


def test_a_long_first_call_starts_as_fit_does():
    X, y = stream()
    n = ENOUGH_ROWS
    assert same(classifier().partial_fit(X[:n], y[:n], classes=[0, 1]), classifier().fit(X[:n], y[:n]))
    assert same(classifier().partial_fit(X[:60], y[:60]), classifier().fit(X[:60], y[:60]))
    few = classifier().partial_fit(X[: n - 1], y[: n - 1], classes=[0, 1])
    assert few.bank_.pool is None


def test_rows_without_weight_do_not_count_towards_a_start():
    X, y = stream()
    n = ENOUGH_ROWS
    weights = np.ones(n)
    weights[::2] = 0.0
    clf = classifier().partial_fit(X[:n], y[:n], classes=[0, 1], sample_weight=weights)
    assert (clf.n_learnt_, clf.bank_.pool) == (n // 2, None)
    assert same(clf, classifier().partial_fit(X[1:n:2], y[1:n:2], classes=[0, 1]))


def test_fit_with_weight_on_one_class_alone():
    X, y = stream()
    clf = classifier().fit(X[:100], y[:100], sample_weight=(y[:100] == 1).astype(float))
    assert clf.n_learnt_ == (y[:100] == 1).sum()
    assert (clf.predict(X[100:]) == 1).all()
    clf.partial_fit(X[100:], y[100:])
    finite(clf, X)


def test_one_class_for_long():
    X, _ = stream(400)
    clf = classifier().partial_fit(X[:1], [1], classes=[0, 1])
    for i in range(1, 400, 19):
        clf.predict(X[i : i + 19])
        clf.partial_fit(X[i : i + 19], np.ones(len(X[i : i + 19]), int))
    assert clf.bank_.pool is None
    assert (finite(clf, X)[:, 1] > 0.9).all()
    y = (X[:, 0] > 0).astype(int)
    for i in range(0, 400, 10):
        clf.partial_fit(X[i : i + 10], y[i : i + 10])
    assert clf.bank_.pool is not None
    assert (finite(clf, X).argmax(axis=1) == y).mean() > 0.8


def test_one_class_for_very_long_takes_bounded_memory():
    X = np.random.default_rng(0).normal(size=(MAX_START_ROWS + 300, 2))
    clf = classifier(without=["forests"]).partial_fit(X[:1], ["b"], classes=["a", "b"])
    clf.partial_fit(X, ["b"] * len(X))
    kept = clf.bank_._kept
    assert len(kept) == MAX_START_ROWS
    assert all(row.base is None or row.base.nbytes == row.nbytes for row, _, _ in kept)  # not all of X
    np.testing.assert_array_equal(kept[-1][0], X[-1:])
    clf.partial_fit(X[:100], ["a"] * 100)
    assert clf.bank_.pool is not None
    finite(clf, X[:10])


SAME = {
    "constant features": np.ones((330, 3)),
    "zeros": np.zeros((330, 3)),
    "missing": np.full((330, 3), np.nan),
    "large": np.full((330, 3), 1e308),
    "one of them 1e30": np.tile([0.0, 1e30, 1.0], (330, 1)),
    "no words": csr_matrix((330, 40)),
    "one word": csr_matrix(np.tile(np.eye(40)[7], (330, 1))),
}


@pytest.mark.parametrize("X", SAME.values(), ids=SAME)
@pytest.mark.parametrize("start", ["fit", "from nothing"])
def test_all_rows_equal(X, start, tmp_path):
    y = (np.random.default_rng(0).random(330) < 0.8).astype(int)
    clf = classifier()
    clf = clf.fit(X[:90], y[:90]) if start == "fit" else clf.partial_fit(X[:1], y[:1], classes=[0, 1])
    for i in range(90, 330, 12):
        clf.predict(X[i : i + 12])
        clf.partial_fit(X[i : i + 12], y[i : i + 12])
    assert 0.6 < finite(clf, X[:1])[0, 1] < 0.95
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    for each in (clf, loaded):
        each.partial_fit(X[:30], y[:30])
    assert same(clf, loaded)


def test_wide_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(330, 300))
    y = (X[:, 250] > 0).astype(int)
    clf = classifier().partial_fit(X[:1], y[:1], classes=[0, 1])
    clf.partial_fit(X[1:], y[1:])
    assert clf.bank_.pool is not None
    assert (finite(clf, X[-100:]).argmax(axis=1) == y[-100:]).mean() > 0.8
    begun = classifier().fit(X[:200], y[:200])
    begun.partial_fit(X[200:], y[200:])
    assert (finite(begun, X[-100:]).argmax(axis=1) == y[-100:]).mean() > 0.8


def test_few_rows():
    X, y = stream()
    for n in (2, 3, 5, 39, 41):
        rows, labels = X[:n], np.arange(n) % 2
        clf = classifier().fit(rows, labels)
        finite(clf, X)
        clf.partial_fit(X[:60], y[:60])
        finite(clf, X)
        assert clf.n_learnt_ == n + 60


def test_one_feature_and_one_hypothesis():
    X, y = stream()
    clf = classifier(n_hypotheses=1).fit(X[:100, :1], y[:100])
    clf.partial_fit(X[100:, :1], y[100:])
    finite(clf, X[:, :1])


def test_begun_in_two_ways_it_has_the_same_members():
    X, y = stream()
    from_nothing = classifier().partial_fit(X[:1], y[:1], classes=[0, 1])
    fitted = classifier().fit(X[:100], y[:100])
    assert {member.name for member in from_nothing.members_} == {member.name for member in fitted.members_}
    assert state(from_nothing) != state(fitted)


@pytest.mark.parametrize("K", [2, 3])
def test_rows_sorted_by_class_are_shuffled(K):
    """Their order says nothing: what follows which must not be learnt from it."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 60)
    X = rng.normal(size=(60 * K, 4))
    X[:, 0] += 3.0 * y
    clf = AdaptiveClassifier(n_hypotheses=10, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.85
    again = AdaptiveClassifier(n_hypotheses=10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X, issue=False), again.predict_proba(X, issue=False))
