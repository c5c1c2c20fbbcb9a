"""Keeping a warning quiet while threads work side by side.

`warnings.catch_warnings` puts the filters back that it found: of two threads in it at once, the one that
leaves last puts back those of the other. Here the first to come adds a filter, and the last to go takes it
out.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_lock = threading.Lock()
_inside: dict[str, list[Any]] = {}  # for each message: the filter, and how many are in it


@contextmanager
def without_warning(message: str) -> Iterator[None]:
    """Ignore warnings that begin like this, in all threads, until nobody wants it any more.

    >>> with without_warning("never mind"):
    ...     warnings.warn("never mind this")
    """
    with _lock:
        if message not in _inside:
            warnings.filterwarnings("ignore", message=message)
            _inside[message] = [warnings.filters[0], 0]
        _inside[message][1] += 1
    try:
        yield
    finally:
        with _lock:
            _inside[message][1] -= 1
            if _inside[message][1] == 0:
                with suppress(ValueError):  # somebody has put other filters in place
                    warnings.filters.remove(_inside[message][0])  # type: ignore[attr-defined]
                del _inside[message]
