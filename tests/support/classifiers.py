"""Examples, classifiers of every sort fitted on them, and what makes two of them the same."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import OCBClassifier
from ocboost.hypotheses import Balls, Stumps, join

BOOSTER_SETTINGS = {
    "auto": {},
    "small head": {"head": 7},
    "window": {"head": 30, "tail": False},
    "forgetting": {"forgetting": 0.97, "head": 16},
    "band": {"order": 2, "head": 9, "batch_size": 5},
}


def examples(n_classes=2, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 2)
    score = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n)
    return X, np.digitize(score, [0.0] if n_classes == 2 else np.linspace(-0.7, 0.7, n_classes - 1))


def adopted(n_classes):
    X, y = examples(n_classes)
    deployed = AdaBoostClassifier(n_estimators=6, random_state=0).fit(X, y)
    return OCBClassifier.from_fitted(deployed, X[:60], y[:60], head=20).partial_fit(X[60:], y[60:])


def joined_pool():
    return join([Stumps([0, 1], [0.0, 0.1], [-1, -1], n_features=4), Balls(np.eye(4)[:2], [1.0, 0.8])])


MODELS = {
    "stumps": lambda K: OCBClassifier(n_hypotheses=6, head=20).fit(*examples(K)),
    "window": lambda K: OCBClassifier(n_hypotheses=6, head=20, tail=False).fit(*examples(K)),
    "forgetting": lambda K: OCBClassifier("stump", 6, forgetting=0.97, order=3).fit(*examples(K)),
    "balls": lambda K: OCBClassifier("ball", 5, random_state=0).fit(*examples(K)),
    "trees": lambda K: OCBClassifier(DecisionTreeClassifier(max_depth=2), 4, random_state=0).fit(
        *examples(K)
    ),
    "joined": lambda K: OCBClassifier(joined_pool()).fit(*examples(K)),
    "adopted": adopted,
}


def saved(folder, clf):
    clf.save(folder / "saved")
    return folder / "saved"


def assert_same_weights(a, b):
    for mine, others in zip(a.alpha_, b.alpha_, strict=True):
        np.testing.assert_array_equal(mine, others)


def assert_same_answers(a, b, X):
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
