"""Columns on their way through the steps of a model, while it is read: what each holds, and its texts.

A text column may go to several steps, which know different texts of it. All of them are collected first
(`Slot.add`); the steps are made afterwards (`Planned.build`), when each column's vocabulary is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ocboost.foreign.base import Floats, PortableStep, is_missing, not_portable

MAX_VOCABULARY = 65_536  # texts of one column


class Slot:
    """One column: numbers, or texts that come as codes.

    >>> city = Slot("column 'city'")
    >>> city.add(["Rome", "Bern"], "an encoder")
    >>> city.vocabulary
    ('Bern', 'Rome')
    """

    def __init__(self, name: str, reader: str | None = None) -> None:
        self.name = name
        self._texts: set[str] = set()
        self._vocabulary: tuple[str, ...] | None = None
        self.is_text: bool | None = None if reader is None else False
        self._reader = reader

    def claim(self, is_text: bool, reader: str) -> None:
        """Say that a step reads it as texts, or as numbers; a mixture is refused."""
        if self.is_text is None:
            self.is_text, self._reader = is_text, reader
        elif self.is_text != is_text:
            texts, others = (reader, self._reader) if is_text else (self._reader, reader)
            raise not_portable(
                f"{self.name}, which {texts} reads as text and {others} as numbers",
                "Give them columns of one type.",
            )

    def add(self, texts: Iterable[str], reader: str) -> None:
        """Say that a step knows these texts of it."""
        self.claim(True, reader)
        assert self._vocabulary is None  # nothing is built yet
        self._texts.update(texts)
        if len(self._texts) > MAX_VOCABULARY:
            raise not_portable(
                f"{self.name} with more than {MAX_VOCABULARY:,} different texts",
                "Group the rare ones before they are fitted.",
            )

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Its texts in the order of their codes; asking for it completes it."""
        if self._vocabulary is None:
            self._vocabulary = tuple(sorted(self._texts))
        return self._vocabulary

    def codes(self, values: Sequence[Any]) -> Floats:
        """Texts, all of them known, as codes; numbers as they are."""
        if not self.is_text:
            return np.array([float(value) for value in values])
        index = {text: code for code, text in enumerate(self.vocabulary)}
        return np.array([float(index[str(value)]) for value in values])


class Planned(NamedTuple):
    """A step that is read and not made yet, and the columns it gives."""

    build: Callable[[], PortableStep]
    out: list[Slot]


def made_slots(n: int, where: str) -> list[Slot]:
    """Columns of numbers that a step has computed."""
    return [Slot(f"column {i} of what {where} gives", where) for i in range(n)]


def claim_numbers(slots: Sequence[Slot], where: str) -> None:
    """Say that a step computes with all these columns."""
    for slot in slots:
        slot.claim(False, where)


def claim_values(slot: Slot, values: Sequence[Any], where: str) -> list[Any]:
    """Say that a step knows these values of a column, and return them without missing ones.

    They must be all texts or all numbers.
    """
    present = [value for value in values if not is_missing(value)]
    if not present:
        return present
    if all(isinstance(value, str) for value in present):
        slot.add(map(str, present), where)
        return present
    plain = int | float | np.number | np.bool_
    odd = next((value for value in present if not isinstance(value, plain)), None)
    if odd is not None or any(float(value) != value for value in present):
        kind = type(present[0] if odd is None else odd).__name__
        raise not_portable(
            f"{where}, which knows values of type {kind} of {slot.name}",
            "They must be all texts, or all numbers that float64 holds exactly.",
        )
    slot.claim(False, where)
    return present
