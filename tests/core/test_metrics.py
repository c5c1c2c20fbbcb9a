"""Metrics of a stream against scikit-learn's, and where they are not defined."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference

from ocboost._core.metrics import CALIBRATION_BINS, MAX_CURVE_POINTS, losses
from ocboost._core.score_bins import SCORE_BINS
from ocboost.errors import InputError
from ocboost.evaluation import METRICS, Series, Tally, Window


def draw(seed, n, K, sure=2.0):
    """Probabilities that know something, and classes of uneven frequency."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(K, size=n, p=np.arange(1, K + 1) / np.arange(1, K + 1).sum())
    votes = rng.normal(size=(n, K)) * sure
    votes[np.arange(n), codes] += sure
    share = np.exp(votes - votes.max(axis=1, keepdims=True))
    return share / share.sum(axis=1, keepdims=True), codes


def calibration_error(probabilities, codes):
    """Bin by bin, example by example."""
    n = len(codes)
    total = 0.0
    for b in range(CALIBRATION_BINS):
        gap = 0.0
        for p, code in zip(probabilities.tolist(), codes.tolist(), strict=True):
            top = max(p)
            if b <= top * CALIBRATION_BINS < b + 1 or (b == CALIBRATION_BINS - 1 and top == 1.0):
                gap += top - (p.index(top) == code)
        total += abs(gap) / n
    return total


def brier(probabilities, codes):
    """One of two classes, all of more; example by example."""
    total = 0.0
    for p, code in zip(probabilities.tolist(), codes.tolist(), strict=True):
        wrong = [(share - (k == code)) ** 2 for k, share in enumerate(p)]
        total += wrong[1] if len(p) == 2 else sum(wrong)
    return total / len(codes)


def expected(probabilities, codes):
    """What scikit-learn says; areas of one class against the rest, and F1, over the classes that came."""
    K = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    columns = [1] if K == 2 else range(K)
    came = [c for c in columns if 0 < (codes == c).sum() < len(codes)]
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prediction of a class that did not come
        return {
            "accuracy": reference.accuracy_score(codes, predicted),
            "balanced_accuracy": reference.balanced_accuracy_score(codes, predicted),
            "f1": reference.f1_score(codes, predicted)
            if K == 2
            else reference.f1_score(codes, predicted, average="macro", labels=np.unique(codes)),
            "kappa": reference.cohen_kappa_score(codes, predicted, labels=range(K)),
            "auc": np.mean([reference.roc_auc_score(codes == c, probabilities[:, c]) for c in came]),
            "pr_auc": np.mean(
                [reference.average_precision_score(codes == c, probabilities[:, c]) for c in came]
            ),
            "log_loss": reference.log_loss(codes, probabilities, labels=range(K)),
            "brier": brier(probabilities, codes),
            "ece": calibration_error(probabilities, codes),
        }


@pytest.mark.parametrize("n", [30, 3000])
@pytest.mark.parametrize("K", [2, 3, 7])
def test_tally_agrees_with_scikit_learn(K, n):
    probabilities, codes = draw(K, n, K)
    tally = Tally(K)
    for part in np.array_split(np.arange(n), 4):
        tally.add(probabilities[part], codes[part])
    found, want = tally.values(), expected(probabilities, codes)
    assert tuple(found) == METRICS
    assert tally.n == n
    np.testing.assert_array_equal(
        tally.confusion, reference.confusion_matrix(codes, probabilities.argmax(axis=1), labels=range(K))
    )
    slack = {"auc": tally.auc_bound, "pr_auc": tally.pr_auc_bound}
    for name in METRICS:
        assert abs(found[name] - want[name]) <= slack.get(name, 0.0) + 1e-12, name
    assert n < 1000 or max(slack.values()) < 0.002


@pytest.mark.parametrize("K", [2, 3, 7])
def test_window_agrees_with_scikit_learn(K):
    probabilities, codes = draw(10 + K, 700, K)
    window = Window(K, 250)
    for part in np.array_split(np.arange(700), 9):
        window.add(probabilities[part], codes[part])
    found, want = window.values(), expected(probabilities[450:], codes[450:])
    assert window.n == 250
    assert found == pytest.approx(want, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 60), st.data())
def test_a_window_is_a_tally_of_the_last_examples_however_they_came(K, pieces, size, data):
    n = sum(pieces)
    probabilities, codes = draw(data.draw(st.integers(0, 1000)), n, K)
    window = Window(K, size)
    start = 0
    for piece in pieces:
        window.add(probabilities[start : start + piece], codes[start : start + piece])
        start += piece
    tally = Tally(K)
    tally.add(probabilities[-size:], codes[-size:])
    found, want = window.values(), tally.values()
    bounds = {"auc": tally.auc_bound, "pr_auc": tally.pr_auc_bound}
    for name in METRICS:
        if want[name] is None:
            assert found[name] is None
        else:
            assert abs(found[name] - want[name]) <= bounds.get(name, 0.0) + 1e-12


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-700, 700) | st.sampled_from([0.0, 0.001, 1.0, 1.0005, 50.0]), st.booleans()),
        min_size=2,
        max_size=80,
    )
)
def test_the_auc_is_off_by_no_more_than_its_bound(examples):
    """Also far out, where one of the two probabilities is all that tells scores apart."""
    odds, codes = np.array([e[0] for e in examples]), np.array([int(e[1]) for e in examples])
    probabilities = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)
    tally, window = Tally(2), Window(2, len(codes))
    tally.add(probabilities, codes)
    window.add(probabilities, codes)
    if len(set(codes.tolist())) < 2:
        assert tally.values()["auc"] is tally.auc_bound is window.values()["auc"] is None
        assert tally.values()["pr_auc"] is tally.pr_auc_bound is window.values()["pr_auc"] is None
        return
    score = np.log(probabilities[:, 1]) - np.log(probabilities[:, 0])
    exact = reference.roc_auc_score(codes, score)
    assert abs(tally.values()["auc"] - exact) <= tally.auc_bound + 1e-12
    assert window.values()["auc"] == pytest.approx(exact, abs=1e-12)
    exact = reference.average_precision_score(codes, score)
    assert abs(tally.values()["pr_auc"] - exact) <= tally.pr_auc_bound + 1e-12
    assert window.values()["pr_auc"] == pytest.approx(exact, abs=1e-12)


