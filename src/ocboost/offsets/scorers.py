"""The kinds of offsets: a linear score, votes of hypotheses, and any score on AdaBoost's scale."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.kinds import HYPOTHESES, OFFSET, tree_within, within
from ocboost.errors import InputError
from ocboost.hypotheses import Ballot, Hypotheses
from ocboost.hypotheses.adopt import from_adaboost
from ocboost.offsets.base import GivenOffset, Offset, as_finite, checked_scores

_PRODUCTS_AT_ONCE = 1 << 20


class LinearOffset(Offset):
    """A linear score, x·coef + intercept. It can be saved.

    Parameters
    ----------
    coef : array of shape (F,) for two classes, (K, F) for more
    intercept : float, or array of shape (K,)

    Examples
    --------
    >>> LinearOffset([1.0, -2.0], 0.5)(np.array([[1.0, 1.0], [0.0, 0.0]]))
    array([-0.5,  0.5])
    """

    kind = "LinearOffset"

    def __init__(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> None:
        self.coef = as_finite(coef, "coef", (1, 2))
        self.intercept = as_finite(intercept, "intercept", (0, 1))
        if self.coef.shape[:-1] != self.intercept.shape or 0 in self.coef.shape:
            raise InputError(
                "coef and intercept must be of shapes (F,) and () for two classes, (K, F) and (K,) for more; "
                f"got {self.coef.shape} and {self.intercept.shape}."
            )

    @classmethod
    def from_sklearn(cls, fitted: Any) -> Self:
        """The decision function of a fitted linear classifier of scikit-learn, unchanged.

        It is seldom on the right scale; see `fit_offset`.
        """
        if not hasattr(fitted, "coef_") or not hasattr(fitted, "classes_"):
            raise InputError(
                f"fitted must be a fitted linear classifier, with coef_ and classes_; got {fitted!r:.80}. "
                "Any other score can be given as a function."
            )
        coef, intercept = np.atleast_2d(fitted.coef_), np.asarray(fitted.intercept_)
        if len(fitted.classes_) == 2:
            offset = cls(coef[0], intercept.reshape(-1)[0])
        else:
            offset = cls(coef, np.broadcast_to(intercept, coef.shape[:1]))
        offset.classes = np.asarray(fitted.classes_)
        return offset

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """The scores of rows X."""
        F = self.coef.shape[-1]
        if X.ndim != 2 or X.shape[1] != F:
            raise InputError(f"X must have the {F} features of the offset's coef; got shape {X.shape}.")
        coef = np.atleast_2d(self.coef)
        out = np.empty((X.shape[0], len(coef)))
        if hasattr(X, "tocsr"):
            out[:] = X @ coef.T
        else:  # not with BLAS, where a row's score would depend on how many others come with it
            step = max(1, _PRODUCTS_AT_ONCE // F)
            for start in range(0, X.shape[0], step):
                for k, row in enumerate(coef):
                    out[start : start + step, k] = (X[start : start + step] * row).sum(axis=1)
        out += self.intercept
        return out[:, 0] if self.coef.ndim == 1 else out

    def tree(self) -> Tree:
        """The contents of a file."""
        return {"coef": self.coef, "intercept": self.intercept}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The inverse of `tree`."""
        return fields.make(cls, fields.array("coef"), fields.array("intercept"))


