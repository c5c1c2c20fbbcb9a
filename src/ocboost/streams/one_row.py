"""One row, a dictionary, turned into numbers without Arrow: as `Schema.encode` does for a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.streams.dates import features_of_value
from ocboost.streams.encoding import MISSING, spelt_number


class AnyColumn(Protocol):
    """A `Column`."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def categories(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def parts(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def n_features(self) -> int: ...  # noqa: D102


Write = Callable[[NDArray[np.float64], int, Any], None]  # the features of a value that is not missing


class RowEncoder:
    """Encodes rows of given columns, each a dictionary of values by column."""

    def __init__(self, columns: Sequence[AnyColumn]) -> None:
        steps: list[tuple[str, int, Write]] = []
        place = 0
        self._missing = np.empty(sum(column.n_features for column in columns))
        for column in columns:
            steps.append((column.name, place, _writer(column)))
            end = place + column.n_features
            self._missing[place:end] = 0.0 if column.kind == "category" else np.nan
            place = end
        self._steps = steps

    def encode(self, row: Mapping[str, Any]) -> NDArray[np.float64]:
        """The features, (F,)."""
        x = self._missing.copy()
        for name, place, write in self._steps:
            value = row.get(name)
            if value == value if type(value) is float else not is_missing(value):
                write(x, place, value)
        return x


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA.

    >>> is_missing(None), is_missing(np.datetime64("NaT")), is_missing("NA"), is_missing(0)
    (True, True, False, False)
    """
    if value is None or type(value) in (str, bool, int):
        return value is None
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _writer(column: AnyColumn) -> Write:
    if column.kind == "number":
        return partial(_write_number, column.name)
    if column.kind == "date":
        return partial(_write_date, column.name, column.parts)
    index = {text: place for place, text in enumerate(column.categories)}
    return partial(_write_category if column.kind == "category" else _write_code, column.name, index)


def _write_number(name: str, x: NDArray[np.float64], place: int, value: Any) -> None:
    x[place] = number = value if type(value) is float else as_number(value, name)
    if number in (np.inf, -np.inf):
        raise InputError(
            f"column {name!r} must hold finite numbers; got {number}. Give None if the value is not known."
        )


def as_number(value: Any, name: str) -> float:
    """A value of a column of numbers: a number, a truth value, or a text that spells one."""
    found: float | None = None
    if isinstance(value, str):
        found = spelt_number(value)
    elif is_number(value):
        try:
            found = float(value)
        except OverflowError:
            found = np.inf if value > 0 else -np.inf
    if found is None:
        raise InputError(
            f"column {name!r} must hold numbers; got {value!r:.80}. Correct the value, or give null "
            "(None) if it is not known."
        )
    return found


def is_number(value: Any) -> bool:
    """Whether a value is a number or a truth value, of Python, NumPy or `decimal`."""
    return isinstance(value, Real | np.number | np.bool_) or type(value).__name__ == "Decimal"


def _write_date(name: str, parts: tuple[str, ...], x: NDArray[np.float64], place: int, value: Any) -> None:
    if not isinstance(value, str) or value not in MISSING:
        x[place : place + len(parts)] = features_of_value(value, parts, name)


def _write_category(name: str, index: dict[str, int], x: NDArray[np.float64], place: int, value: Any) -> None:
    found = index.get(_as_text(value, index, name))
    if found is not None:
        x[place + found] = 1.0


def _write_code(name: str, index: dict[str, int], x: NDArray[np.float64], place: int, value: Any) -> None:
    text = _as_text(value, index, name)
    if text in index or text not in MISSING:
        x[place] = index.get(text, -1)


def _as_text(value: Any, index: dict[str, int], name: str) -> str:
    if isinstance(value, str):
        return value
    example = f", such as {next(iter(index))!r:.40}" if index else ""
    raise InputError(
        f"column {name!r} must hold texts{example}; got {value!r:.80}. Write it as it was when the model was "
        "fitted."
    )
