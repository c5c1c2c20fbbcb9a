"""A call that fails leaves what it was called on as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def all_or_nothing(thing: Any) -> Iterator[None]:
    """Give an object its attributes back if the work inside does not come to its end.

    >>> class Counter: n = 0
    >>> counter = Counter()
    >>> try:
    ...     with all_or_nothing(counter):
    ...         counter.n = 5
    ...         raise ValueError
    ... except ValueError:
    ...     counter.n
    0
    """
    before = dict(thing.__dict__)
    try:
        yield
    except BaseException:
        thing.__dict__ = before
        raise
