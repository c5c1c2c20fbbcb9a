"""Which streams a fleet has learnt, and where in one of them to continue.

Each file is a source of the fleet, with facts that are kept in the store: how it begins, how far it was
learnt, and how much was written to the file of predictions. They change together with what is learnt. A file
is recognised by its rows, not by its name, so a log that has grown, was moved, or compressed continues after
the rows learnt before. The name only serves to notice that a file now holds another stream.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.files import place_of
from ocboost.cli.fleet_shared import counted
from ocboost.cli.terminal import say
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.fleet import Fleet
    from ocboost.streams import Stream
    from ocboost.streams.source import Coverage, Fit

NAME, PLACES, FINGERPRINT, ROWS = "name", "places", "fingerprint", "rows"  # of the facts of a source
LEARNT_TO = "offset"  # what the fleet itself adds to the facts
READ, END, COVERAGE = "read", "end", "coverage"  # each time it ended: how many rows it had, and a digest
FILE, PLACE, SIZE = "predictions", "place", "size"  # that file
MOST_KEPT = 20  # times that it ended, and places where it was
_ID_LETTERS = 16


@dataclass
class FileSource:
    """A file that a fleet learns: its name in the store, and what the store knows of it."""

    name: str
    rows: int = 0  # that were learnt, or passed over
    facts: dict[str, Any] = field(default_factory=dict)
    known_to_end: int | None = None  # how many rows the file has, if all of them were learnt before
    last_row_grew: bool = False  # whether its last row was still being written when it was learnt

    def begin(self, stream: Stream, path: Path) -> None:
        """The facts of a file that is about to be learnt, whose beginning may be longer now."""
        here = _digest(path)
        places = [place for place in _listed(self.facts, PLACES, str) if place != here]
        self.facts |= {
            NAME: path.name[:200],
            PLACES: [*places, here][-MOST_KEPT:],
            FINGERPRINT: stream.fingerprint(),
        }

    def predictions_size(self, path: Path) -> int:
        """The bytes of a file of predictions that belong to the rows so far."""
        known = self.facts.get(FILE)
        if not isinstance(known, dict) or known.get(PLACE) != _digest(path):
            return 0
        size = known.get(SIZE)
        return size if type(size) is int and size > 0 else 0

    def passed(self, rows: int, predictions: tuple[Path, int | None] | None) -> dict[str, Any]:
        """The facts after more rows, and how long the file of predictions is, if it has a length."""
        self.rows = rows
        self.facts = {key: value for key, value in self.facts.items() if key != FILE} | {ROWS: rows}
        if predictions is not None and predictions[1] is not None:
            self.facts[FILE] = {PLACE: _digest(predictions[0]), SIZE: predictions[1]}
        return self.facts

    def ended(self, coverage: Coverage | None) -> dict[str, Any]:
        """The facts when all rows were learnt."""
        if coverage is not None:
            before = [each for each in _listed(self.facts, READ) if each.get(COVERAGE) != coverage]
            self.facts[READ] = [*before, {END: self.rows, COVERAGE: coverage}][-MOST_KEPT:]
        return self.facts


def find_source(fleet: Fleet, stream: Stream, path: Path, *, new: bool) -> FileSource | None:
    """The source that a stream, opened as tracked, is or becomes; None if it cannot be read twice.

    A file that was learnt under this name, and has changed, is an error unless it is to be a ``new`` one.
    """
    fingerprint = stream.fingerprint()
    if fingerprint is None:
        return None
    sources = fleet.sources
    records = [(name, each) for name, facts in sources.items() for each in _listed(facts, READ)]
    fits = stream.fits([each.get(COVERAGE) for _, each in records])
    fits_of: dict[str, list[tuple[Any, Fit]]] = {name: [] for name in sources}
    for (name, each), fit in zip(records, fits, strict=True):
        fits_of[name].append((each.get(END), fit))
    same: list[FileSource] = []
    changed: list[int] = []
    for name, facts in sources.items():
        rows, known = rows_of(facts), fits_of[name]
        begins_so = _begins_so(stream, facts.get(FINGERPRINT), fingerprint)
        whole = next((end for end, fit in known if fit == "same"), None)  # perhaps an older copy
        newest = known[-1][1] if known else "longer" if begins_so else "other"
        if whole is not None or newest != "other":
            own = {key: value for key, value in facts.items() if key != LEARNT_TO}
            same.append(FileSource(name, rows, own, whole, newest == "completed"))
        elif begins_so or _known_part(known) or _digest(path) in _listed(facts, PLACES, str):
            changed.append(rows)
    if same:
        return max(same, key=lambda source: source.rows)
    if changed and not new:
        raise InputError(
            f"'{path}' does not begin as it did when {counted(max(changed), 'row')} of it were learnt. Give "
            "--new to learn the whole of it as a new stream, or give the one that has grown."
        )
    return FileSource(_unused(str(fingerprint["sha256"])[:_ID_LETTERS], sources))


def first_row(source: FileSource, skip: int) -> int:
    """Where to begin in a source, which is said unless it is at its first row."""
    row = max(skip, source.rows)
    if source.rows:
        n = "first row was" if source.rows == 1 else f"first {source.rows:,} rows were"
        say(f"the {n} learnt before; continuing at row {row:,}.")
        if source.last_row_grew:
            say(
                f"row {source.rows - 1:,}, the last of them, was learnt while it was still being written, "
                "and is longer now; it is skipped, as each row is learnt once."
            )
    return row


def size_to_continue(source: FileSource | None, path: Path) -> int:
    """How much of a file of predictions stays: what belongs to the rows before those that come now."""
    size = 0 if source is None or str(path) == "-" else source.predictions_size(path)
    if not size:
        return 0
    there = path.stat().st_size if path.is_file() else 0
    if not there:  # somebody has taken them away
        return 0
    if there < size:
        raise InputError(
            f"--predictions must hold what was predicted of the rows before, {size:,} bytes; '{path}' has "
            f"{there:,}. Give that file, or another one for the rows to come."
        )
    return size


def _known_part(fits: list[tuple[Any, Fit]]) -> bool:
    """Whether a file begins with rows that were learnt; if so, others followed then."""
    return any(fit != "other" for _, fit in fits)


def _listed(facts: Mapping[str, Any], name: str, kind: type = dict) -> list[Any]:
    """A list among the facts, without what does not belong there."""
    found = facts.get(name)
    return [each for each in found if isinstance(each, kind)] if isinstance(found, list) else []


def is_complete(facts: Mapping[str, Any]) -> bool:
    """Whether a source was learnt to its end, as it was when it was read last."""
    read = _listed(facts, READ)
    return bool(read) and read[-1].get(END) == rows_of(facts)


def rows_of(facts: Mapping[str, Any]) -> int:
    """How far a source was learnt; rows without a label count too."""
    return max(found for key in (LEARNT_TO, ROWS) if type(found := facts.get(key, 0)) is int)


def _begins_so(stream: Stream, known: Any, now: dict[str, Any]) -> bool:
    """Whether a stream begins as it did; without reading it again where that can be told."""
    if not isinstance(known, dict) or known == now:
        return known == now
    length = known.get("bytes")
    return type(length) is int and length < now["bytes"] and stream.matches(known)


def _unused(name: str, sources: Mapping[str, Any]) -> str:
    found, number = name, 1
    while found in sources:
        number += 1
        found = f"{name}-{number}"
    return found


def _digest(path: Path) -> str:
    """A digest of where a file is, which does not reveal the folders of whoever made the store."""
    return hashlib.sha256(os.fsencode(place_of(path))).hexdigest()
