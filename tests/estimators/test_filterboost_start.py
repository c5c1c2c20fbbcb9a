"""FilterBoost before it has found a hypothesis: what it answers, and what it waits for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost.errors import InputError
from ocboost.estimators.binary_filterboost import EdgeTest
from ocboost.lineage import FilterBoost


def few(labels):
    """Too few rows for a hypothesis, all alike."""
    return np.zeros((len(labels), 1)), np.array(labels)


@pytest.mark.parametrize(("labels", "common"), [([0, 1, 1, 1], 1), ([0, 0, 1, 0], 0)])
def test_the_most_frequent_class_is_predicted(labels, common):
    X, y = few(labels)
    clf = FilterBoost(random_state=0).partial_fit(X, y)
    assert clf.hypotheses_ == [None]
    np.testing.assert_array_equal(clf.predict(X), [common] * 4)
    shares = (np.bincount(y) + 1) / 6
    np.testing.assert_allclose(clf.predict_proba(X), [shares] * 4, rtol=1e-12)
    np.testing.assert_allclose(clf.decision_function(X), math.log(shares[1] / shares[0]), rtol=1e-12)


def test_of_several_classes_too():
    X, y = few(["a", "b", "c", "b"])
    clf = FilterBoost(random_state=0).partial_fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), ["b"] * 4)
    np.testing.assert_allclose(
        clf.decision_function(X)[0], [math.log(2 / 4), math.log(3 / 3), math.log(2 / 4)], rtol=1e-12
    )
    assert clf.predict_proba(X)[0].argmax() == 1


def test_fit_that_finds_nothing_answers_with_the_majority():
    """Labels at random: no edge can be distinguished from zero."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5_000, 2)), (rng.random(5_000) < 0.5).astype(int)
    y[:1_500] = 1  # so that +1 is about 65 of 100, in rows that nothing tells from the others
    clf = FilterBoost(sample=20, most_examples=40, random_state=0).fit(X, y)
    assert clf.stopped_.startswith("the edge could not be distinguished from zero")
    assert clf.hypotheses_ == [None]
    assert (clf.predict(X) == 1).all()
    n = clf.boosters_[0].n_seen
    assert abs(clf.predict_proba(X[:1])[0, 1] - y.mean()) < 4 * math.sqrt(0.25 / n)


def test_with_a_hypothesis_the_score_is_the_papers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 1))
    y = (X[:, 0] > 0.5).astype(int)
    clf = FilterBoost(n_hypotheses=1, sample=50, tau=1.0, random_state=0).partial_fit(X, y)
    answers = clf.hypotheses_[0].answers(X)[:, 0]
    np.testing.assert_array_equal(clf.decision_function(X), clf.alpha_[0][0] * answers)


@given(st.lists(st.integers(0, 2), min_size=2, max_size=40), st.lists(st.integers(1, 9), max_size=9))
def test_counts_are_those_of_the_examples_seen_however_cut(labels, sizes):
    X, y = few(labels)
    whole, cut = (FilterBoost(sample=1_000, most_examples=1_000, random_state=0) for _ in range(2))
    whole.partial_fit(X, y, [0, 1, 2])
    at = 0
    for size in [*sizes, len(y)]:
        if at < len(y):
            cut.partial_fit(X[at : at + size], y[at : at + size], [0, 1, 2])
        at += size
    for clf in (whole, cut):
        counts = [machine.n_positive for machine in clf.boosters_]
        assert counts == np.bincount(y, minlength=3).tolist()
    np.testing.assert_array_equal(whole.decision_function(X), cut.decision_function(X))


def test_only_examples_that_were_looked_at_count(tmp_path):
    """It ends within a call: what came after that is not in the shares, nor in the file's."""
    X = np.zeros((20_000, 1))
    y = np.where(np.arange(20_000) < 10_000, np.arange(20_000) % 2, 1)
    clf = FilterBoost(sample=10, most_examples=20, random_state=0).partial_fit(X, y)
    assert clf.stopped_ is not None
    assert clf.n_seen_ < 10_000
    assert clf.boosters_[0].n_positive == clf.n_seen_ // 2
    clf.save(tmp_path / "model")
    other = FilterBoost.load(tmp_path / "model")
    np.testing.assert_array_equal(other.predict_proba(X[:3]), clf.predict_proba(X[:3]))


def test_what_it_waits_for():
    clf = FilterBoost(sample=10, most_examples=20, random_state=0)
    clf.partial_fit(*few([0] * 500), [0, 1])
    assert clf.stopped_ is None
    assert clf.waiting_ == "for an example of 1"
    clf.partial_fit(*few([1]))
    assert clf.waiting_ is None
    clf = FilterBoost(random_state=0).partial_fit(*few(["b"] * 5), ["a", "b", "c"])
    assert clf.waiting_ == "for an example of 'a' and one of 'c'"
    clf.partial_fit(*few(["a"]))
    assert clf.waiting_ == "for an example of 'c'"
    assert FilterBoost(random_state=0).partial_fit(*few([1] * 5), [0, 1]).waiting_ == "for an example of 0"
    assert FilterBoost(n_hypotheses=1, random_state=0).fit(*few([0, 1] * 9)).waiting_ is None


@pytest.mark.parametrize("n_hypotheses", ["a", None, 0, 2.5])
def test_n_hypotheses_is_checked_whenever_it_is_used(n_hypotheses):
    clf = FilterBoost(random_state=0).partial_fit(*few([0, 1])).set_params(n_hypotheses=n_hypotheses)
    for use in (lambda: clf.stopped_, lambda: clf.waiting_):
        with pytest.raises(InputError, match="n_hypotheses must be a whole number"):
            use()


def test_as_many_examples_as_the_docstring_says():
    """An edge of 0.05, in the first rounds with the default τ and δ."""
    needed = []
    for t in (1, 3):
        test = EdgeTest(tau=0.5, delta=0.05 / (3 * t * (t + 1)))
        low, high = 1, 10**6
        while low < high:
            test.n = (low + high) // 2
            test.right = 0.55 * test.n
            low, high = (low, test.n) if test.decided else (test.n + 1, high)
        needed.append(low)
    assert 45_000 < needed[0] < 50_000 < needed[1] < 55_000
