"""What boosters that learn by steps have in common: one number for each hypothesis, which the steps move."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_array, as_remaining
from ocboost._core.codec import Fields, Tree
from ocboost._core.locks import reads, writes
from ocboost.boosters.base import Booster
from ocboost.errors import InputError

PIECE = 20_000_000  # entries taken in by one call: Ctrl-C is heard between


class SteppingBooster(Booster):
    """A booster that takes a step for each example; there are no sums over the examples to go back to.

    It implements ``_step``, which moves ``_state``, and ``_weights``, which says what α it stands for.
    """

    can_grow = True
    state: ClassVar[str]  # what its numbers are called in files
    limit: ClassVar[float]  # how far from 0 they can get

    def __init__(self, n_hypotheses: int) -> None:
        super().__init__(n_hypotheses)
        self._state = np.zeros(self.n_hypotheses)

    def __repr__(self) -> str:
        given = "".join(f", {name}={getattr(self, name)!r}" for name in self.settings)
        return f"{type(self).__name__}({self.n_hypotheses}{given})"

    @abstractmethod
    def _weights(self) -> NDArray[np.float64]:
        """The weights that the state stands for, all 0 before the first example."""

    @property
    def nbytes(self) -> int:
        """Bytes of what it remembers."""
        return self._state.nbytes

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return (self._state,)

    def _begin(
        self, rows: NDArray[np.int8], weights: NDArray[np.float64], labels: NDArray[np.int8] | None
    ) -> None:
        """Take in the first examples one by one: all at once they would make a single step."""
        self._take(rows, weights, labels, 1)

    @abstractmethod
    def _step(self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int) -> None:
        """Move the state by these examples."""

    @writes
    def _take(
        self,
        rows: NDArray[np.int8],
        weights: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        batch_size: int,
    ) -> None:
        batch_size = min(batch_size, len(rows))
        piece = max(1, PIECE // self.n_hypotheses // batch_size) * batch_size
        self._by_pieces(len(rows), piece, lambda part: self._step(rows[part], weights[part], batch_size))

    @reads
    def appended(self, margins: ArrayLike) -> Self:
        """One with further hypotheses behind those it has, which begin with no weight.

        Parameters
        ----------
        margins : array of shape (0, k)
            Without a row, as no examples are kept; k is the number of new hypotheses.
        """
        given = as_array(margins)
        if given.ndim != 2 or given.shape[0] != 0 or given.shape[1] == 0:
            raise InputError(
                "margins must be of shape (0, k) for k new hypotheses, as no examples are kept; got shape "
                f"{given.shape}. Give np.empty((0, k))."
            )
        return self._with(np.append(self._state, np.zeros(given.shape[1])))

    @reads
    def without(self, members: ArrayLike) -> Self:
        """One without some of the hypotheses; the others stay where they are.

        Parameters
        ----------
        members : array of int
            Which to leave out; one must stay.
        """
        return self._with(self._state[as_remaining(members, self.n_hypotheses)])

    def _with(self, state: NDArray[np.float64]) -> Self:
        other = type(self)(len(state), **self.chosen)
        other._state[...] = state
        other._n = self._n
        return other

    @reads
    def copy(self) -> Self:
        """A booster of its own with the same state."""
        return self._with(self._state)

    @reads
    def tree(self) -> Tree:
        """What a file holds."""
        parameters = {name: getattr(self, name) for name in ("n_hypotheses", *self.settings, "n_seen")}
        return {**parameters, self.state: self._state}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A booster of what `tree` gave; whatever makes no sense is a `ModelFileError`."""
        n, J = fields.count("n_seen"), fields.count("n_hypotheses", 1)
        state = fields.array(cls.state, np.float64, (J,))
        booster = fields.make(cls, J, **{name: fields.plain(name) for name in cls.settings})
        inside = (np.abs(state) <= cls.limit).all()  # nor NaN
        fields.require(inside, f"{cls.state} must be finite, within {cls.limit:g} of 0")
        booster._state[...], booster._n = state, n
        return booster
