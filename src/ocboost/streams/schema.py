"""What the columns of a stream are, and how they become numbers.

The names of columns: which are there, which are wanted, and what may have been meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import require
from ocboost.errors import InputError
from ocboost.streams import encoding

MAX_CATEGORIES = 64
LABEL_KINDS = ("integer", "number", "text", "boolean")
LONGEST_TEXT = 1000  # characters of a name or a category
MOST_COLUMNS = 1 << 16
MOST_FEATURES = 1 << 18


@dataclass(frozen=True)
class Column:
    """A column of a stream.

    Parameters
    ----------
    name : str
        Its name in the file.
    kind : {"number", "category"}
        A number is one feature; truth values are the numbers 0 and 1. A category is one feature for each
        of `categories`, 1 where the value is that one; all are 0 for other values and missing ones.
    categories : tuple of str
        The values that have a feature, the most frequent first; at most 64.
    """

    name: str
    kind: str = "number"
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fault = _fault_of_column(self)
        if fault:
            raise InputError(f"{fault}; got {self.name!r:.80}, {self.kind!r:.80}.")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for a number, ``name=value`` for each category."""
        return (self.name,) if self.kind == "number" else tuple(f"{self.name}={c}" for c in self.categories)


@dataclass(frozen=True)
class Schema:
    """The columns of a stream that are features, and its label.

    Parameters
    ----------
    columns : tuple of Column
        The features come in this order.
    label : str, optional
        The name of the label column.
    label_kind : {"integer", "number", "text", "boolean"}, optional
        What the labels are. None without a label, or if only the file can tell.

    Examples
    --------
    >>> schema = Schema((Column("distance"), Column("carrier", "category", ("UA", "B6"))), "late", "boolean")
    >>> schema.feature_names
    ('distance', 'carrier=UA', 'carrier=B6')
    """

    columns: tuple[Column, ...]
    label: str | None = None
    label_kind: str | None = None

    def __post_init__(self) -> None:
        fault = _fault_of_schema(self)
        if fault:
            raise InputError(f"{fault}.")

    @classmethod
    def of_numbers(
        cls, feature_names: Iterable[str], label: str | None = None, label_kind: str | None = None
    ) -> Schema:
        """The schema of features that all are numbers.

        >>> Schema.of_numbers(["a", "b"]).n_features
        2
        """
        return cls(tuple(Column(name) for name in feature_names), label, label_kind)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in their order."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @cached_property
    def n_features(self) -> int:
        """How many features there are."""
        return sum(len(column.feature_names) for column in self.columns)

    def encode(self, record_batch: Any, *, first: int = 0) -> NDArray[np.float64]:
        """The features of an Arrow record batch or table, (n, F) float64; a missing number is NaN.

        Columns are found by name. `first` is the number of its first row, for the text of errors.
        """
        X = np.empty((record_batch.num_rows, self.n_features))
        place = 0
        for column in self.columns:
            values = _column_of(record_batch, column.name)
            if column.kind == "number":
                X[:, place] = encoding.numbers(values, column.name, first)
                place += 1
                continue
            end = place + len(column.categories)
            X[:, place:end] = 0.0
            codes = encoding.codes(values, column.categories, column.name)
            rows = np.flatnonzero(codes >= 0)
            X[rows, place + codes[rows]] = 1.0
            place = end
        return X

    def encode_label(self, column: Any, *, first: int = 0) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The labels in an Arrow array, and which of them are known.

        They are int64, float64, bool or str objects; where one is missing stands 0, NaN, False or "".
        """
        if self.label is None or self.label_kind is None:
            raise InputError("the schema must have a label of a known kind to encode labels; it has none.")
        return encoding.labels(column, self.label_kind, self.label, first)

    def as_dict(self) -> dict[str, Any]:
        """The schema for JSON: a number is its name, a category its name and its categories.

        >>> Schema((Column("a"), Column("b", "category", ("x",)))).as_dict()
        {'columns': ['a', ['b', ['x']]], 'label': None, 'label_kind': None}
        """
        columns = [c.name if c.kind == "number" else [c.name, list(c.categories)] for c in self.columns]
        return {"columns": columns, "label": self.label, "label_kind": self.label_kind}

    @classmethod
    def from_dict(cls, d: object, name: str) -> Schema:
        """The schema that `as_dict` has written; `name` is the file's, for the text of errors."""
        fits = isinstance(d, dict) and set(d) == {"columns", "label", "label_kind"}
        require(fits, name, "its schema must have columns, label and label_kind")
        assert isinstance(d, dict)
        found = d["columns"]
        fits = isinstance(found, list) and len(found) <= MOST_COLUMNS
        require(fits, name, "the columns of its schema must be a list")
        try:
            return cls(tuple(_column_from(entry, name) for entry in found), d["label"], d["label_kind"])
        except InputError as error:
            require(False, name, f"its schema is wrong: {str(error).rstrip('.')}")
            raise


def _column_from(entry: object, name: str) -> Column:
    if isinstance(entry, str):
        return Column(entry)
    fits = isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], list)
    require(fits, name, "a column of its schema must be a name, or a name and categories")
    assert isinstance(entry, list)
    require(all(isinstance(c, str) for c in entry[1]), name, "categories must be texts")
    return Column(entry[0], "category", tuple(entry[1]))


