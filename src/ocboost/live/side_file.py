"""Small JSON files beside a journal, for what it does not hold: private, and every entry checked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import write_atomically
from ocboost.errors import ModelFileError

SIDE_FORMAT = 1
MAX_SIDE_BYTES = 1 << 20
Read = TypeVar("Read")


def read_side_file(path: Path, make: Callable[[Fields], Read]) -> Read | None:
    """What ``make`` builds of a file; None if there is none."""
    try:
        with open(path, "rb") as opened:
            content = opened.read(MAX_SIDE_BYTES + 1)
    except FileNotFoundError:
        return None
    if not content:  # made by `write_side_file`, which was ended before it wrote
        return None
    try:
        if len(content) > MAX_SIDE_BYTES:
            raise ValueError
        tree = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ModelFileError(f"'{path}' is not JSON of ocboost. {ADVICE}") from None

    def checked(fields: Fields) -> Read:
        fields.count("format", SIDE_FORMAT, SIDE_FORMAT)
        return make(fields)

    try:
        return read(tree, f"'{path}'", checked)
    except ModelFileError as error:
        text = str(error).replace("is not a valid model", "makes no sense")
        raise ModelFileError(f"{text} {ADVICE}") from None


def write_side_file(path: Path, tree: Tree) -> None:
    """Write a file beside its place and rename it; only its owner may read it."""
    if not path.exists():  # what is written later keeps the rights of what was there
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        os.chmod(path, 0o600)
    write_atomically(path, json.dumps({"format": SIDE_FORMAT, **tree}, allow_nan=False).encode())


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


ADVICE = "Remove it: only what it held is lost, and it is written anew."
