"""Streams from files: the same rows from every format, however they arrive."""

from __future__ import annotations

import io
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost.errors import InputError
from ocboost.streams import Column, Schema, encoding, open_stream, source
from tests.support.stream_files import (
    AWKWARD_NAMES,
    all_rows,
    awkward_rows,
    write_bytes,
    write_csv,
    write_jsonl,
    write_parquet,
)

SCHEMA = Schema(
    (Column("size"), Column("flag"), Column("carrier", "category", ("a", 'b"', "c\nd", "é, x"))),
    "y",
    "integer",
)


def same(one, other):
    """Whether two results of `all_rows` agree, labels only where they are known."""
    (X, y, known), (X2, y2, known2) = one, other
    assert np.array_equal(X, X2, equal_nan=True)
    assert np.array_equal(known, known2)
    assert y.dtype == y2.dtype
    assert np.array_equal(y, y2)


@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.booleans(),
            st.none() | st.sampled_from(SCHEMA.columns[2].categories) | st.text('ab",\n\r é;', max_size=5),
            st.none() | st.integers(-(2**63), 2**63 - 1),
        ),
        min_size=1,
        max_size=40,
    ),
    chunk=st.integers(1, 200),
    batch_size=st.integers(1, 12),
    skip=st.integers(0, 40),
)
@settings(max_examples=60)
def test_every_format_and_every_cut_gives_the_same_batches(rows, chunk, batch_size, skip):
    skip = min(skip, len(rows) - 1)
    known = [row[3] is not None for row in rows]
    y = [row[3] or 0 for row in rows]
    X = []
    for size, flag, carrier, _ in rows:
        one_hot = [float(carrier == category) for category in SCHEMA.columns[2].categories]
        X.append([np.nan if size is None else size, np.nan if flag is None else float(flag), *one_hot])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "CHUNK_BYTES", chunk)
        paths = [
            write_csv(Path(folder, "t.csv"), AWKWARD_NAMES, rows),
            write_csv(Path(folder, "t.csv.gz"), AWKWARD_NAMES, rows),
            write_csv(Path(folder, "t.tsv"), AWKWARD_NAMES, rows, delimiter="\t"),
            write_jsonl(Path(folder, "t.jsonl"), AWKWARD_NAMES, rows),
            write_jsonl(Path(folder, "t.ndjson.gz"), AWKWARD_NAMES, rows),
            write_parquet(Path(folder, "t.parquet"), AWKWARD_NAMES, rows),
        ]
        for path in paths:
            with open_stream(path, schema=SCHEMA, batch_size=batch_size, skip=skip) as stream:
                batches = list(stream)
            assert [len(b) for b in batches[:-1]] == [batch_size] * (len(batches) - 1)
            assert batches[0].first == skip
            expected = np.array(X)[skip:], np.array(y, np.int64)[skip:], np.array(known)[skip:]
            same(all_rows(batches), expected)


def test_skip_is_slicing(tmp_path):
    rows = awkward_rows(random.Random(2), 100)
    for path in (
        write_csv(tmp_path / "t.csv", AWKWARD_NAMES, rows),
        write_jsonl(tmp_path / "t.jsonl.gz", AWKWARD_NAMES, rows),
        write_parquet(tmp_path / "t.parquet", AWKWARD_NAMES, rows),
    ):
        whole = all_rows(open_stream(path, schema=SCHEMA))
        for skip in (0, 1, 6, 7, 8, 50, 99):
            with open_stream(path, schema=SCHEMA, skip=skip, batch_size=9) as stream:
                rest = all_rows(stream)
            same(rest, tuple(part[skip:] for part in whole))
        assert list(open_stream(path, schema=SCHEMA, skip=100)) == []
        with pytest.raises(InputError, match=r"must hold the 101 rows to skip; it holds 100"):
            list(open_stream(path, schema=SCHEMA, skip=101))


@pytest.mark.parametrize(
    ("write", "name"), [(write_csv, "a.csv"), (write_jsonl, "a.jsonl"), (write_parquet, "a.parquet")]
)
def test_text_labels_stay_with_their_rows(tmp_path, write, name):
    """They are slices of what was read: an Arrow function that is wrong for slices would mix them up."""
    rng = random.Random(0)
    words = ["no", "yes", "perhaps, perhaps", "é", "NA", None]
    rows = [(float(i), rng.choice(words)) for i in range(60)]
    path = write(tmp_path / name, ["x", "y"], rows)
    schema = Schema((Column("x"),), "y", "text")
    for skip in range(60):
        X, y, known = all_rows(open_stream(path, schema=schema, skip=skip, batch_size=7))
        assert X.ravel().tolist() == [x for x, _ in rows[skip:]]
        expected = [label if label != "NA" else None for _, label in rows[skip:]]
        assert [label if there else None for label, there in zip(y, known, strict=True)] == expected


