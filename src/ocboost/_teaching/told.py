"""All clicks of a session in order, those that were taken back too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ocboost._teaching.clicks import CLICK_KINDS, Box, Click, Kind


class Told:
    """What a person clicked. The session's lock guards it.

    >>> told = Told()
    >>> told.add("free", 3, None).number, told.add("free", 4, None).number
    (1, 2)
    >>> told.take_back().number, told.standing(), told.is_on(4)
    (2, [1], False)
    """

    def __init__(self, clicks: Sequence[Click] = ()) -> None:
        self._clicks = list(clicks)

    def add(self, kind: Kind, frame_id: int, box: Box | None) -> Click:
        """One more."""
        click = Click(len(self._clicks) + 1, kind, frame_id, box)
        self._clicks.append(click)
        return click

    def take_back(self) -> Click | None:
        """The last click that stands does so no more; None if there is none."""
        for place in range(len(self._clicks) - 1, -1, -1):
            if not self._clicks[place].undone:
                click = self._clicks[place] = replace(self._clicks[place], undone=True)
                return click
        return None

    def all(self) -> list[Click]:
        """In order."""
        return list(self._clicks)

    def at(self, number: int) -> Click:
        """By its number, from 1 on."""
        return self._clicks[number - 1]

    def up_to(self, number: int | None = None) -> list[Click]:
        """Those that stand, up to a number."""
        return [each for each in self._clicks[:number] if not each.undone]

    def standing(self) -> list[int]:
        """The numbers of those that stand."""
        return [each.number for each in self._clicks if not each.undone]

    def is_on(self, frame_id: int) -> bool:
        """Whether a click in this frame stands."""
        return any(each.frame_id == frame_id and not each.undone for each in self._clicks)

    def kinds(self) -> dict[str, int]:
        """How many of each kind stand."""
        counts = Counter(each.kind for each in self._clicks if not each.undone)
        return {kind: counts[kind] for kind in CLICK_KINDS}

    def by_frame(self) -> Counter[int]:
        """How many stand in each frame."""
        return Counter(each.frame_id for each in self._clicks if not each.undone)
