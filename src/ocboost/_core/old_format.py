"""Files of format version 1: parameters and named arrays, made into the tree that version 2 has.

An array's name told where it belongs, ``booster/0/W`` or ``growth/scout/1/worth``; what follows is all that
still knows those names. Nothing is checked here but that everything finds a place: what the tree says is
checked as any other tree is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Tree, require

Arrays = dict[str, NDArray[Any]]

_GROWTH = ("budget", "sample", "candidates", "test", "delta", "every", "learner")
_COUNTS = ("since", "n_grown", "n_retired")
_GENERATOR = ("state", "inc", "has_uint32", "uinteger")
_ABOUT = {"origin", "leave_unseen", "finished", "confusion", "first", "rows", "learnt"}


def tree_of(kind: str, parameters: Tree, arrays: Arrays, name: str) -> Tree:
    """The tree of what a file of version 1 says of a thing of this kind."""
    old = _Old(name)
    how: dict[str, Callable[[Tree, Arrays], Tree]] = {
        "BoostingSketch": old.sketch,
        "Joined": old.joined,
        "OCBClassifier": old.classifier,
        "Adaptation": old.adaptation,
        "FilterBoost": old.filterboost,
        "CacheEntry": old.cache_entry,
        "VotedOffset": partial(old.around, "hypotheses"),
        "ScaledOffset": partial(old.around, "scorer"),
    }
    return how.get(kind, old.flat)(parameters, arrays)


def offset_tree_of(described: Any, arrays: Arrays, name: str) -> Tree | str | None:
    """What a committee's tree has for an offset."""
    return _Old(name).offset(described, arrays)


def parts_of(tree: Tree) -> tuple[list[Any], Arrays]:
    """The way back, for hypotheses and offsets: a kind with parameters, and named arrays."""
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


