"""Adapting a cascade stage by stage: each stage's stumps weighed anew on the windows that reach it.

The cascade keeps its shape, its cost and its order; so it is the careful way, and the weaker one. A stage's
own sum, scaled and shifted, is the offset F₀, as in `ocboost.cascade.adapt_whole`. What a stage accepts is
set anew
by faces that were held out. Late stages see few windows without a face: below 200 of them only the
threshold moves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count, as_number
from ocboost._core.locks import DeepState, Guard, reads, writes
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.cascade.adapt_whole import LEAST_OF_EACH
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.roc import as_rate, for_hits
from ocboost.cascade.windows import Newest, as_face_weight, as_labelled, has_contrast, newest_kept, stage_sums
from ocboost.hypotheses.cascade_stumps import CascadeStumps
from ocboost.offsets.base import reweighted
from ocboost.offsets.fitting import scale_and_shift

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

MOST_WAITING = 5000  # windows that a stage keeps while it waits for others
HEAD = 64  # windows a stage keeps exactly: those that come one by one are then folded eight at a time


class _How(NamedTuple):
    """What all stages are adapted with."""

    smoothing: float
    forgetting: float
    batch_size: int
    least_others: int


class _Stage:
    """One stage on its way: its stumps' corrections and its threshold."""

    def __init__(self, cascade: Cascade, stage: int, how: _How) -> None:
        own = cascade.trees_of(stage)
        self.stumps: CascadeStumps = cascade.stumps()[np.arange(own.start, own.stop)]
        pairs = cascade.leaf_pairs[own].astype(np.float64)
        self.middle, self.reach = pairs.mean(axis=1), (pairs[:, 1] - pairs[:, 0]) / 2.0
        self.shipped = self.bar = float(cascade.stage_threshold[stage])
        self.scale, self.shift = 1.0, 0.0
        self.sketch: BoostingSketch | None = None
        self.others = 0
        self.given_up = False
        self.how = how
        self.waiting: list[tuple[NDArray[np.int8], NDArray[np.int8], Floats]] = []

    def sums(self, answers: NDArray[np.int8]) -> Floats:
        """What the stage says to windows whose answers these are, on the shipped scale."""
        sums: Floats = answers @ self.leaning() + self.middle.sum()
        return sums

    def leaning(self) -> Floats:
        """Half the distance of each stump's leaves, corrections included."""
        return self.reach if self.sketch is None else self.reach + self.sketch.alpha / self.scale

    def learn(self, answers: NDArray[np.int8], labels: NDArray[np.int8], weights: Floats) -> None:
        """Take in windows that reached the stage."""
        if self.given_up:
            return
        self.others += int((labels < 0).sum())
        if self.sketch is not None:
            self._update(answers, labels, weights)
            return
        self.waiting.append((answers, labels, weights))
        while sum(len(y) for _, y, _ in self.waiting[1:]) > MOST_WAITING:  # faces go on without others
            del self.waiting[0]
        if self.others < self.how.least_others:
            return
        answers, labels, weights = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
        if min((labels > 0).sum(), (labels < 0).sum()) < LEAST_OF_EACH:
            return
        self.waiting = []
        sums = answers @ self.reach + self.middle.sum()
        a, b, turned = scale_and_shift(sums, labels.astype(np.float64), weights)
        largest = a * (np.abs(self.reach).sum() + abs(self.middle.sum())) + abs(b)
        if turned or a == 0.0 or largest > 1200.0:  # behind this camera the stage says nothing: leave it
            self.given_up = True
            return
        self.scale, self.shift = a / 2.0, b / 2.0
        typical = float(reweighted(weights, labels, self.scale * sums + self.shift).mean())
        self.sketch = BoostingSketch(
            len(self.stumps),
            smoothing=self.how.smoothing * typical,
            forgetting=self.how.forgetting,
            head=HEAD,
            keep="newest",
        )
        self._update(answers, labels, weights)

    def _update(self, answers: NDArray[np.int8], labels: NDArray[np.int8], weights: Floats) -> None:
        assert self.sketch is not None
        start = self.scale * (answers @ self.reach + self.middle.sum()) + self.shift
        enter = reweighted(weights, labels, start)
        self.sketch.update_many(
            answers * labels[:, None], batch_size=self.how.batch_size, sample_weight=enter
        )


