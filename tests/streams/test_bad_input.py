"""Files that are broken or not what they should be: the rows before, and one clear line."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost.errors import InputError, MissingExtraError
from ocboost.streams import Column, Schema, open_stream
from tests.support.stream_files import (
    refused,
    rows_before_error,
    write_bytes,
    write_csv,
    write_jsonl,
    write_parquet,
)

# Nothing in it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
def test_empty(name, tmp_path):
    refused(write_bytes(tmp_path / name, b""), "is empty")
    refused(write_bytes(tmp_path / name, b"\n\r\n\n"), "is empty")
    refused(write_bytes(tmp_path / name, b"a,b\n"), "holds no rows")
    refused(write_bytes(tmp_path / name, b"a,b"), "holds no rows")
    refused(write_bytes(tmp_path / name, b"a,b\n\n\n"), "holds no rows")


def test_empty_json_and_parquet(tmp_path):
    refused(write_bytes(tmp_path / "t.jsonl", b""), "holds no rows")
    refused(write_bytes(tmp_path / "t.jsonl", b" \n\n"), "holds no rows")
    refused(write_bytes(tmp_path / "t.jsonl", b"{}\n{}\n"), "must have an object with names")
    refused(write_bytes(tmp_path / "t.parquet", b""), "is empty")
    pq.write_table(pa.table({"a": pa.array([], "float64")}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "holds no rows")


def test_standard_input_that_is_empty_or_parquet(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    refused("-", "standard input is empty")
    refused("-", "Parquet must come from a file.*got standard input", format="parquet")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"PAR1....")))
    refused("-", "it is a Parquet file")
    monkeypatch.setattr(sys, "stdin", None)
    refused("-", "there is no standard input")


# Not a file of this kind ------------------------------------------------------------------------------


def test_folder_missing_file_and_unknown_ending(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path, tmp_path / "folder.csv"):
        refused(path, "is a folder")
        refused(path, "is a folder", format="parquet")
    for name in ("none.csv", "none.parquet", "none"):
        with pytest.raises(FileNotFoundError):
            open_stream(tmp_path / name)
    path = write_bytes(tmp_path / "t.data", b"a\n1\n")
    refused(path, r"ending of .*t.data must tell its format: .csv.*Otherwise give format")
    refused(path, "format must be one of csv, tsv, jsonl, parquet; got 'xls'", format="xls")
    assert next(open_stream(path, format="csv")).X.tolist() == [[1]]


@pytest.mark.parametrize(
    ("data", "what"),
    [(b"PK\x03\x04rest", "zip"), (b"BZh9rest", "bzip2"), ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
     (b"\xfd7zXZ\0rest", "xz"), (b"\x28\xb5\x2f\xfdrest", "zstd")],
)  # fmt: skip
def test_other_formats_are_named(data, what, tmp_path):
    refused(write_bytes(tmp_path / "t.csv", data), what)


# Broken somewhere -------------------------------------------------------------------------------------


def test_the_first_row_is_broken(tmp_path):
    refused(write_bytes(tmp_path / "t.csv", b"a,b\n1\n2,3\n"), r"line 2: a row must have 2 fields.*got 1\.")
    refused(write_bytes(tmp_path / "t.csv", b"a,b\n1"), r"line 2: the file ends in the middle of a row")
    refused(write_bytes(tmp_path / "t.jsonl", b'{"a": '), r"line 1: the file ends in the middle of a row")


@pytest.mark.usefixtures("chunk")
def test_gzip_that_is_cut_short(tmp_path):
    rng = np.random.default_rng(0)
    text = b"a,b\n" + b"".join(b"%.6f,%.6f\n" % tuple(row) for row in rng.random((3000, 2)))
    packed = gzip.compress(text, 6)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed[:-4])
    n, message = rows_before_error(open_stream(path), InputError)
    assert n == 3000
    assert "is cut short: its gzip data end too early" in message
    path.write_bytes(packed[: len(packed) // 2])
    n, message = rows_before_error(open_stream(path), InputError)
    assert "cut short" in message
    readable = zlib.decompressobj(31).decompress(packed[: len(packed) // 2])
    assert n == readable.count(b"\n") - 1 > 500
    path.write_bytes(packed[:-8] + b"\0" * 8)
    n, message = rows_before_error(open_stream(path), InputError)
    assert n == 3000
    assert "is damaged: its gzip data cannot be unpacked" in message
    path.write_bytes(packed + b"rubbish")
    n, message = rows_before_error(open_stream(path), InputError)
    assert n == 3000
    assert "is damaged" in message


@pytest.mark.usefixtures("chunk")
def test_not_utf8(tmp_path):
    path = write_bytes(tmp_path / "t.csv", b"a,c\n" + b"1,x\n" * 30 + b"2,\xe9\n3,x\n")
    assert refused(path, r"line 32: the text must be UTF-8; it is not\. Convert the file first: iconv") == 30
    refused(write_bytes(tmp_path / "t.csv", b"a,\xe9\n1,2\n"), r"line 1: the text must be UTF-8")
    path = write_bytes(tmp_path / "t.jsonl", b'{"a":1,"c":"x"}\n' * 30 + b'{"a":1,"c":"\xe9"}\n')
    assert refused(path, r"line 31: the text must be UTF-8") == 30


# Columns ----------------------------------------------------------------------------------------------


def test_duplicate_names(tmp_path):
    refused(
        write_bytes(tmp_path / "t.csv", b"a,b,a\n1,2,3\n"),
        "must have different names.*'a' appear more than once",
    )
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"]), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "must have different names")


def test_label_and_drop_that_are_not_there(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["carrier", "late15"], [("x", 1)])
    refused(
        path,
        r"label must name a column of .*; got 'Late', .*'carrier', 'late15'. Did you mean 'late15'\?",
        label="Late",
    )
    refused(path, r"got 'zzz', .*Give one of these", label="zzz")
    refused(path, r"drop must name a column of .*got 'carier'.*Did you mean 'carrier'\?", drop=["carier"])
    refused(path, "drop must be a list of names; got the text 'carrier'", drop="carrier")
    refused(path, "drop must not name the label column 'late15'", label="late15", drop=["late15"])
    refused(
        path,
        "must have a column of numbers, categories or dates besides the label",
        label="late15",
        drop=["carrier"],
    )
    schema = Schema((Column("carrier", "category", ("x",)),), "late", "integer")
    refused(path, "label must name a column.*Did you mean 'late15'", schema=schema)
    refused(
        path,
        "drop must not name columns that the model needs; got 'carrier'",
        schema=schema,
        label="late15",
        drop=["carrier"],
    )


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_parquet])
def test_a_column_gone_or_renamed(write, tmp_path):
    path = tmp_path / {write_csv: "t.csv", write_jsonl: "t.jsonl", write_parquet: "t.parquet"}[write]
    write(path, ["temperature", "humid", "new"], [(1.0, 2.0, 3.0)])
    what = (
        r"it lacks 'temperatur', 'wind', and has 'temperature', 'new', which the model does not know\. "
        r"Was it renamed\? Then rename 'temperature' to 'temperatur'\."
    )
    refused(path, what, schema=Schema.of_numbers(["humid", "temperatur", "wind"]))
    refused(path, r"it lacks 'qq'.*Add what it lacks", schema=Schema.of_numbers(["humid", "qq"]))


@pytest.mark.usefixtures("chunk")
def test_text_where_numbers_should_be(tmp_path):
    rows = [(float(i), "x") for i in range(40)]
    schema = Schema.of_numbers(["a"])
    what = r"column 'a' must hold numbers; got 'abc' in row 40 \(the first is row 0\)\. Correct the value"
    path = write_csv(tmp_path / "t.csv", ["a", "c"], [*rows, ("abc", "x"), (1.0, "y")])
    assert refused(path, what, schema=schema) == 40
    assert refused(path, what, schema=schema, skip=30, batch_size=3) == 10
    path = write_jsonl(tmp_path / "t.jsonl", ["a", "c"], [*rows, ("abc", "x"), (1.0, "y")])
    assert refused(path, what, schema=schema) == 40
    pq.write_table(pa.table({"a": ["1"] * 40 + ["abc"]}), tmp_path / "t.parquet")
    assert refused(tmp_path / "t.parquet", what, schema=schema) == 40


def test_text_after_the_sample(tmp_path):
    path = write_bytes(tmp_path / "t.csv", b"a,b\n" + b"1,2\n" * 20000 + b"x,2\n")
    assert refused(path, "column 'a' must hold numbers; got 'x' in row 20000") == 20000


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e999"])
def test_infinity(text, tmp_path):
    path = write_bytes(tmp_path / "t.csv", b"a,b\n" + b"1,2\n" * 20 + text.encode() + b",2\n")
    what = r"column 'a' must hold finite numbers; got -?inf in row 20 .*Leave the field empty"
    assert refused(path, what) == 20
    lines = b'{"a":1}\n' * 20 + b'{"a":' + text.replace("inf", "Infinity").encode() + b"}\n"
    assert refused(write_bytes(tmp_path / "t.jsonl", lines), what) == 20


@pytest.mark.parametrize(
    ("first", "later", "what"),
    [("1", "2.5", "whole numbers"), ("1", "spam", "whole numbers; got 'spam'"),
     ("true", "2", "true and false"),
     ("0.5", "inf", "finite"), ("1", "1e300", "whole numbers")],
)  # fmt: skip
def test_labels_of_another_kind(first, later, what, tmp_path):
    path = write_csv(tmp_path / "t.csv", ["a", "y"], [(1, first)] * 12000 + [(1, later)])
    assert refused(path, f"column 'y' must hold {re.escape(what)}.* in row 12000", label="y") == 12000


def test_the_earliest_of_several_faults_is_named(tmp_path):
    path = write_bytes(tmp_path / "t.csv", b"a,b,y\n" + b"1,2,3\n" * 12000 + b"1,2,q\n1,inf,3\nx,2,3\n1,2\n")
    assert refused(path, "column 'y' must hold whole numbers; got 'q' in row 12000", label="y") == 12000


def test_label_without_labels(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["a", "y"], [(1, None)] * 3)
    refused(
        path, "label column 'y' must have labels among the first rows; it is empty in the first 3", label="y"
    )


def test_parameters(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["a", "y"], [(1, 1)])
    refused(path, "batch_size must be a whole number", batch_size=0)
    refused(path, "skip must be a whole number", skip=-1)


def test_missing_pyarrow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Reading streams needs the package 'pyarrow'.*\[streams\]"):
        open_stream(tmp_path / "t.csv")


@pytest.mark.parametrize("values", [["5"] * 12, ["z"] * 11 + ["NA"]])
def test_a_note_where_no_category_is_known(values, tmp_path):
    schema = Schema((Column("c", "category", ("x", "y")),))
    path = write_csv(tmp_path / "t.csv", ["c"], [(value,) for value in values])
    with open_stream(path, schema=schema) as stream:
        assert any("holds no text that the model knows" in note for note in stream.notes)
    path = write_csv(tmp_path / "t.csv", ["c"], [(value,) for value in [*values, "x"]])
    with open_stream(path, schema=schema) as stream:
        assert stream.notes == []
