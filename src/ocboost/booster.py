"""What every booster over fixed hypotheses has in common: its parameters, and the verbs that feed it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .adaboost import SMOOTHING_ADVICE
from .guard import Guard
from .margins import MANY, as_count, as_margins, as_number, as_row, as_weight, as_weights
from .storage import Arrays, load, save

MOST_HYPOTHESES = 1 << 24  # their pairs can still be counted; memory ends long before


class Booster(ABC):
    """Turns margins into weights, example by example.

    A booster implements `n_seen`, `alpha`, `copy`, ``_take``, which gets checked margins and weights, and
    `parts` and `from_parts`, which say what is saved. Any number of threads may read one while another learns
    (`ocboost.guard`): what changes it is marked ``writes``, what needs all of its state ``reads``.
    """

    kind: ClassVar[str]  # its name in files

    def __init__(self, n_hypotheses: int) -> None:
        self._J = as_count(
            n_hypotheses, "n_hypotheses", 1, MOST_HYPOTHESES, "It is the number of columns of the margins."
        )
        self._guard: Guard[Any] = Guard()

    @property
    def n_hypotheses(self) -> int:
        """J."""
        return self._J

    @property
    @abstractmethod
    def n_seen(self) -> int:
        """Examples taken in."""

    @property
    @abstractmethod
    def alpha(self) -> NDArray[np.float64]:
        """The weights of the hypotheses, (J,) float64, always finite."""

    @abstractmethod
    def copy(self) -> Self:
        """A booster of its own with the same state."""

    @abstractmethod
    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """What a file holds: parameters for JSON, and arrays."""

    @classmethod
    @abstractmethod
    def from_parts(cls, parameters: dict[str, Any], arrays: Arrays, name: str) -> Self:
        """A booster of what `parts` gave; whatever makes no sense is a `ModelFileError`."""

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old one stays until this one is whole."""
        save(path, self.kind, *self.copy().parts())  # written while others may learn

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return self.copy().__dict__  # of its own, as it is written later

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written; it goes on exactly as the saved one would have.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not such a booster. Nothing in a file is executed.
        """
        return cls.from_parts(*load(path, cls.kind), os.fspath(path))


class SummingBooster(Booster):
    """A booster whose state is sums over the examples: they can be smoothed, forgotten and merged."""

    def __init__(self, n_hypotheses: int, *, smoothing: float, forgetting: float) -> None:
        super().__init__(n_hypotheses)
        self._smoothing = as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE)
        advice = "1 forgets nothing, 0.99 halves a weight in 69 examples."
        self._forgetting = as_number(forgetting, "forgetting", 0.0, 1.0, advice, low_open=True)

    @property
    def smoothing(self) -> float:
        """ε."""
        return self._smoothing

    @property
    def forgetting(self) -> float:
        """λ."""
        return self._forgetting

    @abstractmethod
    def decay(self, factor: float) -> None:
        """Let everything seen so far weigh ``factor`` times as much, 0 < factor <= 1."""

    @abstractmethod
    def merge(self, other: Any) -> Self:
        """A new booster of both streams."""

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.merge(other)
