"""Parquet: damaged files, infinity, and columns of another type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ocboost.streams import Column, Schema
from tests.support.stream_files import refused, write_bytes, write_parquet


def test_broken_parquet(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", ["a"], [(float(i),) for i in range(5000)], 1000)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    refused(path, "not a Parquet file, or a damaged one")
    path.write_bytes(b"a,b\n1,2\n")
    refused(path, "not a Parquet file, or a damaged one")
    path.write_bytes(b"\0" * 3000 + data[3000:])
    refused(path, "not a Parquet file, or a damaged one", schema=Schema.of_numbers(["a"]))
    refused(write_bytes(tmp_path / "t.parquet.gz", data), "not a Parquet file, or a damaged one")


def test_infinity_in_parquet(tmp_path):
    write_parquet(tmp_path / "t.parquet", ["a"], [(1.0,)] * 20 + [(np.inf,)])
    assert refused(tmp_path / "t.parquet", "must hold finite numbers; got inf in row 20") == 20


def test_numbers_where_categories_should_be(tmp_path):
    schema = Schema((Column("c", "category", ("x", "y")),))
    pq.write_table(pa.table({"c": [1, 2, 3]}), tmp_path / "t.parquet")
    refused(
        tmp_path / "t.parquet",
        "column 'c' must hold texts, such as 'x'; got values of type int64",
        schema=schema,
    )
