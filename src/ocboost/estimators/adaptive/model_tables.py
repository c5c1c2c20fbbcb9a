"""Tables as an adopted model takes them: its columns, in its order, in the library it was adopted with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ocboost.streams.one_row import is_missing
from ocboost.streams.tables import is_table


class ModelTables:
    """Makes tables for a model.

    Parameters
    ----------
    types : dict, optional
        The types of the columns by their names, of the table that the model was adopted with.
    is_polars : bool
        Whether that was one of polars; others become data frames of pandas.
    none : iterable
        The columns of objects whose missing value is None there, and not NaN.
    """

    def __init__(
        self,
        types: Mapping[Any, Any] | None = None,
        *,
        is_polars: bool = False,
        none: Iterable[Any] = (),
    ) -> None:
        self.types, self.is_polars, self.none = dict(types or {}), is_polars, frozenset(none)

    @classmethod
    def like(cls, X: Any) -> ModelTables:
        """For tables like this one."""
        if type(X).__module__.startswith("polars."):
            return cls(dict(X.schema), is_polars=True)
        X = as_pandas(X)
        objects = [name for name, dtype in zip(X.columns, X.dtypes, strict=True) if str(dtype) == "object"]
        none = [name for name in objects if any(value is None for value in X[name].tolist())]
        return cls(dict(zip(X.columns, X.dtypes, strict=True)), none=none)

    def of_table(self, X: Any, names: list[Any]) -> Any:
        """The model's columns of a table; columns are found by name."""
        if self.is_polars:
            X = X if type(X).__module__.startswith("polars.") else _as_polars(as_pandas(X)[names])
            return X if X.columns == names else X.select(names)
        if not hasattr(X, "iloc"):
            X = self._with_missing(as_pandas(X)[names])
        return X if list(X.columns) == names else X[names]

    def _with_missing(self, X: Any) -> Any:
        """A data frame that was converted, with the missing value that each column of objects has."""
        for name, dtype in zip(X.columns, X.dtypes, strict=True):
            if str(dtype) == "object" and name not in self.none:
                X = X.assign(**{name: X[name].where(X[name].notna(), np.nan)})
        return X

    def of_array(self, X: Any, names: list[Any]) -> Any:
        """A table of numbers; the array itself without pandas, or if it has other columns."""
        if X.shape[1] != len(names):
            return X
        try:
            from pandas import DataFrame
        except ModuleNotFoundError:
            return X
        return DataFrame(X, columns=names)

    def of_row(self, row: Mapping[Any, Any], names: list[Any]) -> Any:
        """A table of one row; a value that is not given is missing."""
        values = {name: None if is_missing(row.get(name)) else row[name] for name in names}
        if self.is_polars:
            import polars

            schema = {name: self.types.get(name) for name in names}
            return polars.DataFrame([list(values.values())], schema=schema, orient="row", strict=False)
        from pandas import DataFrame

        return DataFrame({name: _series(value, self.types.get(name)) for name, value in values.items()})


def _series(value: Any, dtype: Any) -> Any:
    """One value as a column of a type, if it is one of it: whole numbers have no missing value."""
    from pandas import Series

    if str(dtype) == "category" and value is not None and value not in dtype.categories:
        return Series([value], dtype="category")  # of its own: it would be missing among the others
    try:
        if dtype is not None:
            return Series([np.nan if value is None else value], dtype=dtype)
    except (TypeError, ValueError):
        pass
    return Series([np.nan if value is None else value])


def as_a_model_takes_them(rows: Any) -> Any:
    """Rows that a model can be given as they came; None for one row, or a list."""
    if isinstance(rows, Mapping) or is_table(rows):
        return rows
    is_matrix = isinstance(rows, np.ndarray) or issparse(rows) or hasattr(rows, "iloc")
    return rows if is_matrix and len(rows.shape) == 2 else None


def as_pandas(X: Any) -> Any:
    """A table as a data frame of pandas."""
    if hasattr(X, "iloc"):
        return X
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    from pyarrow import table

    return table(X).to_pandas()


def _as_polars(X: Any) -> Any:
    import polars

    return polars.from_pandas(X)


def first_rows(X: Any, n: int) -> Any:
    """The first rows of a table or matrix."""
    if hasattr(X, "iloc"):
        return X.iloc[:n]
    if not is_table(X):
        return X[:n]
    return X.slice(0, n) if hasattr(X, "slice") else as_pandas(X).iloc[:n]