class StageAdapter(DeepState):
    """Adapts each stage of a cascade for itself to the windows of one camera.

    Parameters
    ----------
    cascade : Cascade
        Of stumps.
    pass_rate : float, default 0.998
        Share of the faces that reach a stage which it must pass.
    face_weight : float, default 1.0
        How many others a face counts.
    smoothing : float, default 20000
        Worth so many windows of average weight.
    forgetting : float, default 1.0
        λ: at time n window i weighs λ^(n-i).
    batch_size : int, default 500
        Windows of one call of `update` that are added at once.
    least_others : int, default 200
        Windows without a face that must have reached a stage before its stumps are weighed anew.

    Attributes
    ----------
    n_seen : int
        Windows shown, those of low contrast aside, which OpenCV never looks at.
    """

    def __init__(
        self,
        cascade: Cascade,
        *,
        pass_rate: float = 0.998,
        face_weight: float = 1.0,
        smoothing: float = 20_000.0,
        forgetting: float = 1.0,
        batch_size: int = 500,
        least_others: int = 200,
    ) -> None:
        self.cascade = cascade
        self.pass_rate = as_rate(pass_rate, "pass_rate")
        self.face_weight = as_face_weight(face_weight)
        self.smoothing = as_number(smoothing, "smoothing", 0.0, 1e15, "20000 is usual.")
        self.forgetting = as_number(forgetting, "forgetting", 0.0, 1.0, "1 forgets nothing.", low_open=True)
        self.batch_size = as_count(batch_size, "batch_size", 1, 1 << 20, "")
        self.least_others = as_count(least_others, "least_others", LEAST_OF_EACH, 1 << 40, "")
        self.n_seen = 0
        how = _How(self.smoothing, self.forgetting, self.batch_size, self.least_others)
        self._stages = [_Stage(cascade, s, how) for s in range(cascade.n_stages)]
        self._held = Newest(newest_kept(self.forgetting), cascade.height, cascade.width)
        self._faces = 0
        self._bars_at = 0
        self._guard: Guard[None] = Guard()

    @property
    @reads
    def n_adapted(self) -> int:
        """Stages whose stumps are weighed anew, not only their thresholds set."""
        return sum(stage.sketch is not None for stage in self._stages)

    @property
    @reads
    def n_held_out(self) -> int:
        """Faces that thresholds are set by."""
        return len(self._held)

    def update(self, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Show labelled windows, or a single one; the parameters are those of `WholeAdapter.update`."""
        self._take(*as_labelled(self.cascade, windows, y, sample_weight))

    @writes
    def _take(self, found: Pixels, labels: NDArray[np.int8], weights: Floats) -> None:
        self.n_seen += len(found)
        faces = np.flatnonzero(labels > 0)
        turn = (self._faces + np.arange(faces.size)) % 5 == 4
        self._faces += faces.size
        self._held.add(found[faces[turn]])
        learnt = np.ones(len(found), np.bool_)
        learnt[faces[turn]] = False
        found, labels, weights = found[learnt], labels[learnt], weights[learnt]
        weights = np.where(labels > 0, self.face_weight * weights, weights)
        for stage in self._stages:
            if not len(found):
                break
            answers = stage.stumps.answers(found.reshape(len(found), -1))
            stage.learn(answers, labels, weights)
            # All faces go on: those that a stage now rejects may pass when its threshold is set anew.
            goes_on = (labels > 0) | (stage.sums(answers) >= stage.bar)
            found, labels, weights = found[goes_on], labels[goes_on], weights[goes_on]
        if self._faces >= 2 * self._bars_at or self._faces >= self._bars_at + 2000:
            self._set_bars()

    @reads
    def adapted(self) -> Cascade:
        """The adapted cascade: the same stumps and stages, other leaves and thresholds."""
        leaves = [
            np.stack([stage.middle - stage.leaning(), stage.middle + stage.leaning()], axis=1)
            for stage in self._stages
        ]
        changed = self.cascade.with_leaves(np.concatenate(leaves))
        return changed.with_thresholds(self._bars())

    def _set_bars(self) -> None:
        self._bars_at = self._faces
        for stage, bar in zip(self._stages, self._bars(), strict=True):
            stage.bar = bar

    def _bars(self) -> list[float]:
        """Each stage's threshold, by the faces held out that reach it; where they are few, the one it has."""
        bars = [stage.bar for stage in self._stages]
        faces = self._held.windows
        for k, stage in enumerate(self._stages):
            if len(faces) < LEAST_OF_EACH:
                break
            sums = stage.sums(stage.stumps.answers(faces.reshape(len(faces), -1)))
            bars[k] = for_hits(sums, self.pass_rate) - 1e-6 * float(np.abs(sums).max())
            faces = faces[sums >= bars[k]]
        return bars


def new_thresholds(cascade: Cascade, faces: Pixels, pass_rate: float) -> Cascade:
    """The cascade with its thresholds alone set anew: each stage passes so many of the faces that reach it.

    Parameters
    ----------
    cascade : Cascade
    faces : uint8, shape (n, height, width)
        Windows with faces.
    pass_rate : float
        Above 0, at most 1.
    """
    sums = stage_sums(cascade, faces[has_contrast(faces)])
    bars = []
    for column in range(cascade.n_stages):
        bar = for_hits(sums[:, column], as_rate(pass_rate, "pass_rate"))
        bars.append(bar)
        sums = sums[sums[:, column] >= bar]
    return cascade.with_thresholds(bars)
