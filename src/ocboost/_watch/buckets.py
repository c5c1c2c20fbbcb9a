"""Accuracy and log-loss over time in a fixed number of points, however long it goes on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ocboost._core.codec import Fields, Tree
from ocboost._core.metrics import MIN_PROBABILITY

MODELS = ("deployed", "adapted")
MOST = 512  # buckets of a series; an even number
RECENT_SIZE = 20  # labels in each bucket of the recent series
UNKNOWN_TIME = -1.0
_COLUMNS = 11  # label, time, count; count, right and loss of each model; answered, right


class Said(NamedTuple):
    """What a model said of a row, once the label is known."""

    code: int  # the class that it predicted
    probability: float  # of that class
    truth: float  # the probability of the class that the label names

    @property
    def loss(self) -> float:
        """The log-loss."""
        return -math.log(min(max(self.truth, MIN_PROBABILITY), 1.0))


Outcome = tuple[float, ...]  # the sums of a bucket with one label


def outcome(code: int, said: tuple[Said | None, Said | None], answered: int) -> Outcome:
    """What became of a label: what the models said of its row, and the class that was answered, or -1.

    >>> outcome(1, (Said(0, 0.75, 0.25), None), 1)
    (1.0, 1.0, 0.0, 1.386..., 0.0, 0.0, 0.0, 1.0, 1.0)
    """
    deployed, adapted = (
        (0.0, 0.0, 0.0) if one is None else (1.0, float(one.code == code), one.loss) for one in said
    )
    return (1.0, *deployed, *adapted, float(answered >= 0), float(answered == code))


class Buckets:
    """Sums over consecutive labels.

    A series of everything begins with ``size`` labels in a bucket; when there are `MOST` buckets, each two
    become one. A ``rolling`` one forgets the oldest bucket instead.
    """

    def __init__(self, size: int = 1, *, rolling: bool = False) -> None:
        self.size = size
        self.rolling = rolling
        self._closed: list[list[float]] = []
        self._open = [0.0] * _COLUMNS

    def add(self, label: int, time: float | None, outcome: Outcome) -> None:
        """Add a label by its number, and what became of it."""
        row = self._open
        self._open = [float(label), UNKNOWN_TIME if time is None else time] + [
            a + b for a, b in zip(row[2:], outcome, strict=True)
        ]
        if self._open[2] >= self.size:
            self._close()

    def _close(self) -> None:
        self._closed.append(self._open)
        self._open = [0.0] * _COLUMNS
        if len(self._closed) < MOST:
            return
        if self.rolling:
            del self._closed[0]
            return
        self.size *= 2
        pairs = zip(self._closed[::2], self._closed[1::2], strict=True)
        self._closed = [
            later[:2] + [a + b for a, b in zip(earlier[2:], later[2:], strict=True)]
            for earlier, later in pairs
        ]

    def _rows(self) -> list[list[float]]:
        return [*self._closed, self._open] if self._open[2] else list(self._closed)

    def as_dict(self) -> dict[str, Any]:
        """The series as the page's document has it."""
        rows = self._rows()
        timed = bool(rows) and all(row[1] != UNKNOWN_TIME for row in rows)
        series: dict[str, Any] = {
            "labels": [int(row[0]) for row in rows],
            "times": [round(row[1], 3) for row in rows] if timed else None,
            "counts": [int(row[2]) for row in rows],
            "accuracy": {},
            "log_loss": {},
        }
        for name, place in zip(MODELS, (3, 6), strict=True):
            for metric, value in (("accuracy", 1), ("log_loss", 2)):
                series[metric][name] = [_ratio(row[place + value], row[place]) for row in rows]
        return series

    def last(self, labels: int) -> dict[str, dict[str, float | None]]:
        """Accuracy and log-loss over about so many of the last labels."""
        sums, n = [0.0] * (_COLUMNS - 2), 0.0
        for row in reversed(self._rows()):
            if n >= labels:
                break
            n += row[2]
            sums = [a + b for a, b in zip(sums, row[2:], strict=True)]
        found: dict[str, dict[str, float | None]] = {
            name: {
                "accuracy": _ratio(sums[place + 1], sums[place]),
                "log_loss": _ratio(sums[place + 2], sums[place]),
            }
            for name, place in zip(MODELS, (1, 4), strict=True)
        }
        found["answered"] = {"accuracy": _ratio(sums[8], sums[7])}
        return found

    # In files ---------------------------------------------------------------------------------------------

    def tree(self) -> Tree:
        """What a file holds."""
        return {"size": self.size, "rows": np.array([*self._closed, self._open], np.float64)}

    @classmethod
    def from_tree(cls, fields: Fields, *, rolling: bool = False) -> Buckets:
        """A series from what `tree` gave; anything inconsistent is a `ModelFileError`."""
        buckets = cls(fields.count("size", 1, 1 << 50), rolling=rolling)
        table = fields.array("rows", np.float64, (None, _COLUMNS))
        fields.require(1 <= len(table) <= MOST, "its buckets are too many or too few")
        fields.require(np.isfinite(table).all() and (table[:, 2:] >= 0.0).all(), "its sums make no sense")
        fields.require((table[:, 0] < 2.0**60).all() and (table[:, 1] >= UNKNOWN_TIME).all(), "its places do")
        n = table[:, 2]
        fits = (table[:, [3, 6, 9]] <= n[:, None]).all() and (
            table[:, [4, 7, 10]] <= table[:, [3, 6, 9]]
        ).all()
        whole = (table[:, [0, 2, 3, 4, 6, 7, 9, 10]] % 1.0 == 0.0).all()
        fields.require(fits and whole and (np.diff(table[:-1, 0]) > 0.0).all(), "its counts do not fit")
        *buckets._closed, buckets._open = table.tolist()
        full = all(row[2] == buckets.size for row in buckets._closed)
        fields.require(full and buckets._open[2] < buckets.size, "its buckets have the wrong sizes")
        return buckets


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
