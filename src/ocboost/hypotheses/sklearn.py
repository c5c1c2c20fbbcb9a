"""The members of fitted scikit-learn models as hypotheses, and what an AdaBoostClassifier knows besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost.errors import InputError
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.callables import Callables, check_order
from ocboost.hypotheses.stumps import Stumps
from ocboost.hypotheses.trees import Trees

_NOT_FITTED = (
    "fitted must be a fitted scikit-learn model; got {!r:.80}, which is not fitted. Call its fit first."
)
_SEVERAL = (
    "fitted must predict one label for each row; got {!r:.80}, which predicts several. "
    "Fit one model for each of them."
)
MAX_WEIGHT = 1e100  # of a hypothesis: sums of such weights are finite


class _Member(NamedTuple):
    """A fitted estimator, and how its classes and features relate to those of the ensemble."""

    estimator: Any
    labels: NDArray[Any] | None  # the classes that its ``classes_`` stand for; None for a regressor
    features: NDArray[np.int64] | None  # the columns it was given; None for all


class _TranslatedMember:
    """A member of an ensemble that was given other labels, or only some of the columns."""

    def __init__(self, member: _Member) -> None:
        self.estimator, self.features = member.estimator, member.features
        assert member.labels is not None
        self.classes_ = member.labels
        self._codes = np.asarray(self.estimator.classes_)

    def __repr__(self) -> str:
        return repr(self.estimator)

    def predict(self, X: Any) -> NDArray[Any]:
        """What the member predicts, in the labels of the ensemble."""
        codes = self.estimator.predict(X if self.features is None else X[:, self.features])
        labels: NDArray[Any] = self.classes_[np.searchsorted(self._codes, codes)]
        return labels


def from_sklearn(fitted: Any, *, classes: ArrayLike | None = None) -> Hypotheses:
    """The members of a fitted scikit-learn model as weak hypotheses.

    They answer exactly as the members' own ``predict``, to missing values too. Trees become `Trees`, or
    `Stumps` if none has more than one split, and can be saved; other classifiers become `Callables`.

    Parameters
    ----------
    fitted : model or list of models
        AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, ExtraTreesClassifier,
        GradientBoostingClassifier or VotingClassifier, whose members are taken; or a single tree or other
        classifier, or a list of them.
    classes : array of shape (K,), optional
        The classes in the order of the columns. By default the model's ``classes_``, and for a list all
        that any of it knows, sorted.

    Returns
    -------
    Hypotheses
        For two classes J = T, and +1 is the second class. For K > 2 classes J = K·T, and column k·T + t is
        +1 where member t predicts class k. A regression tree answers the sign of its value, +1 for zero, as
        gradient boosting does; for GradientBoostingClassifier with K > 2 classes, column k·T + t is its
        t-th tree for class k. What gradient boosting starts from (``init_``) is no member.

    Examples
    --------
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), ["no", "no", "yes", "yes"]
    >>> stumps = from_sklearn(AdaBoostClassifier(n_estimators=5).fit(X, y))
    >>> stumps
    <1 stumps over 1 of 1 features>
    >>> stumps.answers(X).ravel()
    array([-1, -1,  1,  1], dtype=int8)
    """
    from sklearn.ensemble import GradientBoostingClassifier

    if isinstance(fitted, GradientBoostingClassifier):
        _require_fitted(fitted)
        return _gradient_boosting(fitted, classes)
    members, own = _members_of(fitted)
    if not members:
        raise InputError(f"fitted must have at least one member; got {fitted!r:.80}.")
    order = _class_order(classes, own)
    n_features = _n_features(fitted, members)
    if all(_is_tree(member.estimator) for member in members):
        return _from_trees(members, order, n_features)
    return _from_classifiers(members, order, n_features)


def _members_of(fitted: Any) -> tuple[list[_Member], NDArray[Any] | None]:
    """The members of a model, and the classes they know together; None if there are only regressors."""
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        VotingClassifier,
    )

    if isinstance(fitted, Sequence | np.ndarray) and not isinstance(fitted, str):
        members = [_single_member(estimator) for estimator in fitted]
        labels = [member.labels for member in members if member.labels is not None]
        return members, np.unique(np.concatenate(labels)) if labels else None
    if isinstance(fitted, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        raise InputError(
            f"fitted must have trees as scikit-learn's other ensembles do; got {fitted!r:.80}. Use "
            "GradientBoostingClassifier, RandomForestClassifier or AdaBoostClassifier, or give [fitted] to "
            "take the whole of it as one hypothesis."
        )
    codes = RandomForestClassifier | ExtraTreesClassifier | BaggingClassifier | VotingClassifier
    if not isinstance(fitted, codes | AdaBoostClassifier):
        member = _single_member(fitted)
        return [member], member.labels
    _require_fitted(fitted)
    own = _classes(fitted)
    if isinstance(fitted, AdaBoostClassifier):
        return [_Member(each, np.asarray(each.classes_), None) for each in fitted.estimators_], own
    given = getattr(fitted, "estimators_features_", [None] * len(fitted.estimators_))
    columns = [None if taken is None else np.asarray(taken, dtype=np.int64) for taken in given]
    every = np.arange(getattr(fitted, "n_features_in_", 0))
    # These number the classes before their members see them; a member may have seen only some.
    return [
        _Member(
            each,
            own[np.asarray(each.classes_).astype(np.int64)],
            None if taken is None or np.array_equal(taken, every) else taken,
        )
        for each, taken in zip(fitted.estimators_, columns, strict=True)
    ], own


def _single_member(estimator: Any) -> _Member:
    """A tree or a classifier that is no ensemble."""
    from sklearn.base import is_regressor

    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputError(
            "fitted must be a fitted scikit-learn ensemble, tree or classifier, or a list of trees and "
            f"classifiers; got {estimator!r:.80}."
        )
    _require_fitted(estimator)
    if is_regressor(estimator) and _is_tree(estimator):
        return _Member(estimator, None, None)
    if not (hasattr(estimator, "predict") and hasattr(estimator, "classes_")):
        raise InputError(
            f"fitted must be a classifier, or a regression tree; got {estimator!r:.80}. For the members of "
            "an ensemble of regression trees give list(np.ravel(fitted.estimators_))."
        )
    return _Member(estimator, _classes(estimator), None)


def _require_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InputError(_NOT_FITTED.format(estimator)) from None


def _classes(estimator: Any) -> NDArray[Any]:
    if getattr(estimator, "n_outputs_", 1) != 1 or isinstance(estimator.classes_, list):
        raise InputError(_SEVERAL.format(estimator))
    return np.asarray(estimator.classes_)


def _is_tree(estimator: Any) -> bool:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    plain = {DecisionTreeClassifier.predict, DecisionTreeRegressor.predict}
    return (
        isinstance(estimator, DecisionTreeClassifier | DecisionTreeRegressor)
        and type(estimator).predict in plain  # a subclass may predict otherwise
    )


def _n_features(fitted: Any, members: list[_Member]) -> int:
    """How many features the rows have: what the model says, or all its members."""
    sources = [fitted] if hasattr(fitted, "n_features_in_") else [member.estimator for member in members]
    counts = {int(source.n_features_in_) for source in sources if hasattr(source, "n_features_in_")}
    if len(counts) != 1:
        raise InputError(
            f"fitted must be members over the same features; got {sorted(counts)} features. "
            "Fit them on the same columns."
        )
    return counts.pop()


def _class_order(given: ArrayLike | None, own: NDArray[Any] | None) -> NDArray[Any] | None:
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


def _from_classifiers(members: list[_Member], order: NDArray[Any] | None, n_features: int) -> Callables:
    predicting = []
    for member in members:
        if member.labels is None:
            raise InputError(
                f"fitted must be all trees, or all classifiers; got {member.estimator!r:.80} among "
                "classifiers that are no trees. Take them over one by one."
            )
        same = member.features is None and np.array_equal(member.labels, member.estimator.classes_)
        predicting.append(member.estimator if same else _TranslatedMember(member))
    tags = [input_tags(member.estimator) for member in members]
    return Callables(
        predicting,
        n_features,
        classes=order,
        accepts_sparse=all(sparse for sparse, _ in tags),
        accepts_missing=all(missing for _, missing in tags),
    )


def input_tags(estimator: Any) -> tuple[bool, bool]:
    """Whether a scikit-learn estimator says that it takes sparse matrices, and missing values."""
    try:
        from sklearn.utils import get_tags
    except ImportError:  # scikit-learn 1.5
        tags = estimator._get_tags() if hasattr(estimator, "_get_tags") else {}
        return "sparse" in tags.get("X_types", ()), bool(tags.get("allow_nan", False))
    try:
        tags = get_tags(estimator).input_tags
    except (AttributeError, TypeError):  # an estimator that is none of scikit-learn's
        return False, False
    return bool(tags.sparse), bool(tags.allow_nan)


def _from_trees(members: list[_Member], order: NDArray[Any] | None, n_features: int) -> Hypotheses:
    answers = [_answers(member, order) for member in members]
    if max(answer.shape[1] for answer in answers) > 1 and any(member.labels is None for member in members):
        raise InputError(
            "fitted must be classifiers if there are more than two classes; got a regression tree, whose "
            "sign cannot name them. Take it over alone."
        )
    return _stumps_or_trees(
        [m.estimator.tree_ for m in members], answers, [m.features for m in members], n_features
    )


def _answers(member: _Member, order: NDArray[Any] | None) -> NDArray[np.int8]:
    """What each node of a tree would answer, (nodes, G)."""
    value = member.estimator.tree_.value
    if value.shape[1] != 1:
        raise InputError(_SEVERAL.format(member.estimator))
    if member.labels is None:
        return _signs(value)
    assert order is not None
    label = member.labels[np.argmax(value[:, 0, :], axis=1)]
    wanted = order[1:] if order.size == 2 else order
    return np.where(label[:, None] == wanted, np.int8(1), np.int8(-1))


def _signs(value: NDArray[np.float64]) -> NDArray[np.int8]:
    return np.where(value[:, 0, :1] >= 0.0, np.int8(1), np.int8(-1))


def _gradient_boosting(fitted: Any, classes: ArrayLike | None) -> Hypotheses:
    own = _classes(fitted)
    order = _class_order(classes, own)
    assert order is not None
    if order.size != own.size:
        raise InputError(
            f"classes must be those of the model, in any order; got {order!r:.80}. Gradient boosting has no "
            "trees for another."
        )
    places = [int(np.flatnonzero(own == label)[0]) for label in order] if own.size > 2 else [0]
    trees = [each.tree_ for k in places for each in fitted.estimators_[:, k]]
    swapped = own.size == 2 and order[0] != own[0]
    answers = [-_signs(tree.value) if swapped else _signs(tree.value) for tree in trees]
    return _stumps_or_trees(trees, answers, [None] * len(trees), int(fitted.n_features_in_))


def _stumps_or_trees(
    trees: list[Any],
    answers: list[NDArray[np.int8]],
    columns: list[NDArray[np.int64] | None],
    n_features: int,
) -> Hypotheses:
    """scikit-learn's trees as `Stumps` if each has one split at most, else as `Trees`."""
    feature = []
    for tree, taken in zip(trees, columns, strict=True):
        own = np.where(tree.children_left < 0, -1, tree.feature)
        feature.append(own if taken is None else np.where(own < 0, -1, taken[own]))
    if answers[0].shape[1] == 1 and all(tree.node_count <= 3 for tree in trees):
        rows = [_stump(*each) for each in zip(trees, feature, answers, strict=True)]
        return Stumps(*zip(*rows, strict=True), n_features=n_features, precision="single")
    first = np.cumsum([0] + [tree.node_count for tree in trees])
    left, right = (
        np.concatenate(
            [np.where(own < 0, -1, own + start) for own, start in zip(children, first, strict=False)]
        )
        for children in ([tree.children_left for tree in trees], [tree.children_right for tree in trees])
    )
    return Trees(
        first[:-1],
        np.concatenate(feature),
        np.concatenate([tree.threshold for tree in trees]),
        left,
        right,
        np.concatenate(answers),
        np.concatenate([_missing_left(tree) for tree in trees]),
        n_features=n_features,
        precision="single",
    )


