"""Other scores on AdaBoost's scale as offsets; `ocboost.offsets.fitting` finds the scale."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.kinds import OFFSET, nested_reader, nested_tree
from ocboost.errors import InputError
from ocboost.offsets.base import Offset, as_finite, checked_scores
from ocboost.offsets.given import as_offset


class ScaledOffset(Offset):
    """Another score s on AdaBoost's scale: F₀ = ½ (scale · s + shift). It can be saved if s can.

    Parameters
    ----------
    scorer : offset, function or fitted classifier
        As the ``offset`` of `OCBClassifier`.
    scale, shift : float, or array of shape (K,)
        What the score is multiplied by, and what is added then.

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
        """The contents of a file.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {"scorer": nested_tree(self.scorer, OFFSET), "scale": self.scale, "shift": self.shift}

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
        scorer = fields.read("scorer", nested_reader(OFFSET))
        fields.require(not isinstance(scorer, cls), "a score on another scale is not scaled again")
        return fields.make(cls, scorer, fields.array("scale"), fields.array("shift"))
