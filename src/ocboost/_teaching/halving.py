"""The lowest threshold with which not too much is found."""

from __future__ import annotations

from collections.abc import Callable

HALVINGS = 10  # of the range of thresholds


def lowest_with(count: Callable[[float], int], most: float, low: float, high: float) -> float:
    """The lowest threshold between two, about, with which the count is at most so much.

    >>> scores = [0.1, 0.4, 0.5, 0.9]
    >>> round(lowest_with(lambda at: sum(score >= at for score in scores), 2, 0.0, 1.0), 2)
    0.4
    """
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if count(middle) > most else (low, middle)
    return high
