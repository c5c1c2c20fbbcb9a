"""Oza and Russell's online boosting, its hypotheses fixed: what the paper compares with."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields
from ocboost._core.locks import locks_of
from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.oza_russell import Sums, oza_alpha, oza_batches
from ocboost._kernels.scaled import add_numbers, normal_number, rescale
from ocboost.boosters.base import KernelBooster, SummingBooster
from ocboost.errors import InputError


class OzaRussell(KernelBooster, SummingBooster):
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
    array_name = "W"
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

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return self._sums._asdict()

    def _weights(self) -> Floats:
        alpha = np.zeros(self.n_hypotheses)
        oza_alpha(self.smoothing, self._sums, alpha)
        return alpha

    def _learn(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        d, d_unit = np.zeros(batch_size), np.zeros(batch_size, np.int64)
        oza_batches(rows, weights, batch_size, self.smoothing, self.forgetting, self._sums, d, d_unit)

    def _decay(self, factor: float) -> None:
        rescale(self._sums.now, self._sums.now_unit, *normal_number(factor, 0))

    def merge(self, other: OzaRussell) -> Self:
        """A new booster with the sums of both; an empty side gives a copy.

        Parameters
        ----------
        other : OzaRussell
            With the same hypotheses and settings.

        Returns
        -------
        OzaRussell
            Neither of the two is changed.

        Raises
        ------
        InputError
            If the other is no such booster, or differs in a setting.
        """
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
        result = type(self)(self.n_hypotheses, **self.given_settings)
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
                    add_numbers(value, unit, present, present_unit, value, unit)
            result._n = self._n + other._n
        return result

    def _check(self, fields: Fields) -> None:
        sums = self._sums
        fields.require_normal(
            W=(sums.W, sums.W_unit), total=(sums.total, sums.total_unit), now=(sums.now, sums.now_unit)
        )
        fields.require(sums.now[0] > 0.0, "now must be positive")
