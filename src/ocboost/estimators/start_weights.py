"""The weights that hypotheses had when a model was deployed, to say what has changed since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost.hypotheses import Hypotheses, join_tightly
from ocboost.hypotheses.adaboost import MAX_WEIGHT

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StartOfBooster:
    """What one booster began with.

    Parameters
    ----------
    alpha : array of shape (J,)
        The weight at the start of each present hypothesis, 0 of one that has come since.
    here : array of shape (J,)
        Whether it was there at the start.
    gone : Hypotheses or None
        Those that were there at the start, and are not any more; ``gone_alpha`` are their weights.
    """

    alpha: Floats
    here: NDArray[np.bool_]
    gone: Hypotheses | None
    gone_alpha: Floats

    def tree(self) -> Tree:
        """What a file holds."""
        return {
            "alpha": self.alpha,
            "here": self.here.astype(np.int8),
            "gone": None if self.gone is None else nested_tree(self.gone, HYPOTHESES),
            "gone_alpha": self.gone_alpha,
        }

    @classmethod
    def from_tree(cls, fields: Fields, size: int, n_features: int) -> Self:
        """From what `tree` gave, for a booster of so many hypotheses."""
        alpha = fields.array("alpha", np.float64, (size,))
        here = fields.array("here", np.int8, (size,))
        gone: Hypotheses | None = fields.read_optional("gone", nested_reader(HYPOTHESES))
        fits = gone is None or gone.n_features == n_features
        fields.require(fits, "what has gone has other features")
        gone_alpha = fields.array("gone_alpha", np.float64, (0 if gone is None else len(gone),))
        fields.require(np.isin(here, (0, 1)).all(), "here must be 0 or 1")
        fields.require((alpha[here == 0] == 0.0).all(), "what has come since had no weight")
        for weights in (alpha, gone_alpha):
            fields.require((np.abs(weights) < MAX_WEIGHT).all(), "its weights must be finite")
        return cls(alpha, here.astype(np.bool_), gone, gone_alpha)


class StartWeights(tuple[StartOfBooster, ...]):
    """What each booster of a committee began with; it never changes, so that copies and views share it."""

    __slots__ = ()

    @classmethod
    def of(cls, alphas: Sequence[Floats]) -> Self:
        """The present weights are those of the start."""
        return cls(StartOfBooster(a.copy(), np.ones(len(a), np.bool_), None, np.zeros(0)) for a in alphas)

    def replaced(self, booster: int, keep: NDArray[np.intp], n_added: int, before: Hypotheses) -> Self:
        """After some of a booster's hypotheses, ``before``, were kept, and others appended."""
        old = self[booster]
        lost = np.setdiff1d(np.flatnonzero(old.here), keep)
        new = replace(
            old,
            alpha=np.append(old.alpha[keep], np.zeros(n_added)),
            here=np.append(old.here[keep], np.zeros(n_added, np.bool_)),
        )
        if lost.size:
            gone = before[lost] if old.gone is None else join_tightly([old.gone, before[lost]])
            new = replace(new, gone=gone, gone_alpha=np.append(old.gone_alpha, old.alpha[lost]))
        return type(self)((*self[:booster], new, *self[booster + 1 :]))

    def tree(self) -> list[Tree]:
        """What a file holds."""
        return [each.tree() for each in self]

    @classmethod
    def from_fields(cls, fields: Fields, key: str, sizes: Sequence[int], n_features: int) -> Self:
        """From what `tree` gave, for boosters of these numbers of hypotheses."""
        left = iter(sizes)
        return cls(
            fields.read_all(
                key, lambda one: StartOfBooster.from_tree(one, next(left), n_features), len(sizes)
            )
        )
