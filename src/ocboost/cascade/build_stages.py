"""A fast cascade from whole pictures: short stages, then a last stage that learns on line.

Each short stage (`short_stages`) is boosted on the windows that those before it let through. The last stage
(`last_stage`) has the shipped cascade's score as an offset, corrected by logistic regression on the windows
that come so far, and by Online Coordinate Boosting on those that come later. At the end the thresholds of all
stages but the last are raised until a picture takes as little time as is wanted, where that loses the fewest
of the faces that the last stage would accept (the backward pruning of Zhang and Viola).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost.cascade.adapt_base import MIN_OF_EACH, AdaptedStumps
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.face_windows import FaceWindows
from ocboost.cascade.last_stage import LastStage, corrected, ready_to_learn
from ocboost.cascade.mining import PyramidOf
from ocboost.cascade.picture_threshold import threshold_on_pictures
from ocboost.cascade.pictures import Picture
from ocboost.cascade.raise_thresholds import raised_thresholds, stumps_a_place
from ocboost.cascade.roc import threshold_for_hits
from ocboost.cascade.short_stages import BinnedWindows, FeatureValues, Stage
from ocboost.cascade.symmetry import mirrored_look_alike
from ocboost.cascade.windows import accepts, passed, stage_sums
from ocboost.errors import InputError

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Progress = Callable[[str, int, int], None]

SIZES = (12, 16, 24, 40, 64, 128, 200)  # stumps of the short stages
LAST_STUMPS = 1600  # of the shipped cascade, in the last stage
PENALTY = 10.0  # of the logistic regression, for each face learnt from
REJECTED_ENOUGH = 0.002  # of random windows may come to the last stage
RANDOM_A_PICTURE = 400
FEW_FACES = 60  # below, each gives more windows
JITTERED, JITTERED_OF_FEW = 5, 17
SURVIVORS = 3000  # windows without a face that a short stage learns from
ENOUGH_SURVIVORS = 1500  # of the random ones; with fewer, pictures are searched
MAX_FROM_A_PICTURE = 60
MAX_FACES = 6000  # windows with faces that a short stage learns from
LAST_SURVIVORS = 25_000
LAST_FIRST, LAST_MORE = 3000, 2000  # windows that the last stage begins with, and those added twice
FEW_HELD = 50  # faces; a threshold set by fewer is lowered by its standard error
ROOM_WHILE_BUILDING = 0.6  # thresholds lie so far below what the faces reach, in standard deviations
TIME, TIME_OF_FEW = 0.9, 1.0  # of the shipped cascade's, that a picture may take
MANY_FACES = 300
SAFETY = 0.8  # `stumps_a_place` is an estimate, and too low by up to a quarter
LOOSEST = 10.0  # false alarms a picture; a face found only with more need not pass the stages before the last


def ignored_progress(*_: object) -> None:
    """For callers that need no progress."""


class Built(NamedTuple):
    """What a build has made."""

    stages: Cascade  # the shipped cascade's features; the last stage not yet corrected
    last: AdaptedStumps  # the last stage's stumps, with corrections
    face_weight: float  # as how many other windows one of a face counts
    mirrored: bool  # whether mirrored faces are learnt, too


class Builder:
    """Builds all stages from pictures to learn from, and pictures held out that only set thresholds."""

    def __init__(
        self,
        shipped: Cascade,
        learnt: Sequence[Picture],
        held: Sequence[Picture],
        *,
        pass_rate: float,
        smoothing: float,
        time: float | None,
        seed: int,
        progress: Progress = ignored_progress,
    ) -> None:
        self._shipped, self._learnt, self._held = shipped, learnt, held
        self._pass_rate, self._smoothing = pass_rate, smoothing
        self._rng = np.random.default_rng(seed)
        self._progress = progress
        n = sum(len(picture.boxes) for picture in (*learnt, *held))
        self._time = (TIME if n >= MANY_FACES else TIME_OF_FEW) if time is None else time
        plain = [
            PyramidOf(shipped, picture).faces(0, self._rng, mirrored=False)[0] for picture in (*learnt, *held)
        ]
        self._mirrored = mirrored_look_alike(np.concatenate(plain))
        jittered = windows_a_face(JITTERED if n >= FEW_FACES else JITTERED_OF_FEW, mirrored=self._mirrored)
        self._faces, self._held_faces = (
            FaceWindows(shipped, pictures, jittered, self._rng, mirrored=self._mirrored, varied=varied)
            for pictures, varied in ((learnt, True), (held, False))
        )
        if not len(self._faces.windows):
            raise InputError(
                f"boxes must be around faces of at least {shipped.width} × {shipped.height} pixels, the "
                "detector's window, that lie inside their pictures; none of those to learn from is. Take "
                "larger pictures."
            )

    def build(self) -> Built:
        """Short stages until hardly any random window passes them, then the last stage."""
        steps = len(SIZES) + 2
        short = self._short_stages(lambda k: self._progress("stages", k, steps))
        self._progress("last stage", steps - 2, steps)
        built = self._with_last(short)
        self._progress("thresholds", steps - 1, steps)
        return self._tightened(built)

    def _short_stages(self, tell: Callable[[int], None]) -> Cascade:
        shipped, rng = self._shipped, self._rng
        pool = np.concatenate(
            [PyramidOf(shipped, picture).random(RANDOM_A_PICTURE, rng) for picture in self._learnt]
        )
        n_random = len(pool)
        values = FeatureValues(shipped)
        short: Cascade | None = None
        for k, size in enumerate(SIZES):
            tell(k)
            others = self._survivors(short, pool)
            if len(others) < MIN_OF_EACH:
                break
            faces = self._faces.windows[self._faces.alive]
            faces = faces[np.sort(rng.permutation(len(faces))[:MAX_FACES])]
            stage = BinnedWindows(values, faces, others).stage(size, rng)
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
        return short

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
        parts = [
            (part, stage_sums(short, part.windows, [last])[:, 0]) for part in (self._faces, self._held_faces)
        ]
        faces = [own for own in (part.per_face(sums, part.alive) for part, sums in parts) if own.size]
        lowest = min(threshold_for_hits(own, self._pass_rate) for own in faces)
        lowest -= self._room(ROOM_WHILE_BUILDING) * float(np.concatenate(faces).std())
        lowest -= 1e-6 * max(float(np.abs(own).max()) for own in faces)
        for part, sums in parts:
            part.alive &= sums >= lowest
        return short.with_thresholds([*short.stage_threshold[:-1], lowest])

    def _room(self, room: float) -> float:
        """In standard deviations; more where few faces are held out."""
        n = self._held_faces.n_faces
        return room if n >= FEW_HELD else room + 1.0 / np.sqrt(max(n, 1))

    def _with_last(self, short: Cascade) -> Built:
        """The last stage, on what the short stages let through, with fewer stumps than shipped."""
        others = self._searched(short, LAST_SURVIVORS, 10 * MAX_FROM_A_PICTURE)
        if not len(others):
            raise InputError(
                "pictures must show something that looks a little like a face; nothing in these does. Add "
                "more pictures without faces."
            )
        faces = self._faces.plain[self._faces.alive]
        shipped, rng = self._shipped, self._rng
        all_stumps = Stage(
            shipped.node_feature.astype(np.int64),
            shipped.node_threshold,
            shipped.leaf_pairs.astype(np.float64),
        )
        penalty = PENALTY / max(self._faces.n_faces, 1)
        last = LastStage(all_stumps.added_to(short, 0.0), faces, others, penalty)
        chosen = np.zeros(len(others), np.bool_)
        chosen[rng.permutation(len(others))[:LAST_FIRST]] = True
        reach = last.reach(chosen)
        for _ in range(2):
            rest = np.flatnonzero(~chosen)
            chosen[rest[np.argsort(-last.scores(reach)[rest], kind="stable")[:LAST_MORE]]] = True
            reach = last.reach(chosen)
        stages = last.slimmed(reach, min(LAST_STUMPS, shipped.n_trees), rng).added_to(short, 0.0)
        stumps = ready_to_learn(stages, faces, others[chosen], self._smoothing)
        return Built(stages, stumps, int(chosen.sum()) / max(len(faces), 1), self._mirrored)

    def _tightened(self, built: Built) -> Built:
        """Thresholds before the last stage as high as the faces allow that the last stage accepts."""
        whole = corrected(built.stages, built.last, 0.0)
        last = whole.n_stages - 1
        bar = threshold_on_pictures(whole, self._held, LOOSEST)
        found = np.concatenate([_sums_of_faces(whole, part) for part in (self._faces, self._held_faces)])
        accepted = found[found[:, last] >= bar]
        if not len(accepted):
            accepted = found
        windows = np.concatenate(
            [PyramidOf(whole, picture).sample(RANDOM_A_PICTURE, self._rng) for picture in self._held]
        )
        if not len(windows):  # pictures smaller than the window
            return built
        raised = raised_thresholds(
            built.stages.stage_threshold[:last].astype(np.float64),
            accepted[:, :last],
            stage_sums(whole, windows, range(last)),
            np.diff(whole.stage_tree),
            SAFETY
            * self._time
            * stumps_a_place(passed(self._shipped, windows), np.diff(self._shipped.stage_tree)),
        )
        stages = built.stages.with_thresholds([*raised, built.stages.stage_threshold[last]])
        return built._replace(stages=stages)


def windows_a_face(jittered: int, *, mirrored: bool) -> int:
    """How many shifted windows of each face: with no mirrored ones, so many more.

    >>> windows_a_face(5, mirrored=True), windows_a_face(5, mirrored=False)
    (5, 11)
    """
    return jittered if mirrored else 2 * jittered + 1


def _sums_of_faces(whole: Cascade, part: FaceWindows) -> Floats:
    """Of each face and stage, what half of the face's windows reach, (faces, stages)."""
    sums = stage_sums(whole, part.windows, range(whole.n_stages))
    every = np.ones(len(part.windows), np.bool_)
    return np.stack([part.per_face(sums[:, k], every) for k in range(whole.n_stages)], axis=1)
