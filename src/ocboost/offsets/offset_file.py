"""The offset of a classifier in its file, or what is said there of one that the file does not hold."""

from __future__ import annotations

from ..errors import InputError, ModelFileError, NotSavableError
from ..fields import Fields, Tree
from ..kinds import OFFSET, is_known, tree_within, within
from .base import Offset, not_savable

LEFT_OUT = "given"  # in the place of an offset that the file does not hold


def offset_tree(offset: Offset | None, *, without: bool = False) -> Tree | str | None:
    """What a file holds of an offset.

    ``without`` leaves it out: it is given again when the file is loaded.
    """
    if offset is None:
        return None
    if without:
        return LEFT_OUT
    if not is_known(offset, OFFSET):
        raise not_savable()
    try:
        return tree_within(offset, OFFSET)
    except NotSavableError as error:  # something within it has no form in a file
        raise not_savable() from error


def offset_from(fields: Fields, key: str, given: Offset | None) -> Offset | None:
    """The offset a file holds, or the one that is given to go with it."""
    if fields.takes(key, LEFT_OUT):
        if given is None:
            raise ModelFileError(
                f"{fields.name} holds a classifier without its offset, which is a Python function or was "
                "left out when it was saved. Give it again: OCBClassifier.load(path, offset=scorer)."
            )
        return given
    found: Offset | None = fields.read_any(key, within(OFFSET))
    if given is not None:
        what = "has none" if found is None else "is in the file"
        raise InputError(f"offset must be left out for {fields.name}, whose own {what}; got {given!r:.80}.")
    return found
