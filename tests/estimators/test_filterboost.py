"""FilterBoost against the paper's loops, one example at a time, and streams of all sorts."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state, estimator_checks

from ocboost import InputError, OCBClassifier
from ocboost._core.storage import to_bytes
from ocboost.estimators.binary_filterboost import MAX_FAILED_TESTS, BinaryFilterBoost, EdgeTest, Voters
from ocboost.estimators.filterboost import draw_places
from ocboost.estimators.filterboost_file import filterboost_tree
from ocboost.hypotheses import Stumps
from ocboost.hypotheses.learners import BallLearner, Learner, StumpLearner
from ocboost.lineage import FilterBoost
from ocboost.streams import ArrayStream, Batch
from ocboost.streams.rows import Rows


def noisy(n, seed=0, noise=0.5, F=3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, F)), 2)
    return X, np.where(X[:, 0] + 0.7 * X[:, 1] + noise * rng.normal(size=n) > 0, 1, -1)


def separable(n, seed=0, flipped=0.0):
    """One threshold tells the classes apart, but for a share of the labels."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 1)), 1)
    return X, np.where((X[:, 0] > 0) != (rng.random(n) < flipped), 1, -1)


def base_of(random_state):
    return int(check_random_state(random_state).randint(1 << 31))


def state_of(clf):
    """All there is to a FilterBoost, as bytes."""
    return to_bytes("x", filterboost_tree(clf))


class TheEndError(Exception):
    """Of boosting, or of the stream."""


def plain_filterboost(X, y, learner, seed, T, *, epsilon=0.05, delta=0.05, tau=0.5, sample=500, most=100_000):
    """The paper's Filter, getEdge and FilterBoost, with our two departures; y is ±1."""
    y = np.asarray(y, dtype=np.int8)
    luck = np.random.default_rng([*seed, 0])
    oracle = iter(range(len(y)))
    found, alphas, counts = [], [], {"seen": 0, "accepted": 0}
    state = {}

    def score(i):
        total = 0.0
        for h, alpha in zip(found, alphas, strict=True):
            total += alpha * int(h.answers(X[i : i + 1])[0, 0])
        return total

    def call_filter():
        state["r"] += 1
        delta_r = state["delta_t"] / (state["r"] * (state["r"] + 1))
        i = 0
        while i < 2 / epsilon * math.log(1 / delta_r):
            row = next(oracle, None)
            if row is None:
                raise TheEndError("stream")
            counts["seen"] += 1
            i += 1
            if luck.random() < 1 / (1 + math.exp(y[row] * score(row))):
                counts["accepted"] += 1
                return row
        raise TheEndError("filter")

    def get_edge(h):
        m = n = 0
        u, rho = 0.0, math.inf
        while abs(u) < rho * (1 + 1 / tau):
            if n == most:
                return None
            row = call_filter()
            n += 1
            m += h.answers(X[row : row + 1])[0, 0] == y[row]
            u = m / n - 0.5
            rho = math.sqrt(math.log(n * (n + 1) / state["delta_t"]) / (2 * n))
        return u / (1 + tau)

    failed = 0
    try:
        for t in itertools.count(1):
            if len(found) == T:
                raise TheEndError("enough")
            state.update(r=0, delta_t=delta / (3 * t * (t + 1)))
            rows = []
            while len(rows) < sample:
                row = call_filter()
                if len(rows) < sample // 2 or {int(y[i]) for i in [*rows, row]} == {-1, 1}:
                    rows.append(row)
            rng = np.random.default_rng([*seed, 1, t])
            h = learner.learn(X[rows], y[rows], n_hypotheses=1, rng=rng)
            edge = get_edge(h)
            failed = failed + 1 if edge is None else 0
            if edge is not None:
                found.append(h)
                alphas.append(0.5 * math.log((0.5 + edge) / (0.5 - edge)))
            elif failed == MAX_FAILED_TESTS:
                raise TheEndError("zero")
    except TheEndError as end:
        return found, alphas, counts, str(end)


REASONS = {
    "stream": None,
    "filter": "the filter let no",
    "enough": "n_hypotheses",
    "zero": "the edge could not",
}


