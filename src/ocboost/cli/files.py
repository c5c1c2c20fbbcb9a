"""The files a command reads and writes, checked against each other before the work begins."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ocboost._core.file_lock import lock_name
from ocboost.errors import InputError

CHECKPOINT_SUFFIX = ".checkpoint"
BAD_ROWS_SUFFIX = ".bad-rows.jsonl"


def require_files(*paths: Path | None) -> None:
    """Refuse an input that is not there, before anything slow is imported; - is standard input."""
    for path in paths:
        if path is not None and str(path) != "-":
            os.stat(path)  # its error names the file


def place_of(path: Path) -> Path:
    """The real path of a file, links followed."""
    return Path(os.path.realpath(path))


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths name one file, through links of either kind."""
    try:
        return place_of(one) == place_of(other) or os.path.samefile(one, other)
    except OSError:
        return False


def checkpoint_of(out: Path) -> Path:
    """Where ``adapt`` keeps its checkpoint: beside the file itself, not beside a link to it."""
    place = place_of(out) if out.is_symlink() else out
    return place.with_name(place.name + CHECKPOINT_SUFFIX)


def bad_rows_of(out: Path) -> Path:
    """Where ``adapt`` adds the rows that it leaves out, unless told otherwise."""
    place = place_of(out) if out.is_symlink() else out
    return place.with_name(place.name + BAD_ROWS_SUFFIX)


def check_out(path: Path, *inputs: Path, option: str = "--out") -> None:
    """Refuse an output that could not be written after the work, or would replace an input."""
    place = place_of(path)
    if place.is_symlink():
        raise InputError(f"{option} must be a file; '{path}' is a link that leads back to itself. Remove it.")
    if place.is_dir():
        raise InputError(f"{option} must be a file; got the folder '{path}'. Add the name of a file.")
    if not place.parent.is_dir():
        raise InputError(
            f"{option} must lie in a folder that exists; there is no '{place.parent}'. Make it first."
        )
    if place.exists() and not place.is_file():
        raise InputError(
            f"{option} must be an ordinary file; '{path}' is a device or a pipe. Give another name."
        )
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"{option} must lie in a folder that can be written; '{place.parent}' cannot.")
    if place.name.endswith(CHECKPOINT_SUFFIX):
        raise InputError(
            f"{option} must not end in {CHECKPOINT_SUFFIX}, as the checkpoints of adapt do; got '{path}'. "
            "Give another name."
        )
    for read in inputs:
        if str(read) != "-" and is_same(read, path):
            raise InputError(f"{option} must not be the data; got '{path}' for both. Give another name.")


def check_apart(out: Path, **inputs: Path) -> None:
    """Refuse inputs that would be replaced or removed while ``out`` is written.

    These are its checkpoint, its lock, and the temporary files of all three.
    """
    place = place_of(out)
    own_files = {"the checkpoint": checkpoint_of(out), "the lock": lock_name(out)}
    temporary = re.compile(
        rf"\.{re.escape(place.name)}(({re.escape(CHECKPOINT_SUFFIX)})?|\.lock)\.[0-9a-zA-Z]{{8}}\.tmp"
    )
    for what, path in inputs.items():
        if str(path) == "-":
            continue
        for role, own in own_files.items():
            if is_same(path, own):
                raise InputError(
                    f"the {what} must not be '{path}': that is {role} of --out '{out}', which is replaced "
                    "and removed on the way. Rename it, or give another --out."
                )
        real = place_of(path)
        if real.parent == place.parent and temporary.fullmatch(real.name):
            raise InputError(
                f"the {what} must not be '{path}': files of such names are removed when '{out}' is written. "
                "Rename it, or give another --out."
            )


def check_side_files(out: Path, written: dict[str, Path | None], **inputs: Path) -> None:
    """Refuse files, by the options that name them, that are inputs, folders, ``out``, or each other."""
    named = {option: path for option, path in written.items() if path is not None and str(path) != "-"}
    others = {"--out": out, "the checkpoint": checkpoint_of(out), "the lock": lock_name(out)}
    others |= {f"the {what}": path for what, path in inputs.items() if str(path) != "-"}
    for option, path in named.items():
        for what, other in others.items():
            if is_same(path, other):
                raise InputError(f"{option} must not be {what}; got '{path}' for both. Give another name.")
        others[option] = path
        _require_place(option, path)


def check_page(path: Path | None, stream: Path | None, model: Path | None) -> None:
    """Refuse a --report that could not be written after the work, or would replace an input."""
    if path is None:
        return
    for what, other in {"the stream": stream, "the model": model}.items():
        if other is not None and str(other) != "-" and is_same(path, other):
            raise InputError(f"--report must not be {what}; got '{path}' for both. Give another name.")
    _require_place("--report", path)
    place = place_of(path)
    if place.exists() and not place.is_file():
        raise InputError(f"--report must be an ordinary file; got '{path}'. Give another name.")
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"--report must lie in a folder that can be written; '{place.parent}' cannot.")


def _require_place(option: str, path: Path) -> None:
    place = place_of(path)
    if place.is_dir():
        raise InputError(f"{option} must be a file; got the folder '{path}'. Add the name of a file.")
    if not place.parent.is_dir():
        raise InputError(
            f"{option} must lie in a folder that exists; there is no '{place.parent}'. Make it first."
        )
