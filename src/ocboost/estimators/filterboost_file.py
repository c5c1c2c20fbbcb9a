"""A FilterBoost as a tree for a file, and back only if it makes sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocboost._core.codec import Fields, Tree, generator_from, generator_tree, matrix_from, matrix_tree
from ocboost._core.kinds import HYPOTHESES, tree_within, within
from ocboost.errors import InputError
from ocboost.estimators.classifier_file import columns_from, columns_tree, set_columns
from ocboost.estimators.committee import plain
from ocboost.estimators.filter_rounds import FOR_EVER, TRIES, EdgeTest, FilterRounds, Voters
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.learners.choose import NAMED
from ocboost.streams.rows import stack_matrices

KIND = "FilterBoost"
SETTINGS = ("n_hypotheses", "epsilon", "delta", "tau", "sample", "most_examples", "random_state")
_COUNTS = ("round", "calls", "waited", "taken", "tries", "n_seen", "n_positive", "n_accepted")


def filterboost_tree(clf: Any) -> Tree:
    """What a file holds of a fitted FilterBoost."""
    clf.learner(), clf.settings()  # what `set_params` may have set must be something that can be loaded
    settings = {name: plain(getattr(clf, name)) for name in SETTINGS}
    if isinstance(clf.estimator, str) or clf.estimator is None:
        settings["estimator"] = clf.estimator
    return {
        "settings": settings,
        **columns_tree(clf),
        "machines": [_machine_tree(machine) for machine in clf.machines_],
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
    clf.machines_ = fields.read_all("machines", lambda one: _machine_from(one, n_features), n)
    accepts_missing = clf.learner().accepts_missing
    for machine in clf.machines_:
        values = [X if isinstance(X, np.ndarray) else X.data for X in machine.rows]
        fields.require(accepts_missing or not any(map(_has_nan, values)), "its sample must be finite")
    clf._ended = None if fields.takes("ended", None) else fields.text("ended")
    return clf


def _unfitted(fields: Fields, make: Any, estimator: Any) -> Any:
    """A FilterBoost with the settings of a file."""
    if "estimator" in fields:
        own = fields.plain("estimator")
        fields.require(own is None or own in NAMED, "its estimator is not known")
        estimator = own if estimator is None else estimator
    elif estimator is None:
        raise InputError(
            f"estimator must be given: {fields.name} was made with one that is a Python object, which no "
            "file holds. Use FilterBoost.load(path, estimator=...)."
        )
    clf = make(estimator, **{key: fields.plain(key) for key in SETTINGS})
    fields.make(clf.settings)
    return clf


def _machine_tree(machine: FilterRounds) -> Tree:
    def members(own: Hypotheses | None) -> Tree | None:
        return None if own is None else tree_within(own, HYPOTHESES)

    test = machine.test
    return {
        **{key: getattr(machine, key) for key in _COUNTS},
        "seed": list(machine.seed),
        "rng": generator_tree(machine.rng),
        "shown": list(machine.shown),
        "reason": machine.reason,
        "hypotheses": members(machine.voters.hypotheses),
        "edges": np.array(machine.voters.edges, dtype=np.float64),
        "candidate": members(machine.candidate),
        "test": None if test is None else {key: getattr(test, key) for key in ("n", "right", "tau", "delta")},
        "sample": matrix_tree(stack_matrices(machine.rows)) if machine.rows else None,
        "labels": np.concatenate([np.empty(0, np.int8), *machine.labels]),
    }


def _machine_from(fields: Fields, n_features: int) -> FilterRounds:
    seed, shown = fields.items("seed", 2), fields.items("shown", 2)
    fields.require(all(type(s) is int and 0 <= s < 1 << 31 for s in seed), "its seed makes no sense")
    fields.require(all(type(flag) is bool for flag in shown), "its classes shown make no sense")
    machine = FilterRounds((seed[0], seed[1]), (shown[0], shown[1]))
    for key in _COUNTS:
        setattr(machine, key, fields.count(key, 0, FOR_EVER - 1))
    possible = machine.round >= 1 and machine.n_accepted + machine.waited <= machine.n_seen
    possible = possible and machine.taken <= machine.calls <= machine.n_accepted
    possible = possible and machine.n_positive <= machine.n_seen and machine.tries <= TRIES
    fields.require(possible, "its counts make no sense")
    machine.reason = None if fields.takes("reason", None) else fields.text("reason")
    machine.rng = fields.read("rng", generator_from)
    machine.voters = _voters(fields, n_features)
    fields.require(len(machine.voters) < machine.round, "its rounds do not fit its hypotheses")
    machine.candidate = _members(fields, "candidate", n_features)
    machine.test = fields.read_any("test", _test_from)
    both = (machine.candidate is None) == (machine.test is None)
    fields.require(both, "a candidate and its test belong together")
    fields.require(machine.candidate is None or len(machine.candidate) == 1, "there is one candidate at most")
    fits = machine.test is None or machine.test.n == machine.taken
    fields.require(fits, "its test does not fit its counts")
    labels = fields.array("labels", np.int8, (None,))
    fits = bool(np.isin(labels, (-1, 1)).all()) and len(labels) <= machine.taken
    fields.require(fits, "its sample's labels must be -1 and +1")
    if len(labels):
        fields.require(machine.test is None, "a sample must be gone when its hypothesis is tested")
        machine.labels = [labels]
        machine.rows = [matrix_from(fields, "sample", len(labels), n_features)]
    else:
        fields.require(fields.takes("sample", None), "its sample has no labels")
    return machine


def _voters(fields: Fields, n_features: int) -> Voters:
    edges = fields.array("edges", np.float64, (None,))
    fields.require((np.abs(edges) < 0.5).all(), "its edges must lie between -0.5 and 0.5")
    found = _members(fields, "hypotheses", n_features)
    fits = len(edges) == (0 if found is None else len(found))
    fields.require(fits, "its edges do not fit its hypotheses")
    return Voters(found, tuple(edges.tolist()))


def _members(fields: Fields, key: str, n_features: int) -> Hypotheses | None:
    found: Hypotheses | None = fields.read_any(key, within(HYPOTHESES))
    fits = found is None or found.n_features == n_features
    fields.require(fits, f"its {key} do not fit its features")
    return found


def _test_from(fields: Fields) -> EdgeTest:
    tau, delta = fields.plain("tau"), fields.plain("delta")
    fields.require(type(tau) is float and type(delta) is float, "tau and delta must be numbers")
    test = fields.make(EdgeTest, tau=tau, delta=delta)
    test.n = fields.count("n", 0, FOR_EVER - 1)
    test.right = fields.count("right", 0, test.n)
    fields.require(not test.decided, "it must not have ended")
    return test


def _has_nan(values: Any) -> bool:
    return bool(np.isnan(values).any())
