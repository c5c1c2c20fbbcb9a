"""Where FilterBoost's examples come from: rows as they arrive, or rows drawn from a training set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..hypotheses import Hypotheses
from .voters import Voters


class Examples(Protocol):
    """Some examples in their order, labelled ±1."""

    y: NDArray[np.int8]

    def scores(self, voters: Voters, first: int) -> NDArray[np.float64]:
        """F of each example from ``first`` on."""

    def answers(self, candidate: Hypotheses, places: NDArray[np.intp]) -> NDArray[np.int8]:
        """What one hypothesis says to the examples at these places."""

    def rows(self, places: NDArray[np.intp]) -> Any:
        """The features of the examples at these places."""


class Arrived:
    """Rows as they came.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, F)
    y : array of shape (n,) of ±1
    """

    def __init__(self, X: Any, y: NDArray[np.int8]) -> None:
        self._X, self.y = X, y

    def scores(self, voters: Voters, first: int) -> NDArray[np.float64]:
        """F of each row from ``first`` on."""
        return voters.scores(self._X[first:])

    def answers(self, candidate: Hypotheses, places: NDArray[np.intp]) -> NDArray[np.int8]:
        """What one hypothesis says to these rows."""
        return candidate.answers(self._X[places])[:, 0]

    def rows(self, places: NDArray[np.intp]) -> Any:
        """The features of these rows."""
        return self._X[places]


class TrainingSet:
    """Rows to draw from with replacement; F and a candidate's answers are computed once for each row.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, F)
    y : array of shape (n,) of ±1
    weights : array of shape (n,)
        Positive; a row is drawn in proportion to it.
    """

    def __init__(self, X: Any, y: NDArray[np.int8], weights: NDArray[np.float64]) -> None:
        self.X, self.y = X, y
        self._reach = np.cumsum(weights / weights.max())
        self._scored: tuple[Voters | None, NDArray[np.float64]] = (None, np.empty(0))
        self._answered: tuple[Hypotheses | None, NDArray[np.int8]] = (None, np.empty(0, np.int8))

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """So many rows, drawn at random."""
        drawn = np.searchsorted(self._reach, rng.random(n) * self._reach[-1], side="right")
        return Drawn(self, np.minimum(drawn, len(self.y) - 1))

    def scores(self, voters: Voters) -> NDArray[np.float64]:
        """F of each row."""
        if self._scored[0] is not voters:
            self._scored = (voters, voters.scores(self.X))
        return self._scored[1]

    def answers(self, candidate: Hypotheses) -> NDArray[np.int8]:
        """What a hypothesis says to each row."""
        if self._answered[0] is not candidate:
            self._answered = (candidate, candidate.answers(self.X)[:, 0])
        return self._answered[1]


class Drawn:
    """Rows drawn from a training set, one after the other."""

    def __init__(self, training: TrainingSet, drawn: NDArray[np.intp]) -> None:
        self._training, self._drawn = training, drawn
        self.y = training.y[drawn]

    def scores(self, voters: Voters, first: int) -> NDArray[np.float64]:
        """F of each row from ``first`` on."""
        return self._training.scores(voters)[self._drawn[first:]]

    def answers(self, candidate: Hypotheses, places: NDArray[np.intp]) -> NDArray[np.int8]:
        """What one hypothesis says to these rows."""
        return self._training.answers(candidate)[self._drawn[places]]

    def rows(self, places: NDArray[np.intp]) -> Any:
        """The features of these rows."""
        return self._training.X[self._drawn[places]]


def labelled(batches: Iterable[Any]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """The rows that have a label, and their labels, of each batch that has any."""
    try:
        several = iter(batches)
    except TypeError:
        raise InputError(
            f"batches must be something to go through, of pairs (X, y); got {batches!r:.80}. For one pair of "
            "arrays use fit(X, y)."
        ) from None
    for number, batch in enumerate(several):
        if hasattr(batch, "X") and hasattr(batch, "y"):
            X, y, known = batch.X, batch.y, getattr(batch, "known", None)
        elif isinstance(batch, tuple | list) and len(batch) == 2:
            X, y, known = batch[0], batch[1], None
        else:
            raise InputError(
                f"batches must be pairs (X, y), or batches of ocboost.streams; got {batch!r:.80} as number "
                f"{number}. For one pair of arrays use fit(X, y)."
            )
        if y is None:
            raise InputError(
                f"batches must have labels to learn from; got none in number {number}. Name the label column."
            )
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise InputError(
                f"batches must have one label for each row; got labels of shape {labels.shape} in number "
                f"{number}. Flatten them: y.ravel()."
            )
        if known is not None and not np.all(known):
            X, labels = X[known], labels[known]
        if len(labels):
            yield X, labels
