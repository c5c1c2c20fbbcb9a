"""The model that was deployed before: a member that never learns, and the whole prediction at first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError

MIN_PROBABILITY = 1e-9


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
        self.model = model
        self.classes: NDArray[Any] = np.asarray(classes)

    def probabilities(self, X: Any) -> Floats:
        """Its probabilities, (n, K)."""
        given: Floats = np.asarray(self.model.predict_proba(X), np.float64)
        if given.shape != (X.shape[0], len(self.classes)) or not np.isfinite(given).all():
            raise InputError(
                f"the deployed model must give finite probabilities of shape "
                f"{(X.shape[0], len(self.classes))}; got shape {given.shape}."
            )
        return given

    def predict(self, X: Any) -> NDArray[Any]:
        """Its predictions."""
        return np.asarray(self.model.predict(X))

    def scores(self, X: Any, out: Floats) -> None:
        """The log of its probabilities for one row."""
        np.log(np.maximum(self.probabilities(X)[0], MIN_PROBABILITY), out=out)
