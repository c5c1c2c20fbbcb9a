"""Fleets against plain loops, and against themselves however a stream is cut."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import OCBClassifier, set_num_threads
from ocboost._core import threads
from ocboost.hypotheses import Stumps
from tests.naive.fleet import NaiveFleet, own_weights

pytest.importorskip("lmdb")

from ocboost._kernels.fleet import Trust
from ocboost.fleet import Fleet
from ocboost.fleet.deployed import common_committee
from ocboost.fleet.scoring import Scorer
from ocboost.fleet.state import trust_at_first
from tests.fleet.fleets import model, records, rows


def twin(clf, window):
    """The plain loops, with the committee itself for the common weights."""
    committee = common_committee(clf)

    def common_after(some):
        answers, codes = np.array([h for h, _ in some]), np.array([code for _, code in some])
        weights = np.full(len(codes), clf.weight_scale_)
        committee.learn(answers, codes, weights, batch_size=64)
        return committee.alphas

    return NaiveFleet(clf.committee_.columns, clf.alpha_, window, common_after)


@pytest.mark.parametrize(
    ("K", "J", "window"), [(2, 12, 40), (2, 70, 64), (2, 130, 130), (3, 12, 30), (4, 5, 1)]
)
def test_plain_loops(tmp_path, K, J, window):
    X, y, keys = rows(K=K)
    clf = model(K, J)
    naive, answers = twin(clf, window), clf.hypotheses_.answers(X)
    codes = np.searchsorted(clf.classes_, y)
    expected = np.array([naive.learn(k, h, c) for k, h, c in zip(keys, answers, codes, strict=True)])
    with Fleet(clf, store=tmp_path / "store", window=window) as fleet:
        votes = fleet.learn_coded(keys, X, codes)
        np.testing.assert_allclose(votes.reshape(len(X), -1), expected, rtol=0, atol=1e-7)
        after = np.array([naive.votes(k, h) for k, h in zip(keys, answers, strict=True)])
        np.testing.assert_allclose(fleet.votes(keys, X).reshape(len(X), -1), after, rtol=0, atol=1e-7)
        new = np.array([naive.votes("new", h) for h in answers[:20]])
        found = fleet.votes(["new"] * 20, X[:20])
        np.testing.assert_allclose(found.reshape(20, -1), new, rtol=0, atol=1e-7)
        np.testing.assert_allclose(fleet._state().trust.beta, naive.beta, rtol=0, atol=1e-7)


def test_it_begins_as_the_model(tmp_path):
    X, _, keys = rows()
    clf = model()
    with Fleet(clf, store=tmp_path / "store") as fleet:
        np.testing.assert_array_equal(fleet.votes(keys, X), clf.decision_function(X))
        np.testing.assert_array_equal(fleet.predict(keys, X), clf.predict(X))
        np.testing.assert_array_equal(fleet.predict_proba(keys, X), clf.predict_proba(X))


def test_limits_of_the_own_weights():
    """Without shrinkage and without common weights they are AdaBoost's."""
    from ocboost import adaboost_weights

    rng = np.random.default_rng(0)
    margins = np.where(rng.random((90, 7)) < 0.7, 1, -1).astype(np.int8)
    found = own_weights(margins, np.zeros(90), smoothing=1.0)
    np.testing.assert_allclose(found, adaboost_weights(margins), rtol=0, atol=1e-12)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.sampled_from([2, 3]))
def test_it_does_not_matter_how_a_stream_is_cut(tmp_path_factory, cuts, K):
    X, y, keys = rows(K=K)
    clf = model(K)
    n = min(len(X), sum(cuts))
    stores = []
    for sizes in (cuts, [n]):
        with Fleet(clf, store=tmp_path_factory.mktemp("cut") / "store", window=33) as fleet:
            at, votes = 0, []
            for size in sizes:
                part = slice(at, min(n, at + size))
                if part.start < part.stop:
                    votes.append(fleet.learn(keys[part], X[part], y[part]))
                at += size
            stores.append((records(fleet), np.concatenate(votes).tolist()))
    assert stores[0] == stores[1]


def test_any_number_of_threads_gives_the_same(tmp_path, monkeypatch):
    X, y, _ = rows()
    keys = np.arange(len(X)) % 300
    found = []
    monkeypatch.setattr(threads, "_n_threads", 1)
    for n in (1, 3):
        set_num_threads(n)
        with Fleet(model(), store=tmp_path / f"store {n}") as fleet:
            fleet.learn(keys, X, y)
            found.append((records(fleet), fleet.votes(keys, X).tolist()))
    set_num_threads(1)
    assert found[0] == found[1]


def test_weights_stay_finite_whatever_comes(tmp_path):
    """Hypotheses that are always right, or always wrong; a hundred thousand of the same row."""
    J = 400
    clf = OCBClassifier(Stumps([0] * J, [0.0] * J, [1] * J)).fit([[-1.0], [1.0]], [1, 0])
    scorer = Scorer(clf, 64)
    for right in (1, -1):
        with Fleet(clf, store=tmp_path / f"{right}", window=64) as fleet:
            X = np.where(np.arange(1100) % 2, 1.0, -1.0)[:, None]
            y = (X[:, 0] * right < 0).astype(int)
            fleet.learn(["one"] * 1100, X, y)
            state = fleet._state()
            assert np.isfinite(fleet.votes(["one", "two"], X[:2])).all()
            assert all(np.isfinite(each).all() for each in (state.trust.beta, state.trust.gram))
            assert (fleet.predict(["one"] * 20, X[:20]) == y[:20]).all()
    keys = scorer.new_keys([None])
    assert (scorer.weights(keys, clf.alpha_, trust_at_first()) == scorer.joined(clf.alpha_)).all()


def test_weights_are_what_it_votes_with(tmp_path):
    for K in (2, 3):
        X, y, keys = rows(K=K)
        clf = model(K)
        with Fleet(clf, store=tmp_path / f"{K}", window=50) as fleet:
            fleet.learn(keys, X, y)
            state, scorer = fleet._state(), fleet._scorer
            with fleet._store.reading() as txn:
                found = scorer.new_keys(fleet._states(txn, [b"key 1"], {}))
            weights = scorer.weights(found, state.alphas, copy.deepcopy(state.trust))[0]
            answers = clf.hypotheses_.answers(X[:50]).astype(float)
            parts = scorer.parts(weights)
            votes = [answers[:, c] @ w[:-1] + w[-1] for c, w in zip(scorer.columns, parts, strict=True)]
            expected = fleet.votes(["key 1"] * 50, X[:50])
            np.testing.assert_allclose(np.stack(votes, axis=1).reshape(expected.shape), expected, atol=1e-10)


def test_trust_is_pulled_towards_what_is_better():
    """Steps down the log-loss: the scores that are right are trusted, those that are noise are not."""
    from ocboost._kernels.fleet import add_scores

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 20_000)
    scores = rng.normal(size=(20_000, 1, 3))
    scores[:, 0, 2] = (2 * codes - 1) * rng.choice([1.0, -1.0], 20_000, p=[0.9, 0.1])
    trust = Trust(np.array([[1.0, 0.0, 0.5]]), np.zeros((1, 3, 3)))
    votes = np.zeros((20_000, 1))
    add_scores(scores, np.zeros(20_000, np.int64), codes, trust, 0.9999, 30.0, True, votes)
    assert np.abs(trust.beta[0, :2]).max() < 0.1
    assert trust.beta[0, 2] == pytest.approx(0.5 * np.log(9), abs=0.2)
