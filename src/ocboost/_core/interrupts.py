"""Ctrl-C and errors leave nothing half-done: delay Ctrl-C, ignore it, or work on a draft."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

# The C functions behind those of `signal`, whose enumerations cost microseconds for each example.
_c_signal = import_module("_signal")
_set_handler: Callable[[int, Any], Any] = _c_signal.signal
_get_handler: Callable[[int], Any] = _c_signal.getsignal
_SIGINT = int(signal.SIGINT)

_delaying = False  # whether Ctrl-C is being delayed already


class uninterrupted:  # noqa: N801
    """Delay Ctrl-C until the block has ended; inside another such block, do nothing."""

    __slots__ = ("_delays", "_handler", "_pressed")

    def __enter__(self) -> None:
        global _delaying
        self._delays = False
        if _delaying or threading.current_thread() is not threading.main_thread():
            return  # Python delivers signals to the main thread only
        if _get_handler(_SIGINT) is None:
            return  # a handler that was not set from Python
        self._pressed: list[int] = []
        self._handler = _set_handler(_SIGINT, self._remember)
        self._delays = _delaying = True

    def _remember(self, number: int, frame: Any) -> None:
        self._pressed.append(number)

    def __exit__(self, *error: object) -> None:
        global _delaying
        if not self._delays:
            return
        _delaying = False
        _set_handler(_SIGINT, self._handler)
        if self._pressed:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def ignoring_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C, here and in processes that are started inside."""
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
    """Work on a draft of an object, whose attributes become the object's if the block ends without an error.

    The draft shares its attributes with the object: replace them, do not change them. Until the end other
    threads see the object as it was.

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
