"""Fitted trees, forests and boosted trees of scikit-learn, LightGBM and XGBoost in ocboost's own form."""

from ocboost.foreign.trees.model import PortableTrees
from ocboost.foreign.trees.read import is_tree, tree_model

__all__ = ["PortableTrees", "is_tree", "tree_model"]
