"""The store of a sketch that keeps heavy examples: it takes examples in, folds them and solves for α."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.fold import NOW_UNIT, SEEN, append
from ocboost._kernels.heavy import Estimate, make_estimate
from ocboost._kernels.memory import n_pairs
from ocboost._kernels.scaled import normal_number
from ocboost.boosters.sketch.files import SketchState, heavy_from_tree, heavy_tree
from ocboost.boosters.sketch.fold import Publish, is_long
from ocboost.boosters.sketch.heavy_fold import HeavyState, blocks_of, empty_state, fold, relaid_state, solve
from ocboost.boosters.sketch.merge import merge_heavy
from ocboost.boosters.sketch.reshape import append_heavy, drop_heavy, newest_of
from ocboost.boosters.sketch.settings import HEAVY, Kept
from ocboost.boosters.sketch.state import rows_of
from ocboost.boosters.sketch.store import Store


class HeavyStore:
    """Examples that weigh, a sample of the others, and the sums it carries (`ocboost._kernels.heavy`).

    Not guarded: the sketch that owns it is.
    """

    def __init__(self, n_hypotheses: int, kept: Kept, *, smoothing: float, forgetting: float) -> None:
        assert kept.room is not None
        self.kept, self.room = kept, kept.room
        self.cost = n_pairs(n_hypotheses, n_hypotheses) + 40 * n_hypotheses
        self.state: HeavyState = empty_state(n_hypotheses)
        self._J, self._smoothing, self._forgetting = n_hypotheses, smoothing, forgetting
        self._estimate: Estimate | None = None

    @property
    def limit(self) -> int:
        """At so many examples the head folds."""
        return self.room.head if self.state.folds else self.room.first

    @property
    def n_head(self) -> int:
        """Examples in the head."""
        return self.state.n_head

    @property
    def n_seen(self) -> int:
        """Examples taken in."""
        return int(self.state.counters[SEEN])

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that it holds."""
        return (*self.state.light, *self.state.head, self.state.counters, self.state.now)

    @property
    def nbytes(self) -> int:
        """Bytes of the light sums and of the examples."""
        return sum(array.nbytes for array in (*self.state.light, *self.state.head))

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes a sketch with such a store."""
        by_number = self.kept.memory is None
        return {
            "n_hypotheses": self._J,
            **({"head": self.kept.head} if by_number else {"memory": self.kept.memory}),
            "smoothing": self._smoothing,
            "forgetting": self._forgetting,
            "keep": HEAVY,
        }

    def reshaped(self, n_hypotheses: int) -> dict[str, Any]:
        """The parameters of such a store with another number of coordinates."""
        return {**self.parameters, "n_hypotheses": n_hypotheses}

    @property
    def size(self) -> tuple[int, ...]:
        """What of two stores is the larger: that which keeps more examples in the long run."""
        room = self.room
        return (room.head, room.first, int(room.pairs), self.kept.head or 0, self.kept.memory or 0)

    def rows(self) -> NDArray[np.int8]:
        """The margins of the examples in the head: the sample of the light ones, then the exact ones."""
        return rows_of(self.state.head, 0, self.state.n_head)

    def tree(self) -> Tree:
        """What a file holds."""
        return heavy_tree(self.parameters, self.state)

    def solved(self) -> tuple[NDArray[np.float64], bool]:
        """α, solved anew; whoever calls this holds the lock, and with it the room for solving."""
        estimate = self._room_for(self.state.n_head)
        solve(self.state, self.state.bounds, self._smoothing, estimate)
        return estimate.alpha.copy(), False

    # Learning ---------------------------------------------------------------------------------------------

    def decay(self, factor: float) -> None:
        """Let everything so far weigh ``factor`` times as much: what comes weighs more."""
        now, counters = self.state.now, self.state.counters
        value, unit = normal_number(factor, 0)
        now[0], counters[NOW_UNIT] = normal_number(now[0] / value, counters[NOW_UNIT] - unit)

    def take(
        self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int, publish: Publish
    ) -> None:
        """Take in examples, and fold whenever it is due.

        As for the newest: at max(limit, batch_size) examples, and at the end of a batch if there are
        ``limit`` or more.
        """
        start = 0
        while start < len(rows):
            most = max(self.limit, batch_size)
            stop = min(start + most - self.state.n_head, len(rows))
            if batch_size > self.limit:
                stop = min(stop, (start // batch_size + 1) * batch_size)
            self._make_room(self.state.n_head + stop - start)
            state = self.state
            append(
                state.head, state.counters, state.now, rows[start:stop], weights[start:stop], self._forgetting
            )
            start = stop
            end_of_batch = start % batch_size == 0 or start == len(rows)
            if state.n_head == most or (end_of_batch and state.n_head >= self.limit):
                self.fold(publish)

    def fold(self, publish: Publish | None = None) -> None:
        """Let the lightest leave, all but as many as a fold keeps."""
        state, room = self.state, self.room
        estimate = self._room_for(state.n_head)
        self.state = fold(state, state.bounds, room, room.after_fold, self._smoothing, estimate, publish)

    def folds_long(self, n: int, batch_size: int) -> bool:
        """Whether taking in n examples more brings a fold that takes long."""
        most = min(max(self.limit, batch_size), self.state.n_head + n)
        return most >= self.limit and is_long(self._J, self._J if self.room.pairs else 1, most)

    def _make_room(self, n: int) -> None:
        """Let the head hold n examples, growing by doubling but not beyond what it will ever need."""
        have, need = self.state.head.words.shape[0], blocks_of(n)
        if need > have:
            head = relaid_state(
                self.state.head, self.state.n_head, max(need, min(2 * have, blocks_of(self.limit)))
            )
            self.state = self.state._replace(head=head)

    def _room_for(self, n: int) -> Estimate:
        need = 64 * blocks_of(n) + 256
        if self._estimate is None or not need <= self._estimate.d.size <= 4 * need + 4096:
            self._estimate = make_estimate(self._J, 1, max(n, min(2 * n, self.limit)))
        return self._estimate

    # Others of it -----------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """A store of its own with the same state."""
        other = self._like()
        other.state = self.state.copy()
        return other

    def _like(self) -> Self:
        other = type(self)(self._J, self.kept, smoothing=self._smoothing, forgetting=self._forgetting)
        other.room = self.room
        return other

    def as_newest(self, *, tail: bool) -> SketchState:
        """Its state, to go on with the newest examples: the light ones are its tail, at the present α."""
        state = self._anchored(self.state.copy()) if tail and self.state.folds else self.state
        return newest_of(state, tail=tail)

    def as_heavy(self) -> HeavyState:
        """Its state, to go on with heavy examples; arrays of its own, no larger than they need be."""
        return self.state.copy(max(1, blocks_of(self.state.n_head)))

    def fill(self, old: Store) -> None:
        """Go on from another store's examples; the lightest leave if there are too many."""
        self._settle(old.as_heavy())

    def fill_appended(self, old: Self, rows: NDArray[np.int8]) -> None:
        """Go on with further coordinates, whose margins for the head's examples are ``rows``."""
        self._settle(append_heavy(old.state, rows))

    def fill_without(self, old: Self, keep: NDArray[np.int64]) -> None:
        """Go on with the coordinates of ``keep`` alone, which are in order."""
        self._settle(drop_heavy(old.state, keep))

    def fill_merged(self, a: Self, b: Self) -> None:
        """Go on from both, whichever is named first."""
        if a.n_seen == 0 or b.n_seen == 0:
            self.state = (b if a.n_seen == 0 else a).state.copy()
            return
        self.state = merge_heavy(a.state, b.state, self.room, self._smoothing)

    def _settle(self, state: HeavyState) -> None:
        """Go on from a state that had another room: fewer examples, or no pairs, where it is smaller."""
        self.state = state
        if state.n_head >= self.limit:
            self.fold()
        elif state.light.delta.size and not self.room.pairs:
            self.state = self._anchored(state)

    def _anchored(self, state: HeavyState) -> HeavyState:
        """The same examples, the light sums at the present α: then what corrects their moves has no part."""
        n = state.n_head
        return fold(state, state.bounds, self.room, n, self._smoothing, self._room_for(n))

    @staticmethod
    def read(fields: Fields) -> tuple[dict[str, Any], Any]:
        """Parameters and state from what a file holds; the parameters are the caller's to check."""
        return heavy_from_tree(fields)

    def resume(self, state: HeavyState, fields: Fields) -> None:
        """Go on from what `read` found in a file."""
        self.state = state
        fields.require(state.n_head < self.limit, "its head holds more than it may")
