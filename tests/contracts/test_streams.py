"""The contract of streams: the same rows from every format, and from arrays, however they are cut."""

from __future__ import annotations

import gzip
import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import InputError
from ocboost.evaluation import prequential
from ocboost.evaluation.contenders import Contender
from ocboost.streams import ArrayStream, Batch, Column, Schema, Stream, open_stream
from ocboost.streams.open import ENDINGS
from ocboost.streams.open import FORMATS as KNOWN_FORMATS
from ocboost.streams.rows import Rows
from tests.support.stream_files import (
    all_rows,
    rows_before_error,
    spelt,
    write_bytes,
    write_csv,
    write_jsonl,
    write_parquet,
)

NAMES = ["size", "flag", "colour", "y"]
COLOURS = ("blue", "red", "é, x")
SCHEMA = Schema((Column("size"), Column("flag"), Column("colour", "category", COLOURS)), "y", "integer")
FEATURES = ["size", "flag", *(f"colour={c}" for c in COLOURS)]


def table(n, seed=0):
    """Rows as a table has them; some values and labels are missing."""
    rng = np.random.default_rng(seed)
    return [
        (
            None if rng.random() < 0.1 else float(np.round(rng.normal(), 3)),
            None if rng.random() < 0.1 else bool(rng.random() < 0.5),
            None if rng.random() < 0.1 else COLOURS[rng.integers(3)],
            None if rng.random() < 0.2 else int(rng.integers(3)),
        )
        for _ in range(n)
    ]


def features(rows):
    """What the rows are as numbers, value by value."""
    return np.array(
        [
            [
                np.nan if size is None else size,
                np.nan if flag is None else float(flag),
                *(float(colour == each) for each in COLOURS),
            ]
            for size, flag, colour, _ in rows
        ]
    ).reshape(len(rows), 5)


def labels(rows):
    return [row[3] for row in rows]


class FromArrays:
    """Arrays as a stream of the same rows; its label is missing where it is None."""

    ending = None

    @staticmethod
    def write(path, names, rows):
        return rows

    @staticmethod
    def open(rows, schema=SCHEMA, batch_size=1000, skip=0):
        y = np.array(labels(rows), dtype=object)
        return ArrayStream(features(rows), y, batch_size=batch_size, feature_names=FEATURES, skip=skip)


class FromFile:
    """A file of a format."""

    def __init__(self, ending, write):
        self.ending, self._write = ending, write

    def write(self, path, names, rows):
        return self._write(Path(f"{path}{self.ending}"), names, rows)

    @staticmethod
    def open(path, schema=SCHEMA, **more):
        return open_stream(path, schema=schema, **more)


def write_tsv(path, names, rows):
    return write_csv(path, names, rows, delimiter="\t")


FORMATS = {
    ending.lstrip("."): FromFile(ending, write)
    for ending, write in (
        (".csv", write_csv),
        (".csv.gz", write_csv),
        (".tsv", write_tsv),
        (".tsv.gz", write_tsv),
        (".jsonl", write_jsonl),
        (".jsonl.gz", write_jsonl),
        (".ndjson", write_jsonl),
        (".json", write_jsonl),
        (".parquet", write_parquet),
    )
} | {"arrays": FromArrays}
FILES = [name for name in FORMATS if name != "arrays"]
every = pytest.mark.parametrize("name", FORMATS)
every_file = pytest.mark.parametrize("name", FILES)


def opened(name, rows, folder, **more):
    """A stream of these rows."""
    source = FORMATS[name].write(folder / "t", NAMES, rows)
    return FORMATS[name].open(source, **more)


def assert_rows(stream, rows):
    """That a stream gives these rows, from its first to its last."""
    X, y, known = all_rows(stream)
    assert np.array_equal(X, features(rows), equal_nan=True)
    expected = [label is not None for label in labels(rows)]
    assert known.tolist() == expected
    assert [int(v) for v, k in zip(y, known, strict=True) if k] == [v for v in labels(rows) if v is not None]


def test_every_format_is_tried():
    tried = {f".{name.removesuffix('.gz')}" for name in FILES}
    assert tried == set(ENDINGS)
    assert {ENDINGS[ending] for ending in tried} == set(KNOWN_FORMATS)


def test_the_command_line_knows_every_format():
    options = pytest.importorskip("ocboost.cli.options")
    assert set(get_args(options.Format)) == set(KNOWN_FORMATS)


# The same rows ----------------------------------------------------------------------------------------


@every
def test_batches(name, tmp_path):
    rows = table(50)
    with opened(name, rows, tmp_path, batch_size=7) as stream:
        assert isinstance(stream, Stream)
        assert stream.schema.feature_names == tuple(FEATURES) or list(stream.schema.feature_names) == FEATURES
        assert stream.schema.label_kind == "integer"
        batches = list(stream)
        assert list(stream) == []
    assert [len(batch) for batch in batches] == [7] * 7 + [1]
    assert [batch.first for batch in batches] == list(range(0, 50, 7))
    for batch in batches:
        assert isinstance(batch, Batch)
        assert (batch.X.dtype, batch.known.dtype, batch.y.dtype) == (np.float64, np.bool_, np.int64)
        assert batch.X.flags.c_contiguous
        assert batch.rows.tolist() == list(range(batch.first, batch.first + len(batch)))
    assert_rows(batches, rows)


