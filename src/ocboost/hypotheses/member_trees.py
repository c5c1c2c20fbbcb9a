"""The trees inside fitted models as hypotheses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost.errors import InputError, NotSavableError
from ocboost.foreign.trees import is_tree, tree_model
from ocboost.foreign.trees.build import TreeBuilder
from ocboost.foreign.trees.sklearn import missing_left
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.callables import check_order
from ocboost.hypotheses.category_trees import CategoryTrees
from ocboost.hypotheses.joined import join_tightly
from ocboost.hypotheses.stumps import Stumps
from ocboost.hypotheses.trees import Trees
from ocboost.hypotheses.unwrap import require_fitted, unwrapped

SEVERAL_OUTPUTS = (
    "fitted must predict one label for each row; got {!r:.80}, which predicts several. "
    "Fit one model for each of them."
)


class EnsembleMember(NamedTuple):
    """A fitted estimator, and how its classes and features relate to those of the ensemble."""

    estimator: Any
    labels: NDArray[Any] | None  # the classes that its ``classes_`` stand for; None for a regressor
    features: NDArray[np.int64] | None  # the columns it was given; None for all


def member_trees(estimator: Any) -> Hypotheses | None:
    """The trees of a fitted model as hypotheses, in the columns of `from_sklearn`; None if it has none.

    Pipelines and searches are for `unwrapped`. None too if the trees are of a kind that cannot be read.
    """
    try:
        return trees_inside(estimator, None)
    except NotSavableError:
        return None


def trees_inside(model: Any, classes: ArrayLike | None) -> Hypotheses | None:
    """The trees of a model in the order of these classes; None if any member of it is no tree."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import GradientBoostingClassifier

    if is_thresholded(model):
        require_fitted(model)
        return _behind_transformers(model.estimator_, classes)
    if isinstance(model, CalibratedClassifierCV):
        require_fitted(model)
        order = class_order(classes, classes_of(model))
        sets = [_behind_transformers(each.estimator, order) for each in model.calibrated_classifiers_]
        return side_by_side([each for each in sets if each is not None], order) if all(sets) else None
    if isinstance(model, GradientBoostingClassifier):
        require_fitted(model)
        return _of_gradient_boosting(model, classes)
    if is_boosted_elsewhere(model):
        require_fitted(model)
        return _of_portable(model, classes)
    if is_tree(model):
        require_fitted(model)
        labels = classes_of(model) if hasattr(model, "classes_") else None
        return from_trees(
            [EnsembleMember(model, labels, None)], class_order(classes, labels), model.n_features_in_
        )
    if not has_members(model):
        return None
    members, own = members_of(model)
    if not members or not all(is_tree(member.estimator) for member in members):
        return None
    return from_trees(members, class_order(classes, own), int(model.n_features_in_))


def _behind_transformers(model: Any, classes: ArrayLike | None) -> Hypotheses | None:
    transformers, inside = unwrapped(model)
    found = trees_inside(inside, classes)
    return found if found is None else after_transformers(transformers, found)


def after_transformers(transformers: list[Any], hypotheses: Hypotheses) -> Hypotheses:
    """The same hypotheses over the columns before preprocessing."""
    if not transformers:
        return hypotheses
    from ocboost.hypotheses.transformed import transformed

    made: Hypotheses = transformed(transformers, hypotheses)
    return made


def side_by_side(sets: list[Hypotheses], order: NDArray[Any] | None) -> Hypotheses:
    """The hypotheses of several models over the same classes as if they were of one."""
    if order is None or order.size == 2:
        return join_tightly(sets)
    sizes = [len(each) // order.size for each in sets]
    return join_tightly(
        [each[k * T : (k + 1) * T] for k in range(order.size) for each, T in zip(sets, sizes, strict=True)]
    )


# Which models have members ------------------------------------------------------------------------------


def is_thresholded(model: Any) -> bool:
    """Whether it is a classifier of scikit-learn that only moves the threshold of another."""
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

    return isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV)


