"""The ROC curve of scores, exactly: how many faces are missed when so many others are accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import auc
from ..errors import InputError
from .thresholds import as_rate

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

RATES = (1e-2, 1e-3, 1e-4)


@dataclass(frozen=True, eq=False)
class Roc:
    """What is accepted at every bar, the highest first; the first accepts nothing.

    Parameters
    ----------
    bars : float64 (m,)
        +∞, then each score that occurs, falling; -∞ is no bar, what has it is never accepted.
    hits, false_positives : int64 (m,)
        Faces and others whose score reaches the bar.
    n_faces, n_others : int
    """

    bars: Floats
    hits: Counts
    false_positives: Counts
    n_faces: int
    n_others: int

    @property
    def misses(self) -> Floats:
        """The share of faces below each bar."""
        return (self.n_faces - self.hits) / self.n_faces

    @property
    def rates(self) -> Floats:
        """The share of others that reach each bar."""
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
        """A curve that looks the same on logarithmic axes with about so many points, its ends included."""
        if len(self.bars) <= 2 * most:
            return self
        places = np.log(np.maximum(self.false_positives, 0.5))
        step = max(float(places[-1] - places[0]) / most, 1e-12)
        cell = np.floor((places - places[0]) / step)
        last = np.append(np.diff(cell) > 0, True)  # of those in a cell the one that misses least
        last[0] = True
        return Roc(self.bars[last], self.hits[last], self.false_positives[last], self.n_faces, self.n_others)


def roc(scores: NDArray[np.floating[Any]], faces: NDArray[np.bool_]) -> Roc:
    """The curve of scores, ties and all.

    Parameters
    ----------
    scores : array of shape (n,)
        Higher for faces. -∞ is never accepted.
    faces : bool, shape (n,)
        Which of them are faces; there must be some of either kind.

    Examples
    --------
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
    bars = np.concatenate([[np.inf], ordered[ends]])
    n = int(faces.sum())
    return Roc(bars, hits, others, n, len(faces) - n)


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
