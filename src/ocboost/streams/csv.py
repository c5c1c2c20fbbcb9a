"""CSV and TSV files, read in blocks of whole rows.

Arrow reads each block of whole rows with the type of every column given: left to itself, it infers the types
from the first block alone. Where that fails, the block is read again as texts: there rows with a wrong number
of fields are found, and values that are no numbers are found when they are encoded. So the rows before a bad
one can always be delivered.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.streams.bad_rows import BadLineError
from ocboost.streams.encoding import FALSE, MISSING, TRUE, arrow, without_missing
from ocboost.streams.inference import usable_names
from ocboost.streams.records import Block, Role, TextRecords, end_of_lines, is_utf8, one_batch
from ocboost.streams.source import LINE_ENDS, Source

_QUOTE, _LINE_FEED = b'"\n'
_ASCII = bytes(range(128)) + b"?" * 128


class CsvRecords(TextRecords):
    """The rows of a CSV or TSV file."""

    typed = False

    def __init__(self, source: Source, delimiter: str, **how: Any) -> None:
        super().__init__(source, **how)
        self._delimiter = delimiter.encode()
        fields = self._header()
        self.names = usable_names(fields, self.name, self.notes)
        # For Arrow the columns are called by their indices, since the names of some may be repeated or empty.
        self._arrow_names = [str(index) for index in range(len(fields))]
        self._arrow_name = dict(zip(fields, self._arrow_names, strict=True))
        self._sample: Mapping[str, Any] | None = None
        self._keys: frozenset[str] = frozenset()  # columns where NA and the like are no missing values

    def _end_of_rows(self, data: bytes) -> int:
        return end_of_quoted(data, self._delimiter)

    def _header(self) -> list[str]:
        """Take the line of names from the first block."""
        for block in self._blocks():
            data = block.data.lstrip(LINE_ENDS)
            if not data:
                continue
            line = block.line + block.data.count(b"\n", 0, len(block.data) - len(data))
            ends = row_ends(data, self._delimiter)
            if not len(ends):
                raise InputError(f"{self.name}, line {line}: a quote is open in the names of the columns.")
            end = int(ends[0]) + 1
            first, rest = data[:end], data[end:]
            try:
                text = first.decode()
            except UnicodeDecodeError:
                raise self._not_utf8(line) from None
            self._choose_delimiter(text)
            try:
                fields = next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter.decode()))
            except csv.Error as error:
                raise InputError(
                    f"{self.name}, line {line}: the names of the columns cannot be read ({error})."
                ) from None
            if "\r" in text.removesuffix("\n").removesuffix("\r") and b"\n" not in rest:
                raise InputError(
                    f"{self.name}: lines must end in LF or CR LF; these end in CR alone. "
                    "Convert the file first: tr '\\r' '\\n'."
                )
            if rest.strip(LINE_ENDS):
                self._ahead.insert(0, Block(rest, line + first.count(b"\n"), block.cut_short))
            return fields
        raise InputError(f"{self.name} is empty. Give a file that begins with a line of names.")

    def _choose_delimiter(self, header: str) -> None:
        found = delimiter_of(header, self._delimiter)
        if found != self._delimiter:
            self._delimiter = found
            what = "semicolons" if found == b";" else "tabs"
            self.notes.append(
                f"The fields are taken to be separated by {what}: the line of names has no comma."
            )

    def sample(self) -> Mapping[str, Any]:
        """The first rows, each column as texts; none if it must do without a sample."""
        if self._unsampled:
            return dict.fromkeys(self.names, arrow().array([], "string"))
        if self._sample is None:
            table, failure = self._as_texts(Block(self._first_rows(), 0), self.names)
            if not table.num_rows and failure is not None:
                for block in self._blocks():  # the first one knows on which line it begins
                    raise self._as_texts(block, self.names)[1] or failure
            table = table.slice(0, self._sample_size.rows)
            self._sample = {name: table.column(name) for name in self.names}
        return self._sample

    def _block_reader(self, roles: Mapping[str, Role]) -> Callable[[Block], tuple[Any, InputError | None]]:
        names = list(roles) or self.names[:1]
        types = self._types(roles)
        self._keys = frozenset(name for name, role in roles.items() if role == "key")

        def read(block: Block) -> tuple[Any, InputError | None]:
            try:
                return self._with_missing(self._read(block.data, names, types)), None
            except (arrow().ArrowInvalid, UnicodeDecodeError):
                return self._as_texts(block, names)

        return read

    def _types(self, roles: Mapping[str, Role]) -> dict[str, Any]:
        """The Arrow type of each column: numbers are truth values where the sample says so."""
        pa, compute = arrow(), arrow("compute")
        sample = self.sample() if roles else {}
        truths = pa.array(TRUE + FALSE, "string")
        types = {}
        for name, role in roles.items():
            types[name] = pa.float64() if role == "number" else pa.string()
            if role == "number":
                known = sample[name].drop_null()
                if len(known) and compute.all(compute.is_in(known, value_set=truths)).as_py():
                    types[name] = pa.bool_()
        return types

    def _read(
        self,
        data: bytes,
        names: list[str],
        types: Mapping[str, Any],
        bad_row: Callable[[Any], str] | None = None,
    ) -> Any:
        """A block as one record batch."""
        reader = arrow("csv")
        table = reader.read_csv(
            arrow().BufferReader(data),
            read_options=reader.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=self._arrow_names
            ),
            parse_options=reader.ParseOptions(
                delimiter=self._delimiter.decode(),
                newlines_in_values=b'"' in data,
                invalid_row_handler=bad_row,
            ),
            convert_options=reader.ConvertOptions(
                column_types={self._arrow_name[name]: kind for name, kind in types.items()},
                include_columns=[self._arrow_name[name] for name in names],
                null_values=list(MISSING),
                strings_can_be_null=not self._keys,
                true_values=list(TRUE),
                false_values=list(FALSE),
            ),
        )
        return one_batch(table.rename_columns(names))

    def _with_missing(self, batch: Any) -> Any:
        """A batch with null for every text that stands for a missing value, but in columns of keys.

        Arrow does it for all columns or for none.
        """
        if not self._keys:
            return batch
        columns = [
            without_missing(column) if column.type == arrow().string() and name not in self._keys else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return arrow().RecordBatch.from_arrays(columns, batch.schema.names)

    def _read_ascii(self, data: bytes, names: list[str]) -> tuple[Any, list[Any]]:
        """A block without its bad rows, and those as Arrow describes them.

        Arrow decodes a bad row before it hands it over, and fails if it cannot: so other letters become "?".
        """
        bad: list[Any] = []

        def skip(row: Any) -> str:
            bad.append(row)
            return "skip"

        types = dict.fromkeys(names, arrow().binary())
        return self._read(data.translate(_ASCII), names, types, skip), bad

    def _as_texts(self, block: Block, names: list[str]) -> tuple[Any, InputError | None]:
        """The columns of a block as texts up to the first bad row, and the error of that row."""
        pa = arrow()
        batch, bad = self._read_ascii(block.data, names)
        good, failure = block.data, None
        if bad:
            row = bad[0].number - 1
            batch = batch.slice(0, row)
            good = b"\n".join([*good.split(b"\n")[: self._line(block, row) - block.line], b""])
            failure = self._wrong_count(block, row, bad[0].expected_columns, bad[0].actual_columns)
        if batch.num_rows and not good.isascii():
            try:
                batch = self._read(good, names, dict.fromkeys(names, pa.binary()))
            except pa.ArrowInvalid:  # CR alone, which ends a row for Arrow only, stands before the bad row
                batch = batch.slice(0, 0)
        columns, n = [], batch.num_rows
        for column in batch.columns:
            try:
                columns.append(column.slice(0, n).cast(pa.string()))
            except pa.ArrowInvalid:
                values = column.to_pylist()
                n = next(i for i, value in enumerate(values) if value is not None and not is_utf8(value))
                failure = self._not_utf8(self._line(block, n))
                columns.append(column.slice(0, n).cast(pa.string()))
        found = pa.RecordBatch.from_arrays([column.slice(0, n) for column in columns], names)
        return self._with_missing(found), failure

    def _count_rows(self, data: bytes) -> int:
        if (n := _n_rows(data)) is not None:
            return n
        batch, bad = self._read_ascii(data, self.names[:1])
        return int(batch.num_rows) + len(bad)

    def _row_spans(self, data: bytes) -> list[tuple[int, int]]:
        spans, start = [], 0
        for end in (row_ends(data, self._delimiter) + 1).tolist():
            if data[start:end].strip(LINE_ENDS):
                spans.append((start, end))
            start = end
        return spans

    def _line(self, block: Block, row: int) -> int:
        lines = lines_of_rows(block.data, row_ends(block.data, self._delimiter))
        return block.line + (lines[min(row, len(lines) - 1)] if lines else 0)

    def _wrong_count(self, block: Block, row: int, expected: int, actual: int) -> InputError:
        line = self._line(block, row)
        last = block.line + block.data.count(b"\n") - 1
        if block.cut_short and line == last and actual < expected:
            return BadLineError(
                "cut short",
                f"{self.name}, line {line}: the file ends in the middle of a row, after {actual} of "
                f"{expected} fields. The rows before are good; complete the row, or get a fresh copy.",
            )
        return BadLineError(
            "wrong number of fields",
            f"{self.name}, line {line}: a row must have {expected} fields, as the first line has names; "
            f"got {actual}. Correct the line; a field that holds the separator needs quotes.",
        )


def delimiter_of(header: str, given: bytes) -> bytes:
    """What separates the fields of a line of names: semicolons or tabs if it has no comma."""
    others = (b";", b"\t") if given == b"," and "," not in header else ()
    return next((other for other in others if other.decode() in header), given)


# Where rows of CSV end --------------------------------------------------------------------------------------


def end_of_quoted(data: bytes, delimiter: bytes) -> int:
    r"""Where the last whole row ends: a line end between quotes is part of a field.

    >>> end_of_quoted(b'1,2\n"a\nb', b",")
    4
    """
    if b'"' not in data:
        return end_of_lines(data)
    ends = row_ends(data, delimiter)
    return int(ends[-1]) + 1 if len(ends) else 0


def row_ends(data: bytes, delimiter: bytes) -> NDArray[np.int64]:
    """The positions of the line ends that end a row, those outside quotes."""
    letters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(letters == _LINE_FEED)
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
    opens_after = frozenset(delimiter + LINE_ENDS)
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
    """The line, counted from 0, on which each row begins that is not empty."""
    result, start, line = [], 0, 0
    for end in ends.tolist():
        if data[start:end].strip(b"\r"):
            result.append(line)
        line += data.count(b"\n", start, end + 1)
        start = end + 1
    return result


def _n_rows(data: bytes) -> int | None:
    """How many rows there are, if line ends alone tell."""
    if b'"' in data or b"\n\n" in data or data.startswith((b"\n", b"\r\n")):
        return None
    if b"\r" in data and (b"\n\r\n" in data or data.count(b"\r") != data.count(b"\r\n")):
        return None
    return data.count(b"\n")