def is_boosted_elsewhere(model: Any) -> bool:
    """Whether its trees are read by `ocboost.foreign.trees`: all but scikit-learn's plain ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    names = {each.__name__ for each in type(model).__mro__}
    return isinstance(model, HistGradientBoostingClassifier) or bool(
        names & {"LGBMClassifier", "XGBClassifier"}
    )


def has_members(model: Any) -> bool:
    """Whether it is an ensemble of scikit-learn that keeps its members as estimators."""
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        RandomForestClassifier,
        VotingClassifier,
    )

    return isinstance(
        model,
        RandomForestClassifier
        | ExtraTreesClassifier
        | BaggingClassifier
        | VotingClassifier
        | AdaBoostClassifier,
    )


def members_of(fitted: Any) -> tuple[list[EnsembleMember], NDArray[Any]]:
    """The members of such an ensemble, and the classes they know together."""
    from sklearn.ensemble import AdaBoostClassifier

    require_fitted(fitted)
    own = classes_of(fitted)
    if isinstance(fitted, AdaBoostClassifier):
        return [EnsembleMember(each, np.asarray(each.classes_), None) for each in fitted.estimators_], own
    given = getattr(fitted, "estimators_features_", [None] * len(fitted.estimators_))
    columns = [None if taken is None else np.asarray(taken, dtype=np.int64) for taken in given]
    every = np.arange(getattr(fitted, "n_features_in_", 0))
    # These number the classes before their members see them; a member may have seen only some.
    return [
        EnsembleMember(
            each,
            own[np.asarray(each.classes_).astype(np.int64)],
            None if taken is None or np.array_equal(taken, every) else taken,
        )
        for each, taken in zip(fitted.estimators_, columns, strict=True)
    ], own


def classes_of(estimator: Any) -> NDArray[Any]:
    """The classes of a model that predicts one label."""
    if getattr(estimator, "n_outputs_", 1) != 1 or isinstance(estimator.classes_, list):
        raise InputError(SEVERAL_OUTPUTS.format(estimator))
    return np.asarray(estimator.classes_)


def class_order(given: ArrayLike | None, own: NDArray[Any] | None) -> NDArray[Any] | None:
    """The classes in the order of the columns."""
    order = own if given is None else np.asarray(given)
    if order is None or (own is None and order.size == 2):
        return order
    if own is None:
        raise InputError(f"classes must be two for regression trees; got {given!r:.80}. Leave it out.")
    check_order(
        order,
        own,
        "model knows",
        " A model that has seen only one class needs the others named with classes=.",
    )
    return order


# Trees --------------------------------------------------------------------------------------------------


def from_trees(members: list[EnsembleMember], order: NDArray[Any] | None, n_features: int) -> Hypotheses:
    """Trees of scikit-learn as hypotheses."""
    answers = [_answers(member, order) for member in members]
    if max(answer.shape[1] for answer in answers) > 1 and any(member.labels is None for member in members):
        raise InputError(
            "fitted must be classifiers if there are more than two classes; got a regression tree, whose "
            "sign cannot name them. Take it over alone."
        )
    return _stumps_or_trees(
        [m.estimator.tree_ for m in members], answers, [m.features for m in members], n_features
    )


def _answers(member: EnsembleMember, order: NDArray[Any] | None) -> NDArray[np.int8]:
    """What each node of a tree would answer, (nodes, G)."""
    value = member.estimator.tree_.value
    if value.shape[1] != 1:
        raise InputError(SEVERAL_OUTPUTS.format(member.estimator))
    if member.labels is None:
        return _signs(value[:, 0, :1])
    assert order is not None
    label = member.labels[np.argmax(value[:, 0, :], axis=1)]
    wanted = order[1:] if order.size == 2 else order
    return np.where(label[:, None] == wanted, np.int8(1), np.int8(-1))


def _signs(value: NDArray[np.float64]) -> NDArray[np.int8]:
    return np.where(value >= 0.0, np.int8(1), np.int8(-1))


def _of_gradient_boosting(fitted: Any, classes: ArrayLike | None) -> Hypotheses:
    places, sign = _boosted_order(fitted, classes, fitted.estimators_.shape[1])
    trees = [each.tree_ for k in places for each in fitted.estimators_[:, k]]
    answers = [sign * _signs(tree.value[:, 0, :1]) for tree in trees]
    return _stumps_or_trees(trees, answers, [None] * len(trees), int(fitted.n_features_in_))


def _of_portable(fitted: Any, classes: ArrayLike | None) -> Hypotheses | None:
    """The trees of HistGradientBoosting, LightGBM and XGBoost, each the sign of its leaves' values."""
    portable = tree_model(fitted)
    if portable is None:
        return None
    places, sign = _boosted_order(fitted, classes, portable.n_sums)
    at = np.concatenate([np.flatnonzero(portable.group == k) for k in places])
    nodes, leaves = portable.nodes.taken(at)
    answer = sign * _signs(portable.value[leaves, 0])
    if not nodes.is_plain:
        return CategoryTrees(nodes, answer)
    arrays = {
        name: getattr(nodes, name) for name in ("feature", "threshold", "left", "right", "missing_left")
    }
    return _plain(nodes.root, arrays, answer[:, None], nodes.n_columns, nodes.precision)


