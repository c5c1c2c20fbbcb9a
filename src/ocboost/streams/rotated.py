"""The files that a rotated log has left beside it, and their order.

A log is rotated by renaming it, or by copying and truncating it; either may be compressed later. What was
learnt of it is found again by its digest. Files between that one and the log are taken from those of the
same naming (``log.csv.2``, ``log.csv.1.gz``; ``log.csv-20261116``), in the order of their times of
modification, which gzip and logrotate keep. Where that leaves a doubt, an `InputError` names the files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

from ocboost.errors import InputError
from ocboost.streams.source import Coverage, Fit, Source, TextDigest

_GZIP_ENDING = ".gz"
_NOT_LOGS = re.compile(r"\.(tmp|lock|checkpoint|ocb|swp)$|\.ocb\.")
_COMPARED_BYTES = 1 << 16
_MAX_SERIAL = 1_000_000  # numbers from here on are dates, which grow; logrotate's 1, 2, 3 go back in time

Key = tuple[int, int]


class Archive(NamedTuple):
    """A file beside a log that may hold what the log held before."""

    path: Path
    time: int  # of its modification, in nanoseconds
    key: Key  # device and inode

    @property
    def is_packed(self) -> bool:
        """Whether its name says that it is compressed."""
        return self.path.name.endswith(_GZIP_ENDING)

    @property
    def plain_name(self) -> str:
        """Its name before it was compressed."""
        return self.path.name.removesuffix(_GZIP_ENDING)

    @property
    def naming(self) -> str:
        """What its name has in common with those of other rotations: all but the digits."""
        return re.sub(r"[0-9]+", "#", self.plain_name)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers in its name."""
        return tuple(int(digits[-40:]) for digits in re.findall(r"[0-9]+", self.plain_name))


class CopyError(InputError):
    """Two files begin with the same rows; for a moment that is so while a log is copied and truncated."""


def key_of(status: os.stat_result) -> Key:
    """What tells a file from all others, whatever its name is."""
    return status.st_dev, status.st_ino


def archives_of(path: str | os.PathLike[str]) -> list[Archive]:
    """The files beside a log whose names derive from its own, the oldest first.

    Of a file and its compressed copy the plain one counts: the other may not be complete yet.
    """
    place = Path(path)
    found = {}
    with os.scandir(place.parent) as entries:
        for entry in entries:
            if entry.name == place.name or not _is_derived(entry.name, place):
                continue
            try:
                status = entry.stat()
            except OSError:  # renamed just now
                continue
            if stat.S_ISREG(status.st_mode):
                archive = Archive(place.parent / entry.name, status.st_mtime_ns, key_of(status))
                found[entry.name] = archive
    names = {archive.plain_name for archive in found.values() if not archive.is_packed}
    kept = [each for each in found.values() if not (each.is_packed and each.plain_name in names)]
    return sorted(kept, key=lambda each: (each.time, each.path.name))


def _is_derived(name: str, log: Path) -> bool:
    """Whether a name is the log's with something after it, or a number before its ending (log-1.csv)."""
    if _NOT_LOGS.search(name) or name.startswith("."):
        return False
    if name.startswith(log.name) and name[len(log.name)] in ".-_~":
        return True
    middle = name.removesuffix(_GZIP_ENDING)
    if not log.suffix or not (middle.startswith(log.stem) and middle.endswith(log.suffix)):
        return False
    middle = middle[len(log.stem) : -len(log.suffix)]
    return re.fullmatch(r"[._-][0-9._T-]*[0-9][0-9._T-]*", middle) is not None


def fits_of(archive: Archive, coverages: Sequence[object]) -> list[Fit]:
    """How a file fits coverages; not at all if it cannot be read."""
    try:
        source = Source(archive.path, tracked=True)
        try:
            return source.fits(coverages)
        finally:
            source.close()
    except (OSError, InputError):
        return ["other"] * len(coverages)


def find_holder(archives: Sequence[Archive], coverage: Coverage, since: int | None = None) -> Archive | None:
    """The file that begins with what was read; of several the longest, if the others are parts of it.

    ``since`` is a time of modification that it had then: it has none before, unless somebody changed it.
    """
    plausible = [each for each in archives if since is None or each.time >= since]
    for some in (plausible, [each for each in archives if each not in plausible]):
        fitting = [
            each for each in some if _may_hold(each, coverage) and fits_of(each, [coverage]) != ["other"]
        ]
        if fitting:
            return _longest(fitting)
    return None


def _may_hold(archive: Archive, coverage: Coverage) -> bool:
    """Whether a file is long enough; of a compressed one nobody knows."""
    try:
        return archive.is_packed or archive.path.stat().st_size >= coverage["bytes"]
    except OSError:
        return False


def _longest(archives: Sequence[Archive]) -> Archive:
    """The file that all the others are beginnings of."""
    if len(archives) == 1:
        return archives[0]
    wholes = {archive: _whole(archive) for archive in archives}
    longest = max(archives, key=lambda each: (wholes[each]["bytes"], -len(each.path.name)))
    if "other" in fits_of(longest, list(wholes.values())):
        raise InputError(
            f"{_named(archives)} all begin with what was learnt, and go on differently: nobody can tell "
            "which of them to go on with. Move the others to another folder."
        )
    return longest


def _whole(archive: Archive) -> Coverage:
    digest = TextDigest()
    source = Source(archive.path)
    try:
        while data := source.read():
            digest.update(data)
    finally:
        source.close()
    return digest.coverage()


