"""How far the files of a log have been learnt: from the number of a row to the bytes before its end."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ocboost.streams.source import Coverage, TextDigest, usable_coverages

MAX_FILES = 1_000  # of one run, whose records are kept


@dataclass(frozen=True)
class LearntFile:
    """The beginning of one file of a log, which was learnt, whole rows only.

    ``header`` is the line of names of a file that has none of its own. ``time`` is the time of modification
    that the file had, in nanoseconds, if that is known.
    """

    rows: int
    coverage: Coverage
    header: str | None = None
    time: int | None = None


class FileMark:
    """A file while its rows are learnt; ``before`` is what was learnt of it in earlier runs."""

    def __init__(self, digest: TextDigest | None = None, rows: int = 0, header: str | None = None) -> None:
        self.digest = TextDigest() if digest is None else digest
        self.rows = rows
        self.header = header
        self.time: int | None = None

    def learnt(self) -> LearntFile:
        """What was learnt of it."""
        return LearntFile(self.rows, self.digest.coverage(), self.header, self.time)


@dataclass
class _Part:
    """Bytes of a file that have been given out, and the place after each of their rows."""

    mark: FileMark
    data: bytes
    ends: NDArray[np.int64]


class LearntRows:
    """What has been given out of the files of a log, up to the row that was learnt last.

    Rows are numbered on through all files; ``row`` is the first. One thread may read while another learns.
    """

    def __init__(self, row: int) -> None:
        self._row = self._target = row
        self._parts: deque[_Part] = deque()
        self._marks: deque[FileMark] = deque(maxlen=MAX_FILES)
        self._lock = threading.Lock()

    def begin(self, mark: FileMark) -> None:
        """Another file begins."""
        with self._lock:
            self._marks.append(mark)

    def add(self, mark: FileMark, data: bytes, ends: NDArray[np.int64]) -> None:
        """Bytes were given out, whole rows that end at these places."""
        with self._lock:
            self._parts.append(_Part(mark, data, ends))
            self._move_on()

    def advance(self, row: int) -> None:
        """All rows before this one are learnt, or are to be left out."""
        with self._lock:
            self._target = max(self._target, row)
            self._move_on()

    def _move_on(self) -> None:
        while self._parts:
            part = self._parts[0]
            n = min(self._target - self._row, len(part.ends))
            at = len(part.data) if n == len(part.ends) else int(part.ends[n - 1]) if n else 0
            part.mark.digest.update(part.data[:at])
            part.mark.rows += n
            self._row += n
            if n < len(part.ends):
                part.data, part.ends = part.data[at:], part.ends[n:] - at
                return
            self._parts.popleft()

    def files(self) -> list[LearntFile]:
        """What was learnt of each file, in order; files of which nothing was learnt are left out."""
        with self._lock:
            return [mark.learnt() for mark in self._marks if mark.rows]


def ends_of_rows(data: bytes, line_ends: NDArray[np.int64], blanks: bytes) -> NDArray[np.int64]:
    r"""The places after those rows that are more than blanks; a row ends at each of ``line_ends``.

    >>> ends_of_rows(b"a\n\r\nb\n", np.array([1, 3, 5]), b"\r").tolist()
    [2, 6]
    """
    starts = np.concatenate([[0], line_ends[:-1] + 1]) if len(line_ends) else line_ends
    letters = np.frombuffer(data, np.uint8)
    full = np.ones(len(line_ends), np.bool_)
    unsure = np.isin(letters[starts], np.frombuffer(blanks + b"\n", np.uint8))
    for i in np.flatnonzero(unsure).tolist():
        full[i] = bool(data[starts[i] : line_ends[i]].strip(blanks))
    places: NDArray[np.int64] = line_ends[full] + 1
    return places


def lines_in(data: bytes) -> NDArray[np.int64]:
    """Where lines end."""
    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))


def as_learnt_file(record: object) -> LearntFile | None:
    """What a record of a file says; None if it makes no sense, as in a file from elsewhere."""
    if not isinstance(record, dict):
        return None
    rows, coverage, header, time = (record.get(key) for key in ("end", "coverage", "header", "time"))
    if type(rows) is not int or rows < 1 or not isinstance(coverage, dict):
        return None
    if 0 not in usable_coverages([coverage], "bytes") or not (header is None or isinstance(header, str)):
        return None
    return LearntFile(rows, coverage, header, time if type(time) is int else None)
