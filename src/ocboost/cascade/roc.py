"""The exact ROC curve of scores, and thresholds that keep a rate of hits or of false positives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core import metrics as auc
from ocboost._core.checks import as_number
from ocboost.errors import InputError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

RATES = (1e-2, 1e-3, 1e-4)  # of false positives, at which misses are reported


def threshold_for_hits(scores: Floats, rate: float) -> float:
    """The highest threshold that at least this share of the scores reach.

    >>> threshold_for_hits(np.array([1.0, 2.0, 3.0, 4.0]), 0.75)
    2.0
    """
    rate = as_rate(rate, "hits")
    ordered = np.sort(scores)
    return float(ordered[int(np.floor((1.0 - rate) * ordered.size + 1e-9))])


def threshold_for_false_positives(scores: Floats, rate: float) -> float:
    """The lowest threshold that at most this share of the scores reach.

    >>> threshold_for_false_positives(np.array([1.0, 2.0, 3.0, 4.0]), 0.25) > 3.0
    True
    """
    rate = as_rate(rate, "false_positives")
    allowed = int(np.floor(rate * scores.size + 1e-9))
    if allowed >= scores.size:
        return float(scores.min())
    # Just above the best of those that must not pass, in single precision, as a file holds it.
    best = np.float32(np.sort(scores)[::-1][allowed])
    return float(np.nextafter(best, np.float32(np.inf)))


def relaxed_thresholds(sums: Floats, thresholds: NDArray[np.float32], rate: float) -> NDArray[np.float32]:
    """The stages' thresholds, lowered until this share of the faces passes all of them; none is raised.

    ``sums`` are each face's sums in each stage, (n, S). All stages are lowered to the same rank among their
    own sums, so that stages on different scales share the faces that are given up.
    """
    rate = as_rate(rate, "pass_rate")
    if not len(sums):
        raise InputError("sums must hold those of at least one face. Show the adapter some faces first.")
    ordered = np.sort(sums, axis=0)
    ranks = np.stack(
        [np.searchsorted(column, values) for column, values in zip(ordered.T, sums.T, strict=True)]
    )
    worst = np.sort(ranks.min(axis=0))
    rank = int(worst[int(np.floor((1.0 - rate) * worst.size + 1e-9))])
    # A little lower than the sum itself: it may be rounded up in single precision.
    lowest = np.nextafter(ordered[rank].astype(np.float32), np.float32(-np.inf))
    lowered: NDArray[np.float32] = np.minimum(thresholds, lowest)
    return lowered


def as_rate(rate: float, name: str) -> float:
    """Check a share: above 0, at most 1."""
    return as_number(rate, name, 0.0, 1.0, "It is a share, such as 0.95.", low_open=True)


@dataclass(frozen=True, eq=False)
class Roc:
    """What is accepted at every threshold, the highest first; the first accepts nothing."""

    thresholds: Floats  # +∞, then each score that occurs, falling; a score of -∞ is never accepted
    hits: Counts  # faces whose score reaches the threshold
    false_positives: Counts  # others whose score does
    n_faces: int
    n_others: int

    @property
    def misses(self) -> Floats:
        """The share of faces below each threshold."""
        return (self.n_faces - self.hits) / self.n_faces

    @property
    def rates(self) -> Floats:
        """The share of others that reach each threshold."""
        return self.false_positives / self.n_others

    def misses_at(self, rate: float) -> float:
        """The share of faces missed when at most this share of the others is accepted."""
        allowed = int(np.floor(as_rate(rate, "rate") * self.n_others + 1e-9))
        at = int(np.searchsorted(self.false_positives, allowed, "right")) - 1
        return float(self.misses[at])

    def resolves(self, rate: float) -> bool:
        """Whether there are enough others to accept even one of them at this rate."""
        return rate * self.n_others >= 1.0 - 1e-9

    def thinned(self, most: int = 500) -> Roc:
        """A curve that looks the same on logarithmic axes, with about ``most`` points, its ends included."""
        if len(self.thresholds) <= 2 * most:
            return self
        places = np.log(np.maximum(self.false_positives, 0.5))
        step = max(float(places[-1] - places[0]) / most, 1e-12)
        cell = np.floor((places - places[0]) / step)
        last = np.append(np.diff(cell) > 0, True)  # of those in a cell the one that misses least
        last[0] = True
        return Roc(
            self.thresholds[last], self.hits[last], self.false_positives[last], self.n_faces, self.n_others
        )


def roc(scores: NDArray[np.floating[Any]], faces: NDArray[np.bool_]) -> Roc:
    """The curve of scores, higher for faces, with ties; ``faces`` says which of them are faces'.

    >>> curve = roc(np.array([3.0, 2.0, 2.0, -np.inf]), np.array([True, False, True, True]))
    >>> curve.hits.tolist(), curve.false_positives.tolist()
    ([0, 1, 2], [0, 0, 1])
    >>> curve.misses_at(0.5)
    0.6666666666666666
    """
    _check(scores, faces)
    finite = scores > -np.inf
    order = np.argsort(-scores[finite], kind="stable")
    ordered, kinds = scores[finite][order], faces[finite][order]
    ends = np.flatnonzero(np.append(np.diff(ordered) != 0, np.ones(min(ordered.size, 1), np.bool_)))
    hits = np.concatenate([[0], np.cumsum(kinds)[ends]]).astype(np.int64)
    others = np.concatenate([[0], np.cumsum(~kinds)[ends]]).astype(np.int64)
    thresholds = np.concatenate([[np.inf], ordered[ends]])
    n = int(faces.sum())
    return Roc(thresholds, hits, others, n, len(faces) - n)


def one_minus_auc(scores: NDArray[np.floating[Any]], faces: NDArray[np.bool_]) -> float:
    """The share of pairs in the wrong order, ties half; scores of -∞ are the lowest, and tie."""
    _check(scores, faces)
    ranks = np.unique(scores, return_inverse=True)[1].astype(np.float64)
    return auc.one_minus_auc(ranks, faces)


def _check(scores: NDArray[np.floating[Any]], faces: NDArray[np.bool_]) -> None:
    if scores.ndim != 1 or faces.shape != scores.shape or faces.dtype != np.bool_:
        raise InputError(
            f"faces must say of each of the {scores.size} scores whether it is a face's, as bool; got "
            f"{faces.dtype} of shape {faces.shape}."
        )
    if faces.all() or not faces.any():
        raise InputError(
            f"faces must hold both kinds; got {int(faces.sum()):,} faces of {faces.size:,}. Test on both."
        )
    if np.isnan(scores).any() or (scores == np.inf).any():
        raise InputError("scores must be numbers or -∞; got NaN or +∞. Look for NaN in the leaves.")
