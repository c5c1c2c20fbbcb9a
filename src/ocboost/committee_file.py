"""A committee as parameters and arrays for a file, and back only if they make sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from .booster import Settings
from .boosters.registry import class_of
from .committee import Committee
from .errors import NotSavableError
from .guard import Guard
from .handover import Handover
from .hypotheses import hypotheses_from_parts, hypotheses_parts
from .keeping import NEWEST
from .offsets import Offset, offset_in, offset_parts
from .sketch import BoostingSketch
from .storage import Arrays, require


def committee_parts(committee: Committee, *, without_offset: bool = False) -> tuple[dict[str, Any], Arrays]:
    """What a file holds; an offset that is left out is given again when it is loaded."""
    arrays: Arrays = {}

    def put(prefix: str, parts: tuple[Any, Arrays]) -> Any:
        arrays.update({f"{prefix}/{key}": array for key, array in parts[1].items()})
        return parts[0]

    if class_of(committee.kind.kind) is not committee.kind:
        raise NotSavableError(
            f"booster must be one of ocboost's own to be saved; got {committee.kind.__name__}, which is "
            "Python code that no file holds. Save its weights, clf.alpha_."
        )
    parameters = {
        "booster": committee.kind.kind,
        "settings": {name: plain(value) for name, value in committee.settings.items()},
        "hypotheses": put("hypotheses", hypotheses_parts(committee.hypotheses)),
        "columns": [[c.start, c.stop] for c in committee.columns],
        "boosters": [put(f"booster/{k}", booster.parts()) for k, booster in enumerate(committee.boosters)],
        "handover": None if committee.handover is None else put("handover", committee.handover.parts()),
    }
    if committee.offset is not None:
        parameters["offset"] = put("offset", offset_parts(committee.offset, without=without_offset))
    return parameters, arrays


def committee_from_parts(
    parameters: dict[str, Any],
    arrays: Arrays,
    n_classes: int,
    name: str,
    offset: Offset | None = None,
) -> Committee:
    """A committee of what `parts` gave; whatever makes no sense is a `ModelFileError`.

    ``offset`` is one that the file does not hold.
    """
    known = {"settings", "hypotheses", "columns", "boosters", "handover"}
    require(
        set(parameters) - {"offset", "booster"} == known,
        name,
        f"a committee has the entries {', '.join(sorted(known))}",
    )
    groups = _grouped(arrays)
    kind: Any
    kind, described = pair(parameters["hypotheses"], name, "hypotheses")
    require(isinstance(kind, str) and isinstance(described, dict), name, "its hypotheses are not known")
    committee = Committee.__new__(Committee)
    committee._guard = Guard()
    committee.hypotheses = hypotheses_from_parts(kind, described, groups.pop("hypotheses", {}), name)
    n = 1 if n_classes == 2 else n_classes
    committee.columns = _columns_in(parameters["columns"], n, len(committee.hypotheses), name)
    settings = parameters["settings"]
    require(isinstance(settings, dict), name, "its settings are missing")
    kind = parameters.get("booster", BoostingSketch.kind)
    made = class_of(kind) if isinstance(kind, str) else None
    require(made is not None, name, f"its boosters are of a kind that is not known, {kind!r:.40}")
    assert made is not None
    committee.kind = made
    committee.settings = with_keep(settings) if made is BoostingSketch else settings
    described = parameters["boosters"]
    require(isinstance(described, list) and len(described) == n, name, "its boosters are missing")
    committee.boosters = []
    for k, (one, c) in enumerate(zip(described, committee.columns, strict=True)):
        require(isinstance(one, dict), name, "a booster must have parameters")
        booster = made.from_parts(one, groups.pop(f"booster/{k}", {}), name)
        require(booster.n_hypotheses == c.stop - c.start, name, "a booster does not fit its hypotheses")
        require(booster.made_with(committee.settings), name, "a booster does not fit its settings")
        committee.boosters.append(booster)
    committee.handover = None
    if parameters["handover"] is not None:
        require(isinstance(parameters["handover"], dict), name, "its handover is not known")
        sizes = [booster.n_hypotheses for booster in committee.boosters]
        held = groups.pop("handover", {})
        committee.handover = Handover.from_parts(parameters["handover"], held, sizes, name)
    committee.offset = offset_in(parameters.get("offset"), groups.pop("offset", {}), name, offset)
    if committee.offset is not None:
        require(committee.handover is None, name, "it has a handover and an offset")
        if offset is None:
            require(committee._answers_to_offset(), name, "its offset does not fit its classes or features")
    require(not groups, name, f"it holds unknown arrays: {', '.join(groups)!s:.80}")
    return committee


def plain(value: Any) -> Any:
    """A setting as JSON has it; what has no such form becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if is_plain(value) else None


def is_plain(value: Any) -> bool:
    """Whether JSON has a form for it that is no list and no object."""
    return value is None or isinstance(value, bool | int | float | str)


def pair(value: Any, name: str, what: str) -> tuple[Any, Any]:
    """Two things that a file holds as a list."""
    require(isinstance(value, list) and len(value) == 2, name, f"its {what} are not known")
    return value[0], value[1]


def with_keep(settings: Settings) -> Settings:
    """Settings of a file: those that say nothing of ``keep`` and ``memory`` mean the newest."""
    return {**settings, **{"memory": settings.get("memory"), "keep": settings.get("keep", NEWEST)}}


def _grouped(arrays: Arrays) -> dict[str, Arrays]:
    """Arrays by what they belong to: ``hypotheses``, ``booster/0``, …, ``handover``."""
    groups: dict[str, Arrays] = {}
    for key, array in arrays.items():
        words = key.split("/")
        depth = 2 if words[0] == "booster" else 1
        groups.setdefault("/".join(words[:depth]), {})["/".join(words[depth:])] = array
    return groups


def _columns_in(value: Any, n: int, J: int, name: str) -> list[slice]:
    require(isinstance(value, list) and len(value) == n, name, "its columns do not fit its classes")
    columns = []
    for one in value:
        start, stop = pair(one, name, "columns")
        inside = type(start) is int and type(stop) is int and 0 <= start < stop <= J
        require(inside, name, "its columns do not fit its hypotheses")
        columns.append(slice(start, stop))
    return columns
