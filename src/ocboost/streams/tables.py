"""Tables in memory: data frames of pandas and polars, tables of Arrow, and what else gives Arrow's stream.

A schema is inferred from the first rows as from a file that has types, and encodes a table as the command
line encodes a file. Tables of numbers need no pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.streams.dates import is_moment
from ocboost.streams.encoding import arrow, row_name
from ocboost.streams.inference import (
    infer,
    notes_on_unknown_categories,
    require_columns,
    require_different,
    usable_names,
)
from ocboost.streams.one_row import is_missing, is_number
from ocboost.streams.records import SAMPLE_ROWS
from ocboost.streams.schema import Schema
from ocboost.streams.stream import labels_as_in_files

_TABLE = "the table"  # its name in messages


def is_table(X: Any) -> bool:
    """Whether X is a table whose columns have names: texts, as scikit-learn asks for.

    A data frame of pandas with other names, or with sparse columns, is none.

    >>> is_table(np.eye(2))
    False
    """
    if isinstance(X, np.ndarray | list | tuple) or len(getattr(X, "shape", (0, 0))) != 2:
        return False
    if _is_pandas(X):
        if any("Sparse" in type(dtype).__name__ for dtype in X.dtypes):
            return False
        return X.shape[1] > 0 and all(isinstance(name, str) for name in X.columns)
    if type(X).__name__ == "LazyFrame":
        raise InputError("X must be a table in memory; got a LazyFrame. Call its collect() first.")
    if hasattr(X, "__arrow_c_stream__"):
        return not hasattr(X, "num_chunks")  # of a single column of Arrow
    return hasattr(X, "__arrow_c_array__") and hasattr(X, "num_columns")


def has_other_than_numbers(X: Any) -> bool:
    """Whether X is a table with texts, dates or the like, whatever the names of its columns are.

    >>> has_other_than_numbers(np.eye(2))
    False
    """
    if _is_polars(X):
        return any(not dtype.is_numeric() and str(dtype) not in ("Boolean", "Null") for dtype in X.dtypes)
    if hasattr(X, "dtypes"):
        found = {getattr(dtype, "kind", "f") for dtype in list(X.dtypes)} & set("OMm")
        return bool(found) and (found != {"O"} or not _spells_numbers(X))
    kinds = X.schema.types if hasattr(X, "schema") and hasattr(X, "num_columns") else ()
    numbers = ("int", "uint", "float", "double", "halffloat", "bool", "decimal", "null")
    return any(not str(kind).startswith(numbers) for kind in kinds)


def _spells_numbers(X: Any) -> bool:
    try:
        np.asarray(X, np.float64)
    except (TypeError, ValueError):
        return False
    return True


def is_column(y: Any) -> bool:
    """Whether y is a column of a table: a series of pandas or polars, or an array of Arrow."""
    if isinstance(y, np.ndarray | list | tuple):
        return False
    of_arrow = hasattr(y, "__arrow_c_array__") or hasattr(y, "__arrow_c_stream__")
    return not hasattr(y, "columns") and (of_arrow or (hasattr(y, "iloc") and hasattr(y, "to_numpy")))


def schema_of_table(X: Any, label: str | None = None) -> tuple[Schema, list[str]]:
    """A schema of the columns of a table, inferred from the first 10,000 rows, and notes on those left out.

    A column with the name of the label is left out.
    """
    notes: list[str] = []
    every = names_in(X)
    names = usable_names(every, _TABLE, notes)
    if label in names:
        names.remove(label)
        notes.append(f"Column {label!r:.80} is left out: it is the label.")
    first = _first_rows(X)
    if not first.shape[0]:
        raise InputError("X must have at least one row; got a table without rows.")
    values = _all_numbers(first, names)
    if values is None:
        found = {name: _column(first, name, every) for name in names}
        schema, more = infer(found, names, typed=True, label=None, drop=())
        return schema, notes + more
    used = [name for name, column in zip(names, values.T, strict=True) if not np.isnan(column).all()]
    left = [name for name in names if name not in used]
    notes += [
        f"Column {name!r:.80} is left out: it is empty in the first {len(values)} rows." for name in left
    ]
    if not used:
        raise InputError(
            f"X must have a column of numbers, categories or dates; it has none. {' '.join(notes)}"
        )
    return Schema.of_numbers(used), notes


def encode_table(schema: Schema, X: Any) -> tuple[NDArray[np.float64], list[str]]:
    """The features of a table, (n, F), by a schema, and notes on columns none of whose texts it knows."""
    every = names_in(X)
    require_columns(schema, every, _TABLE)
    names = list(schema.column_names)
    if len(set(every)) < len(every):
        known = set(names)
        require_different([name for name in every if name in known], _TABLE)
    if all(column.kind == "number" for column in schema.columns):
        values = _all_numbers(X, names)
        if values is not None:
            _require_finite(values, names)
            return values, []
    pa = arrow()
    columns = {name: _column(X, name, every) for name in names}
    encoded = schema.encode(pa.table(list(columns.values()), names=names))
    sample = {name: column[:SAMPLE_ROWS] for name, column in columns.items()}
    return encoded, notes_on_unknown_categories(schema, sample)


def labels_of_column(y: Any) -> tuple[NDArray[Any], str | None, str]:
    """The labels of a series or an Arrow array as files have them, its name, and the kind of the labels.

    Every row must have one.
    """
    values = np.asarray(y)
    if values.dtype == object:
        values = np.array([None if is_missing(value) else value for value in values.tolist()], object)
    labels, known, kind = labels_as_in_files(values, len(values))
    if not known.all():
        row = int(np.argmin(known))
        raise InputError(f"y must hold a label for each row; it has none in {row_name(row)}. Leave it out.")
    name = getattr(y, "name", None)
    return labels, name if isinstance(name, str) and name.strip() else None, kind


def is_other_column(X: Any, name: str | None, labels: NDArray[Any]) -> bool:
    """Whether a table has a column of the labels' name that is something else: what they were made from."""
    every = names_in(X)
    if name is None or name not in every:
        return False
    column = X.iloc[:, every.index(name)] if _is_pandas(X) else _column(X, name, every)
    try:
        return not np.array_equal(labels_of_column(column)[0], labels)
    except InputError:
        return True


