"""Boosters that learn by steps: each keeps one number for each hypothesis, which the steps move."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_array, as_remaining
from ocboost._core.codec import Fields
from ocboost._core.locks import reads
from ocboost._kernels.arrays import Floats, Int8s
from ocboost.boosters.base import KernelBooster
from ocboost.errors import InputError


class SteppingBooster(KernelBooster):
    """A booster that takes a step for each example; there are no sums over the examples to go back to.

    It implements ``_learn``, which moves ``_values``, and ``_weights``, which says what α they stand for.
    """

    can_grow = True
    limit: ClassVar[float]  # how far from 0 its values can get

    def __init__(self, n_hypotheses: int) -> None:
        super().__init__(n_hypotheses)
        self._values = np.zeros(self.n_hypotheses)

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {self.array_name: self._values}

    @abstractmethod
    def _weights(self) -> Floats:
        """The weights that the values stand for, all 0 before the first example."""

    def _begin(self, rows: Int8s, weights: Floats, labels: Int8s | None) -> None:
        """Take in the first examples one by one: all at once they would make a single step."""
        self._take(rows, weights, labels, 1)

    @reads
    def appended(self, margins: ArrayLike) -> Self:
        """A booster with further hypotheses after those it has, which begin with no weight.

        Parameters
        ----------
        margins : array of shape (0, k)
            Without a row, as no examples are kept; k is the number of new hypotheses.

        Returns
        -------
        Booster
            A copy; this one is not changed.

        Raises
        ------
        InputError
            If margins of examples are given.
        """
        given = as_array(margins)
        if given.ndim != 2 or given.shape[0] != 0 or given.shape[1] == 0:
            raise InputError(
                "margins must be of shape (0, k) for k new hypotheses, as no examples are kept; got shape "
                f"{given.shape}. Give np.empty((0, k))."
            )
        return self._with(np.append(self._values, np.zeros(given.shape[1])))

    @reads
    def without(self, members: ArrayLike) -> Self:
        """A booster without some of the hypotheses; the others keep their weights.

        Parameters
        ----------
        members : array of int
            Which to leave out; one must stay.

        Returns
        -------
        Booster
            A copy; this one is not changed.
        """
        return self._with(self._values[as_remaining(members, self.n_hypotheses)])

    def _with(self, values: Floats) -> Self:
        other = type(self)(len(values), **self.given_settings)
        other._values[...], other._n = values, self._n
        return other

    def _check(self, fields: Fields) -> None:
        inside = (np.abs(self._values) <= self.limit).all()  # nor NaN
        fields.require(inside, f"{self.array_name} must be finite, within {self.limit:g} of 0")
