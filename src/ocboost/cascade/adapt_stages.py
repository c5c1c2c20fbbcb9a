"""Adapting a cascade stage by stage: each stage's stumps get new weights, by the windows that reach it.

The cascade keeps its shape, its cost and its order; so it is the careful way, and the weaker one. A stage's
own sum, scaled and shifted, is the offset F₀. The stages' thresholds are set by faces that were held out.
Late stages see few windows without a face: below 200 of them only the threshold moves.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, Tree
from ocboost._core.locks import reads, writes
from ocboost.boosters.base import Settings
from ocboost.cascade.adapt_base import (
    MAX_HALF_LOG_ODDS,
    MIN_OF_EACH,
    AdaptedStumps,
    CascadeAdapter,
    Floats,
    Pixels,
    Signs,
    every_nth,
)
from ocboost.cascade.adapter_file import batches_from, batches_tree
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.roc import as_rate, threshold_for_hits
from ocboost.cascade.windows import has_contrast, stage_sums

MAX_WAITING = 5000  # windows that a stage keeps while it waits for others
HEAD = 64  # windows a stage keeps exactly: those that come one by one are then folded eight at a time


class _Stage(AdaptedStumps):
    """One stage: its stumps with their corrections, and its threshold."""

    def __init__(self, cascade: Cascade, stage: int) -> None:
        super().__init__(cascade, cascade.trees_of(stage))
        self.threshold = float(cascade.stage_threshold[stage])
        self.others = 0
        self.given_up = False
        self.waiting: list[tuple[Signs, Signs, Floats]] = []

    def answers(self, windows: Pixels) -> Signs:
        """What the stumps say to windows, (n, stumps)."""
        return self.stumps.answers(windows.reshape(len(windows), -1))

    def sums(self, answers: Signs) -> Floats:
        """The stage's sums, on the shipped scale, from the stumps' answers."""
        sums: Floats = answers @ self.corrected_reach() + self.middle.sum()
        return sums

    def corrected_reach(self) -> Floats:
        """Half the distance between each stump's leaves, corrections included."""
        return self.reach if self.sketch is None else self.reach + self.sketch.alpha / self.scale

    def learn(self, answers: Signs, labels: Signs, weights: Floats, adapter: StageAdapter) -> None:
        """Learn from windows that reached the stage, or keep them until there are enough."""
        if self.given_up:
            return
        self.others += int((labels < 0).sum())
        if self.sketch is None:
            self.waiting.append((answers, labels, weights))
            while sum(len(y) for _, y, _ in self.waiting[1:]) > MAX_WAITING:  # faces come without others
                del self.waiting[0]
            if self.others < adapter.least_others:
                return
            answers, labels, weights = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
            if min((labels > 0).sum(), (labels < 0).sum()) < MIN_OF_EACH:
                return
            self.waiting = []
            found = self.calibrated(answers @ self.reach + self.middle.sum(), labels, weights)
            if found.turned or found.largest > MAX_HALF_LOG_ODDS:  # the stage says nothing about this camera
                self.given_up = True
                return
            self.start(found, adapter.smoothing, **adapter._sketch_settings)
        self.update(answers, labels, weights, adapter.batch_size)

    def tree(self) -> Tree:
        """What a file holds of it."""
        return {
            "threshold": float(self.threshold),
            "others": self.others,
            "given_up": self.given_up,
            "waiting": batches_tree(self.waiting),
            "calibrated": self.calibrated_tree(),
        }

    def read(self, fields: Fields, adapter: StageAdapter) -> None:
        """Take over what `tree` gave."""
        n_faces, n_others = adapter._learnt
        self.threshold = fields.number("threshold", -np.inf, np.inf)
        self.others = fields.count("others", 0, n_others)
        self.given_up = fields.flag("given_up")
        self.waiting = batches_from(fields, "waiting", np.int8, (len(self.stumps),), adapter.face_weight)
        self.resume(fields, "calibrated", adapter._sketch_settings)
        signs = all((np.abs(answers) == 1).all() for answers, _, _ in self.waiting)
        fields.require(signs, "waiting must hold answers of -1 and +1")
        labels = np.concatenate([np.empty(0, np.int8), *(y for _, y, _ in self.waiting)])
        fits = (labels > 0).sum() <= n_faces and (labels < 0).sum() <= self.others
        fits &= len(labels) - len(self.waiting[0][1] if self.waiting else ()) <= MAX_WAITING
        if self.sketch is not None:
            least, most = adapter.least_others, n_faces + self.others
            fits &= self.others >= least and self.sketch.n_seen <= most
        states = bool(self.waiting) + self.given_up + (self.sketch is not None)
        fields.require(fits and states <= 1, "the windows that reached the stage do not fit those shown")


