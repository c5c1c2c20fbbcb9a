"""What the columns of a stream are, and how they become numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import require
from ocboost.errors import InputError
from ocboost.streams import encoding
from ocboost.streams.dates import DATE_PARTS, features_of, moments
from ocboost.streams.one_row import RowEncoder

COLUMN_KINDS = ("number", "category", "date", "code")
LABEL_KINDS = ("integer", "number", "text", "boolean")
MAX_CATEGORIES = 64
MAX_VOCABULARY = 1 << 16  # texts of a code column
MAX_NAME_LENGTH = 1000  # characters of a name or a category
MAX_COLUMNS = 1 << 16
_MAX_FEATURES = 1 << 18


@dataclass(frozen=True)
class Column:
    """A column of a stream or a table.

    Parameters
    ----------
    name : str
        Its name in the file.
    kind : {"number", "category", "date", "code"}
        A number is one feature; truth values are the numbers 0 and 1. A category is one feature for each of
        ``categories``, 1 where the value is that one; all are 0 for other values and missing ones. A date is
        one feature for each of ``parts``. A code is one feature: the index of the text in ``categories``, -1
        for other texts, NaN for a missing one.
    categories : tuple of str
        Of a category, the values that have a feature, the most frequent first, at most 64. Of a code, its
        vocabulary, at most 65,536 texts.
    parts : tuple of str
        Of a date, what is used of it: "year", "month" (1 to 12), "day" of the month, "weekday" (0 is Monday)
        and "hour" (with a fraction).
    """

    name: str
    kind: str = "number"
    categories: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise InputError(f"{fault}; got {self.name!r:.80}, {self.kind!r:.80}.")

    def _fault(self) -> str | None:
        categories, parts = self.categories, self.parts
        if not _is_name(self.name) or not self.name:
            return f"the name of a column must be a text of 1 to {MAX_NAME_LENGTH} characters"
        if self.kind not in COLUMN_KINDS:
            return f"the kind of a column must be one of {', '.join(map(repr, COLUMN_KINDS))}"
        most = MAX_VOCABULARY if self.kind == "code" else MAX_CATEGORIES
        if not isinstance(categories, tuple) or len(categories) > most:
            return f"the categories of a {self.kind} column must be a tuple of at most {most} texts"
        if self.kind in ("number", "date") and categories:
            return f"a {self.kind} column has no categories"
        if not all(_is_name(c) for c in categories) or len(set(categories)) != len(categories):
            return f"categories must be different texts of at most {MAX_NAME_LENGTH} characters"
        if not isinstance(parts, tuple) or parts != tuple(part for part in DATE_PARTS if part in parts):
            return f"the parts of a column must be some of {', '.join(DATE_PARTS)}, in this order"
        if bool(parts) != (self.kind == "date"):
            return "a date column must have parts, and no other has any"
        return None

    @property
    def n_features(self) -> int:
        """How many features it has."""
        return {"category": len(self.categories), "date": len(self.parts)}.get(self.kind, 1)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """``name`` for a number, ``name=value`` for each category, ``name.month``, ``name (code)``."""
        if self.kind == "category":
            return tuple(f"{self.name}={c}" for c in self.categories)
        if self.kind == "date":
            return tuple(f"{self.name}.{part}" for part in self.parts)
        return (self.name if self.kind == "number" else f"{self.name} (code)",)


@dataclass(frozen=True)
class Schema:
    """The columns of a stream that are features, and its label.

    Parameters
    ----------
    columns : tuple of Column
        The features come in this order. A text may be a category and a code at once: names must differ
        within a kind.
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
        if len({(c.name, c.kind) for c in columns}) != len(columns):
            return "the columns of a schema must have different names, or be of different kinds"
        numbers = {c.name for c in columns if c.kind == "number"}
        if any(c.kind != "number" and c.name in numbers for c in columns):
            return "a column of numbers must not be of another kind as well"
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

        Parameters
        ----------
        feature_names : iterable of str
            The columns.
        label : str, optional
            The name of the label's column.
        label_kind : str, optional
            What labels are.

        Returns
        -------
        Schema
            With a number for each name.

        Examples
        --------
        >>> Schema.of_numbers(["a", "b"]).n_features
        2
        """
        return cls(tuple(Column(name) for name in feature_names), label, label_kind)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in their order."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns that are read, each once."""
        return tuple(dict.fromkeys(column.name for column in self.columns))

    @cached_property
    def n_features(self) -> int:
        """How many features there are."""
        return sum(column.n_features for column in self.columns)

    @cached_property
    def _n_features_of(self) -> tuple[int, ...]:
        return tuple(column.n_features for column in self.columns)

    def with_columns(self, extra: Iterable[Column]) -> Schema:
        """The schema with more columns, whose features come last.

        Parameters
        ----------
        extra : iterable of Column
            What is added.

        Returns
        -------
        Schema
            A changed copy.

        Examples
        --------
        >>> Schema.of_numbers(["a"]).with_columns([Column("b", "code", ("x", "y"))]).feature_names
        ('a', 'b (code)')
        """
        return replace(self, columns=(*self.columns, *extra))

    def place_of(self, name: str, kind: str) -> int:
        """The index of the first feature of a column.

        Parameters
        ----------
        name : str
            The column.
        kind : str
            Its kind.

        Returns
        -------
        int
            From 0.

        Raises
        ------
        InputError
            If there is no such column.
        """
        place = 0
        for column in self.columns:
            if (column.name, column.kind) == (name, kind):
                return place
            place += column.n_features
        raise InputError(f"the schema must have the {kind} column {name!r:.80}; it has none.")

    def encode(
        self, record_batch: Any, *, first: int = 0, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The features of an Arrow record batch or table.

        Parameters
        ----------
        record_batch : pyarrow.RecordBatch or pyarrow.Table
            Its columns are found by name.
        first : int, default 0
            The number of its first row, for error messages.
        out : float64 array of shape (n, F), optional
            Where to write them.

        Returns
        -------
        array of shape (n, F)
            A missing number is NaN.

        Raises
        ------
        InputError
            If a column is missing, there twice, or of another kind.
        """
        X = np.empty((record_batch.num_rows, self.n_features)) if out is None else out
        place_of = {name: index for index, name in enumerate(record_batch.schema.names)}
        place = 0
        for column, n_features in zip(self.columns, self._n_features_of, strict=True):
            index = place_of.get(column.name, -1)
            if index < 0:
                names = ", ".join(record_batch.schema.names)
                raise InputError(f"the record batch must have one column {column.name!r}; it has {names}.")
            values = record_batch.column(index)
            if column.kind == "number":
                X[:, place] = encoding.numbers(values, column.name, first)
            else:
                _encode_column(column, values, X[:, place : place + n_features], first)
            place += n_features
        return X

    def encode_row(self, row: Mapping[str, Any]) -> NDArray[np.float64]:
        """The features of one row, as `encode` finds them; a column that is not there is missing.

        Parameters
        ----------
        row : mapping
            Values by column.

        Returns
        -------
        array of shape (F,)
            In float64.

        Examples
        --------
        >>> Schema((Column("a"), Column("b", "category", ("x", "y")))).encode_row({"b": "y", "a": 2})
        array([2., 0., 1.])
        """
        return self._row_encoder.encode(row)

    @cached_property
    def _row_encoder(self) -> RowEncoder:
        return RowEncoder(self.columns)

    def encode_label(self, column: Any, *, first: int = 0) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The labels in an Arrow array, and which of them are known.

        They are int64, float64, bool or str objects; a missing label is 0, NaN, False or "".

        Parameters
        ----------
        column : pyarrow.Array
            The label's column.
        first : int, default 0
            The number of its first row, for error messages.

        Returns
        -------
        tuple of arrays
            Labels, and which of them are known.

        Raises
        ------
        InputError
            If the schema has no label, or a label is of another kind.
        """
        if self.label is None or self.label_kind is None:
            raise InputError("the schema must have a label of a known kind to encode labels; it has none.")
        return encoding.labels(column, self.label_kind, self.label, first)

    def as_dict(self) -> dict[str, Any]:
        """The schema for JSON: a number is its name, a category its name and its categories.

        Dates and codes have their kind between the name and the parts or the vocabulary.

        Returns
        -------
        dict
            `from_dict` takes it.

        Examples
        --------
        >>> Schema((Column("a"), Column("b", "category", ("x",)), Column("c", "code", ("y",)))).as_dict()
        {'columns': ['a', ['b', ['x']], ['c', 'code', ['y']]], 'label': None, 'label_kind': None}
        """
        columns = [_entry(column) for column in self.columns]
        return {"columns": columns, "label": self.label, "label_kind": self.label_kind}

    @classmethod
    def from_dict(cls, d: object, name: str) -> Schema:
        """The inverse of `as_dict`.

        Parameters
        ----------
        d : object
            What `as_dict` gave.
        name : str
            The file, for error messages.

        Returns
        -------
        Schema
            The same schema.
        """
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


def roles_of(schema: Schema) -> dict[str, Literal["number", "text", "label"]]:
    """What the readers of files make of each column: numbers, texts, or labels as they are.

    >>> roles_of(Schema((Column("a"), Column("b", "category", ("x",))), "y", "integer"))
    {'a': 'number', 'b': 'text', 'y': 'label'}
    """
    roles: dict[str, Literal["number", "text", "label"]] = {
        column.name: "number" if column.kind == "number" else "text" for column in schema.columns
    }
    return roles if schema.label is None else roles | {schema.label: "label"}


def _encode_column(column: Column, values: Any, out: NDArray[np.float64], first: int) -> None:
    """Write the features of a column of Arrow that is not of numbers."""
    if column.kind == "date":
        out[:] = features_of(moments(values, column.name, first), column.parts)
    elif column.kind == "code":
        out[:, 0] = encoding.codes_or_missing(values, column.categories, column.name)
    else:
        out[:] = 0.0
        codes = encoding.codes(values, column.categories, column.name)
        rows = np.flatnonzero(codes >= 0)
        out[rows, codes[rows]] = 1.0


def _entry(column: Column) -> str | list[Any]:
    if column.kind == "number":
        return column.name
    if column.kind == "category":
        return [column.name, list(column.categories)]
    return [column.name, column.kind, list(column.parts if column.kind == "date" else column.categories)]


def _column_from(entry: object, name: str) -> Column:
    if isinstance(entry, str):
        return Column(entry)
    fits = isinstance(entry, list) and len(entry) in (2, 3) and isinstance(entry[-1], list)
    require(fits, name, "a column of its schema must be a name, or a name and categories, or dates or codes")
    assert isinstance(entry, list)
    require(all(isinstance(c, str) for c in entry[-1]), name, "categories must be texts")
    kind = "category" if len(entry) == 2 else entry[1]
    require(len(entry) == 2 or kind in ("date", "code"), name, "the kind of a column is not known")
    texts = tuple(entry[-1])
    return Column(entry[0], kind, (), texts) if kind == "date" else Column(entry[0], kind, texts)


def _is_name(value: object) -> bool:
    """Whether a value is a text of moderate length that UTF-8 can hold."""
    if not isinstance(value, str) or len(value) > MAX_NAME_LENGTH:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
