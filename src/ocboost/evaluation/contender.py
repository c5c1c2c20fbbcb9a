"""What takes part in an evaluation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ocboost.streams.rows import Rows

Role = Literal["ocb", "static", "rival", "baseline"]


class Contender(ABC):
    """One learner in an evaluation: it predicts rows, and learns from those whose labels have arrived.

    Parameters
    ----------
    name : str
        What tables and figures call it; each contender of an evaluation has its own.

    Attributes
    ----------
    role : {"ocb", "static", "rival", "baseline"}
        How a figure draws it.
    learns : bool
        False for a fixed model, which may then predict many rows at once.
    deployable : bool
        False for what takes part for comparison only: what is no model, and what cannot be saved without
        pickle.
    """

    role: Role = "rival"
    learns: bool = True
    deployable: bool = True

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(self, classes: Sequence[Any]) -> None:  # noqa: B027 (most have nothing to do)
        """Called once before the first row, with the labels in the order of their codes."""

    @abstractmethod
    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The probability of each class, (n, K); the likeliest is the prediction, the first of equals."""

    @abstractmethod
    def learn(self, view: Rows) -> None:
        """Learn from rows, all of which have labels."""

    @property
    def nbytes(self) -> int | None:
        """Bytes of what it keeps, the shared hypotheses aside; None where that is not known."""
        return None


def even(n: int, n_classes: int) -> NDArray[np.float64]:
    """The same probability for every class: what a learner says that knows nothing yet."""
    return np.full((n, n_classes), 1.0 / n_classes)


def bytes_of(thing: Any) -> int:
    """Bytes of the arrays that an object keeps as attributes, also in lists and tuples."""
    total = 0
    for value in vars(thing).values():
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, np.ndarray):
                total += part.nbytes
    return total
