"""An `OCBClassifier` as a tree for a file, and back, with every entry checked.

A file made by the command line also holds a schema and a history (`ocboost.deployment.model`).
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import (
    Fields,
    Tree,
    generator_from,
    generator_tree,
    is_plain,
    matrix_from,
    matrix_tree,
)
from ocboost._core.kinds import BOOSTER, HYPOTHESES, is_known, known, nested_reader, nested_tree
from ocboost._core.labels import classes_from, classes_tree
from ocboost._core.locks import Guard
from ocboost.boosters.base import Booster
from ocboost.boosters.registry import BOOSTERS
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.errors import InputError, NotSavableError
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS, booster_settings, require_kind
from ocboost.estimators.committee import Committee
from ocboost.estimators.decisions import ClassShares, decision_tree, read_decision
from ocboost.estimators.deployed_weights import DeployedWeights
from ocboost.estimators.growth import CandidateSearch, Growth, HypothesisGrower, as_growth, learner_of
from ocboost.estimators.start_weights import StartWeights
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.adaboost import MAX_WEIGHT
from ocboost.hypotheses.base import MAX_COLUMNS
from ocboost.learners import LEARNERS, learner_for
from ocboost.offsets import Offset, as_offset, require_classes
from ocboost.offsets.base import offset_from, offset_tree
from ocboost.streams.recent_rows import RecentRows
from ocboost.streams.rows import stack_matrices
from ocboost.streams.schema import Schema

CLASSIFIER_KIND = "OCBClassifier"  # the name of the kind in files
MAX_EVENTS = 10_000  # of the history in a file
_CLASSIFIER_SETTINGS = ("n_hypotheses", *SKETCH_DEFAULTS, "batch_size", "n_jobs", "random_state")
_GROWTH_SETTINGS = ("budget", "sample", "candidates", "test", "delta", "every", "learner")


# The classifier --------------------------------------------------------------------------------------------


def classifier_tree(clf: Any, *, without_offset: bool = False) -> Tree:
    """What a file holds of a fitted classifier; an offset that is left out is given again to load it."""
    settings = {name: plain(getattr(clf, name)) for name in _CLASSIFIER_SETTINGS}
    committee = _checked_committee(clf, settings)
    if isinstance(clf.estimator, str) or clf.estimator is None:
        settings["estimator"] = clf.estimator
    # An object is made again from the settings of its kind.
    settings["booster"] = None if isinstance(clf.booster, Booster) else clf.booster
    growth = as_growth(clf.grow)
    grower = None if growth is None else clf.grower_
    if growth is not None and grower is not None and grower.growth != growth:
        grower = copy(grower)  # set_params takes effect with the next example
        grower.apply_settings(growth, learner_of(growth, clf.estimator))
    return {
        "settings": {**settings, "grow": _growth_tree(growth, clf.estimator)},
        "weight_scale": float(clf.weight_scale_),
        **columns_tree(clf),
        **decision_tree(clf),
        "class_shares": clf.class_shares_.tree(),
        "committee": committee_tree(committee, without_offset=without_offset),
        "grower": None if grower is None else _grower_tree(grower),
        **table_tree(clf),
    }


def _checked_committee(clf: Any, settings: dict[str, Any]) -> Committee:
    """The committee to write. Settings that could not be loaded are refused: `set_params` checks nothing.

    Of a booster that is an object the file holds the committee's settings, so these are applied here.
    """
    if isinstance(clf.estimator, str):
        learner_for(clf.estimator)
    as_count(settings["n_hypotheses"], "n_hypotheses", 1, None, "It is how many to learn.")
    committee: Committee = clf.committee_
    J = max(c.stop - c.start for c in committee.columns)
    as_count(settings["batch_size"], "batch_size", 1, None, "1 adds example by example.")
    growth, has_offset = as_growth(clf.grow), committee.offset is not None
    kind, chosen = booster_settings(clf.booster, settings, most=J, growth=growth, has_offset=has_offset)
    kind.check_settings(chosen, J)
    require_kind(kind, committee.kind)
    if isinstance(clf.booster, Booster):
        committee = copy(committee)
        committee.apply_settings(chosen)
    return committee


def classifier_from_tree(fields: Fields, make: Any, offset: Any = None) -> Any:
    """A classifier from what `classifier_tree` gave; ``make`` is its class.

    ``offset`` is one that the file does not hold.
    """
    given = None if offset is None else as_offset(offset)
    classes, n_features, names = columns_from(fields)
    committee = fields.read("committee", lambda one: committee_from_tree(one, len(classes), given))
    require_classes(given, classes)
    clf = fields.read("settings", lambda one: _unfitted(one, committee, make, offset))
    fields.require(n_features == committee.hypotheses.n_features, "its features do not fit its hypotheses")
    set_columns(clf, classes, n_features, names)
    take_table(clf, fields)
    clf.set_params(**read_decision(fields, classes))
    clf.class_shares_ = shares_from(fields, len(classes))
    clf.committee_, clf.weight_scale_ = committee, fields.number("weight_scale", math.ulp(0.0), np.inf)
    clf._offset_given = clf.offset
    clf._applied, clf._batch = None, clf.batch_size  # set_params may have waited for the next example
    fields.require(clf.grow is not None or fields.takes("grower", None), "its growth has no settings")
    clf.grower_ = None
    if clf.grow is not None:
        clf.grower_ = fields.read_optional(
            "grower", lambda one: _grower_from_tree(one, clf.grow, clf.estimator, committee, len(classes))
        )
    return clf


def shares_from(fields: Fields, n_classes: int) -> ClassShares:
    """The shares of the classes lately; older files have none."""
    if "class_shares" not in fields:
        return ClassShares(n_classes)
    return fields.read("class_shares", lambda one: ClassShares.from_tree(one, n_classes))


def _unfitted(fields: Fields, committee: Committee, make: Any, offset: Any) -> Any:
    """A classifier with the settings of a file, which must be those of its committee."""
    growth = fields.read_optional("grow", _growth_from_tree)
    booster = fields.plain("booster")
    if booster is None:
        booster = committee.kind.create(1, committee.settings)
    fields.require(isinstance(booster, Booster) or booster in BOOSTERS, "its booster is not known")
    estimator = fields.plain("estimator") if "estimator" in fields else committee.hypotheses
    named = estimator is committee.hypotheses or estimator is None or estimator in LEARNERS
    fields.require(named, "its estimator is not known")
    settings = BoostingSketch.read_settings(fields, _CLASSIFIER_SETTINGS)
    for key in ("batch_size", "n_hypotheses"):
        fields.require(type(settings[key]) is int and settings[key] >= 1, f"{key} must be a count")
    most, has_offset = max(c.stop - c.start for c in committee.columns), committee.offset is not None
    kind, chosen = fields.make(
        booster_settings, booster, settings, most=most, growth=growth, has_offset=has_offset
    )
    fields.make(kind.check_settings, chosen, most)
    fields.require(kind is committee.kind, "its boosters are of another kind than it says")
    given = committee.offset if offset is None else offset
    return make(estimator, booster=booster, offset=given, grow=growth, **settings)


def plain(value: Any) -> Any:
    """A setting for a file, as one of Python's own values; None if it has no such form."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if is_plain(value) else None


