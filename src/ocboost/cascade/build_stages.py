"""A fast cascade from whole pictures: short stages, then a last one that learns on line.

Each short stage (`short_stages`) is boosted on the windows that those before it let through. The last stage
has a score as an offset, that of the shipped cascade or of new stumps, corrected by Online Coordinate
Boosting on the windows that come so far. Pictures held out help to set the short stages' thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost.boosters.adaboost import adaboost_weights
from ocboost.cascade.adapt_base import MAX_HALF_LOG_ODDS, MIN_OF_EACH, AdaptedStumps, Calibration
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.mining import PyramidOf
from ocboost.cascade.pictures import Picture
from ocboost.cascade.roc import threshold_for_hits
from ocboost.cascade.short_stages import BinnedWindows, FeatureValues, Stage
from ocboost.cascade.windows import accepts, stage_sums
from ocboost.errors import InputError
from ocboost.offsets.base import reweighted

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Signs = NDArray[np.int8]
Progress = Callable[[str, int, int], None]

SIZES = (12, 16, 24, 40, 64, 128, 200)  # stumps of the short stages
REJECTED_ENOUGH = 0.002  # of random windows may reach the last stage
RANDOM_A_PICTURE = 400
FEW_FACES = 60  # below, each gives more windows
JITTERED, JITTERED_OF_FEW = 5, 17
SURVIVORS = 3000  # windows without a face that a short stage learns from
ENOUGH_SURVIVORS = 1500  # of the random ones; with fewer, pictures are searched
MAX_FROM_A_PICTURE = 60
MAX_FACES = 6000  # windows with faces that a short stage learns from
LAST_SURVIVORS = 25_000
LAST_FIRST, LAST_MORE = 3000, 2000  # windows that the last stage begins with, and those added twice
MARGIN = 0.25  # by which thresholds are lowered further, in standard deviations of the faces' sums
LAST_BOOSTED = 400  # stumps of the last stage where there are
MANY_FACES = 300  # and more
FEW_HELD = 50  # faces; a threshold set by fewer is lowered by its standard error


def ignored_progress(*_: object) -> None:
    """For callers that need no progress."""


class Built(NamedTuple):
    """What a build has made."""

    stages: Cascade  # the shipped cascade's features; the last stage not yet corrected
    last: AdaptedStumps  # the last stage's stumps, with corrections
    n_faces: int  # windows of faces learnt from
    n_others: int  # and without

    @property
    def face_weight(self) -> float:
        """As how many other windows one of a face has counted."""
        return max(self.n_others, 1) / max(self.n_faces, 1)


class FaceWindows:
    """Windows of faces, which face each shows, and which have passed all stages so far."""

    def __init__(
        self, shipped: Cascade, pictures: Sequence[Picture], jittered: int, rng: np.random.Generator
    ) -> None:
        windows = [np.empty((0, shipped.height, shipped.width), np.uint8)]
        faces = [np.empty(0, np.int64)]
        self.n_faces = 0
        for picture in pictures:
            own, shown = PyramidOf(shipped, picture).faces(jittered, rng)
            windows.append(own)
            faces.append(shown + self.n_faces)
            self.n_faces += len(picture.boxes)
        self.windows, self._face = np.concatenate(windows), np.concatenate(faces)
        self.alive = np.ones(len(self.windows), np.bool_)

    def per_face(self, sums: Floats) -> Floats:
        """Of each face that still passes, what half of its windows reach."""
        face, own = self._face[self.alive], sums[self.alive]
        order = np.lexsort((-own, face))
        face, own = face[order], own[order]
        starts = np.flatnonzero(np.append(True, np.diff(face) != 0)) if face.size else np.empty(0, np.int64)
        counts = np.diff(np.append(starts, face.size))
        found: Floats = own[starts + counts // 2]
        return found


class Builder:
    """Builds the short stages and the last one from pictures to learn from and pictures held out."""

    def __init__(
        self,
        shipped: Cascade,
        learnt: Sequence[Picture],
        held: Sequence[Picture],
        *,
        pass_rate: float,
        smoothing: float,
        seed: int,
        progress: Progress = ignored_progress,
    ) -> None:
        self._shipped, self._learnt = shipped, learnt
        self._pass_rate, self._smoothing = pass_rate, smoothing
        self._rng = np.random.default_rng(seed)
        self._progress = progress
        n = sum(len(picture.boxes) for picture in (*learnt, *held))
        self._many = n >= MANY_FACES
        jittered = JITTERED if n >= FEW_FACES else JITTERED_OF_FEW
        self._faces, self._held = (
            FaceWindows(shipped, pictures, jittered, self._rng) for pictures in (learnt, held)
        )

    def build(self) -> Built:
        """Short stages until hardly any random window passes them, then the last stage."""
        shipped, rng = self._shipped, self._rng
        pool = np.concatenate(
            [PyramidOf(shipped, picture).random(RANDOM_A_PICTURE, rng) for picture in self._learnt]
        )
        n_random = len(pool)
        self._values = FeatureValues(shipped)
        short: Cascade | None = None
        for k, size in enumerate(SIZES):
            self._progress("stages", k, len(SIZES))
            others = self._survivors(short, pool)
            if len(others) < MIN_OF_EACH:
                break
            faces = self._faces.windows[self._faces.alive]
            faces = faces[np.sort(rng.permutation(len(faces))[:MAX_FACES])]
            stage = BinnedWindows(self._values, faces, others).stage(size, rng)
            short = stage.added_to(shipped if short is None else short, 0.0)
            if k == 0:
                short = short.pick([short.n_stages - 1])
            short = self._with_threshold(short)
            pool = pool[accepts(short, pool)]
            if len(pool) <= REJECTED_ENOUGH * n_random:
                break
        if short is None:
            raise InputError(
                "pictures must show something without a face to learn from; these have hardly a window. "
                "Add pictures without faces."
            )
        self._progress("last stage", len(SIZES), len(SIZES))
        return self._with_last(short)

    def _survivors(self, short: Cascade | None, pool: Pixels) -> Pixels:
        """Windows without a face that pass the stages so far: random ones, or found by searching."""
        rng = self._rng
        if short is None or len(pool) >= ENOUGH_SURVIVORS:
            return pool[np.sort(rng.permutation(len(pool))[:SURVIVORS])]
        return np.concatenate([pool, self._searched(short, SURVIVORS - len(pool), MAX_FROM_A_PICTURE)])

    def _searched(self, short: Cascade, wanted: int, most: int) -> Pixels:
        """Windows without a face that pass, from pictures in random order."""
        found = [np.empty((0, self._shipped.height, self._shipped.width), np.uint8)]
        for k in self._rng.permutation(len(self._learnt)).tolist():
            if wanted <= 0:
                break
            windows, _ = PyramidOf(self._shipped, self._learnt[k]).passing(short, most, self._rng)
            found.append(windows[:wanted])
            wanted -= len(windows)
        return np.concatenate(found)

    def _with_threshold(self, short: Cascade) -> Cascade:
        """The last of the stages set so low that faces pass it, those learnt from and those held out."""
        last = short.n_stages - 1
        parts = [(part, stage_sums(short, part.windows, [last])[:, 0]) for part in (self._faces, self._held)]
        faces = [own for own in (part.per_face(sums) for part, sums in parts) if own.size]
        lowest = min(threshold_for_hits(own, self._pass_rate) for own in faces)
        if self._held.n_faces < FEW_HELD:
            lowest -= float(np.concatenate(faces).std()) / np.sqrt(max(self._held.n_faces, 1))
        lowest -= MARGIN * float(np.concatenate(faces).std())
        lowest -= 1e-6 * max(float(np.abs(own).max()) for own in faces)
        for part, sums in parts:
            part.alive &= sums >= lowest
        return short.with_thresholds([*short.stage_threshold[:-1], lowest])

    def _with_last(self, short: Cascade) -> Built:
        """The last stage, on what the short stages let through: corrections of a score that it has already.

        With many faces that is the score of new boosted stumps, with few that of the shipped cascade: all
        its stumps, which cost more and know more.
        """
        others = self._searched(short, LAST_SURVIVORS, 10 * MAX_FROM_A_PICTURE)
        faces = self._faces.windows[self._faces.alive]
        chosen = np.zeros(len(others), np.bool_)
        chosen[self._rng.permutation(len(others))[:LAST_FIRST]] = True
        shipped = self._shipped
        stage = Stage(
            shipped.node_feature.astype(np.int64),
            shipped.node_threshold,
            shipped.leaf_pairs.astype(np.float64),
        )
        last: LastStage | None = None
        for more in (LAST_MORE, LAST_MORE, 0):
            if self._many:
                stage = BinnedWindows(self._values, faces, others[chosen]).stage(LAST_BOOSTED, self._rng)
            if last is None or self._many:
                last = LastStage(stage.added_to(short, 0.0), faces, others, self._smoothing)
            rest = np.flatnonzero(~chosen)
            if not more or not rest.size:
                break
            scores = last.scores(chosen)[rest]
            chosen[rest[np.argsort(-scores, kind="stable")[:more]]] = True
        assert last is not None
        return Built(last.stages, last.fitted(chosen), len(faces), int(chosen.sum()))


class LastStage:
    """The last stage's stumps, and their answers to the windows that it may learn from."""

    def __init__(self, stages: Cascade, faces: Pixels, others: Pixels, smoothing: float) -> None:
        self.stages, self._smoothing = stages, smoothing
        self._n_faces = len(faces)
        windows = np.concatenate([faces, others])
        self._answers = stumps_of_last(stages).stumps.answers(windows.reshape(len(windows), -1))

    def scores(self, chosen: NDArray[np.bool_]) -> Floats:
        """What all others score when the faces and the chosen others are learnt."""
        stumps, margins, _, entering = self._calibrated(chosen)
        alpha = adaboost_weights(margins, smoothing=self._smoothing_of(entering), sample_weight=entering)
        scores: Floats = self._answers[self._n_faces :] @ (stumps.scale * stumps.reach + alpha)
        return scores

    def fitted(self, chosen: NDArray[np.bool_]) -> AdaptedStumps:
        """The stumps with a sketch that has learnt the faces and the chosen others, as one batch."""
        stumps, margins, found, entering = self._calibrated(chosen)
        stumps.start(found, self._smoothing, head=1, keep="newest")
        assert stumps.sketch is not None
        stumps.sketch.update_many(margins, batch_size=len(margins), sample_weight=entering)
        return stumps

    def _smoothing_of(self, entering: Floats) -> float:
        return self._smoothing * float(entering.mean())

    def _calibrated(self, chosen: NDArray[np.bool_]) -> tuple[AdaptedStumps, Signs, Calibration, Floats]:
        rows = np.concatenate([np.arange(self._n_faces), self._n_faces + np.flatnonzero(chosen)])
        labels = np.where(rows < self._n_faces, 1, -1).astype(np.int8)
        n_others = len(rows) - self._n_faces
        weights = np.where(labels > 0, max(n_others, 1) / max(self._n_faces, 1), 1.0)
        stumps = stumps_of_last(self.stages)
        answers = self._answers[rows]
        sums = answers @ stumps.reach + stumps.middle.sum()
        found = stumps.calibrated(sums, labels, weights)
        if found.turned or found.largest > MAX_HALF_LOG_ODDS:
            raise InputError(
                "boxes must be around faces; the detector's score is no higher for them than for what lies "
                "beside them. Are the boxes those of these pictures, x, y, width and height in pixels?"
            )
        stumps.scale, stumps.shift = found.scale, found.shift
        entering = reweighted(weights, labels, found.scale * sums + found.shift)
        answers *= labels[:, None]
        return stumps, answers, found, entering


def stumps_of_last(stages: Cascade) -> AdaptedStumps:
    """The stumps of a cascade's last stage, to be corrected."""
    return AdaptedStumps(stages, stages.trees_of(stages.n_stages - 1))


def corrected(stages: Cascade, last: AdaptedStumps, threshold: float) -> Cascade:
    """The cascade with the last stage's leaves scaled and corrected, and another last threshold."""
    alpha = 0.0 if last.sketch is None else last.sketch.alpha
    leaves = stages.leaf_pairs.astype(np.float64)
    own = stages.trees_of(stages.n_stages - 1)
    leaves[own, 0] = last.scale * (last.middle - last.reach) - alpha
    leaves[own, 1] = last.scale * (last.middle + last.reach) + alpha
    return stages.with_leaves(leaves).with_thresholds([*stages.stage_threshold[:-1], threshold - last.shift])
