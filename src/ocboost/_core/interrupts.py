"""Ctrl-C, SIGTERM and errors leave nothing half-done: ignore, end in order, or use a draft."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self


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


class Ended(Exception):  # noqa: N818
    """Somebody has asked that the work ends here, in order."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has interrupted the work, as Ctrl-C would have."""


class Signals:
    """Ctrl-C and SIGTERM inside the block; a signal that the process ignores stays ignored.

    With ``in_order`` they only set `asked`, and raise `Ended` while the block of `interruptible` waits.
    Otherwise SIGTERM does what Ctrl-C does, but leaves the block as `Terminated`.
    """

    def __init__(self, *, in_order: bool) -> None:
        self.asked = self.terminated = False
        self._in_order = in_order
        self._waits = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self  # Python delivers signals to the main thread only
        ctrl_c = signal.getsignal(signal.SIGINT)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._set(signal.SIGTERM, self._end if self._in_order else self._terminate)
            if not self._in_order and ctrl_c is signal.SIG_IGN:
                self._set(signal.SIGINT, self._only_if_terminated)
        if self._in_order and ctrl_c is signal.default_int_handler:
            self._set(signal.SIGINT, self._end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self.terminated and kind is KeyboardInterrupt:
            raise Terminated from error

    def _set(self, number: int, handler: Callable[[int, Any], None]) -> None:
        self._before[number] = signal.signal(number, handler)

    def _end(self, number: int, frame: Any) -> None:
        self.asked = True
        self.terminated = number == signal.SIGTERM
        if self._waits:
            self._waits = False
            raise Ended

    def _terminate(self, number: int, frame: Any) -> None:
        self.terminated = True
        signal.raise_signal(signal.SIGINT)  # which is delayed where Ctrl-C is

    def _only_if_terminated(self, number: int, frame: Any) -> None:
        if self.terminated:
            raise KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While this block waits a signal raises `Ended`, and one that came before does so at once."""
        self._waits = True
        try:
            if self.asked:
                raise Ended
            yield
        finally:
            self._waits = False


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
