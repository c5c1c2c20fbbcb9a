"""Which members take part: the usual ones, those added, and those left out."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from ocboost.boosters.registry import BOOSTERS, Registered
from ocboost.errors import InputError

GROUPS = ("neighbours", "labels", "features", "forests")
USUAL = (
    BOOSTERS["ocb-window-20"],
    BOOSTERS["eg"],
    Registered("logistic", "logistic regression", BOOSTERS["logistic"].place, "", {"rate": 0.02}),
    BOOSTERS["pa"],
)


def chosen_members(extra: Any, without: Any) -> tuple[list[Registered], tuple[str, ...]]:
    """The boosters that take part, and the groups of other members that do not."""
    more, less = _names(extra, "extra"), _names(without, "without")
    usual = {each.name: each for each in USUAL}
    can_be_added = [name for name, each in BOOSTERS.items() if each.load().can_grow]
    for name in more:
        if name in usual or name == "ocb-forgetting":
            raise InputError(f"extra must be boosters that do not take part anyway; got {name!r}.")
        _require(name, can_be_added, "extra")
    for name in less:
        _require(name, [*GROUPS, *usual], "without")
    boosters = [each for name, each in usual.items() if name not in less]
    boosters += [BOOSTERS[name] for name in more]
    return boosters, tuple(name for name in GROUPS if name in less)


def _names(given: Any, what: str) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise InputError(f"{what} must be names of members, as a list; got {given!r:.80}.")
    names = list(dict.fromkeys(given))
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} must be names of members; got {names!s:.80}.")
    return names


def _require(name: str, known: list[str], what: str) -> None:
    if name not in known:
        close = get_close_matches(name.lower(), known, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{what} must be some of {', '.join(known)}; got {name!r:.80}.{hint}")