@every
def test_how_it_is_cut_means_nothing(name):
    @settings(max_examples=8)
    @given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 60))
    def cut(n, batch_size, skip):
        skip = min(skip, n - 1)
        rows = table(n, seed=n)
        with (
            tempfile.TemporaryDirectory() as folder,
            opened(name, rows, Path(folder), batch_size=batch_size, skip=skip) as stream,
        ):
            batches = list(stream)
        assert batches[0].first == skip
        assert [len(batch) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
        assert all(b.first == a.first + len(a) for a, b in pairwise(batches))
        assert_rows(batches, rows[skip:])

    cut()


@every
def test_rows_to_pass_over(name, tmp_path):
    rows = table(30)
    source = FORMATS[name].write(tmp_path / "t", NAMES, rows)
    assert list(FORMATS[name].open(source, skip=30)) == []
    with pytest.raises(InputError, match="skip"):
        list(FORMATS[name].open(source, skip=31))
    if name != "arrays":
        with FORMATS[name].open(source, batch_size=4) as stream:
            stream.start_at(11)
            assert_rows(stream, rows[11:])


@every
def test_a_stream_is_known_by_its_beginning(name, tmp_path):
    rows = table(400)
    source = FORMATS[name].write(tmp_path / "t", NAMES, rows)
    with FORMATS[name].open(source) as one, FORMATS[name].open(source) as same:
        mark = json.loads(json.dumps(one.fingerprint()))
        assert same.matches(mark)
        assert one.bytes_total > 0
        list(one)
        assert 0 < one.bytes_read <= one.bytes_total
    other = FORMATS[name].write(tmp_path / "other", NAMES, table(400, seed=1))
    with FORMATS[name].open(other) as stream:
        assert not stream.matches(mark)


# Labels -----------------------------------------------------------------------------------------------

KINDS = {
    "integer": [3, None, -7, 2**53 + 1, 0],
    "number": [0.5, None, -1.25, 3.0, 1e-300],
    "text": ["no", None, "yes, perhaps", "é", "no"],
    "boolean": [True, None, False, True, False],
}


@every
@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_every_kind(name, kind, tmp_path):
    values = KINDS[kind] * 4
    X = [[float(i)] for i in range(20)]
    if name == "arrays":
        stream = ArrayStream(X, np.array(values, object), batch_size=3)
    else:
        path = FORMATS[name].write(
            tmp_path / "t", ["x", "y"], [(x[0], v) for x, v in zip(X, values, strict=True)]
        )
        stream = open_stream(path, label="y", batch_size=3)
    assert stream.schema.label_kind == kind
    _, y, known = all_rows(stream)
    assert known.tolist() == [v is not None for v in values]
    found = [v for v, k in zip(y.tolist(), known, strict=True) if k]
    assert found == [v for v in values if v is not None]
    assert {type(v) for v in found} == {{"integer": int, "number": float, "text": str, "boolean": bool}[kind]}


@every
def test_without_labels(name, tmp_path):
    X = [[float(i)] for i in range(5)]
    if name == "arrays":
        stream = ArrayStream(X, batch_size=2)
    else:
        path = FORMATS[name].write(tmp_path / "t", ["x"], X)
        with pytest.raises(InputError, match=r"label.* must"):
            open_stream(path, label="y")
        stream = open_stream(path, label="y", need_label=False, batch_size=2)
    batches = list(stream)
    assert all(batch.y is None and not batch.known.any() for batch in batches)
    assert np.concatenate([batch.X for batch in batches]).tolist() == X


class Noting(Contender):
    """Notes the rows that it sees."""

    def __init__(self):
        super().__init__("noting")
        self.predicted, self.learnt = [], []

    def predict(self, view):
        self.predicted += view.rows.tolist()
        return np.full((len(view), 3), 1 / 3)

    def learn(self, view):
        assert view.known.all()
        self.learnt += list(zip(view.rows.tolist(), view.codes.tolist(), strict=True))


@every
@pytest.mark.parametrize("batch_size", [1, 6, 1000])
def test_an_evaluation_sees_each_row_and_learns_those_with_labels(name, batch_size, tmp_path):
    rows = table(40)
    noting = Noting()
    with opened(name, rows, tmp_path, batch_size=batch_size, skip=3) as stream:
        prequential(stream, [noting], classes=[0, 1, 2], drift=False)
    assert noting.predicted == list(range(3, 40))
    assert noting.learnt == [(i, v) for i, v in enumerate(labels(rows)) if v is not None and i >= 3]


# Broken ones ------------------------------------------------------------------------------------------


def broken(name, rows, k, path):
    """A file in which row k has a text where a number must be; Parquet has types, and an infinity then."""
    if FORMATS[name].ending == ".parquet":
        sizes = [row[0] if i != k else float("inf") for i, row in enumerate(rows)]
        columns = {n: [row[j] for row in rows] for j, n in enumerate(NAMES)} | {"size": sizes}
        pq.write_table(pa.table(columns), f"{path}.parquet", row_group_size=7)
        return Path(f"{path}.parquet")
    wrong = [("many", *row[1:]) if i == k else row for i, row in enumerate(rows)]
    return FORMATS[name].write(path, NAMES, wrong)


@every_file
@pytest.mark.parametrize("batch_size", [1, 4, 100])
def test_the_rows_before_a_bad_one_come_first(name, batch_size, tmp_path):
    rows = table(33)
    path = broken(name, rows, 17, tmp_path / "t")
    with open_stream(path, schema=SCHEMA, batch_size=batch_size) as stream:
        good = []
        with pytest.raises(InputError, match=r"'size'.*(many|inf)") as caught:
            good.extend(iter(stream))
    assert "\n" not in str(caught.value)
    assert "17" in str(caught.value)
    assert_rows(good, rows[:17])


@pytest.mark.parametrize("batch_size", [1, 4, 100])
def test_the_rows_before_an_infinity_in_arrays_come_in_whole_batches(batch_size):
    rows = table(33)
    X = features(rows)
    X[17, 0] = np.inf
    n, text = rows_before_error(ArrayStream(X, batch_size=batch_size), InputError)
    assert n == 17 // batch_size * batch_size
    assert "row 17" in text


@pytest.mark.parametrize("name", [n for n in FILES if n.endswith(".gz")])
def test_the_rows_before_the_end_of_a_file_that_was_cut_short(name, tmp_path):
    rows = table(3000)
    path = FORMATS[name].write(tmp_path / "t", NAMES, rows)
    path.write_bytes(path.read_bytes()[:-40])
    with open_stream(path, schema=SCHEMA) as stream:
        n, text = rows_before_error(stream, InputError)
    assert 1000 < n < 3000
    assert "cut short" in text


@every_file
def test_a_file_that_is_none(name, tmp_path):
    ending = FORMATS[name].ending
    for data in (b"", b"\x00\x01\x02", b"{"):
        path = tmp_path / f"t{ending}"
        path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
        with pytest.raises(InputError) as caught:
            list(open_stream(path, schema=SCHEMA))
        assert "\n" not in str(caught.value)


# Schemas ----------------------------------------------------------------------------------------------


@every_file
def test_a_schema_is_found_and_found_again(name, tmp_path):
    rows = table(200)
    path = FORMATS[name].write(tmp_path / "t", NAMES, rows)
    with open_stream(path, label="y", batch_size=32) as stream:
        found = stream.schema
        whole = all_rows(stream)
    assert [(c.name, c.kind) for c in found.columns] == [(c.name, c.kind) for c in SCHEMA.columns]
    assert set(found.columns[2].categories) == set(COLOURS)
    assert (found.label, found.label_kind) == ("y", "integer")
    with open_stream(write_csv(tmp_path / "same.csv", NAMES, rows), label="y") as same:
        assert same.schema == found
    again = Schema.from_dict(json.loads(json.dumps(found.as_dict())), "a file")
    assert again == found
    with open_stream(path, schema=again, batch_size=5) as stream:
        assert stream.schema == found
        for mine, theirs in zip(all_rows(stream), whole, strict=True):
            assert np.array_equal(mine, theirs, equal_nan=mine.dtype == np.float64)


@every_file
def test_columns_are_found_by_their_names(name, tmp_path):
    rows = table(40)
    turned = [(row[3], "nothing", *row[2::-1]) for row in rows]
    path = FORMATS[name].write(tmp_path / "t", ["y", "more", *NAMES[2::-1]], turned)
    with open_stream(path, schema=SCHEMA, batch_size=9) as stream:
        assert_rows(stream, rows)
    path = FORMATS[name].write(tmp_path / "u", ["y", "size", "flag"], [(r[3], *r[:2]) for r in rows])
    with pytest.raises(InputError, match="colour"):
        open_stream(path, schema=SCHEMA)


def test_arrays_and_files_make_the_same_rows(tmp_path):
    """`Rows` of both, as classifiers learn them."""
    rows = table(60)
    path = write_bytes(
        tmp_path / "t.csv",
        ("size,flag,colour,y\n" + "".join(_line(row) for row in rows)).encode(),
    )
    with open_stream(path, schema=SCHEMA, batch_size=60) as stream, FromArrays.open(rows) as arrays:
        one, other = next(stream), next(arrays)
    assert isinstance(one, Rows)
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.coded([0, 1, 2]).codes, other.coded([0, 1, 2]).codes)
    np.testing.assert_array_equal(one.labelled().rows, other.labelled().rows)


def _line(row):
    return ",".join(f'"{v}"' if isinstance(v, str) else "" if v is None else spelt(v) for v in row) + "\n"
