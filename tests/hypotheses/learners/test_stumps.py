"""How stumps are learnt: bins against their definition, each round against trying every cut, and the ends."""

from __future__ import annotations

import itertools
import math
import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import adaboost_weights
from ocboost._kernels.binning import edges_of
from ocboost._kernels.learn_stumps import search_dense
from ocboost.errors import InputError
from ocboost.hypotheses import Ballot, Hypotheses, Stumps
from ocboost.hypotheses.learners import BallLearner, StumpLearner
from ocboost.hypotheses.learners.bins import DenseBins, bins_of
from ocboost.hypotheses.learners.boosting import alpha_of, worth_of_one


def noisy(n, F, seed, *, missing=0.0, levels=None):
    """Features of which some matter, labels of which a fifth are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F))
    score = X[:, : max(1, F // 2)].sum(axis=1) + 0.3 * X[:, -1] ** 2
    y = np.where((score > 0) ^ (rng.random(n) < 0.2), 1, -1).astype(np.int8)
    if levels:
        X = np.round(X * levels) / levels
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


# Twins ------------------------------------------------------------------------------------------------


def plain_cuts(x):
    """Every cut of a feature: halfway between neighbouring distinct values, and above all of them."""
    values = sorted({v for v in x.tolist() if not math.isnan(v)})
    return [(a + b) / 2 for a, b in itertools.pairwise(values)] + [math.inf]


def plain_scores(X, signed):
    """By how much the best stump of each feature and cut is more right than wrong."""
    scores = {}
    for f in range(X.shape[1]):
        x, lost = X[:, f], np.isnan(X[:, f])
        for t in plain_cuts(x):
            low, high = ~lost & (x <= t), ~lost & (x > t)
            scores[f, t] = abs(signed[low].sum() - signed[high].sum()) + abs(signed[lost].sum())
    return scores


def plain_purity(rows, d, y):
    """Weight times (p₊² + p₋²) of some examples: what Gini impurity takes from their weight."""
    total = d[rows].sum()
    return sum(d[rows & (y == label)].sum() ** 2 for label in (-1, 1)) / total if total > 0.0 else 0.0


def plain_gini(X, d, y):
    """The purity of each feature, cut and side of the missing values, and the two sides."""
    splits = {}
    for f in range(X.shape[1]):
        x, lost = X[:, f], np.isnan(X[:, f])
        for t in plain_cuts(x):
            for to_left in (False, True) if lost.any() else (False,):
                low, high = (x <= t) | (lost & to_left), (x > t) | (lost & (not to_left))
                if low.any() and high.any():
                    splits[f, t, to_left] = plain_purity(low, d, y) + plain_purity(high, d, y), low, high
    return splits


def check_each_round_by_gini(stumps, X, y, weights=None):
    """Follow the stumps found, and see in every round that no cut leaves less impurity."""
    w = np.ones(len(y)) if weights is None else weights
    one = 1.0 / max(w.sum(), np.count_nonzero(w))
    d = w / w.sum()
    answers = stumps.answers(X)
    n_clear = 0
    for j in range(len(stumps)):
        splits = plain_gini(X, d, y)
        best = max(score for score, _, _ in splits.values())
        near = [key for key, (score, _, _) in splits.items() if score > best - 1e-9]
        fitting = []
        for key in near:
            _, low, high = splits[key]
            want = np.where(low, np.sign((d * y)[low].sum()), np.sign((d * y)[high].sum()))
            if (want[d > 0.0] == answers[d > 0.0, j]).all():
                fitting.append(key)
        assert fitting
        constant = len(set(answers[:, j].tolist())) == 1
        if len(near) == 1:
            (f, t, _) = near[0]
            assert stumps.feature[j] == f
            assert stumps.threshold[j] == (math.inf if constant else t)
            n_clear += 1
        right = answers[:, j] == y
        plus, minus = d[right].sum(), d[~right].sum()
        d = d * np.exp(-0.5 * math.log((plus + one) / (minus + one)) * np.where(right, 1.0, -1.0))
        d /= d.sum()
    return n_clear


def check_each_round(stumps, X, y, weights=None, exact=True):
    """Follow the stumps found, and see in every round that none would have been better."""
    w = np.ones(len(y)) if weights is None else weights
    one = 1.0 / max(w.sum(), np.count_nonzero(w))
    d = w / w.sum()
    answers = stumps.answers(X)
    for j in range(len(stumps)):
        scores = plain_scores(X, d * y)
        right = answers[:, j] == y
        got = d[right].sum() - d[~right].sum()
        best = max(scores.values())
        assert got == pytest.approx(best, abs=1e-12)
        if exact:
            assert (stumps.feature[j], stumps.threshold[j]) in scores
            assert scores[int(stumps.feature[j]), float(stumps.threshold[j])] == pytest.approx(
                best, abs=1e-12
            )
            first = min(k for k, s in scores.items() if s > best - 1e-13)
            unclear = [s for s in scores.values() if best - 1e-10 < s <= best - 1e-13]
            if not unclear:
                assert (int(stumps.feature[j]), float(stumps.threshold[j])) == first
        plus, minus = d[right].sum(), d[~right].sum()
        alpha = 0.5 * math.log((plus + one) / (minus + one))
        d = d * np.exp(-alpha * np.where(right, 1.0, -1.0))
        d /= d.sum()


# Bins -------------------------------------------------------------------------------------------------


def edges_in(values, most, zeros=0):
    room = np.full(255, np.inf)
    made = edges_of(np.sort(np.asarray(values)), zeros, most, room)
    assert np.isinf(room[made:]).all()
    return room[:made]


numbers = st.floats(allow_nan=False, width=64)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(numbers | st.sampled_from([0.0, 1.0, 2.0]), max_size=60), st.integers(2, 20), st.integers(0, 30)
)
def test_edges_part_neighbouring_values(values, most, zeros):
    edges = edges_in(np.array(values, float), most, zeros)
    everything = np.array(values + [0.0] * zeros)
    distinct = np.unique(everything)
    assert edges.size <= max(0, min(most, distinct.size) - 1)
    assert (np.diff(edges) > 0).all()
    where = np.searchsorted(edges, distinct)  # the bin of a value: edges below it
    assert np.array_equal(np.unique(where), np.arange(edges.size + 1) if distinct.size else [])  # none empty
    if distinct.size <= most:
        assert np.array_equal(where, np.arange(distinct.size))
    assert np.array_equal(edges, edges_in(everything, most))  # zeros counted are zeros given


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (0.0, 5e-324),
        (5e-324, 1e-323),
        (-1.7e308, 1.7e308),
        (1.7e308, np.inf),
        (-np.inf, -1.7e308),
        (-np.inf, np.inf),
        (np.float32(1.0), np.nextafter(np.float32(1.0), np.float32(2.0))),
    ],
)
def test_an_edge_parts_two_values_however_close_or_far(low, high):
    X = np.array([[low], [high]])
    stumps = StumpLearner().learn(X, np.array([1, -1]), n_hypotheses=3)
    assert low <= stumps.threshold[0] < high
    assert stumps.answers(X).T.tolist() == [[1, -1]]


def test_quantile_bins_hold_about_as_many_each():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=9000), np.zeros(3000), np.full(500, 7.0)])
    edges = edges_in(values, 50)
    assert edges.size == 49
    bins = np.searchsorted(edges, values)
    counts = np.bincount(bins)
    for heavy, count in ((0.0, 3000), (7.0, 500)):  # alone in their bins
        assert counts[np.searchsorted(edges, heavy)] == count
    rest = np.delete(counts, np.searchsorted(edges, [0.0, 7.0]))
    assert rest.max() <= 1.1 * 9000 / 48 + 1
    assert np.median(rest) == pytest.approx(9000 / 48, rel=0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bin_is_at_most_its_edge(dtype):
    X, _ = noisy(700, 3, 1, missing=0.1)
    X = X.astype(dtype)
    X[:5, 0] = [np.inf, -np.inf, 0.0, -0.0, 1e30]
    bins = DenseBins(X, 40, 1)
    for f in range(3):
        column = bins.column(f)
        for cut in range(bins.n_bins[f]):
            below = X[:, f] <= bins.threshold(f, cut)
            assert np.array_equal(below, (column <= cut) & ~np.isnan(X[:, f]))
        assert np.array_equal(column == 255, np.isnan(X[:, f]))


def test_sparse_bins_are_those_of_the_dense_matrix():
    X, _ = noisy(300, 20, 2, missing=0.05, levels=20)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    X[:, 3], X[:, 4], X[:, 5], X[:, 6] = 0.0, 2.0, np.nan, np.where(np.arange(300) % 3, np.nan, 0.0)
    given = sp.csr_matrix(X)
    given.data[np.flatnonzero(given.indices == 0)[:3]] = 0.0  # stored zeros
    dense, sparse = bins_of(given.toarray(), 12, 1), bins_of(given, 12, 1)
    assert np.array_equal(dense.feature, sparse.feature)
    assert not {3, 4, 5} & set(dense.feature.tolist())
    assert 6 in dense.feature
    assert np.array_equal(dense.n_bins, sparse.n_bins)
    assert np.array_equal(dense.missing, sparse.missing)
    for f in range(dense.feature.size):
        assert np.array_equal(dense.column(f), sparse.column(f))
        for cut in range(dense.n_bins[f]):
            assert dense.threshold(f, cut) == sparse.threshold(f, cut)


# Boosting ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "F", "missing", "levels"),
    [(60, 6, 0.0, None), (90, 5, 0.2, None), (120, 9, 0.1, 2), (2, 1, 0.0, None)],
)
def test_no_stump_would_have_been_better(n, F, missing, levels):
    X, y = noisy(n, F, n, missing=missing, levels=levels)
    stumps = StumpLearner().learn(X, y, n_hypotheses=75)  # sums are made anew at 32 and 64
    check_each_round(stumps, X, y)
    alpha = adaboost_weights(stumps.answers(X) * y[:, None])
    assert (alpha > 0).all()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("n", "F", "missing", "levels"),
    [(60, 6, 0.0, None), (90, 5, 0.2, None), (120, 9, 0.1, 2), (2, 1, 0.0, None)],
)
def test_no_cut_would_have_left_less_impurity(n, F, missing, levels, kind):
    X, y = noisy(n, F, n + 1, missing=missing, levels=levels)
    weights = None
    if levels:
        weights = np.random.default_rng(n).gamma(1.0, 2.0, n)
        weights[::7] = 0.0
    learner = StumpLearner(criterion="gini")
    stumps = learner.learn(kind(X), y, n_hypotheses=70, sample_weight=weights)
    clear = check_each_round_by_gini(stumps, X, y, weights)
    assert clear > (30 if n > 2 else 0)


def test_by_gini_both_sides_can_answer_the_same():
    x = np.arange(20.0)[:, None]
    y = np.where((x[:, 0] < 10) | (x[:, 0] % 5 > 0), 1, -1)  # pure below, more right than wrong above
    stumps = StumpLearner(criterion="gini").learn(x, y, n_hypotheses=8)
    assert (stumps.threshold[0], stumps.left[0], stumps.missing[0]) == (np.inf, 1, 1)
    assert stumps.answers(np.array([[3.0], [np.nan], [99.0]]))[:, 0].tolist() == [1, 1, 1]
    assert len(stumps) == 8
    check_each_round_by_gini(stumps, x, y)
    constant = np.isinf(stumps.threshold)
    assert not (constant[1:] & constant[:-1]).any()  # each balances the classes: the next one is none


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_by_gini_what_is_missing_goes_where_it_belongs(side):
    x = np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0, np.nan, np.nan]) * side
    y = np.array([1, 1, 1, -1, -1, -1, 1, 1])
    stumps = StumpLearner(criterion="gini").learn(x[:, None], y, n_hypotheses=1)
    assert stumps.threshold.tolist() == [5.0 * side]
    assert stumps.missing.tolist() == [1]
    assert stumps.answers(x[:, None])[:, 0].tolist() == y.tolist()


def test_by_gini_the_first_stump_is_that_of_a_tree():
    from sklearn.tree import DecisionTreeClassifier

    for seed in range(20):
        X, y = noisy(150, 6, seed, missing=0.1)
        tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
        stumps = StumpLearner(criterion="gini").learn(X, y, n_hypotheses=1)
        assert stumps.answers(X)[:, 0].tolist() == tree.predict(X).tolist()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_weights_that_differ_are_heard(kind):
    X, y = noisy(80, 5, 3, levels=3)
    weights = np.random.default_rng(3).gamma(1.0, 2.0, 80)
    weights[::7] = 0.0
    given = X if kind == "dense" else sp.csr_matrix(X)
    stumps = StumpLearner().learn(given, y, n_hypotheses=40, sample_weight=weights)
    check_each_round(stumps, X, y, weights)


def test_weights_are_repetitions():
    X, y = noisy(60, 4, 4, levels=4)
    times = np.random.default_rng(4).integers(1, 4, 60)
    weighted = StumpLearner().learn(X, y, n_hypotheses=30, sample_weight=times)
    repeated = StumpLearner().learn(np.repeat(X, times, axis=0), np.repeat(y, times), n_hypotheses=30)
    assert np.array_equal(weighted.threshold, repeated.threshold)
    assert np.array_equal(weighted.feature, repeated.feature)


@pytest.mark.parametrize("criterion", ["error", "gini"])
def test_ties_do_not_hang_on_rounding(criterion):
    X, y = noisy(24, 40, 5, missing=0.05, levels=2)  # many cuts part the rows alike, or as well
    X[np.random.default_rng(5).random(X.shape) < 0.4] = 0.0
    learner, order = StumpLearner(criterion=criterion), np.random.default_rng(6).permutation(24)
    times = np.full(24, 3.0)
    stumps = learner.learn(X, y, n_hypotheses=40, sample_weight=times)
    assert len(stumps) == 40
    thrice = np.tile(X, (3, 1)), np.tile(y, 3), None
    for rows, labels, weights in ((X[order], y[order], times), (sp.csr_matrix(X), y, times), thrice):
        others = learner.learn(rows, labels, n_hypotheses=40, sample_weight=weights)
        for name in ("feature", "threshold", "left", "missing"):
            assert np.array_equal(getattr(stumps, name), getattr(others, name))
    if criterion == "error":
        check_each_round(stumps, X, y, times)
    else:
        check_each_round_by_gini(stumps, X, y, times)


def test_words_that_are_there_or_not():
    X, y = noisy(101, 12, 17)
    X = np.where(X > 0.4, np.where(np.arange(12) % 3, 1.0, -1.0), 0.0)  # what is stored lies above or below
    given = sp.csr_matrix(X)
    given.data[:9] = 0.0
    stumps = StumpLearner().learn(given, y, n_hypotheses=40)
    assert len(stumps) == 40
    check_each_round(stumps, given.toarray(), y)


@pytest.mark.parametrize("criterion", ["error", "gini"])
def test_carried_sums_choose_what_fresh_sums_choose(criterion, monkeypatch):
    X, y = noisy(400, 30, 6)
    carried = StumpLearner(64, criterion).learn(X, y, n_hypotheses=150)
    monkeypatch.setattr(DenseBins, "refresh", 1)
    fresh = StumpLearner(64, criterion).learn(X, y, n_hypotheses=150)
    assert len(carried) == 150
    for name in ("feature", "threshold", "left", "missing"):
        assert np.array_equal(getattr(carried, name), getattr(fresh, name))


@pytest.mark.parametrize("criterion", ["error", "gini"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_change_nothing(kind, criterion, monkeypatch):
    monkeypatch.setattr("ocboost.hypotheses.learners.bins.MIN_ENTRIES_FOR_THREADS", 1)
    X, y = noisy(300, 23, 7, missing=0.1, levels=5)
    X = np.hstack([X, X[:, ::-1], -X])  # many ties
    given = X if kind == "dense" else sp.csr_matrix(X)
    learners = (StumpLearner(criterion=criterion, n_threads=t) for t in (1, 2, 3, 7))
    alone, *others = (learner.learn(given, y, n_hypotheses=60) for learner in learners)
    for other in others:
        for name in ("feature", "threshold", "left", "missing"):
            assert np.array_equal(getattr(alone, name), getattr(other, name))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(
    "values", [[0.3, -0.3, 0.1, 0.2, -0.6], [0.3, -0.1, -0.5, 0.1, 0.1, 0.1], [0.3, -0.6, 0.3]]
)
def test_the_first_of_equal_cuts_is_taken_whatever_is_rounded(values, sign):
    signed = sign * np.array(values)
    n, score, cut = len(values), np.empty(1), np.empty(1, np.int64)
    bins, rows = np.arange(n, dtype=np.uint8)[None], np.arange(n, dtype=np.uint32)
    search_dense(
        bins, np.array([n]), np.array([False]), np.zeros((1, 256)), 0.0, rows, signed, 0, 1, score, cut
    )
    assert cut.tolist() == [0]
    assert score[0] == pytest.approx(abs(2.0 * signed[0] - signed.sum()))


@pytest.mark.parametrize("criterion", ["error", "gini"])
def test_of_equal_stumps_the_first_is_taken(criterion):
    X, y = noisy(50, 2, 8)
    learner = StumpLearner(criterion=criterion)
    stumps = learner.learn(np.hstack([X, X, X]), y, n_hypotheses=40)
    assert set(stumps.feature.tolist()) <= {0, 1}
    tied = np.array([[1.0], [2.0], [3.0], [4.0]])  # cuts at 1.5 and at 3.5 are as good
    assert learner.learn(tied, np.array([1, -1, -1, 1]), n_hypotheses=1).threshold.tolist() == [1.5]


@pytest.mark.parametrize("criterion", ["error", "gini"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_feature_with_a_perfect_stump_is_left_aside(kind, criterion):
    X, _ = noisy(40, 4, 9)
    X[:, 3] = 2.0 * X[:, 1]
    y = np.where(X[:, 1] > 0.3, -1, 1)
    learner = StumpLearner(criterion=criterion)
    stumps = learner.learn(kind(X), y, n_hypotheses=100)
    assert len(stumps) == 100
    assert stumps.feature[:2].tolist() == [1, 3]
    assert stumps.answers(X)[:, :2].T.tolist() == [y.tolist()] * 2
    assert set(stumps.feature[2:].tolist()) == {0, 2}
    rest = learner.learn(X[:, [0, 2]], y, n_hypotheses=98)  # the weights are as they were
    assert np.array_equal(stumps.threshold[2:], rest.threshold)
    assert np.array_equal(stumps.left[2:], rest.left)


@pytest.mark.parametrize("criterion", ["error", "gini"])
def test_after_perfect_stumps_it_ends_where_nothing_is_left(criterion):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    X = np.column_stack([x, [0.0, 1.0, 0.0, 1.0], -x, np.ones(4)])
    learner = StumpLearner(criterion=criterion)
    stumps = learner.learn(X, np.array([1, 1, -1, -1]), n_hypotheses=10)
    assert stumps.feature.tolist() == [0, 2]
    only = learner.learn(X, np.array([1, 1, 1, 1]), n_hypotheses=10)  # one class: one stump says it all
    assert only.answers(X).T.tolist() == [[1] * 4]
    unweighted = learner.learn(
        X, np.array([1, 1, 1, -1]), n_hypotheses=10, sample_weight=np.array([1.0, 1.0, 1.0, 0.0])
    )
    assert len(unweighted) == 1


def test_what_is_missing_can_be_the_answer():
    X = np.array([[np.nan], [1.0], [np.nan], [1.0]])
    several = np.array([[np.nan], [1.0], [np.nan], [2.0], [3.0]])
    for criterion in ("error", "gini"):
        for rows, y in ((X, [1, -1, 1, -1]), (several, [1, -1, 1, -1, -1])):
            stumps = StumpLearner(criterion=criterion).learn(rows, np.array(y), n_hypotheses=5)
            assert stumps.answers(rows).T.tolist() == [y]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_features_that_say_nothing_give_one_constant_stump(kind):
    X = np.full((5, 3), 2.0)
    X[:, 1] = np.nan
    stumps = StumpLearner().learn(kind(X), np.array([1, -1, -1, 1, -1]), n_hypotheses=9)
    assert stumps.answers(X).T.tolist() == [[-1] * 5]


def test_without_an_edge_it_stops():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert len(StumpLearner().learn(X, np.array([1, -1, -1, 1]), n_hypotheses=50)) == 1
    rng = np.random.default_rng(10)  # one feature of two values: nothing is left to find soon
    x = rng.integers(0, 2, (200, 1)).astype(float)
    y = np.where((x[:, 0] > 0) ^ (rng.random(200) < 0.3), 1, -1)
    assert len(StumpLearner().learn(x, y, n_hypotheses=500)) < 20


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e300])
def test_the_scale_of_weights_does_no_harm(scale):
    X, y = noisy(100, 5, 11)
    stumps = StumpLearner().learn(X, y, n_hypotheses=50, sample_weight=np.full(100, scale))
    assert len(stumps) == 50
    assert len(set(zip(stumps.feature.tolist(), stumps.threshold.tolist(), strict=True))) > 20


def test_weights_stay_sane_over_many_rounds():
    X, y = noisy(60, 40, 12)
    stumps = StumpLearner().learn(X, y, n_hypotheses=3000)
    alpha = adaboost_weights(stumps.answers(X) * y[:, None])
    assert len(stumps) == 3000
    assert np.isfinite(alpha).all()
    assert (alpha > 0).all()
    assert np.array_equal(np.sign(stumps.votes(X, [Ballot.of(alpha)])[:, 0]), y)


def test_the_worth_of_one_example():
    assert worth_of_one(np.ones(4)) == 0.25
    assert worth_of_one(np.full(4, 0.25)) == 0.25
    assert worth_of_one(np.array([2.0, 0.0, 6.0])) == 0.125
    margins = np.array([[1], [1], [1], [-1]])
    assert alpha_of(0.75, 0.25, 0.25) == pytest.approx(adaboost_weights(margins)[0])


# Several targets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_targets_together_are_as_one_by_one(n_jobs):
    X, y = noisy(120, 6, 13)
    targets = [y, -y, np.where(X[:, 0] > X[:, 1], 1, -1)]
    learner = StumpLearner(max_bins=20)
    found = learner.learn_each(X, targets, n_hypotheses=15, n_jobs=n_jobs)
    for target, stumps in zip(targets, found, strict=True):
        alone = learner.learn(X, target, n_hypotheses=15)
        assert np.array_equal(stumps.threshold, alone.threshold)
        assert np.array_equal(stumps.left, alone.left)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_learner_can_take_several_targets(n_jobs):
    X, y = noisy(60, 3, 14)
    found = BallLearner(20).learn_each(
        X, [y, -y], n_hypotheses=3, rng=np.random.default_rng(1), n_jobs=n_jobs
    )
    own = np.random.default_rng(1).spawn(2)
    for target, generator, balls in zip([y, -y], own, found, strict=True):
        assert isinstance(balls, Hypotheses)
        assert np.array_equal(
            balls.theta, BallLearner(20).learn(X, target, n_hypotheses=3, rng=generator).theta
        )


# From outside -----------------------------------------------------------------------------------------


def test_ctrl_c_is_heard():
    X, y = noisy(2000, 50, 15)
    StumpLearner().learn(X[:50], y[:50], n_hypotheses=2)  # compiled before the clock starts
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        StumpLearner().learn(X, y, n_hypotheses=10**8)
    timer.join()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"X": np.zeros((0, 2))}, r"at least one example and one feature; got shape \(0, 2\)"),
        ({"X": np.zeros(3)}, r"got shape \(3,\)"),
        ({"X": [["a"], ["b"], ["c"]]}, "X must be a matrix of numbers"),
        ({"y": np.array([0, 1, 1])}, r"y must be -1 and \+1; got .*np.where"),
        ({"y": np.array([1, -1])}, r"one label for each of the 3 examples"),
        ({"n_hypotheses": 0}, "n_hypotheses must be a whole number of at least 1"),
        ({"sample_weight": np.zeros(3)}, "sample_weight must have a finite sum above zero; got 0.0"),
        ({"sample_weight": np.array([1.0, np.nan, 1.0])}, "sample_weight must be finite"),
    ],
)
def test_what_makes_no_sense_is_refused(change, text):
    given = {"X": np.eye(3), "y": np.array([1, -1, 1]), "n_hypotheses": 2, "sample_weight": None} | change
    with pytest.raises(InputError, match=text):
        StumpLearner().learn(**given)


@pytest.mark.parametrize(("name", "value"), [("max_bins", 256), ("max_bins", 1), ("n_threads", 0)])
def test_parameters_are_checked(name, value):
    with pytest.raises(InputError, match=f"{name} must be a whole number from .* got {value}"):
        StumpLearner(**{name: value})


def test_the_criterion_is_one_of_two():
    with pytest.raises(InputError, match=r"criterion must be 'error' or 'gini'; got 'entropy'\. 'gini' cuts"):
        StumpLearner(criterion="entropy")


def test_what_is_found_are_stumps_over_all_features():
    X, y = noisy(50, 7, 16)
    stumps = StumpLearner().learn(X.astype(np.float32), y, n_hypotheses=4)
    assert isinstance(stumps, Stumps)
    assert stumps.n_features == 7
    assert repr(StumpLearner(9)) == "StumpLearner(max_bins=9, criterion='error', n_threads=None)"
