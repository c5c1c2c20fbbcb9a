"""Tables written as files for the tests of streams."""

from __future__ import annotations

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost.errors import InputError
from ocboost.streams import open_stream

AWKWARD_NAMES = ["size", "flag", "carrier", "y"]


def write_csv(path, names, rows, delimiter=","):
    """Rows of values as CSV; None is an empty field."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([["" if v is None else spelt(v) for v in row] for row in rows])
    return write_bytes(path, text.getvalue().encode())


def write_jsonl(path, names, rows):
    """Rows of values as JSON lines; None is null."""
    lines = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows]
    return write_bytes(path, "".join(lines).encode())


def write_parquet(path, names, rows, row_group_size=7):
    """Rows of values as Parquet, in small row groups."""
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)
    return path


def write_bytes(path, data):
    """Bytes as a file, packed if its name says so."""
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


def spelt(value):
    """A value as CSV has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def all_rows(stream):
    """The features, labels and known flags of a whole stream, whose batches must follow each other."""
    X, y, known, row = [], [], [], None
    for batch in stream:
        assert row is None or batch.first == row
        assert batch.X.dtype == np.float64
        assert batch.X.flags.c_contiguous
        assert len(batch) == len(batch.X) == len(batch.known)
        row = batch.first + len(batch)
        X.append(batch.X)
        known.append(batch.known)
        if batch.y is not None:
            assert len(batch.y) == len(batch)
            y.append(batch.y)
    return np.concatenate(X), np.concatenate(y) if y else None, np.concatenate(known)


def rows_before_error(stream, error):
    """How many rows come before the error, and what it says."""
    n = 0
    try:
        for batch in stream:
            n += len(batch)
    except error as caught:
        return n, str(caught)
    raise AssertionError("there was no error")


def awkward_rows(rng, n):
    """Rows of `AWKWARD_NAMES` with everything that can occur, some of it missing."""
    return [
        (
            rng.choice([None, 0.0, -1.5, 1e-300, 2.0, 1 / 3, 1e10]),
            rng.choice([True, False, None]),
            rng.choice([None, "a", 'b"', "c\nd", "é, x", "other", "NA", 'x"y"', "\r\n", " "]),
            rng.choice([None, 0, 1, 7]),
        )
        for _ in range(n)
    ]


def refused(path, match, **options):
    """Opening or reading must fail with one line that says so; the rows that come before."""
    sizes = []
    with pytest.raises(InputError, match=match) as caught:
        sizes.extend(len(batch) for batch in open_stream(path, **options))
    assert "\n" not in str(caught.value)
    return sum(sizes)
