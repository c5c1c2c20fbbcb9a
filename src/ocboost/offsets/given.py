"""Functions and fitted classifiers as offsets."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ocboost._core.threads import without_warning
from ocboost.errors import InputError
from ocboost.offsets.base import Offset, not_savable
from ocboost.offsets.voted import VotedOffset


class GivenOffset(Offset):
    """A score that is a Python function.

    No file holds it: a classifier is saved without it, and gets it again when it is loaded.

    Parameters
    ----------
    function : callable
        Takes rows X, gives (n,) or (n, K) scores.
    classes : array of shape (K,), optional
        The classes that it tells apart, if it knows them.
    """

    kind = "GivenOffset"

    def __init__(self, function: Any, classes: NDArray[Any] | None = None) -> None:
        self.function = function
        self.classes = classes

    def __call__(self, X: Any) -> Any:
        """The scores of rows X."""
        with without_warning("X does not have valid feature names"):
            return self.function(X)

    def tree(self) -> NoReturn:
        """Refuse: a function cannot be written to a file.

        Raises
        ------
        NotSavableError
            Always.
        """
        raise not_savable()


def as_offset(given: Any) -> Offset:
    """What ``offset=`` means: an offset, a fitted AdaBoostClassifier, another classifier, or a function.

    Parameters
    ----------
    given : object
        What a user passes.

    Returns
    -------
    Offset
        It gives scores.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if isinstance(given, Offset):
        return given
    from sklearn.base import BaseEstimator
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    model: Any = given.estimator if type(given).__name__ == "FrozenEstimator" else given
    if isinstance(model, BaseEstimator):
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise InputError(
                f"offset must be fitted; got {model!r:.80}, which is not. scikit-learn's clone takes away "
                "what was fitted: give sklearn.frozen.FrozenEstimator(fitted), or fitted.decision_function."
            ) from None
    if isinstance(model, AdaBoostClassifier):
        return VotedOffset.from_adaboost(model)
    if not isinstance(model, type) and hasattr(model, "decision_function"):
        known = getattr(model, "classes_", None)
        return GivenOffset(model.decision_function, None if known is None else np.asarray(known))
    if callable(given) and not isinstance(given, type):
        return GivenOffset(given)
    raise InputError(
        "offset must be None, an offset of ocboost.offsets, a function from rows X to scores, or a fitted "
        f"classifier with a decision_function; got {given!r:.80}. For the log-odds of a classifier that has "
        "only predict_proba, give a function that computes them."
    )
