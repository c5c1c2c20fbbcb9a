"""What was computed and may be needed again, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Values by their keys; what was not asked for longest leaves first, when all are too large.

    >>> kept = Remembered[int, bytes](3, len)
    >>> for key in (1, 2):
    ...     kept.put(key, b"x")
    >>> kept.get(1), kept.put(3, b"xx"), 1 in kept, 2 in kept
    (b'x', None, True, False)
    """

    def __init__(self, most: int, size: Callable[[V], int]) -> None:
        self._most = most
        self._size = size
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._total = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: K) -> bool:
        return key in self._kept

    def get(self, key: K) -> V | None:
        """A value, if it is there still."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V) -> None:
        """Remember a value, in place of the one before."""
        before = self._kept.pop(key, None)
        size = self._size(value)
        self._kept[key] = value, size
        self._total += size - (0 if before is None else before[1])
        while self._total > self._most and len(self._kept) > 1:
            self._total -= self._kept.popitem(last=False)[1][1]


def n_bytes(value: Any) -> int:
    """Of the arrays in a value, which may hold tuples of them."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(n_bytes, value)) if isinstance(value, tuple) else 0
