"""AdaBoost with sampling over balls, as in the paper's MNIST experiment."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._kernels.balls import (
    TILE_ROWS,
    best_cuts,
    distances_to_one,
    lay_dense,
    rough_scores,
    tile_distances,
)
from ocboost.hypotheses.balls import Balls, finite
from ocboost.hypotheses.base import for_each
from ocboost.learners.boosting import Found, SamplingLearner, Taken

TILES_PER_TASK = 64
ENOUGH_FOR_SHORTLIST = 200  # candidates from which on a rough look first saves time
CANDIDATES_PER_PRODUCT = 512
DISTANCE_BINS = 512  # for the rough look
SHORTLIST = 32  # candidates that are measured exactly after it


class BallLearner(SamplingLearner):
    """Finds balls by AdaBoost with sampling: `ocboost.hypotheses.Balls` around examples.

    In every round ``n_sample`` examples are drawn by their weights, with replacement. The examples drawn are
    the candidates for centres. Of all candidates, radii and signs the one of least error on the sample is
    taken, the radius halfway between two neighbouring distances. Of more than 200 candidates a rough look
    (products in single precision, binned distances) leaves 32, which are then measured exactly. The ball's
    weight α, and hence the next weights, come from all examples. Where a ball that was good on the sample
    turns out worse than chance on all of them, its sign is turned.

    A ball that is right on every example leaves the weights unchanged, and sampling continues, so that
    others are there when a stream changes. No ball is taken twice. Learning stops when ten samples in a row
    gave nothing new that is better than chance.

    Parameters
    ----------
    n_sample : int, default 600
        Examples drawn in each round.
    n_candidates : int, optional
        How many of the drawn examples to try as centres; by default all.

    Examples
    --------
    >>> X = np.array([[0.0, 0.1], [0.2, 0.0], [2.0, 2.0], [-2.0, 1.0], [2.0, -1.0]])
    >>> learner = BallLearner(n_sample=20)
    >>> balls = learner.learn(X, np.array([1, 1, -1, -1, -1]), n_hypotheses=3, rng=np.random.default_rng(0))
    >>> balls.answers(X).T
    array([[ 1,  1, -1, -1, -1],
           [ 1,  1, -1, -1, -1],
           [ 1,  1,  1, -1, -1]], dtype=int8)
    """

    def __init__(self, n_sample: int = 600, n_candidates: int | None = None) -> None:
        self.n_sample = as_count(
            n_sample,
            "n_sample",
            2,
            1 << 20,
            "More find better balls, and take longer: the time grows with its square.",
        )
        self.n_candidates = (
            n_candidates
            if n_candidates is None
            else as_count(n_candidates, "n_candidates", 1, None, "None tries every example drawn.")
        )

    def __repr__(self) -> str:
        return f"BallLearner(n_sample={self.n_sample}, n_candidates={self.n_candidates})"

    def _search(self, X: NDArray[Any], y: NDArray[np.int8]) -> _BallSearch:
        return _BallSearch(finite(X, "BallLearner"), y, self.n_candidates)


class _BallSearch:
    """Balls around the rows of X, each a row and a radius."""

    def __init__(self, X: NDArray[Any], y: NDArray[np.int8], n_candidates: int | None) -> None:
        self._X, self._y, self._n_candidates = X, y, n_candidates
        self._tiles = _tiled(X)
        self._squared = np.empty((self._tiles.shape[0], TILE_ROWS))

    def find(
        self, rows: NDArray[np.int64], times: NDArray[np.float64], rng: np.random.Generator, taken: Taken
    ) -> tuple[Found, Hashable] | None:
        """The row and the radius that err least on a sample, with either sign, and are not taken yet."""
        signed = times * self._y[rows].astype(np.float64)
        candidates = np.arange(rows.size)
        if self._n_candidates is not None and self._n_candidates < rows.size:
            candidates = np.sort(rng.choice(rows.size, self._n_candidates, replace=False))
        sample = self._X[rows].astype(np.float64)
        if candidates.size > ENOUGH_FOR_SHORTLIST:
            candidates = _shortlist(sample, candidates, signed)
        tiles = _tiled(sample)
        centres = sample[candidates]
        squared = np.empty((candidates.size, tiles.shape[0] * TILE_ROWS))
        score, cut = np.empty(candidates.size), np.empty(candidates.size, np.int64)
        radius = np.empty(candidates.size)

        def measure(at: slice) -> None:
            for t in range(at.start, at.stop):
                block = np.empty((candidates.size, TILE_ROWS))
                tile_distances(tiles[t], centres, block)
                squared[:, t * TILE_ROWS : (t + 1) * TILE_ROWS] = block

        def choose(at: slice) -> None:
            near = np.ascontiguousarray(squared[at, : rows.size])
            order = np.argsort(near, axis=1)
            best_cuts(near, order, signed, score[at], cut[at])
            for c, line, places in zip(range(at.start, at.stop), near, order, strict=True):
                k = cut[c]
                radius[c] = 0.0 if k < 0 else 0.5 * np.sqrt(line[places[k : k + 2]]).sum()

        for_each(measure, _slices(tiles.shape[0], 8))
        for_each(choose, _slices(candidates.size, TILES_PER_TASK))
        for best in np.argsort(-score, kind="stable"):
            row, found = int(rows[candidates[best]]), float(radius[best])
            # Balls of radius 0 are all the same: they contain nothing, wherever they are.
            key = (self._X[row].tobytes() if found > 0.0 else b"", found)
            if key not in taken:
                return (row, found), key
        return None

    def answers(self, found: Found) -> NDArray[np.int8]:
        """What a ball says to all examples."""
        row, radius = found
        tiles, squared, centre = self._tiles, self._squared, self._X[row].astype(np.float64)
        parts = _slices(tiles.shape[0], TILES_PER_TASK)
        for_each(lambda at: distances_to_one(tiles[at], centre, squared[at]), parts)
        return np.where(squared.reshape(-1)[: self._y.size] >= radius * radius, np.int8(1), np.int8(-1))

    def hypotheses(self, found: Sequence[Found], signs: Sequence[int]) -> Balls:
        """All balls that were found."""
        rows, radii = zip(*found, strict=True)
        return Balls(self._X[list(rows)], radii, signs)


def _shortlist(
    rows: NDArray[np.float64], candidates: NDArray[np.int64], signed: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The candidates that look best from single-precision products and binned distances, in their order."""
    low = (rows - rows.mean(axis=0)).astype(np.float32)  # distances stay, and little is lost to rounding
    length = np.einsum("ij,ij->i", low, low)
    score = np.empty(candidates.size)

    for at in _slices(candidates.size, CANDIDATES_PER_PRODUCT):  # the product has threads of its own
        own = candidates[at]
        squared = length[own, None] + length - 2.0 * (low[own] @ low.T)
        rough_scores(squared, signed, np.empty(DISTANCE_BINS), score[at])
    return np.sort(candidates[np.argsort(-score, kind="stable")[:SHORTLIST]])


def _tiled(X: NDArray[Any]) -> NDArray[Any]:
    """Rows as `ocboost._kernels.balls` needs them: (tiles, F, 16)."""
    tiles = np.empty((-(-X.shape[0] // TILE_ROWS), X.shape[1], TILE_ROWS), X.dtype)
    for t, tile in enumerate(tiles):
        lay_dense(X[t * TILE_ROWS : (t + 1) * TILE_ROWS], tile)
    return tiles


def _slices(n: int, size: int) -> list[slice]:
    """Slices of range(n)."""
    return [slice(at, min(at + size, n)) for at in range(0, n, size)]
