"""Ctrl-C that waits until a block has ended. Kernels need it too, so it lies below everything else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
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
