"""Holding Ctrl-C back while something must not be left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_holding = False  # whether Ctrl-C is being held back already


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the work inside is done, then let it through; within another one, do nothing."""
    global _holding
    main = threading.current_thread() is threading.main_thread()
    if _holding or not main or signal.getsignal(signal.SIGINT) is None:
        yield  # Python delivers signals to the main thread only; None is a handler that is not Python's
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    _holding = True
    try:
        yield
    finally:
        _holding = False
        signal.signal(signal.SIGINT, before)
        if held:
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
