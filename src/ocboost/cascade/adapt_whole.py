"""Adapting a cascade as one classifier: all its stumps get new weights, on top of its own score."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._core.codec import Fields, Tree
from ocboost._core.locks import reads, writes
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.settings import HEAD_ADVICE, ORDER_ADVICE
from ocboost.cascade.adapt_base import (
    MAX_HALF_LOG_ODDS,
    MIN_OF_EACH,
    AdaptedStumps,
    Calibration,
    CascadeAdapter,
    Floats,
    Pixels,
    Signs,
    check_sketch,
    every_nth,
)
from ocboost.cascade.adapter_file import Batch, batches_from, batches_tree
from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.measure import trees_evaluated
from ocboost.cascade.roc import relaxed_thresholds, threshold_for_false_positives, threshold_for_hits
from ocboost.cascade.windows import as_windows, has_contrast, stage_sums
from ocboost.errors import InputError
from ocboost.hypotheses.cascade_stumps import CascadeStumps

MAX_FOR_COST = 5000  # other windows by which the cheapest cascade is found
WINDOWS_AT_ONCE = 1024  # whose answers are held together


class _Scoring(NamedTuple):
    """What scores are computed from, at one moment."""

    scale: float
    shift: float
    alpha: Floats


class WholeAdapter(CascadeAdapter):
    """Adapts all stumps of all stages of a cascade to the windows of one camera.

    The first windows, at least ``calibrate_on`` of them with 20 of either kind, fit the scale and the shift
    of the cascade's score. From then on each window is learnt and dropped, except for every tenth, which is
    held out to set thresholds by; the newest 20,000 of those are kept, fewer where the past fades. A call
    that raises an error leaves the adapter unchanged.

    Parameters
    ----------
    cascade : Cascade
        Of stumps.
    face_weight : float, default 1.0
        As how many other windows a face counts. Where faces are rare, more than 1 gives them a say; the
        shift of the score follows.
    smoothing : float, default 20000
        In windows of average weight: how long the shipped cascade is trusted more than what was
        seen. With little smoothing the first thousand windows do harm.
    forgetting : float, default 1.0
        λ: at time n window i has the weight λ^(n-i).
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

    kind = "WholeAdapter"
    settings: ClassVar = (*CascadeAdapter.settings, "order", "head", "calibrate_on")

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
        self._adapted = AdaptedStumps(cascade, slice(None))
        super().__init__(cascade, face_weight, smoothing, forgetting, batch_size)
        self.calibrate_on = as_count(calibrate_on, "calibrate_on", 2 * MIN_OF_EACH, 1 << 20, "")
        J = len(self.stumps)
        self.order = None if order is None else as_count(order, "order", 1, J, ORDER_ADVICE)
        self.head = head if isinstance(head, str) else as_count(head, "head", 1, MAX_SETTING, HEAD_ADVICE)
        check_sketch(J, self._settings)  # what it refuses is refused now
        self._counts = {1: 0, -1: 0}
        self._faces = self._newest()
        self._held = {1: self._newest(), -1: self._newest()}
        self._waiting: list[Batch] = []

    @property
    def _settings(self) -> Settings:
        """What the sketch is made with."""
        return {"forgetting": self.forgetting, "order": self.order, "head": self.head}

    @property
    def stumps(self) -> CascadeStumps:
        """All stumps of all stages."""
        return self._adapted.stumps

    @property
    def scale(self) -> float:
        """What the sum of all leaves is multiplied by."""
        return self._adapted.scale

    @property
    def shift(self) -> float:
        """What is then added."""
        return self._adapted.shift

    @property
    def alpha(self) -> Floats:
        """The stumps' corrections."""
        scoring: _Scoring = self._guard.view(self._scoring)
        return scoring.alpha.copy()

    def _scoring(self) -> _Scoring:
        sketch = self._adapted.sketch
        return _Scoring(
            self.scale, self.shift, np.zeros(len(self.stumps)) if sketch is None else sketch.alpha
        )

    @property
    @reads
    def n_held_out(self) -> tuple[int, int]:
        """Faces and others that thresholds are set by."""
        return len(self._held[1]), len(self._held[-1])

    @writes
    def _take(self, windows: Pixels, labels: Signs, weights: Floats) -> None:
        held = np.zeros(len(windows), np.bool_)
        for kind in (1, -1):
            held[every_nth(labels, kind, self._counts[kind], 10)] = True
        batch = windows[~held], labels[~held], weights[~held]
        waiting = [*self._waiting, batch]
        started = self._adapted.sketch is not None
        calibration = (
            None if started else self._calibration(waiting, self.calibrate_on - self.calibrate_on // 10)
        )
        # Nothing is refused from here on.
        self.n_seen += len(windows)
        self._faces.add(windows[labels > 0])
        for kind in (1, -1):
            self._counts[kind] += int((labels == kind).sum())
            self._held[kind].add(windows[held & (labels == kind)])
        if started:
            self._learn(*batch)
        elif calibration is None:
            self._waiting = waiting
        else:
            self._start(calibration, waiting)

    def score(self, windows: Any) -> Floats:
        """The score ``F₀ + Σ α_j h_j`` of each window.

        Parameters
        ----------
        windows : uint8, shape (n, height, width)
            Grey windows of the cascade's size.

        Returns
        -------
        array of shape (n,)
            Positive where it is more likely a face.
        """
        found = as_windows(self.cascade, windows)
        scale, shift, alpha = self._guard.view(self._scoring)
        constant = scale * self._adapted.middle.sum() + shift
        scores: Floats = self._votes(found, scale * self._adapted.reach + alpha) + constant
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

        Returns
        -------
        Cascade
            For ``detectMultiScale`` of OpenCV and for `detect`.

        Raises
        ------
        InputError
            If both ``hits`` and ``false_positives`` are given, or windows that are needed are missing.
        """
        n_stages, J = self.cascade.n_stages, len(self.stumps)
        tried = [n for n in (0, 3, 5, 10) if n <= n_stages]
        if keep is not None:
            tried = [as_count(keep, "keep", 0, n_stages, "0 leaves only the new stages.")]
        sizes = [size for size in (J // 30, J // 5) if size] if between is None else list(between)
        sizes = [as_count(size, "between", 1, J, "It is a number of stumps.") for size in sizes]
        if hits is not None and false_positives is not None:
            raise InputError("hits and false_positives must not both be given. Say which of them to hold.")
        if self._adapted.sketch is None:
            return self._started_early().adapted(
                keep=keep, between=between, pass_rate=pass_rate, hits=hits, false_positives=false_positives
            )
        threshold = self._last_threshold(hits, false_positives)
        middle, reach, alpha = self._adapted.middle, self._adapted.reach, self.alpha
        left, right = self.scale * (middle - reach) - alpha, self.scale * (middle + reach) + alpha
        leaves = np.stack([left, right], axis=1)
        made = [self._staged(n, sizes, leaves, threshold, pass_rate) for n in tried]
        others = self._held[-1].windows[:MAX_FOR_COST]
        if len(made) == 1 or not len(others):
            return made[0]
        return min(made, key=lambda cascade: float(trees_evaluated(cascade, others).mean()))

    def _last_threshold(self, hits: float | None, false_positives: float | None) -> float:
        """The last stage's threshold, by the windows held out."""
        kind = -1 if false_positives is not None else 1
        held = self._held[kind].windows
        if not len(held) or not len(self._faces):
            what = "face" if kind > 0 or not len(self._faces) else "window without a face"
            raise InputError(
                f"thresholds must be set by windows held out, every tenth of a kind; no {what} was. "
                "Show the adapter more windows."
            )
        scores = self.score(held) - self.shift
        # A file holds single precision, and OpenCV accepts what lies 1e-5 below.
        rounding = 2e-6 * float(np.abs(scores).max())
        if false_positives is None:
            return threshold_for_hits(scores, 0.95 if hits is None else hits) - rounding
        lowest = threshold_for_false_positives(scores, false_positives)
        return lowest + float(OPENCV_TOLERANCE) + rounding

    def _staged(
        self, keep: int, sizes: list[int], leaves: Floats, threshold: float, pass_rate: float
    ) -> Cascade:
        """The first stages and short ones, as low as the pass rate asks for, and all stumps behind them."""
        cascade = self.cascade
        telling = np.argsort(-np.abs(leaves[:, 1] - leaves[:, 0]), kind="stable")
        stages = cascade
        for members in [*(np.sort(telling[:size]) for size in sizes), np.arange(len(leaves))]:
            feature, node_threshold = cascade.node_feature[members], cascade.node_threshold[members]
            stages = stages.with_stage(feature, node_threshold, leaves[members], stage_threshold=threshold)
        stages = stages.pick([*range(keep), *range(cascade.n_stages, stages.n_stages)])
        thresholds = np.append(cascade.stage_threshold[:keep], np.full(len(sizes), np.inf, np.float32))
        if not thresholds.size:
            return stages
        # The short stages have learnt from most faces seen, and those held out are few: both must pass.
        for faces in (self._faces.windows, self._held[1].windows):
            if len(faces):
                sums = stage_sums(stages, faces, range(thresholds.size))
                thresholds = relaxed_thresholds(sums, thresholds, pass_rate)
        return stages.with_thresholds(np.append(thresholds, stages.stage_threshold[-1]))

    def _started_early(self) -> WholeAdapter:
        """A copy that has started with the few windows there are."""
        calibration = self._calibration(self._waiting, 2 * MIN_OF_EACH)
        if calibration is None:
            raise InputError(
                f"windows must be shown before a cascade can be adapted, {MIN_OF_EACH} of either kind or "
                f"more beside every tenth; got {self._counts[1]} faces and {self._counts[-1]} others."
            )
        other = deepcopy(self)
        other._start(calibration, other._waiting)
        return other

    def _calibration(self, waiting: list[Batch], least: int) -> Calibration | None:
        """The calibration by the windows that wait; None if there are too few."""
        labels = np.concatenate([np.empty(0, np.int8), *(y for _, y, _ in waiting)])
        each = min(int((labels > 0).sum()), int((labels < 0).sum()))
        if len(labels) < least or each < MIN_OF_EACH:
            return None
        windows = np.concatenate([found for found, _, _ in waiting])
        weights = np.concatenate([w for _, _, w in waiting])
        sums = self._votes(windows, self._adapted.reach) + self._adapted.middle.sum()
        found = self._adapted.calibrated(sums, labels, weights)
        if found.turned:
            raise InputError(
                "y must be +1 for faces and -1 for others; the cascade's score is no higher for the faces. "
                "Are the labels turned round? If so, begin with a new adapter."
            )
        if found.largest > MAX_HALF_LOG_ODDS:
            raise InputError(
                f"the cascade's score must be on a sensible scale to be learnt on top of; the first windows "
                f"gave half log-odds of up to {found.largest:.0f}. Show it more, and more varied, windows "
                "first: raise calibrate_on."
            )
        return found

    def _start(self, calibration: Calibration, waiting: list[Batch]) -> None:
        self._adapted.start(calibration, self.smoothing, **self._settings)
        self._waiting = []
        for batch in waiting:
            self._learn(*batch)

    def _learn(self, windows: Pixels, labels: Signs, weights: Floats) -> None:
        sketch = self._adapted.sketch
        assert sketch is not None
        step = self.batch_size * -(-WINDOWS_AT_ONCE // self.batch_size)
        for at in range(0, len(windows), step):
            some = slice(at, at + step)
            answers = self.stumps.answers(_rows(windows[some]))
            with sketch._guard.passing_on(self._guard, self._scoring_with):
                self._adapted.update(answers, labels[some], weights[some], self.batch_size)

    def _scoring_with(self, solved: tuple[Floats, bool]) -> _Scoring:
        """How it scores with the α that the sketch has published."""
        return _Scoring(self.scale, self.shift, solved[0])

    def _votes(self, windows: Pixels, weights: Floats) -> Floats:
        votes = np.empty(len(windows))
        for at in range(0, len(windows), WINDOWS_AT_ONCE):
            some = slice(at, at + WINDOWS_AT_ONCE)
            votes[some] = self.stumps.answers(_rows(windows[some])) @ weights
        return votes

    # Files ------------------------------------------------------------------------------------------------

    def _state_tree(self) -> Tree:
        return {
            "n_faces": self._counts[1],
            "faces": self._faces.tree(),
            "held_faces": self._held[1].tree(),
            "held_others": self._held[-1].tree(),
            "waiting": batches_tree(self._waiting),
            "calibrated": self._adapted.calibrated_tree(),
        }

    def _resume(self, fields: Fields) -> None:
        n_faces = fields.count("n_faces", 0, self.n_seen)
        self._counts = {1: n_faces, -1: self.n_seen - n_faces}
        self._faces = self._read_newest(fields, "faces", n_faces)
        for kind, key in ((1, "held_faces"), (-1, "held_others")):
            self._held[kind] = self._read_newest(fields, key, self._counts[kind] // 10)
        shape = (self.cascade.height, self.cascade.width)
        self._waiting = batches_from(fields, "waiting", np.uint8, shape, self.face_weight)
        self._adapted.resume(fields, "calibrated", self._settings)
        labels = np.concatenate([np.empty(0, np.int8), *(y for _, y, _ in self._waiting)])
        shown = {kind: n - n // 10 for kind, n in self._counts.items()}  # besides those held out
        sketch = self._adapted.sketch
        if sketch is None:
            fits = all((labels == kind).sum() == n for kind, n in shown.items())
        else:
            fits = not len(labels) and sketch.n_seen == sum(shown.values())
        fields.require(fits, "the windows that wait or were learnt must be those shown and not held out")
        contrast = all(has_contrast(windows).all() for windows, _, _ in self._waiting)
        fields.require(contrast, "waiting has windows of low contrast")

    def facts(self) -> dict[str, str]:
        """What it is and how far it is, in words.

        Returns
        -------
        dict
            Texts by what they are about.
        """
        faces, others = self.n_held_out
        waiting = self._adapted.sketch is None
        return {
            **super().facts(),
            "held out": f"{faces:,} faces and {others:,} others, to set thresholds by",
            "the rest": "waits for the score to be calibrated" if waiting else "learnt, for new weights",
        }


def _rows(windows: Pixels) -> NDArray[np.uint8]:
    return windows.reshape(len(windows), -1)
