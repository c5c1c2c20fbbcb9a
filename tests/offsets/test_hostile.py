"""Offsets that are wrong: one clear error, and nothing is learnt."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, OCBClassifier
from ocboost.offsets import LinearOffset
from tests.support.offset_examples import assert_same, examples, linear, pool


def raising(X):
    raise RuntimeError("no score today")


HOSTILE = {
    "a column too many": (lambda X: np.zeros((len(X), 2)), r"of shape \(\d+,\) for two classes; got shape"),
    "too few": (lambda X: np.zeros(len(X) - 1), "to each of the .* rows; got shape"),
    "one number": (lambda X: 0.5, r"got shape \(\)"),
    "a cube": (lambda X: np.zeros((len(X), 1, 1)), "got shape"),
    "NaN": (lambda X: np.where(np.arange(len(X)) == 2, np.nan, 0.0), "must be finite.* got nan for row 2"),
    "infinite": (lambda X: np.full(len(X), -np.inf), "must be finite.* got -inf for row 0"),
    "huge": (lambda X: np.full(len(X), 1e300), "must be finite, below 1e"),
    "objects": (
        lambda X: np.array([0.5] * len(X), dtype=object),
        "must give numbers; got ndarray of dtype ob",
    ),
    "words": (lambda X: ["a"] * len(X), "must give numbers; got list"),
    "truths": (lambda X: X[:, 0] > 0, "must give numbers; got ndarray of dtype bool"),
    "complex": (lambda X: X[:, 0] * 1j, "must give numbers; got ndarray of dtype complex"),
    "nothing": (lambda X: None, "must give numbers; got NoneType"),
    "ragged": (lambda X: [[0.0], [0.0, 1.0]], "must give numbers"),
    "masked": (lambda X: np.ma.masked_less(X[:, 0], 0.0), "must give numbers; got MaskedArray"),
    "no function": (7, "offset must be None, an offset of ocboost.offsets, a function"),
    "a word": ("linear", "offset must be None"),
    "a class": (LinearOffset, "offset must be None"),
    "not fitted": (
        LogisticRegression(),
        r"offset must be fitted; got LogisticRegression\(\).*FrozenEstimator",
    ),
    "no decision function": (DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), "offset must be None"),
    "of other features": (LinearOffset([1.0, 2.0]), "X must have the 2 features of the offset's coef"),
    "of three classes": (linear(3), "for two classes; got shape"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name):
    X, y = examples(2, 60)
    offset, match = HOSTILE[name]
    for learn in (
        OCBClassifier(n_hypotheses=4, offset=offset).fit,
        OCBClassifier(n_hypotheses=4, offset=offset).partial_fit,
        OCBClassifier(pool(), offset=offset).partial_fit,
    ):
        with pytest.raises(InputError, match=match):
            learn(X, y)
        assert not hasattr(learn.__self__, "committee_")


def test_hostile_later():
    X, y = examples(3, 60)
    bad = []
    clf = OCBClassifier(n_hypotheses=4, offset=lambda X: bad[0](X) if bad else np.zeros((len(X), 3))).fit(
        X, y
    )
    before = clf.alpha_
    for offset in (lambda X: np.zeros(len(X)), lambda X: np.full((len(X), 3), np.nan), raising):
        bad[:] = [offset]
        for call in (lambda: clf.partial_fit(X, y), lambda: clf.predict(X), lambda: clf.fit(X, y)):
            with pytest.raises((InputError, RuntimeError), match=r"offset must|no score today") as caught:
                call()
            if offset is raising:
                assert "It was raised by the offset" in caught.value.__notes__[0]
    bad.clear()
    for mine, others in zip(clf.alpha_, before, strict=True):
        np.testing.assert_array_equal(mine, others)
    assert clf.boosters_[0].n_seen == 60


def test_other_classes_than_the_scorer_knows():
    X, y = examples(3, 200)
    scorer = LinearSVC().fit(X, np.array(["b", "c", "a"])[y])
    with pytest.raises(InputError, match=r"offset must score the classes \[0, 1, 2\].*got a scorer of \['a'"):
        OCBClassifier(offset=scorer).fit(X, y)
    clf = OCBClassifier(offset=scorer, n_hypotheses=4).fit(X, np.array(["b", "c", "a"])[y])
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert OCBClassifier.from_offset(scorer, pool()).classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="classes must name all classes where the offset does not know"):
        OCBClassifier.from_offset(linear(3), pool())
    with pytest.raises(InputError, match=r"hypotheses must be of ocboost\.hypotheses"):
        OCBClassifier.from_offset(linear(3), "stump", [0, 1, 2])


def test_it_cannot_change_once_fitted():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=4, offset=linear(2)).fit(X, y)
    for other in (linear(2), None):
        with pytest.raises(InputError, match="offset cannot change once the classifier has been fitted"):
            copy.copy(clf).set_params(offset=other).partial_fit(X, y)
    with pytest.raises(InputError, match="offset cannot change"):
        OCBClassifier(n_hypotheses=4).fit(X, y).set_params(offset=linear(2)).partial_fit(X, y)
    fresh = OCBClassifier(n_hypotheses=4).fit(X, y)
    assert_same(clf.set_params(offset=None).fit(X, y), fresh, X)
    deployed = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="offset must be None for from_fitted"):
        OCBClassifier.from_fitted(deployed, X, y, offset=linear(2))


def test_scores_are_not_forgotten():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=4, offset=linear(2)).fit(X, y)
    answers = clf.hypotheses_.answers(X)
    with pytest.raises(InputError, match="scores must be those of the offset where there is one"):
        clf.committee_.votes_of(answers)
    with pytest.raises(InputError, match="scores must be those of the offset"):
        clf.committee_.learn(answers, y, np.ones(len(y)))
    none = OCBClassifier(n_hypotheses=4).fit(X, y)
    with pytest.raises(InputError, match="and None elsewhere"):
        none.committee_.votes_of(none.hypotheses_.answers(X), linear(2)(X)[:, None])
