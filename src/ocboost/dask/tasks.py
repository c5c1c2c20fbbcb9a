"""What the workers of a cluster do: look at partitions, bin them, and fit together."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.labels import codes_of
from ocboost._kernels.arrays import Bytes, Floats
from ocboost._shards.chunks import MemoryChunk
from ocboost._shards.facts import Facts
from ocboost._shards.features import BinnedFeatures
from ocboost._shards.fit import BoosterPart, fit_shard
from ocboost._shards.plan import FitPlan
from ocboost.dask.collectives import Group, joined
from ocboost.dask.examples import checked
from ocboost.errors import InputError
from ocboost.hypotheses import Hypotheses
from ocboost.streams.schema import Schema
from ocboost.streams.tables import labels_of_column

ROWS_PER_CHUNK = 1 << 18  # smaller partitions are put together


class PartitionLook(NamedTuple):
    """What a look at some partitions found."""

    facts: Facts
    classes: NDArray[Any]  # sorted
    kind: str | None  # of labels that are a column of a table
    n_read: int  # rows, also those without weight
    sizes: list[int]  # of each partition, without them


def look(
    X: Any, y: Any, weights: Any, schema: Schema | None, n_features: int, partition: int, quantiles: bool
) -> PartitionLook:
    """Look at a partition."""
    rows, labels, own = checked(X, y, weights, schema, partition)
    if rows.shape[1] != n_features:
        raise InputError(
            f"partition {partition}: X must have {n_features} features, as elsewhere; got {rows.shape[1]}."
        )
    facts, classes = Facts(n_features, quantiles=quantiles), _classes(labels)
    if len(rows):
        facts.take(rows, labels, own)
    kind = labels_of_column(y)[2] if hasattr(y, "iloc") and len(labels) else None
    return PartitionLook(facts, classes, kind, len(rows), [facts.n_rows])


def _classes(labels: NDArray[Any]) -> NDArray[Any]:
    try:
        found: NDArray[Any] = np.unique(labels)
    except TypeError:
        raise InputError("y must hold labels of one type; it holds several. Convert them.") from None
    return found


def look_at_all(looks: Sequence[PartitionLook]) -> PartitionLook:
    """Several looks as one."""
    first = looks[0]
    facts = deepcopy(first.facts)  # Dask may run this again with the same looks
    sizes = [size for each in looks for size in each.sizes]
    for other in looks[1:]:
        facts.merge(other.facts)
    some = [each.classes for each in looks if each.classes.size] or [first.classes]
    kinds = {each.dtype.kind for each in some}
    if len(kinds) > 1 and not kinds <= set("iufb"):
        raise InputError("y must hold labels of one type; partitions differ. Convert them.")
    kind = next((each.kind for each in looks if each.kind is not None), None)
    return PartitionLook(
        facts, _classes(np.concatenate(some)), kind, sum(each.n_read for each in looks), sizes
    )


class Binned(NamedTuple):
    """The rows of a partition, ready for a fit: bins or answers, codes and weights."""

    bins: Bytes | None
    answers: Bytes | None
    codes: NDArray[Any]
    weights: Floats | None


def bin_partition(
    X: Any,
    y: Any,
    weights: Any,
    schema: Schema | None,
    partition: int,
    classes: NDArray[Any],
    features: BinnedFeatures | Hypotheses,
    size: int,
) -> Binned:
    """Bin a partition, or let hypotheses answer to it; rows without weight are left out.

    ``size`` is how many rows there were at the first look.
    """
    rows, labels, own = checked(X, y, weights, schema, partition)
    if own is not None and not own.all():
        used = own > 0.0
        rows, labels, own = rows[used], labels[used], own[used]
    if len(rows) != size:
        raise InputError(
            f"partition {partition}: X must stay the same when it is computed again; it had {size} rows with "
            f"weight, and now has {len(rows)}. Persist X, y and sample_weight before the fit."
        )
    if own is not None and (own == 1.0).all():
        own = None
    codes = codes_of(labels, classes).astype(np.uint8 if len(classes) <= 256 else np.uint32)
    if isinstance(features, Hypotheses):
        features.check(rows)
        return Binned(None, _packed(features, rows), codes, own)
    return Binned(features.bin_rows(np.ascontiguousarray(rows)), None, codes, own)


def _packed(hypotheses: Hypotheses, X: NDArray[Any]) -> Bytes:
    """Answers as bytes, eight hypotheses to each."""
    out = np.empty(((len(hypotheses) + 7) // 8, len(X)), np.uint8)
    for start in range(0, len(X), 1 << 14):
        rows = slice(start, min(start + (1 << 14), len(X)))
        out[:, rows] = np.packbits(hypotheses.answers(X[rows]) > 0, axis=1).T
    return out


def chunks_of(partitions: Sequence[Binned]) -> list[MemoryChunk]:
    """Partitions as chunks; small ones are put together, as each chunk costs something in every round."""
    chunks, group, n = [], [], 0
    for partition in partitions:
        if not len(partition.codes):
            continue
        group.append(partition)
        n += len(partition.codes)
        if n >= ROWS_PER_CHUNK:
            chunks.append(_chunk(group))
            group, n = [], 0
    return [*chunks, _chunk(group)] if group else chunks


def _chunk(group: Sequence[Binned]) -> MemoryChunk:
    codes = np.concatenate([part.codes for part in group])
    weights = None
    if any(part.weights is not None for part in group):
        weights = np.concatenate([np.ones(len(p.codes)) if p.weights is None else p.weights for p in group])
    bins = _side_by_side([part.bins for part in group if part.bins is not None])
    nothing = np.empty((0, len(codes)), np.uint8)
    answers = _side_by_side([part.answers for part in group if part.answers is not None])
    return MemoryChunk(nothing if bins is None else bins, codes, weights, answers)


def _side_by_side(arrays: Sequence[Bytes]) -> Bytes | None:
    if len(arrays) < 2:
        return arrays[0] if arrays else None
    return np.concatenate(arrays, axis=1)


def fit_on_worker(
    partitions: Sequence[Binned], plan: FitPlan, group: Group, rank: int, exchange: Any
) -> list[BoosterPart]:
    """Fit the partitions of this worker together with all others."""
    from distributed import get_worker, secede

    n_threads = get_worker().state.nthreads
    secede()  # a long task: others may use the thread
    chunks = chunks_of(partitions)
    with joined(group, rank, exchange) as collective:
        return fit_shard(chunks, plan, collective, n_threads=n_threads)