# The committee ---------------------------------------------------------------------------------------------


def committee_tree(committee: Committee, *, without_offset: bool = False) -> Tree:
    """What a file holds; an offset that is left out is given again when it is loaded."""
    if not all(is_known(booster, BOOSTER) for booster in committee.boosters):
        raise NotSavableError(
            f"booster must be one of ocboost's own to be saved; got {committee.kind.__name__}, which is "
            "Python code that no file holds. Save its weights, clf.alpha_."
        )
    deployed = committee.deployed_weights
    return {
        "booster": committee.kind.kind,
        "settings": {name: plain(value) for name, value in committee.settings.items()},
        "hypotheses": nested_tree(committee.hypotheses, HYPOTHESES),
        "columns": [[c.start, c.stop] for c in committee.columns],
        "boosters": [booster.tree() for booster in committee.boosters],
        "handover": None if deployed is None else deployed.tree(),
        **({} if committee.start_weights is None else {"start": committee.start_weights.tree()}),
        "offset": offset_tree(committee.offset, without=without_offset),
    }


def committee_from_tree(fields: Fields, n_classes: int, offset: Offset | None = None) -> Committee:
    """A committee from what `committee_tree` gave; ``offset`` is one that the file does not hold."""
    committee = Committee.__new__(Committee)
    committee._guard = Guard()
    committee.hypotheses = fields.read("hypotheses", nested_reader(HYPOTHESES))
    n = 1 if n_classes == 2 else n_classes
    columns = fields.items("columns", n)
    fields.require(all(_is_span(c, len(committee.hypotheses)) for c in columns), "its columns do not fit")
    committee.columns = [slice(*c) for c in columns]
    committee.kind = known(fields.text("booster"), BOOSTER, fields.name).load()
    committee.settings = {**committee.kind.later_settings, **fields.read("settings", Fields.rest)}
    committee.boosters = fields.read_all("boosters", committee.kind.from_tree, n)
    for booster, (start, stop) in zip(committee.boosters, columns, strict=True):
        fields.require(booster.n_hypotheses == stop - start, "a booster does not fit its hypotheses")
        fields.require(booster.has_settings(committee.settings), "a booster does not fit its settings")
    sizes = [booster.n_hypotheses for booster in committee.boosters]
    committee.deployed_weights = fields.read_optional(
        "handover", lambda one: DeployedWeights.from_tree(one, sizes)
    )
    committee.offset = offset_from(fields, "offset", offset)
    if committee.offset is not None:
        fields.require(committee.deployed_weights is None, "it has a handover and an offset")
        fits = offset is not None or _has_scores(committee)
        fields.require(fits, "its offset does not fit its classes or features")
    if "start" in fields:
        n_features = committee.hypotheses.n_features
        committee.start_weights = StartWeights.from_fields(fields, "start", sizes, n_features)
    else:  # a file of an earlier version: what changes from now on
        committee.remember_start()
    return committee


