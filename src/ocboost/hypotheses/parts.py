"""Hypotheses as files of version 1 had them: a kind with parameters, and named arrays."""

from __future__ import annotations

from typing import Any

from ..fields import Tree, read
from ..kinds import HYPOTHESES, tree_within, within
from ..old_format import Arrays, parts_of, tree_of
from .base import Hypotheses


def hypotheses_parts(hypotheses: Hypotheses) -> tuple[list[Any], Arrays]:
    """The kind and the parameters of hypotheses, and their arrays."""
    return parts_of(tree_within(hypotheses, HYPOTHESES))


def hypotheses_from_parts(kind: str, parameters: Tree, arrays: Arrays, name: str) -> Hypotheses:
    """Hypotheses of what `hypotheses_parts` gave; whatever makes no sense is a `ModelFileError`."""
    tree = {"kind": kind, **tree_of(kind, parameters, arrays, name)}
    made: Hypotheses = read(tree, name, within(HYPOTHESES))
    return made
