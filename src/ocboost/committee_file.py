"""A committee as a tree for a file, and back only if it makes sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from .committee import Committee
from .errors import NotSavableError
from .fields import Fields, Tree, is_plain
from .guard import Guard
from .handover import Handover
from .kinds import BOOSTER, HYPOTHESES, is_known, known, tree_within, within
from .offsets import Offset, offset_from, offset_tree


def committee_tree(committee: Committee, *, without_offset: bool = False) -> Tree:
    """What a file holds; an offset that is left out is given again when it is loaded."""
    if not all(is_known(booster, BOOSTER) for booster in committee.boosters):
        raise NotSavableError(
            f"booster must be one of ocboost's own to be saved; got {committee.kind.__name__}, which is "
            "Python code that no file holds. Save its weights, clf.alpha_."
        )
    return {
        "booster": committee.kind.kind,
        "settings": {name: plain(value) for name, value in committee.settings.items()},
        "hypotheses": tree_within(committee.hypotheses, HYPOTHESES),
        "columns": [[c.start, c.stop] for c in committee.columns],
        "boosters": [booster.tree() for booster in committee.boosters],
        "handover": None if committee.handover is None else committee.handover.tree(),
        "offset": offset_tree(committee.offset, without=without_offset),
    }


def committee_from_tree(fields: Fields, n_classes: int, offset: Offset | None = None) -> Committee:
    """A committee of what `committee_tree` gave; whatever makes no sense is a `ModelFileError`.

    ``offset`` is one that the file does not hold.
    """
    committee = Committee.__new__(Committee)
    committee._guard = Guard()
    committee.hypotheses = fields.read("hypotheses", within(HYPOTHESES))
    n = 1 if n_classes == 2 else n_classes
    columns = fields.items("columns", n)
    fields.require(all(_is_span(c, len(committee.hypotheses)) for c in columns), "its columns do not fit")
    committee.columns = [slice(*c) for c in columns]
    committee.kind = known(fields.text("booster"), BOOSTER, fields.name).load()
    committee.settings = fields.read("settings", Fields.rest)
    committee.boosters = fields.read_all("boosters", committee.kind.from_tree, n)
    for booster, (start, stop) in zip(committee.boosters, columns, strict=True):
        fields.require(booster.n_hypotheses == stop - start, "a booster does not fit its hypotheses")
        fields.require(booster.made_with(committee.settings), "a booster does not fit its settings")
    sizes = [booster.n_hypotheses for booster in committee.boosters]
    committee.handover = fields.read_any("handover", lambda one: Handover.from_tree(one, sizes))
    committee.offset = offset_from(fields, "offset", offset)
    if committee.offset is not None:
        fields.require(committee.handover is None, "it has a handover and an offset")
        fits = offset is not None or committee._answers_to_offset()
        fields.require(fits, "its offset does not fit its classes or features")
    return committee


def plain(value: Any) -> Any:
    """A setting as a file has it; what has no such form becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if is_plain(value) else None


def _is_span(value: Any, J: int) -> bool:
    """Whether it is where some of J hypotheses begin and end."""
    fits = isinstance(value, list) and len(value) == 2 and all(type(place) is int for place in value)
    return fits and 0 <= value[0] < value[1] <= J
