"""`Silence`: whether labels have stopped coming while predictions go on.

Its clock runs while predictions go on that no label has followed: from each prediction to the next, for five
minutes at most. So a night without predictions does not count, and neither does the time that the service is
down. A gap is what that clock says when a label comes.

Unless a limit is given, labels have stopped once the gap is twice the longest usual one, and ten minutes at
least. Usual is what was seen in the last four weeks without an alarm, or twice. So a pause that comes every
day or every week raises two alarms at most, and a failure does not make the next one go unnoticed. There is
no alarm before labels have come for a day: until then nobody knows what is usual.

With a limit of ``within`` seconds, that alone counts, also if no label has ever come; the clock then runs for
half of that after a prediction.
"""

from __future__ import annotations

from ocboost._core.codec import Fields, Tree
from ocboost.live.notices import LABELS_BACK, LABELS_STOPPED, AlarmNotice, as_iso

LEAST_LIMIT = 600.0  # seconds
TIMES_USUAL = 2.0
ACTIVE_SECONDS = 300.0  # that the clock runs after a prediction
KEPT_SECONDS = 28 * 86_400.0  # how long gaps are remembered
LEARNING_SECONDS = 86_400.0  # from the first label until there can be an alarm
NOTED_GAP = 60.0  # shorter ones make no difference
MAX_GAPS = 200
MAX_SECONDS = 1e12