def _boosted_order(fitted: Any, classes: ArrayLike | None, n_sums: int) -> tuple[list[int], np.int8]:
    """Which class's trees come in which order, and the sign that two classes the other way round need."""
    own = classes_of(fitted)
    order = class_order(classes, own)
    assert order is not None
    if order.size != own.size:
        raise InputError(
            f"classes must be those of the model, in any order; got {order!r:.80}. Gradient boosting has no "
            "trees for another."
        )
    if n_sums == 1:
        return [0], np.int8(1 if order[0] == own[0] else -1)
    wanted = order[1:] if order.size == 2 else order  # two classes may have trees of their own each
    return [int(np.flatnonzero(own == label)[0]) for label in wanted], np.int8(1)


def _stumps_or_trees(
    trees: list[Any],
    answers: list[NDArray[np.int8]],
    columns: list[NDArray[np.int64] | None],
    n_features: int,
) -> Hypotheses:
    builder = TreeBuilder()
    for tree, answer, taken in zip(trees, answers, columns, strict=True):
        feature = tree.feature if taken is None else taken[np.maximum(tree.feature, 0)]
        left, right = tree.children_left, tree.children_right
        builder.add(feature, tree.threshold, left, right, missing_left(tree), answer)
    return _plain(builder.root, builder.arrays(), builder.value, n_features, "single")


def _plain(
    root: NDArray[Any], arrays: dict[str, Any], answer: NDArray[Any], n_features: int, precision: str
) -> Hypotheses:
    """Trees that only compare numbers, as `Stumps` if each has one split at most, else as `Trees`.

    ``answer`` has a row for each leaf.
    """
    feature, left, right = arrays["feature"], arrays["left"], arrays["right"]
    of_node = np.ones((feature.size, answer.shape[1]), np.int8)
    of_node[feature < 0] = answer
    inner = feature[root] >= 0
    small = (feature[left[root[inner]]] < 0).all() and (feature[right[root[inner]]] < 0).all()
    if answer.shape[1] > 1 or not small:
        return Trees(
            root,
            feature,
            arrays["threshold"],
            left,
            right,
            of_node,
            arrays["missing_left"],
            n_features=n_features,
            precision=precision,
        )
    below = of_node[np.where(inner, left[root], root), 0]
    above = of_node[np.where(inner, right[root], root), 0]
    missing = np.where(arrays["missing_left"][root] != 0, below, above)
    threshold = np.where(below == above, np.inf, arrays["threshold"][root])
    return Stumps(
        np.where(inner, feature[root], 0),
        threshold,
        below,
        missing,
        n_features=n_features,
        precision=precision,
    )
