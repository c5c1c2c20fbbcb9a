"""A look at every file of a folder: its columns, what they hold, and some of its rows.

Parquet tells the types of all columns at its end. Of text, the first rows of every file are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ocboost._core.escaping import shown
from ocboost.errors import InputError
from ocboost.streams.encoding import BadRowError, arrow, is_text, numbers, present
from ocboost.streams.folder_files import FileOfFolder, Listing
from ocboost.streams.inference import label_kind
from ocboost.streams.open import FORMATS
from ocboost.streams.parquet import ParquetRecords, is_flat
from ocboost.streams.records import SAMPLE_BYTES, SAMPLE_ROWS, NoRowsError, SampleSize, TextRecords
from ocboost.streams.source import Source

MAX_SAMPLED_FILES = 100
MAX_SAMPLED_CHUNKS = 5000  # columns of Parquet files, at about 2 ms each
_MIN_ROWS, _MIN_BYTES = 100, 1 << 16  # looked at of each file
_PACKED = 4  # how much longer gzip's text is, about

NUMBERS, TEXTS, NO_VALUES = "numbers", "texts", "nothing"
_NESTED = "lists, objects or bytes"
_LABELS = {"integer": NUMBERS, "number": NUMBERS, "text": TEXTS, "boolean": "truth values"}


@dataclass(frozen=True)
class FileLook:
    """What the footer or the first rows of a file tell."""

    file: FileOfFolder
    names: list[str]
    kinds: Mapping[str, str]  # what each column holds
    label: str  # what the labels are
    typed: bool
    n_rows: int | None = None  # None if only a whole reading could tell
    notes: list[str] = field(default_factory=list)
    sample: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_sampled(self) -> int:
        """Rows of the sample."""
        return len(next(iter(self.sample.values()), ()))


@contextmanager
def errors_about(file: FileOfFolder) -> Iterator[None]:
    """Have errors name the file, with nothing in them that could control a terminal."""
    try:
        yield
    except InputError as error:
        text, name = shown(error), shown(file.path)
        raise InputError(text if name in text else f"{name}: {text}") from None
    except OSError as error:
        raise InputError(
            f"{shown(file.path)} must be a readable file; it cannot be read ({error.strerror}). Change its "
            "permissions, or take it out of the folder."
        ) from None


# Looking at files -------------------------------------------------------------------------------------------


def look_at_all(listing: Listing, label: str | None) -> list[FileLook]:
    """The columns of every file, and samples of at most a hundred files, spread over the folder."""
    files = listing.files
    if not FORMATS[listing.format].is_text:
        looks = [_look_at_footer(file, label) for file in files]
        # The first pages of all columns must be unpacked for the first row.
        n_files = min(
            MAX_SAMPLED_FILES, max(10, MAX_SAMPLED_CHUNKS // max(len(look.names) for look in looks))
        )
        chosen = _spread(len(files), n_files)
        shares = _shares(
            [look.n_rows or 0 if i in chosen else 0 for i, look in enumerate(looks)], SAMPLE_ROWS
        )
        return [
            replace(look, sample=_parquet_sample(look.file, share)) if share else look
            for look, share in zip(looks, shares, strict=True)
        ]
    chosen = _spread(len(files), MAX_SAMPLED_FILES)
    sizes = [file.size * (_PACKED if file.name.lower().endswith(".gz") else 1) for file in files]
    shares = _shares([size if i in chosen else 0 for i, size in enumerate(sizes)], SAMPLE_BYTES)
    total = max(1, sum(shares))
    looks = []
    for i, file in enumerate(files):
        part = shares[i] / total
        most = SampleSize(
            max(_MIN_ROWS, round(part * SAMPLE_ROWS)), max(_MIN_BYTES, round(part * SAMPLE_BYTES))
        )
        look = _look_at_text(file, listing.format, label, most)
        looks.append(look if i in chosen else replace(look, sample={}))
    return looks


def _spread(n: int, most: int) -> set[int]:
    """Indices below n, at most so many, the first and the last among them."""
    return {int(i) for i in np.linspace(0, n - 1, min(n, most)).round()}


def _shares(there: Sequence[int], wanted: int) -> list[int]:
    """As much of each as makes the whole: equal shares, but what a small one lacks the others give.

    >>> _shares([5, 1000, 0, 1000], 105)
    [5, 50, 0, 50]
    """
    shares = [0] * len(there)
    left, n_left = wanted, sum(size > 0 for size in there)
    for i in sorted(range(len(there)), key=there.__getitem__):
        if there[i] > 0:
            shares[i] = min(there[i], -(-left // n_left))
            left, n_left = max(0, left - shares[i]), n_left - 1
    return shares


def _look_at_footer(file: FileOfFolder, label: str | None) -> FileLook:
    with errors_about(file):
        records = ParquetRecords(file.path, may_be_empty=True)
        records.close()
    kinds = {name: kind_of_type(kind) for name, kind in records.types.items()}
    return FileLook(
        file,
        records.names,
        kinds,
        _label_of_type(records.types.get(label or "")),
        typed=True,
        n_rows=records.n_rows,
        notes=records.notes,
    )


def _parquet_sample(file: FileOfFolder, rows: int) -> Mapping[str, Any]:
    with errors_about(file):
        records = ParquetRecords(file.path)
        try:
            return records.sample(SampleSize(rows, max(1, SAMPLE_BYTES * rows // SAMPLE_ROWS)))
        finally:
            records.close()


def _look_at_text(file: FileOfFolder, format: str, label: str | None, most: SampleSize) -> FileLook:
    records: TextRecords | None = None
    with errors_about(file):
        source = Source(file.path, chunk_bytes=min(SAMPLE_BYTES, max(_MIN_BYTES, most.bytes)))
        try:
            records = FORMATS[format].reader(source, short_sample=False, sample_size=most)  # type: ignore[assignment]
            assert records is not None
            sample = records.sample()
        except NoRowsError:
            names = [] if records is None else records.names
            return FileLook(file, names, dict.fromkeys(names, NO_VALUES), NO_VALUES, typed=False, n_rows=0)
        finally:
            source.close()
    kinds = dict.fromkeys(records.names, _NESTED)
    for name, values in sample.items():
        kinds[name] = kind_of_type(values.type) if records.typed else _kind_of_texts(values, name)
    return FileLook(
        file,
        records.names,
        kinds,
        NO_VALUES
        if label is None or label not in kinds
        else _label_of_sample(sample, label, typed=records.typed),
        typed=records.typed,
        notes=records.notes,
        sample=sample,
    )


def kind_of_type(kind: Any) -> str:
    """What a column of an Arrow type holds."""
    types = arrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return NO_VALUES
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return NUMBERS
    if is_text(kind):
        return TEXTS
    if types.is_timestamp(kind) or types.is_date(kind):
        return "dates"
    if types.is_time(kind):
        return "times of day"
    return "durations" if is_flat(kind) else _NESTED


def _kind_of_texts(values: Any, name: str) -> str:
    """What a column of CSV holds."""
    values, known = present(values)
    if not len(known):
        return NO_VALUES
    try:
        numbers(values, name, 0)
    except BadRowError as bad:
        return NUMBERS if bad.reason == "not finite" else TEXTS
    return NUMBERS


def _label_of_type(kind: Any) -> str:
    if kind is None:
        return NO_VALUES
    return "truth values" if arrow().types.is_boolean(kind) else kind_of_type(kind)


def _label_of_sample(sample: Mapping[str, Any], label: str, *, typed: bool) -> str:
    if label not in sample:
        return _NESTED
    if typed:
        return _label_of_type(sample[label].type)
    try:
        return _LABELS[label_kind(sample, label, typed=False)]
    except InputError:  # it has none here; the rows of all files together are checked again
        return NO_VALUES