def _stump(tree: Any, feature: NDArray[Any], answer: NDArray[np.int8]) -> tuple[int, float, int, int]:
    """Feature, threshold, and what a stump answers at or below it and to NaN."""
    if feature[0] >= 0:
        left, right = (int(answer[child[0], 0]) for child in (tree.children_left, tree.children_right))
        if left != right:
            missing = left if _missing_left(tree)[0] else right
            return int(feature[0]), float(tree.threshold[0]), left, missing
        return int(feature[0]), np.inf, left, left
    return 0, np.inf, int(answer[0, 0]), int(answer[0, 0])


def _missing_left(tree: Any) -> NDArray[np.int8]:
    return np.asarray(tree.__getstate__()["nodes"]["missing_go_to_left"]).astype(np.int8)


def from_adaboost(fitted: Any) -> tuple[Hypotheses, NDArray[Any], NDArray[np.float64], float]:
    """The members, the classes, scikit-learn's weights of the members, twice the paper's α, and their sum."""
    from sklearn.ensemble import AdaBoostClassifier

    if not isinstance(fitted, AdaBoostClassifier):
        raise InputError(
            f"fitted must be a fitted AdaBoostClassifier of scikit-learn; got {type(fitted).__name__}. For "
            "the members of another ensemble use OCBClassifier(ocboost.hypotheses.from_sklearn(fitted))"
            ".fit(X, y), which learns their weights; for a pipeline give its last step, and X as that step "
            "sees it."
        )
    if not hasattr(fitted, "estimators_"):
        raise InputError("fitted must have been fitted; got one that is not. Call its fit(X, y) first.")
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
