"""Dask's collections as partitions of rows, labels and weights that belong together."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_weights
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError
from ocboost.streams.inference import quoted
from ocboost.streams.records import SAMPLE_ROWS
from ocboost.streams.schema import Schema
from ocboost.streams.tables import encode_table, labels_of_column, names_in, schema_of_table, with_label


class ExamplePartitions(NamedTuple):
    """Delayed partitions, as many of each; weights may be None. Tables have a schema, arrays a width."""

    X: list[Any]
    y: list[Any]
    weights: list[Any] | None
    schema: Schema | None
    n_features: int
    notes: list[str]


class PartitionRows(NamedTuple):
    """The rows of one partition, checked."""

    X: NDArray[Any]
    labels: NDArray[Any]
    weights: Floats | None


def is_array(collection: Any) -> bool:
    """Whether this is an array of Dask."""
    import dask.array

    return isinstance(collection, dask.array.Array)


def is_frame(collection: Any) -> bool:
    """Whether this is a data frame or a series of Dask."""
    try:
        import dask.dataframe
    except ImportError:  # Dask without pandas has arrays only
        return False
    return isinstance(collection, dask.dataframe.DataFrame | dask.dataframe.Series)


def examples_of(client: Any, X: Any, y: Any, sample_weight: Any) -> ExamplePartitions:
    """Check what can be seen without computing anything, and cut all into the same partitions.

    Of a table the first rows are computed, to see what its columns hold.
    """
    columns = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    for name, given in {"X": X, **columns}.items():
        if not is_array(given) and not is_frame(given):
            raise InputError(
                f"{name} must be an array or a data frame of Dask; got {type(given).__name__}. Rows that are "
                "in memory are for ocboost.OCBClassifier, or for dask.array.from_array."
            )
    if X.ndim != 2:
        raise InputError(f"X must have two dimensions, rows and features; got {X.ndim}.")
    for name, given in columns.items():
        if given.ndim != 1:
            raise InputError(f"{name} must have one dimension, a value for each row of X; got {given.ndim}.")
    notes: list[str] = []
    others = {name: _aligned(X, given, name) for name, given in columns.items()}
    if is_array(X):
        n_features, schema = X.shape[1], None
        if math.isnan(n_features) or not n_features:
            raise InputError(f"X must have a known number of features, at least one; got {n_features}.")
        if X.dtype.kind not in "biuf":
            raise InputError(
                f"X must hold numbers; got an array of {X.dtype}. Give a data frame to encode text."
            )
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        parts = X.to_delayed().ravel().tolist()
    else:
        schema, notes = _schema(client, X, y)
        n_features, parts = schema.n_features, X.to_delayed()
    cut = {name: _delayed(each) for name, each in others.items()}
    for name, each in cut.items():
        if len(each) != len(parts):
            raise InputError(
                f"{name} must have the {len(parts)} partitions of X; it has {len(each)}. Partitions of "
                "unknown sizes cannot be cut anew: make both from the same collection, or call "
                "compute_chunk_sizes()."
            )
    return ExamplePartitions(list(parts), cut["y"], cut.get("sample_weight"), schema, int(n_features), notes)


def _delayed(column: Any) -> list[Any]:
    parts = column.to_delayed()
    return list(parts.ravel() if isinstance(parts, np.ndarray) else parts)


def _aligned(X: Any, other: Any, name: str) -> Any:
    """A column cut as X is, where Dask knows how."""
    if is_array(X) and is_array(other):
        known = not any(math.isnan(size) for size in (*X.chunks[0], *other.chunks[0]))
        if known and X.shape[0] != other.shape[0]:
            raise InputError(
                f"{name} must have one value for each of the {X.shape[0]} rows; got {other.shape[0]}."
            )
        return other.rechunk((X.chunks[0],)) if known and X.chunks[0] != other.chunks[0] else other
    known = is_frame(X) and is_frame(other) and X.known_divisions and other.known_divisions
    if known and X.divisions != other.divisions:
        raise InputError(
            f"{name} must have the divisions of X; got {other.divisions!s:.80}, and X has "
            f"{X.divisions!s:.80}. Use {name}.repartition(divisions=X.divisions)."
        )
    return other


def _schema(client: Any, X: Any, y: Any) -> tuple[Schema, list[str]]:
    """What the columns of a table are, from its first rows."""
    import pandas as pd

    names = [name for name in X.columns if not isinstance(name, str)]
    if names or not len(X.columns):
        raise InputError(
            f"X must have columns whose names are texts; got {list(X.columns)!s:.80}. Name them: "
            "X.columns = [str(name) for name in X.columns]."
        )
    some: list[Any] = []
    for partition in range(X.npartitions):
        wanted = SAMPLE_ROWS - sum(map(len, some))
        first_rows = X.get_partition(partition).head(wanted, npartitions=1, compute=False)
        some.append(client.compute(first_rows, sync=True))
        if sum(map(len, some)) >= SAMPLE_ROWS:
            break
    first = pd.concat(some) if len(some) > 1 else some[0]
    if not len(first):
        raise InputError("X must have at least one row; all of its partitions are empty.")
    label = getattr(y, "name", None)
    label = label if isinstance(label, str) and label.strip() else None
    schema, notes = schema_of_table(first, label)
    return schema, notes


# On the workers ---------------------------------------------------------------------------------------


def checked(X: Any, y: Any, weights: Any, schema: Schema | None, partition: int) -> PartitionRows:
    """The rows of a partition as arrays; an error names the partition."""
    try:
        return _checked(X, y, weights, schema)
    except (InputError, ValueError, TypeError) as error:
        raise InputError(f"partition {partition}: {error}") from None


def _checked(X: Any, y: Any, weights: Any, schema: Schema | None) -> PartitionRows:
    for name, column in (("y", y), ("sample_weight", weights)):
        if hasattr(X, "index") and hasattr(column, "index") and not X.index.equals(column.index):
            raise InputError(
                f"X and {name} must have the same index; theirs differ. Make both from one data frame, or "
                "reset the index of both."
            )
    rows = features(X, schema)
    labels = labels_of_column(y)[0] if hasattr(y, "iloc") else np.asarray(y)
    if labels.shape != (len(rows),):
        raise InputError(f"y must have one label for each of the {len(rows)} rows; got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y must hold a label for each row; some are missing or infinite. Leave them out.")
    if weights is None:
        return PartitionRows(rows, labels, None)
    return PartitionRows(rows, labels, as_weights(np.asarray(weights, np.float64), len(rows)))


def features(X: Any, schema: Schema | None) -> NDArray[Any]:
    """The features of a partition, float32 or float64."""
    if schema is not None:
        missing = [name for name in schema.column_names if name not in names_in(X)]
        if missing:
            raise InputError(f"X must have the columns of the first rows; it lacks {quoted(missing)}.")
        return encode_table(schema, X)[0]
    if hasattr(X, "tocsr"):
        raise InputError(
            "X must be dense; got a sparse matrix. Use X.map_blocks(lambda block: block.toarray())."
        )
    rows = np.asarray(X)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if rows.size and not (np.isfinite(rows) | np.isnan(rows)).all():
        raise InputError("X must not hold infinity. Replace it by a large number, or by NaN.")
    return rows


def schema_with_label(partitions: ExamplePartitions, y: Any, kind: str | None) -> Schema | None:
    """The schema with the name and the kind of the labels."""
    schema, name = partitions.schema, getattr(y, "name", None)
    if schema is None or not isinstance(name, str) or not name.strip():
        return schema
    return with_label(schema, name, kind)
