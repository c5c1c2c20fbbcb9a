"""What all streams have in common, and arrays as a stream."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost.errors import InputError
from ocboost.streams.encoding import is_whole, row_name
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema
from ocboost.streams.source import Coverage, Fit

FINGERPRINT_BYTES = 65_536


class Stream(ABC):
    """Batches of rows, read once; a context manager that closes the file.

    Attributes
    ----------
    schema : Schema
        What the columns are.
    batch_size : int
        Rows of each batch; the last one may be shorter.
    notes : list of str
        What a user should know about how the columns were read.
    """

    def __init__(self, schema: Schema, batch_size: int, notes: list[str]) -> None:
        self.schema = schema
        self.batch_size = batch_size
        self.notes = notes
        self._batches: Iterator[Rows] = iter(())

    def __iter__(self) -> Iterator[Rows]:
        return self

    def __next__(self) -> Rows:
        return next(self._batches)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Skip what is not read yet; closing twice does nothing."""
        self._batches = iter(())

    @property
    @abstractmethod
    def bytes_read(self) -> int:
        """Bytes read so far, as they are stored: of a compressed file, the compressed ones."""

    @property
    @abstractmethod
    def bytes_total(self) -> int | None:
        """Bytes there are; None if unknown."""

    def _beginning(self, length: int) -> bytes | None:
        """The first bytes of the data, or all if there are fewer; None if they cannot be read twice."""
        return None

    def fingerprint(self) -> dict[str, Any] | None:
        """A digest of how the data begin, to recognise them later.

        Returns
        -------
        dict or None
            None if they cannot be read twice.
        """
        data = self._beginning(FINGERPRINT_BYTES)
        return None if data is None else {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def matches(self, fingerprint: object) -> bool:
        """Whether the data begin as a `fingerprint` says.

        Parameters
        ----------
        fingerprint : object
            What `fingerprint` gave.

        Returns
        -------
        bool
            They may have grown since.
        """
        length = fingerprint.get("bytes") if isinstance(fingerprint, dict) else None
        if type(length) is not int or not 0 <= length <= FINGERPRINT_BYTES:
            return fingerprint is None and self._beginning(0) is None
        assert isinstance(fingerprint, dict)
        data = self._beginning(length)
        if data is None or len(data) != length:
            return False
        return hashlib.sha256(data).hexdigest() == fingerprint.get("sha256")

    def coverage(self) -> Coverage | None:
        """Everything read, once the stream has ended; None if it is not tracked.

        Returns
        -------
        dict or None
            None if they cannot be read twice.
        """
        return None

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the data fit each of several coverages.

        Parameters
        ----------
        coverages : sequence
            What ``coverage`` gave.

        Returns
        -------
        list of str
            One for each: "other", the "same", "longer" or "completed".
        """
        return ["other"] * len(coverages)

    def start_at(self, row: int) -> None:
        """Begin at another row; call it before the first batch is taken.

        Parameters
        ----------
        row : int
            Its number, from 0.
        """
        raise NotImplementedError


class ArrayStream(Stream):
    """The batches of an array of features and an array of labels.

    Parameters
    ----------
    X : (n, F) array
        The features; NaN is missing.
    y : (n,) array, optional
        The labels: numbers, truth values or texts; None and NaN are missing. Floating-point numbers that are
        all whole become integers, as in files.
    batch_size : int
        Rows of each batch; the last one may be shorter.
    feature_names : iterable of str, optional
        The names of the features; by default the columns of a data frame, or x0, x1, ...
    skip : int
        Rows to skip.
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
        n, n_features = self._X.shape
        names = [f"x{j}" for j in range(n_features)] if feature_names is None else list(feature_names)
        if len(names) != n_features:
            raise InputError(
                f"feature_names must name the {n_features} columns of X; got {len(names)} names."
            )
        label, kind = None, None
        self._y: NDArray[Any] | None = None
        self._known = np.zeros(n, np.bool_)
        if y is not None:
            self._y, self._known, kind = labels_as_in_files(y, n)
            label = "label"
            while label in names:
                label += "_"
        schema = Schema.of_numbers(names, label, kind)
        super().__init__(schema, as_count(batch_size, "batch_size", 1, MAX_SETTING, ""), [])
        self._read = as_count(skip, "skip", 0, n, "That is all there are.")
        self._batches = self._cut(self._read)

    def _cut(self, skip: int) -> Iterator[Rows]:
        for first in range(skip, len(self._X), self.batch_size):
            rows = slice(first, first + self.batch_size)
            X = np.ascontiguousarray(self._X[rows], np.float64)
            infinite = np.isinf(X)
            if infinite.any():
                row, column = divmod(int(np.argmax(infinite)), X.shape[1])
                raise InputError(
                    f"X must be finite, or NaN where a value is missing; got {X[row, column]} in "
                    f"{row_name(first + row)}, column {self.schema.feature_names[column]!r:.80}."
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


def labels_as_in_files(y: ArrayLike, n: int) -> tuple[NDArray[Any], NDArray[np.bool_], str]:
    """Labels as files have them, which of them are known, and their kind."""
    array = np.asarray(y)
    if array.shape != (n,):
        raise InputError(f"y must have one label for each of the {n} rows; got shape {array.shape}.")
    known = np.ones(n, np.bool_)
    if array.dtype.kind in "OU":
        known = np.array([value is not None and value == value for value in array.tolist()], np.bool_)
        values = array[known].tolist()
        kinds = {type(value) for value in values}
        if kinds and all(issubclass(kind, str) for kind in kinds):
            return np.where(known, array, "").astype(object), known, "text"
        try:
            filled = np.array(values)
        except ValueError:
            filled = np.array([], object)
        if not values or filled.dtype.kind not in "biuf":
            raise InputError(
                "y must be numbers, truth values or texts, not a mixture, and not all missing; "
                f"got {sorted(kind.__name__ for kind in kinds)}."
            )
        array = np.zeros(n, filled.dtype)
        array[known] = filled
    if array.dtype.kind == "b":
        return array, known, "boolean"
    if array.dtype.kind in "iu":
        return array.astype(np.int64), known, "integer"
    if array.dtype.kind != "f":
        raise InputError(f"y must be numbers, truth values or texts; got dtype {array.dtype}.")
    known &= ~np.isnan(array)
    numbers = np.where(known, array, 0.0)
    if np.isinf(numbers).any():
        raise InputError(f"y must be finite; got infinity in {row_name(int(np.argmax(np.isinf(numbers))))}.")
    if is_whole(numbers).all():
        return numbers.astype(np.int64), known, "integer"
    return np.where(known, array, np.nan).astype(np.float64), known, "number"