class VotedOffset(Offset):
    """The votes of hypotheses with fixed weights, Σ_j α_j h_j(x) + shift. It can be saved if they can.

    A sum of leaves is one too: a stump that adds ``up`` or ``down`` has α = (up - down) / 2, and adds
    (up + down) / 2 to the shift.

    Parameters
    ----------
    hypotheses : Hypotheses
    alpha : array of shape (J,) for two classes, (K, J) for more
    shift : float, or array of shape (K,)

    Examples
    --------
    >>> from ocboost.hypotheses import Stumps
    >>> VotedOffset(Stumps([0, 0], [1.0, 2.0], [1, 1]), [0.75, 0.5])(np.array([[0.5], [1.5]]))
    array([ 1.25, -0.25])
    """

    kind = "VotedOffset"

    def __init__(self, hypotheses: Hypotheses, alpha: ArrayLike, shift: ArrayLike = 0.0) -> None:
        if not isinstance(hypotheses, Hypotheses):
            raise InputError(
                f"hypotheses must be of ocboost.hypotheses; got {hypotheses!r:.80}. Take those of a fitted "
                "ensemble over with ocboost.hypotheses.from_sklearn."
            )
        self.hypotheses = hypotheses
        self.alpha = as_finite(alpha, "alpha", (1, 2))
        self.shift = as_finite(shift, "shift", (0, 1))
        if self.alpha.shape[-1] != len(hypotheses):
            raise InputError(
                f"alpha must have one weight for each of the {len(hypotheses)} hypotheses; got shape "
                f"{self.alpha.shape}."
            )
        if self.shift.shape not in ((), self.alpha.shape[:-1]):
            raise InputError(
                f"shift must be one number, or one for each class; got shape {self.shift.shape}."
            )

    @classmethod
    def from_adaboost(cls, fitted: Any) -> Self:
        """A fitted AdaBoostClassifier's votes, on the scale it was boosted on.

        Its decision function divides them by the sum of the weights; this one does not.
        """
        members, classes, weights, _ = from_adaboost(fitted)
        alpha: NDArray[np.float64] = weights / 2.0  # scikit-learn's are twice the paper's α
        if len(classes) > 2:  # column k·T + t is what member t says of class k
            alpha = np.kron(np.eye(len(classes)), alpha).astype(np.float64)
        offset = cls(members, alpha)
        offset.classes = classes
        return offset

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """The scores of rows X."""
        votes = self.hypotheses.votes(X, [Ballot.of(row) for row in np.atleast_2d(self.alpha)]) + self.shift
        return votes[:, 0] if self.alpha.ndim == 1 else votes

    def tree(self) -> Tree:
        """The contents of a file."""
        return {
            "hypotheses": tree_within(self.hypotheses, HYPOTHESES),
            "alpha": self.alpha,
            "shift": self.shift,
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The inverse of `tree`."""
        members = fields.read("hypotheses", within(HYPOTHESES))
        return fields.make(cls, members, fields.array("alpha"), fields.array("shift"))


def as_offset(given: Any) -> Offset:
    """What ``offset=`` means: an offset, a fitted AdaBoostClassifier, another classifier, or a function."""
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


class ScaledOffset(Offset):
    """Another score s on AdaBoost's scale: F₀ = ½ (scale · s + shift). It can be saved if s can.

    Parameters
    ----------
    scorer : offset, function or fitted classifier
        As the ``offset`` of `OCBClassifier`.
    scale, shift : float, or array of shape (K,)

    Examples
    --------
    >>> ScaledOffset(lambda X: X[:, 0], 4.0, -1.0)(np.array([[1.0], [2.0]]))
    array([1.5, 3.5])
    """

    kind = "ScaledOffset"

    def __init__(self, scorer: Any, scale: ArrayLike = 1.0, shift: ArrayLike = 0.0) -> None:
        self.scorer = as_offset(scorer)
        self.scale = as_finite(scale, "scale", (0, 1))
        self.shift = as_finite(shift, "shift", (0, 1))
        self.classes = self.scorer.classes
        if isinstance(self.scorer, ScaledOffset):
            inner = self.scorer
            self.shift = self.scale * inner.shift / 2.0 + self.shift
            self.scale = self.scale * inner.scale / 2.0
            self.scorer = inner.scorer

    def __repr__(self) -> str:
        return (
            f"<{self.scorer.kind} scaled by {self.scale.tolist()!s:.60}, shift {self.shift.tolist()!s:.60}>"
        )

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """The scores of rows X."""
        scores = checked_scores(self.scorer, X)
        if self.scale.ndim and scores.shape[1:] != self.scale.shape:
            raise InputError(
                f"offset must give a column for each of the {self.scale.size} classes its scale was fitted "
                f"for; got shape {scores.shape}."
            )
        return 0.5 * (self.scale * scores + self.shift)

    def tree(self) -> Tree:
        """The contents of a file."""
        return {"scorer": tree_within(self.scorer, OFFSET), "scale": self.scale, "shift": self.shift}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The inverse of `tree`."""
        scorer = fields.read("scorer", within(OFFSET))
        fields.require(not isinstance(scorer, cls), "a score on another scale is not scaled again")
        return fields.make(cls, scorer, fields.array("scale"), fields.array("shift"))
