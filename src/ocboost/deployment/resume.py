"""What streams a model has learnt, and where in one of them it goes on.

Each ``adapt`` notes in the model's history how much of a stream it has covered (`ocboost.streams.source`).
A stream is known by how it begins, whatever its name is now: a log that has grown goes on after the rows
that were learnt before. A name is only looked at to notice that something else is there under it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

from ocboost.streams.source import Coverage
from ocboost.streams.stream import Stream

KEY = "covered"  # of an event in a model's history
MOST = 1_000  # streams that are remembered

History = list[dict[str, Any]]


@dataclass(frozen=True)
class Before:
    """The part of a stream that a model has been through.

    Attributes
    ----------
    rows : int
        The row after it.
    whole : bool
        Whether there is nothing after it.
    cut : bool
        Whether its last row has been completed since.
    known_as : str
        The name of the stream then.
    sha256 : str
        What the record of it is called.
    """

    rows: int
    whole: bool
    cut: bool
    known_as: str
    sha256: str


@dataclass(frozen=True)
class Changed:
    """A stream that is not what it was: it must not be learnt without asking.

    Attributes
    ----------
    rows : int
        Rows that were learnt of what it was.
    """

    rows: int


def covered(
    coverage: Coverage | None, path: str | os.PathLike[str], end: int, before: str | None = None
) -> dict[str, Any] | None:
    """The record for a history: what was read, the row it ends at, where it lies, what it goes on from."""
    if coverage is None:
        return None
    return {"end": end, "coverage": coverage, "place": _place(path), "before": before}


def look_up(history: History, stream: Stream, path: str | os.PathLike[str]) -> Before | Changed | None:
    """Where in a stream to go on; None for a new one.

    Parameters
    ----------
    history : list of dict
        A model's.
    stream : Stream
        Opened as ``tracked``.
    path : path
        Its name.
    """
    events = [event for event in history if _is_record(event.get(KEY))]
    records = [event[KEY] for event in events]
    fits = stream.fits([record["coverage"] for record in records])
    place = _place(path)
    found = [i for i, fit in enumerate(fits) if fit != "other"]
    if not found:
        rows = [record["end"] for record in records if record.get("place") == place]
        return Changed(rows[-1]) if rows else None
    best = max(found, key=lambda i: (records[i]["end"], i))
    name = _name(records[best])
    later = [r["end"] for r, fit in zip(records, fits, strict=True) if fit == "other" and r["before"] == name]
    if later and fits[best] != "same":  # it went on otherwise, or was longer
        return Changed(max(later))
    fit = fits[best]
    return Before(
        records[best]["end"], fit == "same", fit == "completed", str(events[best].get("stream")), name
    )


def remember(history: History, event: dict[str, Any], record: dict[str, Any] | None) -> None:
    """Append an event with its record; the oldest records make room."""
    history.append(event if record is None else {**event, KEY: record})
    with_records = [i for i, each in enumerate(history) if KEY in each]
    for i in with_records[:-MOST]:
        history[i] = {key: value for key, value in history[i].items() if key != KEY}


def _name(record: dict[str, Any]) -> str:
    return str(record["coverage"]["sha256"])


def _is_record(record: object) -> bool:
    """Whether a file's record can be used; one that cannot is as good as none."""
    if not isinstance(record, dict) or not {"end", "coverage", "before"} <= set(record):
        return False
    coverage, end = record["coverage"], record["end"]
    return isinstance(coverage, dict) and "sha256" in coverage and type(end) is int and end >= 0


def _place(path: str | os.PathLike[str]) -> str:
    """A name for where a file is, which does not give away the folders of whoever made the model."""
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
