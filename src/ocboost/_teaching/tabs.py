"""Which tab of the browser teaches: one at a time."""

from __future__ import annotations

import re
import time

SILENT_SECONDS = 8.0  # after which a tab counts as gone; one that is open speaks twice a second
TAB_NAME = re.compile(rb"[A-Za-z0-9_-]{8,64}")


class Tabs:
    """The tab that teaches. Others may look; they teach when it is closed or silent, or by taking over.

    >>> tabs = Tabs()
    >>> tabs.hold(b"first", now=0.0), tabs.hold(b"second", now=1.0)
    (True, False)
    >>> tabs.take(b"second", now=2.0)
    >>> tabs.hold(b"first", now=3.0), tabs.hold(b"first", now=2.5 + SILENT_SECONDS)
    (False, True)
    """

    def __init__(self) -> None:
        self._teaches: bytes | None = None
        self._heard = 0.0

    def hold(self, tab: bytes, now: float | None = None) -> bool:
        """Whether a tab teaches, which has just been heard of."""
        now = time.monotonic() if now is None else now
        if self._teaches not in (None, tab) and now - self._heard < SILENT_SECONDS:
            return False
        self._teaches, self._heard = tab, now
        return True

    def take(self, tab: bytes, now: float | None = None) -> None:
        """Let a tab teach from now on."""
        self._teaches, self._heard = tab, time.monotonic() if now is None else now

    def leave(self, tab: bytes) -> None:
        """A tab was closed."""
        if self._teaches == tab:
            self._teaches = None
