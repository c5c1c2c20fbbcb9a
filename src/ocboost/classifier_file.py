"""A classifier as parameters and arrays for a file, and back only if they make sense.

A file made by the command line holds a schema and a history besides; they are `ocboost.model`'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .handover import Handover
from .hypotheses import hypotheses_from_parts
from .sketch import BoostingSketch
from .storage import Arrays, require

KIND = "OCBClassifier"
SETTINGS = (
    "n_hypotheses",
    "order",
    "head",
    "tail",
    "smoothing",
    "forgetting",
    "correction",
    "batch_size",
    "n_jobs",
    "random_state",
)
_KEYS = {"settings", "classes", "features", "hypotheses", "columns", "boosters", "handover"}
_CLASS_TYPES = {"i": int, "f": float, "b": bool, "U": str}
MOST_CLASSES = 10_000


def classifier_parts(clf: Any) -> tuple[dict[str, Any], Arrays]:
    """What a file holds of a fitted classifier."""
    arrays: Arrays = {}

    def put(prefix: str, parts: tuple[dict[str, Any], Arrays]) -> dict[str, Any]:
        arrays.update({f"{prefix}/{key}": array for key, array in parts[1].items()})
        return parts[0]

    settings = {name: _plain(getattr(clf, name)) for name in SETTINGS}
    if isinstance(clf.estimator, str) or clf.estimator is None:
        settings["estimator"] = clf.estimator
    names = getattr(clf, "feature_names_in_", None)
    handover = clf._handover
    parameters = {
        "settings": settings,
        "classes": _classes_out(clf.classes_),
        "features": [clf.n_features_in_, None if names is None else [str(name) for name in names]],
        "hypotheses": [clf.hypotheses_.kind, put("hypotheses", clf.hypotheses_.parts())],
        "columns": [[c.start, c.stop] for c in clf._columns],
        "boosters": [put(f"booster/{k}", booster.parts()) for k, booster in enumerate(clf.boosters_)],
        "handover": None if handover is None else put("handover", handover.parts()),
    }
    return parameters, arrays


def classifier_from_parts(parameters: dict[str, Any], arrays: Arrays, name: str, make: Any) -> Any:
    """A classifier of what `classifier_parts` gave; ``make`` is its class."""
    require(set(parameters) == _KEYS, name, f"a classifier has the entries {', '.join(sorted(_KEYS))}")
    groups = _grouped(arrays)
    kind, described = _pair(parameters["hypotheses"], name, "hypotheses")
    require(isinstance(kind, str) and isinstance(described, dict), name, "its hypotheses are not known")
    pool = hypotheses_from_parts(kind, described, groups.pop("hypotheses", {}), name)
    classes = _classes_in(parameters["classes"], name)
    n_boosters = 1 if len(classes) == 2 else len(classes)
    columns = _columns_in(parameters["columns"], n_boosters, len(pool), name)
    described = parameters["boosters"]
    require(isinstance(described, list) and len(described) == n_boosters, name, "its boosters are missing")
    boosters = []
    for k, one in enumerate(described):
        require(isinstance(one, dict), name, "a booster must have parameters")
        booster = BoostingSketch.from_parts(one, groups.pop(f"booster/{k}", {}), name)
        fits = booster.n_hypotheses == columns[k].stop - columns[k].start
        require(fits, name, "a booster does not fit its hypotheses")
        boosters.append(booster)
    settings = parameters["settings"]
    require(isinstance(settings, dict), name, "its settings are missing")
    estimator = settings.get("estimator", pool)
    require(set(settings) - {"estimator"} == set(SETTINGS), name, "its settings are not known")
    simple = all(v is None or isinstance(v, bool | int | float | str) for v in settings.values())
    require(simple, name, "its settings must be simple values")
    require(
        type(settings["batch_size"]) is int and settings["batch_size"] >= 1,
        name,
        "batch_size must be a count",
    )
    clf = make(estimator, **{key: settings[key] for key in SETTINGS})
    n_features, names = _pair(parameters["features"], name, "features")
    require(n_features == pool.n_features, name, "its features do not fit its hypotheses")
    clf.n_features_in_ = n_features
    if names is not None:
        usable = isinstance(names, list) and len(names) == n_features
        require(usable and all(isinstance(n, str) for n in names), name, "its feature names make no sense")
        clf.feature_names_in_ = np.array(names, dtype=object)
    clf.classes_, clf.hypotheses_, clf._columns, clf.boosters_ = classes, pool, columns, boosters
    clf._handover = None
    clf._settings = clf._booster_parameters()
    if parameters["handover"] is not None:
        require(isinstance(parameters["handover"], dict), name, "its handover is not known")
        sizes = [booster.n_hypotheses for booster in boosters]
        clf._handover = Handover.from_parts(parameters["handover"], groups.pop("handover", {}), sizes, name)
    require(not groups, name, f"it holds unknown arrays: {', '.join(groups)!s:.80}")
    return clf


def _plain(value: Any) -> Any:
    """A parameter as JSON has it; what has no such form is left at its default when loaded."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else None


def _grouped(arrays: Arrays) -> dict[str, Arrays]:
    """Arrays by what they belong to: ``hypotheses``, ``booster/0``, …, ``handover``."""
    groups: dict[str, Arrays] = {}
    for key, array in arrays.items():
        words = key.split("/")
        depth = 2 if words[0] == "booster" else 1
        groups.setdefault("/".join(words[:depth]), {})["/".join(words[depth:])] = array
    return groups


def _pair(value: Any, name: str, what: str) -> tuple[Any, Any]:
    require(isinstance(value, list) and len(value) == 2, name, f"its {what} are not known")
    return value[0], value[1]


def _classes_out(classes: NDArray[Any]) -> list[Any]:
    kind = classes.dtype.kind
    values = classes.tolist()
    if kind == "O" and all(isinstance(value, str) for value in values):
        return ["O", values]
    kind = "i" if kind == "u" else kind
    if kind not in _CLASS_TYPES:
        raise InputError(
            f"classes must be numbers or text to be saved; got {classes.dtype}. Convert the labels first."
        )
    return [kind, values]


def _classes_in(value: Any, name: str) -> NDArray[Any]:
    kind, values = _pair(value, name, "classes")
    known = isinstance(kind, str) and (kind == "O" or kind in _CLASS_TYPES)
    require(known and isinstance(values, list), name, "its classes are not known")
    require(2 <= len(values) <= MOST_CLASSES, name, "there must be at least two classes")
    type_ = str if kind == "O" else _CLASS_TYPES[kind]
    require(all(type(v) is type_ for v in values), name, "its classes must be of one type")
    classes: NDArray[Any] = np.empty(0)
    try:
        classes = np.array(values, dtype=object if kind == "O" else type_)
    except OverflowError:
        require(False, name, "its classes are too large")
    require(bool((classes[1:] > classes[:-1]).all()), name, "its classes must be sorted")
    return classes


def _columns_in(value: Any, n: int, J: int, name: str) -> list[slice]:
    require(isinstance(value, list) and len(value) == n, name, "its columns do not fit its classes")
    columns = []
    for pair in value:
        start, stop = _pair(pair, name, "columns")
        inside = type(start) is int and type(stop) is int and 0 <= start < stop <= J
        require(inside, name, "its columns do not fit its hypotheses")
        columns.append(slice(start, stop))
    return columns
