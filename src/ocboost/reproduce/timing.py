"""How long the parts of an experiment take."""

from __future__ import annotations

import time


class timed:  # noqa: N801 - reads as a statement
    """Adds the time spent in its block to one entry of a table.

    >>> seconds = {"work": 0.0}
    >>> with timed(seconds, "work"):
    ...     pass
    >>> seconds["work"] > 0.0
    True
    """

    def __init__(self, table: dict[str, float], key: str) -> None:
        self.table, self.key = table, key

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, *exc: object) -> None:
        self.table[self.key] += time.perf_counter() - self.began
