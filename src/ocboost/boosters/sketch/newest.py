"""The store of a sketch that keeps the newest examples: a head of them, and a tail of all earlier ones."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ocboost._core.codec import Fields, Tree
from ocboost._kernels import fold as kernels
from ocboost._kernels.arrays import Floats, Int8s, Ints
from ocboost._kernels.fold import DIVERGED, FIRST, NOW_UNIT, N
from ocboost._kernels.solve import solve
from ocboost._kernels.tail import CORRECTIONS
from ocboost._kernels.window import advance_window
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.files import newest_from_tree, newest_tree
from ocboost.boosters.sketch.fold import Publish, Workspace, fold_stepwise, is_long
from ocboost.boosters.sketch.merge import merge_newest
from ocboost.boosters.sketch.reshape import append_newest, drop_newest, heavy_of
from ocboost.boosters.sketch.settings import sum_bytes
from ocboost.boosters.sketch.state import (
    HeavyState,
    NewestState,
    copied,
    empty_head,
    empty_tail,
    resized,
    resized_head,
    ring_blocks,
)
from ocboost.boosters.sketch.store import Store

MAX_SHORT_WINDOW = 64  # examples
MIN_UNSCALED = 2.0**-128  # weights from here to its inverse are kept as they are
MIN_SMOOTHING = 1e-3  # with less, sums of what is right and wrong must not come from a difference


class NewestStore(Store):
    """The last examples exactly, as bits, and the sums W⁺ and W⁻ of all earlier ones.

    Without a tail it is a window of ``head`` examples.
    """

    state: NewestState
    blocks = staticmethod(ring_blocks)
    read = staticmethod(newest_from_tree)

    def __init__(
        self,
        n_hypotheses: int,
        head: int,
        *,
        order: int,
        tail: bool,
        smoothing: float,
        forgetting: float,
        correction: str,
    ) -> None:
        super().__init__(n_hypotheses, order, smoothing, forgetting)
        self._limit, self._has_tail, self._order = head, tail, order
        self._code = CORRECTIONS[correction]
        self._window: tuple[Floats, ...] | None = None  # see `_short_window`
        self.state = NewestState(
            empty_tail(n_hypotheses, order, pairs=tail),
            empty_head(n_hypotheses, ring_blocks(1)),
            np.zeros(kernels.N_COUNTERS, np.int64),
            np.ones(1),
            False,
        )
        # Large batches may leave a few blocks of 64 examples more, but no more than the sums take bytes.
        spare = min(64, sum_bytes(n_hypotheses, order) // (8 * n_hypotheses + 64 * 12))
        self._max_blocks = ring_blocks(head) + spare

    @property
    def limit(self) -> int:
        """How many examples may be kept."""
        return self._limit

    @property
    def size(self) -> tuple[int, ...]:
        """By which two stores are compared: the size of the head."""
        return (self._limit,)

    def solved(self) -> tuple[Floats, bool]:
        """Solve for α, and say whether it has diverged; the caller holds the lock, and so the workspace."""
        tail, head, counters, now, decayed = self.state
        before = bool(counters[DIVERGED])
        if counters[N] == 0 and not decayed:
            return tail.alpha[0].copy(), before
        solution = self._room().solution
        now_unit, order, code = counters[NOW_UNIT], self._order, self._code
        first, n, smoothing = counters[FIRST], counters[N], self._smoothing
        diverged = solve(tail, order, code, head, first, n, 0, smoothing, now[0], now_unit, solution, False)
        return solution.alpha.copy(), before or bool(diverged)

    # Learning ---------------------------------------------------------------------------------------------

    def decay(self, factor: float) -> None:
        """Let everything so far weigh ``factor`` times as much: new examples weigh more."""
        super().decay(factor)
        self._window = None
        self.state = self.state._replace(decayed=True)

    def take(self, rows: Int8s, weights: Floats, batch_size: int, publish: Publish) -> None:
        """Take in examples, and fold whenever it is due; a long fold publishes α before anything changes."""
        keep = self._limit
        self._window = None
        if not self._has_tail:
            self._make_room(keep)
            kernels.slide(*self.state[:4], rows, weights, keep, self._forgetting)
            return
        most = min(max(keep, batch_size), self.n_head + len(rows))
        if is_long(self._J, self._order, self._n_fold(most)):
            self._take_stepwise(rows, weights, batch_size, publish)
        else:  # all in one kernel: no Python between the examples
            self._make_room(most)
            tail, head, counters, now, _ = self.state
            given = (rows, weights, batch_size, keep, self._forgetting)
            kernels.ingest(tail, head, counters, now, *given, *self._folding())
        self._forget_decay()
        if self.state.head.words.shape[0] > self._max_blocks:
            self.state = resized(self.state, ring_blocks(self.n_head))
            self._workspace = None

    def advance(self, rows: Int8s, weights: Floats, publish: Publish) -> Floats:
        """Take in examples one by one and solve for α; a short window has margins as numbers for that."""
        usual = len(rows) == 1 and (weights[0] == 0.0 or MIN_UNSCALED <= weights[0] < 1.0 / MIN_UNSCALED)
        window = self._short_window() if usual else None
        self.take(rows, weights, 1, publish)
        if window is None:
            return self.solved()[0]
        place = (self.n_seen - 1) % self._limit
        if not advance_window(rows[0], weights[0], place, self._smoothing, *window):
            return self.solved()[0]
        self._window = window
        return window[-1]

    def _short_window(self) -> tuple[Floats, ...] | None:
        """Margins, weights, room and α of a window that `advance_window` can solve; else None."""
        if self._window is not None:
            return self._window
        short = not self._has_tail and self._limit <= MAX_SHORT_WINDOW and self._smoothing >= MIN_SMOOTHING
        if not short or self._forgetting != 1.0:
            return None
        _, head, _, now, _ = self.state
        n, first = self.n_head, self.state.first
        places = (first + np.arange(n)) % head.weight.size
        if now[0] != 1.0 or self.state.counters[NOW_UNIT] or head.weight_unit[places].any():
            return None  # weights that are scaled
        size = -(-self._limit // 8) * 8
        margins, weights = np.zeros((self._J, size)), np.zeros(size)
        own = (self.n_seen - n + np.arange(n)) % self._limit
        margins[:, own], weights[own] = self.rows().T, head.weight[places]
        return margins, weights, np.zeros(size), np.zeros(self._J)

    def fold(self, publish: Publish | None = None) -> None:
        """Let the oldest examples leave, all but seven eighths of a head."""
        n_fold, state = self._n_fold(self.n_head), self.state[:4]
        if publish is not None and is_long(self._J, self._order, n_fold):
            how = (self._order, self._code, self._smoothing)
            fold_stepwise(*state, n_fold, *how, self._room(), publish)
        else:
            kernels.fold(*state, n_fold, *self._folding())

    def folds_long(self, n: int, batch_size: int) -> bool:
        """Whether taking in n examples more brings a fold that takes long."""
        most = min(max(self._limit, batch_size), self.n_head + n)
        due = self._has_tail and most >= self._limit
        return due and is_long(self._J, self._order, self._n_fold(most))

    def _n_fold(self, n: int) -> int:
        """How many of n examples a fold takes."""
        return n - self._limit + (self._limit + 7) // 8

    def _forget_decay(self) -> None:
        """Once the head is folded to the last example, α is the tail's again."""
        if self.state.decayed and self.n_head == 0:
            self.state = self.state._replace(decayed=False)

    def _folding(self) -> tuple[Any, ...]:
        """What the kernels that fold need besides the examples."""
        work = self._room()
        return self._order, self._code, self._smoothing, work.solution, work.newcomers, work.room, work.row

    def _room(self) -> Workspace:
        size = self.state.head.weight.size
        if self._workspace is None or self._workspace.n_examples < size:
            self._workspace = Workspace(self._J, size, size)
        workspace: Workspace = self._workspace
        return workspace

    # Stores made from others ------------------------------------------------------------------------------

    def as_newest(self, *, tail: bool) -> NewestState:
        """A copy of its state; without a tail, what was in one is gone."""
        state = copied(self.state)
        if tail and self._has_tail:
            return state
        state.counters[DIVERGED] = 0  # what had diverged is gone
        return state._replace(tail=empty_tail(self._J, self._order, pairs=tail), decayed=True)

    def as_heavy(self) -> HeavyState:
        """A state for a store of heavy examples, while nothing has been folded."""
        return heavy_of(self.state)

    def fill(self, old: Store) -> None:
        """Take over another store's examples; those there is no room for are folded, or dropped."""
        state = old.as_newest(tail=self._has_tail)
        keep = state.n_head if self._has_tail else min(state.n_head, self._limit)
        first = (state.first + state.n_head - keep) % state.head.weight.size
        state.counters[FIRST], state.counters[N] = first & 63, keep
        head = resized_head(state.head, first, keep, ring_blocks(max(keep, 1)))
        self.state = state._replace(head=head)
        if self._has_tail and keep >= self._limit:
            self.fold()
            self._forget_decay()

    def fill_appended(self, old: Self, rows: Int8s) -> None:
        """Take over another store, with further coordinates, whose margins in the head are ``rows``."""
        self.state = append_newest(old.state, self._order, rows, has_tail=self._has_tail)

    def fill_without(self, old: Self, keep: Ints) -> None:
        """Take over the coordinates of ``keep`` alone, which are in order."""
        self.state = drop_newest(old.state, self._code, keep, has_tail=self._has_tail)

    def _merged(self, a: NewestState, b: NewestState) -> NewestState:
        how = (self._order, self._code, self._smoothing)
        return merge_newest(a, b, self._limit, self._has_tail, *how)

    # Files ------------------------------------------------------------------------------------------------

    def tree(self, arguments: Settings) -> Tree:
        """What a file holds: what makes the sketch, and the state."""
        return newest_tree(arguments, self.state)

    def resume(self, state: NewestState, fields: Fields) -> None:
        """Take over what `read` found in a file."""
        full = self._limit - 1 if self._has_tail else self._limit  # a full head has been folded
        fields.require(state.n_head <= full, "its head holds more than it may")
        self.state = state
