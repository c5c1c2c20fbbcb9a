"""The files of real streams in a data folder, read as arrays."""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError

from .labelled_rows import LabelledRows

_LARGEST = 1 << 28  # letters of a file; the largest of the streams has 25 million
_FRESH = "Get a fresh copy of the file."


def read_table(
    path: Path,
    label: str,
    *,
    drop: tuple[str, ...] = (),
    rows: int | None = None,
    spread: bool = False,
) -> LabelledRows:
    """Rows of a gzipped CSV file with a line of names.

    An empty field is a missing number. Columns that hold texts become the places of these texts in their
    alphabetical order, and labels whole numbers.

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
    lines = _lines(path)
    reader = csv.reader(lines[:1])
    names = next(reader, [])
    for name in (label, *drop):
        if name not in names:
            raise _wrong(path, f"have a column {name!r}", f"it has {', '.join(names)!s:.200}")
    lines = lines[1:]
    total, step = len(lines), 1
    if rows is not None and total > rows:
        step = -(-total // rows) if spread else 1
        lines = lines[::step][:rows]
    cells = list(csv.reader(lines))
    for place, row in enumerate(cells):
        if len(row) != len(names):
            raise _wrong(path, f"have {len(names)} fields in every row", f"row {place * step} has {len(row)}")
    if not cells:
        raise _wrong(path, "hold at least one row", "it holds none")
    columns = dict(zip(names, zip(*cells, strict=True), strict=True))
    target = _numbers(columns.pop(label))
    if target is None or not np.isfinite(target).all() or (target != np.rint(target)).any():
        raise _wrong(path, f"hold whole numbers in the column {label!r}", "some are not")
    notes, features = [], []
    texts = []
    for name, column in columns.items():
        if name in drop:
            continue
        numbers = _numbers(column)
        if numbers is None:
            texts.append(name)
            numbers = np.unique(np.array(column), return_inverse=True)[1].astype(np.float64)
        features.append(numbers)
    if texts:
        notes.append(f"{', '.join(texts)}: texts, taken as their places in the alphabet.")
    if drop:
        notes.append(f"Left out: {', '.join(drop)}.")
    if step > 1:
        notes.append(f"One in {step} of {total:,} rows, so that the whole time is covered.")
    elif len(cells) < total:
        notes.append(f"The first {len(cells):,} of {total:,} rows.")
    return LabelledRows(np.column_stack(features), target.astype(np.int64), f"'{path.name}'", notes)


def read_words(path: Path, label: str, *, rows: int | None = None) -> LabelledRows:
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
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _wrong(path, f"hold a CSR matrix and the array {label!r}", str(error)[:120]) from error
    notes = []
    if rows is not None and len(y) > rows:
        notes.append(f"The first {rows:,} of {len(y):,} rows.")
        words, y = words[:rows], y[:rows]
    return LabelledRows(words, y, f"'{path.name}'", notes)


def _lines(path: Path) -> list[str]:
    _require(path)
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            text = file.read(_LARGEST + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise _wrong(path, "be a CSV file in gzip", f"it cannot be unpacked ({error})") from error
    except OSError as error:
        raise InputError(
            f"data must be a folder whose files can be read; '{path}' cannot be ({error.strerror or error}). "
            "Check its permissions."
        ) from error
    if len(text) > _LARGEST:
        raise _wrong(path, f"hold at most {_LARGEST:,} letters", "it holds more")
    return [line for line in text.splitlines() if line]


def _require(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"data must be a folder that holds {path.parent.name}/{path.name}; there is no file '{path}'. "
            "Put it there, or choose a stream that needs no file."
        )


def _numbers(column: tuple[str, ...]) -> NDArray[np.float64] | None:
    """A column as numbers; None where it holds other texts."""
    try:
        return np.array([float(cell) if cell else np.nan for cell in column])
    except ValueError:
        return None


def _wrong(path: Path, must: str, found: str) -> InputError:
    return InputError(f"'{path}' must {must}; {found}. {_FRESH}")
