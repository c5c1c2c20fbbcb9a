"""A call that fails leaves what it was called on as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def all_or_nothing(thing: Any) -> Iterator[Any]:
    """Work on a draft of an object, whose attributes become the object's if the work comes to its end.

    The draft has the same attributes, not copies of them: they are to be replaced, not changed. Whoever looks
    at the object meanwhile sees it as it was.

    >>> class Counter: n = 0
    >>> counter = Counter()
    >>> try:
    ...     with all_or_nothing(counter) as draft:
    ...         draft.n = 5
    ...         raise ValueError
    ... except ValueError:
    ...     counter.n
    0
    """
    before = dict(thing.__dict__)
    draft = object.__new__(type(thing))
    draft.__dict__.update(before)
    yield draft
    # What somebody else has set meanwhile (set_params) stays.
    after = {**thing.__dict__, **{k: v for k, v in draft.__dict__.items() if before.get(k, before) is not v}}
    for name in before.keys() - draft.__dict__.keys():
        after.pop(name, None)
    thing.__dict__ = after
