"""The store of a sketch that keeps heavy examples: it takes examples in, folds them and solves for α."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .carrying import HeavyState, Publish, blocks_of, empty_state, fold, relaid, solve
from .folding import is_long
from .kernels.carried import Estimate, make_estimate
from .kernels.fold import NOW_UNIT, append
from .kernels.scaled import normal_number
from .light import Room


class HeavyStore:
    """Examples that weigh, a sample of the others, and the sums it carries (`ocboost.kernels.carried`).

    Not guarded: the sketch that owns it is.
    """

    def __init__(self, n_hypotheses: int, room: Room, *, smoothing: float, forgetting: float) -> None:
        self.room = room
        self.state: HeavyState = empty_state(n_hypotheses)
        self._J, self._smoothing, self._forgetting = n_hypotheses, smoothing, forgetting
        self._estimate: Estimate | None = None

    @property
    def limit(self) -> int:
        """At so many examples the head folds."""
        return self.room.head if self.state.folds else self.room.first

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that it holds."""
        return (*self.state.light, *self.state.head, self.state.counters, self.state.now)

    @property
    def nbytes(self) -> int:
        """Bytes of the light sums and of the examples."""
        return sum(array.nbytes for array in (*self.state.light, *self.state.head))

    def solved(self) -> NDArray[np.float64]:
        """α, solved anew; whoever calls this holds the lock, and with it the room for solving."""
        estimate = self._room_for(self.state.n_head)
        solve(self.state, self.state.bounds, self._smoothing, estimate)
        return estimate.alpha.copy()

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
            head = relaid(self.state.head, self.state.n_head, max(need, min(2 * have, blocks_of(self.limit))))
            self.state = self.state._replace(head=head)

    def _room_for(self, n: int) -> Estimate:
        need = 64 * blocks_of(n) + 256
        if self._estimate is None or not need <= self._estimate.d.size <= 4 * need + 4096:
            self._estimate = make_estimate(self._J, 1, max(n, min(2 * n, self.limit)))
        return self._estimate
