"""Tables in memory: the schema and the features of data frames, however they come."""

from __future__ import annotations

import datetime
import decimal
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ocboost.errors import InputError, MissingExtraError
from ocboost.streams import Column, Schema
from ocboost.streams.tables import (
    column_of,
    encode_table,
    is_column,
    is_table,
    labels_of_column,
    schema_of_table,
)
from tests.support.tables import LEFT_OUT, frame


class Exported:
    """Anything that hands out Arrow's stream."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_every_kind_of_table_is_the_same():
    X, _ = frame(200)
    schema, notes = schema_of_table(X)
    assert [note.split("'")[1] for note in notes] == ["empty", "many", "row"]
    assert set(X.columns) - set(schema.column_names) == set(LEFT_OUT)
    expected, more = encode_table(schema, X)
    assert more == []
    assert expected.dtype == np.float64
    assert expected.flags.c_contiguous
    table = pa.Table.from_pandas(X, preserve_index=False)
    tables = [pl.from_pandas(X), table, Exported(table), table.combine_chunks().to_batches()[0]]
    for other in [*tables, X.convert_dtypes(dtype_backend="pyarrow")]:
        assert is_table(other)
        assert schema_of_table(other) == (schema, notes)
        np.testing.assert_array_equal(encode_table(schema, other)[0], expected)
    mixed = X.assign(more=[[1]] * len(X))[["more", *X.columns[::-1]]]
    np.testing.assert_array_equal(encode_table(schema, mixed)[0], expected)
    by_row = [schema.encode_row(row) for row in X.to_dict("records")]
    np.testing.assert_array_equal(by_row, expected)


def test_only_the_first_10_000_rows_tell():
    X = pd.DataFrame({"a": ["x"] * 10_000 + ["z"], "b": [np.nan] * 10_000 + [1.0], "c": 1})
    schema, notes = schema_of_table(X)
    assert schema == Schema((Column("a", "category", ("x",)), Column("c")))
    assert notes == ["Column 'b' is left out: it is empty in the first 10000 rows."]
    encoded, _ = encode_table(schema, X)
    assert encoded[-1].tolist() == [0, 1]


def test_numbers_alone():
    X = pd.DataFrame(
        {"a": pd.array([1, None], dtype="Int8"), "b": [True, False], "c": [np.nan] * 2, "d": [0.5, 1]}
    )
    for table in (X, pl.from_pandas(X), pa.Table.from_pandas(X)):
        schema, notes = schema_of_table(table)
        assert schema == Schema.of_numbers("abd")
        assert len(notes) == 1
        np.testing.assert_array_equal(encode_table(schema, table)[0], [[1, 1, 0.5], [np.nan, 0, 1]])


def test_numbers_need_no_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    X = pd.DataFrame({"a": [1, 2], "b": [True, False]})
    for table in (X, pl.DataFrame({"a": [1, 2], "b": [True, False]})):
        schema, _ = schema_of_table(table)
        assert encode_table(schema, table)[0].tolist() == [[1, 1], [2, 0]]
    with pytest.raises(MissingExtraError, match=r"\[streams\]"):
        schema_of_table(X.assign(c="x"))


def test_objects():
    when = datetime.datetime(2024, 1, 31, 5, tzinfo=datetime.UTC)
    other = datetime.datetime(2024, 1, 31, 7, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    objects = {
        "mixed": [1, True, 2.5, None, decimal.Decimal(3)],
        "large": [2**70, 1, None, 2, 3],
        "flags": [True, None, pd.NA, False, True],
        "when": [when, other, None, pd.NaT, when],
    }
    X = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in objects.items()})
    schema, _ = schema_of_table(X)
    encoded = encode_table(schema, X)[0]
    names = ("mixed", "large", "flags", "when.month", "when.day", "when.weekday", "when.hour")
    assert schema.feature_names == names
    assert encoded[0].tolist() == [1, 2.0**70, 1, 1, 31, 2, 5]
    assert encoded[1, [0, 6]].tolist() == [1, 7]  # each by its own clock
    assert np.isnan(encoded[2:4, 2:]).any(axis=1).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1, "x"],
            "column 'a' must .*; it holds a mixture of numbers .1. and texts .'x'.. Convert it, or drop it",
        ),
        ([datetime.date(2024, 1, 1), "x"], "column 'a' must hold .*a mixture of dates .* and texts"),
        ([[1], [2]], "column 'a' must hold numbers, truth values, texts or dates; it holds .*list"),
        ([{"b": 1}, None], "column 'a' must hold .*struct"),
        ([b"1", b"2"], "column 'a' must hold .*binary"),
        ([1j, 2j], "column 'a' must hold .*complex"),
        ([object(), 1], "column 'a' must hold .*object object"),
        (pd.period_range("2024-01", periods=2, freq="M"), "column 'a' must hold .*period"),
        (pd.Categorical([1, "x"]), "column 'a' must hold .*category"),
        (
            [datetime.time(5), datetime.date(2024, 1, 1)],
            "column 'a' must hold .*a mixture of dates .* and times",
        ),
    ],
)
def test_what_no_model_can_read(values, message):
    X = pd.DataFrame({"a": pd.Series(values), "b": [1, 2]})
    with pytest.raises(InputError, match=message):
        schema_of_table(X)
    assert encode_table(Schema.of_numbers(["b"]), X)[0].tolist() == [[1], [2]]


def test_other_refusals():
    schema = Schema.of_numbers(["a", "carrier"])
    with pytest.raises(
        InputError, match=r"it lacks 'carrier', and has 'Carier'.*rename 'Carier' to 'carrier'"
    ):
        encode_table(schema, pd.DataFrame({"a": [1], "Carier": [2]}))
    for X in (
        pd.DataFrame({"a": [1.0, np.inf]}),
        pl.DataFrame({"a": [1.0, np.inf]}),
        pa.table({"a": [1.0, np.inf]}),
    ):
        with pytest.raises(InputError, match="column 'a' must hold finite numbers; got inf in row 1"):
            encode_table(Schema.of_numbers("a"), X)
    with pytest.raises(InputError, match="column 'a' must hold numbers; got 'x' in row 1"):
        encode_table(Schema.of_numbers("a"), pd.DataFrame({"a": ["1", "x"]}))
    with pytest.raises(InputError, match="must have different names for its columns; 'a' appear"):
        schema_of_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="X must have at least one row; got a table without rows"):
        schema_of_table(pd.DataFrame({"a": [1], "b": ["x"]})[:0])
    with pytest.raises(InputError, match=r"got a LazyFrame. Call its collect\(\) first"):
        is_table(pl.LazyFrame({"a": [1]}))
    for X in (pd.DataFrame({"a": [np.nan]}), pd.DataFrame({"a": [None]})):
        with pytest.raises(InputError, match="must have a column of numbers, categories or dates"):
            schema_of_table(X)


def test_texts_that_no_model_knows():
    schema = Schema((Column("a", "category", ("x",)),))
    found, notes = encode_table(schema, pd.DataFrame({"a": ["other"] * 20}))
    assert not found.any()
    assert len(notes) == 1
    assert "Column 'a' holds no text that the model knows" in notes[0]
    assert encode_table(schema, pd.DataFrame({"a": ["other"] * 19 + ["x"]}))[1] == []


def test_what_is_a_table():
    X = pd.DataFrame({"a": [1]})
    assert not is_table(X.rename(columns={"a": 0}))
    assert not is_table(X.astype(pd.SparseDtype(float)))
    for other in (
        X.to_numpy(),
        X["a"],
        pl.Series([1]),
        [[1]],
        pa.array([1]),
        pa.chunked_array([[1]]),
        None,
        "x",
    ):
        assert not is_table(other)


@pytest.mark.parametrize(
    ("y", "labels", "kind"),
    [
        (pd.Series([1, 0], dtype="int8", name="y"), np.array([1, 0]), "integer"),
        (pd.Series([1.0, 0.0], name="y"), np.array([1, 0]), "integer"),
        (pd.Series([True, False], dtype="boolean", name="y"), np.array([True, False]), "boolean"),
        (pd.Series(["b", "a"], dtype="string", name="y"), np.array(["b", "a"], object), "text"),
        (pd.Series(["b", "a"], dtype="category", name="y"), np.array(["b", "a"], object), "text"),
        (pl.Series("y", ["b", "a"]), np.array(["b", "a"], object), "text"),
        (pl.Series("y", ["b", "a"], dtype=pl.Categorical), np.array(["b", "a"], object), "text"),
        (pl.Series("y", [1.5, 0]), np.array([1.5, 0]), "number"),
        (pa.array(["b", "a"]), np.array(["b", "a"], object), "text"),
        (pa.chunked_array([[True], [False]]), np.array([True, False]), "boolean"),
    ],
)
def test_labels(y, labels, kind):
    assert is_column(y)
    found, name, found_kind = labels_of_column(y)
    assert found.dtype == labels.dtype
    assert found.tolist() == labels.tolist()
    assert (name, found_kind) == ("y" if hasattr(y, "name") else None, kind)


@pytest.mark.parametrize(
    "y", [pd.Series([1, None]), pd.Series(["a", None]), pd.Series([True, pd.NA], dtype="boolean")]
)
def test_a_missing_label_is_refused(y):
    with pytest.raises(
        InputError, match=r"y must hold a label for each row; it has none in row 1 .*Leave it out"
    ):
        labels_of_column(y)
    assert not is_column(y.to_frame())
    assert not is_column(y.to_numpy())


def test_a_date_among_moments_is_midnight():
    moments = [datetime.datetime(2024, 1, 1, 5), datetime.date(2024, 1, 2), None]
    assert column_of(moments, "d").to_pylist() == [moments[0], datetime.datetime(2024, 1, 2), None]
    assert column_of(moments[1:], "d").to_pylist() == moments[1:]
    with pytest.raises(InputError, match=r"a mixture of dates .* and times "):
        column_of([moments[0], datetime.time(3)], "d")
