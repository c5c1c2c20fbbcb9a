"""What is taken over from a deployed AdaBoostClassifier: its members, its classes, its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .handover import LARGEST
from .hypotheses import Hypotheses, from_sklearn


def adopted(fitted: Any) -> tuple[Hypotheses, NDArray[Any], NDArray[np.float64], float]:
    """The members, the classes, scikit-learn's weights of the members, twice the paper's α, and their sum."""
    from sklearn.ensemble import AdaBoostClassifier

    if not isinstance(fitted, AdaBoostClassifier):
        raise InputError(
            f"fitted must be a fitted AdaBoostClassifier of scikit-learn; got {type(fitted).__name__}. For "
            "the members of another ensemble use OCBClassifier(ocboost.hypotheses.from_sklearn(fitted))"
            ".fit(X, y), which weighs them anew; for a pipeline give its last step, and X as that step sees "
            "it."
        )
    if not hasattr(fitted, "estimators_"):
        raise InputError("fitted must have been fitted; got one that is not. Call its fit(X, y) first.")
    if len(fitted.classes_) < 2:
        raise InputError("fitted must know at least two classes; got a model of one class. Fit it on both.")
    members = from_sklearn(fitted)
    weights = np.array(fitted.estimator_weights_[: len(fitted.estimators_)], dtype=np.float64)
    total = float(np.sum(fitted.estimator_weights_))  # of all of them: zeros change how it is rounded
    if not (np.abs(weights) < LARGEST).all() or not 0.0 < total < LARGEST:
        raise InputError(
            f"fitted must have weights that are finite and not all zero; got {weights!s:.80}. Was its "
            "learning_rate meant?"
        )
    return members, np.array(fitted.classes_), weights, total
