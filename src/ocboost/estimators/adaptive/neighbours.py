"""Neighbours by answers: the last rows vote, the more the fewer hypotheses tell them from the new row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.neighbours import add_row, neighbour_scores, set_column
from ocboost.errors import InputError
from ocboost.estimators.adaptive.members import Member, OneRow, PoolChange
from ocboost.streams.rows import Rows

WINDOWS = (200, 1000, 4000)
WIDTHS = (0.01, 0.03)  # τ: the share of hypotheses over which a vote falls to 1/e
EXPERTS = ((0, 1), (1, 1), (2, 0), (2, 1))  # places in WINDOWS and WIDTHS
FIRST_ROWS = 256  # room at first; it doubles


class Neighbours(Member):
    """The last 200, 1,000 and 4,000 rows, as bits: v_k = Σ exp(-d / (τ J)) over those of class k.

    d counts the hypotheses that answer a row and the new one differently. The score is
    log(v_k + 0.1 mean v + 0.02).
    """

    group = "neighbours"
    needs_pool = True

    def __init__(self, n_classes: int) -> None:
        self._K = n_classes
        self._windows, self._chosen = np.array(WINDOWS), np.array(EXPERTS)
        self._at = self._n = 0  # where the next row goes, and how many there are
        self._codes, self._weights = np.zeros(FIRST_ROWS, np.int64), np.zeros(FIRST_ROWS)
        self._ring = np.zeros((1, FIRST_ROWS), np.uint64)  # a word of each row after the other
        self._slots = np.zeros(0, np.int64)  # the bit of each hypothesis
        self._set_slots(np.zeros(0, np.int64))

    def _set_slots(self, slots: NDArray[np.int64]) -> None:
        """Give each hypothesis its bit, and make the tables for so many."""
        n_words = max(1, -(-(int(slots.max()) + 1) // 64)) if slots.size else 1
        if n_words > len(self._ring):
            more = np.zeros((n_words - len(self._ring), len(self._codes)), np.uint64)
            self._ring = np.concatenate([self._ring, more])
        self._slots = slots
        self._query = np.zeros(len(self._ring), np.uint64)
        self._distances = np.zeros(len(self._codes), np.uint64)
        J = slots.size
        distances = np.arange(64 * len(self._ring) + 1)
        self._table = np.exp(-distances / (np.array(WIDTHS)[:, None] * max(J, 1)))
        self._counts = np.zeros((self._K, distances.size))
        self._votes = np.zeros((len(WIDTHS), self._K))

    @property
    def experts(self) -> tuple[str, ...]:
        """Windows, and how narrow a neighbourhood is."""
        return tuple(f"neighbours-{WINDOWS[w]}-{WIDTHS[t]:g}" for w, t in EXPERTS)

    def scores(self, row: OneRow, out: Floats) -> None:
        """The log of the votes."""
        assert row.answers is not None
        neighbour_scores(
            row.answers[0],
            self._slots,
            self._ring,
            self._codes,
            self._weights,
            self._at,
            self._n,
            self._windows,
            self._chosen,
            self._table,
            self._query,
            self._distances,
            self._counts,
            self._votes,
            out,
        )

    def learn(self, row: OneRow, code: int, weight: float) -> None:
        """Keep the row's answers."""
        assert row.answers is not None
        if self._n == len(self._codes) < WINDOWS[-1]:
            self._enlarge(min(2 * len(self._codes), WINDOWS[-1]))
        kept = (self._ring, self._codes, self._weights)
        add_row(row.answers[0], self._slots, code, min(weight, 1.0), *kept, self._at, self._query)
        self._at = (self._at + 1) % len(self._codes)
        self._n = min(self._n + 1, len(self._codes))

    def _enlarge(self, size: int) -> None:
        """More room, while the ring has not come round: the oldest row is at 0."""
        more = size - len(self._codes)
        self._ring = np.concatenate([self._ring, np.zeros((len(self._ring), more), np.uint64)], axis=1)
        self._codes = np.append(self._codes, np.zeros(more, np.int64))
        self._weights = np.append(self._weights, np.zeros(more))
        self._distances = np.zeros(size, np.uint64)
        self._at = self._n

    def begin(self, rows: Rows, answers: Int8s | None) -> None:
        """Keep the last of the first rows."""
        assert answers is not None
        self._set_slots(np.arange(answers.shape[1]))
        first = max(0, len(rows) - WINDOWS[-1])
        super().begin(rows[first:], answers[first:])

    def follow(self, change: PoolChange) -> None:
        """New hypotheses take the bits of those that have gone, and answer the rows kept."""
        origin = change.origin
        new = np.flatnonzero(origin < 0)
        slots = np.empty(origin.size, np.int64)
        slots[origin >= 0] = self._slots[origin[origin >= 0]]
        # A hypothesis that several boosters shared is there more than once now: its copies get bits too.
        copies = _repeated(slots, origin >= 0)
        fill = np.union1d(new, copies)
        settled = np.setdiff1d(np.arange(origin.size), fill)
        free = np.setdiff1d(np.arange(origin.size + settled.size), slots[settled])
        slots[fill] = free[: fill.size]
        self._set_slots(slots)
        used = np.zeros(len(self._ring), np.uint64)
        np.bitwise_or.at(used, slots >> 6, np.uint64(1) << (slots & 63).astype(np.uint64))
        self._ring &= used[:, None]  # bits that are free are 0, as in a new row
        rows = change.recent[max(0, len(change.recent) - self._n) :]
        if fill.size and len(rows):
            answers = np.ascontiguousarray(change.hypotheses[fill].answers(rows.X).T)
            first = (self._at - len(rows)) % len(self._codes)
            for column, j in zip(answers, fill.tolist(), strict=True):
                set_column(column, int(slots[j]), self._ring, first)

    def check_pool(self, n_hypotheses: int) -> None:
        """Each hypothesis must have a bit."""
        if len(self._slots) != n_hypotheses:
            raise InputError(f"there must be a bit for each of {n_hypotheses} hypotheses")

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {"ring": self._ring, "codes": self._codes, "weights": self._weights, "slots": self._slots}

    def tree(self) -> Tree:
        """What a file holds."""
        return {**self._state, "at": self._at, "n": self._n}

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        self._codes = fields.array("codes", np.int64, (None,))
        size = len(self._codes)
        fields.require(1 <= size <= WINDOWS[-1], "it keeps too many rows")
        self._weights = fields.array("weights", np.float64, (size,))
        self._ring = fields.array("ring", np.uint64, (None, size))
        slots = fields.array("slots", np.int64, (None,))
        bits = 64 * len(self._ring)
        fits = bits > 0 and ((slots >= 0) & (slots < bits)).all() and len(np.unique(slots)) == len(slots)
        fields.require(bool(fits), "its bits do not fit")
        fields.require(((self._codes >= 0) & (self._codes < self._K)).all(), "its codes do not fit")
        fields.require(((self._weights >= 0.0) & (self._weights <= 1.0)).all(), "its weights do not fit")
        self._n = fields.count("n", 0, size)
        self._at = fields.count("at", 0, size - 1)
        fields.require(self._n == size or self._at == self._n, "its rows do not fit")
        self._set_slots(slots)


def _repeated(slots: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Which of the known ones have a slot that an earlier one has."""
    places = np.flatnonzero(known)
    _, first = np.unique(slots[places], return_index=True)
    return np.setdiff1d(places, places[first])