def test_missing_texts_of_slices():
    words = ["a", "NA", None, "long enough", "", "é", "nan", "b"] * 9
    whole = pa.array(words, "string")
    for start in range(len(words)):
        for stop in range(start, len(words) + 1, 5):
            part = encoding.without_missing(whole.slice(start, stop - start))
            assert part.to_pylist() == [None if w in ("NA", "", "nan") else w for w in words[start:stop]]


def test_skip_counts_rows_as_reading_does(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "CHUNK_BYTES", 5)
    for text in (b"a,b\n1,2\n\n3,4\n\n\n5,6\n", b"a,b\r\n1,2\r\n\r\n3,4\r\n5,6", b'a,b\n1,2\n"3",4\n5,6\n'):
        path = write_bytes(tmp_path / "t.csv", text)
        for skip in range(3):
            X, _, _ = all_rows(open_stream(path, skip=skip))
            assert X.tolist() == [[1, 2], [3, 4], [5, 6]][skip:]
    path = write_bytes(tmp_path / "t.jsonl", b'{"a":1}\n\n  \n{"a":2}\r\n\r\n {"a":3}')
    for skip in range(3):
        assert all_rows(open_stream(path, skip=skip))[0].tolist() == [[1], [2], [3]][skip:]


def test_values_that_the_first_rows_did_not_lead_to_expect(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "CHUNK_BYTES", 4096)
    text = b"a,b,y\n" + b"1,true,1\n" * 20000 + b" 2 , NA,1.0\ntrue,0.5,+1\n+3,FALSE,-2\n,,\n"
    path = write_bytes(tmp_path / "t.csv", text)
    X, y, known = all_rows(open_stream(path, label="y"))
    assert np.array_equal(X[-5:], [[1, 1], [2, np.nan], [1, 0.5], [3, 0], [np.nan, np.nan]], equal_nan=True)
    assert y[-5:].tolist() == [1, 1, 1, -2, 0]
    assert known[-5:].tolist() == [True] * 4 + [False]
    lines = b'{"a":1,"c":"x","y":1}\n' * 20000 + b'{"a":true,"c":5,"y":2.0}\n{"a":1.5,"c":false,"y":null}\n'
    path = write_bytes(tmp_path / "t.jsonl", lines)
    schema = Schema((Column("a"), Column("c", "category", ("x", "5", "false"))), "y", "integer")
    X, y, known = all_rows(open_stream(path, schema=schema))
    assert X[-3:].tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [1.5, 0, 0, 1]]
    assert (y[-2:].tolist(), known[-2:].tolist()) == ([2, 0], [True, False])


def test_the_cut_of_batches_does_not_depend_on_chunks(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "t.csv", AWKWARD_NAMES, awkward_rows(random.Random(3), 500))
    sizes = []
    for chunk in (3, 50, 1 << 20):
        monkeypatch.setattr(source, "CHUNK_BYTES", chunk)
        sizes.append([(b.first, len(b)) for b in open_stream(path, schema=SCHEMA, batch_size=64)])
    assert sizes[0] == sizes[1] == sizes[2]
    assert sizes[0][-1] == (448, 52)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_standard_input_loses_nothing(format, packed, tmp_path, monkeypatch):
    rows = awkward_rows(random.Random(4), 300)
    write = write_csv if format == "csv" else write_jsonl
    path = write(tmp_path / (f"t.{format}" + ".gz" * packed), AWKWARD_NAMES, rows)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    with open_stream("-", label="y", format=None if format == "csv" else format) as stream:
        same(all_rows(stream), all_rows(open_stream(path, label="y")))
        assert stream.bytes_total is None
        assert stream.bytes_read == path.stat().st_size
        assert stream.fingerprint() is None
        assert stream.matches(None)
        assert not stream.matches({"bytes": 0, "sha256": ""})
    assert not sys.stdin.buffer.closed