def _is_span(value: Any, J: int) -> bool:
    """Whether it is where some of J hypotheses begin and end."""
    fits = isinstance(value, list) and len(value) == 2 and all(type(place) is int for place in value)
    return fits and 0 <= value[0] < value[1] <= J


def _has_scores(committee: Committee) -> bool:
    """Whether the offset has scores for rows of these features and for these classes."""
    try:
        return committee.scores_of(np.zeros((1, committee.hypotheses.n_features))) is not None
    except InputError:
        return False


# Growth ----------------------------------------------------------------------------------------------------


def _growth_tree(growth: Growth | None, estimator: Any) -> Tree | None:
    if growth is None:
        return None
    has_name = isinstance(growth.learner, str)
    if growth.learner is None:
        has_name = isinstance(estimator, str | Hypotheses | None)
    if not has_name:
        raise NotSavableError(
            "a classifier that grows can be saved if what learns its hypotheses has a name; this one is a "
            "Python object, which no file holds. Use grow=Growth(..., learner='stump'), or "
            "set_params(grow=None) first."
        )
    return {name: getattr(growth, name) for name in _GROWTH_SETTINGS}


def _growth_from_tree(fields: Fields) -> Growth:
    settings = {name: fields.plain(name) for name in _GROWTH_SETTINGS}
    learner = settings["learner"]
    fields.require(learner is None or learner in LEARNERS, "its learner is not known")
    numbers = all(type(settings[name]) in (int, float) for name in _GROWTH_SETTINGS[:-1])
    fields.require(numbers, "its settings must be numbers")
    return fields.make(Growth, **settings)


def _grower_tree(grower: HypothesisGrower) -> Tree:
    """What a file holds of a grower, its settings aside."""
    return {
        "since": grower._since,
        "n_grown": grower.n_grown,
        "n_retired": grower.n_retired,
        "luck": [generator_tree(rng) for rng in (grower._filter_rng, grower._learner_rng)],
        "recent": grower.recent.tree(),
        "scouts": [
            {
                "n_tested": search.n_tested,
                "sample": matrix_tree(stack_matrices(search.sample)) if search.sample else None,
                "candidates": hypotheses_tree(search.candidates),
                "worth": search.worth,
                "alpha": alpha,
                "right": search.right,
                "labels": np.array(search.labels, np.int8),
            }
            for search, alpha in zip(grower.searches, grower._alphas, strict=True)
        ],
    }


def _grower_from_tree(
    fields: Fields, growth: Growth, estimator: Any, committee: Committee, n_classes: int
) -> HypothesisGrower:
    """A grower from what `_grower_tree` gave; it continues exactly as the saved one would have."""
    hypotheses, boosters = committee.hypotheses, committee.boosters
    grower = HypothesisGrower(growth, learner_of(growth, estimator), committee, 0)
    grower.recent = fields.read(
        "recent", lambda recent: RecentRows.from_tree(recent, hypotheses.n_features, n_classes)
    )
    if len(grower.recent):
        fields.make(hypotheses.check, grower.recent.last(len(grower.recent)).X)
    grower._since = fields.count("since", 0, min(growth.every - 1, len(grower.recent)))
    grower.n_grown, grower.n_retired = fields.count("n_grown"), fields.count("n_retired")
    grower._filter_rng, grower._learner_rng = fields.read_all("luck", generator_from, 2)
    sizes = iter([booster.n_hypotheses for booster in boosters])
    found = fields.read_all(
        "scouts", lambda one: _search_from_tree(one, next(sizes), growth, hypotheses), len(boosters)
    )
    grower.searches = [search for search, _ in found]
    grower._alphas = [alpha for _, alpha in found]
    return grower


