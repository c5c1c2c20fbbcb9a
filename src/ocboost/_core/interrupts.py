"""Holding Ctrl-C back while something must not be left half-done.

A call that fails leaves what it was called on as it was.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any

# What the functions of `signal` call; those look for enumerations, which takes microseconds an example.
_plain = import_module("_signal")
_set_handler: Callable[[int, Any], Any] = _plain.signal
_get_handler: Callable[[int], Any] = _plain.getsignal
_SIGINT = int(signal.SIGINT)

_holding = False  # whether Ctrl-C is being held back already


class uninterrupted:  # noqa: N801
    """Hold Ctrl-C back until the work inside is done, then let it through; within another one, do nothing."""

    __slots__ = ("_before", "_holds", "_pressed")

    def __enter__(self) -> None:
        global _holding
        self._holds = False
        if _holding or threading.current_thread() is not threading.main_thread():
            return  # Python delivers signals to the main thread only
        if _get_handler(_SIGINT) is None:
            return  # a handler that is not Python's
        self._pressed: list[int] = []
        self._before = _set_handler(_SIGINT, self._hold)
        self._holds = _holding = True

    def _hold(self, number: int, frame: Any) -> None:
        self._pressed.append(number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _holding
        if not self._holds:
            return
        _holding = False
        _set_handler(_SIGINT, self._before)
        if self._pressed:
            signal.raise_signal(signal.SIGINT)  # now whatever was to happen on Ctrl-C does


@contextmanager
def deaf() -> Iterator[None]:
    """Do not listen to Ctrl-C, nor let a process that is started inside listen."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
