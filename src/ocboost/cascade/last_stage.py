"""The last stage: the shipped cascade's stumps with weights of their own, ready to learn on line.

The shipped cascade's score is the offset; what is added to it is learnt from the windows that the short
stages let through, at once when it is built, and by Online Coordinate Boosting from then on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from ocboost.cascade.adapt_base import MAX_HALF_LOG_ODDS, AdaptedStumps, Calibration
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.short_stages import Stage
from ocboost.errors import InputError

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Signs = NDArray[np.int8]

ITERATIONS = 150
REFITTED_TO = 12_000  # windows


class LastStage:
    """Finds the last stage's score: the shipped one plus ridge logistic regression on its stumps' answers.

    Faces and other windows weigh the same in all. Batches of windows do better this way than with boosting's
    corrections; what comes later is learnt on line, by Online Coordinate Boosting on top.
    """

    def __init__(self, stages: Cascade, faces: Pixels, others: Pixels, penalty: float) -> None:
        self.stages, self._penalty = stages, penalty
        self._n_faces = len(faces)
        windows = np.concatenate([faces, others])
        self._stumps = stumps_of_last(stages)
        self._answers = self._stumps.stumps.answers(windows.reshape(len(windows), -1)).astype(np.float32)
        self._learnt = np.zeros(len(self._stumps.reach) + 1)  # where the next fit begins

    def reach(self, chosen: NDArray[np.bool_]) -> Floats:
        """What each stump adds to a score, half log-odds, once the faces and the chosen others are learnt."""
        rows = np.concatenate([np.arange(self._n_faces), self._n_faces + np.flatnonzero(chosen)])
        labels, weights = labels_of(self._n_faces, len(rows) - self._n_faces)
        answers = self._answers[rows]
        stumps = self._stumps
        sums = answers @ stumps.reach + stumps.middle.sum()
        found = usable_calibration(stumps, sums, labels, weights)
        offset = 2.0 * (found.scale * sums + found.shift)
        fitted = ridge_logistic(answers, labels, weights / weights.sum(), offset, self._penalty, self._learnt)
        self._learnt = fitted
        return found.scale * stumps.reach + fitted[:-1] / 2.0

    def scores(self, reach: Floats) -> Floats:
        """What all others score."""
        scores: Floats = (self._answers[self._n_faces :] @ reach.astype(np.float32)).astype(np.float64)
        return scores

    def slimmed(self, reach: Floats, n_stumps: int, rng: np.random.Generator) -> Stage:
        """A cheaper stage that scores nearly the same: the weightiest stumps, refitted to the whole score.

        Ridge regression of the score on those stumps' answers to windows of both kinds.
        """
        chosen = np.sort(np.argsort(-np.abs(reach), kind="stable")[:n_stumps])
        rows = np.sort(rng.permutation(len(self._answers))[:REFITTED_TO])
        answers = self._answers[rows]
        scores = answers.astype(np.float64) @ reach
        some = answers[:, chosen].astype(np.float64)
        some -= some.mean(axis=0)
        gram = some.T @ some
        gram[np.diag_indices_from(gram)] += 1.0
        weights = np.linalg.solve(gram, some.T @ (scores - scores.mean()))
        own = self.stages.trees_of(self.stages.n_stages - 1)
        return Stage(
            self.stages.node_feature[own][chosen].astype(np.int64),
            self.stages.node_threshold[own][chosen],
            np.stack([-weights, weights], axis=1),
        )


def ridge_logistic(
    answers: NDArray[np.float32],
    labels: Signs,
    weights: Floats,
    offset: Floats,
    penalty: float,
    start: Floats,
    iterations: int = ITERATIONS,
) -> Floats:
    """Minimise Σ w log(1 + exp(-y F)) + penalty/2 |θ|², F = offset + answers · θ + b; gives θ, then b."""
    y = labels.astype(np.float64)

    def loss(theta: Floats) -> tuple[float, Floats]:
        margins = y * (offset + answers @ theta[:-1].astype(np.float32) + theta[-1])
        pull = (-y * weights * expit(-margins)).astype(np.float32)
        slope = (pull @ answers).astype(np.float64) + penalty * theta[:-1]
        value = float(weights @ np.logaddexp(0.0, -margins)) + 0.5 * penalty * float(theta[:-1] @ theta[:-1])
        return value, np.append(slope, float(pull.sum()))

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    theta: Floats = found.x
    return theta


def labels_of(n_faces: int, n_others: int) -> tuple[Signs, Floats]:
    """Labels of faces, then of others, with weights so that both kinds weigh the same."""
    labels = np.repeat(np.array([1, -1], np.int8), [n_faces, n_others])
    return labels, np.where(labels > 0, max(n_others, 1) / max(n_faces, 1), 1.0)


def usable_calibration(stumps: AdaptedStumps, sums: Floats, labels: Signs, weights: Floats) -> Calibration:
    """How the stumps' sums become half log-odds, if they are higher for faces than for others."""
    found = stumps.calibrated(sums, labels, weights)
    if found.turned or found.largest > MAX_HALF_LOG_ODDS:
        raise InputError(
            "boxes must be around faces; the detector's score is no higher for them than for what lies "
            "beside them. Are the boxes those of these pictures, x, y, width and height in pixels?"
        )
    return found


def ready_to_learn(stages: Cascade, faces: Pixels, others: Pixels, smoothing: float) -> AdaptedStumps:
    """The last stage's stumps, calibrated on these windows, with a sketch that has learnt nothing yet."""
    stumps = stumps_of_last(stages)
    windows = np.concatenate([faces, others])
    answers = stumps.stumps.answers(windows.reshape(len(windows), -1))
    labels, weights = labels_of(len(faces), len(others))
    sums = answers @ stumps.reach + stumps.middle.sum()
    stumps.start(usable_calibration(stumps, sums, labels, weights), smoothing, head=1, keep="newest")
    return stumps


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
