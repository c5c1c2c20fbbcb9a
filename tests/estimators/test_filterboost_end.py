"""When FilterBoost ends, and what it does while only one class comes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ocboost import InputError
from ocboost.estimators.binary_filterboost import BinaryFilterBoost, EdgeTest, Voters
from ocboost.hypotheses import Stumps
from ocboost.learners import Learner, StumpLearner
from ocboost.lineage import FilterBoost
from ocboost.streams.rows import Rows
from tests.support.filterboost import noisy, separable, state_of


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
            "the edge could not be distinguished from zero in 2,000 examples, of 3 hypotheses in a row"
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
