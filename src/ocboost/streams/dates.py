"""Dates and times turned into numbers: the month, the day, the day of the week, the hour.

The clock time counts as it is written, whatever the time zone. A date without a time is midnight; a time
without a date has only an hour. `moments` reads a column of Arrow and `features_of` computes its features;
`features_of_value` finds the same for one value, without Arrow.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.streams.encoding import BadRowError, arrow, is_text, plain, row_name, without_missing

DATE_PARTS = ("year", "month", "day", "weekday", "hour")
YEARS_FOR_YEAR = 10  # dates that span more years than these tell the age of something

ISO_TIME = r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?"
ISO_DATE = rf"(\d{{4}}-\d{{2}}-\d{{2}})(?:[ T]{ISO_TIME}(?: ?(?:Z|[+-]\d{{2}}(?::?\d{{2}})?))?)?"
_ISO_TIME, _ISO_DATE = re.compile(ISO_TIME, re.ASCII), re.compile(ISO_DATE, re.ASCII)
_EXAMPLES = "such as 2024-01-31, 2024-01-31 17:05 or 17:05:30"
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}  # in nanoseconds
_NS_PER_DAY = 86_400 * 10**9
_NS_PER_HOUR = 3600.0 * 1e9
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = (day.toordinal() - _EPOCH for day in (date.min, date.max))


class Moments(NamedTuple):
    """Days since 1970, nanoseconds since midnight, and which rows have a date and a time of day."""

    days: NDArray[np.int64]
    clock: NDArray[np.int64]
    has_day: NDArray[np.bool_]
    has_clock: NDArray[np.bool_]


def features_of(moments: Moments, parts: tuple[str, ...]) -> NDArray[np.float64]:
    """The parts of dates as numbers, (n, parts); NaN where there is no date.

    Months and days count from 1, days of the week from 0 (Monday) as in Python, hours have a fraction.

    >>> features_of(Moments(*(np.array([v]) for v in (19753, 63_000 * 10**9, True, True))), DATE_PARTS)
    array([[2.024e+03, 1.000e+00, 3.100e+01, 2.000e+00, 1.750e+01]])
    """
    X = np.full((len(moments.days), len(parts)), np.nan)
    days = moments.days.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    for place, part in enumerate(parts):
        if part == "hour":
            X[moments.has_clock, place] = moments.clock[moments.has_clock] / _NS_PER_HOUR
            continue
        if part == "year":
            found = months.astype("datetime64[Y]").astype(np.int64) + 1970
        elif part == "month":
            found = months.astype(np.int64) % 12 + 1
        elif part == "day":
            found = (days - months.astype("datetime64[D]")).astype(np.int64) + 1
        else:
            found = (moments.days + 3) % 7
        X[moments.has_day, place] = found[moments.has_day]
    return X


def parts_that_matter(moments: Moments) -> tuple[str, ...]:
    """The parts of a column's dates that become features.

    The hour only where one is not midnight; the year only where the dates span more than ten years, as those
    of births do: in a stream of some years it would only tell the rows learnt from those to come.
    """
    if not moments.has_day.any():
        return ("hour",)
    days = moments.days[moments.has_day].astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)
    year = ("year",) if int(days.max() - days.min()) > YEARS_FOR_YEAR else ()
    hour = ("hour",) if moments.clock[moments.has_clock].any() else ()
    return (*year, "month", "day", "weekday", *hour)


# Columns ----------------------------------------------------------------------------------------------------


def moments(column: Any, name: str, first: int) -> Moments:
    """The dates or times in a column of Arrow: timestamps, dates, times, or texts as ISO 8601 has them."""
    pa = arrow()
    column = plain(column)
    kind, types = column.type, pa.types
    if is_text(kind):
        return _spelt_moments(without_missing(column), name, first)
    n, known = len(column), column.is_valid().to_numpy(zero_copy_only=False)
    none, zeros = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    if types.is_null(kind):
        return Moments(zeros, zeros, none, none)
    if types.is_timestamp(kind):
        fixed = None if kind.tz is None else _OFFSET.fullmatch(kind.tz)
        if kind.tz is not None and fixed is None:
            column = arrow("compute").local_timestamp(column)
        ticks = _integers(column)
        if fixed is not None:  # which pyarrow before 21 does not know as time zones
            seconds = 3600 * int(fixed[2]) + 60 * int(fixed[3])
            ticks = ticks + (-1 if fixed[1] == "-" else 1) * seconds * 1_000_000_000 // _UNITS[kind.unit]
        days, clock = np.divmod(ticks, _NS_PER_DAY // _UNITS[kind.unit])
        return Moments(days, clock * _UNITS[kind.unit], known, known)
    if types.is_date(kind):
        return Moments(_integers(column.cast(pa.date32())), zeros, known, known)
    if types.is_time(kind):
        return Moments(zeros, _integers(column) * _UNITS[kind.unit], none, known)
    raise InputError(
        f"column {name!r} must hold dates or times, {_EXAMPLES}; got values of type {kind}. Write them as "
        "they were when the model was fitted."
    )


def is_moment(kind: Any) -> bool:
    """Whether an Arrow type is that of dates or times of day."""
    types = arrow().types
    return bool(types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind))


def _integers(column: Any) -> NDArray[np.int64]:
    pa = arrow()
    if column.type.bit_width == 32:
        column = column.view(pa.int32())
    values = column.view(pa.int64()) if column.type.bit_width == 64 else column.cast(pa.int64())
    result: NDArray[np.int64] = values.fill_null(0).to_numpy(zero_copy_only=False)
    return result


def _spelt_moments(column: Any, name: str, first: int) -> Moments:
    """The dates that texts spell."""
    pa, compute = arrow(), arrow("compute")
    spelt = compute.match_substring_regex(column, rf"^({ISO_DATE}|{ISO_TIME})$").fill_null(True)
    bad = compute.index(spelt, False).as_py()
    if bad >= 0:
        raise _not_a_date(column[bad].as_py(), bad, name, first)
    known = column.is_valid().to_numpy(zero_copy_only=False)
    alone = compute.match_substring_regex(column, rf"^({ISO_TIME})$").fill_null(False)
    alone = alone.to_numpy(zero_copy_only=False)
    replace = compute.replace_substring_regex
    texts = replace(column, r"^(\d{2}:)", r"1970-01-01T\1")
    texts = replace(texts, r"^(.{10})$", r"\1T00:00")
    texts = replace(texts, r"^(.{16})([ Z+-].*)?$", r"\1:00\2")  # 19 characters, a fraction and a zone
    part = compute.utf8_slice_codeunits
    try:
        days = _integers(part(texts, 0, 10).cast(pa.date32()))
    except pa.ArrowInvalid:  # the 30th of February
        for row, text in enumerate(column.to_pylist()):
            if text is not None:
                _spelt_moment(text, row, name, first)
        raise
    fraction = replace(part(texts, 19), r"^[.,]?(\d*).*$", r"\1")
    clock = _integers(part(compute.utf8_rpad(fraction, 9, "0"), 0, 9).cast(pa.int64()))
    for start, unit in ((11, 3600), (14, 60), (17, 1)):
        clock = clock + _integers(part(texts, start, start + 2).cast(pa.int64())) * (unit * 10**9)
    return Moments(days, clock, known & ~alone, known)


def _not_a_date(text: str, row: int, name: str, first: int) -> BadRowError:
    return BadRowError(
        row,
        f"column {name!r} must hold dates or times as ISO 8601 has them, {_EXAMPLES}; got {text!r:.80} in "
        f"{row_name(first + row)}. Correct the value, or leave the field empty if it is not known.",
        "not a date",
    )


# One value --------------------------------------------------------------------------------------------------


def features_of_value(value: Any, parts: tuple[str, ...], name: str) -> list[float]:
    """The parts of one date or time of Python, or of one that a text spells, as `features_of` has them.

    >>> features_of_value(datetime(2024, 1, 31, 17, 30), DATE_PARTS, "when")
    [2024.0, 1.0, 31.0, 2.0, 17.5]
    """
    days, clock = _moment(value, name)
    if days is None:
        return [clock / _NS_PER_HOUR if part == "hour" else math.nan for part in parts]
    if not _FIRST_DAY <= days <= _LAST_DAY:  # Python's dates end with the year 9999
        one = Moments(*(np.array([each]) for each in (days, clock, True, True)))
        found: list[float] = features_of(one, parts)[0].tolist()
        return found
    day = date.fromordinal(days + _EPOCH)
    every = (day.year, day.month, day.day, day.weekday(), clock / _NS_PER_HOUR)
    return [float(every[DATE_PARTS.index(part)]) for part in parts]


def _moment(value: Any, name: str) -> tuple[int | None, int]:
    """Days since 1970, if there is a date, and nanoseconds since midnight."""
    if isinstance(value, str):
        return _spelt_moment(str(value), 0, name, 0)
    if isinstance(value, datetime):
        return value.toordinal() - _EPOCH, _clock(value)
    if isinstance(value, date):
        return value.toordinal() - _EPOCH, 0
    if isinstance(value, time):
        return None, _clock(value)
    if isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]")
        clock = (value - day).astype("timedelta64[ns]").astype(np.int64)
        return int(day.astype(np.int64)), int(clock)
    raise InputError(
        f"column {name!r} must hold dates or times, {_EXAMPLES}; got {value!r:.80}. Write it as they were "
        "when the model was fitted."
    )


def _clock(value: Any) -> int:
    seconds: int = (value.hour * 60 + value.minute) * 60 + value.second
    nanoseconds: int = value.microsecond * 1000 + getattr(value, "nanosecond", 0)
    return seconds * 10**9 + nanoseconds


def _spelt_moment(text: str, row: int, name: str, first: int) -> tuple[int | None, int]:
    found = _ISO_DATE.fullmatch(text)
    days = None
    if found is not None:
        try:
            days = int(np.datetime64(found[1], "D").astype(np.int64))
        except ValueError:
            raise _not_a_date(text, row, name, first) from None
    else:
        found = _ISO_TIME.fullmatch(text)
    if found is None:
        raise _not_a_date(text, row, name, first)
    hour, minute, second, fraction = found.groups()[-4:]
    seconds = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)
    return days, seconds * 10**9 + (int(f"{fraction:0<9}"[:9]) if fraction else 0)
