"""The model that was deployed before: a member that never learns, and the whole prediction at first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.threads import without_warning
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError

LEAST_OF_DEPLOYED = 1e-9


class DeployedModel:
    """Any fitted classifier of the same classes and features."""

    def __init__(self, model: Any) -> None:
        classes = getattr(model, "classes_", None)
        if classes is None or not hasattr(model, "predict_proba"):
            raise InputError(
                "model must be a fitted classifier with classes_ and predict_proba; got "
                f"{type(model).__name__}. Fit it first, or wrap it in sklearn.calibration."
                "CalibratedClassifierCV if it gives no probabilities."
            )
        if hasattr(model, "n_waiting_"):
            raise InputError(
                f"model must be a classifier of another kind; got a {type(model).__name__}, which learns by "
                "itself: call its partial_fit."
            )
        self.model = model
        self.classes: NDArray[Any] = np.asarray(classes)
        self._names = getattr(model, "feature_names_in_", None)
        if self.classes.ndim != 1 or not np.array_equal(self.classes, np.unique(self.classes)):
            raise InputError(
                f"the model's classes_ must be sorted; got {self.classes.tolist()!s:.80}. Refit it "
                "with scikit-learn."
            )

    def require_fit(self, X: Any) -> None:
        """Refuse rows of other features than those that the model was fitted on."""
        n = getattr(self.model, "n_features_in_", None)
        shape = getattr(X, "shape", None) or np.shape(X)
        if n is not None and len(shape) == 2 and shape[1] != n:
            raise InputError(f"X must have the {n} features of the model; got {shape[1]}.")
        columns = getattr(X, "columns", None)
        if columns is not None and self._names is not None and list(columns) != list(self._names):
            raise InputError(
                f"X must have the columns of the model, {list(self._names)!s:.80}; got {list(columns)!s:.80}."
            )

    def _as_fitted(self, X: Any) -> Any:
        """Rows with the names that the model knows them by: a pipeline may ask for columns by name."""
        if self._names is None or not isinstance(X, np.ndarray):
            return X
        try:
            from pandas import DataFrame
        except ModuleNotFoundError:
            return X
        return DataFrame(X, columns=self._names)

    def probabilities(self, X: Any) -> Floats:
        """Its probabilities, (n, K)."""
        with without_warning("X does not have valid feature names"):
            given: Floats = np.asarray(self.model.predict_proba(self._as_fitted(X)), np.float64)
        if given.shape != (X.shape[0], len(self.classes)) or not np.isfinite(given).all():
            raise InputError(
                f"the deployed model must give finite probabilities of shape "
                f"{(X.shape[0], len(self.classes))}; got shape {given.shape}."
            )
        return given

    def predict(self, X: Any) -> NDArray[Any]:
        """Its predictions."""
        with without_warning("X does not have valid feature names"):
            return np.asarray(self.model.predict(self._as_fitted(X)))

    def scores(self, X: Any) -> Floats:
        """The log of its probabilities for one row, (K,)."""
        scores: Floats = np.log(np.maximum(self.probabilities(X)[0], LEAST_OF_DEPLOYED))
        return scores
