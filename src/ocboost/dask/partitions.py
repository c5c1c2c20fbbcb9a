"""Dask collections as lists of partitions, each a task; how they are aligned, merged and computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ocboost._core.checks import as_array
from ocboost.boosters.sketch.merge_tree import merge_levels
from ocboost.errors import InputError, MissingExtraError

_ALIGN = "Cut both alike; or, of a Dask array, learn the sizes first: {name}.compute_chunk_sizes()."


class Partitions(NamedTuple):
    """A collection cut by rows.

    ``sizes`` has the number of rows of each partition, where Dask knows them; ``n_columns`` likewise.
    """

    tasks: list[Any]
    sizes: tuple[int, ...] | None
    n_columns: int | None


def require_dask() -> Any:
    """The package dask."""
    try:
        import dask
        import dask.array
    except ImportError as error:
        raise MissingExtraError("dask", "dask", "Learning from Dask collections") from error
    return dask


def partitions_of(collection: Any, name: str, ndim: int, instead: str) -> Partitions:
    """The partitions of a Dask array or data frame; ``instead`` is what to do with anything else."""
    require_dask()
    found = _shape_of(collection)
    if found is None:
        raise InputError(
            f"{name} must be a Dask array or data frame; got {type(collection).__name__}. {instead}"
        )
    if len(found) != ndim:
        what = "a matrix with a row for each example" if ndim == 2 else "one-dimensional, one for each row"
        raise InputError(f"{name} must be {what}; got {len(found)} dimensions. Reshape it first.")
    if not hasattr(collection, "numblocks"):  # a data frame
        return Partitions(list(collection.to_delayed()), None, None)
    if ndim == 2 and collection.numblocks[1] > 1:
        collection = _in_whole_rows(collection, name)
    sizes = collection.chunks[0]
    known = not any(np.isnan(size) for size in sizes)
    wide = found[1] if ndim == 2 else 1
    return Partitions(
        collection.to_delayed().ravel().tolist(),
        tuple(int(size) for size in sizes) if known else None,
        None if np.isnan(wide) else int(wide),
    )


def aligned(collection: Any, name: str, rows: Partitions, of: str) -> list[Any]:
    """The partitions of labels or weights that belong to the rows of another collection, named ``of``.

    An array in memory will do where the sizes of the partitions are known; None stays None, for each.
    """
    if collection is None:
        return [None] * len(rows.tasks)
    dask = require_dask()
    if _shape_of(collection) is None:
        if dask.is_dask_collection(collection):
            partitions_of(collection, name, 1, f"Give one that is cut like {of}.")  # raises
        array = as_array(collection)
        if array.ndim != 1:
            raise InputError(
                f"{name} must be one-dimensional, one for each row of {of}; got shape {array.shape}."
            )
        if rows.sizes is None:
            raise InputError(
                f"{name} must be a Dask array where the sizes of the partitions of {of} are not known; got "
                f"an array in memory. {_ALIGN.format(name=of)}"
            )
        _require_length(name, len(array), rows.sizes, of)
        collection = dask.array.from_array(array, chunks=(rows.sizes,))
    given = partitions_of(collection, name, 1, "")
    if rows.sizes is not None and given.sizes is not None:
        _require_length(name, sum(given.sizes), rows.sizes, of)
        if given.sizes != rows.sizes:
            given = partitions_of(collection.rechunk((rows.sizes,)), name, 1, "")
    elif len(given.tasks) != len(rows.tasks):
        raise InputError(
            f"{name} must have as many partitions as {of} where sizes are not known, {len(rows.tasks)}; got "
            f"{len(given.tasks)}. {_ALIGN.format(name=of)}"
        )
    return given.tasks


@contextmanager
def in_partition(number: int) -> Iterator[None]:
    """Let errors of the input say in which partition it was; rows are counted from its first one."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"in partition {number}: {error}") from error


def learn_and_merge(
    learn: Callable[..., Any],
    merge: Callable[[Any, Any], Any],
    parts: Sequence[tuple[Any, ...]],
    *,
    shared: Any,
    split_every: int,
    client: Any,
) -> Any:
    """What ``learn(number, shared, *part)`` gives for each part, merged in a tree; all of it by Dask's tasks.

    None of a part stands for nothing. ``shared`` is sent once.
    """
    dask = require_dask()
    if client is not None and not callable(getattr(client, "compute", None)):
        raise InputError(
            f"client must be a distributed.Client, or None for the present one; got {type(client).__name__}."
        )
    if getattr(client, "asynchronous", False) is True:
        raise InputError("client must not be asynchronous. Make it with Client(asynchronous=False).")
    shared = dask.delayed(shared, traverse=False, pure=False)
    task = dask.delayed(learn, pure=False)
    learnt = [task(number, shared, *part) for number, part in enumerate(parts)]
    join = dask.delayed(_Merged(merge), pure=False)
    result = merge_levels(learnt, split_every, lambda group: join(*group))
    if client is None:
        return dask.compute(result)[0]
    future = client.compute(result)
    try:
        return future.result()
    except BaseException:  # Ctrl-C too: nobody waits for the tasks any more
        future.cancel()
        raise


class _Merged:
    """Merges several one after the other; None is nothing."""

    __name__ = "merge"  # on Dask's pages

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self._merge = merge

    def __call__(self, *learnt: Any) -> Any:
        result = None
        for each in learnt:
            if each is not None:
                result = each if result is None else self._merge(result, each)
        return result


def _shape_of(collection: Any) -> tuple[Any, ...] | None:
    """The shape of a Dask array, data frame or series, with what is not known; None of anything else."""
    dask = require_dask()
    if not dask.is_dask_collection(collection):
        return None
    # A Delayed has every attribute, another Delayed; a bag has no dimensions.
    if not isinstance(getattr(collection, "ndim", None), int):
        return None
    return tuple(collection.shape)


def _in_whole_rows(collection: Any, name: str) -> Any:
    try:
        return collection.rechunk({1: -1})
    except ValueError as error:
        raise InputError(
            f"{name} must have all its columns in one chunk; got {collection.numblocks[1]} chunks of columns "
            f"that Dask cannot join ({error}). {_ALIGN.format(name=name)}"
        ) from error


def _require_length(name: str, n: int, sizes: tuple[int, ...], of: str) -> None:
    if n != sum(sizes):
        raise InputError(
            f"{name} must be one for each of the {sum(sizes)} rows of {of}; got {n}. Give those of the same "
            "rows, in their order."
        )
