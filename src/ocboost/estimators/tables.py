"""Classifiers that take tables: data frames and rows with names, encoded by a schema."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, check_array, check_is_fitted, check_X_y

from ocboost.errors import InputError
from ocboost.estimators.base import OnlineClassifier, as_one_row
from ocboost.streams.inference import quoted
from ocboost.streams.schema import Schema
from ocboost.streams.tables import (
    encode_table,
    has_other_than_numbers,
    is_column,
    is_other_column,
    is_table,
    labels_of_column,
    names_in,
    schema_of_table,
    with_label,
)


class TableClassifier(OnlineClassifier):
    """Base of the classifiers that take tables.

    Fitted on a table, a classifier has a ``schema_``: tables and dictionaries are then encoded by it, while
    arrays are taken for what it gives. ``n_features_in_`` and ``feature_names_in_`` are those of the columns
    it reads. Fitted on an array it has none.
    """

    schema_: Schema | None = None
    feature_names_in_: NDArray[Any]
    _history: tuple[dict[str, Any], ...] = ()  # of a model's file that it was loaded from

    @property
    def _n_encoded(self) -> int:
        """Features after encoding."""
        return self.n_features_in_ if self.schema_ is None else self.schema_.n_features

    def set_schema(self, schema: Schema | None) -> None:
        """Take a schema, whose features must be as many as the classifier has.

        Parameters
        ----------
        schema : Schema or None
            None takes it away.

        Raises
        ------
        InputError
            If it has more or fewer features.
        """
        if schema is None:
            if self.schema_ is not None:
                self.n_features_in_, self.schema_ = self._n_encoded, None
                del self.feature_names_in_
            return
        if schema.n_features != self._n_encoded:
            raise InputError(
                f"schema must have the {self._n_encoded} features of the classifier; got {schema.n_features}."
            )
        self._take_schema(schema)

    def _take_schema(self, schema: Schema) -> None:
        self.schema_, self.n_features_in_ = schema, len(schema.column_names)
        self.feature_names_in_ = np.array(schema.column_names, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the features after encoding: ``carrier=UA`` for a category, ``x0`` without names.

        Parameters
        ----------
        input_features : object, optional
            Ignored; it is there for scikit-learn's pipelines.

        Returns
        -------
        array of str
            In the order of the features.
        """
        check_is_fitted(self)
        if self.schema_ is not None:
            return np.array(self.schema_.feature_names, dtype=object)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        return np.asarray(names, dtype=object)

    # Checks ----------------------------------------------------------------------------------------------

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        require_in_memory(X, "X.map_blocks(clf.predict), or the predict of a DaskOCBClassifier")
        if self.schema_ is None:
            self._require_array(X)
            return super()._checked_rows(X)
        return check_array(self._encoded(X), estimator=self, input_name="X", **self._input_checks())

    def _checked_examples(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        for given in (X, y):
            require_in_memory(given, "ocboost.dask.DaskOCBClassifier")
        labels, name, kind = y, None, None
        if is_column(y) and (is_table(X) if reset else self.schema_ is not None):
            labels, name, kind = labels_of_column(y)
        if reset:
            self.schema_, self._history = None, ()
            if is_table(X):
                name = None if is_other_column(X, name, labels) else name
                schema, notes = schema_of_table(X, name)
                self._take_schema(with_label(schema, name, kind))
                warn_of(notes)
        if self.schema_ is None:
            self._require_array(X, reset=reset)
            return super()._checked_examples(X, labels, reset=reset)
        checks = self._input_checks(reset=reset)
        rows, labels = check_X_y(self._encoded(X), labels, estimator=self, **checks)
        check_classification_targets(labels)
        return rows, labels

    def _encoded(self, X: Any) -> Any:
        """A table as its features; an array must be features already."""
        schema = self.schema_
        assert schema is not None
        if is_table(X):
            if (
                set(names_in(X)).issuperset(schema.column_names)
                or schema.feature_names != schema.column_names
            ):
                encoded, notes = encode_table(schema, X)
                warn_of(notes)
                return encoded
            _check_feature_names(self, X, reset=False)  # numbers alone: scikit-learn says what is missing
            return encode_table(schema, X)[0]
        require_no_dictionaries(X)
        shape = getattr(X, "shape", None) or np.shape(X)
        if len(shape) == 2 and shape[1] != schema.n_features:
            raise InputError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {schema.n_features} "
                f"features as input: those of get_feature_names_out(). Give a table to have its "
                f"{self.n_features_in_} columns encoded."
            )
        return X

    def _require_array(self, X: Any, *, reset: bool = False) -> None:
        """Refuse texts where an array is taken; ``reset`` where the classifier is to be fitted on it."""
        require_no_dictionaries(X)
        if has_other_than_numbers(X):
            raise InputError(
                "X must have texts as the names of its columns where they hold texts or dates; got "
                f"{list(X.columns)!s:.80}. Name them: X.columns = [str(name) for name in X.columns]."
                if reset
                else "X must hold numbers, as the classifier was fitted on an array; got a table with texts "
                "or dates. Fit it on a table."
            ) from None
        if getattr(X, "shape", (1, 1))[1:] == (0,) and hasattr(X, "columns"):
            raise InputError("X must have at least one column; got a table without columns.")

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are predicted right.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
            The rows.
        y : array of shape (n,)
            The class of each row.
        sample_weight : array of shape (n,), optional
            1 each if left out.

        Returns
        -------
        float
            From 0 to 1.
        """
        return float(super().score(X, plain_labels(y), sample_weight))

    def _one_row(self, row: Any) -> NDArray[Any]:
        if "classes_" not in self.__dict__:  # scikit-learn's check takes microseconds
            check_is_fitted(self)
        return one_row(self.__dict__, row, missing=True)


def require_no_dictionaries(X: Any) -> None:
    """Refuse dictionaries, which are single rows, where several rows are taken."""
    one = isinstance(X, Mapping) and not hasattr(X, "shape")  # some sparse matrices are dictionaries
    if one or (isinstance(X, list | tuple) and X and isinstance(X[0], Mapping)):
        raise InputError(
            "X must be a table or an array; got dictionaries. Give pandas.DataFrame(X), or one row after the "
            "other to predict_one and learn_one."
        )


def require_in_memory(given: Any, instead: str) -> None:
    """Refuse a collection of Dask, which may be larger than the memory; ``instead`` says what to use."""
    if type(given).__module__.partition(".")[0] in ("dask", "dask_expr"):
        raise InputError(
            f"X and y must be in memory; got {type(given).__name__} of Dask. Use {instead}; or, if it fits "
            "in memory, X.compute()."
        )


def plain_labels(y: Any) -> Any:
    """Labels as an array where they are a column of a table."""
    return labels_of_column(y)[0] if is_column(y) else y


def one_row(now: dict[str, Any], row: Any, *, missing: bool) -> NDArray[Any]:
    """One row, (1, F), for a classifier with these attributes: features, or a dictionary of a table's row."""
    schema: Schema | None = now.get("schema_")
    if schema is None:
        return as_one_row(row, now["n_features_in_"], missing=missing)
    if hasattr(row, "to_dict") and not set(row.index).isdisjoint(schema.column_names):
        row = row.to_dict()  # a series of pandas: a row of its data frame
    if isinstance(row, Mapping):
        if not any(name in row for name in schema.column_names):
            raise InputError(
                f"row must have values of the columns {quoted(schema.column_names)}; got {list(row)!s:.200}. "
                "Give a dictionary of values by column; some may be missing, but not all."
            )
        row = schema.encode_row(row)
    return as_one_row(row, schema.n_features, missing=missing)


def has_names(X: Any) -> bool:
    """Whether rows come with the names of their columns: a table, or one row as a dictionary."""
    return isinstance(X, Mapping) or is_table(X)


def warn_of(notes: list[str]) -> None:
    """Pass notes on columns on, as one warning."""
    if notes:
        warnings.warn(" ".join(notes), UserWarning, stacklevel=2)
