"""Which streams a model has learnt, and where in one of them to continue.

Each ``adapt`` records in the model's history how much of a stream it has learnt (`ocboost.streams.source`).
A stream is recognised by its first rows, not by its name: a log that has grown continues after the rows
learnt before. The name only serves to notice that a file now holds another stream.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

from ocboost.streams.source import Coverage
from ocboost.streams.stream import Stream

COVERAGE_KEY = "covered"  # of an event in a model's history
MAX_STREAMS = 1_000  # whose records a history keeps

History = list[dict[str, Any]]


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


def coverage_record(
    coverage: Coverage | None, path: str | os.PathLike[str], end: int, before: str | None = None
) -> dict[str, Any] | None:
    """The record for a history: what was read, the row it ends at, its place, the record it continues."""
    if coverage is None:
        return None
    return {"end": end, "coverage": coverage, "place": _place(path), "before": before}


def find_learnt_part(
    history: History, stream: Stream, path: str | os.PathLike[str]
) -> LearntPart | ChangedStream | None:
    """What of a stream, opened as ``tracked``, a model with this history has learnt; None for a new one."""
    records = [event[COVERAGE_KEY] for event in history if _is_record(event.get(COVERAGE_KEY))]
    fits = stream.fits([record["coverage"] for record in records])
    place = _place(path)
    found = [i for i, fit in enumerate(fits) if fit != "other"]
    if not found:
        rows = [record["end"] for record in records if record.get("place") == place]
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


def add_event(history: History, event: dict[str, Any], record: dict[str, Any] | None) -> None:
    """Append an event with its record; the oldest records are dropped to make room."""
    history.append(event if record is None else {**event, COVERAGE_KEY: record})
    with_records = [i for i, each in enumerate(history) if COVERAGE_KEY in each]
    for i in with_records[:-MAX_STREAMS]:
        history[i] = {key: value for key, value in history[i].items() if key != COVERAGE_KEY}


def _is_record(record: object) -> bool:
    """Whether a file's record can be used; any other is ignored."""
    if not isinstance(record, dict) or not {"end", "coverage", "before"} <= set(record):
        return False
    coverage, end = record["coverage"], record["end"]
    return isinstance(coverage, dict) and "sha256" in coverage and type(end) is int and end >= 0


def _place(path: str | os.PathLike[str]) -> str:
    """A digest of where a file is, which does not reveal the folders of whoever made the model."""
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
