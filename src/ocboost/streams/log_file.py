"""One file of a log that grows or has been rotated away: its bytes as they come, and its rows as they end."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.streams.csv import delimiter_of, end_of_quoted, row_ends
from ocboost.streams.learnt_rows import FileMark, LearntFile, LearntRows, ends_of_rows, lines_in
from ocboost.streams.records import MAX_ROW_BYTES, end_of_lines
from ocboost.streams.rotated import Archive, Key, key_of
from ocboost.streams.source import (
    BYTE_ORDER_MARK,
    GZIP_MAGIC,
    LINE_ENDS,
    PIPE_BYTES,
    Coverage,
    Source,
    TextDigest,
    may_become_another_format,
    refuse_other_formats,
)

_TAIL_BYTES = 256  # before the place of reading, compared to notice that a file was written anew
_WHITE_SPACE = b" \t\r\x0b\x0c"


class PlainFile:
    """A file that may still grow; other bytes than were read, or fewer, mean that it was truncated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115  closed by close()
        status = os.fstat(self._file.fileno())
        self.key: Key = key_of(status)
        self.opened = status.st_mtime_ns  # the time of its modification then
        self._at, self._tail = 0, b""

    @property
    def time(self) -> int:
        """The time of its modification."""
        return os.fstat(self._file.fileno()).st_mtime_ns

    def read(self) -> bytes | None:
        """What has come since the last call; None if the file was truncated."""
        self._file.seek(self._at)
        data: bytes = self._file.read(PIPE_BYTES) or b""
        if not self._is_intact(len(data)):
            return None
        if self._at == 0:
            if may_become_another_format(data) or BYTE_ORDER_MARK.startswith(data):  # or too few to tell
                return b""
            refuse_other_formats(str(self.path), data)
            if data.startswith(GZIP_MAGIC):
                raise InputError(
                    f"{self.path} must be plain text to be followed; it is compressed with gzip. Follow the "
                    "log that grows, or leave out --follow."
                )
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        self._at += len(data)
        return data.removeprefix(BYTE_ORDER_MARK) if self._at == len(data) else data

    def _is_intact(self, more: int) -> bool:
        """Whether what was read is still there, and ``more`` bytes after it."""
        if os.fstat(self._file.fileno()).st_size < self._at + more:
            return False
        self._file.seek(self._at - len(self._tail))
        return bool(self._file.read(len(self._tail)) == self._tail)

    def pass_over(self, length: int) -> None:
        """Leave out the first bytes of its text, those that were read from the log itself."""
        data = self.read()  # now it is known whether there is a byte order mark
        mark = self._at - len(data or b"")
        self._at = mark + length
        self._file.seek(max(0, self._at - _TAIL_BYTES))
        self._tail = self._file.read(min(self._at, _TAIL_BYTES)) or b""

    def restart(self) -> None:
        """Read it from its beginning, as it was truncated."""
        self._at, self._tail = 0, b""

    def close(self) -> None:
        """Close it."""
        self._file.close()


