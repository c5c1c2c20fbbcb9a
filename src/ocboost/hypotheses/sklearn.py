"""The members of fitted models as hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost.errors import InputError, NotSavableError
from ocboost.foreign.trees import is_tree
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.callables import Callables
from ocboost.hypotheses.member_trees import (
    EnsembleMember,
    after_transformers,
    class_order,
    classes_of,
    from_trees,
    has_members,
    is_thresholded,
    members_of,
    trees_inside,
)
from ocboost.hypotheses.unwrap import description, require_fitted, unwrapped


class _TranslatedMember:
    """A member of an ensemble that was given other labels, or only some of the columns."""

    def __init__(self, member: EnsembleMember) -> None:
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
    """The members of a fitted model of scikit-learn, LightGBM or XGBoost as weak hypotheses.

    They answer exactly as the members' own ``predict``, to missing values too. Trees become `Trees`,
    `Stumps` if none has more than one split, or `CategoryTrees` if any splits by category, and can be saved;
    other classifiers become `Callables`.

    Parameters
    ----------
    fitted : model or list of models
        AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, ExtraTreesClassifier,
        GradientBoostingClassifier, HistGradientBoostingClassifier, LGBMClassifier, XGBClassifier or
        VotingClassifier, whose members are taken; or a single tree or other classifier, or a list of them.
        Of a search (GridSearchCV and the like) its best estimator is taken, of a classifier with a chosen
        threshold or a CalibratedClassifierCV the estimators inside. Of a Pipeline the last step is, with the
        steps before it, so that rows are as the Pipeline takes them. An element of a list is one hypothesis,
        whatever it is.
    classes : array of shape (K,), optional
        The classes in the order of the columns. By default the model's ``classes_``, and for a list all
        that any of it knows, sorted.

    Returns
    -------
    Hypotheses
        For two classes J = T, and +1 is the second class. For K > 2 classes J = K·T, and column k·T + t is
        +1 where member t predicts class k. A regression tree answers the sign of its value, +1 for zero, and
        so do the trees of gradient boosting; with K > 2 classes, column k·T + t is its t-th tree for class k.
        What gradient boosting starts from is no member. LightGBM adds it to the leaves of the first trees (of
        all with ``boosting="rf"``): there the sign is that of the leaf's value less the root's.

    Raises
    ------
    InputError
        If there is no such model in it.

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
    if isinstance(fitted, Sequence | np.ndarray) and not isinstance(fitted, str):
        return _of_list([_single_member(estimator) for estimator in fitted], classes)
    if isinstance(fitted, type) or not hasattr(fitted, "fit"):
        raise _no_model(fitted)
    transformers, model = unwrapped(fitted)
    return after_transformers(transformers, _members_inside(model, classes, fitted))


def _members_inside(model: Any, classes: ArrayLike | None, fitted: Any) -> Hypotheses:
    """The members of a model that is in ``fitted``, or is that itself."""
    from sklearn.calibration import CalibratedClassifierCV

    try:
        trees = trees_inside(model, classes)
    except NotSavableError as error:
        raise InputError(
            f"fitted must have trees that can be taken out; {error} Or give [fitted], to take the whole of "
            "it as one hypothesis."
        ) from None
    if trees is not None:
        return trees
    if is_thresholded(model):
        return from_sklearn(model.estimator_, classes=classes)
    if isinstance(model, CalibratedClassifierCV):
        inside = [each.estimator for each in model.calibrated_classifiers_]
        return from_sklearn(inside, classes=class_order(classes, classes_of(model)))
    if has_members(model):
        members, own = members_of(model)
        if not members:
            raise InputError(f"fitted must have at least one member; got {model!r:.80}.")
        return _from_classifiers(members, class_order(classes, own), _n_features(model, members))
    if model is not fitted:
        require_fitted(model)
        raise InputError(
            f"fitted must have members to be taken out; got {description(fitted)}, which has none. Give "
            "[fitted], to take the whole of it as one hypothesis."
        )
    return _of_list([_single_member(model)], classes)


def _of_list(members: list[EnsembleMember], classes: ArrayLike | None) -> Hypotheses:
    if not members:
        raise InputError("fitted must have at least one member; got an empty list.")
    labels = [member.labels for member in members if member.labels is not None]
    order = class_order(classes, np.unique(np.concatenate(labels)) if labels else None)
    n_features = _n_features(None, members)
    if all(is_tree(member.estimator) for member in members):
        return from_trees(members, order, n_features)
    return _from_classifiers(members, order, n_features)


def _no_model(given: Any) -> InputError:
    return InputError(
        "fitted must be a fitted scikit-learn ensemble, tree or classifier, or a list of trees and "
        f"classifiers; got {given!r:.80}."
    )


def _single_member(estimator: Any) -> EnsembleMember:
    """A tree or a classifier that is taken as a whole."""
    from sklearn.base import is_regressor

    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise _no_model(estimator)
    require_fitted(estimator)
    if is_tree(estimator) and is_regressor(estimator):
        return EnsembleMember(estimator, None, None)
    if not (hasattr(estimator, "predict") and hasattr(estimator, "classes_")):
        raise InputError(
            f"fitted must be a classifier, or a regression tree; got {estimator!r:.80}. For the members of "
            "an ensemble of regression trees give list(np.ravel(fitted.estimators_))."
        )
    return EnsembleMember(estimator, classes_of(estimator), None)


def _n_features(fitted: Any, members: list[EnsembleMember]) -> int:
    """How many features the rows have: what the model says, or all its members."""
    sources = [fitted] if hasattr(fitted, "n_features_in_") else [member.estimator for member in members]
    counts = {int(source.n_features_in_) for source in sources if hasattr(source, "n_features_in_")}
    if len(counts) != 1:
        raise InputError(
            f"fitted must be members over the same features; got {sorted(counts)} features. "
            "Fit them on the same columns."
        )
    return counts.pop()


def _from_classifiers(
    members: list[EnsembleMember], order: NDArray[Any] | None, n_features: int
) -> Callables:
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
