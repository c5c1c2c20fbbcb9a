"""Short stages that reject most windows cheaply, boosted on the windows that those before let through.

GentleBoost (Friedman, Hastie and Tibshirani) over the features that a cascade has, with thresholds of their
own: about sixteen cuts for each feature, at quantiles of either class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.gentle import gentle_stump, reweigh
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.windows import inner_spread

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

CUTS_OF_EACH = 8  # quantiles of either class at which a feature may be cut
FEATURES_A_ROUND = 1000  # drawn at random
VALUES_AT_ONCE = 4096
FACES_WEIGH = 0.75  # of all weight at the start; a stage may let others pass, hardly a face fail
LARGEST_ANSWER = 0.98  # so that no weight vanishes


class Stage(NamedTuple):
    """Stumps as `Cascade.with_stage` takes them."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    leaves: Floats

    def added_to(self, cascade: Cascade, threshold: float) -> Cascade:
        """The cascade with this as its last stage."""
        return cascade.with_stage(self.feature, self.threshold, self.leaves, stage_threshold=threshold)


class FeatureValues:
    """The values of all upright features of a cascade, for windows: sums of pixels as one product."""

    def __init__(self, cascade: Cascade) -> None:
        self.usable = np.flatnonzero(~cascade.tilted)
        maps = np.zeros((self.usable.size, cascade.height, cascade.width), np.float32)
        for row, f in enumerate(self.usable.tolist()):
            for (x, y, w, h), weight in zip(cascade.rects[f].tolist(), cascade.weights[f], strict=True):
                maps[row, y : y + h, x : x + w] += weight
        self._maps = np.ascontiguousarray(maps.reshape(self.usable.size, -1).T)

    def of(self, windows: Pixels) -> NDArray[np.float32]:
        """The values, (features, n), divided by the windows' contrast as OpenCV divides them."""
        values = np.empty((self.usable.size, len(windows)), np.float32)
        for at in range(0, len(windows), VALUES_AT_ONCE):
            some = windows[at : at + VALUES_AT_ONCE]
            sums = some.reshape(len(some), -1).astype(np.float32) @ self._maps
            factor = 1.0 / np.sqrt(np.maximum(inner_spread(some), 1).astype(np.float64))
            values[:, at : at + len(some)] = (sums * factor.astype(np.float32)[:, None]).T
        return values


class BinnedWindows:
    """Windows of both kinds with their features' values in bins."""

    def __init__(self, values: FeatureValues, faces: Pixels, others: Pixels) -> None:
        found = values.of(np.concatenate([faces, others]))
        self.labels = np.repeat([1.0, -1.0], [len(faces), len(others)])
        shares = (np.arange(CUTS_OF_EACH) + 0.5) / CUTS_OF_EACH
        n = len(faces)
        parts = [_quantiles(part, shares) for part in (found[:, :n], found[:, n:])]
        self.cuts = np.sort(np.concatenate(parts, axis=1), axis=1)
        self.features = values.usable
        self.bins = np.empty(found.shape, np.uint8)
        for row in range(len(found)):
            self.bins[row] = np.searchsorted(self.cuts[row], found[row], side="right")

    def stage(self, n_stumps: int, rng: np.random.Generator) -> Stage:
        """A stage of so many stumps."""
        positive = self.labels > 0.0
        weights = np.where(positive, FACES_WEIGH / positive.sum(), (1.0 - FACES_WEIGH) / (~positive).sum())
        signed = weights * self.labels
        n_bins = 2 * CUTS_OF_EACH + 1
        sums, answers = np.empty(2 * n_bins), np.empty(2)
        feature = np.empty(n_stumps, np.int64)
        threshold, leaves = np.empty(n_stumps, np.float32), np.empty((n_stumps, 2))
        F = len(self.features)
        for j in range(n_stumps):
            chosen = np.sort(rng.permutation(F)[:FEATURES_A_ROUND])
            row, cut = gentle_stump(self.bins, chosen, n_bins, weights, signed, sums, answers)
            np.clip(answers, -LARGEST_ANSWER, LARGEST_ANSWER, out=answers)
            feature[j], threshold[j], leaves[j] = self.features[row], self.cuts[row, cut], answers
            reweigh(self.bins[row], cut, answers, self.labels, weights, signed)
        return Stage(feature, threshold, leaves)


def _quantiles(values: NDArray[np.float32], shares: Floats) -> NDArray[np.float32]:
    """Values that these shares of each row lie below, (F, shares)."""
    at = np.minimum((shares * values.shape[1]).astype(np.int64), values.shape[1] - 1)
    return np.partition(values, np.unique(at), axis=1)[:, at]
