"""Streams given to FilterBoost, and input that it refuses."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from ocboost import InputError
from ocboost.hypotheses import Stumps
from ocboost.learners import Learner, StumpLearner
from ocboost.lineage import FilterBoost
from ocboost.streams import ArrayStream, Batch
from tests.support.filterboost import noisy, state_of


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
