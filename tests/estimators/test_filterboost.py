"""FilterBoost against the paper's loops, however a stream is cut, and what it learns."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from ocboost import OCBClassifier
from ocboost.estimators.filterboost import draw_places
from ocboost.hypotheses import Stumps
from ocboost.learners import BallLearner, Learner, StumpLearner
from ocboost.lineage import FilterBoost
from tests.naive.filterboost import plain_filterboost
from tests.support.filterboost import base_of, cut, noisy, separable, state_of

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
