"""Base classes of the readers: `Records` for all formats, `TextRecords` for text in blocks of whole rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from ocboost.errors import InputError
from ocboost.streams.bad_rows import BadLineError, BadRows, RowsOfBlock, good_rows
from ocboost.streams.encoding import arrow
from ocboost.streams.rows import Rows
from ocboost.streams.source import LINE_ENDS, Coverage, Fit, Source

SAMPLE_ROWS = 10_000
SAMPLE_BYTES = 1 << 22
SHORT_SAMPLE_BYTES = 1 << 19
MAX_ROW_BYTES = 1 << 24

Role = Literal["number", "text", "label", "key"]  # a key is read as it is written, NA too


class AnySource(Protocol):
    """The file behind the records of any format; for text it is a `Source`."""

    @property
    def bytes_read(self) -> int: ...  # noqa: D102
    @property
    def bytes_total(self) -> int | None: ...  # noqa: D102
    def coverage(self) -> Coverage | None: ...  # noqa: D102
    def fits(self, coverages: Sequence[object]) -> list[Fit]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class TooShortError(InputError):
    """A file holds fewer rows than are to be skipped."""


class NoRowsError(InputError):
    """A file is as it should be, but for rows."""


class SampleSize(NamedTuple):
    """How much of a file is looked at: it ends with the first of the two."""

    rows: int
    bytes: int


FULL_SAMPLE = SampleSize(SAMPLE_ROWS, SAMPLE_BYTES)


class Records(ABC):
    """The rows of a file as Arrow record batches, before they are encoded.

    Attributes
    ----------
    name : str
        The file's name in messages.
    names : list of str
        Its columns, in order.
    notes : list of str
        What a user should know about them.
    typed : bool
        Whether the file tells texts from numbers; in CSV everything is text.
    source : AnySource
        Where the bytes come from.
    """

    name: str
    names: list[str]
    notes: list[str]
    typed: bool
    source: AnySource

    @abstractmethod
    def sample(self) -> Mapping[str, Any]:
        """The first rows: each column as an Arrow array. Columns that cannot be used are left out."""

    @abstractmethod
    def batches(self, roles: Mapping[str, Role], skip: int) -> Iterator[Any]:
        """Record batches of the columns in `roles` and perhaps others, after the first `skip` rows.

        If the file is broken, the rows before come first.
        """

    def _too_short(self, skip: int, n: int) -> InputError:
        return TooShortError(
            f"{self.name} must hold the {skip} rows to skip; it holds {n}. Is it the same file?"
        )

    def _no_rows(self) -> InputError:
        return NoRowsError(f"{self.name} holds no rows. Give a file with at least one row of data.")


class Block(NamedTuple):
    """Whole rows of a file, not parsed yet."""

    data: bytes
    line: int  # the number of the first line, counted from 1
    cut_short: bool = False  # whether the last line has no end


class TextRecords(Records):
    """The rows of a text file, block by block; a ``short_sample`` is enough if the schema is known.

    Without a sample (``unsampled``) the columns are what the schema says, however the first rows look. With
    ``lenient`` a file may end in the middle of a quoted field: that is a bad row, and no error of the file.
    ``sample_size`` is for somebody who looks at many files.
    """

    def __init__(
        self,
        source: Source,
        *,
        short_sample: bool,
        unsampled: bool = False,
        lenient: bool = False,
        sample_size: SampleSize | None = None,
    ) -> None:
        self.name = source.name
        self.notes = []
        self.source: Source = source
        self._short_sample = short_sample
        self._sample_size = sample_size or FULL_SAMPLE
        self._unsampled = unsampled
        self._lenient = lenient
        self._ahead: list[Block] = []  # read early, to find the names and the types; their rows come first
        self._failure: InputError | None = None  # the error that comes after them
        self._rest = self._read_blocks(source)

    def _end_of_rows(self, data: bytes) -> int:
        """Where the last whole row of some bytes ends; 0 if there is none."""
        return end_of_lines(data)

    @abstractmethod
    def _count_rows(self, data: bytes) -> int:
        """How many rows there are in a block."""

    @abstractmethod
    def _block_reader(self, roles: Mapping[str, Role]) -> Callable[[Block], tuple[Any, InputError | None]]:
        """A function from a block to a record batch up to the first bad row, and the error of that row."""

    @abstractmethod
    def _row_spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where each row of a block begins and ends."""

    def batches(self, roles: Mapping[str, Role], skip: int) -> Iterator[Any]:
        """Record batches of the columns in `roles`, after the first `skip` rows."""
        read = self._block_reader(roles)
        row = self.source.first_row
        for block in self._blocks():
            if row < skip and row + (n := self._count_rows(block.data)) <= skip:
                row += n
                continue
            if row < skip and len(spans := self._row_spans(block.data)) == n:
                block = self._rest_of_block(
                    block, spans[skip - row][0]
                )  # those before may have been left out
                row = skip
            batch, failure = read(block)
            to_skip = min(max(0, skip - row), batch.num_rows)
            row += batch.num_rows
            if batch.num_rows > to_skip:
                yield batch.slice(to_skip)
            if failure is not None:
                raise failure
        if row < skip:
            raise self._too_short(skip, row)

    def good_rows(
        self,
        roles: Mapping[str, Role],
        skip: int,
        encode: Callable[[Any, int], Rows],
        bad: BadRows,
        most: int,
    ) -> Iterator[Rows | None]:
        """The rows that can be used, after the first `skip`, ``most`` at a time; the others go to ``bad``.

        Where nobody has taken these at the end of what has arrived, there is a None. ``encode`` makes rows of
        a record batch, from the number of the first one on.
        """
        read = self._block_reader(roles)
        row = self.source.first_row

        def rows_of(part: RowsOfBlock) -> Rows:
            batch, failure = read(Block(part.data, part.line))
            if failure is not None:
                raise failure
            if batch.num_rows != len(part.spans):
                raise BadLineError(
                    "wrong line end", f"{self.name}, line {part.line}: CR alone must not end a line."
                )
            return encode(batch, part.number)

        for block in self._blocks():
            spans = self._row_spans(block.data) or [(0, len(block.data))]
            whole = RowsOfBlock(block.data, block.line, spans, row)
            row += len(spans)
            for start in range(max(0, skip - whole.number), len(spans), most):
                yield from good_rows(whole.part(start, min(start + most, len(spans))), rows_of, bad)
            if bad.waiting:
                yield None
        if row < skip:
            raise self._too_short(skip, row)

    @staticmethod
    def _rest_of_block(block: Block, start: int) -> Block:
        return Block(block.data[start:], block.line + block.data.count(b"\n", 0, start), block.cut_short)

    def _not_utf8(self, line: int) -> InputError:
        return BadLineError(
            "not UTF-8",
            f"{self.name}, line {line}: the text must be UTF-8; it is not. "
            "Convert the file first: iconv -f LATIN1 -t UTF-8.",
        )

    def _first_rows(self) -> bytes:
        """Enough rows for a sample, at least one, however the bytes arrive; they are used again later."""
        max_lines, max_bytes = (1, SHORT_SAMPLE_BYTES) if self._short_sample else self._sample_size
        size = lines = 0
        blocks: list[Block] = []
        try:
            for block in self._blocks():
                blocks.append(block)
                size += len(block.data)
                lines += block.data.count(b"\n")
                if size >= max_bytes or lines >= max_lines:
                    break
        except InputError as failure:
            self._failure = failure
        self._ahead = blocks + self._ahead
        if not blocks:
            raise self._failure or self._no_rows()
        data = b"".join(block.data for block in blocks)
        if size <= max_bytes:
            return data
        end = self._end_of_rows(data[:max_bytes])
        return data[:end] if end else blocks[0].data

    def _blocks(self) -> Iterator[Block]:
        """The blocks that are not used yet."""
        while self._ahead:
            yield self._ahead.pop(0)
        if self._failure is not None:
            raise self._failure
        while (block := next(self._rest, None)) is not None:  # not yield from, which would close it
            yield block

    @staticmethod
    def _next_chunk(source: Source) -> bytes:
        if source.patience is not None:
            source.patience.check()
        return source.read()

    def _read_blocks(self, source: Source) -> Iterator[Block]:
        pending, line = b"", 1
        while chunk := self._next_chunk(source):
            pending += chunk
            end = self._end_of_rows(pending)
            if end:
                block = Block(pending[:end], line)
                if block.data[0] not in LINE_ENDS or block.data.strip(LINE_ENDS):
                    yield block
                line += pending.count(b"\n", 0, end)
                pending = pending[end:]
            if len(pending) > MAX_ROW_BYTES:
                raise InputError(
                    f"{self.name}, line {line}: a row must be shorter than {MAX_ROW_BYTES >> 20} MB; "
                    "this one is longer. Is a quote open, or is this another format?"
                )
        if not pending.strip(LINE_ENDS):
            return
        if not self._lenient and not self._end_of_rows(pending + b"\n"):
            raise InputError(
                f"{self.name}, line {line}: the file ends inside a quoted field of the row that begins "
                "here. The rows before are good; close the quote, or get a fresh copy."
            )
        yield Block(pending + b"\n", line, cut_short=True)


def end_of_lines(data: bytes) -> int:
    r"""Where the last whole line ends.

    >>> end_of_lines(b"a\nb\nc")
    4
    """
    return data.rfind(b"\n") + 1


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def one_batch(table: Any) -> Any:
    """A table as one record batch, which may be empty."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else arrow().RecordBatch.from_pylist([], schema=table.schema)