class _Old:
    """Makes trees of what the file of this name holds."""

    def __init__(self, name: str) -> None:
        self.name = name

    # What they are made of --------------------------------------------------------------------------------

    def require(self, condition: bool, what: str) -> None:
        require(condition, self.name, what)

    def entries(self, value: Any, what: str) -> Tree:
        self.require(isinstance(value, dict), f"its {what} must be entries with names")
        return dict(value)

    def listed(self, value: Any, what: str, n: int | None = None) -> list[Any]:
        fits = isinstance(value, list) and n in (None, len(value))
        self.require(fits, f"its {what} must be a list")
        found: list[Any] = value
        return found

    def take(self, entries: Tree, key: str) -> Any:
        self.require(key in entries, f"{key} is missing")
        return entries.pop(key)

    def groups(self, arrays: Arrays) -> dict[str, Arrays]:
        """Arrays by the first word of their names, with the others as names."""
        groups: dict[str, Arrays] = {}
        for key, array in arrays.items():
            first, _, others = key.partition("/")
            groups.setdefault(first, {})[others] = array
        return groups

    def used(self, groups: dict[str, Arrays]) -> None:
        self.require(not groups, f"it holds unknown arrays: {', '.join(map(repr, groups)):.80}")

    def numbered(self, groups: dict[str, Arrays], n: int) -> list[Arrays]:
        """The groups called 0, 1, …, n - 1; there must be no others."""
        found = [groups.pop(str(k), {}) for k in range(n)]
        self.used(groups)
        return found

    def flat(self, parameters: Tree, arrays: Arrays) -> Tree:
        self.require(not set(parameters) & set(arrays), "an array has the name of a parameter")
        return {**parameters, **arrays}

    def nested(self, described: Any, arrays: Arrays) -> Tree:
        """A thing with its kind, from a list of its kind and its parameters."""
        kind, parameters = self.listed(described, "parts", 2)
        self.require(isinstance(kind, str), "a kind must be a text")
        return {"kind": kind, **tree_of(kind, self.entries(parameters, "parts"), arrays, self.name)}

    def nested_or_none(self, described: Any, arrays: Arrays) -> Tree | None:
        if described is None:
            self.require(not arrays, "it holds arrays of nothing")
            return None
        return self.nested(described, arrays)

    def around(self, inner: str, parameters: Tree, arrays: Arrays) -> Tree:
        """A thing with one other within."""
        held = {key: array for key, array in arrays.items() if key.startswith(f"{inner}/")}
        own = {key: array for key, array in arrays.items() if key not in held}
        described = self.take(parameters := dict(parameters), inner)
        within = self.nested(described, self.groups(held).get(inner, {}))
        return self.flat({**parameters, inner: within}, own)

    def joined(self, parameters: Tree, arrays: Arrays) -> Tree:
        parameters = dict(parameters)
        described = self.listed(self.take(parameters, "sets"), "sets")
        held = self.numbered(self.groups(arrays), len(described))
        sets = [self.nested(one, own) for one, own in zip(described, held, strict=True)]
        return {**parameters, "sets": sets}

    def matrix(self, arrays: Arrays, dense: str) -> Any:
        """Rows: an array, or three of a sparse matrix."""
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

    # Boosters and committees ------------------------------------------------------------------------------

    def sketch(self, parameters: Tree, arrays: Arrays) -> Tree:
        return self.flat({"keep": "newest", **parameters}, arrays)

    def committee(self, value: Any, groups: dict[str, Arrays]) -> Tree:
        committee = {"booster": "BoostingSketch", "offset": None, **self.entries(value, "committee")}
        if committee["booster"] == "BoostingSketch":
            committee["settings"] = _with_keep(self.entries(self.take(committee, "settings"), "settings"))
        booster = str(committee["booster"])
        described = self.listed(self.take(committee, "boosters"), "boosters")
        held = self.numbered(self.groups(groups.pop("booster", {})), len(described))
        boosters = [
            tree_of(booster, self.entries(one, "boosters"), own, self.name)
            for one, own in zip(described, held, strict=True)
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
        if described == ["GivenOffset", {}] and not arrays:
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

    # Classifiers ------------------------------------------------------------------------------------------

    def classifier(self, parameters: Tree, arrays: Arrays) -> Tree:
        tree = {"grower": None, "schema": None, "history": [], **parameters}
        groups = self.groups(arrays)
        settings = {"booster": "ocb", "grow": None, **self.entries(self.take(tree, "settings"), "settings")}
        if settings["grow"] is not None:
            grow = self.listed(settings["grow"], "growth", len(_GROWTH))
            settings["grow"] = dict(zip(_GROWTH, grow, strict=True))
        grower = self.grower(self.take(tree, "grower"), groups.pop("growth", {}))
        committee = self.committee(self.take(tree, "committee"), groups)
        self.used(groups)
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
            self.used(groups)
            return None
        grower = self.entries(value, "growth")
        recent = self.entries(self.take(grower, "recent"), "recent rows")
        counts = self.listed(self.take(grower, "counts"), "counts", len(_COUNTS))
        luck = [self.generator(one) for one in self.listed(self.take(grower, "luck"), "random state", 2)]
        described = self.listed(self.take(grower, "scouts"), "scouts")
        held = groups.pop("recent", {})
        scouts = self.numbered(self.groups(groups.pop("scout", {})), len(described))
        candidates = self.numbered(self.groups(groups.pop("candidates", {})), len(described))
        self.used(groups)
        return {
            **grower,
            **dict(zip(_COUNTS, counts, strict=True)),
            "luck": luck,
            "recent": self.recent(recent, held),
            "scouts": [
                self.scout(self.listed(one, "scouts", 2), own, members)
                for one, own, members in zip(described, scouts, candidates, strict=True)
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
        """The state of random numbers: words of 128 bits are in hexadecimal digits, or were numbers."""
        state = dict(zip(_GENERATOR, self.listed(value, "random state", 4), strict=True))
        for key in ("state", "inc"):
            if type(state[key]) is int and state[key] >= 0:
                state[key] = f"{state[key]:x}"
        return state

    def adaptation(self, parameters: Tree, arrays: Arrays) -> Tree:
        self.require(set(parameters) == {"model", "about"}, "a checkpoint holds a model and how far it came")
        about = self.entries(parameters["about"], "checkpoint")
        self.require(set(about) == _ABOUT, "the entries of its checkpoint are not known")
        model = tree_of("OCBClassifier", self.entries(parameters["model"], "model"), arrays, self.name)
        rows = [self.listed(row, "counts") for row in self.listed(about["confusion"], "counts")]
        whole = all(type(count) is int and 0 <= count < 1 << 60 for row in rows for count in row)
        self.require(whole and len({len(row) for row in rows}) == 1, "its counts make no sense")
        return {**about, "confusion": np.array(rows, np.int64), "model": model}

    def filterboost(self, parameters: Tree, arrays: Arrays) -> Tree:
        tree = dict(parameters)
        described = self.listed(self.take(tree, "machines"), "machines")
        held = self.numbered(self.groups(arrays), len(described))
        machines = [
            self.machine(self.entries(one, "machines"), own) for one, own in zip(described, held, strict=True)
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
        self.used(groups)
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

    def cache_entry(self, parameters: Tree, arrays: Arrays) -> Tree:
        return {**parameters, "arrays": arrays}


def _with_keep(settings: Tree) -> Tree:
    """Settings from before there was something to keep but the newest examples."""
    return {"memory": None, "keep": "newest", **settings}
