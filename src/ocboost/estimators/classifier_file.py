"""A classifier as a tree for a file, and back only if it makes sense.

A schema and a history, which a file made by the command line holds besides, are `ocboost.deployment.model`'s.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, Tree
from ocboost.boosters.base import Booster
from ocboost.boosters.registry import BOOSTERS
from ocboost.errors import InputError
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS, booster_settings, require_kind
from ocboost.estimators.committee import Committee, committee_from_tree, committee_tree, plain
from ocboost.estimators.growth import (
    as_growth,
    grower_from_tree,
    grower_tree,
    growth_from_tree,
    growth_tree,
    learner_of,
)
from ocboost.hypotheses.base import MAX_COLUMNS
from ocboost.hypotheses.learners.choose import NAMED, learner_for
from ocboost.offsets import as_offset, require_classes

KIND = "OCBClassifier"
SETTINGS = ("n_hypotheses", *SKETCH_DEFAULTS, "batch_size", "n_jobs", "random_state")
_CLASS_TYPES = {"i": int, "u": int, "f": float, "b": bool, "U": str, "O": str}
_CLASS_SIZES = {"i": "1248", "u": "1248", "f": "248", "b": "1"}
MOST_CLASSES = 10_000
MOST_TEXT = 1 << 26  # characters that the names of all classes may take, each as long as the longest


def classifier_tree(clf: Any, *, without_offset: bool = False) -> Tree:
    """What a file holds of a fitted classifier; an offset that is left out is given again to load it."""
    settings = {name: plain(getattr(clf, name)) for name in SETTINGS}
    committee = _settled_committee(clf, settings)
    if isinstance(clf.estimator, str) or clf.estimator is None:
        settings["estimator"] = clf.estimator
    # An object is made again of the settings of its kind.
    settings["booster"] = None if isinstance(clf.booster, Booster) else clf.booster
    growth = as_growth(clf.grow)
    grower = None if growth is None else clf.grower_
    if growth is not None and grower is not None and grower.growth != growth:
        grower = copy(grower)  # set_params, which waits for the next example
        grower.follow(growth, learner_of(growth, clf.estimator))
    return {
        "settings": {**settings, "grow": growth_tree(growth, clf.estimator)},
        "weight_scale": float(clf.weight_scale_),
        **columns_tree(clf),
        "committee": committee_tree(committee, without_offset=without_offset),
        "grower": None if grower is None else grower_tree(grower),
        "schema": None,
        "history": [],
    }


def _settled_committee(clf: Any, settings: dict[str, Any]) -> Committee:
    """The committee to write, and no settings that would not be read: `set_params` has checked nothing.

    Of a booster that is an object the file holds the committee's settings, so these follow it here.
    """
    if isinstance(clf.estimator, str):
        learner_for(clf.estimator)
    as_count(settings["n_hypotheses"], "n_hypotheses", 1, None, "It is how many to learn.")
    J = max(c.stop - c.start for c in clf.committee_.columns)
    as_count(settings["batch_size"], "batch_size", 1, None, "1 adds example by example.")
    growth, has_offset = as_growth(clf.grow), clf.committee_.offset is not None
    kind, chosen = booster_settings(clf.booster, settings, most=J, growth=growth, has_offset=has_offset)
    kind.check_settings(chosen, J)
    committee: Committee = clf.committee_
    require_kind(kind, committee.kind)
    if isinstance(clf.booster, Booster):
        committee = copy(committee)
        committee.follow(chosen)
    return committee


def classifier_from_tree(fields: Fields, make: Any, offset: Any = None) -> Any:
    """A classifier of what `classifier_tree` gave; ``make`` is its class.

    ``offset`` is one that the file does not hold.
    """
    given = None if offset is None else as_offset(offset)
    classes, n_features, names = columns_from(fields)
    members = fields.read("committee", lambda one: committee_from_tree(one, len(classes), given))
    require_classes(given, classes)
    clf = fields.read("settings", lambda one: _unfitted(one, members, make, offset))
    fields.require(n_features == members.hypotheses.n_features, "its features do not fit its hypotheses")
    set_columns(clf, classes, n_features, names)
    clf.committee_, clf.weight_scale_ = members, fields.number("weight_scale", math.ulp(0.0), np.inf)
    clf._offset_given = clf.offset
    clf._settled, clf._batch = None, clf.batch_size  # set_params may have waited for the next example
    fields.require(clf.grow is not None or fields.takes("grower", None), "its growth has no settings")
    clf.grower_ = None
    if clf.grow is not None:
        clf.grower_ = fields.read_any(
            "grower", lambda one: grower_from_tree(one, clf.grow, clf.estimator, members, len(classes))
        )
    return clf


def _unfitted(fields: Fields, members: Committee, make: Any, offset: Any) -> Any:
    """A classifier with the settings of a file, which must be those of its committee."""
    growth = fields.read_any("grow", growth_from_tree)
    booster = fields.plain("booster")
    if booster is None:
        booster = members.kind.made(1, members.settings)
    fields.require(isinstance(booster, Booster) or booster in BOOSTERS, "its booster is not known")
    estimator = fields.plain("estimator") if "estimator" in fields else members.hypotheses
    named = estimator is members.hypotheses or estimator is None or estimator in NAMED
    fields.require(named, "its estimator is not known")
    settings = {key: fields.plain(key) for key in SETTINGS}
    for key in ("batch_size", "n_hypotheses"):
        fields.require(type(settings[key]) is int and settings[key] >= 1, f"{key} must be a count")
    most, has_offset = max(c.stop - c.start for c in members.columns), members.offset is not None
    kind, chosen = fields.make(
        booster_settings, booster, settings, most=most, growth=growth, has_offset=has_offset
    )
    fields.make(kind.check_settings, chosen, most)
    fields.require(kind is members.kind, "its boosters are of another kind than it says")
    given = members.offset if offset is None else offset
    return make(estimator, booster=booster, offset=given, grow=growth, **settings)


def columns_tree(clf: Any) -> Tree:
    """What a file holds of the columns of a fitted estimator: its features and its classes."""
    names = getattr(clf, "feature_names_in_", None)
    return {
        "n_features": clf.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": _classes_tree(clf.classes_),
    }


def columns_from(fields: Fields) -> tuple[NDArray[Any], int, list[str] | None]:
    """The classes, the number of features and their names of what `columns_tree` gave."""
    classes = fields.read("classes", _classes_from)
    n = fields.count("n_features", 1, MAX_COLUMNS)
    names = None if fields.takes("feature_names", None) else fields.items("feature_names", n)
    fields.require(all(isinstance(name, str) for name in names or ()), "feature_names must be texts")
    return classes, n, names


def set_columns(clf: Any, classes: NDArray[Any], n_features: int, names: list[str] | None) -> None:
    """Give an estimator what `columns_from` has found."""
    clf.classes_, clf.n_features_in_ = classes, n_features
    if names is not None:
        clf.feature_names_in_ = np.array(names, dtype=object)


def _classes_tree(classes: NDArray[Any]) -> Tree:
    kind, values = classes.dtype.kind, classes.tolist()
    if len(values) > MOST_CLASSES:
        raise InputError(
            f"classes must be at most {MOST_CLASSES:,} to be saved; got {len(values):,}. Group the rare ones."
        )
    if kind == "U" or (kind == "O" and all(isinstance(value, str) for value in values)):
        if not _fit_in_memory(values):
            raise InputError(
                f"classes must have names that are short enough to be saved; the longest has "
                f"{max(map(len, values)):,} letters. Shorten it."
            )
        return {"type": kind, "values": values}
    if f"{classes.dtype.itemsize}" not in _CLASS_SIZES.get(kind, ""):
        raise InputError(
            f"classes must be numbers or text to be saved; got {classes.dtype}. Convert the labels first."
        )
    return {"type": f"{kind}{classes.dtype.itemsize}", "values": values}


def _classes_from(fields: Fields) -> NDArray[Any]:
    code, values = fields.text("type"), fields.items("values", most=MOST_CLASSES)
    known = {"U", "O", *(f"{kind}{size}" for kind, sizes in _CLASS_SIZES.items() for size in sizes)}
    fields.require(code in known, "their type is not known")
    fields.require(len(values) >= 2, "there must be at least two")
    type_ = _CLASS_TYPES[code[0]]
    fields.require(all(type(v) is type_ for v in values), "they must be of one type")
    if type_ is str:
        fields.require(_fit_in_memory(values), "they are too large")
    if type_ is int:  # before NumPy sees them: 1.26 makes 2⁶⁴ - 1 of a -1
        limits = np.iinfo(code)
        inside = all(limits.min <= value <= limits.max for value in values)
        fields.require(inside, "they are too large or too small for their type")
    with np.errstate(over="ignore"):
        classes: NDArray[Any] = np.array(values, dtype=code)
    fields.require(code[0] != "f" or np.isfinite(classes).all(), "they must be finite")
    fields.require((classes[1:] > classes[:-1]).all(), "they must be sorted")
    return classes


def _fit_in_memory(names: list[str]) -> bool:
    """Whether an array of text holds these names; each takes as much as the longest."""
    return max(map(len, names)) * len(names) <= MOST_TEXT
