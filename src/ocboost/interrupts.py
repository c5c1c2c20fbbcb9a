"""Holding Ctrl-C back while something must not be left half-done."""

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
