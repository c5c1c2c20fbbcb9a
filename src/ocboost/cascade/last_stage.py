"""The last stage: every stump of the shipped cascade, with Online Coordinate Boosting's corrections.

The shipped cascade's score is the offset; corrections are learnt on the windows that the short stages let
through.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ocboost.boosters.adaboost import adaboost_weights
from ocboost.cascade.adapt_base import MAX_HALF_LOG_ODDS, AdaptedStumps, Calibration
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.short_stages import Stage
from ocboost.errors import InputError
from ocboost.offsets.base import reweighted

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Signs = NDArray[np.int8]


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


def slimmed(whole: Cascade, windows: Pixels, n_stumps: int) -> Stage:
    """A cheaper stage that scores nearly as the last one does: its weightiest stumps, refitted to its sums.

    Ridge regression of the last stage's sums on those stumps' answers to windows.
    """
    own = whole.trees_of(whole.n_stages - 1)
    leaves = whole.leaf_pairs[own].astype(np.float64)
    reach = (leaves[:, 1] - leaves[:, 0]) / 2.0
    chosen = np.sort(np.argsort(-np.abs(reach), kind="stable")[:n_stumps])
    answers = whole._all_stumps[own].answers(windows.reshape(len(windows), -1))
    sums = answers @ reach
    some = answers[:, chosen].astype(np.float64)
    middle, mean = some.mean(axis=0), sums.mean()
    some -= middle
    gram = some.T @ some
    gram[np.diag_indices_from(gram)] += 1.0
    weights = np.linalg.solve(gram, some.T @ (sums - mean))
    return Stage(
        whole.node_feature[own][chosen].astype(np.int64),
        whole.node_threshold[own][chosen],
        np.stack([-weights, weights], axis=1),
    )


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
