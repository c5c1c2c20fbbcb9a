"""Comparisons on many streams together: ranks, who wins where, and whether that may be chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from ocboost.evaluation.board import Board, mean_of, ranks_of

ALPHA = 0.05


class Summary:
    """The boards of several streams, of the same methods.

    ``names`` are the methods, from the best mean rank to the worst; ``complete`` the boards where every
    method took part, which ranks are over.
    """

    def __init__(self, boards: Sequence[Board]) -> None:
        self.boards = list(boards)
        names = list(dict.fromkeys(entry.name for board in self.boards for entry in board.entries))
        self.complete = [board for board in self.boards if len(board.entries) == len(names)]
        self._ranks = {board.stream: _ranks(board) for board in self.complete}
        order = {name: self.mean_rank(name) for name in names}
        self.names = sorted(
            names, key=lambda name: (order[name] is None, order[name] or 0.0, not self.deployable(name))
        )

    def accuracy(self, board: Board, name: str) -> float | None:
        """Mean accuracy of a method on a stream; None if it did not take part."""
        return next((entry.mean("accuracy") for entry in board.entries if entry.name == name), None)

    def mean_rank(self, name: str, streams: Sequence[str] | None = None) -> float | None:
        """The mean of its ranks over these streams, or all, as far as every method took part."""
        chosen = [b.stream for b in self.complete if streams is None or b.stream in streams]
        return mean_of([self._ranks[stream][name] for stream in chosen])

    def rank(self, board: Board, name: str) -> float:
        """Its rank on a stream where every method took part."""
        return self._ranks[board.stream][name]

    def deployable(self, name: str) -> bool:
        """Whether a method can be deployed; others take part for comparison only."""
        return next(p.deployable for board in self.boards for p in board.entries if p.name == name)

    @property
    def first(self) -> str | None:
        """The best mean rank of those that can be deployed."""
        return next((name for name in self.names if self.deployable(name)), None)

    def wins(self, name: str) -> list[str]:
        """The streams where nobody that can be deployed is better; for comparison only, where nobody is."""
        chosen = self.deployable(name)
        return [b.stream for b in self.boards if name in (p.name for p in b.best(deployable=chosen))]

    def behind(self, board: Board, name: str) -> float | None:
        """Percentage points behind the best of all of a stream; None if it did not take part."""
        top, own = board.best(deployable=False), self.accuracy(board, name)
        if not top or own is None:
            return None
        return 100.0 * (top[0].accuracy - own)

    def mean_behind(self, name: str) -> float | None:
        """The same, on average over the streams it took part in."""
        gaps = [gap for board in self.boards if (gap := self.behind(board, name)) is not None]
        return mean_of(gaps)

    def not_apart(self, first: str) -> list[str]:
        """Those that can be deployed whose mean ranks may differ from this one's by chance (Nemenyi)."""
        gap, own = self.critical, self.mean_rank(first)
        if gap is None or own is None:
            return []
        ranks = {n: self.mean_rank(n) for n in self.names if n != first and self.deployable(n)}
        return [name for name, rank in ranks.items() if rank is not None and abs(rank - own) <= gap]

    def gain(self, board: Board, name: str, other: str) -> float:
        """Percentage points that one method is better than another; 0 where one did not take part."""
        a, b = self.accuracy(board, name), self.accuracy(board, other)
        return 0.0 if a is None or b is None else 100.0 * (a - b)

    def us(self, name: str) -> float | None:
        """Microseconds for a row, the median over the streams."""
        times = [entry.us for board in self.boards for entry in board.entries if entry.name == name]
        return median(times) if times else None

    def nbytes(self, name: str) -> int | None:
        """The most bytes it kept on a stream."""
        sizes = [p.nbytes for b in self.boards for p in b.entries if p.name == name and p.nbytes is not None]
        return max(sizes, default=None)

    @property
    def all_level(self) -> bool:
        """Whether on every stream all methods are equal: ranks then say nothing."""
        return all(len(set(ranks.values())) == 1 for ranks in self._ranks.values())

    @property
    def friedman(self) -> float | None:
        """The chance of ranks this different if all methods were alike: Friedman's test, with ties.

        None where there are fewer than three methods or two streams, and where all are level everywhere.
        """
        if len(self.names) < 3 or len(self.complete) < 2 or self.all_level:
            return None
        from scipy.stats import friedmanchisquare

        ranks = ([self._ranks[board.stream][name] for board in self.complete] for name in self.names)
        return float(friedmanchisquare(*ranks).pvalue)

    @property
    def critical(self) -> float | None:
        """How far two mean ranks must be apart not to be chance, at 0.05 (Nemenyi's test); None for few.

        Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7 (2006).
        """
        k, n = len(self.names), len(self.complete)
        if k < 2 or n < 2:
            return None
        from scipy.stats import studentized_range

        q = float(studentized_range.ppf(1.0 - ALPHA, k, math.inf)) / math.sqrt(2.0)
        return q * math.sqrt(k * (k + 1) / (6.0 * n))

    def as_dict(self) -> dict[str, Any]:
        """Ranks and what they mean, for JSON."""
        return {
            "deployable": {name: self.deployable(name) for name in self.names},
            "best_deployable": self.first,
            "best_of_all": self.names[0],
            "mean_ranks": {name: self.mean_rank(name) for name in self.names},
            "points_behind": {name: self.mean_behind(name) for name in self.names},
            "wins": {name: self.wins(name) for name in self.names},
            "ranked_over": [board.stream for board in self.complete],
            "friedman_p": self.friedman,
            "critical_difference": self.critical,
        }


def _ranks(board: Board) -> dict[str, float]:
    ranks = ranks_of([entry.mean("accuracy") for entry in board.entries])
    return {entry.name: rank for entry, rank in zip(board.entries, ranks, strict=True)}
