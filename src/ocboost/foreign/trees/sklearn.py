"""scikit-learn's trees and ensembles of trees, read from their fitted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import NotSavableError
from ocboost.foreign.trees.build import TreeBuilder
from ocboost.foreign.trees.model import PortableTrees


def from_tree(fitted: Any) -> PortableTrees:
    """A single classification tree."""
    builder = TreeBuilder()
    _add(builder, fitted.tree_, fitted.tree_.value[:, 0, :])
    return _mean_of(builder, fitted, 1)


def from_forest(fitted: Any) -> PortableTrees:
    """RandomForestClassifier and ExtraTreesClassifier: the mean of the trees' probabilities."""
    builder = TreeBuilder()
    for member in fitted.estimators_:
        _add(builder, member.tree_, member.tree_.value[:, 0, :])
    return _mean_of(builder, fitted, len(fitted.estimators_))


def from_bagging(fitted: Any) -> PortableTrees:
    """BaggingClassifier of trees, each over some columns; a tree may have seen only some classes."""
    builder = TreeBuilder()
    K = len(fitted.classes_)
    for member, columns in zip(fitted.estimators_, fitted.estimators_features_, strict=True):
        own = member.tree_.value[:, 0, :]
        value = np.zeros((own.shape[0], K))
        value[:, np.asarray(member.classes_).astype(np.int64)] = own
        _add(builder, member.tree_, value, np.asarray(columns))
    return _mean_of(builder, fitted, len(fitted.estimators_))


def from_adaboost(fitted: Any) -> PortableTrees:
    """AdaBoostClassifier over trees: each votes for the class it predicts."""
    builder = TreeBuilder()
    classes = np.asarray(fitted.classes_)
    K = classes.size
    for member, weight in zip(fitted.estimators_, fitted.estimator_weights_, strict=False):
        label = np.asarray(member.classes_)[np.argmax(member.tree_.value[:, 0, :], axis=1)]
        _add(builder, member.tree_, np.where(label[:, None] == classes, weight, -1 / (K - 1) * weight))
    nodes = builder.nodes(n_columns=int(fitted.n_features_in_), precision="single")
    total = float(np.sum(fitted.estimator_weights_))
    return PortableTrees(nodes, builder.value, classes, "adaboost", divisor=total, by_column=True)


def from_gradient_boosting(fitted: Any) -> PortableTrees:
    """GradientBoostingClassifier with a starting score that is the same for every row."""
    start = fitted.init_
    if not isinstance(start, str) and not (
        type(start).__name__ == "DummyClassifier" and start.strategy != "stratified"
    ):
        raise NotSavableError(
            f"GradientBoostingClassifier with init={start!r:.60} cannot be saved: it starts from another "
            "model's scores. Fit it with init='zero' or without init."
        )
    builder, group = TreeBuilder(), []
    for stage in fitted.estimators_:
        for k, member in enumerate(stage):
            _add(builder, member.tree_, fitted.learning_rate * member.tree_.value[:, 0, :])
            group.append(k)
    two = len(fitted.classes_) == 2
    return PortableTrees(
        builder.nodes(n_columns=int(fitted.n_features_in_), precision="single"),
        builder.value,
        np.asarray(fitted.classes_),
        "logistic" if two else "softmax",
        group=group,
        start=fitted._raw_predict_init(np.zeros((1, fitted.n_features_in_)))[0],
        scale=2.0 if fitted.loss == "exponential" else 1.0,
        zero_is_second=two,
    )


def _add(
    builder: TreeBuilder, tree: Any, value: NDArray[np.float64], columns: NDArray[Any] | None = None
) -> None:
    feature = tree.feature if columns is None else columns[np.maximum(tree.feature, 0)]
    builder.add(feature, tree.threshold, tree.children_left, tree.children_right, missing_left(tree), value)


def _mean_of(builder: TreeBuilder, fitted: Any, n: int) -> PortableTrees:
    return PortableTrees(
        builder.nodes(n_columns=int(fitted.n_features_in_), precision="single"),
        builder.value,
        np.asarray(fitted.classes_),
        "mean",
        divisor=n,
    )


def missing_left(tree: Any) -> NDArray[np.int8]:
    """Where scikit-learn's tree sends missing values."""
    return np.asarray(tree.__getstate__()["nodes"]["missing_go_to_left"]).astype(np.int8)
