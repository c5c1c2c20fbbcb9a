"""Adapting a cascade as one classifier: all its stumps weighed anew on top of what it said before.

Nobody has the pictures that a shipped cascade was trained on. So its own score stays, as an offset: stump j
gives the leaf ``c_j + a_j h_j``, h_j = ±1, and the sum of all leaves, scaled and shifted by a few hundred
labelled windows, is F₀. A window (x, y) enters the sketch with weight exp(-y F₀(x)), and the adapted score
is F₀ + Σ_j α_j h_j: again a sum of leaves, which fits into one stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count, as_number
from ocboost._core.locks import DeepState, Guard, reads, writes
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.cascade.cascade import SLACK, Cascade
from ocboost.cascade.measure import evaluated
from ocboost.cascade.roc import for_false_positives, for_hits, relaxed
from ocboost.cascade.windows import Newest, as_face_weight, as_labelled, as_windows, newest_kept, stage_sums
from ocboost.errors import InputError
from ocboost.offsets.base import reweighted
from ocboost.offsets.fitting import scale_and_shift

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

Batch = tuple[Pixels, NDArray[np.int8], Floats]
Start = tuple[float, float, float]  # scale, shift, typical weight

LEAST_OF_EACH = 20  # windows of either kind before the scale can be fitted
MOST_TIMED = 5000  # others by which the cheapest form is found
AT_ONCE = 1024  # windows whose answers are held together


class _View(NamedTuple):
    """What scores are made of, as it is at one moment."""

    scale: float
    shift: float
    alpha: Floats


class WholeAdapter(DeepState):
    """Adapts all stumps of all stages of a cascade to the windows of one camera.

    The first windows, at least ``calibrate_on`` of them with 20 of either kind, fit the scale and the shift
    of the cascade's score. From then on each window is learnt and forgotten, but for every tenth, which is
    held out to set thresholds by; the newest 20,000 of those are kept, fewer where the past fades. What an
    error refuses leaves the adapter as it was.

    Parameters
    ----------
    cascade : Cascade
        Of stumps.
    face_weight : float, default 1.0
        How many others a face counts. Where faces are rare, more than 1 lets them be heard; the shift of the
        score follows.
    smoothing : float, default 20000
        Worth so many windows of average weight: how long the shipped cascade is trusted more than what was
        seen. With little smoothing the first thousand windows do harm.
    forgetting : float, default 1.0
        λ: at time n window i weighs λ^(n-i).
    order : int, optional
        Of the sketch; all earlier stumps if left out.
    head : int, default 1
        Windows that the sketch keeps exactly.
    batch_size : int, default 500
        Windows of one call of `update` that are added at once.
    calibrate_on : int, default 500
        Windows for the scale of the score.

    Attributes
    ----------
    n_seen : int
        Windows shown, those of low contrast aside, which OpenCV never looks at.
    scale, shift : float
        F₀ = scale · (sum of all leaves) + shift; 0.5 and 0 until enough windows have come.
    """

    def __init__(
        self,
        cascade: Cascade,
        *,
        face_weight: float = 1.0,
        smoothing: float = 20_000.0,
        forgetting: float = 1.0,
        order: int | None = None,
        head: int | Literal["auto"] = 1,
        batch_size: int = 500,
        calibrate_on: int = 500,
    ) -> None:
        self.cascade = cascade
        self.stumps = cascade.stumps()
        self.face_weight = as_face_weight(face_weight)
        self.smoothing = as_number(smoothing, "smoothing", 0.0, 1e15, "20000 is usual.")
        self.batch_size = as_count(batch_size, "batch_size", 1, 1 << 20, "")
        self.calibrate_on = as_count(calibrate_on, "calibrate_on", 2 * LEAST_OF_EACH, 1 << 20, "")
        self._how: dict[str, Any] = {"forgetting": forgetting, "order": order, "head": head}
        self._sketch: BoostingSketch | None = None
        BoostingSketch(len(self.stumps), **self._how)  # what it refuses is refused now
        pairs = cascade.leaf_pairs.astype(np.float64)
        self._middle, self._reach = pairs.mean(axis=1), (pairs[:, 1] - pairs[:, 0]) / 2.0
        self.scale, self.shift = 0.5, 0.0
        self.n_seen = 0
        self._counts = {1: 0, -1: 0}
        size = newest_kept(float(forgetting)), cascade.height, cascade.width
        self._faces = Newest(*size)
        self._held = {1: Newest(*size), -1: Newest(*size)}
        self._waiting: list[Batch] = []
        self._guard: Guard[_View] = Guard()

    @property
    def alpha(self) -> Floats:
        """The stumps' corrections."""
        return self._guard.view(self._look).alpha.copy()

    def _look(self) -> _View:
        alpha = np.zeros(len(self.stumps)) if self._sketch is None else self._sketch.alpha
        return _View(self.scale, self.shift, alpha)

    @property
    @reads
    def n_held_out(self) -> tuple[int, int]:
        """Faces and others that thresholds are set by."""
        return len(self._held[1]), len(self._held[-1])

    def update(self, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Show labelled windows, or a single one.

        Parameters
        ----------
        windows : uint8, shape (n, height, width) or (height, width)
        y : shape (n,) or a number
            +1 for a face, -1 for anything else.
        sample_weight : shape (n,) or a number, optional
        """
        found, labels, weights = as_labelled(self.cascade, windows, y, sample_weight)
        if len(found):
            self._take(found, labels, weights)

    @writes
    def _take(self, found: Pixels, labels: NDArray[np.int8], weights: Floats) -> None:
        held = np.zeros(len(found), np.bool_)
        for kind in (1, -1):
            own = np.flatnonzero(labels == kind)
            held[own[(self._counts[kind] + np.arange(own.size)) % 10 == 9]] = True
        weights = np.where(labels > 0, self.face_weight * weights, weights)
        batch = found[~held], labels[~held], weights[~held]
        waiting = [*self._waiting, batch]
        start = None if self._sketch is not None else self._fitted(waiting, self._enough)
        # Nothing is refused from here on.
        self.n_seen += len(found)
        self._faces.add(found[labels > 0])
        for kind in (1, -1):
            self._counts[kind] += int((labels == kind).sum())
            self._held[kind].add(found[held & (labels == kind)])
        if self._sketch is not None:
            self._learn(*batch)
        elif start is None:
            self._waiting = waiting
        else:
            self._begin(start, waiting)

    def score(self, windows: Any) -> Floats:
        """F₀ + Σ α_j h_j of each window, (n,): positive where it is more likely a face."""
        found = as_windows(self.cascade, windows)
        scale, shift, alpha = self._guard.view(self._look)
        sums = scale * self._reach + alpha
        constant = scale * self._middle.sum() + shift
        scores: Floats = self._votes(found, sums) + constant
        return scores

    @reads
    def adapted(
        self,
        *,
        keep: int | None = None,
        between: Sequence[int] | None = None,
        pass_rate: float = 0.998,
        hits: float | None = None,
        false_positives: float | None = None,
    ) -> Cascade:
        """The adapted cascade: its first stages, relaxed, short new ones, and a last one of all stumps.

        The stages before the last are there to reject most windows cheaply. They are set so low that
        ``pass_rate`` of the faces seen pass them all, and of those held out too; those of the cascade are
        never raised. A short stage has the stumps that say most in the last one, with the same leaves.

        Parameters
        ----------
        keep : int, optional
            First stages to keep. If left out 0, 3, 5 or 10 of them, whichever costs the fewest stumps per
            window on the others held out.
        between : sequence of int, optional
            How many stumps each short stage has; if left out two, of a thirtieth and of a fifth of all.
        pass_rate : float, default 0.998
            Share of the faces that must pass all stages but the last.
        hits : float, optional
            Share of the faces held out that the last stage must pass; 0.95 if nothing is said.
        false_positives : float, optional
            Instead: the share of the others held out that may pass it.
        """
        most = self.cascade.n_stages
        tried = [n for n in (0, 3, 5, 10) if n <= most]
        if keep is not None:
            tried = [as_count(keep, "keep", 0, most, "0 leaves only the new stages.")]
        J = len(self.stumps)
        sizes = [size for size in (J // 30, J // 5) if size] if between is None else list(between)
        sizes = [as_count(size, "between", 1, J, "It is a number of stumps.") for size in sizes]
        if hits is not None and false_positives is not None:
            raise InputError("hits and false_positives must not both be given. Say which of them to hold.")
        if self._sketch is None:
            return self._early().adapted(
                keep=keep, between=between, pass_rate=pass_rate, hits=hits, false_positives=false_positives
            )
        kind = -1 if false_positives is not None else 1
        held = self._held[kind].windows
        if not len(held) or not len(self._faces):
            what = "face" if kind > 0 or not len(self._faces) else "window without a face"
            raise InputError(
                f"thresholds must be set by windows held out, every tenth of a kind; no {what} was. "
                "Show the adapter more windows."
            )
        scores = self.score(held) - self.shift
        # A file holds single precision, and OpenCV lets pass what lies 1e-5 below.
        rounding = 2e-6 * float(np.abs(scores).max())
        if false_positives is not None:
            bar = for_false_positives(scores, false_positives) + float(SLACK) + rounding
        else:
            bar = for_hits(scores, 0.95 if hits is None else hits) - rounding
        left = self.scale * (self._middle - self._reach) - self.alpha
        right = self.scale * (self._middle + self._reach) + self.alpha
        leaves = np.stack([left, right], axis=1)
        made = [self._staged(n, sizes, leaves, bar, pass_rate) for n in tried]
        others = self._held[-1].windows[:MOST_TIMED]
        if len(made) == 1 or not len(others):
            return made[0]
        return min(made, key=lambda cascade: float(evaluated(cascade, others).mean()))

    def _staged(self, keep: int, sizes: list[int], leaves: Floats, bar: float, pass_rate: float) -> Cascade:
        """The first stages and short ones, as low as the pass rate asks for, and all stumps behind them."""
        cascade, spread = self.cascade, leaves[:, 1] - leaves[:, 0]
        telling = np.argsort(-np.abs(spread), kind="stable")
        short = [np.sort(telling[:size]) for size in sizes]
        stages = cascade
        for members in short:
            stages = self._with_stage(stages, members, leaves, 0.0)
        stages = self._with_stage(stages, np.arange(len(spread)), leaves, bar)
        stages = stages.pick([*range(keep), *range(cascade.n_stages, stages.n_stages)])
        bars = np.append(cascade.stage_threshold[:keep], np.full(len(short), np.inf, np.float32))
        if not bars.size:
            return stages
        # The short stages have learnt from most faces seen, and those held out are few: both must pass.
        for faces in (self._faces.windows, self._held[1].windows):
            if len(faces):
                bars = relaxed(stage_sums(stages, faces, range(bars.size)), bars, pass_rate)
        return stages.with_thresholds(np.append(bars, stages.stage_threshold[-1]))

    def _with_stage(self, stages: Cascade, members: NDArray[np.int64], leaves: Floats, bar: float) -> Cascade:
        feature, threshold = self.cascade.node_feature[members], self.cascade.node_threshold[members]
        return stages.with_stage(feature, threshold, leaves[members], stage_threshold=bar)

    @property
    def _enough(self) -> int:
        return self.calibrate_on - self.calibrate_on // 10  # a tenth is held out

    def _early(self) -> WholeAdapter:
        """A copy that has begun with what there is, for one who cannot wait."""
        start = self._fitted(self._waiting, 2 * LEAST_OF_EACH)
        if start is None:
            raise InputError(
                f"windows must be shown before a cascade can be adapted, {LEAST_OF_EACH} of either kind or "
                f"more beside every tenth; got {self._counts[1]} faces and {self._counts[-1]} others."
            )
        other = deepcopy(self)
        other._begin(start, other._waiting)
        return other

    def _fitted(self, waiting: list[Batch], least: int) -> Start | None:
        """The scale and the shift that fit what waits, and the typical weight; None if it is too little."""
        labels = np.concatenate([np.empty(0, np.int8), *(y for _, y, _ in waiting)])
        each = min(int((labels > 0).sum()), int((labels < 0).sum()))
        if len(labels) < least or each < LEAST_OF_EACH:
            return None
        windows = np.concatenate([found for found, _, _ in waiting])
        weights = np.concatenate([w for _, _, w in waiting])
        sums = self._votes(windows, self._reach) + self._middle.sum()
        a, b, turned = scale_and_shift(sums, labels.astype(np.float64), weights)
        if turned or a == 0.0:
            raise InputError(
                "y must be +1 for faces and -1 for others; the cascade's score is no higher for the faces. "
                "Are the labels turned round? If so, begin with a new adapter."
            )
        largest = a * (np.abs(self._reach).sum() + abs(self._middle.sum())) + abs(b)
        if largest / 2.0 > 600.0:
            raise InputError(
                f"the cascade's score must be on a sensible scale to be learnt on top of; the first windows "
                f"gave half log-odds of up to {largest / 2.0:.0f}. Show it more, and more varied, windows "
                "first: raise calibrate_on."
            )
        scale, shift = a / 2.0, b / 2.0
        typical = float(reweighted(weights, labels, scale * sums + shift).mean())
        return scale, shift, typical

    def _begin(self, start: Start, waiting: list[Batch]) -> None:
        self.scale, self.shift, typical = start
        self._sketch = BoostingSketch(len(self.stumps), smoothing=self.smoothing * typical, **self._how)
        self._waiting = []
        for batch in waiting:
            self._learn(*batch)

    def _learn(self, windows: Pixels, labels: NDArray[np.int8], weights: Floats) -> None:
        assert self._sketch is not None
        step = self.batch_size * -(-AT_ONCE // self.batch_size)
        for at in range(0, len(windows), step):
            y, w = labels[at : at + step], weights[at : at + step]
            margins = self.stumps.answers(_rows(windows[at : at + step]))
            start = self.scale * (margins @ self._reach + self._middle.sum()) + self.shift
            margins *= y[:, None]
            enter = reweighted(w, y, start)
            with self._sketch._guard.passing_on(self._guard, self._with):
                self._sketch.update_many(margins, batch_size=self.batch_size, sample_weight=enter)

    def _with(self, solved: tuple[Floats, bool]) -> _View:
        """How it scores with what the sketch has published."""
        return _View(self.scale, self.shift, solved[0])

    def _votes(self, windows: Pixels, weights: Floats) -> Floats:
        votes = np.empty(len(windows))
        for at in range(0, len(windows), AT_ONCE):
            some = slice(at, at + AT_ONCE)
            votes[some] = self.stumps.answers(_rows(windows[some])) @ weights
        return votes


def _rows(windows: Pixels) -> Pixels:
    return windows.reshape(len(windows), -1)
