"""Rows that cannot be used, left out one by one instead of stopping at the first.

A block of rows that cannot be read whole is halved until the bad ones are alone. A row that is left out keeps
its number in the stream, so that a stream can be continued at any row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ocboost.errors import InputError
from ocboost.streams.encoding import BadRowError, row_name
from ocboost.streams.rows import Rows

UNKNOWN_CLASS = "unknown class"
OTHER_REASON = "bad value"


class BadLineError(InputError):
    """A line that cannot be used, with the reason in a few words."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class BadRow:
    """A row that was left out: its number in the stream, the line it begins on, why, and what it holds.

    One of a class that is not known is ``predicted`` nevertheless.
    """

    number: int
    line: int
    reason: str
    message: str
    text: bytes
    predicted: bool = False


class BadRows:
    """The rows that were left out, in order, for somebody to take from ``waiting``.

    Bad are also rows of a class that is not among ``classes``, if they are given, and with ``complete`` those
    that lack a number.
    """

    def __init__(self, classes: Sequence[Any] | None = None, *, complete: bool = False) -> None:
        self.waiting: deque[BadRow] = deque()
        self._classes = None if classes is None else set(classes)
        self._complete = complete

    def require_complete(self, rows: Rows) -> None:
        """Refuse rows that lack a number, if every number is needed."""
        if self._complete and (missing := np.isnan(rows.X).any(axis=1)).any():
            offset = int(np.argmax(missing))
            raise BadRowError(
                offset,
                f"{row_name(rows.first + offset)} must have every number for this model; one is missing.",
                "missing number",
            )

    def without_unknown(self, rows: Rows) -> tuple[Rows, dict[int, Any]]:
        """The rows, those of an unknown class without their label, and these labels by their indices."""
        y = rows.y
        if y is None or self._classes is None:
            return rows, {}
        pairs = enumerate(zip(y.tolist(), rows.known.tolist(), strict=True))
        unknown = {i: label for i, (label, known) in pairs if known and label not in self._classes}
        if not unknown:
            return rows, {}
        known = rows.known.copy()
        known[list(unknown)] = False
        return Rows(rows.X, y, known, rows.first, keys=rows.keys), unknown


class RowsOfBlock(NamedTuple):
    """The rows of a block of text, by where they begin and end in it."""

    data: bytes
    line: int  # of the first row
    spans: list[tuple[int, int]]
    number: int  # of the first row in the stream

    def part(self, start: int, stop: int) -> RowsOfBlock:
        """Some of its rows."""
        begin, end = self.spans[start][0], self.spans[stop - 1][1]
        spans = [(a - begin, b - begin) for a, b in self.spans[start:stop]]
        line = self.line + self.data.count(b"\n", 0, begin)
        return RowsOfBlock(self.data[begin:end], line, spans, self.number + start)

    def bad_row(self, index: int, reason: str, message: str, *, predicted: bool = False) -> BadRow:
        """One of its rows, which is bad."""
        begin, end = self.spans[index]
        line = self.line + self.data.count(b"\n", 0, begin)
        text = self.data[begin:end].rstrip(b"\r\n")
        return BadRow(self.number + index, line, reason, message, text, predicted)


def good_rows(block: RowsOfBlock, read: Callable[[RowsOfBlock], Rows], bad: BadRows) -> Iterator[Rows]:
    """The rows of a block that can be used, in order; the others are left in ``bad`` at their turn."""
    try:
        rows = read(block)
        bad.require_complete(rows)
    except InputError as error:
        n = len(block.spans)
        if n == 1:
            bad.waiting.append(block.bad_row(0, getattr(error, "reason", OTHER_REASON), str(error)))
            return
        yield from good_rows(block.part(0, n // 2), read, bad)
        yield from good_rows(block.part(n // 2, n), read, bad)
        return
    rows, unknown = bad.without_unknown(rows)
    for index, label in unknown.items():
        message = f"the label {label!r:.60} is no class of the model."
        bad.waiting.append(block.bad_row(index, UNKNOWN_CLASS, message, predicted=True))
    yield rows
