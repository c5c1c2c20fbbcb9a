"""Any score on AdaBoost's scale, as an offset."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..storage import Arrays, require
from .base import Offset, kind_in, not_savable, numbers
from .choose import as_offset
from .linear import LinearOffset
from .scores import checked_scores
from .voted import VotedOffset

INNER: dict[str, Any] = {each.kind: each for each in (LinearOffset, VotedOffset)}


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
        self.scale = numbers(scale, "scale", (0, 1))
        self.shift = numbers(shift, "shift", (0, 1))
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

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """What a file holds."""
        if type(self.scorer) is not INNER.get(self.scorer.kind):
            raise not_savable()
        described, held = self.scorer.parts()
        arrays = {f"scorer/{key}": array for key, array in held.items()}
        return {"scorer": [self.scorer.kind, described]}, {
            "scale": self.scale,
            "shift": self.shift,
            **arrays,
        }

    @classmethod
    def from_parts(cls, parameters: dict[str, Any], arrays: Arrays, name: str) -> Self:
        """An offset of what `parts` gave."""
        require(set(parameters) == {"scorer"}, name, "its offset is not known")
        kind, described = kind_in(parameters["scorer"], name)
        require(kind in INNER, name, "its offset is not known")
        require({"scale", "shift"} <= set(arrays), name, "its offset has no scale")
        held = {key: array for key, array in arrays.items() if key not in ("scale", "shift")}
        require(all(key.startswith("scorer/") for key in held), name, "its offset is not known")
        inner = {key.removeprefix("scorer/"): array for key, array in held.items()}
        return cls(INNER[kind].from_parts(described, inner, name), arrays["scale"], arrays["shift"])
