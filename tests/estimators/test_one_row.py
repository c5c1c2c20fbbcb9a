"""One row at a time: the same answers and the same weights as the methods for many rows."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, OCBClassifier
from ocboost._kernels.answers import first_unusable, margins_of, tally, tally_row, tally_rows
from ocboost._kernels.stumps import answer_row
from ocboost.estimators.base import as_one_row
from ocboost.hypotheses import Stumps
from ocboost.lineage import FilterBoost, OzaRussellClassifier
from ocboost.offsets import LinearOffset

FEATURES = 5


def rows(n=240, classes=2, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n), [0.0, 0.8][: classes - 1])
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


KINDS = {
    "heavy": {},
    "paper": {"head": 1},
    "window": {"tail": False, "head": 30},
    "forgetting": {"forgetting": 0.97, "head": 40},
    "batches": {"head": 1, "batch_size": 4},
    "oza": {"booster": "oza"},
    "eg": {"booster": "eg"},
    "huang": {"booster": "huang"},
    "growing": {"grow": 20, "random_state": 0, "head": 40},
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", KINDS)
def test_rows_one_by_one_are_partial_fit_and_predict(name, classes):
    X, y = rows(classes=classes, missing=0.05)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    labels = np.array(["low", "middle", "top"])[y]
    one, many = (OCBClassifier(n_hypotheses=12, **KINDS[name]).fit(X[:120], labels[:120]) for _ in range(2))
    for i in range(120, 240):
        row = X[i].tolist()
        assert one.predict_one(row) == many.predict(X[i : i + 1])[0]
        np.testing.assert_array_equal(one.predict_proba_one(row), many.predict_proba(X[i : i + 1])[0])
        assert one.learn_one(row, labels[i], weights[i]) is one
        many.partial_fit(X[i : i + 1], labels[i : i + 1], sample_weight=weights[i : i + 1])
    for mine, theirs in zip(one.alpha_, many.alpha_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.n_grown_ == many.n_grown_


def test_weights_are_on_the_scale_of_the_first():
    X, y = rows()
    one, many = (OCBClassifier(n_hypotheses=12).fit(X[:120], y[:120], np.full(120, 1 / 120)) for _ in "ab")
    assert one.weight_scale_ == pytest.approx(120)
    for i in range(120, 160):
        one.learn_one(X[i], y[i], 1 / 120)
        many.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=[1 / 120])
    np.testing.assert_array_equal(one.alpha_[0], many.alpha_[0])
    assert len(np.unique(one.alpha_[0])) > 3


@pytest.mark.parametrize("classes", [2, 3])
def test_a_deployed_model_and_an_offset(classes):
    X, y = rows(classes=classes)
    deployed = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=15, random_state=0)
    clf = OCBClassifier.from_fitted(deployed.fit(X[:120], y[:120]), X[:120], y[:120])
    two = classes == 2
    offset = LinearOffset(np.ones(FEATURES if two else (3, FEATURES)), 0.0 if two else np.zeros(3))
    above = OCBClassifier(n_hypotheses=5, offset=offset).fit(X[:120], y[:120])
    for each in (clf, above):
        for i in range(120, 160):
            assert each.predict_one(X[i]) == each.predict(X[i : i + 1])[0]
            np.testing.assert_array_equal(each.predict_proba_one(X[i]), each.predict_proba(X[i : i + 1])[0])
            each.learn_one(X[i], y[i])


def test_labels_come_out_as_pythons_own():
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    assert type(clf.predict_one(X[0])) is int
    assert type(clf.fit(X, y.astype(bool)).predict_one(X[0])) is bool
    assert type(clf.fit(X, np.array(["a", "b"])[y]).predict_one(X[0])) is str


@pytest.mark.parametrize(
    "make", [OCBClassifier, FilterBoost, lambda n_hypotheses, **more: OzaRussellClassifier(**more)]
)
def test_every_classifier_has_it(make):
    X, y = rows(400)
    one, many = (make(n_hypotheses=5, random_state=0) for _ in range(2))
    one.fit(X[:300], y[:300]), many.fit(X[:300], y[:300])
    for i in range(300, 340):
        one.learn_one(X[i].tolist(), int(y[i]))
        many.partial_fit(X[i : i + 1], y[i : i + 1])
    assert [one.predict_one(x) for x in X[:50]] == many.predict(X[:50]).tolist()
    np.testing.assert_allclose(one.predict_proba_one(X[0]), many.predict_proba(X[:1])[0], rtol=1e-12)


def test_what_is_no_row():
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    for row, text in (
        ([1.0, 2.0], r"row must be a sequence of 5 numbers, one for each feature; got shape \(2,\)"),
        (X[:1], r"got shape \(1, 5\)"),
        ("abcde", "row must be a sequence of 5 numbers"),
        (["1", "2", "3", "4", "5"], "Encode text first"),
        ([1, 2, 3, 4, [5]], "row must be a sequence of 5 numbers"),
        ({"a": 1}, "row must be a sequence of 5 numbers"),
        (None, "row must be a sequence of 5 numbers"),
        ([1, 2, math.inf, 4, 5], "numbers that are finite, or missing; got inf for feature 2"),
    ):
        for call in (clf.predict_one, clf.predict_proba_one, lambda row: clf.learn_one(row, 1)):
            with pytest.raises(InputError, match=text):
                call(row)
    balls = OCBClassifier("ball", 5, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="must hold finite numbers; got nan for feature 0"):
        balls.predict_one([math.nan, 2, 3, 4, 5])
    for label in (2, "1", None, [1], math.nan):
        with pytest.raises(InputError, match=r"label must be one of the classes \[0, 1\]"):
            clf.learn_one(X[0], label)
    for weight in (-1.0, math.nan, math.inf, "2", None, True, np.ones(2), 1 + 0j, 10**400):
        came = re.escape(f"got {weight!r:.80}.")
        with pytest.raises(InputError, match=f"sample_weight must be a finite number.*{came}"):
            clf.learn_one(X[0], 1, weight)
    before = clf.boosters_[0].n_seen
    clf.learn_one(X[0], 1, 0)
    assert clf.boosters_[0].n_seen == before + 1
    with pytest.raises(NotFittedError):
        OCBClassifier().predict_one(X[0])
    with pytest.raises(NotFittedError):
        OCBClassifier().learn_one(X[0], 1)
    with pytest.raises(NotFittedError):
        FilterBoost().learn_one(X[0], 1)
    with pytest.raises(InputError, match="sample_weight must be 1 for FilterBoost"):
        FilterBoost(n_hypotheses=2).fit(X, y).learn_one(X[0], 1, 2.0)


def test_rows_of_any_kind_of_number():
    for row in (
        [1, 2],
        (1.0, 2),
        np.array([1, 2], np.int8),
        np.array([1.0, 2.0])[::1],
        [True, 2.0],
        range(1, 3),
    ):
        np.testing.assert_array_equal(as_one_row(row, 2, missing=True), [[1.0, 2.0]])
    assert as_one_row(np.array([1, 2], np.float32), 2, missing=True).dtype == np.float32
    np.testing.assert_array_equal(as_one_row(np.arange(4.0)[::2], 2, missing=True), [[0.0, 2.0]])
    np.testing.assert_array_equal(as_one_row([None, 2], 2, missing=True), [[np.nan, 2.0]])


def test_labels_of_another_type_are_found():
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=5).fit(X, y.astype(float))
    seen = clf.boosters_[0].n_seen
    clf.learn_one(X[0], 1), clf.learn_one(X[0], np.int64(1)), clf.learn_one(X[0], True)
    assert clf.boosters_[0].n_seen == seen + 3


# Kernels and their plain loops ------------------------------------------------------------------------------


@pytest.mark.parametrize("J", [1, 7, 100])
def test_votes_of_rows_are_those_of_blocks_to_the_last_bit(J):
    rng = np.random.default_rng(3)
    answers, alpha = rng.choice([-1, 1], (40, J + 4)).astype(np.int8), rng.normal(size=J)
    expected, total = np.zeros(40), np.full(40, np.nan)
    tally(np.ascontiguousarray(answers[:, 3 : 3 + J].T), alpha, -alpha, expected)
    tally_rows(answers, 3, alpha, total)
    assert [tally_row(answers[i : i + 1], 3, alpha) for i in range(40)] == total.tolist()
    np.testing.assert_array_equal(total, expected)
    plain = [sum((a if h > 0 else -a) for a, h in zip(alpha, row[3:], strict=False)) for row in answers]
    np.testing.assert_array_equal(total, plain)


def test_margins_of_some_columns():
    rng = np.random.default_rng(4)
    answers, sign = rng.choice([-1, 1], (9, 12)).astype(np.int8), rng.choice([-1, 1], 9).astype(np.int8)
    out = np.zeros((9, 5), np.int8)
    margins_of(answers, 6, sign, out)
    np.testing.assert_array_equal(out, answers[:, 6:11] * sign[:, None])


def test_stumps_answer_one_row_as_many():
    rng = np.random.default_rng(5)
    J = 60
    stumps = Stumps(
        rng.integers(0, 4, J),
        rng.choice([-1.0, 0.0, 0.5, np.inf, -np.inf], J),
        rng.choice([-1, 1], J),
        rng.choice([-1, 1], J),
        n_features=4,
    )
    X = rng.choice([-1.0, 0.0, 0.5, 2.0, np.nan], (50, 4))
    many = stumps.answers(X)
    for i in range(50):
        out = np.zeros(J, np.int8)
        answer_row(X[i], stumps.feature, stumps.threshold, stumps.left, stumps.missing, out)
        plain = [
            m if math.isnan(X[i, f]) else left if X[i, f] <= t else -left
            for f, t, left, m in zip(
                stumps.feature, stumps.threshold, stumps.left, stumps.missing, strict=True
            )
        ]
        assert out.tolist() == plain == many[i].tolist() == stumps.answers(X[i : i + 1])[0].tolist()


def test_the_first_number_that_cannot_be_used():
    x = np.array([1.0, np.nan, np.inf])
    assert [first_unusable(x[:k], True) for k in range(4)] == [-1, -1, -1, 2]
    assert [first_unusable(x[:k], False) for k in range(4)] == [-1, -1, 1, 1]
    assert first_unusable(np.array([-np.inf], np.float32), True) == 0
