"""Which reader knows a fitted model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ocboost.errors import InputError, NotSavableError
from ocboost.foreign.trees.histogram import from_histogram
from ocboost.foreign.trees.lightgbm import from_lightgbm
from ocboost.foreign.trees.model import PortableTrees
from ocboost.foreign.trees.sklearn import (
    from_adaboost,
    from_bagging,
    from_forest,
    from_gradient_boosting,
    from_tree,
)
from ocboost.foreign.trees.xgboost import from_xgboost

Reader = Callable[[Any], PortableTrees]


def tree_model(estimator: Any) -> PortableTrees | None:
    """A fitted tree or ensemble of trees as a portable model; None if it is no such classifier.

    Raises
    ------
    NotSavableError
        If it is one, with a setting that is not supported.
    InputError
        If it is not fitted.
    """
    reader = _reader(estimator)
    if reader is None:
        return None
    name = type(estimator).__name__
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise InputError(
            f"the model must be fitted; got {estimator!r:.80}, which is not. Call its fit first."
        )
    if isinstance(classes, list) or getattr(estimator, "n_outputs_", 1) != 1 or len(classes) < 2:
        raise NotSavableError(
            f"{name} must predict one of at least two classes to be saved; it has "
            f"{'several outputs' if isinstance(classes, list) else 'one class'}. Fit another one."
        )
    try:
        return reader(estimator)
    except InputError as error:
        raise NotSavableError(f"{name} cannot be saved: {error}") from None


def _reader(estimator: Any) -> Reader | None:
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )

    if is_tree(estimator, regression=False):
        return from_tree
    kinds: list[tuple[type, Reader]] = [
        (RandomForestClassifier, from_forest),
        (ExtraTreesClassifier, from_forest),
        (GradientBoostingClassifier, from_gradient_boosting),
        (HistGradientBoostingClassifier, from_histogram),
    ]
    for kind, reader in kinds:
        if isinstance(estimator, kind) and _predicts_as(estimator, kind):
            return reader
    for kind, reader in ((AdaBoostClassifier, from_adaboost), (BaggingClassifier, from_bagging)):
        if isinstance(estimator, kind) and _predicts_as(estimator, kind):
            members = getattr(estimator, "estimators_", ())
            return reader if all(is_tree(each, regression=False) for each in members) else None
    for module, name, reader in (
        ("lightgbm", "LGBMClassifier", from_lightgbm),
        ("xgboost", "XGBClassifier", from_xgboost),
    ):
        loaded = sys.modules.get(module)  # if it was never imported, no model of it is here
        own = getattr(loaded, name, None)
        if own is not None and isinstance(estimator, own) and _predicts_as(estimator, own):
            return reader
    return None


def is_tree(estimator: Any, *, regression: bool = True) -> bool:
    """Whether it is a decision tree of scikit-learn; a subclass may predict otherwise, and is none."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if isinstance(estimator, DecisionTreeClassifier):
        return _predicts_as(estimator, DecisionTreeClassifier)
    return (
        regression
        and isinstance(estimator, DecisionTreeRegressor)
        and _predicts_as(estimator, DecisionTreeRegressor)
    )


def _predicts_as(estimator: Any, kind: Any) -> bool:
    """Whether its class answers with the methods of this one."""
    own = type(estimator)
    return all(
        getattr(own, method, None) is getattr(kind, method, None) for method in ("predict", "predict_proba")
    )