def with_label(schema: Schema, name: str | None, kind: str | None) -> Schema:
    """The schema with the name and the kind of its label."""
    return schema if name is None else replace(schema, label=name, label_kind=kind)


def names_in(X: Any) -> list[str]:
    """The names of the columns of a table."""
    if hasattr(X, "columns") and not hasattr(X, "column_names"):
        return list(X.columns)  # pandas and polars
    return list(X.column_names) if hasattr(X, "column_names") else list(_as_arrow(X).column_names)


# The columns of each kind of table --------------------------------------------------------------------------


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns") and _is_of("pandas", X)


def _is_polars(X: Any) -> bool:
    return hasattr(X, "get_column") and _is_of("polars", X)


def _is_of(library: str, X: Any) -> bool:
    return any(base.__module__.partition(".")[0] == library for base in type(X).__mro__)


def _as_arrow(X: Any) -> Any:
    pa = arrow()
    if isinstance(X, pa.Table):
        return X
    try:
        return pa.table(X)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            "X must be a table: a data frame of pandas or polars, or a table of Arrow; got "
            f"{type(X).__name__} ({str(error)!s:.80})."
        ) from None


def _first_rows(X: Any) -> Any:
    if _is_pandas(X) or _is_polars(X):
        return X.head(SAMPLE_ROWS)
    return _as_arrow(X).slice(0, SAMPLE_ROWS)