def files_between(
    path: str | os.PathLike[str],
    archives: Sequence[Archive],
    *,
    holder: Archive | None,
    since: int,
    read: Coverage | None,
    known: Sequence[Coverage] = (),
    began: int | None = None,
    header: bytes = b"",
    others: Sequence[Key] = (),
    naming: str | None = None,
) -> list[Archive]:
    """The files of a log between the one that was ``read`` last and the log as it is now, the oldest first.

    ``holder`` is the file that was read, None if it is gone; ``since`` its time; ``began`` that of the first
    file of all. Another copy of what was ``read`` counts as none; so do files ``known`` to be learnt, and
    ``others``. ``naming`` is how rotations of this log are named, if that is known without the holder. A file
    that might be a copy of another is refused, and so is an unclear order.
    """
    found = []
    own_numbers = len(re.findall("[0-9]+", os.path.basename(path)))
    naming = naming if holder is None else holder.naming
    for each in archives:
        alike = len(each.numbers) > own_numbers if naming is None else each.naming == naming
        if each == holder or each.key in others or not alike:
            continue
        if each.time < since:
            _require_older(each, holder, known, began)
            continue
        try:
            if not _beginning(each, header):
                continue  # there are no rows in it
        except InputError:
            if holder is None and each.time == since:
                continue  # the file that was read, compressed in another way
            raise
        fits = fits_of(each, [read, *known])
        if (
            read is not None and fits[0] != "other"
        ) or "same" in fits:  # another copy of what was read or learnt
            continue
        if set(fits) != {"other"}:
            raise InputError(
                f"'{each.path}' begins as a file that was learnt before, and is longer than it was. Nobody "
                "can tell whether it is to be learnt. Move it to another folder, or give --new."
            )
        found.append(each)
    if not found:
        return []
    if naming is None:
        _require_rotations(path, archives, found, known)
    ordered = _in_order(found if holder is None else [holder, *found])
    if holder is not None:
        ordered = ordered[ordered.index(holder) + 1 :]
    _refuse_copies([*ordered, Archive(Path(path), 0, (0, 0))], header)
    return ordered


def _require_older(
    archive: Archive, holder: Archive | None, known: Sequence[Coverage], began: int | None
) -> None:
    """Refuse a file that is older than the holder by its time, newer by its number, and was not learnt."""
    if holder is None or began is None or archive.time < began:
        return
    newer = archive.numbers < holder.numbers and holder.numbers[-1] < _MAX_SERIAL
    if newer and "same" not in fits_of(archive, known):
        raise _unclear([archive, holder])


def _require_rotations(
    path: str | os.PathLike[str],
    archives: Sequence[Archive],
    found: Sequence[Archive],
    known: Sequence[Coverage],
) -> None:
    """Refuse files that need not come from the log: of several namings, or such as other logs have.

    A number after the log's name is a rotation; one before its ending is one if a file like it was learnt.
    """
    naming, name = found[0].naming, os.path.basename(path)
    good = all(each.naming == naming for each in found)
    if good and not found[0].plain_name.startswith(name):
        alike = [each for each in archives if each.naming == naming and each not in found]
        good = any(set(fits_of(each, known)) - {"other"} for each in reversed(alike))
    if not good:
        raise InputError(
            f"{_named(found)} may or may not hold rows that '{os.fspath(path)}' held before it was rotated. "
            "Move what is not from it to another folder, or give --new to begin with the log as it is now."
        )


def _in_order(archives: Sequence[Archive]) -> list[Archive]:
    """Files by their times, and by their numbers where those are equal; refused if the two disagree."""
    forward = any(each.numbers[-1:] >= (_MAX_SERIAL,) for each in archives)
    by_name = sorted(archives, key=lambda each: each.numbers, reverse=not forward)
    ordered = sorted(by_name, key=lambda each: each.time)
    steps = {
        (one.numbers > other.numbers) - (one.numbers < other.numbers) for one, other in pairwise(ordered)
    }
    if len(steps) > 1 or 0 in steps:
        raise _unclear(archives)
    return ordered


def _unclear(archives: Sequence[Archive]) -> InputError:
    return InputError(
        f"the order of {_named(archives)} is not clear: their times of modification and the numbers in their "
        "names disagree. Set the times (touch -d), or give --new to begin with the log as it is now."
    )


def _refuse_copies(archives: Sequence[Archive], header: bytes) -> None:
    """Refuse files one of which begins with all of another: their rows might be learnt twice."""
    rows = [(each, _beginning(each, header)) for each in archives]
    for (one, some), (other, more) in combinations(rows, 2):
        if some and more and (some.startswith(more) or more.startswith(some)):
            raise CopyError(
                f"{_named([one, other])} begin with the same rows: one may be a copy of the other. Move the "
                "copy to another folder, or give --new to begin with the log as it is now."
            )


def _beginning(archive: Archive, header: bytes) -> bytes:
    """The first rows of a file, without a line of names; none if it is gone."""
    data = b""
    try:
        source = Source(archive.path)
    except FileNotFoundError:
        return data
    try:
        while len(data) < _COMPARED_BYTES and (more := source.read()):
            data += more
    finally:
        source.close()
    first, _, rest = data.partition(b"\n")
    data = rest if header and first.rstrip(b"\r") == header else data
    return data[:_COMPARED_BYTES].strip(b"\r\n")


def first_line(archives: Sequence[Archive], since: int) -> bytes:
    """The first line of the oldest file since a time that can be read."""
    for each in archives:
        if each.time >= since and (data := _beginning(each, b"")):
            return data.partition(b"\n")[0].rstrip(b"\r")
    return b""


def _named(archives: Sequence[Archive]) -> str:
    return " and ".join(f"'{each.path}'" for each in archives)
