"""Classifiers that grow, and streams that make them."""

from __future__ import annotations

import numpy as np

from ocboost import Growth, OCBClassifier
from ocboost._core.file_format import to_bytes
from ocboost.estimators.classifier_file import classifier_tree
from tests.naive.growth import as_tuples

QUICK = {"budget": 8, "sample": 12, "candidates": 3, "test": 6, "delta": 0.4, "every": 5}
ROWS = 700
SETTINGS = {
    "window": {"tail": False, "head": 60},
    "forgetting": {"forgetting": 0.98, "head": 25},
    "head of one": {"forgetting": 0.98, "head": 1},
    "all": {},
}


def stream(n, n_classes=2, *, seed=0, n_features=5, period=150, noise=0.1):
    """The label depends on one feature, and on another one every ``period`` rows.

    Fewer rows are the first of more.
    """
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(ROWS, n_features)), 3)
    score = X[np.arange(ROWS), np.arange(ROWS) // period % n_features]
    y = np.digitize(score, [0.0] if n_classes == 2 else np.linspace(-0.5, 0.5, n_classes - 1))
    wrong = rng.random(ROWS) < noise
    y[wrong] = rng.integers(0, n_classes, wrong.sum())
    return X[:n], y[:n]


def growing(n_classes=2, n=100, *, n_hypotheses=5, grow=None, period=150, **options):
    """A classifier fitted to the first n rows of the stream, that grows."""
    X, y = stream(n, n_classes, period=period)
    clf = OCBClassifier(
        n_hypotheses=n_hypotheses, grow=Growth(**QUICK) if grow is None else grow, random_state=3, **options
    )
    return clf.fit(X, y)


def pools_of(clf):
    return [as_tuples(clf.hypotheses_[c]) for c in clf.committee_.columns]


def state_of(clf):
    """Everything that a file would hold, as something to compare."""
    return to_bytes("x", classifier_tree(clf))


def assert_sound(clf):
    """Committee, boosters, handover, scouts and rows fit one another."""
    committee, grower = clf.committee_, clf.grower_
    sizes = [booster.n_hypotheses for booster in clf.boosters_]
    assert [c.stop - c.start for c in committee.columns] == sizes
    assert max(c.stop for c in committee.columns) == len(clf.hypotheses_)
    assert [alpha.size for alpha in clf.alpha_] == sizes
    assert all(np.isfinite(alpha).all() for alpha in clf.alpha_)
    if committee.deployed_weights is not None:
        assert [w.size for w in committee.deployed_weights.deployed] == sizes
        assert [w.size for w in committee.deployed_weights.started] == sizes
    if grower is not None:
        assert max(sizes) <= grower.growth.budget
        assert [scout.worth.size for scout in grower.searches] == sizes
        assert all(np.isfinite(scout.worth).all() for scout in grower.searches)
        assert [alpha.size for alpha in grower._alphas] == sizes
