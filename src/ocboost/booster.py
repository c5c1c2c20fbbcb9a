"""What every booster over fixed hypotheses has in common: its parameters, and the verbs that feed it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .adaboost import SMOOTHING_ADVICE
from .margins import MANY, as_count, as_margins, as_number, as_row, as_weight, as_weights


class Booster(ABC):
    """Turns margins into weights, example by example.

    A booster implements `n_seen`, `alpha`, `merge` and ``_take``, which gets checked margins and weights.
    """

    def __init__(self, n_hypotheses: int, *, smoothing: float, forgetting: float) -> None:
        self._J = as_count(
            n_hypotheses, "n_hypotheses", 1, None, "It is the number of columns of the margins."
        )
        self._smoothing = as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE)
        advice = "1 forgets nothing, 0.99 halves a weight in 69 examples."
        self._forgetting = as_number(forgetting, "forgetting", 0.0, 1.0, advice, low_open=True)

    @property
    def n_hypotheses(self) -> int:
        """J."""
        return self._J

    @property
    def smoothing(self) -> float:
        """ε."""
        return self._smoothing

    @property
    def forgetting(self) -> float:
        """λ."""
        return self._forgetting

    @property
    @abstractmethod
    def n_seen(self) -> int:
        """Examples taken in."""

    @property
    @abstractmethod
    def alpha(self) -> NDArray[np.float64]:
        """The weights of the hypotheses, (J,) float64, always finite."""

    @abstractmethod
    def merge(self, other: Any) -> Self:
        """A new booster of both streams."""

    @abstractmethod
    def _take(self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int) -> None: ...

    @classmethod
    def from_margins(
        cls, margins: ArrayLike, *, sample_weight: ArrayLike | None = None, **parameters: Any
    ) -> Self:
        """Start from a first set of examples, all added at once (the paper's Option 2).

        Parameters are those of the class, without ``n_hypotheses``.
        """
        rows = as_margins(margins)
        booster = cls(rows.shape[1], **parameters)
        booster._take(rows, as_weights(sample_weight, rows.shape[0]), rows.shape[0])
        return booster

    def update(self, row: ArrayLike, sample_weight: float = 1.0) -> None:
        """Take in one example: its margins y·h_j(x), of shape (J,)."""
        self._take(as_row(row, self._J), as_weight(sample_weight), 1)

    def update_many(
        self, margins: ArrayLike, *, batch_size: int = 1, sample_weight: ArrayLike | None = None
    ) -> None:
        """Take in several examples, in order.

        Parameters
        ----------
        margins : array of shape (n, J)
            +1 where the hypothesis is right, -1 where it is wrong.
        batch_size : int, default 1
            Examples added at once; 1 is ``update`` in a loop.
        sample_weight : array of shape (n,), optional
            Finite and not negative.

        Notes
        -----
        After Ctrl-C the booster holds the examples taken in by then, whole batches of them; ``n_seen`` says
        how many.
        """
        rows = as_margins(margins, self._J)
        weights = as_weights(sample_weight, rows.shape[0])
        batch_size = as_count(batch_size, "batch_size", 1, None, "1 adds example by example.")
        self._take(rows, weights, min(batch_size, MANY))

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.merge(other)
