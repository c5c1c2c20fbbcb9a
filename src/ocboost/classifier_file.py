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
from .learners.choose import NAMED
from .margins import as_count
from .sketch import BoostingSketch
from .storage import Arrays, require

KIND = "OCBClassifier"
BOOSTER = ("order", "head", "tail", "smoothing", "forgetting", "correction")
SETTINGS = ("n_hypotheses", *BOOSTER, "batch_size", "n_jobs", "random_state")
_KEYS = {"settings", "applied", "classes", "features", "hypotheses", "columns", "boosters", "handover"}
_CLASS_TYPES = {"i": int, "u": int, "f": float, "b": bool, "U": str, "O": str}
_CLASS_SIZES = {"i": "1248", "u": "1248", "f": "248", "b": "1"}
MOST_CLASSES = 10_000
MOST_TEXT = 1 << 26  # characters that the names of all classes may take, each as long as the longest


def booster_for(n_hypotheses: int, settings: dict[str, Any]) -> BoostingSketch:
    """An empty booster; a class with fewer hypotheses than ``order`` looks back to all of them."""
    order = settings["order"]
    if order is not None:
        order = min(as_count(order, "order", 1, None, "None takes every earlier coordinate."), n_hypotheses)
    return BoostingSketch(n_hypotheses, **{**settings, "order": order})


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
        "applied": {name: _plain(value) for name, value in clf._settings.items()},
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
    groups = _grouped(arrays, name)
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
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all bounds is refused
            booster = BoostingSketch.from_parts(one, groups.pop(f"booster/{k}", {}), name)
        fits = booster.n_hypotheses == columns[k].stop - columns[k].start
        require(fits, name, "a booster does not fit its hypotheses")
        require(_made_with(booster, parameters["applied"]), name, "a booster does not fit its settings")
        boosters.append(booster)
    settings = parameters["settings"]
    require(isinstance(settings, dict), name, "its settings are missing")
    estimator = settings.get("estimator", pool)
    require(set(settings) - {"estimator"} == set(SETTINGS), name, "its settings are not known")
    require(all(map(_is_plain, settings.values())), name, "its settings must be simple values")
    require(estimator is pool or estimator is None or estimator in NAMED, name, "its estimator is not known")
    for key in ("batch_size", "n_hypotheses"):
        require(type(settings[key]) is int and settings[key] >= 1, name, f"{key} must be a count")
    clf = make(estimator, **{key: settings[key] for key in SETTINGS})
    n_features, names = _pair(parameters["features"], name, "features")
    fits = type(n_features) is int and n_features == pool.n_features
    require(fits, name, "its features do not fit its hypotheses")
    clf.n_features_in_ = n_features
    if names is not None:
        usable = isinstance(names, list) and len(names) == n_features
        require(usable and all(isinstance(n, str) for n in names), name, "its feature names make no sense")
        clf.feature_names_in_ = np.array(names, dtype=object)
    clf.classes_, clf.hypotheses_, clf._columns, clf.boosters_ = classes, pool, columns, boosters
    clf._handover = None
    clf._settings = dict(parameters["applied"])
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
    return value if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _made_with(booster: BoostingSketch, applied: Any) -> bool:
    """Whether a booster is one of these settings."""
    if not isinstance(applied, dict) or set(applied) != set(BOOSTER) or type(applied["tail"]) is not bool:
        return False
    try:  # as a window, which takes no memory
        expected = booster_for(booster.n_hypotheses, {**applied, "tail": False})
    except InputError:
        return False
    return applied["tail"] == booster.tail and all(
        getattr(expected, name) == getattr(booster, name) for name in BOOSTER if name != "tail"
    )


def _grouped(arrays: Arrays, name: str) -> dict[str, Arrays]:
    """Arrays by what they belong to: ``hypotheses``, ``booster/0``, …, ``handover``."""
    require(all(isinstance(key, str) for key in arrays), name, "its arrays must have names")
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
    kind, values = classes.dtype.kind, classes.tolist()
    if kind == "U" or (kind == "O" and all(isinstance(value, str) for value in values)):
        return [kind, values]
    if f"{classes.dtype.itemsize}" not in _CLASS_SIZES.get(kind, ""):
        raise InputError(
            f"classes must be numbers or text to be saved; got {classes.dtype}. Convert the labels first."
        )
    return [f"{kind}{classes.dtype.itemsize}", values]


def _classes_in(value: Any, name: str) -> NDArray[Any]:
    code, values = _pair(value, name, "classes")
    known = {"U", "O", *(f"{kind}{size}" for kind, sizes in _CLASS_SIZES.items() for size in sizes)}
    require(isinstance(code, str) and code in known, name, "its classes are not known")
    require(isinstance(values, list), name, "its classes are not known")
    require(2 <= len(values) <= MOST_CLASSES, name, "there must be at least two classes")
    type_ = _CLASS_TYPES[code[0]]
    require(all(type(v) is type_ for v in values), name, "its classes must be of one type")
    if type_ is str:
        require(max(map(len, values)) * len(values) <= MOST_TEXT, name, "its classes are too large")
    classes: NDArray[Any] = np.empty(0)
    try:
        with np.errstate(over="ignore"):
            classes = np.array(values, dtype=code)
    except OverflowError:
        require(False, name, "its classes are too large")
    require(code[0] != "f" or bool(np.isfinite(classes).all()), name, "its classes must be finite")
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
