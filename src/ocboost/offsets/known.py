"""Which offsets a file can hold, and what is done about those it cannot."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, ModelFileError, NotSavableError
from ..storage import Arrays, require
from .base import GivenOffset, Offset, kind_in, not_savable
from .linear import LinearOffset
from .scaled import ScaledOffset
from .voted import VotedOffset

KNOWN: dict[str, Any] = {each.kind: each for each in (LinearOffset, VotedOffset, ScaledOffset)}


def offset_parts(offset: Offset, *, without: bool = False) -> tuple[list[Any], Arrays]:
    """The kind and the parameters of an offset, as a file holds them, and arrays.

    ``without`` leaves it out: it is given again when the file is loaded.
    """
    if without:
        return [GivenOffset.kind, {}], {}
    if type(offset) is not KNOWN.get(getattr(offset, "kind", "")):
        raise not_savable()
    try:
        parameters, arrays = offset.parts()
    except NotSavableError as error:  # something within it has no form in a file
        raise not_savable() from error
    return [offset.kind, parameters], arrays


def offset_in(described: Any, held: Arrays, name: str, given: Offset | None) -> Offset | None:
    """The offset a file holds, or the one that is given to go with it."""
    kind, parameters = (None, {}) if described is None else kind_in(described, name)
    if kind == GivenOffset.kind and given is not None:
        require(not parameters and not held, name, "its offset is not known")
        return given
    if kind == GivenOffset.kind:
        raise ModelFileError(
            f"{name} holds a classifier without its offset, which is a Python function or was left out when "
            "it was saved. Give it again: OCBClassifier.load(path, offset=scorer)."
        )
    if given is not None:
        what = "has none" if kind is None else "is in the file"
        raise InputError(f"offset must be left out for {name}, whose own {what}; got {given!r:.80}.")
    require(kind is not None or not held, name, "it holds arrays of an offset that it has not")
    return None if kind is None else offset_from_parts(kind, parameters, held, name)


def offset_from_parts(kind: str, parameters: dict[str, Any], arrays: Arrays, name: str) -> Offset:
    """The offset that a file called ``name`` holds; whatever makes no sense is a `ModelFileError`."""
    require(kind in KNOWN, name, "its offset is not known")
    try:
        made: Offset = KNOWN[kind].from_parts(parameters, arrays, name)
    except InputError as error:
        raise ModelFileError(f"{name} is not a valid model: {error}") from None
    return made
