"""Schemas: inferred from the first rows, saved and loaded."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost.errors import InputError, ModelFileError
from ocboost.streams import Column, Schema, open_stream
from tests.support.stream_files import all_rows, write_bytes, write_csv, write_jsonl

SCHEMA = Schema((Column("a"), Column("b", "category", ("x", "y"))), "late", "boolean")


# Inferred ---------------------------------------------------------------------------------------------


def test_kinds_of_columns(tmp_path):
    names = ["n", "flag", "text", "empty", "date", "stamp", "time", "id", "many", ""]
    rows = [
        (
            i if i % 7 else None,
            i % 2 == 0,
            "abbccc"[i % 6],
            "NA",
            f"2024-01-{i % 28 + 1:02}",
            f"03/04/2024 1{i % 10}:00",
            f"1{i % 10}:30",
            f"N{i}",
            f"m{i % 70:02}",
            i,
        )
        for i in range(500)
    ]
    with open_stream(write_csv(tmp_path / "t.csv", names, rows)) as stream:
        columns, notes = stream.schema.columns, stream.notes
    assert columns[:3] == (Column("n"), Column("flag"), Column("text", "category", ("c", "b", "a")))
    assert columns[3:5] == (
        Column("date", "date", parts=("month", "day", "weekday")),
        Column("time", "date", parts=("hour",)),
    )
    assert columns[5].name == "many"
    assert columns[5].categories == tuple(f"m{i:02}" for i in range(64))
    assert len(columns) == 6
    expected = [
        "Columns without a name are left out (column 10)",
        "Column 'empty' is left out: it is empty in the first 500 rows",
        "Column 'stamp' is left out: it holds dates or times, such as '03/04/2024 10:00'. Write them as ISO",
        "Column 'id' is left out: it holds 500 different texts in the first 500 rows, such as 'N0'",
        "Column 'many' keeps the 64 most frequent of its 70 values",
    ]
    assert len(notes) == len(expected)
    for note, beginning in zip(notes, expected, strict=True):
        assert note.startswith(beginning)


def test_kinds_of_columns_with_types(tmp_path):
    n = 100
    table = pa.table(
        {
            "i": pa.array(range(n), "int32"),
            "u": pa.array([2**63] * n, "uint64"),
            "f": pa.array([0.5] * n, "float32"),
            "b": [True, None] * (n // 2),
            "d": pa.array([1] * n, pa.decimal128(5, 2)),
            "s": ["x", "NA"] * (n // 2),
            "c": pa.array(["p", "q"] * (n // 2)).dictionary_encode(),
            "l": pa.array(["v"] * n, "large_string"),
            "digits": ["1", "2"] * (n // 2),
            "list": [[1]] * n,
            "struct": [{"a": 1}] * n,
            "bytes": [b"1"] * n,
            "null": pa.nulls(n),
            "day": [datetime.date(2024, 1, 1)] * n,
            "lasts": pa.array([5] * n, pa.duration("s")),
            "nan": pa.array([np.nan] * n),
            "y": pa.array([0.0, 1.0] * (n // 2)),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    with open_stream(tmp_path / "t.parquet", label="y") as stream:
        X, y, _ = all_rows(stream)
    names = ("i", "u", "f", "b", "d", "s=x", "c=p", "c=q", "l=v", "digits=1", "digits=2")
    names += ("day.month", "day.day", "day.weekday")
    assert stream.schema.feature_names == names
    assert X[0].tolist() == [0, 2.0**63, 0.5, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert np.array_equal(X[1, :11], [1, 2.0**63, 0.5, np.nan, 1, 0, 0, 1, 1, 0, 1], equal_nan=True)
    assert (stream.schema.label_kind, y.dtype, y[:2].tolist()) == ("integer", np.int64, [0, 1])
    assert [note.split("'")[1] for note in stream.notes] == [
        "list",
        "struct",
        "bytes",
        "null",
        "lasts",
        "nan",
    ]
    assert "holds lists, objects or bytes" in stream.notes[0]


def test_nested_json_is_left_out(tmp_path):
    lines = b'{"a":1,"o":{"p":1},"l":[1]}\n{"a":2,"b":"x","o":null}\n'
    with open_stream(write_bytes(tmp_path / "t.jsonl", lines)) as stream:
        assert stream.schema.feature_names == ("a", "b=x")
        assert all_rows(stream)[0].tolist() == [[1, 0], [2, 1]]
        assert len(stream.notes) == 2


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", "", "2.0", "-3"], "integer", [1, 0, 2, -3]),
        (["9007199254740993", "1"], "integer", [9007199254740993, 1]),
        (["1", "2.5", "NA"], "number", [1, 2.5, np.nan]),
        (["true", "FALSE", ""], "boolean", [True, False, False]),
        (["spam", "ham", "null", "1"], "text", ["spam", "ham", "", "1"]),
    ],
)
def test_kinds_of_labels(texts, kind, values, tmp_path):
    path = write_csv(tmp_path / "t.csv", ["a", "y"], [(1, text) for text in texts])
    with open_stream(path, label="y") as stream:
        _, y, known = all_rows(stream)
    assert stream.schema.label_kind == kind
    assert y.dtype == {"integer": np.int64, "number": np.float64, "boolean": np.bool_, "text": object}[kind]
    assert [v for v in y.tolist() if v == v] == [v for v in values if v == v]
    assert known.tolist() == [text not in ("", "NA", "null") for text in texts]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.0, None], "integer"),
        ([True, None, False], "boolean"),
        (["1", "2"], "text"),
        ([0.5, 1], "number"),
        ([1, "a"], "text"),
    ],
)
def test_kinds_of_labels_in_json(values, kind, tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", ["a", "y"], [(1, value) for value in values])
    with open_stream(path, label="y") as stream:
        _, y, known = all_rows(stream)
    assert stream.schema.label_kind == kind
    assert known.tolist() == [value is not None for value in values]
    convert = {"integer": int, "boolean": bool, "text": str, "number": float}[kind]
    assert y[known].tolist() == [convert(value) for value in values if value is not None]


def test_a_stray_text_among_numbers_is_told(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"{i % 30},{i % 2}" for i in range(100)]
    rows[41] = "abc,1"
    path.write_text("a,y\n" + "\n".join(rows) + "\n")
    with open_stream(path, label="y") as stream:
        assert stream.schema.columns[0].kind == "category"
        assert any("row 41 (the first is row 0) holds 'abc'" in note for note in stream.notes)
    path.write_text("a,y\n" + "\n".join("xy,1" if i % 3 else "3,0" for i in range(100)) + "\n")
    with open_stream(path, label="y") as stream:
        assert stream.notes == []


# Encoding ---------------------------------------------------------------------------------------------


def test_encode_takes_any_order_and_type():
    batch = pa.record_batch({"b": ["y", None, "z"], "a": pa.array([1, None, 3], "int64")})
    X = SCHEMA.encode(batch)
    assert np.array_equal(X, [[1, 0, 1], [np.nan, 0, 0], [3, 0, 0]], equal_nan=True)
    y, known = SCHEMA.encode_label(pa.array([1, None, 0]))
    assert (y.tolist(), known.tolist()) == ([True, False, False], [True, False, True])
    with pytest.raises(InputError, match="must have one column 'a'; it has b"):
        SCHEMA.encode(pa.record_batch({"b": ["y"]}))
    with pytest.raises(InputError, match="column 'a' must hold numbers; got values of type list"):
        SCHEMA.encode(pa.record_batch({"b": ["y"], "a": [[1]]}))
    with pytest.raises(InputError, match="column 'b' must hold texts, such as 'x'; got values of type list"):
        SCHEMA.encode(pa.record_batch({"b": [["y"]], "a": [1]}))
    with pytest.raises(InputError, match="must have a label"):
        Schema.of_numbers("ab").encode_label(pa.array([1]))


# Saved ------------------------------------------------------------------------------------------------


def test_a_schema_survives_json():
    more = SCHEMA.with_columns(
        [Column("b", "code", ("x", "z")), Column("when", "date", parts=("day", "hour"))]
    )
    for schema in (SCHEMA, more, Schema.of_numbers(["é", "="]), Schema.of_numbers(["a"], "y")):
        assert Schema.from_dict(json.loads(json.dumps(schema.as_dict())), "m") == schema
    assert SCHEMA.feature_names == ("a", "b=x", "b=y")
    assert SCHEMA.n_features == 3


def test_codes_and_places():
    schema = SCHEMA.with_columns(
        [Column("when", "date", parts=("day", "hour")), Column("b", "code", ("y", ""))]
    )
    assert schema.feature_names == ("a", "b=x", "b=y", "when.day", "when.hour", "b (code)")
    assert schema.column_names == ("a", "b", "when")
    assert (schema.label, schema.n_features) == ("late", 6)
    assert [schema.place_of(*each) for each in [("a", "number"), ("when", "date"), ("b", "code")]] == [
        0,
        3,
        5,
    ]
    with pytest.raises(InputError, match="the schema must have the code column 'a'; it has none"):
        schema.place_of("a", "code")
    texts = ["y", "x", "NA", "other", None, ""]
    table = pa.table({"b": texts, "when": [None] * 6, "a": range(6)})
    X = schema.encode(table)
    np.testing.assert_array_equal(X[:, 5], [0, -1, np.nan, -1, np.nan, 1])
    np.testing.assert_array_equal(X[:, 1:3], [[0, 1], [1, 0], [0, 0], [0, 0], [0, 0], [0, 0]])
    by_row = np.array([schema.encode_row({"b": text, "a": i}) for i, text in enumerate(texts)])
    np.testing.assert_array_equal(X, by_row)
    with pytest.raises(InputError, match="column 'b' must hold texts"):
        schema.encode(table.set_column(0, "b", pa.array(range(6))))


def test_codes_in_a_file(tmp_path):
    schema = Schema((Column("b", "code", ("y", "x")), Column("b", "category", ("x",))))
    path = write_csv(tmp_path / "t.csv", ["b", "c"], [("x", 1), ("z", 2), (None, 3), ("y", 4)])
    with open_stream(path, schema=schema) as stream:
        X = all_rows(stream)[0]
    np.testing.assert_array_equal(X, [[1, 1], [-1, 0], [np.nan, 0], [0, 0]])


@pytest.mark.parametrize(
    "change",
    [
        {"columns": None},
        {"columns": []},
        {"columns": "ab"},
        {"columns": ["a", "a"]},
        {"columns": [""]},
        {"columns": [1]},
        {"columns": [["b"]]},
        {"columns": [["b", "xy"]]},
        {"columns": [["b", [1]]]},
        {"columns": [["b", ["x", "x"]]]},
        {"columns": [["b", []]]},
        {"columns": [[["b"], ["x"]]]},
        {"columns": [["b", [str(i) for i in range(65)]]]},
        {"columns": ["x" * 1001]},
        {"columns": ["\ud800"]},
        {"columns": [["b", ["x" * 1001]]]},
        {"columns": [str(i) for i in range(65537)]},
        {"columns": [["b", "date", []]]},
        {"columns": [["b", "date", ["minute"]]]},
        {"columns": [["b", "date", "hour"]]},
        {"columns": [["b", "number", []]]},
        {"columns": [["b", ["date"], ["day"]]]},
        {"columns": [["b", "code", [1]]]},
        {"columns": [["b", "code", [], []]]},
        {"columns": [["b", "code", ["x", "x"]]]},
        {"columns": ["b", ["b", "code", ["x"]]]},
        {"columns": ["late"]},
        {"label": 1},
        {"label": ["late"]},
        {"label": ""},
        {"label": None},
        {"label_kind": "x"},
        {"label_kind": []},
        {"more": 1},
    ],
)
def test_a_hostile_schema_is_refused(change):
    with pytest.raises(ModelFileError, match=r"^the file is not a valid model"):
        Schema.from_dict({**SCHEMA.as_dict(), **change}, "the file")


@pytest.mark.parametrize("other", [None, [], "x", {}, {"columns": ["a"]}])
def test_what_is_no_schema_is_refused(other):
    with pytest.raises(ModelFileError, match="must have columns, label and label_kind"):
        Schema.from_dict(other, "the file")


def test_wrong_columns_are_refused():
    with pytest.raises(InputError, match="kind of a column must be one of 'number', 'category', 'date'"):
        Column("a", "text")
    with pytest.raises(InputError, match="a number column has no categories"):
        Column("a", "number", ("x",))
    for parts in [("hour", "day"), ("minute",), ["day"], ("day", "day")]:
        with pytest.raises(
            InputError, match="parts of a column must be some of year, month, day, weekday, hour"
        ):
            Column("a", "date", parts=parts)
    for column in [("a", "date"), ("a", "number", (), ("day",))]:
        with pytest.raises(InputError, match="a date column must have parts, and no other has any"):
            Column(*column)
    texts = tuple(map(str, range(65_537)))
    assert Column("a", "code", texts[:-1]).n_features == 1
    with pytest.raises(
        InputError, match="categories of a code column must be a tuple of at most 65536 texts"
    ):
        Column("a", "code", texts)
    for others in [(Column("a", "code", ("x",)), Column("a", "code")), (Column("b"), Column("b"))]:
        with pytest.raises(InputError, match="must have different names, or be of different kinds"):
            Schema(others)
    with pytest.raises(InputError, match="a column of numbers must not be of another kind as well"):
        Schema((Column("a"), Column("a", "code")))
    with pytest.raises(InputError, match="label 'a' must not be a feature"):
        Schema.of_numbers(["a"], "a")
