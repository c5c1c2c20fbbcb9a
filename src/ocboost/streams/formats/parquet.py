"""Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ocboost.errors import InputError
from ocboost.streams.coverage import Coverage, Fit, TableDigest, fits_of_table
from ocboost.streams.encoding import arrow, is_text
from ocboost.streams.formats.base import SAMPLE_BYTES, SAMPLE_ROWS, Records, Role, no_rows, too_short
from ocboost.streams.schema import usable_names
from ocboost.streams.source import STDIN, name_of, size_of

_ROWS = 1 << 13  # decoded at a time
_FEW = 500  # of the sample, which may be wide


class ParquetRecords(Records):
    """The rows of a Parquet file.

    Parameters
    ----------
    path : str or path
        The file; it must be an ordinary one, as its end is read first.
    tracked : bool, default False
        Whether to digest all rows before the first is given, for `coverage`.
    """

    typed = True

    def __init__(self, path: str | os.PathLike[str], *, tracked: bool = False) -> None:
        self.name = name_of(path)
        self._tracked = tracked
        self._coverage: Coverage | None = None
        self.notes = []
        size = size_of(path)
        if size is None:
            what = "standard input" if os.fspath(path) == STDIN else "a pipe"
            raise InputError(
                f"Parquet must come from a file, because it is read from its end; got {what}. "
                "Save it first, or send CSV or JSON lines."
            )
        self._size = size
        self._done = 0
        if size == 0:
            raise InputError(f"{self.name} is empty. Give a file with at least one row of data.")
        handle = arrow().OSFile(os.fspath(path))
        try:
            with self._readable():
                self._file = arrow("parquet").ParquetFile(handle, buffer_size=1 << 20, pre_buffer=False)
                fields = list(self._file.schema_arrow)
            self.names = usable_names([field.name for field in fields], self.name, self.notes)
            self._fields = {field.name: field for field in fields if field.name.strip()}
            self._n_rows = self._file.metadata.num_rows
            if self._n_rows == 0:
                raise no_rows(self.name)
        except BaseException:
            handle.close()
            raise
        self._handle = handle

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (arrow().ArrowException, OSError, UnicodeDecodeError) as error:
            lines = str(error).splitlines() or [type(error).__name__]
            raise InputError(
                f"{self.name} is not a Parquet file, or a damaged one ({lines[0]:.200}). "
                "Get a fresh copy, or give its format."
            ) from None

    def sample(self) -> Mapping[str, Any]:
        """The first rows, each column in its own type; lists, structs and bytes are left out."""
        pa = arrow()
        names = [name for name, field in self._fields.items() if _is_flat(field.type)]
        batches: list[Any] = []
        rows = size = 0
        with self._readable():
            for batch in self._file.iter_batches(_FEW, columns=names, use_threads=False):
                batches.append(batch)
                rows += batch.num_rows
                size += batch.nbytes
                if rows >= SAMPLE_ROWS or size >= SAMPLE_BYTES:
                    break
            table = pa.Table.from_batches(batches)
        return {name: table.column(name) for name in names if name in table.schema.names}

    def batches(self, roles: Mapping[str, Role], skip: int) -> Iterator[Any]:
        """Record batches of the columns in `roles`, after the first `skip` rows."""
        if skip > self._n_rows:
            raise too_short(self.name, skip, self._n_rows)
        if self._tracked and self._coverage is None:
            self.fits([])
        metadata = self._file.metadata
        group, row = 0, 0
        while group < metadata.num_row_groups and row + metadata.row_group(group).num_rows <= skip:
            row += metadata.row_group(group).num_rows
            group += 1
        groups = list(range(group, metadata.num_row_groups))
        self._done = row
        with self._readable():
            batches = self._file.iter_batches(
                _ROWS, row_groups=groups, columns=list(roles), use_threads=False
            )
        while True:
            with self._readable():
                batch = next(batches, None)
            if batch is None:
                break
            n = batch.num_rows
            if row < skip:
                batch = batch.slice(min(skip - row, n))
            row += n
            self._done = row
            if batch.num_rows:
                yield batch
        if row < self._n_rows:
            raise InputError(
                f"{self.name} is damaged: it should hold {self._n_rows} rows, and {row} can be read. "
                "Get a fresh copy."
            )

    def coverage(self) -> Coverage | None:
        """All rows; None if they were not tracked."""
        return self._coverage

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the rows fit each of several coverages; every column that has one value in a row counts."""
        if not self._tracked:
            return ["other"] * len(coverages)
        names = [name for name, field in self._fields.items() if _is_flat(field.type)]
        digest = TableDigest((name, str(self._fields[name].type)) for name in names)
        with self._readable():
            batches = self._file.iter_batches(_ROWS, columns=names, use_threads=False)
            fits = fits_of_table((batch.select(names) for batch in batches), digest, self._n_rows, coverages)
        self._coverage = digest.coverage()
        return fits

    @property
    def bytes_read(self) -> int:
        """About how many bytes were read: the share of the rows."""
        return int(self._size * self._done // self._n_rows)

    @property
    def bytes_total(self) -> int | None:
        """Bytes there are."""
        return self._size

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._handle.close()


def _is_flat(kind: Any) -> bool:
    """Whether a column has one value that can be looked at in each row."""
    types = arrow().types
    if types.is_dictionary(kind):
        return is_text(kind.value_type) or not types.is_nested(kind.value_type)
    return not (
        types.is_nested(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )
