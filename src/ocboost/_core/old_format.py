"""Files of format version 1, converted to the trees of version 2.

Version 1 had parameters in JSON, and arrays with names such as ``booster/0/W`` or ``growth/scout/1/worth``.
Here each array is moved to its place in the tree; the tree's contents are checked later, like those of a new
file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Tree, require

Arrays = dict[str, NDArray[Any]]

GIVEN_OFFSET = "GivenOffset"  # the kind of an offset that the file does not hold
_GROWTH_SETTINGS = ("budget", "sample", "candidates", "test", "delta", "every", "learner")
_GROWTH_COUNTS = ("since", "n_grown", "n_retired")
_GENERATOR = ("state", "inc", "has_uint32", "uinteger")
_CHECKPOINT = {"origin", "leave_unseen", "finished", "confusion", "first", "rows", "learnt"}


def tree_of(kind: str, parameters: Tree, arrays: Arrays, name: str) -> Tree:
    """The tree of an object of this kind, from its parameters and arrays in a file of version 1."""
    old = _Version1(name)
    converters: dict[str, Callable[[Tree, Arrays], Tree]] = {
        "BoostingSketch": lambda parameters, arrays: old.flat({"keep": "newest", **parameters}, arrays),
        "Joined": old.joined,
        "OCBClassifier": old.classifier,
        "Adaptation": old.adaptation,
        "FilterBoost": old.filterboost,
        "CacheEntry": lambda parameters, arrays: {**parameters, "arrays": arrays},
        "VotedOffset": partial(old.wrapper, "hypotheses"),
        "ScaledOffset": partial(old.wrapper, "scorer"),
    }
    return converters.get(kind, old.flat)(parameters, arrays)


def offset_tree_of(described: Any, arrays: Arrays, name: str) -> Tree | str | None:
    """The tree of a committee's offset."""
    return _Version1(name).offset(described, arrays)


def parts_of(tree: Tree) -> tuple[list[Any], Arrays]:
    """The reverse, for hypotheses and offsets: a kind with parameters, and named arrays."""
    parameters: Tree = {}
    arrays: Arrays = {}
    for key, value in tree.items():
        if isinstance(value, np.ndarray):
            arrays[key] = value
        elif isinstance(value, dict):
            parameters[key], held = parts_of(value)
            arrays.update({f"{key}/{name}": array for name, array in held.items()})
        elif isinstance(value, list):
            parts = [parts_of(one) for one in value]
            parameters[key] = [described for described, _ in parts]
            arrays.update({f"{k}/{name}": a for k, (_, held) in enumerate(parts) for name, a in held.items()})
        elif key != "kind":
            parameters[key] = value
    return [tree["kind"], parameters], arrays


