"""Parquet files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ocboost.errors import InputError
from ocboost.streams.encoding import arrow, is_text, plain
from ocboost.streams.inference import usable_names
from ocboost.streams.records import FULL_SAMPLE, Records, Role, SampleSize
from ocboost.streams.source import STDIN, Coverage, Fit, name_of, size_of, usable_coverages

_ROWS_PER_RECORD_BATCH, _CELLS_PER_RECORD_BATCH = 1 << 13, 1 << 22  # read at a time
# Read at once of a column: more is slower, and the buffers of all columns lie in memory at once.
_BUFFER_BYTES = 1 << 18
_BUFFERS_BYTES = 1 << 25
_SAMPLE_ROWS_PER_RECORD_BATCH = 500  # few, since the sample may be wide


class ParquetRecords(Records):
    """The rows of a Parquet file, which must be a regular file, as its end is read first.

    If ``tracked``, all rows are digested before the first one is delivered, for `coverage`. A file without
    rows is an error unless it ``may_be_empty``. ``types`` has the Arrow type of every column.
    """

    typed = True

    def __init__(
        self, path: str | os.PathLike[str], *, tracked: bool = False, may_be_empty: bool = False
    ) -> None:
        self.name = name_of(path)
        self.notes = []
        self.source = self
        self._tracked = tracked
        self._coverage: Coverage | None = None
        self._n_read = 0
        size = size_of(path)
        if size is None:
            what = "standard input" if os.fspath(path) == STDIN else "a pipe"
            raise InputError(
                f"Parquet must come from a file, because it is read from its end; got {what}. "
                "Save it first, or send CSV or JSON lines."
            )
        if size == 0:
            raise InputError(f"{self.name} is empty. Give a file with at least one row of data.")
        self._size = size
        self._handle = arrow().OSFile(os.fsencode(path))  # bytes, since the name may not be UTF-8
        try:
            with self._readable():
                footer = arrow("parquet").read_metadata(self._handle)
                self._file = arrow("parquet").ParquetFile(
                    self._handle,
                    metadata=footer,
                    buffer_size=min(
                        _BUFFER_BYTES, max(1 << 14, _BUFFERS_BYTES // max(1, footer.num_columns))
                    ),
                    pre_buffer=False,
                )
                fields = list(self._file.schema_arrow)
            self.names = usable_names([field.name for field in fields], self.name, self.notes)
            # Every column that has one value in each row, and its type.
            self.types = {f.name: f.type for f in fields if f.name.strip()}
            self._types = {name: kind for name, kind in self.types.items() if is_flat(kind)}
            self._n_rows = self._file.metadata.num_rows
            if self._n_rows == 0 and not may_be_empty:
                raise self._no_rows()
        except BaseException:
            self._handle.close()
            raise

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

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self._n_rows)

    def sample(self, most: SampleSize = FULL_SAMPLE) -> Mapping[str, Any]:
        """The first rows, each column in its own type; lists, structs and bytes are left out."""
        names = list(self._types)
        batches: list[Any] = []
        rows = size = 0
        with self._readable():
            for batch in self._file.iter_batches(
                min(_SAMPLE_ROWS_PER_RECORD_BATCH, most.rows), columns=names, use_threads=False
            ):
                batches.append(batch)
                rows += batch.num_rows
                size += batch.nbytes
                if rows >= most.rows or size >= most.bytes:
                    break
            table = arrow().Table.from_batches(batches)
        return {name: table.column(name) for name in names if name in table.schema.names}

    def batches(self, roles: Mapping[str, Role], skip: int) -> Iterator[Any]:
        """Record batches of the columns in `roles`, after the first `skip` rows."""
        if skip > self._n_rows:
            raise self._too_short(skip, self._n_rows)
        if self._tracked and self._coverage is None:
            self.fits([])
        metadata = self._file.metadata
        group, row = 0, 0
        while group < metadata.num_row_groups and row + metadata.row_group(group).num_rows <= skip:
            row += metadata.row_group(group).num_rows
            group += 1
        self._n_read = row
        with self._readable():
            batches = self._file.iter_batches(
                max(1, min(_ROWS_PER_RECORD_BATCH, _CELLS_PER_RECORD_BATCH // max(1, len(roles)))),
                row_groups=list(range(group, metadata.num_row_groups)),
                columns=list(roles),
                use_threads=False,
            )
        while True:
            with self._readable():
                batch = next(batches, None)
            if batch is None:
                break
            to_skip = min(max(0, skip - row), batch.num_rows)
            row += batch.num_rows
            self._n_read = row
            if batch.num_rows > to_skip:
                yield batch.slice(to_skip)
        if row < self._n_rows:
            raise InputError(
                f"{self.name} is damaged: it should hold {self._n_rows} rows, and {row} can be read. "
                "Get a fresh copy."
            )

    def coverage(self) -> Coverage | None:
        """All rows; None if they were not tracked."""
        return self._coverage

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the rows fit each of several coverages; every column with one value in each row counts."""
        fits: list[Fit] = ["other"] * len(coverages)
        if not self._tracked:
            return fits
        usable = {
            i: c for i, c in usable_coverages(coverages, "rows").items() if 0 < c["rows"] <= self._n_rows
        }
        ends = sorted({coverage["rows"] for coverage in usable.values()})
        digest = TableDigest(self._types)
        with self._readable():
            for batch in self._file.iter_batches(
                _ROWS_PER_RECORD_BATCH, columns=[*self._types], use_threads=False
            ):
                rest = batch.select([*self._types])
                while rest.num_rows:
                    n = next((end for end in ends if end > digest.rows), self._n_rows) - digest.rows
                    digest.update(rest.slice(0, n))
                    rest = rest.slice(min(n, rest.num_rows))
                    found = digest.coverage() if digest.rows in ends else None
                    for i, coverage in usable.items():
                        if coverage == found:
                            fits[i] = "same" if digest.rows == self._n_rows else "longer"
        self._coverage = digest.coverage()
        return fits

    @property
    def bytes_read(self) -> int:
        """About how many bytes were read: the share of the rows."""
        return int(self._size * self._n_read // self._n_rows)

    @property
    def bytes_total(self) -> int | None:
        """Bytes there are."""
        return self._size

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._handle.close()


def is_flat(kind: Any) -> bool:
    """Whether a column has one value in each row that can be looked at."""
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


class TableDigest:
    """A digest of the rows so far, which does not depend on how they are split into record batches."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        self._types = {name: str(kind) for name, kind in types.items()}
        self._shas = [(hashlib.sha256(), hashlib.sha256()) for _ in types]
        self.rows = 0

    def update(self, batch: Any) -> None:
        """Add rows."""
        for pair, column in zip(self._shas, batch.columns, strict=True):
            for sha, data in zip(pair, _row_bytes(column), strict=True):
                sha.update(data)
        self.rows += batch.num_rows

    def coverage(self) -> Coverage:
        """The number of rows, and one SHA-256 for all."""
        sha = hashlib.sha256()
        for name_and_type, pair in zip(self._types.items(), self._shas, strict=True):
            sha.update(repr(name_and_type).encode(errors="backslashreplace"))
            for each in pair:
                sha.update(each.digest())
        return {"rows": self.rows, "sha256": sha.hexdigest()}


def _row_bytes(column: Any) -> tuple[bytes, bytes]:
    """Bytes that depend on the values alone: which rows have one (and how long a text is), and the values.

    Arrays may hold any bytes where a value is missing; they do not count.
    """
    pa, compute = arrow(), arrow("compute")
    column = plain(column)
    kind = column.type
    if is_text(kind):
        lengths = compute.binary_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        joined = "".join(column.drop_null().to_pylist()).encode(errors="surrogatepass")
        return np.ascontiguousarray(lengths, "<i8").tobytes(), joined
    known = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int8).tobytes()
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        filled = column.fill_null(0) if column.null_count else column
        array = filled.to_numpy(zero_copy_only=False)
        return known, np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    return known, "".join(f"{value!r}\n" for value in column.to_pylist()).encode(errors="backslashreplace")