class Silence:
    """Tells once when labels have stopped coming, and once when they are back.

    Times are seconds that never go back; ``clock_ahead`` is to be added to those that are told.

    Parameters
    ----------
    within : float, optional
        Labels must come within so many seconds; by default a limit is found in the gaps there were.
    """

    def __init__(self, within: float | None = None) -> None:
        self._within = within
        self.clock_ahead = 0.0
        self._active = ACTIVE_SECONDS if within is None else within / 2
        self._gap = 0.0  # what the clock says
        self._predictions = 0  # since the last label
        self._first_label: float | None = None
        self._last_label: float | None = None
        self._gaps: list[tuple[float, float, bool]] = []  # when it ended, how long it was, whether alarmed
        self._stopped_at: float | None = None  # of the alarm
        self._predicted_at: float | None = None  # the last prediction, if no label has come after it
        self._counted_to = 0.0
        self._back: AlarmNotice | None = None
        self.told: AlarmNotice | None = None  # the last that `check` gave

    def predicted(self, n: int, at: float) -> None:
        """Predictions were made that wait for their labels."""
        if n > 0:
            self._count_to(at)
            self._predictions += n
            self._predicted_at = at

    def labelled(self, n: int, at: float) -> None:
        """Labels came."""
        if n <= 0:
            return
        self._count_to(at)
        if self._within is None and self._gap >= NOTED_GAP and self._first_label is not None:
            self._note_gap(at)
        if self._stopped_at is not None:
            self._back = self._labels_back(at)
        self._stopped_at = self._predicted_at = None
        self._gap, self._predictions = 0.0, 0
        self._first_label = at if self._first_label is None else self._first_label
        self._last_label = at

    def check(self, at: float) -> AlarmNotice | None:
        """What is to be told now, if anything."""
        notice = self._next_notice(at)
        self.told = notice or self.told
        return notice

    def _next_notice(self, at: float) -> AlarmNotice | None:
        self._count_to(at)
        if self._back is not None:
            notice, self._back = self._back, None
            return notice
        limit = self.limit
        if self._stopped_at is not None or limit is None or self._gap <= limit:
            return None
        self._stopped_at = at
        since = "No label has ever come" if self._last_label is None else "Labels have stopped coming"
        return AlarmNotice(
            LABELS_STOPPED,
            at + self.clock_ahead,
            f"{since}: none in {in_units(self._gap)} of predictions, and {in_units(limit)} is the limit. "
            f"{self._predictions:,} predictions were made meanwhile.",
            {
                "last_label": self._told_last_label(),
                "gap_seconds": round(self._gap, 3),
                "limit_seconds": round(limit, 3),
                "predictions": self._predictions,
            },
        )

    @property
    def is_stopped(self) -> bool:
        """Whether labels have stopped coming."""
        return self._stopped_at is not None

    @property
    def limit(self) -> float | None:
        """The gap from which on labels have stopped; None while that is not known."""
        if self._within is not None:
            return self._within
        first, last = self._first_label, self._last_label
        if first is None or last is None or last - first < LEARNING_SECONDS:
            return None
        quiet = [length for _, length, alarmed in self._gaps if not alarmed]
        every = sorted(length for _, length, _ in self._gaps)
        return max(LEAST_LIMIT, TIMES_USUAL * max([0.0, *quiet, *every[-2:-1]]))

    def _count_to(self, at: float) -> None:
        if self._predicted_at is not None:
            begin = max(self._counted_to, self._predicted_at)
            self._gap += max(0.0, min(at, self._predicted_at + self._active) - begin)
        self._counted_to = max(self._counted_to, at)

    def _note_gap(self, at: float) -> None:
        kept = [each for each in self._gaps if each[0] > at - KEPT_SECONDS]
        kept.append((at, self._gap, self._stopped_at is not None))
        if len(kept) > MAX_GAPS:
            kept.remove(min(kept, key=lambda each: each[1]))
        self._gaps = kept

    def _labels_back(self, at: float) -> AlarmNotice:
        return AlarmNotice(
            LABELS_BACK,
            at + self.clock_ahead,
            f"Labels come again, after none in {in_units(self._gap)} of predictions.",
            {
                "last_label": self._told_last_label(),
                "gap_seconds": round(self._gap, 3),
                "predictions": self._predictions,
            },
        )

    def _told_last_label(self) -> str | None:
        return None if self._last_label is None else as_iso(self._last_label + self.clock_ahead)

    # In files ---------------------------------------------------------------------------------------------

    def tree(self) -> Tree:
        """What a file holds, for JSON."""
        return {
            "automatic": self._within is None,
            "gap": self._gap,
            "predictions": self._predictions,
            "first_label": self._first_label,
            "last_label": self._last_label,
            "stopped_at": self._stopped_at,
            "gaps": [list(each) for each in self._gaps],
            "told": None if self.told is None else self.told.tree(),
        }

    @classmethod
    def from_tree(cls, fields: Fields, within: float | None) -> Silence:
        """Go on from what `tree` gave. The gap is counted anew where it was counted by another rule."""
        silence = cls(within)
        automatic = fields.flag("automatic")
        gap, predictions = fields.number("gap", 0.0, MAX_SECONDS), fields.count("predictions")
        silence._first_label, silence._last_label, silence._stopped_at = (
            None if fields.takes(key, None) else fields.number(key, 0.0, MAX_SECONDS)
            for key in ("first_label", "last_label", "stopped_at")
        )
        if automatic == (within is None) or silence._stopped_at is not None:
            silence._gap, silence._predictions = gap, predictions
        for each in fields.items("gaps", most=MAX_GAPS):
            fits = type(each) is list and len(each) == 3 and type(each[2]) is bool
            fits = fits and all(type(value) is float and 0.0 <= value < MAX_SECONDS for value in each[:2])
            fields.require(fits, "a gap makes no sense")
            silence._gaps.append((each[0], each[1], each[2]))
        silence.told = fields.read_optional("told", AlarmNotice.from_tree)
        return silence


def in_units(seconds: float) -> str:
    """A length of time in the unit that suits it.

    >>> in_units(45.0), in_units(600.0), in_units(9000.0), in_units(180_000.0)
    ('45 seconds', '10 minutes', '2.5 hours', '50 hours')
    """
    for size, name, most in ((1.0, "second", 120.0), (60.0, "minute", 7200.0), (3600.0, "hour", 200_000.0)):
        if seconds < most:
            return _counted(seconds / size, name)
    return _counted(seconds / 86_400.0, "day")


def _counted(n: float, unit: str) -> str:
    text = f"{n:.1f}".removesuffix(".0") if n < 10 else f"{n:.0f}"
    return f"{text} {unit}{'' if text == '1' else 's'}"