class TestAgainstThePaper:
    @pytest.mark.parametrize(
        ("estimator", "given", "examples", "least", "end"),
        [
            (None, {}, noisy(12_000), 1, "stream"),
            (None, {"n_hypotheses": 3, "sample": 50, "tau": 1.0}, noisy(12_000), 3, "enough"),
            (None, {"sample": 20, "epsilon": 0.5, "tau": 1.0, "delta": 1.0}, separable(3_000), 3, "filter"),
            (None, {"sample": 30, "most_examples": 300, "tau": 1.0}, noisy(4_000, noise=1e9), 0, "zero"),
            (None, {"sample": 30, "most_examples": 700, "tau": 1.0, "delta": 1.0}, noisy(12_000), 2, "zero"),
            (BallLearner(n_sample=60), {"sample": 60, "tau": 1.0}, noisy(4_000), 1, "stream"),
            (DecisionTreeClassifier(max_depth=2), {"sample": 80, "tau": 1.0}, noisy(3_000), 1, "stream"),
        ],
    )
    def test_is_the_plain_loop(self, estimator, given, examples, least, end):
        X, y = examples
        clf = FilterBoost(estimator, **given, random_state=7).partial_fit(X, y)
        plain = dict(given)
        if "most_examples" in plain:
            plain["most"] = plain.pop("most_examples")
        T = plain.pop("n_hypotheses", 100)
        found, alphas, counts, ended = plain_filterboost(X, y, clf.learner(), (base_of(7), 0), T, **plain)
        assert ended == end
        assert len(found) >= least
        np.testing.assert_array_equal(clf.alpha_[0], alphas)
        if least:
            np.testing.assert_array_equal(
                clf.hypotheses_[0].answers(X), np.concatenate([h.answers(X) for h in found], axis=1)
            )
        assert (clf.n_seen_, clf.n_accepted_) == (counts["seen"], [counts["accepted"]])
        assert (clf.stopped_ or "").startswith(REASONS[ended] or "")
        assert (clf.stopped_ is None) == (ended == "stream")

    def test_the_stumps_are_the_same_too(self):
        X, y = noisy(12_000)
        clf = FilterBoost(random_state=7).partial_fit(X, y)
        found, *_ = plain_filterboost(X, y, StumpLearner(), (base_of(7), 0), 100)
        for name in ("feature", "threshold", "left", "missing"):
            expected = np.concatenate([getattr(h, name) for h in found])
            np.testing.assert_array_equal(getattr(clf.hypotheses_[0], name), expected)

    def test_alpha_comes_from_the_edge(self):
        X, y = noisy(12_000)
        clf = FilterBoost(random_state=0).partial_fit(X, y)
        edges = clf.edges_[0]
        np.testing.assert_allclose(clf.alpha_[0], 0.5 * np.log((0.5 + edges) / (0.5 - edges)), rtol=1e-15)
        expected = clf.hypotheses_[0].answers(X) @ clf.alpha_[0]
        np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-12)
        np.testing.assert_array_equal(clf.predict(X), np.where(expected > 0, 1, -1))

    def test_each_class_filters_for_itself(self):
        X, y = noisy(9_000)
        three = np.digitize(X[:, 0] + 0.3 * y, [-0.5, 0.5])
        clf = FilterBoost(sample=100, random_state=3).partial_fit(X, three)
        for k in range(3):
            labels = np.where(three == k, 1, -1).astype(np.int8)
            _, alphas, counts, _ = plain_filterboost(
                X, labels, StumpLearner(), (base_of(3), k), 100, sample=100
            )
            np.testing.assert_array_equal(clf.alpha_[k], alphas)
            assert clf.n_accepted_[k] == counts["accepted"]
        assert len({len(alpha) for alpha in clf.alpha_} | set(clf.n_accepted_)) > 1
        assert clf.decision_function(X).shape == (9_000, 3)
        np.testing.assert_array_equal(clf.predict(X), clf.decision_function(X).argmax(axis=1))

    @pytest.mark.parametrize("weighted", [False, True])
    def test_fit_is_a_stream_of_drawn_rows(self, weighted):
        X, y = noisy(300)
        weights = np.random.default_rng(0).uniform(0.1, 5.0, 300) if weighted else np.ones(300)
        clf = FilterBoost(n_hypotheses=6, random_state=1).fit(X, y, weights if weighted else None)
        rng = np.random.default_rng([base_of(1), 0, 2])
        reach = np.cumsum(weights)
        rows = np.searchsorted(reach, rng.random(clf.n_seen_ + 500) * reach[-1], side="right")
        other = FilterBoost(n_hypotheses=6, random_state=1).partial_fit(X[rows], y[rows])
        np.testing.assert_array_equal(clf.edges_[0], other.edges_[0])
        np.testing.assert_array_equal(clf.decision_function(X), other.decision_function(X))
        assert clf.n_seen_ == other.n_seen_
        assert clf.stopped_ == other.stopped_ == "n_hypotheses reached: there are 6"


def cut(clf, X, y, sizes, classes):
    at = 0
    for size in [*sizes, len(y)]:
        if at < len(y):
            clf.partial_fit(X[at : at + size], y[at : at + size], classes)
        at += size
    return clf


