"""Which members take part: the usual ones, those added, and those left out."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from ocboost.boosters.registry import BOOSTERS, Registered
from ocboost.errors import InputError

MAX_HYPOTHESES = 100_000  # to begin with
GROUPS = ("neighbours", "labels", "features", "forests")
USUAL = (
    BOOSTERS["ocb-window-20"],
    BOOSTERS["eg"],
    Registered("logistic", "logistic regression", BOOSTERS["logistic"].place, "", {"rate": 0.02}),
    BOOSTERS["pa"],
)
_BY_NAME = {each.name: each for each in USUAL}


def chosen_members(extra: Any, without: Any) -> tuple[list[Registered], tuple[str, ...]]:
    """The boosters that take part, and the groups of other members that do not."""
    more, less = _names(extra, "extra"), _names(without, "without")
    usual = _BY_NAME
    there = {*usual, "ocb-forgetting"}
    can_be_added = [name for name, each in BOOSTERS.items() if each.load().can_grow and name not in there]
    for name in more:
        if name in there:
            raise InputError(f"extra must be boosters that do not take part anyway; got {name!r}.")
        _require(name, can_be_added, "extra")
    for name in less:
        _require(name, [*GROUPS, *usual], "without")
    boosters = [each for name, each in usual.items() if name not in less]
    boosters += [BOOSTERS[name] for name in more]
    return boosters, tuple(name for name in GROUPS if name in less)


def boosters_named(names: Sequence[Any]) -> list[Registered]:
    """The boosters that took part when a classifier was fitted, of a file."""
    known = {name: each for name, each in BOOSTERS.items() if each.load().can_grow} | _BY_NAME
    if not all(isinstance(name, str) and name in known for name in names) or len(set(names)) < len(names):
        raise InputError(f"boosters must be different ones of {', '.join(known)}; got {names!s:.80}.")
    return [known[name] for name in names]


def _names(given: Any, what: str) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise InputError(f"{what} must be names of members, as a list; got {given!r:.80}.")
    if not all(isinstance(name, str) for name in given):
        raise InputError(f"{what} must be names of members; got {given!s:.80}.")
    # The order of a set is another one in each process.
    return sorted(given) if isinstance(given, set | frozenset) else list(dict.fromkeys(given))


def _require(name: str, known: list[str], what: str) -> None:
    if name not in known:
        close = get_close_matches(name.lower(), known, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{what} must be some of {', '.join(known)}; got {name!r:.80}.{hint}")
