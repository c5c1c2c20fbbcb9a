"""The votes of hypotheses with fixed weights as offsets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost.errors import InputError
from ocboost.hypotheses import Ballot, Hypotheses
from ocboost.hypotheses.adaboost import from_adaboost
from ocboost.offsets.base import Offset, as_finite


class VotedOffset(Offset):
    """The votes of hypotheses with fixed weights, Σ_j α_j h_j(x) + shift. It can be saved if they can.

    A sum of leaves is one too: a stump that adds ``up`` or ``down`` has α = (up - down) / 2, and adds
    (up + down) / 2 to the shift.

    Parameters
    ----------
    hypotheses : Hypotheses
        What votes.
    alpha : array of shape (J,) for two classes, (K, J) for more
        Their weights.
    shift : float, or array of shape (K,)
        What is added.

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

        Parameters
        ----------
        fitted : sklearn.ensemble.AdaBoostClassifier
            A fitted one.

        Returns
        -------
        VotedOffset
            With those votes.
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
        """The contents of a file.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {
            "hypotheses": nested_tree(self.hypotheses, HYPOTHESES),
            "alpha": self.alpha,
            "shift": self.shift,
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The inverse of `tree`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Offset
            With the same scores.
        """
        members = fields.read("hypotheses", nested_reader(HYPOTHESES))
        return fields.make(cls, members, fields.array("alpha"), fields.array("shift"))