class TestCutting:
    """How a stream comes in calls must not matter, not in a single bit of the state."""

    @staticmethod
    @functools.cache
    def whole(case, seed):
        n = 2_000
        X, y = noisy(n, seed=seed)
        given = {"sample": 50, "tau": 1.0, "random_state": seed}
        if case == "three":
            y = np.digitize(X[:, 0], [-0.5, 0.5])
        if case == "sparse":
            X = csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X))
        if case == "ends":
            X, y = separable(n, seed=seed)
            given.update(sample=20, epsilon=0.9, delta=1.0)
        if case == "drops":
            y = np.where(np.random.default_rng(seed).random(n) < 0.5, 1, -1)
            given.update(most_examples=60, sample=20)
        if case == "late":  # one class, then the other, of which the filter finds few
            y = np.where((np.arange(n) > 500) & (np.arange(n) % 300 == 0), 1, -1)
            given.update(most_examples=60, sample=20)
        clf = FilterBoost(**given).partial_fit(X, y)
        assert (clf.stopped_ is not None) == (case in ("ends", "drops", "late"))
        return X, y, given, state_of(clf)

    @settings(max_examples=30)
    @given(
        st.lists(st.integers(1, 500), max_size=10),
        st.integers(0, 3),
        st.sampled_from(["two", "three", "sparse", "ends", "drops", "late"]),
    )
    def test_any_cut(self, sizes, seed, case):
        X, y, given, state = self.whole(case, seed)
        assert state_of(cut(FilterBoost(**given), X, y, sizes, np.unique(y))) == state

    @pytest.mark.parametrize("epsilon", [0.05, 0.9])
    def test_row_by_row(self, epsilon):
        X, y = separable(1_500)
        given = {"sample": 20, "tau": 1.0, "delta": 1.0, "random_state": 1, "epsilon": epsilon}
        whole = FilterBoost(**given).partial_fit(X, y)
        rows = cut(FilterBoost(**given), X, y, [1] * 1_500, [-1, 1])
        assert len(whole.alpha_[0]) > 2
        assert (whole.stopped_ is None) == (epsilon < 0.1)
        assert state_of(rows) == state_of(whole)

    def test_a_long_call_is_taken_in_pieces(self):
        X, y = noisy(40_000)
        whole = FilterBoost(sample=100, random_state=0).partial_fit(X, y)
        assert state_of(cut(FilterBoost(sample=100, random_state=0), X, y, [9_999], None)) == state_of(whole)
        assert whole.n_seen_ == 40_000

    def test_a_stream_is_a_loop_of_partial_fit(self):
        X, y = noisy(3_000)
        given = {"sample": 50, "random_state": 2}
        pairs = [(X[i : i + 70], y[i : i + 70]) for i in range(0, 3_000, 70)]
        streamed = FilterBoost(**given).fit_stream(pairs)
        assert streamed.stopped_ == "the stream ended after 3,000 examples"
        looped = FilterBoost(**given).partial_fit(X, y)
        assert looped.stopped_ is None
        looped._ended = streamed._ended
        assert state_of(streamed) == state_of(looped)