def _all_numbers(X: Any, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Columns of pandas or polars that are all numbers or truth values; None if they are not."""
    if _is_pandas(X):
        picked = X if list(X.columns) == list(names) else X[list(names)]
        if not all(dtype.kind in "biuf" for dtype in picked.dtypes):
            return None
        values = picked.to_numpy(dtype=np.float64, na_value=np.nan)
    elif _is_polars(X):
        import polars

        picked = X.select(list(names))
        if not all(dtype.is_numeric() or dtype == polars.Boolean for dtype in picked.dtypes):
            return None
        values = picked.cast(polars.Float64).fill_null(float("nan")).to_numpy()
    else:
        return None
    return np.array(values, np.float64, order="C")


def _require_finite(values: NDArray[np.float64], names: Sequence[str]) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row, column = divmod(int(np.argmax(infinite)), len(names))
        raise InputError(
            f"column {names[column]!r} must hold finite numbers; got {values[row, column]} in "
            f"{row_name(row)}. Give NaN if the value is not known, or drop the column."
        )


def _column(X: Any, name: str, every: Sequence[str]) -> Any:
    """One column as an Arrow array; one that a model cannot read is an error that names it."""
    pa = arrow()
    if _is_pandas(X):
        found = _column_of_series(X.iloc[:, every.index(name)], name)
    elif _is_polars(X):
        found = X.get_column(name).to_arrow()
    else:
        found = _as_arrow(X).column(name)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    kind = found.type
    flat = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(flat) or "binary" in str(flat) or isinstance(flat, pa.BaseExtensionType):
        raise _unreadable(name, f"values of type {kind}")
    return found


def _column_of_series(values: Any, name: str) -> Any:
    """A series of pandas as an Arrow array."""
    pa = arrow()
    try:
        found = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        if values.dtype != object:
            raise _unreadable(name, f"values of type {values.dtype}") from None
        return column_of(values.tolist(), name)
    # Objects with time zones: each has its own clock.
    return column_of(values.tolist(), name) if values.dtype == object and is_moment(found.type) else found


def column_of(values: Iterable[Any], name: str) -> Any:
    """Values of Python as an Arrow array: numbers, truth values, texts or dates, and not a mixture."""
    pa = arrow()
    known: list[Any] = [None if is_missing(value) else value for value in values]
    examples: dict[str, Any] = {}
    for value in known:
        if value is not None:
            examples.setdefault(kind_of_value(value, name), value)
    if len(examples) > 1:
        mixture = " and ".join(f"{kind}s ({examples[kind]!r:.40})" for kind in sorted(examples))
        raise _unreadable(name, f"a mixture of {mixture}")
    kinds = set(examples)
    if kinds <= {"text"}:
        return pa.array([None if value is None else str(value) for value in known], "string")
    if kinds == {"number"}:
        if all(value is None or isinstance(value, bool | np.bool_) for value in known):
            return pa.array(known, "bool")
        return pa.array([None if value is None else _as_float(value) for value in known], "float64")
    plain = [
        value if getattr(value, "tzinfo", None) is None else value.replace(tzinfo=None) for value in known
    ]
    if any(isinstance(value, datetime) for value in plain):  # a date among them is midnight
        plain = [datetime.combine(value, time()) if type(value) is date else value for value in plain]
    try:
        found = pa.array(plain, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        found = None
    if found is None or not is_moment(found.type):
        raise _unreadable(name, "dates and times that do not go together")
    return found


def kind_of_value(value: Any, name: str) -> str:
    """What a value that is not missing is: a number, a text, a date or a time (of day)."""
    if isinstance(value, str):
        return "text"
    if is_number(value):
        return "number"
    if isinstance(value, date | np.datetime64):
        return "date"
    if isinstance(value, time):
        return "time"
    raise _unreadable(name, f"{value!r:.60}")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _unreadable(name: str, what: str) -> InputError:
    return InputError(
        f"column {name!r:.80} must hold numbers, truth values, texts or dates; it holds {what}. Convert it, "
        "or drop it."
    )
