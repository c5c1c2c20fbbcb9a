"""CSV and its relatives, block by block.

Each block of whole rows goes to Arrow with the type of every column given. Where that fails, the block is
read again as texts: rows with a wrong number of fields are found there, values that are no numbers when
they are encoded. So the rows before a bad one can always be delivered.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from ocboost.errors import InputError
from ocboost.streams.encoding import FALSE, MISSING, TRUE, arrow
from ocboost.streams.formats.base import SAMPLE_BYTES, SAMPLE_ROWS, Role, TextRecords, no_rows, too_short
from ocboost.streams.formats.lines import Block, Blocks, end_of_quoted, lines_of_rows, n_lines, row_ends
from ocboost.streams.schema import usable_names
from ocboost.streams.source import CHUNK, Source


class DelimitedRecords(TextRecords):
    """The rows of a CSV or TSV file.

    Parameters
    ----------
    source : Source
        Where the bytes come from; it is closed with the rows.
    delimiter : str
        What stands between two fields.
    brief : bool
        Whether a short sample will do.
    """

    typed = False

    def __init__(self, source: Source, delimiter: str, *, brief: bool) -> None:
        self.name = source.name
        self.notes = []
        self._source = source
        self._brief = brief
        self._delimiter = delimiter.encode()
        self._blocks = Blocks(source, self._end)
        fields = self._header()
        self.names = usable_names(fields, self.name, self.notes)
        self._places = {name: str(place) for place, name in enumerate(fields)}
        self._all = [str(place) for place in range(len(fields))]
        self._sample: Mapping[str, Any] | None = None

    def _end(self, data: bytes) -> int:
        return end_of_quoted(data, self._delimiter)

    def _header(self) -> list[str]:
        """Take the line of names from the first block."""
        for block in self._blocks:
            data = block.data.lstrip(b"\r\n")
            if not data:
                continue
            blank = len(block.data) - len(data)
            line = block.line + block.data.count(b"\n", 0, blank)
            end = int(row_ends(data, self._delimiter)[0]) + 1
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
                    f"{self.name}, line {line}: the names of the columns make no sense ({error})."
                ) from None
            if "\r" in text.removesuffix("\n").removesuffix("\r") and b"\n" not in rest:
                raise InputError(
                    f"{self.name}: lines must end in LF or CR LF; these end in CR alone. "
                    "Convert the file first: tr '\\r' '\\n'."
                )
            rest_line = line + first.count(b"\n")
            self._blocks.put_back(Block(rest, rest_line, block.cut_short))
            return fields
        raise InputError(f"{self.name} is empty. Give a file that begins with a line of names.")

    def _choose_delimiter(self, header: str) -> None:
        if self._delimiter != b"," or "," in header:
            return
        for other, what in ((b";", "semicolons"), (b"\t", "tabs")):
            if other.decode() in header:
                self._delimiter = other
                self.notes.append(
                    f"The fields are taken to be separated by {what}: the line of names has no comma."
                )
                return

    def sample(self) -> Mapping[str, Any]:
        """The first rows, each column as texts."""
        if self._sample is None:
            self._sample = self._look_ahead()
        return self._sample

    def _look_ahead(self) -> Mapping[str, Any]:
        data = self._blocks.peek(CHUNK, 1) if self._brief else self._blocks.peek(SAMPLE_BYTES, SAMPLE_ROWS)
        if not data:
            raise no_rows(self.name)
        table, failure = self._as_texts(Block(data, 0), self.names)
        if not table.num_rows and failure is not None:
            for block in self._blocks:  # the first one knows on which line it begins
                raise self._as_texts(block, self.names)[1] or failure
        table = table.slice(0, SAMPLE_ROWS)
        return {name: table.column(name) for name in self.names}

    def batches(self, roles: Mapping[str, Role], skip: int) -> Iterator[Any]:
        """Record batches of the columns in `roles`, after the first `skip` rows."""
        names = list(roles) or self.names[:1]
        types = self._types(roles)
        row = 0
        for block in self._blocks:
            if row < skip:
                n = self._count(block)
                if row + n <= skip:
                    row += n
                    continue
            failure: InputError | None = None
            try:
                batch = self._read(block.data, names, types)
            except (arrow().ArrowInvalid, UnicodeDecodeError):
                batch, failure = self._as_texts(block, names)
            n = batch.num_rows
            if row < skip:
                batch = batch.slice(skip - row)
            row += n
            if batch.num_rows:
                yield batch
            if failure is not None:
                raise failure
        if row < skip:
            raise too_short(self.name, skip, row)

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

    def _read(self, data: bytes, names: list[str], types: Mapping[str, Any], handler: Any = None) -> Any:
        """A block as one record batch. Columns have their place as a name, so that names may repeat."""
        reader = arrow("csv")
        places = [self._places[name] for name in names]
        table = reader.read_csv(
            arrow().BufferReader(data),
            read_options=reader.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=self._all
            ),
            parse_options=reader.ParseOptions(
                delimiter=self._delimiter.decode(),
                newlines_in_values=b'"' in data,
                invalid_row_handler=handler,
            ),
            convert_options=reader.ConvertOptions(
                column_types={self._places[name]: kind for name, kind in types.items()},
                include_columns=places,
                null_values=list(MISSING),
                strings_can_be_null=True,
                true_values=list(TRUE),
                false_values=list(FALSE),
            ),
        )
        return _one_batch(table.rename_columns(names))

    def _as_texts(self, block: Block, names: list[str]) -> tuple[Any, InputError | None]:
        """The columns of a block as texts up to the first bad row, and what is wrong with that."""
        pa = arrow()
        bad: list[Any] = []

        def remember(row: Any) -> str:
            bad.append(row)
            return "skip"

        types = {name: pa.binary() for name in names}
        # Arrow hands over a bad row as text, and fails where it is none: so rows are counted as ASCII first.
        batch = self._read(_as_ascii(block.data), names, types, remember)
        good, failure = block.data, None
        if bad:
            row = bad[0].number - 1
            batch = batch.slice(0, row)
            good = b"\n".join([*good.split(b"\n")[: self._line(block, row) - block.line], b""])
        if batch.num_rows:
            batch = self._read(good, names, types, remember)
        if bad:
            failure = self._wrong_count(block, row, bad[0].expected_columns, bad[0].actual_columns)
        columns = []
        for place in range(len(names)):
            column = batch.column(place)
            try:
                column = column.cast(pa.string())
            except pa.ArrowInvalid:
                row = next(i for i, value in enumerate(column.to_pylist()) if not _is_utf8(value))
                batch = batch.slice(0, row)
                failure = self._not_utf8(self._line(block, row))
                column = column.slice(0, row).cast(pa.string())
            columns.append(column)
        columns = [column.slice(0, batch.num_rows) for column in columns]
        return pa.RecordBatch.from_arrays(columns, names), failure

    def _count(self, block: Block) -> int:
        n = n_lines(block.data)
        if n is None:
            bad: list[Any] = []

            def remember(row: Any) -> str:
                bad.append(row)
                return "skip"

            types = {self.names[0]: arrow().binary()}
            n = self._read(_as_ascii(block.data), self.names[:1], types, remember).num_rows + len(bad)
        return n

    def _line(self, block: Block, row: int) -> int:
        lines = lines_of_rows(block.data, row_ends(block.data, self._delimiter))
        return block.line + (lines[min(row, len(lines) - 1)] if lines else 0)

    def _wrong_count(self, block: Block, row: int, expected: int, actual: int) -> InputError:
        line = self._line(block, row)
        last = block.line + block.data.count(b"\n") - 1
        if block.cut_short and line == last and actual < expected:
            return InputError(
                f"{self.name}, line {line}: the file ends in the middle of a row, after {actual} of "
                f"{expected} fields. The rows before are good; complete the row, or get a fresh copy."
            )
        return InputError(
            f"{self.name}, line {line}: a row must have {expected} fields, as the first line has names; "
            f"got {actual}. Correct the line; a field that holds the separator needs quotes."
        )

    def _not_utf8(self, line: int) -> InputError:
        return InputError(
            f"{self.name}, line {line}: the text must be UTF-8; it is not. "
            "Convert the file first: iconv -f LATIN1 -t UTF-8."
        )


def _one_batch(table: Any) -> Any:
    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    pa = arrow()
    return pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in table.schema], table.schema.names
    )


_ASCII = bytes(range(128)) + b"?" * 128


def _as_ascii(data: bytes) -> bytes:
    """The same rows and fields, whatever the encoding."""
    return data.translate(_ASCII)


def _is_utf8(value: bytes | None) -> bool:
    if value is None:
        return True
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
