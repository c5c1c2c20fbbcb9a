"""What a member of the bank is: it scores the classes for a row, and learns the row when its label is known.

One object may be several *experts*: weightings of the same hypotheses, windows of the same neighbours. Each
expert has a name, and gives a score for every class, on the scale of log-probabilities; the bank normalises
them. Members that weigh answers of hypotheses follow the pool as hypotheses come and go.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats, Int8s
from ocboost.hypotheses import Hypotheses
from ocboost.streams.rows import Rows


class OneRow:
    """One row, as members see it.

    ``X`` is the row as a matrix, (1, F), dense or CSR; ``x`` the dense row, (F,), or None; ``columns`` and
    ``values`` are those of a sparse row. ``answers`` are those of the pool's hypotheses, (1, J), or None
    while there is none. ``last`` is the code of the newest label known when the row was predicted, K before
    the first, and ``since`` the number of predictions issued after that label came.
    """

    __slots__ = ("X", "answers", "columns", "last", "since", "values", "x")

    def __init__(self, X: Any, answers: Int8s | None, last: int, since: int = 0) -> None:
        self.X, self.answers, self.last, self.since = X, answers, last, since
        self.x: Floats | None = None
        self.columns: NDArray[np.int64] | None = None
        self.values: Floats | None = None
        if isinstance(X, np.ndarray):
            self.x = X[0]
        else:
            self.columns, self.values = X.indices.astype(np.int64), X.data


class PoolChange(NamedTuple):
    """How the pool has changed: hypotheses of one booster were dropped, and others appended.

    ``origin`` says, for each hypothesis of the new pool, its place in the old one, -1 for a new one.
    ``recent`` are the last rows with their codes, which the new ones can answer.
    """

    booster: int
    keep: NDArray[np.intp]
    n_added: int
    origin: NDArray[np.int64]
    columns: list[slice]
    hypotheses: Hypotheses
    recent: Rows


class Member(ABC):
    """A member of the bank.

    A subclass sets ``group``, the name by which it is left out, gives its ``experts`` by name, implements
    `scores` and `learn`, and names the arrays that it changes in `_state`; a file holds those.
    """

    group: ClassVar[str]
    needs_pool: bool = False  # whether it waits until there are hypotheses

    @property
    @abstractmethod
    def experts(self) -> tuple[str, ...]:
        """The names of its experts."""

    @abstractmethod
    def scores(self, row: OneRow, out: Floats) -> None:
        """Write a score for each expert and class, (experts, K): log-probabilities, up to a constant."""

    @abstractmethod
    def learn(self, row: OneRow, code: int, weight: float) -> None:
        """Learn a row whose label is known."""

    def begin(self, rows: Rows, answers: Int8s | None) -> None:
        """Learn the first rows, in order; ``answers`` are those of the pool, (n, J)."""
        codes, weights = rows.codes, rows.weights
        last = self._first_context
        for i in range(len(rows)):
            one = OneRow(rows.X[i : i + 1], None if answers is None else answers[i : i + 1], last)
            self.learn(one, int(codes[i]), float(weights[i]))
            last = int(codes[i])

    _first_context = 0  # what `OneRow.last` is before the first label

    def follow(self, change: PoolChange) -> None:  # noqa: B027 (most have nothing to do)
        """The pool has changed."""

    def check_pool(self, n_hypotheses: int) -> None:  # noqa: B027
        """Refuse, by an `InputError`, a pool that it does not fit."""

    def importances(self, n_features: int) -> Floats | None:
        """How much each expert goes by each feature, (experts, n_features), on any scale; None: not known."""
        return None

    @property
    @abstractmethod
    def _state(self) -> dict[str, NDArray[Any]]:
        """The arrays that it changes, by the names that files have for them."""

    @property
    def nbytes(self) -> int:
        """Bytes of what it keeps."""
        return sum(array.nbytes for array in self._state.values())

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)

    def tree(self) -> Tree:
        """What a file holds."""
        return dict(self._state)

    def resume(self, fields: Fields) -> None:
        """Take over what `tree` gave; a state that makes no sense is a `ModelFileError`."""
        fields.fill(self._state)
        for name, array in self._state.items():
            finite = array.dtype.kind != "f" or bool(np.isfinite(array).all())
            fields.require(finite, f"{name} must be finite")
