"""How stumps are learnt: bins against their definition, each round against trying every cut, and the ends."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from ocboost import adaboost_weights
from ocboost._kernels.learn_stumps import search_dense
from ocboost.errors import InputError
from ocboost.hypotheses import Ballot, Hypotheses, Stumps
from ocboost.learners import BallLearner, StumpLearner
from ocboost.learners.bins import DenseBins
from ocboost.learners.boosting import alpha_of, worth_of_one
from tests.naive.stumps import check_each_round, check_each_round_by_gini
from tests.support.noisy_features import noisy

numbers = st.floats(allow_nan=False, width=64)


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
    monkeypatch.setattr("ocboost.learners.bins.MIN_ENTRIES_FOR_THREADS", 1)
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
