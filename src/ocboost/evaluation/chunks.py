"""A stream of batches, cut anew into chunks, so that nothing depends on how it came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..recent_rows import stacked
from .view import Chunk, Clock


def chunks_of(batches: Iterable[Any], classes: Sequence[Any], size: int, clock: Clock) -> Iterator[Chunk]:
    """Chunks of `size` rows, the last one shorter; labels become codes, -1 where there is none.

    Parameters
    ----------
    batches : iterable of objects with X, y, known and first
        As `ocboost.streams` gives them. Where ``y`` is None no row has a label; where ``known`` is missing
        or None every row has one; where ``first`` is, rows are counted.
    classes : sequence
        All labels.
    size : int
    clock : Clock
        Passed on to the chunks.
    """
    place = {label: code for code, label in enumerate(classes)}
    waiting: list[tuple[Any, NDArray[np.int64], NDArray[np.int64]]] = []
    held = counted = 0
    for batch in batches:
        n = batch.X.shape[0]
        first = getattr(batch, "first", None)
        first = counted if first is None else int(first)
        counted = first + n
        rows = np.arange(first, counted)
        codes = _codes(batch, place, first)
        start = 0
        while start < n:
            stop = min(n, start + size - held)
            waiting.append((batch.X[start:stop], codes[start:stop], rows[start:stop]))
            held += stop - start
            start = stop
            if held == size:
                yield _joined(waiting, clock)
                waiting, held = [], 0
    if held:
        yield _joined(waiting, clock)


def _codes(batch: Any, place: dict[Any, int], first: int) -> NDArray[np.int64]:
    if batch.y is None:
        return np.full(batch.X.shape[0], -1)
    labels = np.asarray(batch.y).tolist()
    known = getattr(batch, "known", None)
    given = [True] * len(labels) if known is None else np.asarray(known).tolist()
    if not len(labels) == len(given) == batch.X.shape[0]:
        raise InputError(
            f"batches must have as many labels as rows; got {batch.X.shape[0]} rows, {len(labels)} labels "
            f"and {len(given)} marks of known ones from row {first} on."
        )
    codes = np.full(len(labels), -1)
    for i, (label, there) in enumerate(zip(labels, given, strict=True)):
        if there:
            code = place.get(label)
            if code is None:
                raise InputError(
                    f"classes must hold every label of the stream; got {label!r:.80} at row {first + i}, "
                    f"and the classes are {list(place)!s:.80}. Add it to classes, or mark such rows as "
                    "unlabelled."
                )
            codes[i] = code
    return codes


def _joined(pieces: list[tuple[Any, NDArray[np.int64], NDArray[np.int64]]], clock: Clock) -> Chunk:
    if len(pieces) == 1:
        return Chunk(*pieces[0], clock)
    parts, codes, rows = zip(*pieces, strict=True)
    return Chunk(stacked(list(parts)), np.concatenate(codes), np.concatenate(rows), clock)
