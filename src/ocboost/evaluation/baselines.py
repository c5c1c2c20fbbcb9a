"""What every learner has to beat: the most frequent class, and the last label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import Rows
from .learner import Contender, even


class Majority(Contender):
    """Says the class that has been most frequent so far; its probabilities are (count + 1) / (n + K)."""

    role = "baseline"
    deployable = False

    def __init__(self, name: str = "majority") -> None:
        super().__init__(name)
        self._counts = np.ones(2)

    def begin(self, classes: Sequence[Any]) -> None:
        """Start from one of each class."""
        self._counts = np.ones(len(classes))

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The frequencies so far."""
        return np.tile(self._counts / self._counts.sum(), (len(view), 1))

    def learn(self, view: Rows) -> None:
        """Count."""
        self._counts += np.bincount(view.codes, minlength=len(self._counts))

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return self._counts.nbytes


class NoChange(Contender):
    """Says the last label it has seen, as sure as it has been right with that: (right + 1) / (n + K).

    That probability is held a hair above 1/K, so that the last label stays the likeliest; the other
    classes share the rest.
    """

    role = "baseline"
    deployable = False

    def __init__(self, name: str = "no change") -> None:
        super().__init__(name)
        self._K = 2
        self._last = -1
        self._right = self._n = 0

    def begin(self, classes: Sequence[Any]) -> None:
        """Note how many classes there are."""
        self._K = len(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The last label for each row; even probabilities before the first one."""
        K = self._K
        if self._last < 0:
            return even(len(view), K)
        sure = max((self._right + 1) / (self._n + K), (1.0 + 1e-6) / K)
        share = np.full((len(view), K), (1.0 - sure) / (K - 1))
        share[:, self._last] = sure
        return share

    def learn(self, view: Rows) -> None:
        """Remember the last label, and how often a label was the one before it."""
        codes = view.codes
        if self._last < 0:
            self._last = int(codes[0])
            codes = codes[1:]
        if len(codes):
            self._right += int((codes[1:] == codes[:-1]).sum()) + int(codes[0] == self._last)
            self._n += len(codes)
            self._last = int(codes[-1])

    @property
    def nbytes(self) -> int:
        """Three numbers."""
        return 24
