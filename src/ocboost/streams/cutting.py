"""Cutting a stream into batches of a fixed size, however it arrives."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import OcboostError
from .batch import Batch


class Piece(NamedTuple):
    """Rows as they arrive: features, labels (None without a label column), which labels are known."""

    X: NDArray[np.float64]
    y: NDArray[Any] | None
    known: NDArray[np.bool_]

    def rows(self, start: int, stop: int) -> Piece:
        """Some of the rows, without a copy."""
        y = None if self.y is None else self.y[start:stop]
        return Piece(self.X[start:stop], y, self.known[start:stop])


def cut(pieces: Iterable[Piece], batch_size: int, first: int = 0) -> Iterator[Batch]:
    """Batches of `batch_size` rows. If reading fails, the rows before come first, and then the error."""
    held: deque[Piece] = deque()
    n_held = start = 0  # rows held, and rows of the oldest piece that are given away
    failure: Exception | None = None
    arriving = iter(pieces)
    while True:
        try:
            piece = next(arriving, None)
        except (OcboostError, OSError) as error:
            failure, piece = error, None
        if piece is None:
            break
        held.append(piece)
        n_held += len(piece.X)
        while n_held >= batch_size:
            batch, start = _take(held, start, batch_size, first)
            n_held -= batch_size
            first += batch_size
            yield batch
    if n_held:
        yield _take(held, start, n_held, first)[0]
    if failure is not None:
        raise failure


def _take(held: deque[Piece], start: int, n: int, first: int) -> tuple[Batch, int]:
    """The next n rows as a batch, and where the oldest piece that is still held now starts."""
    parts: list[Piece] = []
    while n:
        oldest = held[0]
        stop = min(start + n, len(oldest.X))
        parts.append(oldest.rows(start, stop))
        n -= stop - start
        start = stop
        if stop == len(oldest.X):
            held.popleft()
            start = 0
    if len(parts) == 1:
        return Batch(*parts[0], first), start
    labels = [part.y for part in parts if part.y is not None]
    batch = Batch(
        np.concatenate([part.X for part in parts]),
        np.concatenate(labels) if labels else None,
        np.concatenate([part.known for part in parts]),
        first,
    )
    return batch, start
