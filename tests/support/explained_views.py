"""What a classifier says of its votes while its only sketch folds, for `thread_stress`."""

from __future__ import annotations

from typing import Any

from ocboost.estimators.explaining import explained_by_votes, importances_by_votes, weight_changes_of
from ocboost.estimators.explanation import WeightChanges
from ocboost.hypotheses.describe import NamedFeatures


def explained_with(view: Any, X: Any, classes: Any) -> dict[str, Any]:
    """What `explain`, `weight_changes` and `feature_importances_` give of a view that was published."""
    named = NamedFeatures.of_names([f"x{i}" for i in range(X.shape[1])])
    sizes = importances_by_votes(view)
    return {
        "explain": explained_by_votes(view, X[:2], classes, 3, named),
        "weight_changes": WeightChanges(*weight_changes_of(view, classes, 5, named), ()),
        "feature_importances_": sizes / (sizes.sum() or 1.0),
    }
