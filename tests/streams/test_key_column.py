"""The column that says whose row it is: read as it is written, in every format."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost.errors import InputError
from ocboost.streams import Column, Schema, open_stream
from ocboost.streams.bad_rows import BadRows
from ocboost.streams.rows import Rows, join_rows, rebatch
from tests.support.stream_files import refused, rows_before_error, write_bytes, write_csv, write_jsonl

NAMES = ["id", "a", "y"]
KEYS = [
    "017",
    "NA",
    "None",
    "?",
    "null",
    "nan",
    "é x",
    " b ",
    'q"r',
    "c,d",
    "1e3",
    "true",
    "2024-01-31",
    "x\ny",
]
MAKERS = {
    "t.csv": write_csv,
    "t.csv.gz": write_csv,
    "t.tsv": lambda path, names, rows: write_csv(path, names, rows, "\t"),
    "t.jsonl": write_jsonl,
    "t.jsonl.gz": write_jsonl,
    "t.parquet": lambda path, names, rows: write_parquet(path, names, rows),
}


def write_parquet(path, names, rows):
    """Rows as Parquet, in small row groups."""
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def made(folder, name, keys, labels=None):
    """A file of rows with these keys."""
    labels = labels or [i % 2 for i in range(len(keys))]
    return MAKERS[name](
        folder / name, NAMES, [(k, i / 2, y) for i, (k, y) in enumerate(zip(keys, labels, strict=True))]
    )


def keys_of(path, **options):
    """The keys of a whole file."""
    with open_stream(path, key="id", **{"label": "y", **options}) as stream:
        return [key for batch in stream for key in batch.keys.tolist()]


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("batch_size", [1, 5, 1000])
@pytest.mark.parametrize("name", MAKERS)
class TestAsItIsWritten:
    def test_texts(self, name, batch_size, tmp_path):
        path = made(tmp_path, name, KEYS)
        assert keys_of(path, batch_size=batch_size) == KEYS
        assert keys_of(path, batch_size=batch_size, skip=4) == KEYS[4:]

    def test_whole_numbers(self, name, batch_size, tmp_path):
        path = made(tmp_path, name, [17, -3, 0, 2**62, 17])
        assert keys_of(path, batch_size=batch_size) == ["17", "-3", "0", str(2**62), "17"]

    def test_it_is_no_feature(self, name, batch_size, tmp_path):
        path = made(tmp_path, name, [17, 18, 19])
        with open_stream(path, key="id", label="y", batch_size=batch_size) as stream:
            batches = list(stream)
        assert stream.schema.feature_names == ("a",)
        assert np.concatenate([b.X for b in batches]).ravel().tolist() == [0, 0.5, 1]
        assert np.concatenate([b.y for b in batches]).tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", MAKERS)
class TestAlsoAFeature:
    def test_a_category(self, name, tmp_path):
        path = made(tmp_path, name, ["u", "NA", "v", "u"])
        schema = Schema((Column("a"), Column("id", "category", ("u", "v"))), "y", "integer")
        with open_stream(path, key="id", schema=schema) as stream:
            batch = next(stream)
        assert batch.keys.tolist() == ["u", "NA", "v", "u"]
        assert batch.X[:, 1:].tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]]

    def test_a_number(self, name, tmp_path):
        path = made(tmp_path, name, [17, 8, -2])
        schema = Schema((Column("id"), Column("a")), "y", "integer")
        with open_stream(path, key="id", schema=schema) as stream:
            batch = next(stream)
        assert batch.keys.tolist() == ["17", "8", "-2"]
        assert batch.X[:, 0].tolist() == [17, 8, -2]


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("name", MAKERS)
class TestRowsThatCannotBeUsed:
    @pytest.mark.parametrize("missing", ["", None])
    def test_a_missing_key(self, name, missing, tmp_path):
        path = made(tmp_path, name, ["u", "v", missing, "w"])
        match = r"'id' must hold a key of 1 to 500 bytes in every row; row 2 \(the first is row 0\) has none"
        assert refused(path, match, key="id", label="y") == 2

    def test_a_long_key(self, name, tmp_path):
        good = "é" * 250
        path = made(tmp_path, name, [good, "e" + good, "w"])
        assert refused(path, "row 1 .* is 501 bytes long. Shorten it", key="id", label="y") == 1
        assert keys_of(made(tmp_path, name, [good])) == [good]

    def test_no_such_column(self, name, tmp_path):
        path = made(tmp_path, name, ["u", "v"])
        for options in ({}, {"schema": Schema((Column("a"),), "y", "integer")}):
            with pytest.raises(
                InputError, match=r"key must name a column of .*; got 'ID'.*Did you mean 'id'"
            ):
                open_stream(path, key="ID", label="y", **options)

    def test_the_label(self, name, tmp_path):
        path = made(tmp_path, name, ["u", "v"])
        for options in ({"label": "y"}, {"schema": Schema((Column("a"),), "y", "integer")}):
            with pytest.raises(InputError, match="key must not be the label column 'y'"):
                open_stream(path, key="y", **options)

    def test_an_earlier_fault_in_a_feature_comes_first(self, name, tmp_path):
        rows = [("u", 1.0, 0), ("v", float("inf"), 0), (None, 2.0, 1)]
        path = MAKERS[name](tmp_path / name, NAMES, rows)
        schema = Schema((Column("a"),), "y", "integer")
        if "json" in name:
            path = write_bytes(path, gunzipped(path).replace(b"Infinity", b"1e999"))
        assert refused(path, "finite numbers", key="id", schema=schema) == 1


def gunzipped(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.endswith(".gz") else data


class TestOtherTypes:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ([1.0, 2.0], "double"),
            ([True, False], "bool"),
            ([b"u", b"v"], "binary"),
            ([["u"], ["v"]], "list"),
            (np.array(["2024-01-31", "2024-02-01"], "datetime64[s]"), "timestamp"),
        ],
    )
    def test_parquet(self, values, kind, tmp_path):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"id": values, "a": [1.0, 2.0], "y": [0, 1]}), path)
        with pytest.raises(InputError, match=f"'id' must hold texts or whole numbers; got .* {kind}"):
            open_stream(path, key="id", label="y")

    @pytest.mark.parametrize(
        "values",
        [
            pa.array(["u", "NA"], pa.large_string()),
            pa.array(["u", "NA"]).dictionary_encode(),
            pa.array([2**64 - 1, 0], pa.uint64()),
        ],
    )
    def test_parquet_that_can_be_read(self, values, tmp_path):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"id": values, "a": [1.0, 2.0], "y": [0, 1]}), path)
        assert keys_of(path) == [str(value) for value in values.to_pylist()]

    @pytest.mark.usefixtures("chunk")
    @pytest.mark.parametrize("value", ["1.5", "2.0", "true", "[1]", '{"b": 1}', r'"\ud800"'])
    @pytest.mark.parametrize("first", ['"u"', "17"])
    def test_json(self, value, first, tmp_path):
        lines = [f'{{"id": {each}, "a": 1, "y": {i % 2}}}\n' for i, each in enumerate([first, first, value])]
        path = write_bytes(tmp_path / "t.jsonl", "".join(lines).encode())
        schema = Schema((Column("a"),), "y", "integer")
        stream = open_stream(path, key="id", schema=schema)
        n, said = rows_before_error(stream, InputError)
        assert n == 2
        assert "t.jsonl, line 3: the key column 'id' must hold texts or whole numbers; got" in said

    def test_json_of_texts_and_numbers_of_any_length(self, tmp_path):
        keys = [17, "17", "017", 10**30, "NA"]
        path = write_jsonl(tmp_path / "t.jsonl", NAMES, [(key, 1, i % 2) for i, key in enumerate(keys)])
        assert keys_of(path) == ["17", "17", "017", str(10**30), "NA"]
        schema = Schema((Column("a"), Column("id", "category", ("17",))), "y", "integer")
        batch = next(open_stream(path, key="id", schema=schema))
        assert batch.X[:, 1].tolist() == [1, 1, 0, 0, 0]


class TestCsv:
    def test_other_columns_have_their_missing_values(self, tmp_path):
        text = b"id,a,c,d,y\nNA,NA,NA,NA,no\nNA,1,u,2024-01-31,NA\nw,,,,?\nv,2,v,2024-02-01,yes\n"
        path = write_bytes(tmp_path / "t.csv", text)
        schema = Schema(
            (Column("a"), Column("c", "category", ("u", "NA")), Column("d", "date", (), ("day",))),
            "y",
            "text",
        )
        plain, keyed = (next(open_stream(path, schema=schema, key=key)) for key in (None, "id"))
        assert np.array_equal(plain.X, keyed.X, equal_nan=True)
        assert keyed.X[:, 1:3].tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]
        assert (plain.y == keyed.y).all()
        assert keyed.known.tolist() == plain.known.tolist() == [True, False, False, True]
        assert keyed.keys.tolist() == ["NA", "NA", "w", "v"]
        assert plain.keys is None

    def test_a_block_that_is_read_again_as_texts(self, tmp_path):
        path = write_bytes(tmp_path / "t.csv", b"id,a,c,y\nNA, 1 ,NA,0\n?, 2,u,1\nw,true,v,NA\n")
        schema = Schema((Column("a"), Column("c", "category", ("u", "NA"))), "y", "integer")
        batch = next(open_stream(path, schema=schema, key="id"))
        assert batch.keys.tolist() == ["NA", "?", "w"]
        assert batch.X.tolist() == [[1, 0, 0], [2, 1, 0], [1, 0, 0]]
        assert batch.known.tolist() == [True, True, False]


class TestRowsAsTheyCome:
    @pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
    def test_bad_rows_are_left_out_with_their_reasons(self, name, tmp_path):
        keys = ["u", None, "v", "w" * 501, "x", "y"]
        path = made(tmp_path, name, keys, [0, 0, 1, 0, 7, 1])
        bad = BadRows([0, 1])
        schema = Schema((Column("a"),), "y", "integer")
        with open_stream(path, key="id", schema=schema, bad_rows=bad, as_they_come=True) as stream:
            found = [
                (key, known) for b in stream if len(b) for key, known in zip(b.keys, b.known, strict=True)
            ]
        assert found == [("u", True), ("v", True), ("x", False), ("y", True)]
        assert [row.reason for row in bad.waiting] == ["missing key", "key too long", "unknown class"]

    def test_a_first_object_without_the_key(self, tmp_path):
        lines = [{"a": 1, "y": 0}, {"id": "v", "a": 2, "y": 1}]
        path = write_bytes(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in lines).encode())
        schema = Schema((Column("a"),), "y", "integer")
        assert refused(path, "row 0 .* has none", key="id", schema=schema, sampled=False) == 0
        assert refused(path, "row 0 .* has none", key="id", label="y") == 0


class TestRows:
    def rows(self):
        keys = np.array(["u", "v", "u", None], object)
        return Rows(np.arange(4.0)[:, None], np.array([0, 1, 1, 0]), keys=keys)

    def test_they_go_along(self):
        rows = self.rows()
        assert rows[1:3].keys.tolist() == ["v", "u"]
        assert rows[[3, 0]].keys.tolist() == [None, "u"]
        coded = rows[1:].coded([0, 1])
        assert coded.keys.tolist() == ["v", "u", None]
        assert coded[:2].weighted(np.array([2.0, 3.0])).keys.tolist() == ["v", "u"]
        assert rows.detached(2).keys.tolist() == ["u", None]
        assert rows.labelled().keys.tolist() == ["u", "v", "u", None]

    def test_joined(self):
        rows = self.rows()
        assert join_rows([rows[2:], rows[:1]]).keys.tolist() == ["u", None, "u"]
        assert join_rows([rows[:1], Rows(np.zeros((2, 1)))]).keys.tolist() == ["u", None, None]
        assert join_rows([Rows(np.zeros((2, 1)))] * 2).keys is None
        batches = list(rebatch([rows[:1], rows[1:]], 3))
        assert [batch.keys.tolist() for batch in batches] == [["u", "v", "u"], [None]]

    def test_one_for_each_row(self):
        with pytest.raises(InputError, match="keys must be one for each of the 2 rows"):
            Rows(np.zeros((2, 1)), keys=np.array(["u"], object))
