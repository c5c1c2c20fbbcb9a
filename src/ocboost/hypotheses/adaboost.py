"""What a fitted AdaBoostClassifier knows besides its members."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.member_trees import member_trees
from ocboost.hypotheses.sklearn import from_sklearn
from ocboost.hypotheses.unwrap import description, require_fitted, unwrapped

MAX_WEIGHT = 1e100  # of a hypothesis: sums of such weights are finite


def adaboost_inside(fitted: Any) -> Any:
    """The fitted AdaBoostClassifier that a model is, or that a search or a pipeline has inside.

    What is none is refused with what can be done instead.
    """
    from sklearn.ensemble import AdaBoostClassifier

    if isinstance(fitted, type) or not hasattr(fitted, "fit"):
        raise InputError(
            "fitted must be a fitted AdaBoostClassifier of scikit-learn; got "
            f"{type(fitted).__name__}. Any other fitted classifier is adopted by "
            "AdaptiveClassifier.from_fitted(model, X, y)."
        )
    transformers, model = unwrapped(fitted)
    if isinstance(model, AdaBoostClassifier) and not transformers:
        if not hasattr(model, "estimators_"):
            raise InputError("fitted must have been fitted; got one that is not. Call its fit(X, y) first.")
        return model
    require_fitted(model)
    what = description(fitted)
    if transformers:
        steps = ", ".join(type(each).__name__ for each in transformers)
        what += f", with {steps:.60} before it"
    ways = "Use AdaptiveClassifier.from_fitted(model, X, y), which adopts any classifier"
    if _has_trees(model):
        ways += "; or OCBClassifier(from_sklearn(model)).fit(X, y), which learns weights for its trees, with "
        ways += "from_sklearn of ocboost.hypotheses"
    raise InputError(f"fitted must be a fitted AdaBoostClassifier of scikit-learn; got {what}. {ways}.")


def _has_trees(model: Any) -> bool:
    try:
        return member_trees(model) is not None
    except InputError:
        return False


def from_adaboost(fitted: Any) -> tuple[Hypotheses, NDArray[Any], NDArray[np.float64], float]:
    """The members, the classes, scikit-learn's weights of the members, twice the paper's α, and their sum."""
    fitted = adaboost_inside(fitted)
    if len(fitted.classes_) < 2:
        raise InputError("fitted must know at least two classes; got a model of one class. Fit it on both.")
    members = from_sklearn(fitted)
    weights = np.array(fitted.estimator_weights_[: len(fitted.estimators_)], dtype=np.float64)
    total = float(np.sum(fitted.estimator_weights_))  # of all of them: zeros change how it is rounded
    if not (np.abs(weights) < MAX_WEIGHT).all() or not 0.0 < total < MAX_WEIGHT:
        raise InputError(
            f"fitted must have weights that are finite and not all zero; got {weights!s:.80}. Was its "
            "learning_rate meant?"
        )
    return members, np.array(fitted.classes_), weights, total
