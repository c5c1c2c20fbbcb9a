"""Rows as they come to a model in service, turned into features and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.deployment.model import Model
from ocboost.errors import InputError
from ocboost.streams.inference import quoted
from ocboost.streams.schema import Schema
from ocboost.streams.tables import encode_table, is_table

_PLAIN_NUMBERS = {float, int}


class RowReader:
    """Reads rows for one model: dictionaries by column, sequences of features, arrays or tables."""

    def __init__(self, model: Model) -> None:
        clf = model.classifier
        self.n_features = clf._n_encoded
        names = getattr(clf, "feature_names_in_", None)
        schema = model.schema
        if schema is None and names is not None:
            schema = Schema.of_numbers([str(name) for name in names])
        self.schema = schema
        hypotheses = model.hypotheses
        self._missing_allowed = hypotheses is None or hypotheses.accepts_missing
        self._pick: Any = None  # the values of all columns, where they are all numbers
        if schema is not None and all(column.kind == "number" for column in schema.columns):
            first, *others = schema.column_names
            self._pick = itemgetter(first, *others) if others else lambda row: (row[first],)

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns that it reads; None if the model does not know them."""
        return None if self.schema is None else list(self.schema.column_names)

    def features(self, rows: Any) -> NDArray[np.float64]:
        """The features of rows, (n, F)."""
        if is_table(rows):
            X = self._of_table(rows)
        elif isinstance(rows, np.ndarray):
            X = self._of_numbers(rows)
        elif isinstance(rows, Mapping) or not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
            raise InputError(
                "rows must be a list of rows, an array or a table; got "
                f"{type(rows).__name__}. For one row give a list with this one."
            )
        elif not rows:
            return np.empty((0, self.n_features))
        elif isinstance(rows[0], Mapping):
            X = self._of_mappings(rows)
        else:
            X = self._of_numbers(rows)
        self.check(X)
        return X

    def _of_mappings(self, rows: Sequence[Any]) -> NDArray[np.float64]:
        if self.schema is None:
            raise InputError(
                f"rows must be lists of the {self.n_features} features, as the model was fitted on an array "
                "without names; got values by name. Give lists, or fit the model on a table."
            )
        if self._pick is not None:
            X = self._of_plain_numbers(rows)
            if X is not None:
                return X
        names = self.schema.column_names
        X = np.empty((len(rows), self.n_features))
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise InputError(
                    f"row {i} must have its values by column, as the first row has; got {type(row).__name__}."
                )
            missing = [name for name in names if name not in row]
            if missing:
                raise InputError(
                    f"row {i} must have the columns {quoted(names)}; it lacks {quoted(missing)}. Give null "
                    "(None) where a value is not known."
                )
            try:
                X[i] = self.schema.encode_row(row)
            except InputError as error:
                raise InputError(f"row {i}: {error}") from None
        return X

    def _of_plain_numbers(self, rows: Sequence[Any]) -> NDArray[np.float64] | None:
        """The same, much faster, where all values are plain numbers; None if they are not."""
        try:
            values = list(map(self._pick, rows))
            if set(map(type, chain.from_iterable(values))) <= _PLAIN_NUMBERS:
                return np.array(values, np.float64)
        except (KeyError, TypeError, OverflowError, AttributeError):
            pass
        return None

    def _of_table(self, rows: Any) -> NDArray[np.float64]:
        if self.schema is None:
            return self._of_numbers(np.asarray(rows))
        return encode_table(self.schema, rows)[0]

    def _of_numbers(self, rows: Any) -> NDArray[np.float64]:
        advice = "Give each row as a list of its features"
        if self.schema is not None:
            advice += f", or its values by column: {quoted(self.schema.column_names)}"
        if not isinstance(rows, np.ndarray):
            kinds = set(map(type, chain.from_iterable(row for row in rows if isinstance(row, Sequence))))
            if not all(isinstance(row, Sequence | np.ndarray) for row in rows) or str in kinds:
                raise InputError(f"rows must hold numbers; got {rows[0]!r:.80}. {advice}.")
        try:
            X = np.array(rows, np.float64, order="C")
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"rows must be numbers, each row of the same length. {advice}.") from None
        if X.ndim != 2 or X.shape[1] != self.n_features:
            got = f"{X.shape[1]}" if X.ndim == 2 else f"an array with {X.ndim} axes"
            raise InputError(f"rows must have {self.n_features} features each; got {got}. {advice}.")
        return X

    def check(self, X: NDArray[np.float64]) -> None:
        """Refuse infinite numbers, and missing ones where the model cannot handle them."""
        if np.isfinite(X).all():
            return
        bad = np.isinf(X) if self._missing_allowed else ~np.isfinite(X)
        if bad.any():
            i, j = np.argwhere(bad)[0].tolist()
            name = f"feature {j}" if self.schema is None else repr(self.schema.feature_names[j])
            what, advice = "finite", "Give null (None) if it is not known."
            if not self._missing_allowed:
                what, advice = "there and finite", "This model cannot handle missing numbers."
            raise InputError(f"row {i}: {name:.80} must be {what}; got {X[i, j]}. {advice}")


class LabelReader:
    """Finds the code of a label: one of the classes, or the text that spells it."""

    def __init__(self, classes: list[Any]) -> None:
        self.classes = classes
        self._codes = {(type(label), label): code for code, label in enumerate(classes)}
        self._numbers = {
            label: code for code, label in enumerate(classes) if not isinstance(label, str | bool)
        }
        self._texts = {str(label): code for code, label in enumerate(classes)}

    def code(self, label: Any) -> int | None:
        """The code of a label, or None.

        >>> LabelReader([1, 2]).code(2.0), LabelReader([1, 2]).code("1"), LabelReader(["1"]).code(1)
        (1, 0, None)
        """
        if isinstance(label, np.generic):
            label = label.item()
        try:
            code = self._codes.get((type(label), label))
        except TypeError:
            return None
        if code is None and isinstance(label, str):
            code = self._texts.get(label)
        if code is None and type(label) in _PLAIN_NUMBERS:
            code = self._numbers.get(label)
        return code
