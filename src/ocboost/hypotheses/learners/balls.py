"""AdaBoost with sampling over balls, as in the paper's MNIST experiment."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._core.threads import get_num_threads, run
from ocboost._kernels.balls import (
    TILE_ROWS,
    best_cuts,
    distances_to_one,
    lay_dense,
    rough_scores,
    tile_distances,
)
from ocboost.hypotheses.balls import Balls, finite
from ocboost.hypotheses.learners.base import Learner, as_examples, as_labels
from ocboost.hypotheses.learners.boosting import Taken, boost, draw

SAMPLE_ADVICE = "More find better balls, and take longer: the time grows with its square."
TILES = 64  # tiles of rows a task takes
WORTH_A_LOOK = 200  # candidates from which on a rough look first saves time
LOOKED_AT = 512  # candidates looked at in one product
BINS = 512  # of distances, for the rough look
SHORT = 32  # candidates that are measured exactly after it

Ball = tuple[bytes, float]  # the bytes of a centre, and a radius


class BallLearner(Learner):
    """Finds balls by AdaBoost with sampling: `ocboost.hypotheses.Balls` around examples.

    In every round ``n_sample`` examples are drawn by their weights, with replacement. The examples drawn are
    the candidates for centres. Of all candidates, radii and signs the one of least error on the sample is
    taken, the radius halfway between two neighbouring distances. Of more than 200 candidates a rough look
    (products in single precision, binned distances) leaves 32, which are then measured exactly. The ball's
    weight α, and hence the next weights, come from all examples. Where a ball that was good on the sample
    turns out worse than chance on all of them, its sign is turned.

    A ball that is right on every example leaves the weights as they were, and sampling goes on, so that
    others are there when a stream changes. No ball is taken twice. Learning stops when ten samples in a row
    gave nothing new that is better than chance.

    Parameters
    ----------
    n_sample : int, default 600
        Examples drawn in each round.
    n_candidates : int, optional
        Try so many of the drawn examples as centres; by default all.

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
        self.n_sample = as_count(n_sample, "n_sample", 2, 1 << 20, SAMPLE_ADVICE)
        self.n_candidates = (
            n_candidates
            if n_candidates is None
            else as_count(n_candidates, "n_candidates", 1, None, "None tries every example drawn.")
        )

    def __repr__(self) -> str:
        return f"BallLearner(n_sample={self.n_sample}, n_candidates={self.n_candidates})"

    def learn(
        self,
        X: Any,
        y: NDArray[np.int8],
        *,
        n_hypotheses: int,
        sample_weight: NDArray[np.float64] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Balls:
        """Find at most ``n_hypotheses`` balls; ``rng`` draws the samples."""
        n_hypotheses = as_count(n_hypotheses, "n_hypotheses", 1, None, "")
        X, weights = as_examples(X, sample_weight, sparse=False, what="BallLearner")
        y, X = as_labels(y, X.shape[0]), finite(X, "BallLearner")
        rng = np.random.default_rng() if rng is None else rng
        tiles = _tiled(X)
        squared = np.empty((tiles.shape[0], TILE_ROWS))

        def find(d: NDArray[np.float64], taken: Taken) -> tuple[tuple[int, float], Hashable] | None:
            return self._candidate(X, y, d, rng, taken)

        def answer(ball: tuple[int, float]) -> NDArray[np.int8]:
            c, radius = ball
            _measure(tiles, X[c].astype(np.float64), squared)
            return np.where(squared.reshape(-1)[: y.size] >= radius * radius, np.int8(1), np.int8(-1))

        members = boost(y, weights, n_hypotheses, find, answer)
        rows, theta = zip(*[ball for ball, _ in members], strict=True)
        sign = [sign for _, sign in members]
        return Balls(X[list(rows)], list(theta), sign)

    def _candidate(
        self,
        X: NDArray[Any],
        y: NDArray[np.int8],
        d: NDArray[np.float64],
        rng: np.random.Generator,
        taken: Taken,
    ) -> tuple[tuple[int, float], Hashable] | None:
        """The row and the radius that err least on a sample, whatever the sign, and are not taken yet."""
        drawn, times = draw(d, self.n_sample, rng)
        signed = times * y[drawn].astype(np.float64)
        candidates = np.arange(drawn.size)
        if self.n_candidates is not None and self.n_candidates < drawn.size:
            candidates = np.sort(rng.choice(drawn.size, self.n_candidates, replace=False))
        rows = X[drawn].astype(np.float64)
        if candidates.size > WORTH_A_LOOK:
            candidates = _shortlist(rows, candidates, signed)
        tiles = _tiled(rows)
        centres = rows[candidates]
        squared = np.empty((candidates.size, tiles.shape[0] * TILE_ROWS))
        score, cut = np.empty(candidates.size), np.empty(candidates.size, np.int64)
        radius = np.empty(candidates.size)

        def measure(at: slice) -> None:
            for t in range(at.start, at.stop):
                block = np.empty((candidates.size, TILE_ROWS))
                tile_distances(tiles[t], centres, block)
                squared[:, t * TILE_ROWS : (t + 1) * TILE_ROWS] = block

        def choose(at: slice) -> None:
            near = np.ascontiguousarray(squared[at, : drawn.size])
            order = np.argsort(near, axis=1)
            best_cuts(near, order, signed, score[at], cut[at])
            for c, line, places in zip(range(at.start, at.stop), near, order, strict=True):
                k = cut[c]
                radius[c] = 0.0 if k < 0 else 0.5 * np.sqrt(line[places[k : k + 2]]).sum()

        _share(measure, tiles.shape[0], 8)
        _share(choose, candidates.size)
        for best in np.argsort(-score, kind="stable"):
            c, found = int(drawn[candidates[best]]), float(radius[best])
            known_as = _known_as(X[c], found)
            if known_as not in taken:
                return (c, found), known_as
        return None


def _shortlist(
    rows: NDArray[np.float64], candidates: NDArray[np.int64], signed: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The candidates that look best from single-precision products and binned distances, in their order."""
    low = (rows - rows.mean(axis=0)).astype(np.float32)  # distances stay, and little is lost to rounding
    length = np.einsum("ij,ij->i", low, low)
    score = np.empty(candidates.size)

    def look(at: slice) -> None:
        own = candidates[at]
        squared = length[own, None] + length - 2.0 * (low[own] @ low.T)
        rough_scores(squared, signed, np.empty(BINS), score[at])

    for start in range(0, candidates.size, LOOKED_AT):  # the product has threads of its own
        look(slice(start, min(start + LOOKED_AT, candidates.size)))
    return np.sort(candidates[np.argsort(-score, kind="stable")[:SHORT]])


def _known_as(centre: NDArray[Any], radius: float) -> Ball:
    """What tells a ball from others; those of radius 0 hold nothing, wherever they are."""
    return (centre.tobytes() if radius > 0.0 else b"", radius)


def _tiled(X: NDArray[Any]) -> NDArray[Any]:
    """Rows as `ocboost._kernels.balls` wants them: (tiles, F, 16)."""
    tiles = np.empty((-(-X.shape[0] // TILE_ROWS), X.shape[1], TILE_ROWS), X.dtype)
    for t, tile in enumerate(tiles):
        lay_dense(X[t * TILE_ROWS : (t + 1) * TILE_ROWS], tile)
    return tiles


def _measure(tiles: NDArray[Any], centre: NDArray[np.float64], squared: NDArray[np.float64]) -> None:
    """The squared distances of all rows to one centre, (tiles, 16)."""
    _share(lambda at: distances_to_one(tiles[at], centre, squared[at]), tiles.shape[0])


def _share(task: Any, n: int, size: int = TILES) -> None:
    """Run a task on slices of range(n), in several threads where there are."""
    parts = [slice(at, min(at + size, n)) for at in range(0, n, size)]
    if get_num_threads() > 1 and len(parts) > 1:
        run(task, parts)
    else:
        for part in parts:
            task(part)
