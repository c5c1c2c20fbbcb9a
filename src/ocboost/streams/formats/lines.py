"""Cutting text into blocks of whole rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.streams.source import Source

LONGEST_ROW = 1 << 24
_QUOTE, _LF, _CR = b'"\n\r'


class Block(NamedTuple):
    """Whole rows as they stand in the file."""

    data: bytes
    line: int  # the number of the first line, counted from 1
    cut_short: bool = False  # whether the last line has no end


class Blocks:
    """The rows of a source as blocks; blocks can be looked at before they are taken.

    Parameters
    ----------
    source : Source
        Where the bytes come from.
    end_of_rows : callable
        Where the last whole row of some bytes ends; 0 if there is none.
    """

    def __init__(self, source: Source, end_of_rows: Callable[[bytes], int]) -> None:
        self._name = source.name
        self._source = source
        self._end_of_rows = end_of_rows
        self._ahead: list[Block] = []
        self._failure: InputError | None = None
        self._rest = self._read()

    def __iter__(self) -> Iterator[Block]:
        return self

    def __next__(self) -> Block:
        if self._ahead:
            return self._ahead.pop(0)
        if self._failure is not None:
            raise self._failure
        return next(self._rest)

    def put_back(self, block: Block) -> None:
        """Let a block be the next."""
        if block.data.strip(b"\r\n"):
            self._ahead.insert(0, block)

    def peek(self, n_bytes: int, n_lines: int) -> bytes:
        """Whole rows from the beginning, so many bytes or lines if there are, at least one row.

        How the bytes arrived makes no difference. They stay to be taken.
        """
        size = lines = 0
        blocks: list[Block] = []
        try:
            while size < n_bytes and lines < n_lines:
                block = self._ahead.pop(0) if self._ahead else next(self._rest, None)
                if block is None:
                    break
                blocks.append(block)
                size += len(block.data)
                lines += block.data.count(b"\n")
        except InputError as failure:
            self._failure = failure
        self._ahead = blocks + self._ahead
        if not blocks:
            if self._failure is not None:
                raise self._failure
            return b""
        data = b"".join(block.data for block in blocks)
        if size <= n_bytes:
            return data
        end = self._end_of_rows(data[:n_bytes])
        return data[:end] if end else blocks[0].data

    def _read(self) -> Iterator[Block]:
        held, line = b"", 1
        while chunk := self._source.read():
            held += chunk
            end = self._end_of_rows(held)
            if end:
                block = Block(held[:end], line)
                if block.data[0] not in b"\r\n" or block.data.strip(b"\r\n"):
                    yield block
                line += held.count(b"\n", 0, end)
                held = held[end:]
            if len(held) > LONGEST_ROW:
                raise InputError(
                    f"{self._name}, line {line}: a row must be shorter than {LONGEST_ROW >> 20} MB; "
                    "this one is longer. Is a quote open, or is this another format?"
                )
        if not held.strip(b"\r\n"):
            return
        if not self._end_of_rows(held + b"\n"):
            raise InputError(
                f"{self._name}, line {line}: the file ends inside a quoted field of the row that begins "
                "here. The rows before are good; close the quote, or get a fresh copy."
            )
        yield Block(held + b"\n", line, cut_short=True)


def end_of_lines(data: bytes) -> int:
    r"""Where the last whole line ends.

    >>> end_of_lines(b"a\nb\nc")
    4
    """
    return data.rfind(b"\n") + 1


def end_of_quoted(data: bytes, delimiter: bytes) -> int:
    r"""Where the last whole row of CSV ends: a line end between quotes is part of a field.

    >>> end_of_quoted(b'1,2\n"a\nb', b",")
    4
    """
    if b'"' not in data:
        return end_of_lines(data)
    ends = row_ends(data, delimiter)
    return int(ends[-1]) + 1 if len(ends) else 0


def row_ends(data: bytes, delimiter: bytes) -> NDArray[np.int64]:
    """Where the line ends stand that end a row of CSV, those outside quotes."""
    letters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(letters == _LF)
    quotes = np.flatnonzero(letters == _QUOTE)
    opening = quotes[::2]
    before = letters[np.maximum(opening, 1) - 1]
    regular = np.isin(before, np.frombuffer(delimiter + b'\r\n"', np.uint8)) | (opening == 0)
    if not regular.all():  # a quote stands inside a field that is not quoted: it is an ordinary letter
        quotes = _real_quotes(data, quotes.tolist(), delimiter)
    outside: NDArray[np.int64] = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return outside


def _real_quotes(data: bytes, quotes: list[int], delimiter: bytes) -> NDArray[np.int64]:
    """The quotes that open or close; each of a doubled pair counts as closing and opening again."""
    opens_after = frozenset(delimiter + b"\r\n")
    real: list[int] = []
    inside, closed = False, -1
    for place in quotes:
        if inside:
            inside, closed = False, place
        elif place == 0 or data[place - 1] in opens_after or (place - 1 == closed):
            inside = True
        else:
            continue
        real.append(place)
    return np.array(real, np.int64)


def lines_of_rows(data: bytes, ends: NDArray[np.int64]) -> list[int]:
    """On which line, counted from 0, each row begins that is not empty."""
    result, start, line = [], 0, 0
    for end in ends.tolist():
        if data[start:end].strip(b"\r"):
            result.append(line)
        line += data.count(b"\n", start, end + 1)
        start = end + 1
    return result


def n_lines(data: bytes) -> int | None:
    """How many rows there are, if counting line ends tells; None if one has to look closer."""
    if b'"' in data or b"\n\n" in data or data.startswith((b"\n", b"\r\n")):
        return None
    if b"\r" in data and (b"\n\r\n" in data or data.count(b"\r") != data.count(b"\r\n")):
        return None
    return data.count(b"\n")
