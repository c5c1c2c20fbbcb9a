"""Batches of a file, each encoded into one array as its parts are read, without a copy of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.streams.encoding import BadRowError
from ocboost.streams.records import Records
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema, roles_of

FIRST_CELLS = 1 << 22  # 32 MB; an array for a large batch begins so large, and grows if there are more rows


class _Batch:
    """A batch that is being filled."""

    def __init__(self, schema: Schema, size: int, first: int) -> None:
        self._schema, self._size, self._first = schema, size, first
        self._X = np.empty((min(size, max(1, FIRST_CELLS // schema.n_features)), schema.n_features))
        self._labels: list[tuple[NDArray[Any], NDArray[np.bool_]]] = []
        self.n = 0

    @property
    def room(self) -> int:
        return self._size - self.n

    @property
    def end(self) -> int:
        return self._first + self.n

    def add(self, part: Any) -> InputError | None:
        """Take the rows of a record batch up to the first bad one; the error of that one."""
        n = part.num_rows
        while len(self._X) < self.n + n:
            self._X = np.concatenate([self._X, np.empty_like(self._X)])[: self._size]
        try:
            self._schema.encode(part, first=self.end, out=self._X[self.n : self.n + n])
            if self._schema.label is not None:
                column = part.column(self._schema.label)
                self._labels.append(self._schema.encode_label(column, first=self.end))
        except BadRowError as bad:
            return self.add(part.slice(0, bad.offset)) or bad
        self.n += n
        return None

    def rows(self) -> Rows:
        """The rows so far."""
        X = self._X[: self.n]
        if 2 * self.n < len(self._X):  # do not keep what lies unused
            X = X.copy()
        if self._schema.label is None:
            return Rows(X, first=self._first)
        y, known = (np.concatenate(arrays) for arrays in zip(*self._labels, strict=True))
        return Rows(X, y, known, self._first)


def filled_batches(records: Records, schema: Schema, size: int, skip: int) -> Iterator[Rows]:
    """The rows after the first ``skip`` in batches of ``size``; the last may be shorter.

    If a row is bad, the rows before it come first, and then the error.
    """
    batch = _Batch(schema, size, skip)
    failure: InputError | OSError | None = None
    arriving = records.batches(roles_of(schema), skip)
    while failure is None:
        try:
            read = next(arriving, None)
        except (InputError, OSError) as error:
            failure, read = error, None
        if read is None:
            break
        at = 0
        while at < read.num_rows and failure is None:
            part = read.slice(at, batch.room)
            failure = batch.add(part)
            at += part.num_rows
            if not batch.room:
                yield batch.rows()
                batch = _Batch(schema, size, batch.end)
    if batch.n:
        yield batch.rows()
    if failure is not None:
        raise failure
