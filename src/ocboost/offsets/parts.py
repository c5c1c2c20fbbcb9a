"""An offset as files of version 1 had it: a kind with parameters, and named arrays."""

from __future__ import annotations

from typing import Any

from ..fields import read
from ..old_format import Arrays, offset_tree_of, parts_of
from .base import GivenOffset, Offset
from .offset_file import offset_from, offset_tree


def offset_parts(offset: Offset, *, without: bool = False) -> tuple[list[Any], Arrays]:
    """The kind and the parameters of an offset, and its arrays; ``without`` leaves it out."""
    tree = offset_tree(offset, without=without)
    return parts_of(tree) if isinstance(tree, dict) else ([GivenOffset.kind, {}], {})


def offset_in(described: Any, held: Arrays, name: str, given: Offset | None) -> Offset | None:
    """The offset of what `offset_parts` gave, or the one that is given to go with it."""
    tree = {"offset": offset_tree_of(described, held, name)}
    return read(tree, name, lambda fields: offset_from(fields, "offset", given))
