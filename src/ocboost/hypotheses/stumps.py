"""Decision stumps: one feature, one threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.stumps import answer_row, answer_stumps
from ocboost.errors import InputError
from ocboost.hypotheses.base import DOUBLE, MOST_FEATURES, PRECISIONS, FeatureLines, Hypotheses, rounded_down


class Stumps(Hypotheses):
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
        self.feature = whole(feature, "feature")
        J = self.feature.size
        if self.feature.ndim != 1 or J == 0:
            raise InputError(f"feature must be a list of at least one column; got {feature!r:.80}.")
        self.threshold = np.array(threshold, dtype=np.float64)
        self.left = _signs(left, "left", J)
        self.missing = -self.left if missing is None else _signs(missing, "missing", J)
        if self.threshold.shape != (J,) or np.isnan(self.threshold).any():
            raise InputError(f"threshold must be {J} numbers, one for each stump; got {threshold!r:.80}.")
        if precision not in PRECISIONS:
            raise InputError(f"precision must be 'double' or 'single'; got {precision!r:.80}.")
        least = int(self.feature.max()) + 1
        self._n_features = least if n_features is None else int(n_features)
        if self.feature.min() < 0 or self._n_features < least:
            raise InputError(
                f"feature must lie between 0 and n_features - 1 = {self._n_features - 1}; "
                f"got {int(self.feature.min())} to {least - 1}."
            )
        self.precision = precision
        used, self._line = np.unique(self.feature, return_inverse=True)
        self._n_used = used.size
        self._lines = FeatureLines(used, self._n_features, precision)
        self._single = rounded_down(self.threshold)

    @property
    def n_hypotheses(self) -> int:
        """J."""
        return self.feature.size

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self._n_features

    def __repr__(self) -> str:
        return f"<{len(self)} stumps over {self._n_used} of {self._n_features} features>"

    def __getitem__(self, members: Any) -> Self:
        members = np.atleast_1d(np.arange(len(self))[members])
        return type(self)(
            self.feature[members],
            self.threshold[members],
            self.left[members],
            self.missing[members],
            n_features=self._n_features,
            precision=self.precision,
        )

    def beside(self, other: Hypotheses) -> Self | None:
        """These and then the others, if they are of the same kind."""
        return self._beside_by_members(other)

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        if X.shape[0] == 1 and type(X) is np.ndarray and X.dtype is DOUBLE and self.precision == "double":
            answer_row(X[0], self.feature, self.threshold, self.left, self.missing, block.reshape(-1))
            return
        lines = self._lines.gather(X)
        threshold = self._single if lines.dtype == np.float32 else self.threshold
        answer_stumps(lines, self._line, threshold, self.left, self.missing, block)

    def tree(self) -> Tree:
        """What a file holds."""
        arrays = {key: getattr(self, key) for key in ("feature", "threshold", "left", "missing")}
        return {"n_features": self._n_features, "precision": self.precision, **arrays}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Stumps from what a file holds."""
        return fields.make(
            cls,
            *(fields.array(key) for key in ("feature", "threshold", "left", "missing")),
            n_features=fields.count("n_features", 1, MOST_FEATURES),
            precision=fields.text("precision"),
        )


def whole(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Check whole numbers, and give them as int64."""
    array = np.array(values)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers; got {values!r:.80}.")
    return array.astype(np.int64)


def _signs(values: ArrayLike, name: str, n: int) -> NDArray[np.int8]:
    array = np.array(values)
    if array.shape != (n,) or not np.isin(array, (-1, 1)).all():
        raise InputError(f"{name} must be {n} answers, each -1 or +1; got {values!r:.80}.")
    return array.astype(np.int8)
