"""Columns of a folder's files that differ, and those that go together."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost.streams import folder_look
from ocboost.streams.folder import open_folder
from tests.support.folders import (
    NAMES,
    columns,
    every_format,
    refused,
    table,
    typed_format,
    write,
)


@every_format
def test_a_column_that_a_file_lacks(ending, tmp_path):
    rows = table(5)
    write(tmp_path / f"a.{ending}", NAMES, rows)
    write(tmp_path / f"b.{ending}", ["x", "colour", "y"], [(r[0], r[2], r[3]) for r in rows])
    message = refused(
        tmp_path, "must have the column 'flag'", "1 of 2 lack it: 'b.", "drop=['flag']", label="y"
    )
    assert ("write null" in message) == ending.startswith("json")
    folder = open_folder(tmp_path, label="y", drop=["flag"])
    assert [column.name for column in folder.schema.columns] == ["x", "colour"]
    write(tmp_path / f"b.{ending}", ["x", "Flag", "colour", "y"], rows)
    refused(tmp_path, "Was it renamed to 'Flag' there?", label="y")


@every_format
def test_the_label_that_a_file_lacks(ending, tmp_path):
    rows = table(5)
    for name in "abc":
        write(tmp_path / f"{name}.{ending}", NAMES[:3], [row[:3] for row in rows])
    write(tmp_path / f"d.{ending}", NAMES, rows)
    refused(tmp_path, "the label column 'y'", "3 of 4 lack it: 'a.", "Add the column, or take", label="y")
    refused(tmp_path, "label must name a column of", "got 'z'", label="z")
    refused(tmp_path, "drop must name a column of", "Did you mean 'colour'?", drop=["color"])
    refused(tmp_path, "drop must not name the label", label="y", drop=["y"])
    refused(tmp_path, "drop must be a list", drop="y")


@every_format
def test_an_extra_column_is_left_out(ending, tmp_path):
    rows = table(5)
    for name in "abc":
        write(tmp_path / f"{name}.{ending}", NAMES, rows)
    write(tmp_path / f"d.{ending}", ["more", *NAMES], [(1.5, *row) for row in rows])
    folder = open_folder(tmp_path, label="y")
    assert [column.name for column in folder.schema.columns] == ["x", "flag", "colour"]
    assert folder.notes == [f"Column 'more' is left out: of 4 files only 'd.{ending}' have it."]
    assert sum(len(each) for _, each in folder.batches()) == 20


@typed_format
def test_numbers_here_and_texts_there(ending, tmp_path):
    columns(
        tmp_path,
        ending,
        a={"x": [1.0, 2.0], "y": [0, 1]},
        b={"x": ["one", "two"], "y": [0, 1]},
        c={"x": [1.0, 2.0], "y": [0, 1]},
    )
    refused(
        tmp_path,
        "column 'x' must hold the same in every file",
        f"it holds numbers in 'a.{ending}', 'c.{ending}', and texts in 'b.{ending}'",
        "drop=['x']",
        label="y",
    )


def test_numbers_here_and_texts_there_in_csv(tmp_path):
    columns(tmp_path, "csv", a={"x": range(9), "z": range(9)}, b={"x": [*"12345678", "A"], "z": range(9)})
    folder = open_folder(tmp_path)
    assert [column.kind for column in folder.schema.columns] == ["category", "number"]
    text = " ".join(folder.notes)
    assert "Column 'x' holds numbers in 'a.csv', and texts in 'b.csv'" in text
    assert "row 8 (the first is row 0) of 'b.csv' holds 'A'" in text


def test_texts_in_a_csv_file_that_is_not_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_look, "MAX_SAMPLED_FILES", 2)
    columns(tmp_path, "csv", a={"x": [1, 2]}, b={"x": ["one", "two"]}, c={"x": [3, 4]})
    refused(tmp_path, "column 'x' must hold numbers in every file", "texts in 'b.csv'")


@every_format
@pytest.mark.parametrize(
    ("here", "there", "texts"),
    [
        ([0, 1], ["no", "yes"], ("numbers in 'a.", "texts in 'b.")),
        ([True, False], [0, 1], ("truth values in 'a.", "numbers in 'b.")),
        ([True, False], ["no", "yes"], ("truth values in 'a.", "texts in 'b.")),
    ],
)
def test_labels_of_different_kinds(ending, here, there, texts, tmp_path):
    columns(tmp_path, ending, a={"x": [1.0, 2.0], "y": here}, b={"x": [1.0, 2.0], "y": there})
    refused(
        tmp_path, "the label column 'y' must hold the same kind of labels in every file", *texts, label="y"
    )


@every_format
def test_whole_numbers_and_fractions_go_together(ending, tmp_path):
    columns(
        tmp_path,
        ending,
        a={"x": [1, 2], "z": [True, False], "y": [0, 1]},
        b={"x": [0.5, None], "z": [2, 3], "y": [0.5, None]},
        c={"x": [None, None], "z": [0.5, 1.5], "y": [None, None]},
    )
    folder = open_folder(tmp_path, label="y")
    assert folder.schema.label_kind == "number"
    rows = [rows for _, rows in folder.batches()]
    np.testing.assert_array_equal(
        np.concatenate([each.X for each in rows]),
        [[1, 1], [2, 0], [0.5, 2], [np.nan, 3], [np.nan, 0.5], [np.nan, 1.5]],
    )
    np.testing.assert_array_equal(
        np.concatenate([each.y for each in rows]), [0, 1, 0.5, np.nan, np.nan, np.nan]
    )
    assert np.concatenate([each.known for each in rows]).tolist() == [True, True, True, False, False, False]


def test_types_of_parquet_that_go_together(tmp_path):
    def arrays(number, text, when, label):
        return pa.table({"n": number, "t": text, "d": when, "y": label})

    days = [datetime(2024, 1, 31, 17), None, datetime(2024, 2, 1)]
    numbers = {
        "int32": pa.array([1, None, 3], "int32"),
        "uint8": pa.array([1, None, 3], "uint8"),
        "float": pa.array([1, None, 3], "float32"),
        "bool": pa.array([True, None, False]),
        "decimal": pa.array([Decimal("1.5"), None, Decimal(3)]),
        "null": pa.nulls(3),
    }
    texts = [
        pa.array(["a", "b", None]),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array(["a", "b", None], "large_string"),
        pa.nulls(3),
    ]
    dates = [
        pa.array(days, pa.timestamp("ns")),
        pa.array(days, pa.timestamp("s")),
        pa.array([date(2024, 1, 31), None, date(2024, 2, 1)]),
    ]
    labels = [pa.array([0, 1, None], kind) for kind in ("int64", "int8", "float64")]
    expected = []
    for k, (name, number) in enumerate(numbers.items()):
        own = arrays(number, texts[k % 4], dates[k % 3], labels[k % 3])
        pq.write_table(own, tmp_path / f"{k}-{name}.parquet")
        expected.append(number)
    folder = open_folder(tmp_path, label="y")
    assert folder.notes == []
    assert [column.kind for column in folder.schema.columns] == ["number", "category", "date"]
    assert folder.schema.label_kind == "integer"
    for (_, rows), number in zip(folder.batches(), expected, strict=True):
        wanted = [np.nan if v is None else float(v) for v in number.to_pylist()]
        np.testing.assert_array_equal(rows.X[:, 0], wanted)
        assert rows.known.tolist() == [True, True, False]
        assert rows.y.dtype == np.int64


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (pa.array([[1.0], [2.0]]), "lists, objects or bytes"),
        (pa.array([b"x", b"y"]), "lists, objects or bytes"),
        (pa.array([datetime(2024, 1, 1)] * 2), "dates"),
        (pa.array([1, 2], pa.duration("s")), "durations"),
        (pa.array([1, 2], pa.time32("s")), "times of day"),
    ],
)
def test_types_of_parquet_that_do_not(other, what, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "z": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": other, "z": [1.0, 2.0]}), tmp_path / "b.parquet")
    refused(tmp_path, f"it holds numbers in 'a.parquet', and {what} in 'b.parquet'")


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.duration("s"), pa.binary()])
def test_columns_that_cannot_be_used_are_left_out(kind, tmp_path):
    for name in "ab":
        pq.write_table(pa.table({"x": [1.0], "z": pa.nulls(1, kind)}), tmp_path / f"{name}.parquet")
    folder = open_folder(tmp_path)
    assert folder.schema.feature_names == ("x",)
    assert "Column 'z' is left out" in folder.notes[0]


def test_nested_labels_and_columns_of_json(tmp_path):
    columns(tmp_path, "jsonl", a={"x": [1.0], "y": [0]}, b={"x": [1.0], "y": [[0]]})
    refused(tmp_path, "it holds numbers in 'a.jsonl', and lists, objects or bytes in 'b.jsonl'", label="y")
    columns(tmp_path, "jsonl", a={"x": [[1.0]]}, b={"x": [[1.0]]})
    refused(tmp_path, "must have a column of numbers, categories or dates", "it holds lists")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_appear_twice(ending, tmp_path):
    columns(tmp_path, ending, a={"x": [1.0], "y": [1]})
    if ending == "csv":
        (tmp_path / "b.csv").write_text("x,x,y\n1,2,3\n")
    else:
        pq.write_table(pa.table([pa.array([1.0])] * 3, names=["x", "x", "y"]), tmp_path / "b.parquet")
    refused(tmp_path, f"b.{ending} must have different names for its columns; 'x'", label="y")


def test_many_footers_are_read(tmp_path, monkeypatch):
    """Every Parquet file's types are compared, also of those that no row is taken from."""
    monkeypatch.setattr(folder_look, "MAX_SAMPLED_FILES", 3)
    columns(tmp_path, "parquet", **{f"p{k}": {"x": [1.0 + k], "y": [k]} for k in range(9)})
    assert open_folder(tmp_path, label="y").n_rows == 9
    columns(tmp_path, "parquet", p5={"x": ["a"], "y": [5]})
    refused(tmp_path, "texts in 'p5.parquet'", label="y")
