"""Oza and Russell's online boosting, its hypotheses fixed: what the paper compares with."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_number
from ocboost._core.codec import Fields, Tree
from ocboost._core.locks import locks_of, reads, writes
from ocboost._kernels.oza_russell import Sums, accumulate, oza_alpha, oza_batches
from ocboost._kernels.scaled import normal_number, rescale
from ocboost.boosters.base import SummingBooster
from ocboost.errors import InputError

PIECE = 50_000_000  # entries taken in by one call of the kernel: Ctrl-C is heard between


class OzaRussell(SummingBooster):
    """Online boosting after Oza and Russell over the margins of J fixed hypotheses.

    Each example is added to W⁺_j or W⁻_j with its weight d, which is then averaged between old and
    reweighted (section 3.4 of the paper): ``d ← d (W⁺_j + W⁻_j) / (2 W^σ_j) = (d + d e^{-2 α_j m_j}) / 2``.
    The sums are never corrected for later changes of α; that is where it parts from AdaBoost.

    Parameters
    ----------
    n_hypotheses : int
        J.
    smoothing : float, default 1.0
        ε, as in `BoostingSketch`, in α and in the reweighting.
    forgetting : float, default 1.0
        λ in (0, 1], as in `BoostingSketch`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> margins = np.where(rng.random((2000, 3)) < [0.8, 0.7, 0.6], 1, -1)
    >>> booster = OzaRussell(3)
    >>> booster.update_many(margins)
    >>> booster.alpha.round(1)
    array([0.6, 0.5, 0.2])
    """

    kind = "OzaRussell"
    settings = ("smoothing", "forgetting")
    can_correct = True

    def __init__(self, n_hypotheses: int, *, smoothing: float = 1.0, forgetting: float = 1.0) -> None:
        super().__init__(n_hypotheses, smoothing=smoothing, forgetting=forgetting)
        self._sums = Sums(
            W=np.zeros((2, self.n_hypotheses)),
            W_unit=np.zeros((2, self.n_hypotheses), np.int64),
            total=np.zeros(1),
            total_unit=np.zeros(1, np.int64),
            now=np.ones(1),
            now_unit=np.zeros(1, np.int64),
        )

    def __repr__(self) -> str:
        return (
            f"OzaRussell({self.n_hypotheses}, smoothing={self.smoothing!r}, forgetting={self.forgetting!r})"
        )

    @property
    @reads
    def nbytes(self) -> int:
        """Bytes of the sums."""
        return sum(array.nbytes for array in self._sums)

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self._sums

    def _weights(self) -> NDArray[np.float64]:
        alpha = np.zeros(self.n_hypotheses)
        oza_alpha(self.smoothing, self._sums, alpha)
        return alpha

    @writes
    def _take(
        self,
        rows: NDArray[np.int8],
        weights: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        batch_size: int,
    ) -> None:
        batch_size = min(batch_size, len(rows))
        piece = max(1, PIECE // self.n_hypotheses // batch_size) * batch_size
        d, d_unit = np.zeros(batch_size), np.zeros(batch_size, np.int64)

        def learn(part: slice) -> None:
            how = (batch_size, self.smoothing, self.forgetting)
            oza_batches(rows[part], weights[part], *how, self._sums, d, d_unit)

        self._by_pieces(len(rows), piece, learn)

    @writes
    def decay(self, factor: float) -> None:
        """Let everything seen so far weigh ``factor`` times as much, 0 < factor <= 1."""
        factor = as_number(factor, "factor", 0.0, 1.0, "0.5 halves the weight of the past.", low_open=True)
        rescale(self._sums.now, self._sums.now_unit, *normal_number(factor, 0))

    @reads
    def copy(self) -> Self:
        """A booster of its own with the same sums."""
        other = type(self)(self.n_hypotheses, smoothing=self.smoothing, forgetting=self.forgetting)
        other._sums = Sums._make(array.copy() for array in self._sums)
        other._n = self._n
        return other

    def merge(self, other: OzaRussell) -> Self:
        """A new booster with the sums of both; an empty side gives a copy."""
        if not isinstance(other, OzaRussell):
            raise InputError(f"other must be an OzaRussell; got {type(other).__name__}.")
        for name in ("n_hypotheses", "smoothing", "forgetting"):
            if getattr(self, name) != getattr(other, name):
                raise InputError(
                    f"other must have the same {name} to be merged: {getattr(self, name)!r} here, "
                    f"{getattr(other, name)!r} there."
                )
        if not (self._n and other._n):
            full: Any = self if self._n else other
            copied: Self = full.copy()
            return copied
        result = type(self)(self.n_hypotheses, smoothing=self.smoothing, forgetting=self.forgetting)
        first, second = locks_of(self, other)
        with first, second:
            for side in (self, other):
                mine, theirs = result._sums, side._sums
                for value, unit, more, more_unit in (
                    (mine.W, mine.W_unit, theirs.W, theirs.W_unit),
                    (mine.total, mine.total_unit, theirs.total, theirs.total_unit),
                ):
                    present, present_unit = more.reshape(-1).copy(), more_unit.reshape(-1).copy()
                    rescale(present, present_unit, theirs.now[0], theirs.now_unit[0])
                    accumulate(value.reshape(-1), unit.reshape(-1), present, present_unit)
            result._n = self._n + other._n
        return result

    @reads
    def tree(self) -> Tree:
        """What a file holds."""
        return {"n_hypotheses": self.n_hypotheses, **self.chosen, "n_seen": self._n, **self._sums._asdict()}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A booster of what `tree` gave."""
        n, J = fields.count("n_seen"), fields.count("n_hypotheses", 1)
        fields.require(fields.size("W") == 2 * J, "n_hypotheses does not fit its arrays")
        booster = fields.make(cls, J, **{name: fields.plain(name) for name in cls.settings})
        sums = booster._sums
        fields.fill(sums._asdict())
        fields.require_normal(
            W=(sums.W, sums.W_unit), total=(sums.total, sums.total_unit), now=(sums.now, sums.now_unit)
        )
        fields.require(sums.now[0] > 0.0, "now must be positive")
        booster._n = n
        return booster
