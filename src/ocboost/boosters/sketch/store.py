"""What a sketch keeps its examples in: `NewestStore` and `HeavyStore` have this in common."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats, Int8s, Ints, n_pairs
from ocboost._kernels.fold import NOW_UNIT, SEEN, N, append
from ocboost._kernels.scaled import normal_number
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.fold import Publish
from ocboost.boosters.sketch.state import HeavyState, NewestState, copied, resized, rows_of


class Store(ABC):
    """Takes in checked examples, folds them and solves for α.

    A store is not guarded, nor does it check what it is given: the sketch that owns it does both. The
    sketch's constructor makes an empty one; a changed sketch is a new one whose store is filled from another.
    """

    state: Any  # a `NewestState` or a `HeavyState`

    def __init__(self, n_hypotheses: int, order: int, smoothing: float, forgetting: float) -> None:
        self._J, self._smoothing, self._forgetting = n_hypotheses, smoothing, forgetting
        self.cost = n_pairs(n_hypotheses, order) + 40 * n_hypotheses  # of an example, about, in additions
        self._workspace: Any = None

    @staticmethod
    @abstractmethod
    def blocks(n: int) -> int:
        """Blocks of 64 examples that a head of n examples needs."""

    # What it holds ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def limit(self) -> int:
        """How many examples may be kept."""

    @property
    @abstractmethod
    def size(self) -> tuple[int, ...]:
        """By which two stores are compared: the larger keeps more examples in the long run."""

    @property
    def n_head(self) -> int:
        """Examples in the head."""
        return int(self.state.counters[N])

    @property
    def n_seen(self) -> int:
        """Examples taken in."""
        return int(self.state.counters[SEEN])

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays that it writes to."""
        return (*self.state[0], *self.state.head, self.state.counters, self.state.now)

    @property
    def nbytes(self) -> int:
        """Bytes of the sums and of the head."""
        return sum(array.nbytes for array in (*self.state[0], *self.state.head))

    def rows(self) -> Int8s:
        """The margins of the examples in the head, in its order."""
        return rows_of(self.state.head, self.state.first, self.n_head)

    @abstractmethod
    def solved(self) -> tuple[Floats, bool]:
        """Solve for α, and say whether it has diverged; the caller holds the lock, and so the workspace."""

    # Learning ---------------------------------------------------------------------------------------------

    @abstractmethod
    def take(self, rows: Int8s, weights: Floats, batch_size: int, publish: Publish) -> None:
        """Take in examples, and fold whenever it is due; a long fold publishes α before anything changes."""

    def advance(self, rows: Int8s, weights: Floats, publish: Publish) -> Floats:
        """Take in examples one by one, and solve for α."""
        self.take(rows, weights, 1, publish)
        return self.solved()[0]

    @abstractmethod
    def fold(self, publish: Publish | None = None) -> None:
        """Let examples leave a full head."""

    @abstractmethod
    def folds_long(self, n: int, batch_size: int) -> bool:
        """Whether taking in n examples more brings a fold that takes long."""

    def decay(self, factor: float) -> None:
        """Let everything so far weigh ``factor`` times as much: new examples weigh more."""
        now, counters = self.state.now, self.state.counters
        value, unit = normal_number(factor, 0)
        now[0], counters[NOW_UNIT] = normal_number(now[0] / value, counters[NOW_UNIT] - unit)

    def _take_stepwise(self, rows: Int8s, weights: Floats, batch_size: int, publish: Publish) -> None:
        """Fold at max(limit, batch_size) examples, and after a batch if there are ``limit`` or more."""
        start = 0
        while start < len(rows):
            most = max(self.limit, batch_size)
            stop = min(start + most - self.n_head, len(rows))
            if batch_size > self.limit:
                stop = min(stop, (start // batch_size + 1) * batch_size)
            self._make_room(self.n_head + stop - start)
            _, head, counters, now = self.state[:4]
            append(head, counters, now, rows[start:stop], weights[start:stop], self._forgetting)
            start = stop
            end_of_batch = start % batch_size == 0 or start == len(rows)
            if self.n_head == most or (end_of_batch and self.n_head >= self.limit):
                self.fold(publish)

    def _make_room(self, n: int) -> None:
        """Let the head hold n examples, growing by doubling but not beyond what it will ever need."""
        have, need = self.state.head.words.shape[0], self.blocks(n)
        if need > have:
            self.state = resized(self.state, max(need, min(2 * have, self.blocks(self.limit))))

    # Stores made from others: an empty one is filled ------------------------------------------------------

    def copy(self) -> Self:
        """A store of its own with the same state."""
        other = copy.copy(self)
        other.__dict__.update(state=copied(self.state), _workspace=None, _window=None)
        return other

    @abstractmethod
    def as_newest(self, *, tail: bool) -> NewestState:
        """A state of its own for a store of the newest examples."""

    @abstractmethod
    def as_heavy(self) -> HeavyState:
        """A state of its own for a store of heavy examples."""

    @abstractmethod
    def fill(self, old: Store) -> None:
        """Take over another store's examples; those there is no room for are folded, or dropped."""

    @abstractmethod
    def fill_appended(self, old: Self, rows: Int8s) -> None:
        """Take over another store, with further coordinates, whose margins in the head are ``rows``."""

    @abstractmethod
    def fill_without(self, old: Self, keep: Ints) -> None:
        """Take over the coordinates of ``keep`` alone, which are in order."""

    def fill_merged(self, a: Self, b: Self) -> None:
        """Take over both, in any order."""
        if a.n_seen == 0 or b.n_seen == 0:
            self.state = copied((b if a.n_seen == 0 else a).state)
        else:
            self.state = self._merged(a.state, b.state)

    @abstractmethod
    def _merged(self, a: Any, b: Any) -> Any:
        """The state of two streams, neither of them empty."""

    # Files ------------------------------------------------------------------------------------------------

    @abstractmethod
    def tree(self, arguments: Settings) -> Tree:
        """What a file holds: what makes the sketch, and the state."""

    @staticmethod
    @abstractmethod
    def read(fields: Fields, arguments: Settings) -> Any:
        """The state from what a file holds; the caller checks the arguments."""

    @abstractmethod
    def resume(self, state: Any, fields: Fields) -> None:
        """Take over what `read` found in a file."""
