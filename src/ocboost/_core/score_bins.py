"""Scores of one class against the rest: the areas under its curves, exactly and from a histogram.

>>> bins = ScoreBins()
>>> bins.add(np.array([2.0, -1.0, 1.0]), np.array([True, False, False]))
>>> bins.auc, bins.average_precision, int(bins.recalls()[1][0])
(1.0, 1.0, 1)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SCORE_BINS = 8192
CURVE_POINTS = 101  # in the threshold, and again in recall
MAX_BINNED_SCORE = math.asinh(750.0)  # the log-odds of the smallest positive double are -745

Scores = NDArray[np.float64]
Counts = NDArray[np.int64]


class ScoreBins:
    """A histogram of 8,192 bins over asinh(log-odds), of the rows of a class and of all others.

    Scores within about 0.2 % (0.002 around even odds) share a bin and count as ties: `auc_bound` and
    `average_precision_bound` say how far that may put the areas off.
    """

    def __init__(self) -> None:
        self.counts: Counts = np.zeros((2, SCORE_BINS), np.int64)  # of others, of the class
        self._lowest = np.full(SCORE_BINS, np.inf)  # score in each bin
        self._highest = np.full(SCORE_BINS, -np.inf)

    def add(self, score: Scores, positive: NDArray[np.bool_]) -> None:
        """Add scores, and whether each row was of the class."""
        bins = _bins_of(score)
        self.counts[0] += np.bincount(bins[~positive], minlength=SCORE_BINS)
        self.counts[1] += np.bincount(bins[positive], minlength=SCORE_BINS)
        np.minimum.at(self._lowest, bins, score)
        np.maximum.at(self._highest, bins, score)

    @property
    def has_both(self) -> bool:
        """Whether rows of the class and others have come."""
        return bool(self.counts.any(axis=1).all())

    @property
    def auc(self) -> float:
        """The area under the ROC curve; scores in one bin count as ties."""
        down, up = self.counts / self.counts.sum(axis=1, keepdims=True)
        return float(up @ (np.cumsum(down) - down / 2.0))

    @property
    def auc_bound(self) -> float:
        """How far `auc` may be off: half the share of the pairs in bins that hold different scores."""
        down, up = self.counts / self.counts.sum(axis=1, keepdims=True)
        mixed = self._lowest < self._highest
        return float(up[mixed] @ down[mixed]) / 2.0

    @property
    def average_precision(self) -> float:
        """The area under the precision–recall curve, as steps; scores in one bin count as ties."""
        others, own = self._from_above()
        reached = np.cumsum(own)
        precision = reached / np.maximum(reached + np.cumsum(others), 1)
        return float(own @ precision / own.sum())

    @property
    def average_precision_bound(self) -> float:
        """How far `average_precision` may be off, whatever the order of the scores within their bins.

        Of a bin with different scores, p of the class and m others below P and N above it, each of the p adds
        at most (P+p)/(P+p+N), where all m come after them, and together at least p times the mean of the
        first and the last of (P+i)/(P+i+N+m), i = 1 … p, where all m come before, as that is concave in i.
        """
        others, own = self._from_above()
        mixed = (self._lowest < self._highest)[::-1] & (own > 0)
        reached, passed = np.cumsum(own)[mixed], np.cumsum(others)[mixed]
        p, m = own[mixed], others[mixed]
        binned = reached / (reached + passed)
        most = reached / (reached + passed - m)
        first = (reached - p + 1) / (reached - p + 1 + passed)
        above = float(p @ (most - binned))
        below = float(p @ ((binned - first) / 2.0))
        return max(above, below) / float(own.sum())

    def _from_above(self) -> tuple[Counts, Counts]:
        """The counts of others and of the class, from the highest score down."""
        return self.counts[0, ::-1], self.counts[1, ::-1]

    def curve(self) -> dict[str, list[float]]:
        """Recall of the class and of others, precision and accuracy, by the probability to predict it from.

        At most some 200 thresholds: evenly spaced ones, and others evenly spaced in recall.
        """
        thresholds, found, others = self.recalls()
        n_others, n_own = self.counts.sum(axis=1).tolist()
        recall = found / n_own
        grid = np.linspace(0.0, 1.0, CURVE_POINTS)
        chosen = np.unique(
            np.concatenate(
                [np.searchsorted(thresholds, grid), len(recall) - 1 - np.searchsorted(recall[::-1], grid)]
            ).clip(0, len(recall) - 1)
        )
        columns = {
            "threshold": thresholds,
            "recall": recall,
            "recall_of_others": 1.0 - others / n_others,
            "precision": found / (found + others),
            "accuracy": (found + n_others - others) / (n_own + n_others),
        }
        return {name: values[chosen].tolist() for name, values in columns.items()}

    def recalls(self) -> tuple[Scores, Counts, Counts]:
        """Where the bins begin, as probabilities, and how many of the class and of others lie there or above.

        From the lowest bin up; only bins in which something lies.
        """
        some = np.flatnonzero(self.counts.any(axis=0))
        edges = np.sinh(MAX_BINNED_SCORE * (2.0 * some / SCORE_BINS - 1.0))
        above = np.cumsum(self.counts[:, ::-1], axis=1)[:, ::-1][:, some]
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp(-edges)), above[1], above[0]


def _bins_of(score: Scores) -> Counts:
    share = np.clip((np.arcsinh(score) / MAX_BINNED_SCORE + 1.0) / 2.0, 0.0, 1.0)
    return np.minimum((share * SCORE_BINS).astype(np.int64), SCORE_BINS - 1)


def exact_auc(score: Scores, positive: NDArray[np.bool_]) -> float:
    """The area under the ROC curve; equal scores share the mean of their ranks."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    p = int(positive.sum())
    return float((rank[positive].sum() - p * (p + 1) / 2.0) / (p * (len(score) - p)))


def exact_average_precision(score: Scores, positive: NDArray[np.bool_]) -> float:
    """The area under the precision–recall curve, as steps: Σ (R_n - R_n-1) P_n over the different scores."""
    found, place = np.unique(-score, return_inverse=True)
    own = np.bincount(place, positive, minlength=len(found))
    precision = np.cumsum(own) / np.cumsum(np.bincount(place, minlength=len(found)))
    return float(own @ precision / own.sum())
