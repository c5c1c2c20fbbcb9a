"""Two clocks: one that ages predictions fairly although the system's may jump, and the system's for people.

While the process runs the first goes by the monotonic clock. Between two runs it goes by the system's, but
never backwards, and by a day at most: should that have jumped ahead, predictions lose one day of their time.
"""

from __future__ import annotations

import time

MAX_PAUSE_SECONDS = 86_400.0
LAST_MOMENT = 253_402_300_799.0  # the end of the year 9999; later times are none


def system_time() -> float:
    """Seconds since 1970 as the system's clock has them: for times that are shown or sent."""
    return min(max(time.time(), 0.0), LAST_MOMENT)


class LiveClock:
    """Seconds that never go back; close to those since 1970 unless the system's clock has jumped.

    Parameters
    ----------
    stopped_at : float, optional
        What this clock said when it was last saved, and
    system_then : float, optional
        what the system's clock said then.
    """

    def __init__(self, stopped_at: float | None = None, system_then: float | None = None) -> None:
        system = system_time()
        if stopped_at is None or system_then is None:
            self._start = system
        else:
            self._start = stopped_at + min(max(system - system_then, 0.0), MAX_PAUSE_SECONDS)
        self._monotonic = time.monotonic()

    def now(self) -> float:
        """The seconds now."""
        return self._start + max(time.monotonic() - self._monotonic, 0.0)

    def in_system_time(self, moment: float | None) -> float | None:
        """A moment of this clock by the system's, as it goes now."""
        return None if moment is None else moment + self.ahead

    @property
    def ahead(self) -> float:
        """The system's clock less this one."""
        return system_time() - self.now()
