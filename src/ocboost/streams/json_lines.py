"""JSON lines: an object on each line.

Arrow reads each block of whole lines with the type of every column given. Where that fails, or might do harm,
the block is read line by line in Python, so that the rows before a bad one can be delivered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from ocboost.errors import InputError
from ocboost.streams.bad_rows import BadLineError
from ocboost.streams.encoding import arrow
from ocboost.streams.inference import quoted, usable_names
from ocboost.streams.records import Block, Role, TextRecords, is_utf8, one_batch
from ocboost.streams.source import Source

_BROKEN = "broken JSON"  # the reason why a row is left out
_MAX_BRACKETS = 1000  # on a line; with more, Arrow's parser may use much of the stack


class JsonRecords(TextRecords):
    """The rows of a file of JSON lines."""

    typed = True

    def __init__(self, source: Source, **how: Any) -> None:
        super().__init__(source, **how)
        self._needed: frozenset[str] = frozenset()  # a row must have one of these
        self._keys: list[str] = []  # columns that must hold texts or whole numbers
        self._seen = self._parse_first_row() if self._unsampled else self._parse_first_rows()
        names = list(dict.fromkeys(name for row in self._seen for name in row))
        if not names and not self._unsampled:
            raise InputError(f"{self.name} must have an object with names on each line; its first are empty.")
        self.names = usable_names(names, self.name, self.notes) if names else []

    def require_some(self, columns: list[str], *others: str | None) -> None:
        """Take these names for those of the columns: a row may lack some of them, but not all."""
        self._needed = frozenset(columns)
        absent = [name for name in columns if name not in self.names]
        if absent and len(absent) < len(columns):
            self.notes.append(f"The first row lacks {quoted(absent)}: what a row lacks counts as missing.")
        more = [name for name in others if name is not None]
        self.names = list(dict.fromkeys([*columns, *more, *self.names]))

    def _parse_first_row(self) -> list[dict[str, Any]]:
        """The first row, if it can be used; where it cannot and rows may be left out, nothing."""
        data = self._first_rows()
        spans = self._row_spans(data)
        try:
            return list(self._parsed(Block(data[: spans[0][1]], 1))) if spans else []
        except InputError:
            if not self._lenient:
                raise
            return []

    def _parse_first_rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        try:
            rows.extend(islice(self._parsed(Block(self._first_rows(), 1)), self._sample_size.rows))
        except InputError:
            if not rows:
                for block in self._blocks():  # the first one knows whether the file ends there
                    list(self._parsed(block))
                raise
        if not rows:
            raise self._no_rows()
        return rows

    def _sample_column(self, name: str) -> Any:
        return _column([row.get(name) for row in self._seen], "label")

    def sample(self) -> Mapping[str, Any]:
        """The first rows, each column as numbers, truth values or texts; objects and lists are left out."""
        nested = {name for row in self._seen for name, value in row.items() if isinstance(value, dict | list)}
        return {name: self._sample_column(name) for name in self.names if name not in nested}

    def _count_rows(self, data: bytes) -> int:
        """Lines that are not empty."""
        simple = b"\n\n" not in data and not data.startswith(b"\n")
        if simple and _n_objects(data) == data.count(b"\n"):
            return data.count(b"\n")
        return sum(1 for line in data.split(b"\n") if line.strip())

    def _row_spans(self, data: bytes) -> list[tuple[int, int]]:
        spans, start = [], 0
        while end := data.find(b"\n", start) + 1:
            if data[start:end].strip():
                spans.append((start, end))
            start = end
        return spans

    def _block_reader(self, roles: Mapping[str, Role]) -> Callable[[Block], tuple[Any, InputError | None]]:
        schema = self._types(roles)
        self._keys = [name for name, role in roles.items() if role == "key"]

        def read(block: Block) -> tuple[Any, InputError | None]:
            batch = self._read(block.data, schema)
            return self._read_line_by_line(block, roles) if batch is None else (batch, None)

        return read

    def _types(self, roles: Mapping[str, Role]) -> Any:
        """The Arrow type of each column: truth values and labels as the sample has them."""
        pa = arrow()
        fields = []
        for name, role in roles.items():
            found = self._sample_column(name).type
            if role == "number":
                kind = found if found == pa.bool_() else pa.float64()
            elif role == "key":
                kind = found if found == pa.int64() else pa.string()
            else:
                kind = found if role == "label" and found != pa.null() else pa.string()
            fields.append((name, kind))
        return pa.schema(fields)

    def _read(self, data: bytes, schema: Any) -> Any:
        """A block as one record batch, or None if it is not as simple as it should be."""
        pa, reader = arrow(), arrow("json")
        n = self._count_rows(data)
        # A line that is no object can crash Arrow, and so can very deep brackets. Arrow also accepts several
        # objects on a line, and any bytes as text.
        if _n_objects(data) != n or not is_utf8(data):
            return None
        if _n_brackets(data) - n > _MAX_BRACKETS and max(map(_n_brackets, data.split(b"\n"))) > _MAX_BRACKETS:
            return None
        try:
            table = reader.read_json(
                pa.BufferReader(data),
                read_options=reader.ReadOptions(use_threads=False, block_size=len(data) + 1),
                parse_options=reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        if table.num_rows != n:
            return None
        batch = one_batch(table)
        if self._needed and all(batch[name].null_count for name in self._needed):
            return None  # a row may lack all of them
        for name in self._keys:
            place = batch.schema.get_field_index(name)
            batch = batch.set_column(place, name, batch.column(place).cast(pa.string()))
        return batch

    def _read_line_by_line(self, block: Block, roles: Mapping[str, Role]) -> tuple[Any, InputError | None]:
        """The columns of a block up to the first bad line, and the error of that line."""
        rows: list[dict[str, Any]] = []
        failure: InputError | None = None
        try:
            rows.extend(self._parsed(block))
        except InputError as error:
            failure = error
        columns = [_column([row.get(name) for row in rows], role) for name, role in roles.items()]
        return arrow().RecordBatch.from_arrays(columns, list(roles)), failure

    def _parsed(self, block: Block) -> Iterator[dict[str, Any]]:
        """The objects on the lines of a block."""
        lines = block.data.split(b"\n")
        for line, text in enumerate(lines, block.line):
            if not text.strip():
                continue
            place = f"{self.name}, line {line}"
            try:
                row = json.loads(text.decode(), object_pairs_hook=_unique)
            except UnicodeDecodeError:
                raise self._not_utf8(line) from None
            except RecursionError:
                raise BadLineError(
                    _BROKEN, f"{place}: the object is nested too deep. Write flat objects."
                ) from None
            except ValueError as error:
                if block.cut_short and line == block.line + len(lines) - 2:
                    raise BadLineError(
                        "cut short",
                        f"{place}: the file ends in the middle of a row. "
                        "The rows before are good; complete the row, or get a fresh copy.",
                    ) from None
                raise BadLineError(
                    _BROKEN,
                    f"{place}: a line must hold one JSON object; got {text[:60].decode(errors='replace')!r} "
                    f"({error}). Correct it; JSON lines need each object on a line of its own.",
                ) from None
            if not isinstance(row, dict):
                advice = "Split the list: jq -c '.[]'." if isinstance(row, list) else "Correct it."
                raise BadLineError(
                    _BROKEN,
                    f'{place}: a line must hold a JSON object such as {{"a": 1}}; got {row!r:.60}. {advice}',
                )
            if self._needed and self._needed.isdisjoint(row):
                raise BadLineError(
                    "no known column",
                    f"{place}: an object must have some of the columns the model was made for, such as "
                    f"{quoted(sorted(self._needed)[:3])}; this one has {quoted(list(row)) or 'none'}.",
                )
            for name in self._keys:
                if not _is_key(row.get(name)):
                    raise BadLineError(
                        "bad key",
                        f"{place}: the key column {name!r:.80} must hold texts or whole numbers; got "
                        f"{row[name]!r:.60}. Write each key as text, always in the same way.",
                    )
            yield row


def _is_key(value: object) -> bool:
    """Whether a value is a text, a whole number or missing."""
    if isinstance(value, str):
        return value.isascii() or is_utf8(value.encode(errors="surrogatepass"))
    return value is None or type(value) is int


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name appears twice")
    return result


def _column(values: list[Any], role: Role) -> Any:
    """Values of JSON as an Arrow array; those that do not go together become texts."""
    pa = arrow()
    kinds = {type(value) for value in values} - {type(None)}
    if role not in ("text", "key"):
        if not kinds:
            return pa.nulls(len(values))
        if kinds == {bool}:
            return pa.array(values, "bool")
        if kinds <= {int, float, bool} and not (role == "label" and bool in kinds):
            if kinds == {int} and all(value is None or -(1 << 63) <= value < 1 << 63 for value in values):
                return pa.array(values, "int64")
            return pa.array([None if value is None else _as_float(value) for value in values], "float64")
    return pa.array([_as_text(value) for value in values], "string")


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace").decode()  # half of a surrogate pair is no text


def _n_objects(data: bytes) -> int:
    """Lines that begin with an object."""
    return data.count(b"\n{") + data.startswith(b"{")


def _n_brackets(data: bytes) -> int:
    return data.count(b"{") + data.count(b"[")
