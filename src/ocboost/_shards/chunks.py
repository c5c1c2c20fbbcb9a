"""Rows of a shard, in chunks: their bins, classes and weights, and what the hypotheses answer to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ocboost._core.threads import run
from ocboost._kernels.arrays import Bytes, Floats, UInt32s

R = TypeVar("R")


class Chunk(ABC):
    """Some rows. What it gives may be kept elsewhere, and is asked for whenever it is needed."""

    n: int

    @abstractmethod
    def bins(self) -> Bytes:
        """(m, n): the bin of each row in each binned feature."""

    @abstractmethod
    def codes(self) -> UInt32s:
        """(n,): the code of each row's class."""

    @abstractmethod
    def weights(self) -> Floats:
        """(n,): the rows' weights, none of them 0; (1,) if all are the same."""

    @abstractmethod
    def put_answers(self, booster: int, n_groups: int, group: int, packed: Bytes) -> None:
        """Keep what eight hypotheses of a booster answer, (n,): see `ocboost._kernels.shards`."""

    @abstractmethod
    def answers(self, booster: int) -> Bytes:
        """(groups, n): what all hypotheses of a booster answer."""


class MemoryChunk(Chunk):
    """Rows in memory; ``given`` are the answers of hypotheses that all boosters share."""

    def __init__(
        self, bins: Bytes, codes: NDArray[Any], weights: Floats | None, given: Bytes | None = None
    ) -> None:
        self.n = len(codes)
        self._bins, self._codes = bins, np.ascontiguousarray(codes, np.uint32)
        self._weights = np.ones(1) if weights is None else weights
        self._given = given
        self._answers: dict[int, Bytes] = {}

    def bins(self) -> Bytes:
        """(m, n)."""
        return self._bins

    def codes(self) -> UInt32s:
        """(n,)."""
        return self._codes

    def weights(self) -> Floats:
        """(n,) or (1,)."""
        return self._weights

    def put_answers(self, booster: int, n_groups: int, group: int, packed: Bytes) -> None:
        """Keep some answers."""
        self._answers.setdefault(booster, np.zeros((n_groups, self.n), np.uint8))[group] = packed

    def answers(self, booster: int) -> Bytes:
        """(groups, n)."""
        return self._answers[booster] if self._given is None else self._given


def for_chunks(
    task: Callable[[Chunk, Any], R], chunks: Sequence[Chunk], items: Sequence[Any], n_threads: int
) -> list[R]:
    """Run a task on each chunk and its item, several at once if there may be; the results in order."""
    results: list[Any] = [None] * len(chunks)

    def one(i: int) -> None:
        results[i] = task(chunks[i], items[i])

    if n_threads > 1 and len(chunks) > 1:
        run(one, range(len(chunks)))
    else:
        for i in range(len(chunks)):
            one(i)
    return results
