"""Dates and times: what is used of them, the same from every source."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost.errors import InputError
from ocboost.streams import Column, Schema, open_stream
from ocboost.streams.dates import DATE_PARTS, features_of, features_of_value, moments
from tests.support.stream_files import all_rows, write_csv, write_jsonl

ALL = Column("d", "date", parts=DATE_PARTS)
NAN = np.nan


def encoded(values, *, column=ALL):
    return Schema((column,)).encode(pa.table({"d": values}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", [2024, 1, 31, 2, 0]),
        ("2024-01-31 17:05", [2024, 1, 31, 2, 17 + 5 / 60]),
        ("2024-02-29T17:30:00Z", [2024, 2, 29, 3, 17.5]),
        ("2024-12-30 00:00:36.5+01:00", [2024, 12, 30, 0, 0.01 + 0.5 / 3600]),
        ("1969-12-28T23:59:59,999999999 -0330", [1969, 12, 28, 6, (86_400 - 1e-9) / 3600]),
        ("0000-03-01T06:00+05", [0, 3, 1, 2, 6]),
        ("18:45", [NAN, NAN, NAN, NAN, 18.75]),
        ("NA", [NAN] * 5),
        (None, [NAN] * 5),
    ],
)
def test_texts_as_iso_8601_has_them(text, expected):
    found = encoded(pa.array([text], "string"))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    np.testing.assert_array_equal(Schema((ALL,)).encode_row({"d": text}), found)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2024-1-3",
        "31.1.2024",
        "24:00",
        "12:60",
        "2024-01-31 5:00",
        "2024-01-31T17",
        "x",
        "１２:00",
    ],
)
def test_other_texts_are_refused(text):
    message = rf"column 'd' must hold dates or times as ISO 8601 .*; got '{text}' in row 1"
    with pytest.raises(InputError, match=message):
        encoded(["2024-01-31", text])
    with pytest.raises(InputError, match="column 'd' must hold dates or times as ISO 8601"):
        Schema((ALL,)).encode_row({"d": text})
    with pytest.raises(InputError, match="column 'd' must hold dates or times, such as"):
        encoded([5])
    with pytest.raises(InputError, match="column 'd' must hold dates or times, such as"):
        Schema((ALL,)).encode_row({"d": 5})


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_every_source_gives_the_same(moment):
    """Against the parts that Python knows."""
    hour = (moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6) / 3600
    expected = [moment.year, moment.month, moment.day, moment.weekday(), hour]
    zone = timezone(timedelta(hours=-7))
    exactly = features_of_value(moment, DATE_PARTS, "d")
    np.testing.assert_allclose(exactly, expected, rtol=1e-14)
    sources = [
        pa.array([moment], pa.timestamp("us")),
        pa.array([moment.isoformat()]),
        pa.array([str(moment.replace(tzinfo=zone))]),
        pa.array([moment.replace(tzinfo=zone)], pa.timestamp("us", "-07:00")),
    ]
    for source in sources:
        assert features_of(moments(source, "d", 0), DATE_PARTS)[0].tolist() == exactly
    for value in (moment.isoformat(), np.datetime64(moment), moment.replace(tzinfo=zone)):
        assert features_of_value(value, DATE_PARTS, "d") == exactly
    day, clock = moment.date(), moment.time()
    assert encoded([day])[0, :4].tolist() == exactly[:4] == features_of_value(day, DATE_PARTS, "d")[:4]
    assert encoded([clock])[0, 4] == exactly[4] == features_of_value(clock, ("hour",), "d")[0]


def test_nanoseconds_and_other_units():
    stamp = pd.Timestamp("2024-01-31 17:05:06.123456789", tz="Europe/Berlin")
    exactly = features_of_value(stamp, DATE_PARTS, "d")
    assert exactly[4] == (17 * 3600 + 5 * 60 + 6.123456789) / 3600
    assert encoded(pa.array([stamp], pa.timestamp("ns", "Europe/Berlin")))[0].tolist() == exactly
    for unit in ("s", "ms"):
        assert encoded(pa.array([0, None], pa.timestamp(unit)))[0].tolist() == [1970, 1, 1, 3, 0]
        assert (
            encoded(pa.array([3600], pa.int32()).cast(pa.time32(unit)))[0, 4] == {"s": 1, "ms": 0.001}[unit]
        )
    assert encoded(pa.array([date(2024, 1, 31)], pa.date64()))[0].tolist() == [2024, 1, 31, 2, 0]
    far = np.datetime64("20000-05-06")
    assert features_of_value(far, DATE_PARTS, "d")[:3] == [20000, 5, 6]


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (["2024-01-31", None, "2024-02-01 00:00"], ("month", "day", "weekday")),
        (["2024-01-31", "2024-02-01 17:00"], ("month", "day", "weekday", "hour")),
        (["1950-01-31", "2024-02-01"], ("year", "month", "day", "weekday")),
        (["2014-01-31", "2024-02-01"], ("month", "day", "weekday")),
        (["17:05", "NA"], ("hour",)),
        ([datetime(2024, 1, 1), None], ("month", "day", "weekday")),
        ([datetime(2024, 1, 1, 1), None], ("month", "day", "weekday", "hour")),
        ([time(0, 0)], ("hour",)),
        ([date(2024, 1, 1), date(2000, 1, 1)], ("year", "month", "day", "weekday")),
    ],
)
def test_what_is_used_of_them(values, parts, tmp_path):
    pq.write_table(pa.table({"d": values, "n": range(len(values))}), tmp_path / "t.parquet")
    paths = [tmp_path / "t.parquet"]
    if isinstance(values[0], str):
        rows = list(zip(values, range(len(values)), strict=True))
        paths += [write_csv(tmp_path / "t.csv", "dn", rows), write_jsonl(tmp_path / "t.jsonl", "dn", rows)]
    found = []
    for path in paths:
        with open_stream(path) as stream:
            assert stream.schema.columns == (Column("d", "date", parts=parts), Column("n"))
            assert stream.notes == []
            found.append(all_rows(stream)[0])
    for X in found:
        np.testing.assert_array_equal(X, found[0])


def test_days_that_do_not_exist_and_a_bad_row(tmp_path):
    path = write_csv(tmp_path / "t.csv", "dn", [("2024-13-01", 1), ("2024-01-01", 2)])
    with open_stream(path) as stream:
        assert [column.name for column in stream.schema.columns] == ["n"]
        assert (
            "Column 'd' is left out: it holds dates or times, such as '2024-13-01'. Write" in stream.notes[0]
        )
    rows = [(f"2024-01-{k % 28 + 1:02}", k) for k in range(11_000)]
    path = write_csv(tmp_path / "t.csv", "dn", [*rows, ("soon", 1)])
    with open_stream(path, batch_size=1000) as stream:
        assert sum(len(next(stream)) for _ in range(11)) == 11_000
        with pytest.raises(InputError, match="got 'soon' in row 11000"):
            next(stream)
