"""A stream of batches, cut anew into rows of one size, so that nothing depends on how it came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..rows import Clock, Rows, cut_anew


def chunks_of(batches: Iterable[Any], classes: Sequence[Any], size: int, clock: Clock) -> Iterator[Rows]:
    """Rows, so many at a time, the last ones fewer; labels become codes, -1 where there is none.

    Parameters
    ----------
    batches : iterable of Rows, or of objects with X, y, known and first
        As `ocboost.streams` gives them. Where ``y`` is None no row has a label; where ``known`` is missing
        or None every row has one; where ``first`` is, rows are counted.
    classes : sequence
        All labels.
    size : int
    clock : Clock
        Is given the time that answers take.
    """
    return cut_anew(_coded(batches, classes), size, clock)


def _coded(batches: Iterable[Any], classes: Sequence[Any]) -> Iterator[Rows]:
    counted = 0
    for batch in batches:
        rows = _rows(batch, counted).coded(classes)
        counted = rows.first + len(rows)
        yield rows


def _rows(batch: Any, counted: int) -> Rows:
    if isinstance(batch, Rows):
        return batch
    first, known = getattr(batch, "first", None), getattr(batch, "known", None)
    first = counted if first is None else int(first)
    n, y = batch.X.shape[0], None if batch.y is None else np.asarray(batch.y)
    n_labels = n if y is None else len(y)
    given = n if known is None or y is None else len(known)
    if not n_labels == given == n:
        raise InputError(
            f"batches must have as many labels as rows; got {n} rows, {n_labels} labels and {given} marks of "
            f"known ones from row {first} on."
        )
    return Rows(batch.X, y, None if known is None or y is None else np.asarray(known), first)
