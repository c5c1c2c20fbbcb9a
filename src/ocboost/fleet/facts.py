"""What can be said of a fleet and of its keys."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import numpy as np

from ocboost.boosters.adaboost import approximation_error
from ocboost.errors import InputError
from ocboost.fleet.record import DamagedRecordError, from_record
from ocboost.fleet.scoring import DECAY, Scorer
from ocboost.fleet.state import FleetState

KEYS_AT_ONCE = 4096
LEAST_ROWS = 20  # of a key that may be called bad


@dataclass(frozen=True)
class FleetInfo:
    """A fleet in numbers.

    ``accuracy`` is that of all rows, each predicted before it was learnt, ``deployed_accuracy`` that of the
    model it began with on the same rows; both None before the first row.
    """

    n_keys: int
    rows: int
    window: int
    n_hypotheses: int
    bytes: int
    bytes_per_key: float
    accuracy: float | None
    deployed_accuracy: float | None
    sources: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, state: FleetState, n_keys: int, window: int, n_hypotheses: int, size: int) -> Self:
        """From the shared state, and the size of the store."""
        rows = state.rows
        return cls(
            n_keys=n_keys,
            rows=rows,
            window=window,
            n_hypotheses=n_hypotheses,
            bytes=size,
            bytes_per_key=size / n_keys if n_keys else 0.0,
            accuracy=state.right / rows if rows else None,
            deployed_accuracy=state.deployed_right / rows if rows else None,
            sources={name: {"offset": each.offset, **each.facts} for name, each in state.sources.items()},
        )


@dataclass(frozen=True)
class KeyFacts:
    """A key in numbers.

    ``accuracy`` and ``deployed_accuracy`` are those of its latest rows, about 33; ``moved`` is how far its
    weights are from the deployed ones, 0 to 1: half the L1 distance after both are scaled to 1.
    """

    key: bytes
    rows: int
    accuracy: float
    deployed_accuracy: float
    moved: float
    bytes: int


def facts_of(records: Iterable[tuple[bytes, Any]], scorer: Scorer, state: FleetState) -> Iterator[KeyFacts]:
    """The facts of each key that can be read."""
    deployed = scorer.joined(scorer.deployed)
    stream = iter(records)
    while some := list(islice(stream, KEYS_AT_ONCE)):
        found = []
        for key, record in some:
            try:
                found.append((key, len(record), from_record(key, record, scorer.window, scorer.code)))
            except DamagedRecordError:
                continue
        weights = scorer.weights(scorer.new_keys([each for *_, each in found]), state.alphas, state.trust)
        for (key, size, each), own in zip(found, weights, strict=True):
            counted = (1.0 - DECAY**each.seen) / (1.0 - DECAY)
            yield KeyFacts(
                key=key,
                rows=each.seen,
                accuracy=each.right / counted if counted else 0.0,
                deployed_accuracy=each.deployed_right / counted if counted else 0.0,
                moved=_distance(deployed, own),
                bytes=size,
            )


def _distance(deployed: Any, own: Any) -> float:
    """How far weights are from others, 0 to 1; 1 if one of them is all zeros and the other is not."""
    there = [bool(np.abs(each).sum() > 0.0) for each in (deployed, own)]
    if all(there):
        return float(approximation_error(deployed, own))
    return float(any(there))


def top_keys(facts: Iterable[KeyFacts], top: int, by: str) -> list[KeyFacts]:
    """The first keys by one of the orders."""
    if by == "worst":
        some = (each for each in facts if each.rows >= LEAST_ROWS)
        return heapq.nsmallest(top, some, key=lambda each: (each.accuracy, each.key))
    if by == "moved":
        return heapq.nsmallest(top, facts, key=lambda each: (-each.moved, each.key))
    if by == "rows":
        return heapq.nsmallest(top, facts, key=lambda each: (-each.rows, each.key))
    raise InputError(f"by must be 'worst', 'moved' or 'rows'; got {by!r:.40}.")
