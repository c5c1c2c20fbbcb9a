"""What a contender is shown: some rows of a chunk of the stream."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

if TYPE_CHECKING:
    from ..hypotheses.base import Hypotheses


class Clock:
    """The time that went into weak answers, which all contenders share."""

    def __init__(self) -> None:
        self.ns = 0


class Chunk:
    """Some consecutive rows of a stream, with the weak answers to them, each computed once.

    Parameters
    ----------
    X : array of shape (n, F)
    codes : array of shape (n,)
        The class of each row; -1 where it has no label.
    rows : array of shape (n,)
        Their numbers in the stream.
    clock : Clock
        Is given the time that answers take.
    """

    def __init__(self, X: Any, codes: NDArray[np.int64], rows: NDArray[np.int64], clock: Clock) -> None:
        self.X = X
        self.codes = codes
        self.rows = rows
        self.known = codes >= 0
        self.all_known = bool(self.known.all())
        self._clock = clock
        # The hypotheses are kept beside their answers, so that no other object can get their id.
        self._answers: dict[int, tuple[Hypotheses, NDArray[np.int8]]] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def answers(self, hypotheses: Hypotheses) -> NDArray[np.int8]:
        """What the hypotheses say to every row of the chunk, (n, J) of ±1."""
        held = self._answers.get(id(hypotheses))
        if held is None:
            start = perf_counter_ns()
            held = hypotheses, hypotheses.answers(self.X)
            self._answers[id(hypotheses)] = held
            self._clock.ns += perf_counter_ns() - start
        return held[1]

    def with_labels(self, start: int, stop: int) -> View | None:
        """The labelled rows from `start` to `stop`, if there are any."""
        if self.all_known or self.known[start:stop].all():
            return View(self, slice(start, stop), stop - start)
        rows = start + np.flatnonzero(self.known[start:stop])
        return View(self, rows, len(rows)) if len(rows) else None


class View:
    """Some rows of a chunk, in their order.

    `answers` is what makes several contenders over the same hypotheses cheap: whoever asks first has them
    computed, for the whole chunk.

    Examples
    --------
    >>> view = View.of(np.array([[0.5], [1.5]]), np.array([0, 1]))
    >>> from ocboost.hypotheses import Stumps
    >>> len(view), view.answers(Stumps([0], [1.0], [1])).ravel()
    (2, array([ 1, -1], dtype=int8))
    """

    __slots__ = ("_n", "chunk", "where")

    def __init__(self, chunk: Chunk, where: slice | NDArray[np.int64], n: int) -> None:
        self.chunk = chunk
        self.where = where
        self._n = n

    @classmethod
    def of(cls, X: Any, codes: NDArray[np.int64]) -> Self:
        """All of these rows, for a contender that is to learn something before the stream begins."""
        codes = np.asarray(codes, np.int64)
        if codes.ndim != 1 or X.shape[0] != len(codes):
            raise InputError(
                f"codes must be one class for each of the {X.shape[0]} rows of X; got shape {codes.shape}."
            )
        chunk = Chunk(X, codes, np.arange(len(codes)), Clock())
        return cls(chunk, slice(0, len(codes)), len(codes))

    def __len__(self) -> int:
        return self._n

    @property
    def X(self) -> Any:
        """The features, (n, F)."""
        return self.chunk.X[self.where]

    @property
    def codes(self) -> NDArray[np.int64]:
        """The class of each row; -1 where it has no label. `Contender.predict` must not look."""
        return self.chunk.codes[self.where]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        return self.chunk.known[self.where]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their numbers in the stream."""
        return self.chunk.rows[self.where]

    def answers(self, hypotheses: Hypotheses) -> NDArray[np.int8]:
        """What the hypotheses say to the rows, (n, J) of ±1."""
        return self.chunk.answers(hypotheses)[self.where]