def _search_from_tree(
    fields: Fields, J: int, growth: Growth, hypotheses: Hypotheses
) -> tuple[CandidateSearch, NDArray[np.float64]]:
    """A search, and the α of its booster."""
    search = CandidateSearch(J)
    search.worth, alpha = (fields.array(key, np.float64, (J,)) for key in ("worth", "alpha"))
    fits = ((search.worth >= 0.0) & (search.worth < MAX_WEIGHT) & (np.abs(alpha) < MAX_WEIGHT)).all()
    fields.require(fits, "worth and alpha must be finite")
    labels = fields.array("labels", np.int8, (None,))
    fields.require(np.isin(labels, (-1, 1)).all(), "labels must be -1 and +1")
    search.labels = labels.tolist()
    if search.labels:
        X = matrix_from(fields, "sample", len(labels), hypotheses.n_features)
        fields.make(hypotheses.check, X)
        search.sample = [X[i : i + 1] for i in range(len(labels))]
    else:
        fields.require(fields.takes("sample", None), "its sample has no labels")
    search.candidates = hypotheses_from(fields, "candidates", hypotheses.n_features)
    size = 0 if search.candidates is None else len(search.candidates)
    search.n_tested = fields.count("n_tested", 0, growth.test - 1 if size else 0)
    search.right = fields.array("right", np.int64, (size,))
    inside = ((search.right >= 0) & (search.right <= search.n_tested)).all()
    fields.require(inside, "right must be numbers of the rows that were tested")
    return search, alpha


def hypotheses_tree(hypotheses: Hypotheses | None) -> Tree | None:
    """What a file holds of hypotheses, if there are any."""
    return None if hypotheses is None else nested_tree(hypotheses, HYPOTHESES)


def hypotheses_from(fields: Fields, key: str, n_features: int) -> Hypotheses | None:
    """The hypotheses of an entry, over so many features, or None."""
    found: Hypotheses | None = fields.read_optional(key, nested_reader(HYPOTHESES))
    fits = found is None or found.n_features == n_features
    fields.require(fits, f"its {key} do not fit its features")
    return found


# Features and classes --------------------------------------------------------------------------------------


def columns_tree(clf: Any) -> Tree:
    """What a file holds of the columns of a fitted estimator: its features and its classes."""
    has_schema = getattr(clf, "schema_", None) is not None
    names = None if has_schema else getattr(clf, "feature_names_in_", None)
    return {
        "n_features": clf._n_encoded,
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": classes_tree(clf.classes_),
    }


def columns_from(fields: Fields) -> tuple[NDArray[Any], int, list[str] | None]:
    """The classes, the number of features and their names of what `columns_tree` gave."""
    classes = fields.read("classes", classes_from)
    n = fields.count("n_features", 1, MAX_COLUMNS)
    names = None if fields.takes("feature_names", None) else fields.items("feature_names", n)
    fields.require(all(isinstance(name, str) for name in names or ()), "feature_names must be texts")
    return classes, n, names


def set_columns(clf: Any, classes: NDArray[Any], n_features: int, names: list[str] | None) -> None:
    """Give an estimator what `columns_from` has found."""
    clf.classes_, clf.n_features_in_ = classes, n_features
    if names is not None:
        clf.feature_names_in_ = np.array(names, dtype=object)


def table_tree(clf: Any) -> Tree:
    """What a file holds of the tables that a classifier takes, and of the history of its model."""
    schema = clf.schema_
    return {"schema": None if schema is None else schema.as_dict(), "history": list(clf._history)}


def take_table(clf: Any, fields: Fields) -> None:
    """Give a classifier what `table_tree` gave, unless it was taken already."""
    if "history" in fields:
        history = fields.items("history", most=MAX_EVENTS)
        fields.require(all(isinstance(event, dict) for event in history), "its history is not known")
        clf._history = tuple(history)
    described = fields.take("schema") if "schema" in fields else None
    if described is not None:
        fields.make(clf.set_schema, Schema.from_dict(described, fields.name))
