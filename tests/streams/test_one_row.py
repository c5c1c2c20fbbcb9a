"""One row as a dictionary gives the features that a table of it gives."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost.errors import InputError
from ocboost.streams import Column, Schema
from ocboost.streams.dates import DATE_PARTS

SCHEMA = Schema(
    (
        Column("n"),
        Column("c", "category", ("x", "y", "NA")),
        Column("d", "date", parts=DATE_PARTS),
        Column("c", "code", ("y", "z", "")),
        Column("m"),
    )
)
NUMBERS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_infinity=False)
    | st.sampled_from(
        ["1.5", " 2", "-3e2", "true", "False", "NA", "", "nan", "+7", "one", "1,5", "inf", "0x1"]
    )
)
TEXTS = st.none() | st.sampled_from(["x", "y", "z", "NA", "", "null", "other", " x", "ü"])
DATES = (
    st.none()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.sampled_from(["2024-01-31", "2024-01-31T17:05Z", "17:05", "NA", "2024-02-30", "x", ""])
)


@given(n=NUMBERS, c=TEXTS, d=DATES, m=NUMBERS)
def test_a_row_and_a_table_give_the_same(n, c, d, m):
    row = {"n": n, "c": c, "d": d, "m": m, "more": object()}
    columns = {name: pa.array([row[name]]) for name in "ncdm"}
    expected = found_or_refused(lambda: SCHEMA.encode(pa.table(columns))[0])
    np.testing.assert_array_equal(found_or_refused(lambda: SCHEMA.encode_row(row)), expected)


def found_or_refused(call):
    """What a call gives, or what it refuses and why."""
    try:
        return call()
    except InputError as error:
        return str(error).split(";")[0]


@pytest.mark.parametrize(
    "missing",
    [
        None,
        math.nan,
        np.float64("nan"),
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT"),
        Decimal("NaN"),
    ],
)
def test_what_is_missing(missing):
    x = SCHEMA.encode_row({"n": missing, "c": missing, "d": missing, "m": 1})
    np.testing.assert_array_equal(x, [np.nan, 0, 0, 0, *[np.nan] * 6, 1])
    np.testing.assert_array_equal(SCHEMA.encode_row({"m": 1}), x)


@pytest.mark.parametrize(
    "number", [3, np.int8(3), np.float32(3), True + 2, Decimal("3.0"), "3", np.uint64(3)]
)
def test_numbers_of_every_kind(number):
    assert SCHEMA.encode_row({"n": number})[0] == 3.0
    assert SCHEMA.encode_row({"n": np.bool_(True)})[0] == 1.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"n": "three"}, "column 'n' must hold numbers; got 'three'. Correct the value, or give null"),
        ({"n": [3]}, r"column 'n' must hold numbers; got \[3\]"),
        ({"n": datetime.date(2024, 1, 1)}, "column 'n' must hold numbers; got datetime.date"),
        ({"n": math.inf}, "column 'n' must hold finite numbers; got inf"),
        ({"n": 10**400}, "column 'n' must hold finite numbers; got inf"),
        ({"n": -(10**400)}, "column 'n' must hold finite numbers; got -inf"),
        ({"c": 3}, "column 'c' must hold texts, such as 'x'; got 3"),
        ({"c": True}, "column 'c' must hold texts"),
        ({"d": datetime.timedelta(1)}, "column 'd' must hold dates or times, such as 2024-01-31"),
    ],
)
def test_refusals(row, message):
    with pytest.raises(InputError, match=message):
        SCHEMA.encode_row(row)