def _column_of(record_batch: Any, name: str) -> Any:
    place = record_batch.schema.get_field_index(name)
    if place < 0:
        raise InputError(
            f"the record batch must have one column {name!r}; it has {', '.join(record_batch.schema.names)}."
        )
    return record_batch.column(place)


def _is_text(value: object) -> bool:
    """Whether a value is a text of moderate length that UTF-8 can hold."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fault_of_column(column: Column) -> str | None:
    categories = column.categories
    if not _is_text(column.name) or not column.name:
        return f"the name of a column must be a text of 1 to {LONGEST_TEXT} characters"
    if column.kind not in ("number", "category"):
        return "the kind of a column must be 'number' or 'category'"
    if not isinstance(categories, tuple) or len(categories) > MAX_CATEGORIES:
        return f"the categories of a column must be a tuple of at most {MAX_CATEGORIES} texts"
    if column.kind == "number" and categories:
        return "a column of numbers has no categories"
    if not all(_is_text(c) for c in categories) or len(set(categories)) != len(categories):
        return f"categories must be different texts of at most {LONGEST_TEXT} characters"
    return None


def _fault_of_schema(schema: Schema) -> str | None:
    columns = schema.columns
    if not isinstance(columns, tuple) or not all(isinstance(c, Column) for c in columns):
        return "the columns of a schema must be a tuple of Column"
    if not 1 <= len(columns) <= MOST_COLUMNS:
        return f"a schema must have 1 to {MOST_COLUMNS} columns; got {len(columns)}"
    names = {c.name for c in columns}
    if len(names) != len(columns):
        return "the columns of a schema must have different names"
    if not 1 <= schema.n_features <= MOST_FEATURES:
        return f"a schema must have 1 to {MOST_FEATURES} features; got {schema.n_features}"
    if schema.label is not None and (not _is_text(schema.label) or not schema.label):
        return f"the label of a schema must be a name; got {schema.label!r:.80}"
    if schema.label in names:
        return f"the label {schema.label!r:.80} must not be a feature as well"
    if schema.label_kind is not None and (
        schema.label is None or schema.label_kind not in LABEL_KINDS  # may be anything in a file
    ):
        return f"the label_kind of a schema must be one of {', '.join(LABEL_KINDS)}, or None without a label"
    return None


_SHOWN = 20


def listed(names: Collection[str]) -> str:
    """Names for a message, not too many of them.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"{name!r:.80}" for name in list(names)[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def meant(name: str, names: Iterable[str]) -> str | None:
    """The name that may have been meant.

    >>> meant("Carier", ["origin", "carrier"])
    'carrier'
    """
    by_lower = {other.strip().lower(): other for other in names}
    cutoff = 0.6 if len(name) <= 3 else 0.7
    close = get_close_matches(name.strip().lower(), by_lower, 1, cutoff)
    return by_lower[close[0]] if close else None


def usable_names(fields: Sequence[str], file: str, notes: list[str]) -> list[str]:
    """The names of a file's columns without those that are empty; they must differ."""
    names = [name for name in fields if name.strip()]
    if len(names) < len(fields):
        notes.append(
            f"Columns without a name are left out (column {_unnamed(fields)}); perhaps they number the rows."
        )
    if not names:
        raise InputError(f"{file} must begin with a line that names the columns; it has no names. Add one.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{file} must have different names for its columns; {listed(repeated)} stand there twice or "
            "more. Rename them. Does the file begin with a line of names?"
        )
    if len(names) > MOST_COLUMNS or any(len(name) > LONGEST_TEXT for name in names):
        raise InputError(
            f"{file} must have at most {MOST_COLUMNS} columns with names of at most {LONGEST_TEXT} "
            "characters. Does it begin with a line of names?"
        )
    return names


def _unnamed(fields: Sequence[str]) -> str:
    return ", ".join([str(place) for place, name in enumerate(fields, 1) if not name.strip()][:_SHOWN])


def require_name(parameter: str, name: str, names: Collection[str], file: str) -> None:
    """Refuse a name that is not a column."""
    if name in names:
        return
    other = meant(name, names)
    advice = f"Did you mean {other!r}?" if other is not None else "Give one of these."
    raise InputError(
        f"{parameter} must name a column of {file}; got {name!r:.80}, and it has {listed(names)}. {advice}"
    )


def require_columns(schema: Schema, names: Collection[str], file: str) -> None:
    """Refuse a file that lacks columns of a schema."""
    present = set(names)
    gone = [column.name for column in schema.columns if column.name not in present]
    if not gone:
        return
    known = {column.name for column in schema.columns} | {schema.label}
    unknown = [name for name in names if name not in known]
    pairs = [(name, meant(name, unknown)) for name in gone]
    renames = [f"{other!r} to {name!r}" for name, other in pairs if other is not None][:_SHOWN]
    advice = f"Was it renamed? Then rename {', '.join(renames)}." if renames else "Add what it lacks."
    raise InputError(
        f"{file} must have the columns the model was made for; it lacks {listed(gone)}"
        + (f", and has {listed(unknown)}, which the model does not know. " if renames else ". ")
        + advice
    )
