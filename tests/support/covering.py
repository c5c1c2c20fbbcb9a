"""Few combinations of settings in which every pair, or every three, of their values still meet.

Where a plain twin is slow, all combinations of five settings cost minutes, and a mistake hardly ever needs
more than two or three values to show. `covering` chooses combinations, always the same ones, so that each
choice of ``together`` settings is there with all combinations of its values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest


def covering(values: Sequence[Sequence[Any]], together: int = 2) -> list[tuple[Any, ...]]:
    """Combinations of one value from each list, in the order of the lists' product."""
    sizes = [len(each) for each in values]
    chosen: list[tuple[int, ...]] = []
    missing = {
        (places, numbers)
        for places in itertools.combinations(range(len(values)), min(together, len(values)))
        for numbers in itertools.product(*(range(sizes[place]) for place in places))
    }

    def met(row: tuple[int, ...]) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
        return {
            (places, tuple(row[place] for place in places))
            for places in itertools.combinations(range(len(values)), min(together, len(values)))
        }

    every = {row: met(row) for row in itertools.product(*(range(size) for size in sizes))}
    while missing:
        best = max(every, key=lambda row: len(every[row] & missing))
        missing -= every.pop(best)
        chosen.append(best)
    return [tuple(each[number] for each, number in zip(values, row, strict=True)) for row in sorted(chosen)]


def every_few(together: int = 2, **values: Sequence[Any]) -> Callable[[Any], Any]:
    """Parametrise a test over combinations in which any ``together`` settings meet with all their values."""
    return pytest.mark.parametrize(tuple(values), covering(list(values.values()), together))
