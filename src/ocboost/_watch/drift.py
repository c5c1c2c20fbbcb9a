"""Drift alarms: river's ADWIN on a model's errors, in a form that can be saved.

ADWIN itself cannot be saved without pickle, so the results that it was given are: a bit each. It begins anew
with the last `KEPT` results each time when there are twice as many. So it is a function of the bits that are
kept, and a loaded one goes on exactly as the saved one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ocboost._core.codec import Fields, Tree

KEPT = 10_000  # results that it remembers at least, if so many came


class Change(NamedTuple):
    """A change of the rate of error."""

    before: float
    after: float

    @property
    def better(self) -> bool:
        """Whether there are fewer errors now."""
        return self.after < self.before


def detector() -> Any:
    """River's ADWIN; None where river is not installed."""
    try:
        from river.drift import ADWIN
    except ModuleNotFoundError:
        return None
    return ADWIN


def change_in(wrong: bytes | bytearray) -> Change:
    """The rates of error before and after the place where they differ most clearly.

    ADWIN says that there is a change in its window, but keeps much of what was before it.

    >>> change_in(bytes([0, 1, 0, 0, 1, 1, 1, 1]))
    Change(before=0.25, after=1.0)
    """
    sums = np.cumsum(np.frombuffer(wrong, np.uint8), dtype=np.float64)
    n, total = len(sums), sums[-1]
    first = np.arange(1, n)
    before = sums[:-1] / first
    after = (total - sums[:-1]) / (n - first)
    place = int(np.argmax(np.abs(after - before) * np.sqrt(first * (n - first))))
    return Change(float(before[place]), float(after[place]))


class DriftWatch:
    """Looks for changes of a rate of error."""

    def __init__(self) -> None:
        self._wrong = bytearray()
        self._adwin: Any = None
        self._begin()

    def _begin(self) -> None:
        kind = detector()
        self._adwin = None if kind is None else kind()
        if self._adwin is not None:
            for wrong in self._wrong:
                self._adwin.update(wrong)

    def take(self, wrong: bool) -> Change | None:
        """Take the next result; the change, if it is seen now."""
        if len(self._wrong) >= 2 * KEPT:
            del self._wrong[:-KEPT]
            self._begin()
        self._wrong.append(wrong)
        if self._adwin is None:
            return None
        width = int(self._adwin.width) + 1
        self._adwin.update(int(wrong))
        return change_in(self._wrong[-width:]) if self._adwin.drift_detected else None

    def restart(self) -> None:
        """Forget everything: another model is watched from now on."""
        self._wrong.clear()
        self._begin()

    def tree(self) -> Tree:
        """What a file holds."""
        bits = np.frombuffer(bytes(self._wrong), np.uint8)
        return {"n": len(bits), "wrong": np.packbits(bits).view(np.int8)}

    @classmethod
    def from_tree(cls, fields: Fields) -> DriftWatch:
        """What `tree` gave; anything inconsistent is a `ModelFileError`."""
        n = fields.count("n", 0, 2 * KEPT)
        packed = fields.array("wrong", np.int8, ((n + 7) // 8,)).view(np.uint8)
        watch = cls()
        watch._wrong = bytearray(np.unpackbits(packed, count=n).tobytes())
        watch._begin()
        return watch
