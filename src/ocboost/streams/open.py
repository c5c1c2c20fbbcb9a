"""Opening a file as a stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._core.storage import is_model
from ocboost.errors import InputError
from ocboost.streams.coverage import Coverage, Fit
from ocboost.streams.encoding import BadRowError, arrow
from ocboost.streams.formats.base import Records, Role
from ocboost.streams.formats.delimited import DelimitedRecords
from ocboost.streams.formats.json_lines import JsonRecords
from ocboost.streams.formats.parquet import ParquetRecords
from ocboost.streams.inference import infer, label_kind, strange_categories
from ocboost.streams.rows import Rows, cut_anew
from ocboost.streams.schema import Schema, listed, require_columns, require_name
from ocboost.streams.source import STDIN, Identity, Source
from ocboost.streams.stream import Stream

_FORMATS = ("csv", "tsv", "jsonl", "parquet")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
_CELLS = 1 << 18  # of features held at a time


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
) -> Stream:
    """Open a file as a stream of batches.

    Parameters
    ----------
    path : str or path
        A file of CSV, TSV, JSON lines or Parquet, by its ending; the first three may be packed with gzip.
        ``"-"`` is standard input.
    label : str, optional
        The name of the label column. None: the schema's, if there is one.
    drop : iterable of str
        Columns that are no features.
    schema : Schema, optional
        What the columns are, as a model has it: they are found by name, in any order, and others are
        ignored. None: inferred from the first 10,000 rows or 4 MB, nothing of which is lost.
    batch_size : int
        Rows of each batch; the last one may be shorter.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        The format, where the name does not tell; standard input is CSV, or JSON lines if it begins with {.
    need_label : bool
        Whether a file without the label column is refused. If not, its batches have no labels.
    skip : int
        Rows to pass over. The first batch then begins at row `skip`.
    tracked : bool
        Whether to note what is read, so that `Stream.coverage` can tell and `Stream.fits` compare.

    Notes
    -----
    An empty field is missing, and so are NA, N/A, NaN and null. Missing numbers are NaN, missing
    categories all zeros. In CSV a line that is empty is no row.

    A file that is broken somewhere gives the rows before, and then the error.
    """
    arrow()  # say at once if it is not there
    if isinstance(drop, str):
        raise InputError(f"drop must be a list of names; got the text {drop!r:.80}. Write [{drop!r:.80}].")
    dropped = tuple(drop)
    batch_size = as_count(batch_size, "batch_size", 1, MAX_SETTING, "")
    skip = as_count(skip, "skip", 0, None, "")
    told = schema is not None and (schema.label_kind is not None or (label or schema.label) is None)
    records = _open(path, format, brief=told, tracked=tracked)
    try:
        found, notes = _resolve(records, label, dropped, schema, need_label=need_label)
        return FileStream(records, Identity(path), found, notes, batch_size, skip)
    except BaseException:
        records.close()
        raise


def _open(path: str | os.PathLike[str], format: str | None, *, brief: bool, tracked: bool) -> Records:
    told, format = format is not None, _format_of(path, format)
    if format == "parquet":
        return ParquetRecords(path, tracked=tracked)
    source = Source(path, tracked=tracked)
    try:
        if os.fspath(path) == STDIN and not told and source.begins_with(b"{"):
            format = "jsonl"
        if format == "jsonl":
            return JsonRecords(source, brief=brief)
        return DelimitedRecords(source, "\t" if format == "tsv" else ",", brief=brief)
    except BaseException:
        source.close()
        raise


def _format_of(path: str | os.PathLike[str], format: str | None) -> str:
    if format is not None:
        if format not in _FORMATS:
            raise InputError(f"format must be one of {', '.join(_FORMATS)}; got {format!r:.80}.")
        return format
    if os.fspath(path) == STDIN:
        return "csv"
    endings = [ending.lower() for ending in PurePath(path).suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    found = _ENDINGS.get(endings[-1]) if endings else None
    if found is None:
        Identity(path)  # a file that is not there, or is a folder, has another error
        if is_model(path):
            raise InputError(f"{os.fspath(path)} is a model of ocboost, not data. Give a table of rows.")
        raise InputError(
            f"the ending of {os.fspath(path)} must tell its format: {', '.join(_ENDINGS)}, perhaps with .gz. "
            f"Else give format: {', '.join(_FORMATS)}."
        )
    return found


def _resolve(
    records: Records, label: str | None, drop: tuple[str, ...], schema: Schema | None, *, need_label: bool
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
    there = label is not None and label in records.names
    sample = records.sample()
    if schema is None:
        found, notes = infer(
            sample, records.names, typed=records.typed, label=label if there else None, drop=drop
        )
        return found, records.notes + notes
    clash = [column.name for column in schema.columns if column.name in drop]
    if clash:
        raise InputError(f"drop must not name columns that the model needs; got {listed(clash)}.")
    require_columns(schema, records.names, records.name)
    if there:
        kind = schema.label_kind or label_kind(sample, str(label), typed=records.typed)
        schema = replace(schema, label=label, label_kind=kind)
    return schema, [*records.notes, *strange_categories(schema, sample)]


class FileStream(Stream):
    """The batches of a file; `open_stream` makes it."""

    def __init__(
        self,
        records: Records,
        identity: Identity,
        schema: Schema,
        notes: list[str],
        batch_size: int,
        skip: int,
    ) -> None:
        super().__init__(schema, batch_size, notes)
        self._records = records
        self._identity = identity
        self._skip = skip
        self._label = schema.label if schema.label in records.names else None
        roles: dict[str, Role] = {c.name: "number" if c.kind == "number" else "text" for c in schema.columns}
        if self._label is not None:
            roles[self._label] = "label"
        self._roles = roles
        self._batches = cut_anew(self._parts(), batch_size)

    def start_at(self, row: int) -> None:
        """Begin at another row than it was opened for, before the first batch is taken."""
        self._skip = row
        self._batches = cut_anew(self._parts(), self.batch_size)

    def coverage(self) -> Coverage | None:
        """All that has been read, once the stream has come to its end; None if it was not tracked."""
        return self._records.coverage()

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the file fits each of several coverages."""
        return self._records.fits(coverages)

    def _parts(self) -> Iterator[Rows]:
        at_once = max(1, _CELLS // self.schema.n_features)
        row = self._skip
        try:
            for batch in self._records.batches(self._roles, self._skip):
                for start in range(0, batch.num_rows, at_once):
                    part = batch.slice(start, at_once)
                    rows, failure = self._encoded(part, row)
                    yield rows
                    if failure is not None:
                        raise failure
                    row += part.num_rows
        finally:
            self._records.close()

    def _encoded(self, part: Any, row: int) -> tuple[Rows, InputError | None]:
        """The rows of a record batch up to the first bad one, and what is wrong with that."""
        try:
            X = self.schema.encode(part, first=row)
            if self._label is None:
                return Rows(X, first=row), None
            return Rows(X, *self.schema.encode_label(part.column(self._label), first=row), row), None
        except BadRowError as bad:
            before, earlier = self._encoded(part.slice(0, bad.offset), row)
            return before, earlier or bad

    def close(self) -> None:
        """Close the file; standard input stays open."""
        super().close()
        self._records.close()

    @property
    def bytes_read(self) -> int:
        """Bytes of the file read so far."""
        return self._records.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """The length of the file; None for standard input."""
        return self._records.bytes_total

    def fingerprint(self) -> dict[str, Any] | None:
        """How the file begins; None for standard input."""
        return self._identity.fingerprint()

    def matches(self, fingerprint: object) -> bool:
        """Whether the file begins as it did when the fingerprint was taken; it may have grown."""
        return self._identity.matches(fingerprint)
