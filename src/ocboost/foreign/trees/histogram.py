"""scikit-learn's HistGradientBoostingClassifier, read from its fitted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.foreign.trees.build import TreeBuilder
from ocboost.foreign.trees.categories import as_categories
from ocboost.foreign.trees.model import PortableTrees


def from_histogram(fitted: Any) -> PortableTrees:
    """HistGradientBoostingClassifier; columns of categories take the values it was fitted on."""
    columns, categories = _columns(fitted)
    builder, group = TreeBuilder(), []
    for stage in fitted._predictors:
        for k, member in enumerate(stage):
            node = member.nodes
            leaf = node["is_leaf"] != 0
            split = np.flatnonzero(~leaf & (node["is_categorical"] != 0))
            builder.add(
                columns[np.where(leaf, 0, node["feature_idx"])],
                node["num_threshold"],
                np.where(leaf, -1, node["left"].astype(np.int64)),
                np.where(leaf, -1, node["right"].astype(np.int64)),
                node["missing_go_to_left"],
                node["value"][:, None],
                sets={int(v): member.raw_left_cat_bitsets[node["bitset_idx"][v]].copy() for v in split},
            )
            group.append(k)
    codes, vocabularies = as_categories(categories, "HistGradientBoostingClassifier")
    return PortableTrees(
        builder.nodes(n_columns=columns.size, codes=codes, vocabularies=vocabularies),
        builder.value,
        np.asarray(fitted.classes_),
        "logistic" if fitted.n_trees_per_iteration_ == 1 else "softmax",
        group=group,
        start=np.ravel(fitted._baseline_prediction),
        by_column=True,
    )


def _columns(fitted: Any) -> tuple[NDArray[np.int64], dict[int, list[Any]]]:
    """The raw column of each feature of the trees, and the categories of the raw columns that have some.

    Where there are categories, they are numbered first, and their columns moved to the front.
    """
    n = int(fitted.n_features_in_)
    if fitted._preprocessor is None:
        return np.arange(n), {}
    is_category = np.asarray(fitted.is_categorical_, dtype=bool)
    first, others = np.flatnonzero(is_category), np.flatnonzero(~is_category)
    encoder = fitted._preprocessor.named_transformers_["encoder"]
    listed = {int(c): list(values) for c, values in zip(first, encoder.categories_, strict=True)}
    return np.concatenate([first, others]), listed