def test_the_bound_counts_pairs_in_a_bin_but_not_real_ties():
    """Two scores that differ by a millionth share a bin; two equal ones are a tie for everybody."""
    near, tied = Tally(2), Tally(2)
    near.add(np.array([[0.5, 0.5], [0.4999999, 0.5000001]]), np.array([0, 1]))
    tied.add(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1]))
    assert (near.values()["auc"], near.auc_bound) == (0.5, 0.5)  # the truth is 1, and the bound says so
    assert (tied.values()["auc"], tied.auc_bound) == (0.5, 0.0)


def test_memory_does_not_grow():
    tally, window = Tally(3), Window(3, 50)
    for seed in range(20):
        tally.add(*draw(seed, 500, 3))
        window.add(*draw(seed, 500, 3))
    assert [bins.counts.shape for bins in tally.bins] == [(2, SCORE_BINS)] * 3
    assert window._probabilities.shape == (50, 3)
    assert (tally.n, window.n) == (10_000, 50)


class TestNotDefined:
    def test_before_the_first_example(self):
        assert Tally(2).values() == Window(3, 5).values() == dict.fromkeys(METRICS)
        assert Tally(2).auc_bound is None

    @pytest.mark.parametrize("make", [lambda: Tally(2), lambda: Window(2, 10)])
    def test_one_class_only(self, make):
        metric = make()
        metric.add(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0]))
        found = metric.values()
        assert found["accuracy"] == 0.5
        assert found["log_loss"] == pytest.approx(-(math.log(0.8) + math.log(0.4)) / 2)
        assert found["brier"] == pytest.approx((0.2**2 + 0.6**2) / 2)
        assert found["ece"] == pytest.approx((0.2 + 0.6) / 2)
        none = ("balanced_accuracy", "f1", "kappa", "auc", "pr_auc")
        assert [found[name] for name in none] == [None] * 5

    def test_a_class_that_never_came_is_left_out(self):
        tally = Tally(3)
        tally.add(np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.5, 0.2, 0.3]]), np.array([0, 1, 1]))
        found = tally.values()
        assert found["balanced_accuracy"] == pytest.approx(0.75)
        assert found["auc"] == pytest.approx(np.mean([1.0, 0.75]))
        assert found["f1"] == pytest.approx(2 / 3)

    def test_an_empty_batch_changes_nothing(self):
        tally, window = Tally(2), Window(2, 3)
        for metric in (tally, window):
            metric.add(np.empty((0, 2)), np.empty(0, np.int64))
            assert metric.n == 0


def test_certain_and_wrong_costs_a_bounded_loss():
    certain = np.array([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(losses(certain, np.array([1, 1])), [-math.log(1e-15), 0.0])
    tally = Tally(2)
    tally.add(certain, np.array([1, 1]))
    tally.add(certain, np.array([0, 1]))
    assert tally.values()["auc"] == pytest.approx(reference.roc_auc_score([1, 1, 0, 1], [0, 1, 0, 1]))
    assert np.isfinite(tally.values()["log_loss"])


def test_the_prediction_may_be_given():
    tally = Tally(2)
    tally.add(np.array([[0.9, 0.1]]), np.array([1]), predicted=np.array([1]))
    found = tally.values()
    assert found["accuracy"] == 1.0
    assert found["ece"] == pytest.approx(0.9)  # of the likeliest class, which was not predicted


def test_the_curve_of_thresholds_counts_what_each_would_give():
    probabilities, codes = draw(3, 400, 2)
    probabilities = probabilities.round(2)
    tally = Tally(2)
    tally.add(probabilities, codes)
    curve = tally.bins[0].curve()
    assert curve["recall"][0] == 1.0
    assert curve["recall_of_others"][0] == 0.0
    assert 20 < len(curve["threshold"]) <= 202
    for i, threshold in enumerate(curve["threshold"]):
        predicted = (probabilities[:, 1] >= threshold).astype(int)
        assert curve["recall"][i] == pytest.approx((predicted[codes == 1] == 1).mean())
        assert curve["recall_of_others"][i] == pytest.approx((predicted[codes == 0] == 0).mean())
        assert curve["accuracy"][i] == pytest.approx((predicted == codes).mean())
        assert curve["precision"][i] == pytest.approx((codes[predicted == 1] == 1).mean())


class TestSeries:
    def test_thins_itself(self):
        series, n = Series(every=10), 0
        while n < 10 * MAX_CURVE_POINTS * 3:
            n = series.due_after(n)
            series.record(n, 5, dict.fromkeys(METRICS, float(n)))
            assert len(series) < MAX_CURVE_POINTS
            assert series.rows[0] == series.every
        assert series.every == 40
        assert series.rows == list(range(40, n + 1, 40))
        assert series.values["kappa"] == [float(row) for row in series.rows]
        assert len(series.counts) == len(series.rows)

    def test_due(self):
        series = Series(every=7)
        assert [series.due_after(n) for n in (0, 6, 7, 13)] == [7, 7, 14, 14]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Tally(1), "n_classes must be a whole number of at least 2; got 1"),
        (lambda: Window(2, 0), "window must be a whole number of at least 1; got 0"),
        (lambda: Series(0), "every must be a whole number of at least 1; got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()