class TestWhatItLearns:
    @pytest.mark.parametrize("once", [True, False])
    def test_within_noise_of_adaboost(self, once):
        """The same learner and as many hypotheses: 300,000 rows seen once, or 5,000 drawn again and again."""
        fresh, truth = noisy(10_000, seed=99, F=6)
        ours, theirs = [], []
        for seed in range(3):
            X, y = noisy(300_000 if once else 5_000, seed=seed, F=6)
            clf = FilterBoost(n_hypotheses=20, random_state=seed)
            clf = clf.fit_stream([(X, y)]) if once else clf.fit(X, y)
            J = len(clf.alpha_[0])
            assert J > 10
            ours.append(clf.score(fresh, truth))
            theirs.append(OCBClassifier(n_hypotheses=J).fit(X[:20_000], y[:20_000]).score(fresh, truth))
        assert np.mean(ours) > np.mean(theirs) - 0.03

    def test_within_noise_of_adaboost_on_breast_cancer(self):
        X, y = load_breast_cancer(return_X_y=True)
        ours, theirs = [], []
        for seed in range(5):
            test = np.random.default_rng(seed).random(len(y)) < 0.4
            clf = FilterBoost(n_hypotheses=25, epsilon=0.005, random_state=seed).fit(X[~test], y[~test])
            ada = AdaBoostClassifier(n_estimators=len(clf.alpha_[0]), random_state=0).fit(X[~test], y[~test])
            ours.append(clf.score(X[test], y[test]))
            theirs.append(ada.score(X[test], y[test]))
        assert np.mean(ours) > np.mean(theirs) - 0.02
        assert np.mean(ours) > 0.93

    def test_probabilities_are_on_the_scale_of_log_odds(self):
        """Two cells with known odds: F must come to the log-odds, not to half or twice of them."""
        X = np.array([[0.0], [0.0], [1.0], [1.0]])
        clf = FilterBoost(n_hypotheses=30, sample=2_000, random_state=0)
        clf.fit(X, [0, 1, 0, 1], sample_weight=[0.9, 0.1, 0.2, 0.8])
        cells = np.array([[0.0], [1.0]])
        np.testing.assert_allclose(clf.predict_proba(cells)[:, 1], [0.1, 0.8], atol=0.04)
        expected = 1.0 / (1.0 + np.exp(-clf.decision_function(cells)))
        np.testing.assert_allclose(clf.predict_proba(cells)[:, 1], expected, rtol=1e-12)

    def test_shares_of_several_classes(self):
        X, _ = noisy(5_000)
        clf = FilterBoost(sample=50, random_state=0).partial_fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
        odds = np.exp(clf.decision_function(X))
        np.testing.assert_allclose(clf.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), rtol=1e-12)

    def test_a_hypothesis_worse_than_chance_is_turned(self):
        class Perverse(Learner):
            def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
                stumps = StumpLearner().learn(X, y, n_hypotheses=1)
                return Stumps(stumps.feature, stumps.threshold, -stumps.left, n_features=X.shape[1])

        X, y = noisy(20_000)
        clf = FilterBoost(Perverse(), sample=100, random_state=0).partial_fit(X, y)
        assert len(clf.alpha_[0]) >= 2
        assert (clf.alpha_[0] < 0).all()
        assert (clf.edges_[0] < 0).all()
        assert clf.score(X, y) > 0.75

    def test_only_the_first_of_several_is_taken(self):
        class Eager(Learner):
            def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
                return StumpLearner().learn(X, y, n_hypotheses=3)

        X, y = noisy(5_000)
        eager, one = (
            FilterBoost(e, sample=50, tau=1.0, random_state=0).partial_fit(X, y) for e in (Eager(), None)
        )
        assert len(one.alpha_[0]) > 1
        np.testing.assert_array_equal(eager.edges_[0], one.edges_[0])

    @pytest.mark.parametrize("estimator", ["stump", "ball", LogisticRegression(), DecisionTreeClassifier()])
    def test_any_learner(self, estimator):
        X, y = noisy(3_000)
        clf = FilterBoost(estimator, sample=50, tau=1.0, random_state=0).partial_fit(X, y)
        assert len(clf.alpha_[0]) > 0
        assert clf.score(X, y) > 0.7

    def test_missing_values_where_the_learner_takes_them(self):
        X, y = noisy(5_000)
        X[::7, 0] = np.nan
        clf = FilterBoost(sample=100, random_state=0).partial_fit(X, y)
        assert clf.score(X, y) > 0.7
        with pytest.raises(ValueError, match="NaN"):
            FilterBoost("ball").partial_fit(X, y)

    def test_rows_are_drawn_by_their_weights(self):
        reach = np.cumsum([1.0, 4.0, 0.0, 5.0])
        places = draw_places(100_000, reach, np.random.default_rng(0))
        np.testing.assert_allclose(np.bincount(places) / 1e5, [0.1, 0.4, 0.0, 0.5], atol=0.01)
        a, b = (np.array([1.0, 2.0] * 100) * scale for scale in (1.0, 1e306))  # whose sum is infinite
        X, y = noisy(200)
        once, again = (FilterBoost(n_hypotheses=2, random_state=0).fit(X, y, w) for w in (a, b))
        assert state_of(once) == state_of(again)

    def test_rows_without_weight_are_none(self):
        X, y = noisy(300)
        weights = np.ones(300)
        weights[200:] = 0.0
        a = FilterBoost(n_hypotheses=3, random_state=0).fit(X, y, weights)
        b = FilterBoost(n_hypotheses=3, random_state=0).fit(X[:200], y[:200])
        assert state_of(a) == state_of(b)
        with pytest.raises(ValueError, match=r"(?i)sample weights must contain at least one non-zero"):
            FilterBoost().fit(X, y, np.zeros(300))


