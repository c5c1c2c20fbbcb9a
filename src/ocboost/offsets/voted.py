"""The votes of fixed weights as an offset."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..adoption import adopted
from ..errors import InputError
from ..hypotheses import Ballot, Hypotheses, hypotheses_from_parts, hypotheses_parts
from ..storage import Arrays, require
from .base import Offset, kind_in, numbers


class VotedOffset(Offset):
    """The votes of hypotheses whose weights stay, Σ_j α_j h_j(x) + shift. It can be saved if they can.

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
        self.alpha = numbers(alpha, "alpha", (1, 2))
        self.shift = numbers(shift, "shift", (0, 1))
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
        members, classes, weights, _ = adopted(fitted)
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

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """What a file holds."""
        described, held = hypotheses_parts(self.hypotheses)
        arrays = {f"hypotheses/{key}": array for key, array in held.items()}
        return {"hypotheses": described}, {
            "alpha": self.alpha,
            "shift": self.shift,
            **arrays,
        }

    @classmethod
    def from_parts(cls, parameters: dict[str, Any], arrays: Arrays, name: str) -> Self:
        """An offset of what `parts` gave."""
        require(set(parameters) == {"hypotheses"}, name, "its offset is not known")
        kind, described = kind_in(parameters["hypotheses"], name)
        require({"alpha", "shift"} <= set(arrays), name, "its offset has no weights")
        held = {key: array for key, array in arrays.items() if key not in ("alpha", "shift")}
        require(all(key.startswith("hypotheses/") for key in held), name, "its offset is not known")
        inner = {key.removeprefix("hypotheses/"): array for key, array in held.items()}
        members = hypotheses_from_parts(kind, described, inner, name)
        return cls(members, arrays["alpha"], arrays["shift"])
