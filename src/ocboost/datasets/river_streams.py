"""Streams that need no file: those inside river's wheel, and those it generates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from ocboost.datasets.stream_files import Loaded
from ocboost.errors import MissingExtraError
from ocboost.streams.rows import Rows

SEA_CONCEPTS = (0, 1, 2, 3)  # thresholds 8, 9, 7 and 9.5
SEA_NOISE = 0.1
AGRAWAL_CONCEPTS = (6, 1, 2, 0)  # the functions; some others have few of a class
RBF_SPEED = 0.001
HYPERPLANE_CHANGE = 0.003


def _river() -> Any:
    try:
        from river import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError("river", "river", "This stream") from error
    return datasets


def bundled(name: str, rows: int | None = None) -> Loaded:
    """A data set that river carries with it, in the order it has there."""
    held = getattr(_river(), name)()
    pairs = list(islice(held, rows))
    features = list(pairs[0][0])
    X = np.array([[float(x[feature]) for feature in features] for x, _ in pairs])
    y = np.array([label for _, label in pairs])
    notes = [f"The first {len(y):,} of {held.n_samples:,} rows."] if len(y) < held.n_samples else []
    y = y.astype(np.int64) if y.dtype.kind == "b" else y
    return Loaded(Rows(X, y), f"river.datasets.{name}", notes)


def has_bundled(name: str) -> bool:
    """Whether this river carries a data set; some came with later versions."""
    return hasattr(_river(), name)


def sea(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """SEA: whether x₀ + x₁ exceeds a threshold; one label in ten is wrong.

    Drifting, the threshold is another one in each quarter.
    """
    synth = _river().synth

    def concept(variant: int, own: int) -> Iterable[Any]:
        examples: Iterable[Any] = synth.SEA(variant=variant, noise=SEA_NOISE, seed=own)
        return examples

    return _quarters(concept, SEA_CONCEPTS if drifts else SEA_CONCEPTS[:1], rows, seed, "SEA")


def agrawal(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """Agrawal: whether a loan is granted; drifting, by another function in each quarter."""
    synth = _river().synth

    def concept(function: int, own: int) -> Iterable[Any]:
        examples: Iterable[Any] = synth.Agrawal(classification_function=function, seed=own)
        return examples

    return _quarters(concept, AGRAWAL_CONCEPTS if drifts else AGRAWAL_CONCEPTS[:1], rows, seed, "Agrawal")


def rbf(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """RandomRBF: 50 clouds of two classes in 10 dimensions; drifting, they all move."""
    synth = _river().synth
    if drifts:
        made = synth.RandomRBFDrift(seed_model=seed, seed_sample=seed, change_speed=RBF_SPEED)
        return _drawn(made, rows, f"river's RandomRBFDrift, speed {RBF_SPEED:g}")
    return _drawn(synth.RandomRBF(seed_model=seed, seed_sample=seed), rows, "river's RandomRBF")


def hyperplane(rows: int, seed: int, *, drifts: bool) -> Loaded:
    """Hyperplane: on which side of a plane a row of 10 numbers lies; drifting, the plane turns."""
    synth = _river().synth
    change = HYPERPLANE_CHANGE if drifts else 0.0
    made = synth.Hyperplane(seed=seed, n_features=10, n_drift_features=10, mag_change=change)
    return _drawn(made, rows, f"river's Hyperplane, change {change:g}")


def _quarters(
    concept: Callable[[int, int], Iterable[Any]], concepts: tuple[int, ...], rows: int, seed: int, name: str
) -> Loaded:
    """Equally many rows of each concept, one after the other."""
    ends = [rows * (k + 1) // len(concepts) for k in range(len(concepts))]
    pairs: list[Any] = []
    for k, (which, end) in enumerate(zip(concepts, ends, strict=True)):
        pairs += islice(concept(which, seed * len(concepts) + k), end - len(pairs))
    one_or_more = "concept" if len(concepts) == 1 else "concepts"
    return _drawn(pairs, rows, f"river's {name}, {one_or_more} {', '.join(map(str, concepts))}")


def _drawn(pairs: Iterable[Any], rows: int, source: str) -> Loaded:
    taken = list(islice(pairs, rows))
    X = np.array([list(x.values()) for x, _ in taken], np.float64)
    return Loaded(Rows(X, np.array([int(y) for _, y in taken])), source)
