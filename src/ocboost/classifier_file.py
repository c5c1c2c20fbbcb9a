"""A classifier as parameters and arrays for a file, and back only if they make sense.

A file made by the command line holds a schema and a history besides; they are `ocboost.model`'s.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .booster import Booster
from .booster_settings import SKETCH_DEFAULTS, booster_settings
from .boosters.registry import BOOSTERS
from .committee_file import committee_from_parts, committee_parts, is_plain, pair, plain, with_keep
from .errors import InputError, ModelFileError
from .growth import as_growth, learner_of
from .growth_file import grower_from_parts, grower_parts, growth_from_settings, growth_settings
from .learners.choose import NAMED, learner_for
from .margins import as_count
from .offsets import as_offset, require_classes
from .storage import Arrays, require

KIND = "OCBClassifier"
SETTINGS = ("n_hypotheses", *SKETCH_DEFAULTS, "batch_size", "n_jobs", "random_state")
_KEYS = {"settings", "weight_scale", "classes", "features", "committee"}  # and "grower", once there was one
GROWTH = "growth/"  # what arrays of the grower begin with
_CLASS_TYPES = {"i": int, "u": int, "f": float, "b": bool, "U": str, "O": str}
_CLASS_SIZES = {"i": "1248", "u": "1248", "f": "248", "b": "1"}
MOST_CLASSES = 10_000
MOST_TEXT = 1 << 26  # characters that the names of all classes may take, each as long as the longest


def classifier_parts(clf: Any, *, without_offset: bool = False) -> tuple[dict[str, Any], Arrays]:
    """What a file holds of a fitted classifier; an offset that is left out is given again to load it."""
    settings = {name: plain(getattr(clf, name)) for name in SETTINGS}
    _require_settings(clf, settings)
    if isinstance(clf.estimator, str) or clf.estimator is None:
        settings["estimator"] = clf.estimator
    if clf.booster != "ocb":  # an object is made again of the settings of its kind
        settings["booster"] = None if isinstance(clf.booster, Booster) else clf.booster
    growth = as_growth(clf.grow)
    settings["grow"] = growth_settings(growth, clf.estimator)
    names = getattr(clf, "feature_names_in_", None)
    described, arrays = committee_parts(clf.committee_, without_offset=without_offset)
    grower = None
    if clf.grower_ is not None and growth is not None:
        following = clf.grower_
        if following.growth != growth:  # set_params, which waits for the next example
            following = copy(following)
            following.follow(growth, learner_of(growth, clf.estimator))
        grower, kept = grower_parts(following)
        arrays.update({f"{GROWTH}{key}": array for key, array in kept.items()})
    parameters = {
        "settings": settings,
        "weight_scale": float(clf.weight_scale_),
        "classes": classes_out(clf.classes_),
        "features": [clf.n_features_in_, None if names is None else [str(name) for name in names]],
        "committee": described,
        "grower": grower,
    }
    return parameters, arrays


def _require_settings(clf: Any, settings: dict[str, Any]) -> None:
    """Refuse to write what would not be read: settings that `set_params` has set and nothing has checked."""
    if isinstance(clf.estimator, str):
        learner_for(clf.estimator)
    as_count(settings["n_hypotheses"], "n_hypotheses", 1, None, "It is how many to learn.")
    J = max(c.stop - c.start for c in clf.committee_.columns)
    as_count(settings["batch_size"], "batch_size", 1, None, "1 adds example by example.")
    growth, has_offset = as_growth(clf.grow), clf.committee_.offset is not None
    kind, chosen = booster_settings(clf.booster, settings, most=J, growth=growth, has_offset=has_offset)
    kind.check_settings(chosen, J)


def classifier_from_parts(
    parameters: dict[str, Any], arrays: Arrays, name: str, make: Any, offset: Any = None
) -> Any:
    """A classifier of what `classifier_parts` gave; ``make`` is its class.

    ``offset`` is one that the file does not hold.
    """
    require(
        set(parameters) - {"grower"} == _KEYS,
        name,
        f"a classifier has the entries {', '.join(sorted(_KEYS))}",
    )
    classes = classes_in(parameters["classes"], name)
    require(isinstance(parameters["committee"], dict), name, "its committee is not known")
    given = None if offset is None else as_offset(offset)
    kept = {key[len(GROWTH) :]: array for key, array in arrays.items() if key.startswith(GROWTH)}
    arrays = {key: array for key, array in arrays.items() if not key.startswith(GROWTH)}
    members = committee_from_parts(parameters["committee"], arrays, len(classes), name, given)
    require_classes(given, classes)
    pool = members.hypotheses
    settings = parameters["settings"]
    require(isinstance(settings, dict), name, "its settings are missing")
    estimator = settings.get("estimator", pool)
    settings = with_keep(settings)
    growth = growth_from_settings(settings.pop("grow", None), name)
    booster = settings.pop("booster", "ocb")
    if booster is None:
        booster = members.kind.made(1, members.settings)
    require(isinstance(booster, Booster) or booster in BOOSTERS, name, "its booster is not known")
    require(set(settings) - {"estimator"} == set(SETTINGS), name, "its settings are not known")
    require(all(map(is_plain, settings.values())), name, "its settings must be simple values")
    require(estimator is pool or estimator is None or estimator in NAMED, name, "its estimator is not known")
    for key in ("batch_size", "n_hypotheses"):
        require(type(settings[key]) is int and settings[key] >= 1, name, f"{key} must be a count")
    most, has_offset = max(c.stop - c.start for c in members.columns), members.offset is not None
    try:
        kind, chosen = booster_settings(booster, settings, most=most, growth=growth, has_offset=has_offset)
        kind.check_settings(chosen, most)
    except InputError as error:
        raise ModelFileError(f"{name} is not a valid model: {error}") from None
    require(kind is members.kind, name, "its boosters are of another kind than it says")
    clf = make(
        estimator,
        booster=booster,
        offset=members.offset if offset is None else offset,
        grow=growth,
        **{key: settings[key] for key in SETTINGS},
    )
    n_features, names = pair(parameters["features"], name, "features")
    fits = type(n_features) is int and n_features == pool.n_features
    require(fits, name, "its features do not fit its hypotheses")
    clf.n_features_in_ = n_features
    if names is not None:
        usable = isinstance(names, list) and len(names) == n_features
        require(usable and all(isinstance(n, str) for n in names), name, "its feature names make no sense")
        clf.feature_names_in_ = np.array(names, dtype=object)
    scale = parameters["weight_scale"]
    require(type(scale) is float and 0.0 < scale < np.inf, name, "its scale of weights must be positive")
    clf.classes_, clf.committee_, clf.weight_scale_ = classes, members, scale
    clf._offset_given, clf.grower_ = clf.offset, None
    clf._settled, clf._batch = None, settings["batch_size"]  # set_params may have waited for the next example
    grower = parameters.get("grower")
    if grower is not None:
        require(growth is not None, name, "its growth is not known")
        assert growth is not None
        clf.grower_ = grower_from_parts(grower, kept, growth, estimator, members, name, len(classes))
    else:
        require(not kept, name, "its growth is not known")
    return clf


def classes_out(classes: NDArray[Any]) -> list[Any]:
    """The classes as JSON has them."""
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
        return [kind, values]
    if f"{classes.dtype.itemsize}" not in _CLASS_SIZES.get(kind, ""):
        raise InputError(
            f"classes must be numbers or text to be saved; got {classes.dtype}. Convert the labels first."
        )
    return [f"{kind}{classes.dtype.itemsize}", values]


def classes_in(value: Any, name: str) -> NDArray[Any]:
    """The classes of what `classes_out` gave."""
    code, values = pair(value, name, "classes")
    known = {"U", "O", *(f"{kind}{size}" for kind, sizes in _CLASS_SIZES.items() for size in sizes)}
    require(isinstance(code, str) and code in known, name, "its classes are not known")
    require(isinstance(values, list), name, "its classes are not known")
    require(2 <= len(values) <= MOST_CLASSES, name, "there must be at least two classes")
    type_ = _CLASS_TYPES[code[0]]
    require(all(type(v) is type_ for v in values), name, "its classes must be of one type")
    if type_ is str:
        require(_fit_in_memory(values), name, "its classes are too large")
    if type_ is int:  # before NumPy sees them: 1.26 makes 2⁶⁴ - 1 of a -1
        limits = np.iinfo(code)
        inside = all(limits.min <= value <= limits.max for value in values)
        require(inside, name, "its classes are too large or too small for their type")
    with np.errstate(over="ignore"):
        classes: NDArray[Any] = np.array(values, dtype=code)
    require(code[0] != "f" or bool(np.isfinite(classes).all()), name, "its classes must be finite")
    require(bool((classes[1:] > classes[:-1]).all()), name, "its classes must be sorted")
    return classes


def _fit_in_memory(names: list[str]) -> bool:
    """Whether an array of text holds these names; each takes as much as the longest."""
    return max(map(len, names)) * len(names) <= MOST_TEXT
