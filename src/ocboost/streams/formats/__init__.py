"""The formats of stream files. A new one is a class of `Records` and an entry in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ocboost.streams.formats.delimited import DelimitedRecords
from ocboost.streams.formats.json_lines import JsonRecords
from ocboost.streams.formats.parquet import ParquetRecords
from ocboost.streams.formats.records import Records


@dataclass(frozen=True)
class Format:
    """A format.

    ``reader`` makes its records: of a `Source` and ``short_sample`` for text, else of a path and ``tracked``.
    """

    endings: tuple[str, ...]
    reader: Callable[..., Records]
    is_text: bool = True


FORMATS = {
    "csv": Format((".csv",), partial(DelimitedRecords, delimiter=",")),
    "tsv": Format((".tsv",), partial(DelimitedRecords, delimiter="\t")),
    "jsonl": Format((".jsonl", ".ndjson", ".json"), JsonRecords),
    "parquet": Format((".parquet",), ParquetRecords, is_text=False),
}
ENDINGS = {ending: name for name, format in FORMATS.items() for ending in format.endings}
