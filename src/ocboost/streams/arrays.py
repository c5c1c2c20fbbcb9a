"""Arrays as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost.errors import InputError
from ocboost.streams.encoding import EXACT, at_row
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema
from ocboost.streams.source import fingerprint_of, fits
from ocboost.streams.stream import Stream


class ArrayStream(Stream):
    """The batches of an array of features and an array of labels.

    Parameters
    ----------
    X : (n, F) array
        The features; NaN is missing.
    y : (n,) array, optional
        The labels: numbers, truth values or texts; None and NaN are missing. Floating numbers that all are
        whole become integers, as in files.
    batch_size : int
        Rows of each batch; the last one may be shorter.
    feature_names : iterable of str, optional
        The names of the features; by default the columns' of a data frame, or x0, x1, ...
    skip : int
        Rows to pass over.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        batch_size: int,
        feature_names: Iterable[str] | None = None,
        skip: int = 0,
    ) -> None:
        if feature_names is None and hasattr(X, "columns"):
            feature_names = [str(name) for name in X.columns]
        self._X = _features(X)
        n, width = self._X.shape
        names = [f"x{j}" for j in range(width)] if feature_names is None else list(feature_names)
        if len(names) != width:
            raise InputError(f"feature_names must name the {width} columns of X; got {len(names)} names.")
        kind: str | None = None
        self._y: NDArray[Any] | None = None
        self._known = np.zeros(n, np.bool_)
        if y is not None:
            self._y, self._known, kind = _labels(y, n)
        label = None if y is None else _free_name(names)
        super().__init__(
            Schema.of_numbers(names, label, kind), as_count(batch_size, "batch_size", 1, MAX_SETTING, ""), []
        )
        skip = as_count(skip, "skip", 0, n, "That is all there are.")
        self._read = skip
        self._batches = self._cut(skip)

    def _cut(self, skip: int) -> Iterator[Rows]:
        for first in range(skip, len(self._X), self.batch_size):
            rows = slice(first, first + self.batch_size)
            X = np.ascontiguousarray(self._X[rows], np.float64)
            infinite = np.isinf(X)
            if infinite.any():
                row, column = divmod(int(np.argmax(infinite)), X.shape[1])
                raise InputError(
                    f"X must be finite, or NaN where a value is missing; got {X[row, column]} in "
                    f"{at_row(first + row)}, column {self.schema.feature_names[column]!r:.80}."
                )
            self._read = first + len(X)
            yield Rows(X, None if self._y is None else self._y[rows], self._known[rows], first)

    @property
    def bytes_read(self) -> int:
        """Bytes of the features in the batches so far."""
        return int(self._read * self._X.shape[1] * self._X.itemsize)

    @property
    def bytes_total(self) -> int:
        """Bytes of the features."""
        return self._X.nbytes

    def _beginning(self, length: int) -> bytes:
        rows = length // max(1, self._X.shape[1] * self._X.itemsize) + 1
        return np.ascontiguousarray(self._X[:rows]).tobytes()[:length]

    def fingerprint(self) -> dict[str, Any]:
        """How the features begin."""
        return fingerprint_of(self._beginning)

    def matches(self, fingerprint: object) -> bool:
        """Whether the features begin so."""
        return fits(self._beginning, fingerprint)


def _features(X: ArrayLike) -> NDArray[Any]:
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            "X must be a matrix of numbers of shape (rows, features); "
            f"got shape {array.shape} and dtype {array.dtype}."
        )
    if 0 in array.shape:
        raise InputError(f"X must have at least one row and one column; got shape {array.shape}.")
    return array


def _labels(y: ArrayLike, n: int) -> tuple[NDArray[Any], NDArray[np.bool_], str]:
    """Labels as files give them, which of them are known, and their kind."""
    array = np.asarray(y)
    if array.shape != (n,):
        raise InputError(f"y must have one label for each of the {n} rows; got shape {array.shape}.")
    if array.dtype.kind in "OU":
        values = array.tolist()
        known = np.array([value is not None and value == value for value in values], np.bool_)
        kinds = {type(value) for value, k in zip(values, known, strict=True) if k}
        if kinds and all(issubclass(kind, str) for kind in kinds):
            texts = [value if k else "" for value, k in zip(values, known, strict=True)]
            return np.array(texts, object), known, "text"
        try:
            filled = np.array([value for value, k in zip(values, known, strict=True) if k])
        except ValueError:
            filled = np.array([], object)
        if not known.any() or filled.dtype.kind not in "biuf":
            raise InputError(
                "y must be numbers, truth values or texts, not a mixture, and not all missing; "
                f"got {sorted(kind.__name__ for kind in kinds)}."
            )
        array = np.zeros(n, filled.dtype)
        array[known] = filled
    else:
        known = np.ones(n, np.bool_)
    if array.dtype.kind == "b":
        return array, known, "boolean"
    if array.dtype.kind in "iu":
        return array.astype(np.int64), known, "integer"
    if array.dtype.kind != "f":
        raise InputError(f"y must be numbers, truth values or texts; got dtype {array.dtype}.")
    known &= ~np.isnan(array)
    values = np.where(known, array, 0.0)
    if np.isinf(values).any():
        raise InputError(f"y must be finite; got infinity in {at_row(int(np.argmax(np.isinf(values))))}.")
    if ((values == np.rint(values)) & (np.abs(values) <= EXACT)).all():
        return values.astype(np.int64), known, "integer"
    return np.where(known, array, np.nan).astype(np.float64), known, "number"


def _free_name(names: list[str]) -> str:
    name = "label"
    while name in names:
        name += "_"
    return name