class PackedFile:
    """A file that was rotated away and compressed: it grows no more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        status = os.stat(path)
        self.key: Key = key_of(status)
        self.time = self.opened = status.st_mtime_ns
        self._source = Source(path)
        self._ahead = b""

    def read(self) -> bytes:
        """The next bytes; none at the end."""
        data = self._ahead or self._source.read()
        self._ahead = data[PIPE_BYTES:]
        return data[:PIPE_BYTES]

    def pass_over(self, length: int) -> None:
        """Leave out the first bytes of its text, those that were read from the log itself."""
        while length > 0 and (data := self._source.read()):
            self._ahead, length = data[length:], length - len(data)

    def close(self) -> None:
        """Close it."""
        self._source.close()


AnyFile = PlainFile | PackedFile


class MovedError(InputError):
    """A file was renamed while it was to be opened."""


def open_archive(archive: Archive) -> AnyFile:
    """An archived file, compressed or not, if it is still the one that was found."""
    try:
        with open(archive.path, "rb") as first:
            packed = first.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file = PackedFile(archive.path) if packed else PlainFile(archive.path)
    except OSError as error:
        raise MovedError(f"'{archive.path}': {error.strerror}. Try again.") from None
    if file.key != archive.key:
        file.close()
        raise MovedError(f"'{archive.path}' was replaced just now, while it was being opened. Try again.")
    return file


class RowRules:
    """Where rows end in a log of CSV or JSON lines, and its line of names once that is known."""

    def __init__(self, format: str) -> None:
        self.is_csv = format in ("csv", "tsv")
        self._delimiter = b"\t" if format == "tsv" else b","
        self.header = b""

    def take_header(self, line: bytes) -> None:
        """The line of names has been read."""
        self.header = line
        self._delimiter = delimiter_of(line.decode(errors="replace"), self._delimiter)

    def end(self, data: bytes) -> int:
        """Where the last whole row ends."""
        return end_of_quoted(data, self._delimiter) if self.is_csv else end_of_lines(data)

    def ends(self, data: bytes) -> NDArray[np.int64]:
        """The place after each row; lines that are empty are no rows."""
        if self.is_csv:
            return ends_of_rows(data, row_ends(data, self._delimiter), b"\r")
        return ends_of_rows(data, lines_in(data), _WHITE_SPACE)

    def names_in(self, line: bytes) -> set[str]:
        """The fields of a line."""
        text = io.StringIO(line.decode(errors="replace"), newline="")
        try:
            return set(next(csv.reader(text, delimiter=self._delimiter.decode()), []))
        except csv.Error:
            return set()

    def is_row(self, line: bytes) -> bool:
        """Whether the first line of a later file is a row: a line of other names has most of the names."""
        names = self.names_in(self.header)
        return 2 * len(names & self.names_in(line)) <= len(names)


class LogReading:
    """The rows of one file, given out when they have ended; ``position`` is what was learnt of it before.

    In the place of what was learnt before come empty lines, so that lines are counted as in the file.
    """

    def __init__(
        self, name: str, rules: RowRules, learnt: LearntRows, position: LearntFile | None = None
    ) -> None:
        self.name = name
        self.digest = TextDigest()  # of all that was read
        self.n_rows = 0 if position is None else position.rows
        self.mark = FileMark()
        self._rules = rules
        self._learnt = learnt
        self._position = position
        self._pending = b""
        self._begun = False  # whether the line of names is passed, if there is one
        self._in_learnt_row = False
        if position is None:
            learnt.begin(self.mark)

    def take(self, data: bytes) -> bytes:
        """The whole rows that more bytes complete."""
        passed = b""
        if self._position is not None:
            left = self._position.coverage["bytes"] - self.digest.length
            before, data = data[:left], data[left:]
            self.digest.update(before)
            passed = self._passed(before)
            if len(before) < left:
                return passed
            self._begin_after(self._position)
        self.digest.update(data)
        if self._in_learnt_row and data:
            data = self._after_learnt_row(data)
        self._pending += data
        end = self._rules.end(self._pending)
        if not end and len(self._pending) > MAX_ROW_BYTES:
            end = len(self._pending)  # the reader says what is wrong
        whole, self._pending = self._pending[:end], self._pending[end:]
        return passed + self._given(whole, whole)

    def _passed(self, data: bytes) -> bytes:
        """What is given out of bytes that were learnt before: the line of names, and line ends."""
        if self._rules.is_csv and not self._rules.header:
            self._pending += data
            ends = self._rules.ends(self._pending)
            if not len(ends):
                return b""
            data, self._pending = self._pending, b""
            self._rules.take_header(data[: ends[0]].strip(LINE_ENDS))
            return data[: ends[0]] + b"\n" * data.count(b"\n", int(ends[0]))
        return b"\n" * data.count(b"\n")

    def _begin_after(self, position: LearntFile) -> None:
        """All that was learnt before is passed, if it is still the same."""
        found = self.digest.coverage()
        if found["sha256"] != position.coverage["sha256"]:
            raise InputError(f"{self.name} was replaced just now, while it was being opened. Try again.")
        self.mark = FileMark(self.digest.copy(), position.rows, position.header)
        self._learnt.begin(self.mark)
        self._in_learnt_row = not found["closed"]
        self._begun = True
        self._position = None

    def _after_learnt_row(self, data: bytes) -> bytes:
        """What comes after a row that was learnt while it was still being written: each is learnt once."""
        end = 0 if data[0] in LINE_ENDS else end_of_lines(data[: data.find(b"\n") + 1]) or len(data)
        self._in_learnt_row = end == len(data) and not data.endswith(b"\n")
        self.mark.digest.update(data[:end])
        return data[end:]

    def _given(self, data: bytes, stored: bytes) -> bytes:
        """Whole rows without a line of names that was given out before; ``stored`` is what the file holds."""
        ends = self._rules.ends(data)
        if self._rules.is_csv and not self._begun and len(ends):
            self._begun = True
            end = int(ends[0])
            first = data[:end].strip(LINE_ENDS)
            if not self._rules.header:
                self._rules.take_header(first)
                ends = self._rules.ends(data)[1:]
            elif first == self._rules.header:
                data, ends = data[end:], ends[1:]
            elif self._rules.is_row(first):
                self.mark.header = self._rules.header.decode(errors="replace")
            else:
                raise InputError(
                    f"{self.name} has other columns since it was rotated: it begins with {_quoted(first)}, "
                    f"and began with {_quoted(self._rules.header)}. Give --new to learn it as a new stream."
                )
        self.n_rows += len(ends)
        self._learnt.add(self.mark, stored, np.minimum(ends, len(stored)))
        return data

    def coverage_with(self, more: bytes) -> Coverage | None:
        """The coverage after more bytes; None if there is no row in all of it."""
        if len(self._rules.ends(self._pending + more)) <= (self._rules.is_csv and not self._begun):
            return None
        digest = self.digest.copy()
        digest.update(more)
        return digest.coverage()

    def drop_rest(self) -> None:
        """Forget the beginning of a row whose rest is lost."""
        self._pending = b""

    def finish(self) -> bytes:
        """The last row, which counts as complete though its line has no end: the file was rotated away."""
        if self._position is not None:
            raise InputError(f"{self.name} was replaced just now, while it was being read. Try again.")
        last, self._pending = self._pending, b""
        if not last.strip(LINE_ENDS):
            return self._given(last, last)
        if not self._rules.end(last + b"\n"):
            raise InputError(
                f"{self.name} was rotated inside a quoted field: its last row begins with {_quoted(last)}. "
                "The rows before are good; close the quote, or give --new to go on with the log as it is now."
            )
        return self._given(last + b"\n", last)


def _quoted(line: bytes) -> str:
    return repr(line[:60].decode(errors="replace"))
