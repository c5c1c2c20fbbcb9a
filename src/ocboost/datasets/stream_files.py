"""The rows of a named stream, and what a reader should know of them.

The files of real streams in a data folder, held in memory.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ocboost.errors import InputError
from ocboost.streams import Schema, open_stream
from ocboost.streams.rows import Rows, join_rows


@dataclass(frozen=True, eq=False)
class Loaded:
    """A stream held in memory.

    Parameters
    ----------
    rows : Rows
        In the order of the stream, with labels.
    source : str
        One sentence for reports: where the rows came from.
    notes : list of str
        What was done to them.
    """

    rows: Rows
    source: str
    notes: list[str] = field(default_factory=list)


_BATCH = 10_000  # rows read at a time


def load_table(
    path: Path,
    label: str,
    *,
    drop: tuple[str, ...] = (),
    rows: int | None = None,
    spread: bool = False,
) -> Loaded:
    """Rows of a table, read as `ocboost.streams.open_stream` does.

    Parameters
    ----------
    path : Path
    label : str
        The column of the label.
    drop : tuple of str
        Columns to leave out.
    rows : int, optional
        At most so many rows.
    spread : bool, default False
        Where there are more, take every k-th one instead of the first ones.
    """
    _require(path)
    try:
        with open_stream(path, label=label, drop=drop, batch_size=_BATCH) as stream:
            total = 0 if rows is None else _length(path, stream.schema)
            step = -(-total // rows) if spread and rows is not None else 1
            taken = join_rows(list(_every(stream, step, rows)))
    except OSError as error:
        raise InputError(
            f"data must be a folder whose files can be read; '{path}' cannot be ({error.strerror or error}). "
            "Check its permissions."
        ) from error
    notes = list(stream.notes)
    if drop:
        notes.append(f"Left out: {', '.join(drop)}.")
    if step > 1:
        notes.append(f"One in {step} of {total:,} rows, so that the whole time is covered.")
    elif len(taken) < total:
        notes.append(_first_of(len(taken), total))
    return Loaded(taken, f"'{path.name}'", notes)


def _length(path: Path, schema: Schema) -> int:
    """How many rows a table has."""
    one = replace(schema, columns=schema.columns[:1])
    with open_stream(path, schema=one, batch_size=_BATCH) as stream:
        return sum(map(len, stream))


def _every(batches: Iterable[Rows], step: int, most: int | None) -> Iterator[Rows]:
    """One in so many rows, so many of them at most, numbered anew; the others are not held."""
    n = 0
    for batch in batches:
        part = batch[-batch.first % step :: step][: None if most is None else most - n]
        if len(part):
            yield Rows(part.X, part.y, part.known, n)
        n += len(part)
        if n == most:
            return


def load_words(path: Path, label: str, *, rows: int | None = None) -> Loaded:
    """Which words each text holds, as a sparse matrix of zeros and ones, from an npz file of a CSR matrix."""
    from scipy.sparse import csr_matrix

    _require(path)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as held:
            indices, indptr = held["indices"].astype(np.int32), held["indptr"].astype(np.int64)
            shape = tuple(int(size) for size in held["shape"])
            y = held[label].astype(np.int64)
        words = csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=shape)
        words.check_format(full_check=True)
        texts = Rows(words, y)
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"'{path}' must hold a CSR matrix and the array {label!r}; {str(error)[:120]}. "
            "Get a fresh copy of the file."
        ) from error
    if rows is None or len(y) <= rows:
        return Loaded(texts, f"'{path.name}'")
    return Loaded(texts.detached(0, rows), f"'{path.name}'", [_first_of(rows, len(y))])


def _first_of(n: int, total: int) -> str:
    return f"The first {n:,} of {total:,} rows."


def _require(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"data must be a folder that holds {path.parent.name}/{path.name}; there is no file '{path}'. "
            "Put it there, or choose a stream that needs no file."
        )