def test_gzip_is_known_by_its_beginning(tmp_path):
    rows = awkward_rows(random.Random(5), 50)
    packed = write_csv(tmp_path / "t.csv.gz", AWKWARD_NAMES, rows).read_bytes()
    plain = write_csv(tmp_path / "plain.csv", AWKWARD_NAMES, rows)
    expected = all_rows(open_stream(plain, schema=SCHEMA))
    (tmp_path / "packed.csv").write_bytes(packed)
    (tmp_path / "plain.csv.gz").write_bytes(plain.read_bytes())
    (tmp_path / "padded.csv.gz").write_bytes(packed + b"\0" * 100)
    for name in ("packed.csv", "plain.csv.gz", "padded.csv.gz"):
        same(all_rows(open_stream(tmp_path / name, schema=SCHEMA)), expected)
    half = write_bytes(tmp_path / "1.gz", b"a,b\n1,2\n3,").read_bytes()
    rest = write_bytes(tmp_path / "2.gz", b"4\n5,6\n").read_bytes()
    (tmp_path / "members.csv.gz").write_bytes(half + rest)
    assert all_rows(open_stream(tmp_path / "members.csv.gz"))[0].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_byte_order_mark_semicolons_and_line_ends(tmp_path):
    for text in (b"\xef\xbb\xbfa,b\n1,2\n", b"a;b\r\n1;2\r\n", b"\n\na\tb\n1\t2", b'"a","b"\n"1","2"\n'):
        path = write_bytes(tmp_path / "t.csv", text)
        with open_stream(path) as stream:
            assert stream.schema.feature_names == ("a", "b")
            assert all_rows(stream)[0].tolist() == [[1, 2]]
            assert len(stream.notes) == (b"," not in text)
    path = write_bytes(tmp_path / "t.jsonl", b'\xef\xbb\xbf{"a":1}\n')
    assert all_rows(open_stream(path))[0].tolist() == [[1]]


def test_columns_are_found_by_name(tmp_path):
    schema = Schema((Column("a"), Column("b", "category", ("x",))), "y", "integer")
    rows = [("q", "x", 1, 2.5, None), ("q", "z", 0, 1, None)]
    for path in (
        write_csv(tmp_path / "t.csv", ["extra", "b", "y", "a", "none"], rows),
        write_jsonl(tmp_path / "t.jsonl", ["extra", "b", "y", "a", "none"], rows),
        write_parquet(
            tmp_path / "t.parquet",
            ["extra", "b", "y", "a", "none"],
            [(*r[:3], float(r[3]), r[4]) for r in rows],
        ),
    ):
        X, y, _ = all_rows(open_stream(path, schema=schema))
        assert X.tolist() == [[2.5, 1], [1, 0]]
        assert y.tolist() == [1, 0]


def test_a_label_may_be_absent_or_have_another_name(tmp_path):
    path = write_bytes(tmp_path / "t.csv", b"a,b\n1,2\n")
    schema = Schema.of_numbers(["a"], "y", "integer")
    with open_stream(path, schema=schema, need_label=False) as stream:
        (batch,) = stream
    assert batch.y is None
    assert batch.known.tolist() == [False]
    with open_stream(path, label="z", need_label=False) as stream:
        assert stream.schema.label is None
    _, y, _ = all_rows(open_stream(path, schema=schema, label="b"))
    assert y.tolist() == [2]
    with open_stream(path, schema=Schema.of_numbers(["a"]), label="b") as stream:
        assert (stream.schema.label, stream.schema.label_kind) == ("b", "integer")
        assert next(stream).y.tolist() == [2]


def test_progress_and_fingerprint(tmp_path):
    rows = [(float(i), True, "a", 1) for i in range(20000)]
    for path in (
        write_csv(tmp_path / "t.csv", AWKWARD_NAMES, rows),
        write_csv(tmp_path / "t.csv.gz", AWKWARD_NAMES, rows),
        write_parquet(tmp_path / "t.parquet", AWKWARD_NAMES, rows, 5000),
    ):
        with open_stream(path, schema=SCHEMA) as stream:
            seen = [stream.bytes_read for _ in stream]
            assert seen == sorted(seen)
            assert stream.bytes_read == stream.bytes_total == path.stat().st_size
            mark = stream.fingerprint()
            assert mark["bytes"] == min(65_536, path.stat().st_size)
            assert stream.matches(mark)
            for wrong in (
                None,
                3,
                {},
                {**mark, "bytes": "1"},
                {**mark, "sha256": "0"},
                {**mark, "bytes": -1},
            ):
                assert not stream.matches(wrong)
            data = path.read_bytes()
            path.write_bytes(data + b"more")
            assert stream.matches(mark)
            path.write_bytes(data[: mark["bytes"] - 1])
            assert not stream.matches(mark)
            path.write_bytes(data[:100] + b"!" + data[101:])
            assert not stream.matches(mark)


def test_a_stream_is_read_once_and_closed(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["a", "b"], [(i, i) for i in range(10)])
    with open_stream(path, batch_size=4) as stream:
        assert iter(stream) is stream
        assert len(next(stream)) == 4
    assert list(stream) == []
    stream.close()
