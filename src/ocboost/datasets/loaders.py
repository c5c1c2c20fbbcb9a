"""Streams held in memory: files of a data folder, data sets inside river, and those that river generates."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ocboost.datasets.images import refused, require_file, unreadable
from ocboost.errors import MissingExtraError
from ocboost.streams import Schema, open_stream
from ocboost.streams.rows import Rows, join_rows

LOADED_ROWS_PER_BATCH = 10_000
SEA_CONCEPTS = (0, 1, 2, 3)  # thresholds 8, 9, 7 and 9.5
SEA_NOISE = 0.1
AGRAWAL_CONCEPTS = (6, 1, 2, 0)  # the functions; some others have few examples of a class
RBF_SPEED = 0.001
HYPERPLANE_CHANGE = 0.003


@dataclass(frozen=True, eq=False)
class Loaded:
    """A stream held in memory.

    Parameters
    ----------
    rows : Rows
        In the order of the stream, with labels.
    source : str
        One sentence for reports: where the rows came from.
    notes : list of str
        What was done to them.
    """

    rows: Rows
    source: str
    notes: list[str] = field(default_factory=list)


# Files ------------------------------------------------------------------------------------------------------


def load_table(
    path: Path, label: str, *, drop: tuple[str, ...] = (), rows: int | None = None, spread: bool = False
) -> Loaded:
    """Rows of a table, read by `ocboost.streams.open_stream`.

    Of more than ``rows`` the first are taken, or with ``spread`` every k-th one of the whole table.
    """
    _require(path)
    try:
        with open_stream(path, label=label, drop=drop, batch_size=LOADED_ROWS_PER_BATCH) as stream:
            total = 0 if rows is None else _length(path, stream.schema)
            step = -(-total // rows) if spread and rows is not None else 1
            taken = join_rows(list(_every(stream, step, rows)))
    except OSError as error:
        raise unreadable(path, error) from error
    notes = list(stream.notes)
    if drop:
        notes.append(f"Left out: {', '.join(drop)}.")
    if step > 1:
        notes.append(f"One in {step} of {total:,} rows, so that the whole time is covered.")
    elif len(taken) < total:
        notes.append(_first_of(len(taken), total))
    return Loaded(taken, f"'{path.name}'", notes)


def _length(path: Path, schema: Schema) -> int:
    """How many rows a table has."""
    one = replace(schema, columns=schema.columns[:1])
    with open_stream(path, schema=one, batch_size=LOADED_ROWS_PER_BATCH) as stream:
        return sum(map(len, stream))


def _every(batches: Iterable[Rows], step: int, max_rows: int | None) -> Iterator[Rows]:
    """One in ``step`` rows, at most ``max_rows``, numbered from 0; the others are not kept in memory."""
    n = 0
    for batch in batches:
        part = batch[-batch.first % step :: step][: None if max_rows is None else max_rows - n]
        if len(part):
            yield Rows(part.X, part.y, part.known, n)
        n += len(part)
        if n == max_rows:
            return


def load_words(path: Path, label: str, *, rows: int | None = None) -> Loaded:
    """Which words each text holds, as a sparse matrix of zeros and ones, from an npz file of a CSR matrix."""
    from scipy.sparse import csr_matrix

    _require(path)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            indices, indptr = arrays["indices"].astype(np.int32), arrays["indptr"].astype(np.int64)
            shape = tuple(int(size) for size in arrays["shape"])
            y = arrays[label].astype(np.int64)
        words = csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=shape)
        words.check_format(full_check=True)
        texts = Rows(words, y)
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise refused(path, f"hold a CSR matrix and the array {label!r}", str(error)[:120]) from error
    if rows is None or len(y) <= rows:
        return Loaded(texts, f"'{path.name}'")
    return Loaded(texts.detached(0, rows), f"'{path.name}'", [_first_of(rows, len(y))])


def _first_of(n: int, total: int) -> str:
    return f"The first {n:,} of {total:,} rows."


def _require(path: Path) -> None:
    require_file(path, "choose a stream that needs no file")


# River ------------------------------------------------------------------------------------------------------


def _river() -> Any:
    try:
        from river import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError("river", "river", "This stream") from error
    return datasets


def has_bundled(name: str) -> bool:
    """Whether this river has a data set; some came with later versions."""
    return hasattr(_river(), name)


def load_bundled(name: str, rows: int | None = None) -> Loaded:
    """A data set inside river, in its order there."""
    dataset = getattr(_river(), name)()
    pairs = list(islice(dataset, rows))
    features = list(pairs[0][0])
    X = np.array([[float(x[feature]) for feature in features] for x, _ in pairs])
    y = np.array([label for _, label in pairs])
    notes = [_first_of(len(y), dataset.n_samples)] if len(y) < dataset.n_samples else []
    y = y.astype(np.int64) if y.dtype.kind == "b" else y
    return Loaded(Rows(X, y), f"river.datasets.{name}", notes)


def draw_sea(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """SEA: whether x₀ + x₁ exceeds a threshold; one label in ten is wrong.

    With drift, the threshold is another one in each quarter.
    """

    def make(concept: int, own_seed: int) -> Any:
        return _river().synth.SEA(variant=concept, noise=SEA_NOISE, seed=own_seed)

    return _draw_concepts("SEA", make, SEA_CONCEPTS if drifts else SEA_CONCEPTS[:1], rows, seed)


def draw_agrawal(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """Agrawal: whether a loan is granted; with drift, by another function in each quarter."""

    def make(concept: int, own_seed: int) -> Any:
        return _river().synth.Agrawal(classification_function=concept, seed=own_seed)

    return _draw_concepts("Agrawal", make, AGRAWAL_CONCEPTS if drifts else AGRAWAL_CONCEPTS[:1], rows, seed)


def draw_rbf(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """RandomRBF: 50 clouds of two classes in 10 dimensions; with drift, they all move."""
    synth = _river().synth
    if drifts:
        stream = synth.RandomRBFDrift(seed_model=seed, seed_sample=seed, change_speed=RBF_SPEED)
        return _drawn(stream, rows, f"river's RandomRBFDrift, speed {RBF_SPEED:g}")
    return _drawn(synth.RandomRBF(seed_model=seed, seed_sample=seed), rows, "river's RandomRBF")


def draw_hyperplane(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """Hyperplane: on which side of a plane a row of 10 numbers lies; with drift, the plane turns."""
    change = HYPERPLANE_CHANGE if drifts else 0.0
    stream = _river().synth.Hyperplane(seed=seed, n_features=10, n_drift_features=10, mag_change=change)
    return _drawn(stream, rows, f"river's Hyperplane, change {change:g}")


def _draw_concepts(
    name: str, make: Callable[[int, int], Iterable[Any]], concepts: tuple[int, ...], rows: int, seed: int
) -> Loaded:
    """Equally many rows of each concept, one after the other."""
    pairs: list[Any] = []
    for k, concept in enumerate(concepts):
        end = rows * (k + 1) // len(concepts)
        pairs += islice(make(concept, seed * len(concepts) + k), end - len(pairs))
    word = "concept" if len(concepts) == 1 else "concepts"
    return _drawn(pairs, rows, f"river's {name}, {word} {', '.join(map(str, concepts))}")


def _drawn(pairs: Iterable[Any], rows: int, source: str) -> Loaded:
    taken = list(islice(pairs, rows))
    X = np.array([list(x.values()) for x, _ in taken], np.float64)
    return Loaded(Rows(X, np.array([int(y) for _, y in taken])), source)
