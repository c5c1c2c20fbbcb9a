"""Which streams a model has learnt, and where in one of them to continue.

Each ``adapt`` records in the model's history how much of a stream it has learnt (`ocboost.streams.source`).
A stream is recognised by its first rows, not by its name: a log that has grown continues after the rows
learnt before. The name only serves to notice that a file now holds another stream.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from ocboost.streams.learnt_rows import LearntFile, as_learnt_file
from ocboost.streams.source import Coverage
from ocboost.streams.stream import Stream

COVERAGE_KEY = "covered"  # of an event in a model's history
EARLIER_KEY = "covered_before"  # the same of the files of a log before the last one
MAX_STREAMS = 1_000  # whose records a history keeps

History = list[dict[str, Any]]
Record = dict[str, Any]
Covered = Record | list[Record] | None


@dataclass(frozen=True)
class LearntPart:
    """The beginning of a stream, which a model has learnt."""

    rows: int
    is_all: bool  # whether the stream has no further rows
    last_row_grew: bool  # whether its last row was still being written when it was learnt
    sha256: str  # identifies its record


@dataclass(frozen=True)
class ChangedStream:
    """A stream whose learnt part has changed since: it must not be learnt without asking."""

    rows: int  # that were learnt of it


def followed_log(path: str | os.PathLike[str]) -> dict[str, str]:
    """What identifies a log that is followed, among the streams of runs."""
    return {"followed": _place_of_name(path)}


def coverage_record(
    coverage: Coverage | None, path: str | os.PathLike[str], end: int, before: str | None = None
) -> dict[str, Any] | None:
    """The record for a history: what was read, the row it ends at, its place, the record it continues."""
    if coverage is None:
        return None
    return {"end": end, "coverage": coverage, "place": _place(path), "before": before}


def file_records(
    files: Sequence[LearntFile], path: str | os.PathLike[str], before: str | None = None
) -> list[Record]:
    """Records of the files of a log that was followed; the first continues the record ``before``."""
    found: list[Record] = []
    for file in files:
        record: Record = {
            "end": file.rows,
            "coverage": file.coverage,
            "place": _place(path),
            "before": before,
        }
        more = {"header": file.header, "time": file.time}
        found.append(record | {key: value for key, value in more.items() if value is not None})
        before = None
    return found


def learnt_files(records: Sequence[object], path: str | os.PathLike[str] | None = None) -> list[LearntFile]:
    """What records say was learnt, only of what was found at a path if one is given; others are ignored."""
    places = () if path is None else _places(path)
    some = [each for each in records if _is_record(each) and (path is None or each.get("place") in places)]
    return [file for each in some if (file := as_learnt_file(each)) is not None]


def records_of(history: History) -> list[Record]:
    """The records in a history that can be used, the oldest first."""
    found: list[object] = []
    for event in history:
        earlier = event.get(EARLIER_KEY)
        found += [*(earlier if isinstance(earlier, list) else ()), event.get(COVERAGE_KEY)]
    return [record for record in found if _is_record(record)]


def find_learnt_part(
    history: History, stream: Stream, path: str | os.PathLike[str]
) -> LearntPart | ChangedStream | None:
    """What of a stream, opened as ``tracked``, a model with this history has learnt; None for a new one."""
    records = records_of(history)
    fits = stream.fits([record["coverage"] for record in records])
    places = _places(path)
    found = [i for i, fit in enumerate(fits) if fit != "other"]
    if not found:
        rows = [record["end"] for record in records if record.get("place") in places]
        return ChangedStream(rows[-1]) if rows else None
    best = max(found, key=lambda i: (records[i]["end"], i))
    fit, sha256 = fits[best], str(records[best]["coverage"]["sha256"])
    later = [
        record["end"]
        for record, other in zip(records, fits, strict=True)
        if other == "other" and record["before"] == sha256
    ]
    if later and fit != "same":  # it continued differently, or was longer
        return ChangedStream(max(later))
    return LearntPart(records[best]["end"], fit == "same", fit == "completed", sha256)


def add_event(history: History, event: dict[str, Any], records: Covered) -> None:
    """Append an event with its record or records; the oldest are dropped to make room."""
    *earlier, last = records if isinstance(records, list) and records else [records or None]
    added = {EARLIER_KEY: earlier[1 - MAX_STREAMS :] or None, COVERAGE_KEY: last}
    history.append(event | {key: value for key, value in added.items() if value is not None})
    room = MAX_STREAMS
    for i in reversed(range(len(history))):
        kept = history[i]
        if COVERAGE_KEY not in kept:
            continue
        earlier = kept.get(EARLIER_KEY) or []
        if room < 1 or room <= len(earlier):
            dropped = {EARLIER_KEY} if room else {EARLIER_KEY, COVERAGE_KEY}
            history[i] = {key: value for key, value in kept.items() if key not in dropped}
        room = max(0, room - 1 - len(earlier))


def _is_record(record: object) -> TypeGuard[Record]:
    """Whether a file's record can be used; any other is ignored."""
    if not isinstance(record, dict) or not {"end", "coverage", "before"} <= set(record):
        return False
    coverage, end = record["coverage"], record["end"]
    return isinstance(coverage, dict) and "sha256" in coverage and type(end) is int and end >= 0


def _places(path: str | os.PathLike[str]) -> tuple[str, str]:
    """What a record may have for a place: a log that is followed is known by its name, even if a link."""
    return _place(path), _place_of_name(path)


def _place_of_name(path: str | os.PathLike[str]) -> str:
    folder, name = os.path.split(os.path.abspath(path))
    return _digest_of(os.path.join(os.path.realpath(folder), name))


def _place(path: str | os.PathLike[str]) -> str:
    """A digest of where a file is, which does not reveal the folders of whoever made the model."""
    return _digest_of(os.path.realpath(path))


def _digest_of(place: str) -> str:
    return hashlib.sha256(os.fsencode(place)).hexdigest()
