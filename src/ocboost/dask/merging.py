"""One sketch of margins that lie in many partitions: a sketch of each, merged in a tree."""

from __future__ import annotations

from typing import Any

from ocboost._core.checks import as_margins, as_weights
from ocboost.boosters.sketch.merge_tree import SPLIT_EVERY, as_split
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.dask.partitions import aligned, in_partition, learn_and_merge, partitions_of
from ocboost.errors import InputError


def sketch_margins(
    margins: Any,
    *,
    sample_weight: Any = None,
    client: Any = None,
    split_every: int = SPLIT_EVERY,
    **settings: Any,
) -> BoostingSketch:
    """One sketch of a Dask array of margins, which is read once.

    Every partition becomes a sketch, where it lies; the sketches are merged in a tree, and a single one
    comes back. If all rows fit in the head it has AdaBoost's weights on them. Otherwise these are
    approximate, the more so the more the partitions differ: docs/merging.md has the errors. Where the rows
    can be read again, `DaskOCBClassifier` and ``adaboost_weights`` are exact.

    Parameters
    ----------
    margins : Dask array of shape (n, J)
        +1 where a hypothesis is right, -1 where it is wrong, in chunks of rows. The sizes of the chunks need
        not be known, and some may be empty. Chunks of columns are joined.
    sample_weight : Dask array of shape (n,), or array, optional
        Finite and not negative. Where sizes are not known, in the same partitions as the margins.
    client : distributed.Client, optional
        By default the present one; without any, threads of this process.
    split_every : int, default 4
        How many sketches a task merges.
    **settings
        Those of `BoostingSketch`. By default ``head="auto"``, as merging needs kept examples to be close. Few
        hypotheses have a small automatic head: give them more, such as ``memory=4_000_000``. With
        ``forgetting`` the partitions are streams side by side: the last row of each is the newest.

    Returns
    -------
    BoostingSketch
        In this process; it learns on as any other.

    Raises
    ------
    InputError
        If margins or weights are not what they must be. It names the partition, from 0, and the row in it.
    MissingExtraError
        Without Dask.

    Notes
    -----
    A partition is added at once (`BoostingSketch.from_margins`): it is in memory anyway, and its sketch then
    has AdaBoost's own weights on it, while row by row it would be close to them. The same partitions give the
    same result to the last bit on machines of one kind, however many workers there are.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from ocboost import adaboost_weights
    >>> margins = np.where(np.random.default_rng(0).random((900, 3)) < [0.8, 0.7, 0.6], 1, -1)
    >>> sketch = sketch_margins(da.from_array(margins, chunks=(200, 3)), memory=100_000)
    >>> sketch.n_seen, bool(np.allclose(sketch.alpha, adaboost_weights(margins)))
    (900, True)
    """
    split_every = as_split(split_every)
    instead = "Of an array in memory: BoostingSketch.from_margins(margins)."
    rows = partitions_of(margins, "margins", 2, instead)
    if settings.get("memory") is None:
        settings.setdefault("head", "auto")
    if rows.n_columns:
        BoostingSketch(rows.n_columns, **settings)  # settings that cannot be are refused before any work
    weights = aligned(sample_weight, "sample_weight", rows, "margins")
    sketch: BoostingSketch | None = learn_and_merge(
        _sketch_of,
        BoostingSketch.merge,
        list(zip(rows.tasks, weights, strict=True)),
        shared=(rows.n_columns, settings),
        split_every=split_every,
        client=client,
    )
    if sketch is None:
        raise InputError(
            f"margins must hold at least one example; all {len(rows.tasks)} partitions are empty."
        )
    return sketch


def _sketch_of(
    number: int, shared: tuple[int | None, dict[str, Any]], block: Any, weights: Any
) -> BoostingSketch | None:
    """The sketch of one partition; None of an empty one."""
    n_columns, settings = shared
    with in_partition(number):
        weights = as_weights(weights, len(block))
        if len(block) == 0:
            return None
        return BoostingSketch.from_margins(as_margins(block, n_columns), sample_weight=weights, **settings)
