"""Decision stumps: one feature, one threshold."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_integers
from ocboost._kernels.stumps import answer_row, answer_stumps
from ocboost.errors import InputError
from ocboost.hypotheses.base import (
    FLOAT64,
    SINGLE_FEATURE_SETTINGS,
    ArrayHypotheses,
    FeatureLines,
    as_signs,
    as_thresholds,
    rounded_down,
)


class Stumps(ArrayHypotheses):
    """J stumps: stump j answers ``left_j`` where ``x[feature_j] <= threshold_j``, and ``-left_j`` above.

    Parameters
    ----------
    feature : array of shape (J,)
        Which feature each stump looks at.
    threshold : array of shape (J,)
        Infinite ones make a stump that always answers the same.
    left : array of shape (J,) of ±1
        The answer at or below the threshold.
    missing : array of shape (J,) of ±1, optional
        The answer where the feature is NaN; ``-left`` if left out, as if NaN were large.
    n_features : int, optional
        Features of a row; by default as many as the stumps need.
    precision : {"double", "single"}, default "double"
        "single" rounds features to float32 before they are compared, as scikit-learn's trees do.

    Examples
    --------
    >>> stumps = Stumps(feature=[0, 1], threshold=[0.5, 2.0], left=[1, -1])
    >>> stumps.answers(np.array([[0.0, 1.0], [1.0, np.nan]]))
    array([[ 1, -1],
           [-1,  1]], dtype=int8)
    """

    kind = "Stumps"
    accepts_missing = True
    accepts_sparse = True
    _arrays: ClassVar = {"feature": (), "threshold": (), "left": (), "missing": ()}
    _settings: ClassVar = SINGLE_FEATURE_SETTINGS

    def __init__(
        self,
        feature: ArrayLike,
        threshold: ArrayLike,
        left: ArrayLike,
        missing: ArrayLike | None = None,
        *,
        n_features: int | None = None,
        precision: str = "double",
    ) -> None:
        self.feature = as_integers(feature, "feature")
        J = self.feature.size
        if self.feature.ndim != 1 or J == 0:
            raise InputError(f"feature must be a list of at least one column; got {feature!r:.80}.")
        self.left = as_signs(left, "left", J)
        self.missing = -self.left if missing is None else as_signs(missing, "missing", J)
        self.threshold = as_thresholds(threshold, J, "stump")
        self._features = FeatureLines(self.feature, n_features, precision)
        self.n_hypotheses, self.n_features, self.precision = J, self._features.n_features, precision
        self._single = rounded_down(self.threshold)

    def __repr__(self) -> str:
        return f"<{len(self)} stumps over {self._features}>"

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        if X.shape[0] == 1 and type(X) is np.ndarray and X.dtype is FLOAT64 and self.precision == "double":
            answer_row(X[0], self.feature, self.threshold, self.left, self.missing, block.reshape(-1))
            return
        lines = self._features.gather(X)
        threshold = self._single if lines.dtype == np.float32 else self.threshold
        answer_stumps(lines, self._features.lines, threshold, self.left, self.missing, block)
