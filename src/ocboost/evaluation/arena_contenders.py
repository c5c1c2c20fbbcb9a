"""Contenders that only a comparison needs: retrained ones, and some with special wishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booster import Booster
from ..committee import signs
from ..link import probabilities
from ..recent_rows import RecentRows
from .contenders import OverAnswers
from .learner import Contender
from .start import Start
from .view import View


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

    def __init__(self, start: Start, *, rows: int = 2000, every: int = 1000, name: str) -> None:
        super().__init__(name)
        self.classifier = start.classifier
        self._start = start
        self._every, self._wait = every, every
        self._recent = RecentRows(rows)
        self._recent.take(start.view)

    def predict(self, view: View) -> NDArray[np.float64]:
        """The probabilities of the last model."""
        committee = self.classifier.committee_
        return probabilities(committee.votes_of(view.answers(committee.hypotheses)))

    def learn(self, view: View) -> None:
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
        again = Start(rows.X, rows.codes, start.classes, hypotheses=start.hypotheses)
        again.seed = start.seed
        self.classifier = again.fitted()

    @property
    def nbytes(self) -> int:
        """Bytes of the weights, and of the rows that are kept."""
        return self._recent.nbytes + sum(alpha.nbytes for alpha in self.classifier.alpha_)


class WithLabels(OverAnswers):
    """Boosters that are told the labels beside the margins, and are begun with the first rows at once.

    Parameters
    ----------
    start : Start
    begun : callable
        Makes a booster from margins and ``labels``, ±1 for each: ``from_margins`` of its class.
    name : str
    """

    def __init__(self, start: Start, begun: Callable[..., Any], *, name: str) -> None:
        classifier = start.classifier
        columns = classifier.committee_.columns
        super().__init__(classifier.hypotheses_, _already_made, columns=columns, name=name)
        answers = start.view.answers(self.hypotheses)
        for c, own in enumerate(columns):
            labels = signs(start.codes, c, len(columns))
            self.boosters.append(begun(answers[:, own] * labels[:, None], labels=labels))

    def learn(self, view: View) -> None:
        """Let each booster follow, example by example."""
        assert self._columns is not None
        answers, codes = view.answers(self.hypotheses), view.codes
        for c, (columns, booster) in enumerate(zip(self._columns, self.boosters, strict=True)):
            labels = signs(codes, c, len(self.boosters))
            told: Any = booster
            told.update_many(answers[:, columns] * labels[:, None], labels=labels)


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

    def predict(self, view: View) -> NDArray[np.float64]:
        """What it says to the rows without gaps."""
        return self.contender.predict(self._filled(view))

    def learn(self, view: View) -> None:
        """Let it learn the rows without gaps."""
        self.contender.learn(self._filled(view))

    def _filled(self, view: View) -> View:
        X = view.X
        missing = np.isnan(X)
        return View.of(np.where(missing, self._means, X), view.codes) if missing.any() else view

    @property
    def nbytes(self) -> int | None:
        """Its bytes."""
        return self.contender.nbytes


def _already_made(n_hypotheses: int) -> Booster:
    raise AssertionError("boosters are begun with the first rows")
