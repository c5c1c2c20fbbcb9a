"""Opening a file as a stream.

A new format is a subclass of `Records` in a module of its own and an entry in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._core.file_format import is_model
from ocboost.errors import InputError
from ocboost.streams import encoding
from ocboost.streams.bad_rows import BadRows
from ocboost.streams.csv import CsvRecords
from ocboost.streams.encoding import BadRowError, arrow, require_key_type
from ocboost.streams.inference import (
    infer,
    label_kind,
    notes_on_unknown_categories,
    quoted,
    require_columns,
    require_name,
)
from ocboost.streams.json_lines import JsonRecords
from ocboost.streams.parquet import ParquetRecords
from ocboost.streams.records import Records, Role, TextRecords
from ocboost.streams.rows import Rows, rebatch
from ocboost.streams.schema import Schema, roles_of
from ocboost.streams.source import STDIN, Coverage, Fit, Patience, Source, size_of
from ocboost.streams.stream import Stream

_CELLS_PER_PART = 1 << 20  # features encoded at a time; few rows would cost much for each column


@dataclass(frozen=True)
class Format:
    """A format of files.

    ``reader`` makes its records: from a `Source` and ``short_sample`` for text, else from a path and
    ``tracked``.
    """

    endings: tuple[str, ...]
    reader: Callable[..., Records]
    is_text: bool = True


FORMATS = {
    "csv": Format((".csv",), partial(CsvRecords, delimiter=",")),
    "tsv": Format((".tsv",), partial(CsvRecords, delimiter="\t")),
    "jsonl": Format((".jsonl", ".ndjson", ".json"), JsonRecords),
    "parquet": Format((".parquet",), ParquetRecords, is_text=False),
}
ENDINGS = {ending: name for name, format in FORMATS.items() for ending in format.endings}


def open_stream(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    drop: Iterable[str] = (),
    schema: Schema | None = None,
    batch_size: int = 1000,
    format: str | None = None,
    need_label: bool = True,
    skip: int = 0,
    tracked: bool = False,
    sampled: bool = True,
    label_kind: str | None = None,
    as_they_come: bool = False,
    bad_rows: BadRows | None = None,
    patience: Patience | None = None,
    source: Source | None = None,
    key: str | None = None,
) -> FileStream:
    r"""Open a file as a stream of batches.

    Parameters
    ----------
    path : str or path
        A file of CSV, TSV, JSON lines or Parquet, by its ending; the first three may be compressed with gzip.
        ``"-"`` is standard input.
    label : str, optional
        The name of the label column; by default the schema's, if there is one.
    drop : iterable of str
        Columns that are no features.
    schema : Schema, optional
        What the columns are, as a model has it: they are found by name, in any order, and others are
        ignored. By default it is inferred from the first 10,000 rows or 4 MB, nothing of which is lost.
    batch_size : int
        Rows of each batch; the last one may be shorter.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        The format, if the name does not tell; standard input is CSV, or JSON lines if it begins with {.
    need_label : bool
        Whether a file without the label column is an error. Otherwise its batches have no labels.
    skip : int
        Rows to skip. The first batch then begins at row ``skip``.
    tracked : bool
        Whether to digest what is read, for `Stream.coverage` and `Stream.fits`.
    sampled : bool
        Whether the first rows are looked at. Otherwise nothing waits for them: without a schema all columns
        are numbers, and objects of JSON lines may lack some columns of a schema.
    label_kind : str, optional
        What the labels are, if neither the schema says it nor the first rows are looked at.
    as_they_come : bool
        Whether to give rows as soon as they have arrived, in batches of at most ``batch_size``, perhaps empty
        ones. The first rows are not looked at.
    bad_rows : BadRows, optional
        Takes the rows that cannot be used, which are an error otherwise. The first rows are not looked at.
        Not for Parquet.
    patience : Patience, optional
        What happens while nothing arrives.
    source : Source, optional
        Where the text comes from, if not simply from the file. The stream closes it.
    key : str, optional
        The name of the column that says whose row it is: texts as they are written, NA too, or whole numbers,
        which become their decimal digits. Batches have it as ``keys``. A row without a key, or with one of
        more than 500 bytes, cannot be used. It is a feature only if the schema says so.

    Returns
    -------
    Stream
        Its batches, when it is iterated.

    Raises
    ------
    InputError
        If the file is none, or has no such columns; the text says what to do.

    Notes
    -----
    An empty field is missing, and so are NA, N/A, NaN and null. Missing numbers are NaN, missing
    categories all zeros. In CSV an empty line is no row.

    If a file is broken somewhere, the rows before come first, and then the error.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "fruit.csv")
    ...     _ = path.write_text("weight,colour,ripe\n120,red,yes\n80,green,no\n95,red,yes\n")
    ...     with open_stream(path, label="ripe", batch_size=2) as stream:
    ...         print(stream.schema.feature_names)
    ...         for batch in stream:
    ...             print(batch.X.tolist(), batch.y.tolist())
    ('weight', 'colour=red', 'colour=green')
    [[120.0, 1.0, 0.0], [80.0, 0.0, 1.0]] ['yes', 'no']
    [[95.0, 1.0, 0.0]] ['yes']
    """
    arrow()  # raises at once if it is not installed
    if isinstance(drop, str):
        raise InputError(f"drop must be a list of names; got the text {drop!r:.80}. Write [{drop!r:.80}].")
    dropped = tuple(drop)
    batch_size = as_count(batch_size, "batch_size", 1, MAX_SETTING, "")
    skip = as_count(skip, "skip", 0, None, "")
    complete = schema is not None and (schema.label_kind is not None or (label or schema.label) is None)
    unsampled = as_they_come or bad_rows is not None or not sampled
    how = {"short_sample": complete or unsampled, "unsampled": unsampled, "lenient": bad_rows is not None}
    records = open_records(path, format, how, source, tracked=tracked, patience=patience)
    try:
        if unsampled and isinstance(records, TextRecords):
            schema = _expected(records, label, dropped, schema, label_kind, key)
        elif bad_rows is not None:
            raise InputError(f"bad rows cannot be left out of a Parquet file, such as {records.name}.")
        found, notes = _resolve(records, label, dropped, schema, key, need_label=need_label)
        return FileStream(records, path, found, notes, batch_size, skip, as_they_come, bad_rows, key)
    except BaseException:
        records.source.close()
        raise


def open_records(
    path: str | os.PathLike[str],
    format: str | None,
    how: dict[str, Any],
    source: Source | None,
    *,
    tracked: bool = False,
    patience: Patience | None = None,
) -> Records:
    """The records of a file; ``how`` is for text."""
    name = format_name(path, format)
    if name is not None and not FORMATS[name].is_text:
        return FORMATS[name].reader(path, tracked=tracked)
    if source is None:
        source = Source(path, tracked=tracked, patience=patience)
    try:
        if name is None:
            name = "jsonl" if source.begins_with(b"{") else "csv"
        return FORMATS[name].reader(source, **how)
    except BaseException:
        source.close()
        raise


def format_name(path: str | os.PathLike[str], format: str | None) -> str | None:
    """The name of the format; None for standard input and pipes, whose first bytes tell."""
    if format is not None:
        if format not in FORMATS:
            raise InputError(f"format must be one of {', '.join(FORMATS)}; got {format!r:.80}.")
        return format
    if os.fspath(path) == STDIN:
        return None
    endings = [ending.lower() for ending in PurePath(path).suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    if not endings or endings[-1] not in ENDINGS:
        if size_of(path) is None:  # a missing file, or a folder, is another error
            return None
        if is_model(path):
            raise InputError(f"{os.fspath(path)} is a model of ocboost, not data. Give a table of rows.")
        raise InputError(
            f"the ending of {os.fspath(path)} must tell its format: {', '.join(ENDINGS)}, perhaps with .gz. "
            f"Otherwise give format: {', '.join(FORMATS)}."
        )
    return ENDINGS[endings[-1]]


def _expected(
    records: TextRecords,
    label: str | None,
    drop: tuple[str, ...],
    schema: Schema | None,
    label_kind: str | None,
    key: str | None,
) -> Schema:
    """The schema of records whose first rows are not looked at."""
    if schema is None:
        label = label if label in records.names else None
        names = [name for name in records.names if name not in (label, key) and name not in drop]
        if not names:
            besides = "label" if key is None else "label and the key"
            raise InputError(f"{records.name} must have columns besides the {besides}; it has none.")
        schema = Schema.of_numbers(names, label, None if label is None else label_kind)
    elif (label or schema.label) is not None:
        schema = replace(schema, label=label or schema.label, label_kind=schema.label_kind or label_kind)
    if isinstance(records, JsonRecords):
        records.require_some([column.name for column in schema.columns], schema.label, key)
    return schema


def _resolve(
    records: Records,
    label: str | None,
    drop: tuple[str, ...],
    schema: Schema | None,
    key: str | None,
    *,
    need_label: bool,
) -> tuple[Schema, list[str]]:
    """The schema that records are read with, and notes."""
    for name in drop:
        require_name("drop", name, records.names, records.name)
    if label is None and schema is not None:
        label = schema.label
    if label is not None and label in drop:
        raise InputError(f"drop must not name the label column {label!r:.80}. Leave it out of drop.")
    if label is not None and need_label:
        require_name("label", label, records.names, records.name)
    if key is not None:
        if key == label:
            raise InputError(f"key must not be the label column {label!r:.80}. Name the column of the keys.")
        require_name("key", key, records.names, records.name)
        if isinstance(records, ParquetRecords):
            require_key_type(records.types[key], key)
    own_label = label if label in records.names else None
    sample = records.sample()
    if schema is None:
        others = drop if key is None else (*drop, key)
        found, notes = infer(sample, records.names, typed=records.typed, label=own_label, drop=others)
        return found, records.notes + notes
    needed = [column.name for column in schema.columns if column.name in drop]
    if needed:
        raise InputError(f"drop must not name columns that the model needs; got {quoted(needed)}.")
    require_columns(schema, records.names, records.name)
    if own_label is not None:
        kind = schema.label_kind or label_kind(sample, own_label, typed=records.typed)
        schema = replace(schema, label=own_label, label_kind=kind)
    return schema, [*records.notes, *notes_on_unknown_categories(schema, sample)]


class FileStream(Stream):
    """The batches of a file; `open_stream` makes it."""

    def __init__(
        self,
        records: Records,
        path: str | os.PathLike[str],
        schema: Schema,
        notes: list[str],
        batch_size: int,
        skip: int,
        as_they_come: bool = False,
        bad_rows: BadRows | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(schema, batch_size, notes)
        self._as_they_come = as_they_come
        self._bad_rows = bad_rows
        self.is_json = isinstance(records, JsonRecords)
        self._records = records
        self._path = path
        self._label = schema.label if schema.label in records.names else None
        self._key = key
        self._roles: dict[str, Role] = {**roles_of(schema)}
        if self._label is None:
            self._roles.pop(schema.label or "", None)
        if key is not None:
            self._roles[key] = "key"
        self.start_at(skip)

    def start_at(self, row: int) -> None:
        """Begin at another row; call it before the first batch is taken."""
        bad = self._bad_rows
        parts = self._parts(row) if bad is None else self._good_parts(row, bad)
        cut = _in_parts if self._as_they_come else rebatch
        self._batches = cut(parts, self.batch_size)

    def coverage(self) -> Coverage | None:
        """Everything read, once the stream has ended; None if it was not tracked."""
        return self._records.source.coverage()

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the file fits each of several coverages."""
        return self._records.source.fits(coverages)

    @property
    def _rows_per_part(self) -> int:
        return max(1, _CELLS_PER_PART // self.schema.n_features)

    def _parts(self, row: int) -> Iterator[Rows]:
        rows_per_part = self._rows_per_part
        try:
            for batch in self._records.batches(self._roles, row):
                for start in range(0, batch.num_rows, rows_per_part):
                    part = batch.slice(start, rows_per_part)
                    rows, failure = self._encoded(part, row)
                    yield rows
                    if failure is not None:
                        raise failure
                    row += part.num_rows
        finally:
            self._records.source.close()

    def _good_parts(self, row: int, bad: BadRows) -> Iterator[Rows]:
        """The rows that can be used; none where the last to arrive was left out."""
        assert isinstance(self._records, TextRecords)
        nothing = Rows(np.empty((0, self.schema.n_features)))
        try:
            most = self._rows_per_part
            for rows in self._records.good_rows(self._roles, row, self._all_encoded, bad, most):
                yield nothing if rows is None else rows
        finally:
            self._records.source.close()

    def _all_encoded(self, batch: Any, row: int) -> Rows:
        """The rows of a record batch, or an error."""
        rows, failure = self._encoded(batch, row)
        if failure is not None:
            raise failure
        return rows

    def _encoded(self, part: Any, row: int) -> tuple[Rows, InputError | None]:
        """The rows of a record batch up to the first bad one, and the error of that row."""
        try:
            X = self.schema.encode(part, first=row)
            key = self._key
            keys = None if key is None else encoding.keys(part.column(key), key, row)
            if self._label is None:
                return Rows(X, first=row, keys=keys), None
            labels = self.schema.encode_label(part.column(self._label), first=row)
            return Rows(X, *labels, row, keys=keys), None
        except BadRowError as bad:
            before, earlier = self._encoded(part.slice(0, bad.offset), row)
            return before, earlier or bad

    def close(self) -> None:
        """Close the file; standard input stays open."""
        super().close()
        self._records.source.close()

    @property
    def has_labels(self) -> bool:
        """Whether the file has the label column."""
        return self._label is not None

    @property
    def bytes_read(self) -> int:
        """Bytes of the file read so far."""
        return self._records.source.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """The length of the file; None for standard input."""
        return self._records.source.bytes_total

    def _beginning(self, length: int) -> bytes | None:
        if self.bytes_total is None:
            return None
        with open(self._path, "rb") as file:
            return file.read(length)


def _in_parts(parts: Iterable[Rows], size: int) -> Iterator[Rows]:
    """The same rows without waiting for others, at most so many at once."""
    for rows in parts:
        for start in range(0, max(1, len(rows)), size):
            yield rows[start : start + size]
