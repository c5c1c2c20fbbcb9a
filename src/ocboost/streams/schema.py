"""What the columns of a stream are, and how they become numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import require
from ocboost.errors import InputError
from ocboost.streams import encoding

LABEL_KINDS = ("integer", "number", "text", "boolean")
MAX_CATEGORIES = 64
MAX_NAME_LENGTH = 1000  # characters of a name or a category
MAX_COLUMNS = 1 << 16
_MAX_FEATURES = 1 << 18


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
        fault = self._fault()
        if fault:
            raise InputError(f"{fault}; got {self.name!r:.80}, {self.kind!r:.80}.")

    def _fault(self) -> str | None:
        categories = self.categories
        if not _is_name(self.name) or not self.name:
            return f"the name of a column must be a text of 1 to {MAX_NAME_LENGTH} characters"
        if self.kind not in ("number", "category"):
            return "the kind of a column must be 'number' or 'category'"
        if not isinstance(categories, tuple) or len(categories) > MAX_CATEGORIES:
            return f"the categories of a column must be a tuple of at most {MAX_CATEGORIES} texts"
        if self.kind == "number" and categories:
            return "a column of numbers has no categories"
        if not all(_is_name(c) for c in categories) or len(set(categories)) != len(categories):
            return f"categories must be different texts of at most {MAX_NAME_LENGTH} characters"
        return None

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
        fault = self._fault()
        if fault:
            raise InputError(f"{fault}.")

    def _fault(self) -> str | None:
        columns = self.columns
        if not isinstance(columns, tuple) or not all(isinstance(c, Column) for c in columns):
            return "the columns of a schema must be a tuple of Column"
        if not 1 <= len(columns) <= MAX_COLUMNS:
            return f"a schema must have 1 to {MAX_COLUMNS} columns; got {len(columns)}"
        names = {c.name for c in columns}
        if len(names) != len(columns):
            return "the columns of a schema must have different names"
        if not 1 <= self.n_features <= _MAX_FEATURES:
            return f"a schema must have 1 to {_MAX_FEATURES} features; got {self.n_features}"
        if self.label is not None and (not _is_name(self.label) or not self.label):
            return f"the label of a schema must be a name; got {self.label!r:.80}"
        if self.label in names:
            return f"the label {self.label!r:.80} must not be a feature as well"
        if self.label_kind is not None and (self.label is None or self.label_kind not in LABEL_KINDS):
            kinds = ", ".join(LABEL_KINDS)
            return f"the label_kind of a schema must be one of {kinds}, or None without a label"
        return None

    @classmethod
    def of_numbers(
        cls, feature_names: Iterable[str], label: str | None = None, label_kind: str | None = None
    ) -> Schema:
        """The schema of features that are all numbers.

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
        return sum(1 if column.kind == "number" else len(column.categories) for column in self.columns)

    def encode(self, record_batch: Any, *, first: int = 0) -> NDArray[np.float64]:
        """The features of an Arrow record batch or table, (n, F) float64; a missing number is NaN.

        Columns are found by name. `first` is the number of its first row, for error messages.
        """
        X = np.empty((record_batch.num_rows, self.n_features))
        place = 0
        for column in self.columns:
            index = record_batch.schema.get_field_index(column.name)
            if index < 0:
                names = ", ".join(record_batch.schema.names)
                raise InputError(f"the record batch must have one column {column.name!r}; it has {names}.")
            values = record_batch.column(index)
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

        They are int64, float64, bool or str objects; a missing label is 0, NaN, False or "".
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
        """The inverse of `as_dict`; `name` is that of the file, for error messages."""
        fits = isinstance(d, dict) and set(d) == {"columns", "label", "label_kind"}
        require(fits, name, "its schema must have columns, label and label_kind")
        assert isinstance(d, dict)
        entries = d["columns"]
        fits = isinstance(entries, list) and len(entries) <= MAX_COLUMNS
        require(fits, name, "the columns of its schema must be a list")
        try:
            return cls(tuple(_column_from(entry, name) for entry in entries), d["label"], d["label_kind"])
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


def _is_name(value: object) -> bool:
    """Whether a value is a text of moderate length that UTF-8 can hold."""
    if not isinstance(value, str) or len(value) > MAX_NAME_LENGTH:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
