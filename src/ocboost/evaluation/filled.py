"""For learners that cannot do without a number: gaps are filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import Rows
from .learner import Contender


class Filled(Contender):
    """A contender that cannot do without a number: what is missing becomes the mean of the first rows.

    Parameters
    ----------
    contender : Contender
    means : array of shape (F,)
    """

    def __init__(self, contender: Contender, means: NDArray[np.float64]) -> None:
        super().__init__(contender.name)
        self.role = contender.role
        self.contender = contender
        self._means = means

    def begin(self, classes: Sequence[Any]) -> None:
        """Let it begin."""
        self.contender.begin(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """What it says to the rows without gaps."""
        return self.contender.predict(self._filled(view))

    def learn(self, view: Rows) -> None:
        """Let it learn the rows without gaps."""
        self.contender.learn(self._filled(view))

    def _filled(self, view: Rows) -> Rows:
        X = view.X
        missing = np.isnan(X)
        return Rows.of(np.where(missing, self._means, X), view.codes) if missing.any() else view

    @property
    def nbytes(self) -> int | None:
        """Its bytes."""
        return self.contender.nbytes
