"""Merging many sketches: a few at a time, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TypeVar

from ocboost._core.checks import as_count
from ocboost._core.file_format import to_bytes
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.errors import InputError

T = TypeVar("T")

SPLIT_EVERY = 4
SPLIT_ADVICE = "So many are merged at a time, and the results again; 4 is the usual choice."


def merge_all(sketches: Iterable[BoostingSketch], *, split_every: int = SPLIT_EVERY) -> BoostingSketch:
    """One sketch of the streams of all, merged in a tree; the order in which they are given does not matter.

    If all examples fit in the largest head the result is AdaBoost on them, and otherwise an approximation
    (`BoostingSketch.merge`). Merging two does not depend on which is named first, but merging three depends
    on which two come first. So they are sorted by what they hold: the same sketches give the same result to
    the last bit, whichever of them was received first.

    Parameters
    ----------
    sketches : iterable of BoostingSketch
        Made with the same parameters, ``head`` and ``memory`` aside; none is changed. Empty ones are fine.
    split_every : int, default 4
        So many are merged one after the other, then so many of the results, and so on.

    Returns
    -------
    BoostingSketch
        A new one.

    Raises
    ------
    InputError
        If there is none, or two do not match.

    Examples
    --------
    >>> import numpy as np
    >>> from ocboost import adaboost_weights
    >>> margins = np.where(np.random.default_rng(0).random((300, 3)) < [0.8, 0.7, 0.6], 1, -1)
    >>> shards = [BoostingSketch.from_margins(part, head=400) for part in np.split(margins, 5)]
    >>> merged = merge_all(shards)
    >>> bool(np.allclose(merged.alpha, adaboost_weights(margins)))
    True
    >>> bool((merge_all(shards[::-1]).alpha == merged.alpha).all())
    True
    """
    split_every = as_split(split_every)
    given = list(sketches)
    for each in given:
        if not isinstance(each, BoostingSketch):
            raise InputError(
                f"sketches must be BoostingSketch objects; got {type(each).__name__}. Load saved ones with "
                "BoostingSketch.load."
            )
    if not given:
        raise InputError("sketches must be at least one; got none. Is the list of files empty?")
    copies = [each.copy() for each in given]  # as others may learn meanwhile
    copies.sort(key=lambda each: (each.n_seen, to_bytes(each.kind, each.tree())))
    return merge_levels(copies, split_every, lambda group: reduce(BoostingSketch.merge, group))


def merge_levels(items: Sequence[T], split_every: int, merge: Callable[[list[T]], T]) -> T:
    """One item of many, in their order: ``split_every`` neighbours become one, until a single one is left."""
    level = list(items)
    while len(level) > 1:
        groups = [level[start : start + split_every] for start in range(0, len(level), split_every)]
        level = [merge(group) if len(group) > 1 else group[0] for group in groups]
    return level[0]


def as_split(split_every: object) -> int:
    """How many are merged at a time, checked."""
    return as_count(split_every, "split_every", 2, None, SPLIT_ADVICE)
