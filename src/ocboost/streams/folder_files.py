"""The files of a folder: which of them are read, and in what order."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ocboost._core.escaping import shown
from ocboost.errors import InputError
from ocboost.streams.open import ENDINGS, FORMATS

_DIGITS = re.compile(r"([0-9]+)")
_MAX_LISTED = 3  # files in a message
_HIDDEN = ("_", ".")


@dataclass(frozen=True)
class FileOfFolder:
    """A file as it was when the folder was listed."""

    name: str  # within the folder
    path: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, name: str, path: str) -> FileOfFolder:
        """A file as it is now."""
        status = os.stat(path)
        return cls(name, path, status.st_size, status.st_mtime_ns)

    def require_unchanged(self) -> None:
        """Refuse a file that is no longer what it was."""
        try:
            now = FileOfFolder.of(self.name, self.path)
        except OSError as error:
            raise InputError(
                f"{shown(self.path)} must stay as it is while the folder is read; it cannot be read any more "
                f"({error.strerror}). Begin again."
            ) from None
        if now != self:
            raise InputError(
                f"{shown(self.path)} must stay as it is while the folder is read; it had {self.size} bytes, "
                f"now has {now.size}, and was written again. Begin again when nobody writes to the folder."
            )


@dataclass
class Listing:
    """The files of one format in a folder, in order, and notes on the others."""

    files: list[FileOfFolder]
    format: str
    notes: list[str] = field(default_factory=list)


def listed(names: list[str]) -> str:
    """Some files for a message.

    >>> listed(["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"])
    "'a.csv', 'b.csv', 'c.csv' and 2 more"
    """
    some = ", ".join(f"'{shown(name)}'" for name in names[:_MAX_LISTED])
    return f"{some} and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else some


def natural_order(name: str) -> tuple[list[list[str | int]], str]:
    """The key that sorts file names as people number them.

    >>> sorted(["part-10.csv", "part-2.csv", "b/1.csv", "part-02.csv"], key=natural_order)
    ['b/1.csv', 'part-02.csv', 'part-2.csv', 'part-10.csv']
    """
    parts = [
        [int(piece) if place % 2 else piece for place, piece in enumerate(_DIGITS.split(part))]
        for part in name.split(os.sep)
    ]
    return parts, name


def list_folder(path: str, format: str | None) -> Listing:
    """The files that are read, by their endings; hidden ones and hidden folders are passed over."""
    if format is not None and format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}; got {format!r:.80}.")
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(
            f"path must be a folder; {shown(path)} is a file. Give the folder that holds it, or read it with "
            "open_stream."
        )
    notes: list[str] = []
    names = sorted(_names(path, (status.st_dev, status.st_ino), notes), key=natural_order)
    if not names:
        raise InputError(
            f"{shown(path)} must hold files of rows; it holds none. Give a folder of "
            f"{', '.join(ENDINGS)} files; names that begin with _ or . are passed over."
        )
    format, chosen = _choose(path, names, format)
    others = sorted(set(names) - set(chosen), key=natural_order)
    if others:
        notes.append(f"Files that are not {format} are passed over: {listed(others)}.")
    if any("=" in part for name in chosen for part in name.split(os.sep)[:-1]):
        notes.append(
            "Folders named like column=value are just folders: their names are no columns. Write the column "
            "into the files if it is needed."
        )
    files = [_regular_file(path, name) for name in chosen]
    notes.extend(_notes_on_same_files(files))
    return Listing(files, format, notes)


def _names(folder: str, root: tuple[int, int], notes: list[str]) -> Iterator[str]:
    """The files below a folder, in any order, by their names within it; ``root`` is its device and inode."""
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset([root]))]
    while waiting:
        inner, above = waiting.pop()  # `above` are the folders that lead here
        for entry in _entries(os.path.join(folder, inner)):
            name = os.path.join(inner, entry)
            path = os.path.join(folder, name)
            if entry.startswith(_HIDDEN):
                if entry == "_delta_log":
                    notes.append(
                        f"{shown(path)} belongs to a Delta table, which may keep files with rows that were "
                        "deleted: all files are read here. Export the table to be sure."
                    )
                continue
            try:
                status = os.stat(path)
            except OSError:  # a link that leads nowhere: it matters only if it would be read
                yield name
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield name
                continue
            identity = status.st_dev, status.st_ino
            if identity in above:
                raise InputError(
                    f"{shown(path)} must not lead back to a folder that holds it; it is a link that does. "
                    "Remove the link."
                )
            waiting.append((name, above | {identity}))


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise InputError(
            f"{shown(folder)} must be readable; it is not ({error.strerror}). Change its permissions, or "
            "take it out of the folder."
        ) from None


def _choose(path: str, names: list[str], format: str | None) -> tuple[str, list[str]]:
    """The format, and the files that have it."""
    formats = {name: _format_of(name) for name in names}
    counts = Counter(found for found in formats.values() if found is not None)
    if format is not None:
        chosen = [name for name in names if formats[name] == format]
        if not counts:  # files such as part-00000: with a format they need no ending that tells
            chosen = names
        if not chosen:
            raise InputError(
                f"{shown(path)} must hold files of format {format}; it holds {_counted(counts)}. Give "
                "another format, or another folder."
            )
        return format, chosen
    if not counts:
        raise InputError(
            f"{shown(path)} must hold files whose endings tell their format, {', '.join(ENDINGS)}, perhaps "
            f"with .gz; it holds {listed(names)}. Otherwise give format: {', '.join(FORMATS)}."
        )
    if len(counts) > 1:
        raise InputError(
            f"{shown(path)} must hold files of one format; it holds {_counted(counts)}. "
            f"Choose one with format: {', '.join(sorted(counts))}."
        )
    (format,) = counts
    return format, [name for name in names if formats[name] == format]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} of {format}" for format, count in sorted(counts.items()))


def _format_of(name: str) -> str | None:
    """The format that the ending of a name tells."""
    lower = os.path.basename(name).lower().removesuffix(".gz")
    return ENDINGS.get(os.path.splitext(lower)[1])


def _regular_file(folder: str, name: str) -> FileOfFolder:
    path = os.path.join(folder, name)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError(
                f"{shown(path)} must be a regular file, since it is read several times; it is none. "
                "Take it out of the folder."
            )
        return FileOfFolder.of(name, path)
    except OSError as error:
        what = "is a link that leads nowhere" if os.path.islink(path) else "cannot be read"
        raise InputError(
            f"{shown(path)} must be a readable file; it {what} ({error.strerror}). "
            "Restore it, or take it out of the folder."
        ) from None


def _notes_on_same_files(files: list[FileOfFolder]) -> Iterator[str]:
    """Notes on files that are there under several names."""
    places: dict[tuple[int, int], list[str]] = {}
    for file in files:
        status = os.stat(file.path)
        places.setdefault((status.st_dev, status.st_ino), []).append(file.name)
    for names in places.values():
        if len(names) > 1:
            yield f"{listed(names)} are the same file: its rows are read {len(names)} times."
