"""A fit over shards is the fit of one machine: the same stumps, the same weights, a sketch that goes on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import OCBClassifier, adaboost_weights, approximation_error
from ocboost.learners import StumpLearner
from tests.support.shards import fit_over_shards, plan_of, some_rows, some_shards


def assert_same_stumps(found, expected):
    assert found.feature.tolist() == expected.feature.tolist()
    assert found.threshold.tolist() == expected.threshold.tolist()
    assert found.left.tolist() == expected.left.tolist()
    assert found.missing.tolist() == expected.missing.tolist()


def compare(X, y, weights, shards, *, learner=None, n_threads=1, **how):
    """Fit both ways, and compare the stumps, the weights and the weights of the sketches."""
    learner = learner or StumpLearner()
    plan = plan_of(
        X, y, weights, gini=learner.criterion == "gini", edges=learner.edges, most=learner.max_bins, **how
    )
    stumps, alphas, sketches = fit_over_shards(X, y, weights, shards, plan, n_threads=n_threads)
    how.pop("balanced", None)
    clf = OCBClassifier(learner, class_weight="balanced" if plan.balanced else None, **how).fit(X, y, weights)
    sets = [clf.hypotheses_[c] for c in clf.committee_.columns]
    for found, expected, alpha, own, sketch in zip(stumps, sets, alphas, clf.alpha_, sketches, strict=True):
        assert_same_stumps(found, expected)
        assert np.abs(alpha - own).max() < 1e-10
        assert np.abs(sketch.alpha - own).max() < 1e-10
        assert sketch.n_seen == np.count_nonzero(weights if weights is not None else np.ones(len(y)))
    return clf, sketches


@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 10_000),
    st.booleans(),
    st.sampled_from(["error", "gini"]),
    st.integers(2, 3),
)
@settings(max_examples=25, deadline=None)
def test_any_partitioning(n_shards, n_chunks, seed, weighted, criterion, n_classes):
    X, y = some_rows(200, seed, n_classes=n_classes)
    weights = np.random.default_rng(seed).integers(0, 4, len(y)) * 0.7 if weighted else None
    shards = some_shards(len(y), n_shards, n_chunks, seed)
    compare(X, y, weights, shards, learner=StumpLearner(criterion=criterion), n_hypotheses=20)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_many_stumps_and_a_folded_sketch(n_threads, monkeypatch):
    monkeypatch.setattr("ocboost._shards.stumps.MIN_ENTRIES_FOR_THREADS", 1)
    X, y = some_rows(6000, 1)
    weights = np.random.default_rng(1).random(len(y)) * 3
    shards = some_shards(len(y), 3, 2, 5)
    clf, (sketch,) = compare(X, y, weights, shards, n_hypotheses=200, memory=60_000, n_threads=n_threads)
    assert sketch._store.state.folds == 1
    assert len(clf.hypotheses_) == 200


@pytest.mark.parametrize("scale", [1e-6, 1e4])
def test_weights_of_any_scale(scale):
    X, y = some_rows(400, 2)
    weights = np.random.default_rng(2).random(len(y)) * scale
    compare(X, y, weights, some_shards(len(y), 2, 2, 0), n_hypotheses=20)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_balanced_classes(n_classes):
    X, y = some_rows(500, 3, n_classes=n_classes)
    keep = (y > 0) | (np.arange(len(y)) % 5 == 0)
    compare(X[keep], y[keep], None, some_shards(keep.sum(), 2, 1, 0), n_hypotheses=15, balanced=True)


@pytest.mark.parametrize("max_bins", [2, 5, 255])
def test_fewer_bins_than_values(max_bins):
    X, y = some_rows(500, 4, values=40)
    learner = StumpLearner(max_bins=max_bins)
    compare(X, y, None, some_shards(len(y), 2, 2, 1), learner=learner, n_hypotheses=25)


def test_edges_that_are_given():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=2000) > 1).astype(int)
    edges = [np.sort(rng.normal(size=k)) for k in (254, 3, 0, 40)]
    compare(X, y, None, some_shards(len(y), 3, 1, 0), learner=StumpLearner(edges=edges), n_hypotheses=40)


def test_a_perfect_stump_and_nothing_to_tell_apart():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]])
    compare(X, np.array([0, 0, 1, 1]), None, [[np.arange(2)], [np.arange(2, 4)]], n_hypotheses=4)
    constant = np.full((4, 2), 7.0)
    compare(constant, np.array([0, 0, 0, 1]), None, [[np.arange(2)], [np.arange(2, 4)]], n_hypotheses=4)


def test_a_shard_without_rows():
    X, y = some_rows(300, 6)
    compare(X, y, None, [[np.arange(300)], [], []], n_hypotheses=20)


def test_it_goes_on_as_close_to_adaboost_as_one_machine_does():
    X, y = some_rows(12_000, 7)
    first, later = slice(0, 6000), slice(6000, None)
    plan = plan_of(X[first], y[first], n_hypotheses=60, memory=20_000)
    _, _, (sketch,) = fit_over_shards(X[first], y[first], None, some_shards(6000, 4, 1, 3), plan)
    clf = OCBClassifier(n_hypotheses=60, memory=20_000).fit(X[first], y[first])
    margins = clf.hypotheses_.answers(X) * np.where(y == 1, 1, -1)[:, None]
    local = clf.boosters_[0].copy()
    for each in (sketch, local):
        each.update_many(margins[later])
    exact = adaboost_weights(margins)
    assert approximation_error(exact, sketch.alpha) < 2 * approximation_error(exact, local.alpha) + 1e-3


def test_pair_sums_are_those_of_all_light_rows():
    """What the sketch knows of pairs, sample and difference together, is exact at the α of the fit."""
    X, y = some_rows(5000, 8)
    plan = plan_of(X, y, n_hypotheses=24, memory=30_000)
    stumps, (alpha,), (sketch,) = fit_over_shards(X, y, None, some_shards(5000, 3, 2, 1), plan)
    state, J = sketch._store.state, 24
    margins = stumps[0].answers(X) * np.where(y == 1, 1, -1)[:, None]
    d = np.exp(-np.cumsum(np.c_[np.zeros(len(y)), alpha * margins], axis=1))[:, :J]
    exact_rows = sketch.head_margins[state.n_light :]
    heavy = np.exp(-np.cumsum(np.c_[np.zeros(len(exact_rows)), alpha * exact_rows], axis=1))[:, :J]
    sample_rows, n = sketch.head_margins[: state.n_light], state.n_light
    sample = (
        state.head.weight[:n, None]
        * np.exp(-np.cumsum(np.c_[np.zeros(n), alpha * sample_rows], axis=1))[:, :J]
    )
    delta = state.light.delta[0].view(np.float16).astype(float)
    for sign, σ in enumerate((1, -1)):
        for j in range(1, J):
            is_j, of_heavy, of_sample = margins[:, j] == σ, exact_rows[:, j] == σ, sample_rows[:, j] == σ
            light = d[is_j, j].sum() - heavy[of_heavy, j].sum()
            assert light == pytest.approx(state.light.L[0, sign, j], rel=1e-9)
            for k in range(j):
                both = d[is_j & (margins[:, k] == σ), j].sum()
                both -= heavy[of_heavy & (exact_rows[:, k] == σ), j].sum()
                p = sample[of_sample & (sample_rows[:, k] == σ), j].sum() / sample[of_sample, j].sum()
                assert p + delta[sign, j * (j - 1) // 2 + k] == pytest.approx(both / light, abs=6e-4)