class _Version1:
    """Converts what the file of this name holds."""

    def __init__(self, name: str) -> None:
        self.name = name

    def require(self, condition: bool, what: str) -> None:
        require(condition, self.name, what)

    def entries(self, value: Any, what: str) -> Tree:
        self.require(isinstance(value, dict), f"its {what} must be entries with names")
        return dict(value)

    def listed(self, value: Any, what: str, n: int | None = None) -> list[Any]:
        self.require(isinstance(value, list) and n in (None, len(value)), f"its {what} must be a list")
        return list(value)

    def take(self, entries: Tree, key: str) -> Any:
        self.require(key in entries, f"{key} is missing")
        return entries.pop(key)

    def groups(self, arrays: Arrays) -> dict[str, Arrays]:
        """Arrays by the first part of their names, with the rest as their new names."""
        groups: dict[str, Arrays] = {}
        for key, array in arrays.items():
            first, _, rest = key.partition("/")
            groups.setdefault(first, {})[rest] = array
        return groups

    def require_empty(self, groups: dict[str, Arrays]) -> None:
        self.require(not groups, f"it holds unknown arrays: {', '.join(map(repr, groups)):.80}")

    def numbered(self, described: list[Any], arrays: Arrays) -> list[tuple[Any, Arrays]]:
        """Each of a list with its arrays, in the groups called 0, 1, 2, …; there must be no others."""
        groups = self.groups(arrays)
        found = [(one, groups.pop(str(k), {})) for k, one in enumerate(described)]
        self.require_empty(groups)
        return found

    def flat(self, parameters: Tree, arrays: Arrays) -> Tree:
        self.require(not set(parameters) & set(arrays), "an array has the name of a parameter")
        return {**parameters, **arrays}

    def nested(self, described: Any, arrays: Arrays) -> Tree:
        """The tree of an object within another one, described by a list of its kind and its parameters."""
        kind, parameters = self.listed(described, "parts", 2)
        self.require(isinstance(kind, str), "a kind must be a text")
        return {"kind": kind, **tree_of(kind, self.entries(parameters, "parts"), arrays, self.name)}

    def nested_or_none(self, described: Any, arrays: Arrays) -> Tree | None:
        if described is None:
            self.require(not arrays, "it holds arrays of nothing")
            return None
        return self.nested(described, arrays)

    def wrapper(self, inner: str, parameters: Tree, arrays: Arrays) -> Tree:
        """The tree of an object around another one."""
        held = {key: array for key, array in arrays.items() if key.startswith(f"{inner}/")}
        own = {key: array for key, array in arrays.items() if key not in held}
        described = self.take(parameters := dict(parameters), inner)
        within = self.nested(described, self.groups(held).get(inner, {}))
        return self.flat({**parameters, inner: within}, own)

    def joined(self, parameters: Tree, arrays: Arrays) -> Tree:
        parameters = dict(parameters)
        described = self.listed(self.take(parameters, "sets"), "sets")
        return {**parameters, "sets": [self.nested(*one) for one in self.numbered(described, arrays)]}

    def matrix(self, arrays: Arrays, dense: str) -> Any:
        """A matrix of features: one array, or the three of a sparse one."""
        if set(arrays) == {dense}:
            return arrays[dense]
        return {
            key: array.astype(np.int64) if key != "data" and array.dtype == np.int32 else array
            for key, array in arrays.items()
        }

    def features(self, entries: Tree) -> Tree:
        n, names = self.listed(self.take(entries, "features"), "features", 2)
        code, values = self.listed(self.take(entries, "classes"), "classes", 2)
        return {"n_features": n, "feature_names": names, "classes": {"type": code, "values": values}}

    def committee(self, value: Any, groups: dict[str, Arrays]) -> Tree:
        committee = {"booster": "BoostingSketch", "offset": None, **self.entries(value, "committee")}
        if committee["booster"] == "BoostingSketch":
            committee["settings"] = _with_keep(self.entries(self.take(committee, "settings"), "settings"))
        booster = str(committee["booster"])
        described = self.listed(self.take(committee, "boosters"), "boosters")
        boosters = [
            tree_of(booster, self.entries(one, "boosters"), own, self.name)
            for one, own in self.numbered(described, groups.pop("booster", {}))
        ]
        handover = self.take(committee, "handover")
        hypotheses = self.nested(self.take(committee, "hypotheses"), groups.pop("hypotheses", {}))
        return {
            **committee,
            "boosters": boosters,
            "hypotheses": hypotheses,
            "handover": self.handover(handover, groups.pop("handover", {})),
            "offset": self.offset(committee["offset"], groups.pop("offset", {})),
        }

    def offset(self, described: Any, arrays: Arrays) -> Tree | str | None:
        if described == [GIVEN_OFFSET, {}] and not arrays:
            return "given"
        return self.nested_or_none(described, arrays)

    def handover(self, value: Any, arrays: Arrays) -> Tree | None:
        if value is None:
            self.require(not arrays, "it holds arrays of a handover that it has not")
            return None
        groups = self.groups(arrays)
        weights: Tree = {"deployed": [], "started": None}
        for key in list(groups):
            self.require(key in weights, "its handover's arrays are not known")
            own = groups.pop(key)
            weights[key] = [own.pop(str(k), None) for k in range(len(own))]
            self.require(not own, "its handover's arrays are not known")
        return self.flat(self.entries(value, "handover"), weights)

    def classifier(self, parameters: Tree, arrays: Arrays) -> Tree:
        tree = {"grower": None, "schema": None, "history": [], **parameters}
        groups = self.groups(arrays)
        settings = {"booster": "ocb", "grow": None, **self.entries(self.take(tree, "settings"), "settings")}
        if settings["grow"] is not None:
            grow = self.listed(settings["grow"], "growth", len(_GROWTH_SETTINGS))
            settings["grow"] = dict(zip(_GROWTH_SETTINGS, grow, strict=True))
        grower = self.grower(self.take(tree, "grower"), groups.pop("growth", {}))
        committee = self.committee(self.take(tree, "committee"), groups)
        self.require_empty(groups)
        return {
            **self.features(tree),
            **tree,
            "settings": _with_keep(settings),
            "committee": committee,
            "grower": grower,
        }

    def grower(self, value: Any, arrays: Arrays) -> Tree | None:
        groups = self.groups(arrays)
        if value is None:
            self.require_empty(groups)
            return None
        grower = self.entries(value, "growth")
        recent = self.entries(self.take(grower, "recent"), "recent rows")
        counts = self.listed(self.take(grower, "counts"), "counts", len(_GROWTH_COUNTS))
        luck = [self.generator(one) for one in self.listed(self.take(grower, "luck"), "random state", 2)]
        described = self.listed(self.take(grower, "scouts"), "scouts")
        held = groups.pop("recent", {})
        scouts = self.numbered(described, groups.pop("scout", {}))
        candidates = self.numbered(described, groups.pop("candidates", {}))
        self.require_empty(groups)
        return {
            **grower,
            **dict(zip(_GROWTH_COUNTS, counts, strict=True)),
            "luck": luck,
            "recent": self.recent(recent, held),
            "scouts": [
                self.scout(self.listed(one, "scouts", 2), own, members)
                for (one, own), (_, members) in zip(scouts, candidates, strict=True)
            ],
        }

    def recent(self, recent: Tree, held: Arrays) -> Tree:
        n = self.take(recent, "n")
        codes, weights = held.pop("codes", np.empty(0, np.int64)), held.pop("weights", np.empty(0))
        self.require(type(n) is int and codes.shape == (n,), "its recent rows do not fit")
        rows = self.matrix(held, "rows") if held else None
        return self.flat({**recent, "rows": rows}, {"codes": codes, "weights": weights})

    def scout(self, described: list[Any], own: Arrays, members: Arrays) -> Tree:
        keys = [key for key in ("worth", "alpha", "right", "labels") if key in own]
        scout: Tree = {key: own.pop(key) for key in keys}
        sample = self.matrix(own, "rows") if own else None
        candidates = self.nested_or_none(described[1], members)
        return {"n_tested": described[0], "sample": sample, "candidates": candidates, **scout}

    def generator(self, value: Any) -> Tree:
        """The state of a random generator: words of 128 bits became hexadecimal digits."""
        state = dict(zip(_GENERATOR, self.listed(value, "random state", 4), strict=True))
        for key in ("state", "inc"):
            if type(state[key]) is int and state[key] >= 0:
                state[key] = f"{state[key]:x}"
        return state

    def adaptation(self, parameters: Tree, arrays: Arrays) -> Tree:
        self.require(set(parameters) == {"model", "about"}, "a checkpoint holds a model and its progress")
        about = self.entries(parameters["about"], "checkpoint")
        self.require(set(about) == _CHECKPOINT, "the entries of its checkpoint are not known")
        model = tree_of("OCBClassifier", self.entries(parameters["model"], "model"), arrays, self.name)
        rows = [self.listed(row, "counts") for row in self.listed(about["confusion"], "counts")]
        whole = all(type(count) is int and 0 <= count < 1 << 60 for row in rows for count in row)
        self.require(whole and len({len(row) for row in rows}) == 1, "its counts make no sense")
        return {**about, "confusion": np.array(rows, np.int64), "model": model}

    def filterboost(self, parameters: Tree, arrays: Arrays) -> Tree:
        tree = dict(parameters)
        described = self.listed(self.take(tree, "machines"), "machines")
        machines = [
            self.machine(self.entries(one, "machines"), own) for one, own in self.numbered(described, arrays)
        ]
        return {**self.features(tree), **tree, "machines": machines}

    def machine(self, machine: Tree, arrays: Arrays) -> Tree:
        groups = self.groups(arrays)
        single = {key: groups.pop(key)[""] for key in ("edges", "labels") if [*groups.get(key, ())] == [""]}
        within = {
            key: self.nested_or_none(self.take(machine, key), groups.pop(key, {}))
            for key in ("hypotheses", "candidate")
        }
        test = self.take(machine, "test")
        if test is not None:
            test = dict(zip(("n", "right", "tau", "delta"), self.listed(test, "test", 4), strict=True))
        form, sample = self.take(machine, "sample"), groups.pop("sample", {})
        self.require_empty(groups)
        rows = self.matrix(sample, "X") if sample else None
        known = None if rows is None else "dense" if isinstance(rows, np.ndarray) else "sparse"
        self.require(form == known, "its sample is not known")
        own = {
            "rng": self.generator(self.take(machine, "rng")),
            "test": test,
            "sample": rows,
            "labels": single.pop("labels", np.empty(0, np.int8)),
        }
        return {**machine, **within, **own, **single}


def _with_keep(settings: Tree) -> Tree:
    """Settings with those that came later: before, only the newest examples could be kept."""
    return {"memory": None, "keep": "newest", **settings}
