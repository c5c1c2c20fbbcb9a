"""What shards tell each other: sums."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ocboost._kernels.arrays import Floats


class Collective(ABC):
    """Shards that run the same code, each on its own rows, and call `sum` at the same places."""

    rank: int  # which of the shards this is, from 0
    size: int  # how many there are

    @abstractmethod
    def sum(self, values: Floats) -> Floats:
        """The sum of all shards' arrays, of the same shape on each; every shard gets the same bits."""


class Alone(Collective):
    """A single shard."""

    rank, size = 0, 1

    def sum(self, values: Floats) -> Floats:
        """The array itself, in a copy."""
        return values.copy()
