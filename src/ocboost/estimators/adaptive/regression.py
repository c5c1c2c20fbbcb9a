"""Softmax regression on the features themselves, at two rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields
from ocboost._kernels.arrays import Floats
from ocboost._kernels.regression import dense_learn, dense_scores, sparse_learn, sparse_scores, standardise
from ocboost.estimators.adaptive.members import Member, OneRow

RATES = (0.1, 0.01)
SPARSE_FACTOR = 10.0  # rates of sparse rows, which have unit length


class FeatureRegression(Member):
    """Linear in the features: dense ones standardised as they come, sparse rows at unit length."""

    group = "features"

    def __init__(self, n_features: int, n_classes: int, *, sparse: bool) -> None:
        n_maps = 1 if n_classes == 2 else n_classes
        self._rates = np.array(RATES) * (SPARSE_FACTOR if sparse else 1.0)
        self._weights = np.zeros((len(RATES), n_maps, n_features + 1))
        size = 0 if sparse else n_features
        self._means, self._variances, self._counts = np.zeros(size), np.zeros(size), np.zeros(size)
        self._z, self._room = np.zeros(size + 1), np.zeros((len(RATES), n_classes))

    @property
    def experts(self) -> tuple[str, ...]:
        """A fast and a slow one."""
        return tuple(f"features-{rate:g}" for rate in RATES)

    def scores(self, row: OneRow, out: Floats) -> None:
        """w·x of each class."""
        if row.x is None:
            assert row.columns is not None
            assert row.values is not None
            sparse_scores(row.columns, row.values, self._weights, out)
            return
        standardise(row.x, self._means, self._variances, self._z)
        dense_scores(self._z, self._weights, out)

    def learn(self, row: OneRow, code: int, weight: float) -> None:
        """A step along the gradient."""
        if row.x is None:
            assert row.columns is not None
            assert row.values is not None
            sparse_learn(row.columns, row.values, code, weight, self._rates, self._weights, self._room)
            return
        standardise(row.x, self._means, self._variances, self._z)
        scales = (self._means, self._variances, self._counts)
        dense_learn(row.x, self._z, code, weight, self._rates, self._weights, *scales, self._room)

    def importances(self, n_features: int) -> Floats | None:
        """The weights of the standardised features; of sparse rows they are on no common scale."""
        return np.abs(self._weights[:, :, :n_features]).sum(axis=1) if self._means.size else None

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {
            "weights": self._weights,
            "means": self._means,
            "variances": self._variances,
            "counts": self._counts,
        }

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        super().resume(fields)
        fits = (self._variances >= 0.0).all() and (self._counts >= 0.0).all()
        fields.require(fits, "variances and counts must not be negative")
        for name, most in (("weights", 1e100), ("means", 1e150), ("variances", 1e300)):
            fields.require((np.abs(self._state[name]) <= most).all(), f"{name} must be at most {most:g}")