class TestTheEnd:
    def test_separable_data(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 2))
        y = X[:, 0] > 0
        clf = FilterBoost(n_hypotheses=10_000, random_state=0).fit(X, y)
        assert clf.stopped_.startswith("the filter let no example through in ")
        assert clf.stopped_.endswith(
            "draws: the error is below epsilon = 0.05, with a confidence of 1 - delta = 0.95"
        )
        assert 3 < len(clf.alpha_[0]) < 100
        assert clf.score(X, y) > 0.95

    def test_the_draws_it_names_are_the_papers(self):
        X = np.linspace(-1, 1, 400).reshape(-1, 1)
        clf = FilterBoost(n_hypotheses=10_000, epsilon=0.1, delta=0.01, random_state=0).fit(X, X[:, 0] > 0)
        t, r = clf.boosters_[0].round, clf.boosters_[0].calls + 1
        delta_r = 0.01 / (3 * t * (t + 1)) / (r * (r + 1))
        assert f" {math.ceil(2 / 0.1 * math.log(1 / delta_r)):,} draws" in clf.stopped_

    def test_the_error_is_below_epsilon(self):
        """What it says when it ends holds, and it does end before the labels' own errors are reached."""
        fresh, truth = separable(20_000, seed=99, flipped=0.02)
        wrong = 0
        for seed in range(10):
            X, y = separable(40_000, seed=seed, flipped=0.02)
            clf = FilterBoost(sample=50, epsilon=0.4, delta=0.2, tau=1.0, random_state=seed)
            clf.partial_fit(X, y)
            assert clf.stopped_.startswith("the filter")
            wrong += 1 - clf.score(fresh, truth) >= 0.4
        assert wrong <= 2

    def test_an_error_above_epsilon_is_hardly_ever_taken_for_less(self):
        """The filter's rule alone: F is sure and wrong on one in ten, and ε is one in eleven."""
        sure = Voters(Stumps([0], [np.inf], [1]), (0.4999,))
        given_up = 0
        for seed in range(20):
            y = np.where(np.random.default_rng(seed).random(20_000) < 0.1, -1, 1)
            clf = FilterBoost(sample=20_000, epsilon=1 / 11, delta=0.9, random_state=seed)
            clf.partial_fit(np.zeros((2, 1)), [-1, 1])
            clf.boosters_[0].voters = sure
            clf.partial_fit(np.zeros((20_000, 1)), y)
            given_up += clf.stopped_ is not None
        assert given_up <= 0.9 * 20

    def test_labels_at_random(self):
        y = np.random.default_rng(1).random(60_000) < 0.5
        X = np.random.default_rng(2).normal(size=(60_000, 2))
        clf = FilterBoost(sample=50, most_examples=2_000, random_state=0).partial_fit(X, y)
        assert clf.stopped_ == (
            "the edge could not be told from zero in 2,000 examples, of 3 hypotheses in a row"
        )
        assert clf.rounds_ == [3]
        assert clf.n_accepted_ == [3 * 2_050]
        np.testing.assert_allclose(clf.predict_proba(X[:2]), [[0.5, 0.5]] * 2, atol=0.02)

    def test_a_dropped_hypothesis_has_had_its_round(self):
        """δ is spent on it, so that the next test is no less sure."""
        X, y = np.zeros((1_000, 1)), np.where(np.arange(1_000) % 2, 1, -1)
        clf = FilterBoost(sample=2, most_examples=20, random_state=0)
        while clf.partial_fit(X[:1], y[:1], [-1, 1]).boosters_[0].round < 2:
            X, y = X[1:], y[1:]
        while clf.boosters_[0].test is None:
            clf.partial_fit(X[:1], y[:1])
            X, y = X[1:], y[1:]
        assert len(clf.alpha_[0]) == 0
        assert clf.boosters_[0].test.delta == 0.05 / (3 * 2 * 3)
        clf.partial_fit(X, y)
        assert clf.rounds_ == [3]

    def test_only_those_in_a_row_count(self):
        machine, given = BinaryFilterBoost((0, 0)), FilterBoost().settings()
        for right, tries in ((500, 1), (500, 2), (1_000, 0), (500, 1), (500, 2)):
            machine.candidate, machine.test = Stumps([0], [0.0], [1]), EdgeTest()
            machine.test.n, machine.test.right = 1_000, right
            machine._finish_round(given)
            assert (machine.tries, machine.reason) == (tries, None)
        assert len(machine.voters) == 1

    def test_once_ended_nothing_changes(self):
        X, y = noisy(8_000)
        clf = FilterBoost(n_hypotheses=1, sample=50, random_state=0).partial_fit(X, y)
        before = state_of(clf)
        assert clf.stopped_ == "n_hypotheses reached: there are 1"
        assert clf.n_seen_ < 8_000
        assert state_of(clf.partial_fit(X, y)) == before

    def test_more_hypotheses_can_be_asked_for(self):
        X, y = noisy(20_000)
        clf = FilterBoost(n_hypotheses=1, sample=50, random_state=0).partial_fit(X, y)
        n = clf.n_seen_
        clf.set_params(n_hypotheses=3).partial_fit(X[n:], y[n:])
        whole = FilterBoost(n_hypotheses=3, sample=50, random_state=0).partial_fit(X, y)
        assert state_of(clf) == state_of(whole)

    def test_an_endless_stream_is_left(self):
        read = []

        def endless():
            for k in itertools.count():
                read.append(k)
                yield noisy(1_000, seed=k)

        clf = FilterBoost(n_hypotheses=2, sample=50, random_state=0).fit_stream(endless())
        assert clf.stopped_ == "n_hypotheses reached: there are 2"
        assert len(read) == -(-clf.n_seen_ // 1_000)

    def test_after_one_stream_another(self):
        X, y = noisy(9_000)
        clf = FilterBoost(sample=50, random_state=0).fit_stream([(X[:4_000], y[:4_000])])
        assert clf.stopped_ == "the stream ended after 4,000 examples"
        clf.partial_fit(X[4_000:], y[4_000:])
        assert clf.stopped_ is None
        assert state_of(clf) == state_of(FilterBoost(sample=50, random_state=0).partial_fit(X, y))

    def test_fit_stream_begins_anew(self):
        X, y = noisy(6_000)
        once = FilterBoost(sample=50, random_state=0).fit_stream([(X, y)])
        twice = FilterBoost(sample=50, random_state=0).fit(X[:100, :2], y[:100]).fit_stream([(X, y)])
        assert state_of(once) == state_of(twice)

    def test_a_stream_too_short_for_anything(self):
        X, y = noisy(30)
        clf = FilterBoost(random_state=0).fit_stream([(X, y)])
        assert clf.stopped_ == "the stream ended after 30 examples"
        assert clf.hypotheses_ == [None]
        assert clf.alpha_[0].shape == clf.edges_[0].shape == (0,)
        assert len(set(clf.decision_function(X).tolist())) == 1

    def test_each_class_says_why(self):
        X, _ = noisy(400)
        y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
        clf = FilterBoost(n_hypotheses=2, random_state=0).fit(X, y)
        assert clf.stopped_ == "; ".join(
            f"'{label}' against the rest: n_hypotheses reached: there are 2" for label in "abc"
        )


class TestOneClassForLong:
    def test_goes_on_when_the_other_comes(self):
        X, y = separable(5_000, flipped=0.05)
        y[:1_000] = -1
        clf = FilterBoost(sample=50, tau=1.0, random_state=0)
        for i in range(1_000):
            clf.partial_fit(X[i : i + 1], y[i : i + 1], [-1, 1])
            assert sum(map(len, clf.boosters_[0].labels)) <= 25  # memory is bounded
        assert clf.stopped_ is None
        assert clf.boosters_[0].candidate is None
        clf.partial_fit(X[1_000:], y[1_000:])
        assert clf.score(X[1_000:], y[1_000:]) > 0.9

    def test_waits_however_long_for_a_class_that_never_came(self):
        X = np.zeros((5_000, 1))
        clf = FilterBoost(sample=10, most_examples=20, random_state=0).partial_fit(X, [0] * 5_000, [0, 1])
        assert clf.stopped_ is None
        assert clf.rounds_ == [0]
        assert clf.boosters_[0].candidate is None

    def test_half_of_the_places_are_kept_free(self):
        X = np.arange(200.0).reshape(-1, 1)
        y = (X[:, 0] >= 150).astype(int)

        class Watching(Learner):
            def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
                watched.append((X.copy(), y.copy()))
                return StumpLearner().learn(X, y, n_hypotheses=1)

        watched = []
        FilterBoost(Watching(), sample=10, random_state=0).partial_fit(X, y)
        rows, labels = watched[0]
        assert labels.tolist() == [-1] * 5 + [1] * 5
        assert rows[4, 0] < 40
        assert 150 <= rows[5, 0] < rows[-1, 0] < 180

    @pytest.mark.parametrize("classes", [None, [0, 1]])
    def test_a_whole_stream_of_one_class(self, classes):
        X, y = noisy(300)
        clf = FilterBoost(n_hypotheses=2, random_state=0).fit(X, y)
        before = state_of(clf)
        with pytest.raises(InputError, match=r"at least two classes.*one class, 1, in all 6 examples"):
            clf.fit_stream([(np.zeros((3, 3)), [1, 1, 1])] * 2, classes)
        assert state_of(clf) == before  # and what was there goes on

    def test_without_classes_rows_are_held_back(self):
        X, y = separable(1_200)
        y[:400] = -1
        rows = ((X[i : i + 1], y[i : i + 1]) for i in range(1_200))
        held = FilterBoost(sample=20, tau=1.0, random_state=0).fit_stream(rows)
        named = FilterBoost(sample=20, tau=1.0, random_state=0).fit_stream([(X, y)], [-1, 1])
        assert len(held.alpha_[0]) > 0
        assert state_of(held) == state_of(named)

    def test_a_class_too_rare_to_be_draw_places(self):
        """fit ends too: the constant hypothesis is good enough, and it says so."""
        X, y = noisy(200)
        weights = np.where(y > 0, 1e-12, 1.0)
        clf = FilterBoost(sample=20, most_examples=500, random_state=0).fit(X, y, weights)
        assert clf.stopped_.startswith("the filter let no example through")
        assert (clf.predict(X) == -1).all()
        assert np.isinf(clf.hypotheses_[0].threshold).all()
        assert len(clf.alpha_[0]) < 10

    def test_the_constant_comes_after_most_examples(self):
        """However they come: here one by one."""
        machine = BinaryFilterBoost((0, 0), (True, True))
        clf = FilterBoost(sample=10, most_examples=40)
        for _ in range(1_000):
            if machine.candidate is None:
                machine.take(Rows(np.zeros((1, 1)), np.array([-1], np.int8)), clf.settings(), clf.learner())
        assert machine.calls == 40
        np.testing.assert_array_equal(machine.candidate.answers(np.zeros((1, 1))), [[-1]])


class TestStreams:
    def test_batches_of_ours(self):
        X, y = noisy(3_000)
        streamed = FilterBoost(sample=50, random_state=0).fit_stream(ArrayStream(X, y, batch_size=64))
        assert state_of(streamed) == state_of(FilterBoost(sample=50, random_state=0).fit_stream([(X, y)]))

    def test_rows_without_a_label_are_left_out(self):
        X, y = noisy(3_000)
        known = np.arange(3_000) % 3 > 0
        labels = np.where(known, y, 77)
        batches = [
            Batch(X[i : i + 60], labels[i : i + 60], known[i : i + 60], i) for i in range(0, 3_000, 60)
        ]
        batches.append(Batch(X[:5], labels[:5], np.zeros(5, bool), 3_000))
        clf = FilterBoost(sample=50, random_state=0).fit_stream(batches)
        assert state_of(clf) == state_of(
            FilterBoost(sample=50, random_state=0).fit_stream([(X[known], y[known])])
        )

    def test_empty_batches_are_passed_over(self):
        X, y = noisy(2_000)
        empty = (np.empty((0, 3)), np.empty(0, int))
        clf = FilterBoost(sample=50, random_state=0).fit_stream([empty, (X, y), empty])
        assert clf.n_seen_ == 2_000

    def test_names_of_columns(self):
        X, y = noisy(2_000)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        clf = FilterBoost(sample=50, random_state=0).fit_stream(
            [(frame[:900], y[:900]), (frame[900:], y[900:])]
        )
        assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names"):
            clf.predict(frame[["b", "a", "c"]])

    @pytest.mark.parametrize(
        ("batches", "message"),
        [
            ([], "got no example"),
            (7, r"batches must be iterable.*got 7\. For one pair"),
            (None, r"batches must be iterable.*got None"),
            ([1.0], r"pairs \(X, y\).*got 1.0 as number 0"),
            ([(np.zeros((2, 1)), None)], "must have labels.*number 0"),
            ([(np.zeros((2, 1)), [[0], [1]])], "one label for each row"),
            ([(np.zeros((2, 1)), [0, np.nan])], "NaN|finite"),
            ([(np.zeros((2, 1)), [0, 1]), (np.zeros((2, 1)), [0, 2])], "got 2 in row 1"),
            ([(np.zeros((2, 1)), [0, 1]), (np.zeros((2, 2)), [0, 1])], "features"),
            ([(np.full((2, 1), np.inf), [0, 1])], "infinity"),
        ],
    )
    def test_bad_streams(self, batches, message):
        with pytest.raises(ValueError, match=message):
            FilterBoost().fit_stream(batches)

    def test_an_error_leaves_what_came_before(self):
        X, y = noisy(3_000)
        clf = FilterBoost(sample=50, random_state=0)
        with pytest.raises(InputError, match="got 5 in row 0"):
            clf.fit_stream([(X, y), (X[:1], [5])])
        assert state_of(clf) == state_of(FilterBoost(sample=50, random_state=0).partial_fit(X, y))


class TestBadInput:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"n_hypotheses": 0}, "n_hypotheses must be a whole number of at least 1; got 0"),
            ({"epsilon": 0.0}, "epsilon must be a finite number of more than 0"),
            ({"epsilon": 1.5}, "epsilon must be a finite number"),
            ({"delta": 0.0}, "delta must be a finite number"),
            ({"delta": np.nan}, "delta must be a finite number"),
            ({"tau": -1.0}, "tau must be a finite number"),
            ({"tau": "x"}, "tau must be a number"),
            ({"sample": 1}, "sample must be a whole number from 2"),
            ({"sample": 2.5}, "sample must be a whole number"),
            ({"sample": 50, "most_examples": 49}, "most_examples must be a whole number of at least 50"),
            ({"estimator": "tree"}, "estimator must be None"),
            ({"estimator": Stumps([0], [0.0], [1])}, "estimator must learn hypotheses"),
        ],
    )
    def test_parameters(self, given, message):
        X, y = noisy(20)
        for call in (FilterBoost(**given).fit, FilterBoost(**given).partial_fit):
            with pytest.raises(InputError, match=message):
                call(X, y)

    def test_extreme_parameters_make_no_infinite_numbers(self):
        X, y = noisy(3_000)
        for extreme in (
            {"epsilon": 5e-324},
            {"delta": 1e-100},
            {"tau": 5e-324},
            {"epsilon": 1.0, "delta": 1.0},
        ):
            clf = FilterBoost(sample=20, random_state=0, **extreme).partial_fit(X, y)
            assert np.isfinite(clf.decision_function(X)).all()

    def test_one_class(self):
        with pytest.raises(InputError, match=r"at least two classes.*one class, 3, in all 5"):
            FilterBoost().fit(np.zeros((5, 1)), [3] * 5)
        with pytest.raises(InputError, match="y must hold at least two classes; got one class, 3"):
            FilterBoost().partial_fit(np.zeros((5, 1)), [3] * 5)

    def test_classes(self):
        X, y = noisy(20)
        clf = FilterBoost().partial_fit(X, y)
        with pytest.raises(InputError, match="classes must be those of the first call"):
            clf.partial_fit(X, y, [1, 2])
        with pytest.raises(InputError, match="y must hold the classes"):
            clf.partial_fit(X, y + 1)
        clf.partial_fit(X, y, [1, -1])

    def test_no_rows(self):
        X, y = noisy(20)
        clf = FilterBoost().partial_fit(X, y)
        with pytest.raises(ValueError, match="0 sample"):
            clf.partial_fit(X[:0], y[:0])

    def test_not_fitted(self):
        for call in (FilterBoost().predict, FilterBoost().predict_proba, FilterBoost().decision_function):
            with pytest.raises(NotFittedError):
                call(np.zeros((1, 1)))

    def test_a_failing_learner_changes_nothing(self):
        class Failing(Learner):
            broken = False

            def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
                if self.broken:
                    raise KeyboardInterrupt
                return StumpLearner().learn(X, y, n_hypotheses=1)

        X, y = noisy(20_000)
        learner = Failing()
        clf = FilterBoost(learner, sample=50, tau=1.0, random_state=0).partial_fit(X[:8_000], y[:8_000])
        before, learner.broken = state_of(clf), True
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X[8_000:], y[8_000:])
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X[:500], y[:500])
        assert state_of(clf) == before

    def test_a_copy_goes_its_own_way(self):
        X, y = noisy(6_000)
        clf = FilterBoost(sample=50, random_state=0).partial_fit(X[:3_000], y[:3_000])
        before, other = state_of(clf), copy.copy(clf)
        other.partial_fit(X[3_000:], y[3_000:])
        assert state_of(clf) == before != state_of(other)


def test_no_voters_have_no_score():
    assert len(Voters()) == 0
    np.testing.assert_array_equal(Voters().scores_of(np.ones((2, 3))), [[0.0], [0.0]])


# What a weight of two and the example twice give is the same only on average: rows are drawn.
DRAWN = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
NEEDS_SETTING = {"check_array_api_input", "check_array_api_input_and_values"}  # SCIPY_ARRAY_API=1
KINDS = {
    "stumps": FilterBoost(n_hypotheses=8, sample=60, most_examples=5_000, random_state=0),
    "balls": FilterBoost(
        BallLearner(n_sample=50), n_hypotheses=5, sample=60, most_examples=3_000, random_state=0
    ),
}


def checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        for kind, estimator in KINDS.items():
            found = estimator_checks.estimator_checks_generator(estimator)
            for number, (instance, check) in enumerate(found):
                called = getattr(check, "func", check).__name__
                if called not in DRAWN | NEEDS_SETTING:
                    yield pytest.param(instance, check, id=f"{kind}-{number}-{called}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_hardly_any_check_is_left_out():
    assert len([param for param in checks() if param.id.startswith("stumps-")]) > 45
