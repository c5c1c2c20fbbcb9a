"""What can be said of a fleet and of its keys."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import numpy as np

from ocboost.boosters.adaboost import approximation_error
from ocboost.errors import InputError
from ocboost.fleet.record import DamagedRecordError, KeyState, from_record
from ocboost.fleet.scoring import DECAY, Scorer
from ocboost.fleet.state import FleetState

KEYS_AT_ONCE = 4096
LEAST_ROWS = 20  # of a key that may be called bad


@dataclass(frozen=True)
class FleetInfo:
    """A fleet in numbers.

    Attributes
    ----------
    n_keys : int
        How many keys there are.
    rows : int
        Rows learnt.
    window : int
        Examples kept for each key.
    n_hypotheses : int
        How many all keys share.
    bytes : int
        The size of the store.
    bytes_per_key : float
        The mean size of a record.
    accuracy : float or None
        Of all rows, each predicted before it was learnt; None before the first.
    deployed_accuracy : float or None
        That of the model it began with on the same rows.
    sources : dict
        Of each source, how far it was learnt and what was noted.
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
    def of(
        cls,
        state: FleetState,
        sources: dict[str, dict[str, Any]],
        n_keys: int,
        window: int,
        n_hypotheses: int,
        size: int,
    ) -> Self:
        """From the shared state, the sources, and the size of the store.

        Parameters
        ----------
        state : FleetState
            What all keys share.
        sources : dict
            By name.
        n_keys : int
            How many.
        window : int
            Examples kept for each key.
        n_hypotheses : int
            How many.
        size : int
            Bytes of the store.

        Returns
        -------
        FleetInfo
            The numbers.
        """
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
            sources=sources,
        )


@dataclass(frozen=True)
class KeyFacts:
    """A key in numbers.

    Attributes
    ----------
    key : bytes
        The key.
    rows : int
        Rows learnt.
    accuracy : float
        Of its latest rows, about 33, each predicted before it was learnt.
    deployed_accuracy : float
        That of the model the fleet began with on the same rows.
    moved : float
        How far its weights are from the deployed ones, 0 to 1: half the L1 distance after both are scaled to
        1.
    bytes : int
        The size of its record.
    """

    key: bytes
    rows: int
    accuracy: float
    deployed_accuracy: float
    moved: float
    bytes: int


def facts_of(
    records: Iterable[tuple[bytes, Any]], scorer: Scorer, state: FleetState
) -> Iterator[list[KeyFacts]]:
    """The facts of all keys that can be read, some thousand at a time."""
    deployed = scorer.joined(scorer.deployed)
    stream = iter(records)
    while some := list(islice(stream, KEYS_AT_ONCE)):
        found = []
        for key, record in some:
            with suppress(DamagedRecordError):
                found.append((key, len(record), from_record(key, record, scorer.window, scorer.code)))
        weights = scorer.weights(scorer.new_keys([each for *_, each in found]), state.alphas, state.trust)
        yield [
            _facts_of_key(key, size, each, _distance(deployed, own))
            for (key, size, each), own in zip(found, weights, strict=True)
        ]


def _facts_of_key(key: bytes, size: int, state: KeyState, moved: float) -> KeyFacts:
    counted = (1.0 - DECAY**state.seen) / (1.0 - DECAY)
    return KeyFacts(
        key=key,
        rows=state.seen,
        accuracy=state.right / counted if counted else 0.0,
        deployed_accuracy=state.deployed_right / counted if counted else 0.0,
        moved=moved,
        bytes=size,
    )


def _distance(deployed: Any, own: Any) -> float:
    """How far weights are from others, 0 to 1; 1 if one of them is all zeros and the other is not."""
    there = [bool(np.abs(each).sum() > 0.0) for each in (deployed, own)]
    if all(there):
        return float(approximation_error(deployed, own))
    return float(any(there))


_ORDERS: dict[str, Callable[[KeyFacts], Any]] = {
    "worst": lambda each: (each.accuracy, each.key),
    "moved": lambda each: (-each.moved, each.key),
    "rows": lambda each: (-each.rows, each.key),
}


def top_keys(facts: Iterable[list[KeyFacts]], top: int, by: list[str]) -> dict[str, list[KeyFacts]]:
    """The first keys by each of these orders."""
    for order in by:
        if order not in _ORDERS:
            raise InputError(f"by must be 'worst', 'moved' or 'rows'; got {order!r:.40}.")
    first: dict[str, list[KeyFacts]] = {order: [] for order in by}
    for some in facts:
        for order, before in first.items():
            fit = [each for each in some if order != "worst" or each.rows >= LEAST_ROWS]
            first[order] = heapq.nsmallest(top, [*before, *fit], key=_ORDERS[order])
    return first
