"""A folder of files as one stream that can be read several times, larger than memory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._core.escaping import shown
from ocboost.errors import InputError
from ocboost.streams.encoding import arrow
from ocboost.streams.filling import FIRST_CELLS, filled_batches
from ocboost.streams.folder_columns import common_schema
from ocboost.streams.folder_files import FileOfFolder, list_folder
from ocboost.streams.folder_look import FileLook, errors_about, look_at_all
from ocboost.streams.open import open_records
from ocboost.streams.records import Records
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema

MAX_BATCH_ROWS = 1 << 16


def open_folder(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    drop: Iterable[str] = (),
    format: str | None = None,
) -> Folder:
    """Open a folder of files whose rows belong together.

    Every file is looked at before this returns: the footer of Parquet, the names and first rows of text.

    Parameters
    ----------
    path : str or path
        A folder of Parquet, CSV, TSV or JSON-lines files, all of one format; text may be compressed with
        gzip. Folders in it are read too. What begins with _ or . is passed over.
    label : str, optional
        The name of the label column, which every file must have.
    drop : iterable of str
        Columns that are no features; not every file must have them.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        Read only files of this format; by default there must be only one. If no name ends so, files without
        such an ending are taken for it.

    Notes
    -----
    Columns are found by name, in any order. What they are is inferred from about 10,000 rows or 4 MB: some
    rows from the beginning of each file, or of 100 files spread over the folder. A column that fewer than
    half of the files have is left out; one that more have must be in all of them.

    Memory does not depend on the size of files or row groups. Parquet takes about 1 to 3 MB for each column,
    a page and its dictionary.
    """
    arrow()  # raises at once if it is not installed
    if isinstance(drop, str):
        raise InputError(f"drop must be a list of names; got the text {drop!r:.80}. Write [{drop!r:.80}].")
    dropped = tuple(drop)
    name = os.path.abspath(os.fspath(path))
    listing = list_folder(name, format)
    looks = look_at_all(listing, label)
    schema, notes = common_schema(looks, shown(os.fspath(path)), label, dropped)
    arrow().default_memory_pool().release_unused()  # what unpacking the first pages took
    return Folder(
        Path(name), listing.format, looks, schema, dropped, [shown(n) for n in listing.notes + notes]
    )


class Folder:
    """The files of a folder and what their rows are; `open_folder` makes it.

    Attributes
    ----------
    path : Path
        The folder.
    format : str
        The format of its files.
    files : tuple of Path
        The files, in the order in which they are read: by name, and numbers in names by their value. Files
        without rows are not among them.
    schema : Schema
        What the columns are.
    notes : list of str
        What a user should know about how the files are read.
    fingerprint : str
        A digest of all files' names, sizes and times of modification, and of how they are read: it is the
        same as long as the folder has not changed.
    n_bytes : int
        The size of all files.
    n_rows : int or None
        How many rows there are, where the files tell: for Parquet.
    """

    def __init__(
        self,
        path: Path,
        format: str,
        looks: list[FileLook],
        schema: Schema,
        drop: tuple[str, ...],
        notes: list[str],
    ) -> None:
        self.path = path
        self.format = format
        self.schema = schema
        self.notes = notes
        self._files = [look.file for look in looks if look.n_rows != 0]
        self.files = tuple(Path(file.path) for file in self._files)
        self.n_bytes = sum(file.size for file in self._files)
        self.n_rows = _total([look.n_rows for look in looks])
        self.fingerprint = _fingerprint([look.file for look in looks], format, schema, drop)

    def batches(
        self, batch_size: int | None = None, *, start_file: int = 0, start_row: int = 0
    ) -> FolderPass:
        """The rows of all files in order, from the beginning or from somewhere else.

        Parameters
        ----------
        batch_size : int, optional
            Rows of each batch. A batch is of one file; the last one of each file may be shorter. By default
            65,536, or fewer if that is more than 32 MB of features.
        start_file : int
            The index in `files` of the first file to read.
        start_row : int
            The first row to read of that file.

        Returns
        -------
        FolderPass
            An iterator over pairs: the index of the file, and its `Rows`, numbered within the file.
        """
        if batch_size is None:
            batch_size = max(1, min(MAX_BATCH_ROWS, FIRST_CELLS // self.schema.n_features))
        batch_size = as_count(batch_size, "batch_size", 1, MAX_SETTING, "")
        start_file = as_count(start_file, "start_file", 0, len(self._files), "That is after the last file.")
        start_row = as_count(start_row, "start_row", 0, None, "")
        return FolderPass(self._files, self.format, self.schema, batch_size, start_file, start_row)


class FolderPass:
    """One pass over the rows of a folder: pairs of the index of a file and some of its rows.

    If a file is broken somewhere, the rows before come first, and then an error that names the file. So does
    a file that changes in the meantime. Closing it, or leaving its ``with``, closes the file.
    """

    def __init__(
        self,
        files: list[FileOfFolder],
        format: str,
        schema: Schema,
        batch_size: int,
        start_file: int,
        start_row: int,
    ) -> None:
        self._files, self._format, self._schema = files, format, schema
        self._batch_size = batch_size
        self._bytes_before = sum(file.size for file in files[:start_file])
        self._records: Records | None = None
        self._pairs = self._read(start_file, start_row)

    def __iter__(self) -> Iterator[tuple[int, Rows]]:
        return self

    def __next__(self) -> tuple[int, Rows]:
        return next(self._pairs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file that is being read; there are no more rows then."""
        self._pairs.close()

    @property
    def bytes_total(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self._files)

    @property
    def bytes_read(self) -> int:
        """Bytes of the files read so far, those before the start included."""
        return self._bytes_before + (0 if self._records is None else self._records.source.bytes_read)

    def _read(self, start_file: int, start_row: int) -> Generator[tuple[int, Rows]]:
        try:
            for index in range(start_file, len(self._files)):
                file = self._files[index]
                with errors_about(file):
                    file.require_unchanged()
                    records = open_records(file.path, self._format, {"short_sample": True}, None)
                self._records = records
                skip = start_row if index == start_file else 0
                batches = filled_batches(records, self._schema, self._batch_size, skip)
                try:
                    while True:
                        with errors_about(file):
                            rows = next(batches, None)
                        if rows is None:
                            break
                        yield index, rows
                        del rows  # it may be the last to hold that array
                finally:
                    records.source.close()
                file.require_unchanged()
                self._bytes_before += file.size
                self._records = None
        finally:
            arrow().default_memory_pool().release_unused()


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _fingerprint(files: list[FileOfFolder], format: str, schema: Schema, drop: tuple[str, ...]) -> str:
    what = {
        "files": [[os.fsencode(file.name).hex(), file.size, file.mtime_ns] for file in files],
        "format": format,
        "schema": schema.as_dict(),
        "drop": sorted(set(drop)),
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
