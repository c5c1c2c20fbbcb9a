"""CSV: where rows end, quotes, and rows that are cut short or of another length."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost.streams import Column, Schema, csv, open_stream, records, source
from tests.naive.streams import naive_csv, naive_features, naive_row_ends
from tests.support.stream_files import AWKWARD_NAMES, all_rows, awkward_rows, refused, write_bytes, write_csv


def test_csv_is_decoded_as_plain_loops_do(tmp_path):
    rng = random.Random(1)
    path = write_csv(tmp_path / "t.csv", AWKWARD_NAMES, awkward_rows(rng, 3000))
    names, texts = naive_csv(path)
    with open_stream(path, label="y", batch_size=700) as stream:
        X, y, known = all_rows(stream)
    assert [(c.name, c.kind) for c in stream.schema.columns] == [
        ("size", "number"), ("flag", "number"), ("carrier", "category"),
    ]  # fmt: skip
    assert np.array_equal(X, naive_features(stream.schema.columns, names, texts), equal_nan=True)
    labels = [row[3] for row in texts]
    assert known.tolist() == [text != "" for text in labels]
    assert y.tolist() == [int(text or 0) for text in labels]
    assert len(y) == 3000


@given(st.text('""",,\na\r', max_size=40), st.sampled_from([b",", b"\t"]))
@settings(max_examples=400)
def test_rows_end_where_a_plain_loop_says(text, delimiter):
    data = text.encode()
    assert csv.row_ends(data, delimiter).tolist() == naive_row_ends(data, delimiter)
    complete = [end + 1 for end in naive_row_ends(data, delimiter)]
    assert csv.end_of_quoted(data, delimiter) == max(complete, default=0)


def test_a_quote_inside_a_field_is_a_letter(tmp_path, monkeypatch):
    path = write_bytes(tmp_path / "t.csv", b'a,c\n1,5" pipe\n2,6\n3,"x ""y""\nz"\n4,7" pipe\n5,"q"\n')
    schema = Schema((Column("a"), Column("c", "category", ('5" pipe', 'x "y"\nz', '7" pipe', "q"))))
    for chunk in (1, 9, 1000):
        monkeypatch.setattr(source, "CHUNK_BYTES", chunk)
        X, _, _ = all_rows(open_stream(path, schema=schema))
        assert X[:, 0].tolist() == [1, 2, 3, 4, 5]
        assert X[:, 1:].argmax(axis=1).tolist() == [0, 0, 1, 2, 3]
        assert X[:, 1:].sum(axis=1).tolist() == [1, 0, 1, 1, 1]


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_csv_that_ends_in_a_row(batch_size, tmp_path):
    whole = b"a,b,c\n" + b"".join(b"%d,2,x%d\n" % (i, i % 3) for i in range(50))
    path = write_bytes(tmp_path / "t.csv", whole + b"50,2")
    schema = Schema((Column("a"), Column("b"), Column("c", "category", ("x1",))))
    for options in ({}, {"schema": schema}, {"schema": schema, "skip": 10}):
        n = refused(
            path, r"line 52: the file ends in the middle of a row, after 2 of 3 fields",
            batch_size=batch_size, **options,
        )  # fmt: skip
        assert n == 50 - options.get("skip", 0)
    path = write_bytes(tmp_path / "t.csv", whole + b'50,2,"open\n51,2,x1\n')
    assert refused(path, r"line 52: the file ends inside a quoted field", batch_size=batch_size) == 50


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(("line", "count"), [(b"1,2,3,4", 4), (b"1,2", 2), (b"1", 1)])
def test_csv_with_a_row_of_another_length(line, count, tmp_path):
    before = b"".join(b'%d,"q\n\nr",x\n\n' % i for i in range(20))  # four lines each, one of them empty
    path = write_bytes(tmp_path / "t.csv", b"a,b,c\n" + before + line + b"\n7,8,9\n")
    assert refused(path, rf"line 82: a row must have 3 fields.*; got {count}\. ") == 20


def test_csv_with_cr_alone_before_a_row_of_another_length(tmp_path):
    path = write_bytes(tmp_path / "t.csv", b"a,b\r\n1,2\r\x951,2,3\r\n4,5\r\n")
    assert refused(path, r"line \d: a row must have 2 fields.*; got 3\. ") == 0


def test_a_row_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAX_ROW_BYTES", 1 << 20)
    path = write_bytes(tmp_path / "t.csv", b"a,b\n1,2\n3," + b"4" * (3 << 20))
    assert refused(path, r"line 3: a row must be shorter than 1 MB", schema=Schema.of_numbers("ab")) == 1
    path = write_bytes(tmp_path / "t.csv", b"a,b\r1,2\r3,4\r")
    refused(path, "lines must end in LF or CR LF; these end in CR alone")


def test_text_that_is_not_utf8_in_the_first_row(tmp_path):
    path = write_bytes(tmp_path / "t.csv", b"a,b,y\n\xe9,1,1\n2,2,0\n")
    refused(path, "line 2: the text must be UTF-8", label="y")
