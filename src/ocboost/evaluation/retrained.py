"""What one would do by hand: a model that is learnt anew from time to time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..link import probabilities
from ..recent_rows import RecentRows
from ..rows import Rows
from .learner import Contender
from .start import Start


class Retrained(Contender):
    """AdaBoost over stumps, learnt anew every so many rows from the last ones: what one would do by hand.

    Parameters
    ----------
    start : Start
        Its classifier is what it begins with.
    rows : int, default 2000
        The last rows that are kept, and learnt from.
    every : int, default 1000
        Rows from one training to the next.
    name : str

    Notes
    -----
    Where all rows that are kept are of one class, it goes on with what it has.
    """

    deployable = False

    def __init__(self, start: Start, *, rows: int = 2000, every: int = 1000, name: str) -> None:
        super().__init__(name)
        assert start.view is not None
        self.classifier = start.classifier
        self._start = start
        self._every, self._wait = every, every
        self._recent = RecentRows(rows)
        self._recent.take(start.view)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The probabilities of the last model."""
        committee = self.classifier.committee_
        return probabilities(committee.votes_of(view.answers(committee.hypotheses)))

    def learn(self, view: Rows) -> None:
        """Keep the rows, and train when it is time."""
        done = 0
        while done < len(view):
            part = min(len(view) - done, self._wait)
            self._recent.take(view[done : done + part])
            done += part
            self._wait -= part
            if self._wait == 0:
                self._wait = self._every
                self._train()

    def _train(self) -> None:
        rows = self._recent.last(self._recent.capacity)
        if len(np.unique(rows.codes)) < 2:
            return
        start = self._start
        again = Start(
            rows.X, rows.codes, start.classes, hypotheses=start.hypotheses, seed=start.seed, whole=True
        )
        self.classifier = again.fitted()

    @property
    def nbytes(self) -> int:
        """Bytes of the weights, and of the rows that are kept."""
        return self._recent.nbytes + sum(alpha.nbytes for alpha in self.classifier.alpha_)
