"""JSON lines: an object on each line.

Each block of whole lines goes to Arrow with the type of every column given. Where that fails, or might do
harm, the block is read line by line in Python, so that the rows before a bad one can be delivered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ocboost.errors import InputError
from ocboost.streams.encoding import arrow
from ocboost.streams.formats.base import SAMPLE_BYTES, SAMPLE_ROWS, Role, TextRecords, no_rows, too_short
from ocboost.streams.formats.lines import Block, Blocks, end_of_lines
from ocboost.streams.schema import usable_names
from ocboost.streams.source import CHUNK, Source

_DEEP = 1000  # brackets on a line that make Arrow's parser use much of the stack


class JsonRecords(TextRecords):
    """The rows of a file of JSON lines.

    Parameters
    ----------
    source : Source
        Where the bytes come from; it is closed with the rows.
    brief : bool
        Whether a short sample will do.
    """

    typed = True

    def __init__(self, source: Source, *, brief: bool) -> None:
        self.name = source.name
        self.notes = []
        self._source = source
        self._blocks = Blocks(source, end_of_lines)
        self._seen = self._look_ahead(brief)
        names: dict[str, None] = {}
        for row in self._seen:
            names.update(dict.fromkeys(row))
        if not names:
            raise InputError(f"{self.name} must have an object with names on each line; its first are empty.")
        self.names = usable_names(list(names), self.name, self.notes)

    def _look_ahead(self, brief: bool) -> list[dict[str, Any]]:
        size, lines = (CHUNK, 1) if brief else (SAMPLE_BYTES, SAMPLE_ROWS)
        data = self._blocks.peek(size, lines)
        if not data.strip():
            raise no_rows(self.name)
        rows: list[dict[str, Any]] = []
        try:
            rows.extend(islice(self._parsed(Block(data, 1)), SAMPLE_ROWS))
        except InputError:
            if not rows:
                list(self._parsed(next(self._blocks)))  # says what is wrong, and knows where the file ends
                raise
        return rows

    def sample(self) -> Mapping[str, Any]:
        """The first rows, each column as numbers, truth values or texts; objects and lists are left out."""
        result = {}
        for name in self.names:
            values = [row.get(name) for row in self._seen]
            if any(isinstance(value, dict | list) for value in values):
                continue
            result[name] = _column(values, "label")
        return result

    def batches(self, roles: Mapping[str, Role], skip: int) -> Iterator[Any]:
        """Record batches of the columns in `roles`, after the first `skip` rows."""
        schema = self._types(roles)
        row = 0
        for block in self._blocks:
            lines = _n_rows(block.data)
            if row + lines <= skip:
                row += lines
                continue
            failure: InputError | None = None
            batch = self._fast(block, schema, lines)
            if batch is None:
                batch, failure = self._by_hand(block, roles)
            if row < skip:
                batch = batch.slice(skip - row)
            row += lines
            if batch.num_rows:
                yield batch
            if failure is not None:
                raise failure
        if row < skip:
            raise too_short(self.name, skip, row)

    def _types(self, roles: Mapping[str, Role]) -> Any:
        """The Arrow type of each column: truth values and labels as the sample has them."""
        pa = arrow()
        fields = []
        for name, role in roles.items():
            found = _column([row.get(name) for row in self._seen], "label").type
            if role == "number":
                kind = found if found == pa.bool_() else pa.float64()
            else:
                kind = found if role == "label" and found != pa.null() else pa.string()
            fields.append((name, kind))
        return pa.schema(fields)

    def _fast(self, block: Block, schema: Any, lines: int) -> Any:
        """A block as one record batch, or None if it is not as simple as it should be."""
        pa, reader = arrow(), arrow("json")
        data = block.data
        # A line that is no object can crash Arrow, and so can brackets a million deep. It takes any bytes as
        # texts, and several objects on a line.
        if data.count(b"\n{") + data.startswith(b"{") != lines or not _is_utf8(data):
            return None
        if data.count(b"{") + data.count(b"[") - lines > _DEEP and _is_deep(data):
            return None
        try:
            table = reader.read_json(
                pa.BufferReader(data),
                read_options=reader.ReadOptions(use_threads=False, block_size=len(data) + 1),
                parse_options=reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches and batches[0].num_rows == lines else None

    def _by_hand(self, block: Block, roles: Mapping[str, Role]) -> tuple[Any, InputError | None]:
        """The columns of a block up to the first bad line, and what is wrong with that."""
        rows: list[dict[str, Any]] = []
        failure: InputError | None = None
        try:
            for row in self._parsed(block):
                rows.append(row)  # noqa: PERF402  those before an error are wanted
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
                raise InputError(
                    f"{place}: the text must be UTF-8; it is not. Convert the file first."
                ) from None
            except RecursionError:
                raise InputError(f"{place}: the object is nested too deep. Write flat objects.") from None
            except ValueError as error:
                if block.cut_short and line == block.line + len(lines) - 2:
                    raise InputError(
                        f"{place}: the file ends in the middle of a row. "
                        "The rows before are good; complete the row, or get a fresh copy."
                    ) from None
                raise InputError(
                    f"{place}: a line must hold one JSON object; got {text[:60].decode(errors='replace')!r} "
                    f"({error}). Correct it; JSON lines need each object on a line of its own."
                ) from None
            if not isinstance(row, dict):
                advice = "Take the list apart: jq -c '.[]'." if isinstance(row, list) else "Correct it."
                raise InputError(
                    f'{place}: a line must hold a JSON object such as {{"a": 1}}; got {row!r:.60}. {advice}'
                )
            yield row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name stands there twice")
    return result


def _column(values: list[Any], role: Role) -> Any:
    """Values of JSON as an Arrow array; those that do not go together become texts."""
    pa = arrow()
    kinds = {type(value) for value in values} - {type(None)}
    if role == "text":
        return pa.array([_text(value) for value in values], "string")
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {bool}:
        return pa.array(values, "bool")
    if kinds <= {int, float, bool} and not (role == "label" and bool in kinds):
        if kinds == {int} and all(value is None or -(1 << 63) <= value < 1 << 63 for value in values):
            return pa.array(values, "int64")
        return pa.array([None if value is None else _double(value) for value in values], "float64")
    return pa.array([_text(value) for value in values], "string")


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace").decode()  # half of a surrogate pair is no text


def _n_rows(data: bytes) -> int:
    """Lines that are not empty."""
    simple = b"\n\n" not in data and not data.startswith(b"\n")
    if simple and data.count(b"\n{") + data.startswith(b"{") == data.count(b"\n"):
        return data.count(b"\n")
    return sum(1 for line in data.split(b"\n") if line.strip())


def _is_deep(data: bytes) -> bool:
    return any(line.count(b"{") + line.count(b"[") > _DEEP for line in data.split(b"\n"))


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False
