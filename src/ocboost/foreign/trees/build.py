"""Trees of other libraries put together: one after the other, children after their parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.foreign.trees.nodes import TreeNodes


class TreeBuilder:
    """Takes trees one by one, each as arrays over its own nodes with its root first."""

    def __init__(self) -> None:
        self._arrays: dict[str, list[NDArray[Any]]] = {}
        self._roots: list[int] = []
        self._values: list[NDArray[Any]] = []
        self._sets: list[NDArray[np.uint32]] = []
        self._total = 0

    def add(
        self,
        feature: NDArray[Any],
        threshold: NDArray[Any],
        left: NDArray[Any],
        right: NDArray[Any],
        missing_left: NDArray[Any],
        value: NDArray[Any],
        *,
        zero_missing: NDArray[Any] | None = None,
        sets: dict[int, NDArray[np.uint32]] | None = None,
    ) -> None:
        """One more tree. ``left`` is negative at a leaf, ``value`` is of shape (nodes, V).

        ``sets`` are the words of the sets of categories, by node.
        """
        nodes, leaf = left.size, left < 0
        # scikit-learn 1.6 has NaN where a split only parts off missing values; nothing is <= NaN.
        threshold = np.where(np.isnan(threshold), -np.inf, threshold)
        category = np.full(nodes, -1)
        for v, words in (sets or {}).items():
            category[v] = len(self._sets)
            self._sets.append(words)
        arrays = {
            "feature": np.where(leaf, -1, feature),
            "threshold": np.where(leaf | (category >= 0), 0.0, threshold),
            "left": np.where(leaf, -1, left.astype(np.int64) + self._total),
            "right": np.where(leaf, -1, right.astype(np.int64) + self._total),
            "missing_left": np.where(leaf, 0, missing_left != 0),
            "zero_missing": np.zeros(nodes, int) if zero_missing is None else zero_missing,
            "category": category,
        }
        for name, array in arrays.items():
            self._arrays.setdefault(name, []).append(array)
        self._values.append(value[leaf])
        self._roots.append(self._total)
        self._total += nodes

    def nodes(self, **settings: Any) -> TreeNodes:
        """All trees taken so far."""
        return TreeNodes(self.root, **self.arrays(), sets=self._sets, **settings)

    def arrays(self) -> dict[str, Any]:
        """Their arrays by name, (nodes,)."""
        return {name: np.concatenate(parts) for name, parts in self._arrays.items()}

    @property
    def root(self) -> NDArray[np.int64]:
        """The node that each of them starts at."""
        return np.array(self._roots)

    @property
    def value(self) -> NDArray[Any]:
        """The values of their leaves, (leaves, V)."""
        return np.concatenate(self._values)


def words_of(categories: Sequence[int] | NDArray[Any], at_least: int = 1) -> NDArray[np.uint32]:
    """A set of categories as words of 32 bits.

    >>> words_of([0, 33]).tolist()
    [1, 2]
    """
    codes = np.asarray(categories, dtype=np.int64)
    bits = np.zeros(32 * max(at_least, int(codes.max(initial=0)) // 32 + 1), np.uint8)
    bits[codes] = 1
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)