class StageAdapter(CascadeAdapter):
    """Adapts each stage of a cascade on its own to the windows of one camera.

    Parameters
    ----------
    cascade : Cascade
        Of stumps.
    pass_rate : float, default 0.998
        Share of the faces that reach a stage which it must pass.
    face_weight : float, default 1.0
        As how many other windows a face counts.
    smoothing : float, default 20000
        In windows of average weight: how strongly the shipped stages are trusted.
    forgetting : float, default 1.0
        λ: at time n window i has the weight λ^(n-i).
    batch_size : int, default 500
        Windows of one call of `update` that are added at once.
    least_others : int, default 200
        Windows without a face that must have reached a stage before its stumps get new weights.

    Attributes
    ----------
    n_seen : int
        Windows shown, those of low contrast aside, which OpenCV never looks at.
    """

    kind = "StageAdapter"
    settings: ClassVar = (*CascadeAdapter.settings, "pass_rate", "least_others")

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
        super().__init__(cascade, face_weight, smoothing, forgetting, batch_size)
        self.pass_rate = as_rate(pass_rate, "pass_rate")
        self.least_others = as_count(least_others, "least_others", MIN_OF_EACH, 1 << 40, "")
        self._stages = [_Stage(cascade, s) for s in range(cascade.n_stages)]
        self._held = self._newest()
        self._faces = 0
        self._faces_at_thresholds = 0  # how many faces there were when thresholds were last set

    @property
    @reads
    def n_adapted(self) -> int:
        """Stages whose stumps have new weights, not only new thresholds."""
        return sum(stage.sketch is not None for stage in self._stages)

    @property
    @reads
    def n_held_out(self) -> int:
        """Faces that thresholds are set by."""
        return len(self._held)

    @writes
    def _take(self, windows: Pixels, labels: Signs, weights: Floats) -> None:
        self.n_seen += len(windows)
        held = every_nth(labels, 1, self._faces, 5)
        self._faces += int((labels > 0).sum())
        self._held.add(windows[held])
        learnt = np.ones(len(windows), np.bool_)
        learnt[held] = False
        windows, labels, weights = windows[learnt], labels[learnt], weights[learnt]
        for stage in self._stages:
            if not len(windows):
                break
            answers = stage.answers(windows)
            stage.learn(answers.copy(), labels, weights, self)
            # All faces reach the next stage: those rejected now may pass when this threshold changes.
            passes = (labels > 0) | (stage.sums(answers) >= stage.threshold)
            windows, labels, weights = windows[passes], labels[passes], weights[passes]
        if self._faces >= 2 * self._faces_at_thresholds or self._faces >= self._faces_at_thresholds + 2000:
            self._faces_at_thresholds = self._faces
            for stage, threshold in zip(self._stages, self._thresholds(), strict=True):
                stage.threshold = threshold

    @reads
    def adapted(self) -> Cascade:
        """The adapted cascade: the same stumps and stages, other leaves and thresholds.

        Returns
        -------
        Cascade
            For ``detectMultiScale`` of OpenCV and for `detect`.
        """
        leaves = [
            np.stack([stage.middle - stage.corrected_reach(), stage.middle + stage.corrected_reach()], axis=1)
            for stage in self._stages
        ]
        return self.cascade.with_leaves(np.concatenate(leaves)).with_thresholds(self._thresholds())

    def _thresholds(self) -> list[float]:
        """Each stage's threshold, by the faces held out that reach it; where they are few, the one it has."""
        thresholds = [stage.threshold for stage in self._stages]
        faces = self._held.windows
        for k, stage in enumerate(self._stages):
            if len(faces) < MIN_OF_EACH:
                break
            sums = stage.sums(stage.answers(faces))
            thresholds[k] = threshold_for_hits(sums, self.pass_rate) - 1e-6 * float(np.abs(sums).max())
            faces = faces[sums >= thresholds[k]]
        return thresholds

    @property
    def _sketch_settings(self) -> Settings:
        return {"forgetting": self.forgetting, "head": HEAD, "keep": "newest"}

    # Files ------------------------------------------------------------------------------------------------

    @property
    def _learnt(self) -> tuple[int, int]:
        """Faces and others that were shown and not held out."""
        return self._faces - self._faces // 5, self.n_seen - self._faces

    def _state_tree(self) -> Tree:
        return {
            "n_faces": self._faces,
            "n_faces_at_thresholds": self._faces_at_thresholds,
            "held": self._held.tree(),
            "stages": [stage.tree() for stage in self._stages],
        }

    def _resume(self, fields: Fields) -> None:
        self._faces = fields.count("n_faces", 0, self.n_seen)
        self._faces_at_thresholds = fields.count("n_faces_at_thresholds", 0, self._faces)
        self._held = self._read_newest(fields, "held", self._faces // 5)
        stages = iter(self._stages)
        fields.read_all("stages", lambda each: next(stages).read(each, self), len(self._stages))

    def facts(self) -> dict[str, str]:
        """What it is and how far it is, in words.

        Returns
        -------
        dict
            Texts by what they are about.
        """
        return {
            **super().facts(),
            "held out": f"{self.n_held_out:,} faces, to set thresholds by",
            "new weights": f"in {self.n_adapted:,} of {len(self._stages):,} stages",
        }


def new_thresholds(cascade: Cascade, faces: Pixels, pass_rate: float) -> Cascade:
    """The cascade with new thresholds alone: each stage passes this share of the faces that reach it.

    Parameters
    ----------
    cascade : Cascade
        What is changed.
    faces : uint8, shape (n, height, width)
        Windows with faces.
    pass_rate : float
        Above 0, at most 1.

    Returns
    -------
    Cascade
        Its stumps and leaves are the same.
    """
    sums = stage_sums(cascade, faces[has_contrast(faces)])
    thresholds = []
    for column in range(cascade.n_stages):
        thresholds.append(threshold_for_hits(sums[:, column], as_rate(pass_rate, "pass_rate")))
        sums = sums[sums[:, column] >= thresholds[-1]]
    return cascade.with_thresholds(thresholds)
