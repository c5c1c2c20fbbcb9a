"""A FilterBoost as a tree for a file, and back, with every entry checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocboost._core.codec import Fields, Tree, generator_from, generator_tree, matrix_from, matrix_tree
from ocboost.errors import InputError
from ocboost.estimators.binary_filterboost import (
    MAX_DRAWS,
    MAX_FAILED_TESTS,
    BinaryFilterBoost,
    EdgeTest,
    Voters,
)
from ocboost.estimators.classifier_file import (
    columns_from,
    columns_tree,
    hypotheses_from,
    hypotheses_tree,
    plain,
    set_columns,
)
from ocboost.learners import LEARNERS
from ocboost.streams.rows import stack_matrices

FILTERBOOST_KIND = "FilterBoost"  # the name of the kind in files
_FILTERBOOST_SETTINGS = ("n_hypotheses", "epsilon", "delta", "tau", "sample", "most_examples", "random_state")
_COUNTS = ("round", "calls", "waited", "taken", "tries", "n_seen", "n_positive", "n_accepted")


def filterboost_tree(clf: Any) -> Tree:
    """What a file holds of a fitted FilterBoost."""
    clf.learner(), clf.settings()  # refuse what `set_params` set and could not be loaded
    settings = {name: plain(getattr(clf, name)) for name in _FILTERBOOST_SETTINGS}
    if isinstance(clf.estimator, str) or clf.estimator is None:
        settings["estimator"] = clf.estimator
    return {
        "settings": settings,
        **columns_tree(clf),
        "machines": [_booster_tree(booster) for booster in clf.boosters_],
        "ended": clf._ended,
    }


def filterboost_from_tree(fields: Fields, make: Any, estimator: Any = None) -> Any:
    """A FilterBoost of what `filterboost_tree` gave; ``make`` is its class.

    ``estimator`` is one that the file does not hold.
    """
    clf = fields.read("settings", lambda settings: _unfitted(settings, make, estimator))
    classes, n_features, names = columns_from(fields)
    set_columns(clf, classes, n_features, names)
    n = 1 if len(classes) == 2 else len(classes)
    clf.boosters_ = fields.read_all("machines", lambda one: _booster_from(one, n_features), n)
    accepts_missing = clf.learner().accepts_missing
    for booster in clf.boosters_:
        values = [X if isinstance(X, np.ndarray) else X.data for X in booster.rows]
        finite = not any(np.isnan(each).any() for each in values)
        fields.require(accepts_missing or finite, "its sample must be finite")
    clf._ended = None if fields.takes("ended", None) else fields.text("ended")
    return clf


def _unfitted(fields: Fields, make: Any, estimator: Any) -> Any:
    """A FilterBoost with the settings of a file."""
    if "estimator" in fields:
        own = fields.plain("estimator")
        fields.require(own is None or own in LEARNERS, "its estimator is not known")
        estimator = own if estimator is None else estimator
    elif estimator is None:
        raise InputError(
            f"estimator must be given: {fields.name} was made with one that is a Python object, which no "
            "file holds. Use FilterBoost.load(path, estimator=...)."
        )
    clf = make(estimator, **{key: fields.plain(key) for key in _FILTERBOOST_SETTINGS})
    fields.make(clf.settings)
    return clf


def _booster_tree(booster: BinaryFilterBoost) -> Tree:
    test = booster.test
    return {
        **{key: getattr(booster, key) for key in _COUNTS},
        "seed": list(booster.seed),
        "rng": generator_tree(booster.rng),
        "shown": list(booster.shown),
        "reason": booster.reason,
        "hypotheses": hypotheses_tree(booster.voters.hypotheses),
        "edges": np.array(booster.voters.edges, dtype=np.float64),
        "candidate": hypotheses_tree(booster.candidate),
        "test": None if test is None else {key: getattr(test, key) for key in ("n", "right", "tau", "delta")},
        "sample": matrix_tree(stack_matrices(booster.rows)) if booster.rows else None,
        "labels": np.concatenate([np.empty(0, np.int8), *booster.labels]),
    }


def _booster_from(fields: Fields, n_features: int) -> BinaryFilterBoost:
    seed, shown = fields.items("seed", 2), fields.items("shown", 2)
    fields.require(all(type(s) is int and 0 <= s < 1 << 31 for s in seed), "its seed makes no sense")
    fields.require(all(type(flag) is bool for flag in shown), "its classes shown make no sense")
    booster = BinaryFilterBoost((seed[0], seed[1]), (shown[0], shown[1]))
    for key in _COUNTS:
        setattr(booster, key, fields.count(key, 0, MAX_DRAWS - 1))
    possible = booster.round >= 1 and booster.n_accepted + booster.waited <= booster.n_seen
    possible = possible and booster.taken <= booster.calls <= booster.n_accepted
    possible = possible and booster.n_positive <= booster.n_seen and booster.tries <= MAX_FAILED_TESTS
    fields.require(possible, "its counts make no sense")
    booster.reason = None if fields.takes("reason", None) else fields.text("reason")
    booster.rng = fields.read("rng", generator_from)
    booster.voters = _voters(fields, n_features)
    fields.require(len(booster.voters) < booster.round, "its rounds do not fit its hypotheses")
    booster.candidate = hypotheses_from(fields, "candidate", n_features)
    booster.test = fields.read_optional("test", _test_from)
    both = (booster.candidate is None) == (booster.test is None)
    fields.require(both, "a candidate and its test belong together")
    fields.require(booster.candidate is None or len(booster.candidate) == 1, "there is one candidate at most")
    fits = booster.test is None or booster.test.n == booster.taken
    fields.require(fits, "its test does not fit its counts")
    labels = fields.array("labels", np.int8, (None,))
    fits = bool(np.isin(labels, (-1, 1)).all()) and len(labels) <= booster.taken
    fields.require(fits, "its sample's labels must be -1 and +1")
    if len(labels):
        fields.require(booster.test is None, "a sample must be gone when its hypothesis is tested")
        booster.labels = [labels]
        booster.rows = [matrix_from(fields, "sample", len(labels), n_features)]
    else:
        fields.require(fields.takes("sample", None), "its sample has no labels")
    return booster


def _voters(fields: Fields, n_features: int) -> Voters:
    edges = fields.array("edges", np.float64, (None,))
    fields.require((np.abs(edges) < 0.5).all(), "its edges must lie between -0.5 and 0.5")
    found = hypotheses_from(fields, "hypotheses", n_features)
    fits = len(edges) == (0 if found is None else len(found))
    fields.require(fits, "its edges do not fit its hypotheses")
    return Voters(found, tuple(edges.tolist()))


def _test_from(fields: Fields) -> EdgeTest:
    tau, delta = fields.plain("tau"), fields.plain("delta")
    fields.require(type(tau) is float and type(delta) is float, "tau and delta must be numbers")
    test = fields.make(EdgeTest, tau=tau, delta=delta)
    test.n = fields.count("n", 0, MAX_DRAWS - 1)
    test.right = fields.count("right", 0, test.n)
    fields.require(not test.decided, "it must not have ended")
    return test
