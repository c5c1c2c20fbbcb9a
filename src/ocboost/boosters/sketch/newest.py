"""The store of a sketch that keeps the newest examples: a head of them, and a tail of all earlier ones."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels import fold as kernels
from ocboost._kernels.memory import n_pairs
from ocboost._kernels.scaled import normal_number
from ocboost._kernels.solve import solve
from ocboost._kernels.tail import CORRECTIONS
from ocboost.boosters.sketch.files import SketchState, sketch_from_tree, sketch_tree
from ocboost.boosters.sketch.fold import Publish, Workspace, fold_stepwise, is_long
from ocboost.boosters.sketch.heavy_fold import HeavyState
from ocboost.boosters.sketch.merge import merge_newest
from ocboost.boosters.sketch.reshape import append_newest, drop_newest, heavy_of
from ocboost.boosters.sketch.state import (
    blocks_for,
    copy_tail,
    empty_head,
    empty_tail,
    relaid,
    rows_of,
    sum_bytes,
)
from ocboost.boosters.sketch.store import Store


class NewestStore:
    """The last examples exactly, as bits, and the sums W⁺ and W⁻ of all earlier ones.

    Without a tail it is a window of ``head`` examples. Not guarded: the sketch that owns it is.
    """

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
        self.limit, self.has_tail, self.order = head, tail, order
        self.cost = n_pairs(n_hypotheses, order) + 40 * n_hypotheses
        self._J, self._smoothing, self._forgetting = n_hypotheses, smoothing, forgetting
        self._correction, self._code = correction, CORRECTIONS[correction]
        self.tail = empty_tail(n_hypotheses, order, pairs=tail)
        self.head = empty_head(n_hypotheses, blocks_for(1))
        self.counters = np.zeros(kernels.N_COUNTERS, np.int64)
        self.now = np.ones(1)
        self._decayed = False  # whether α no longer is the tail's, though the head is empty
        self._work: Workspace | None = None
        # Blocks of 64 examples that large batches may leave: few, and no more than the sums take bytes.
        self._spare = min(64, sum_bytes(n_hypotheses, order) // (8 * n_hypotheses + 64 * 12))

    @property
    def state(self) -> SketchState:
        """All that it has learnt."""
        return SketchState(self.tail, self.head, self.counters, self.now, self._decayed)

    @state.setter
    def state(self, state: SketchState) -> None:
        self.tail, self.head, self.counters, self.now, self._decayed = state

    @property
    def n_head(self) -> int:
        """Examples in the head."""
        return int(self.counters[kernels.N])

    @property
    def n_seen(self) -> int:
        """Examples taken in."""
        return int(self.counters[kernels.SEEN])

    @property
    def nbytes(self) -> int:
        """Bytes of the sums and of the head."""
        return sum(array.nbytes for array in (*self.tail, *self.head))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays that it writes to."""
        return (*self.tail, *self.head, self.counters, self.now)

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes a sketch with such a store."""
        return {
            "n_hypotheses": self._J,
            "order": self.order,
            "head": self.limit,
            "tail": self.has_tail,
            "smoothing": self._smoothing,
            "forgetting": self._forgetting,
            "correction": self._correction,
        }

    def reshaped(self, n_hypotheses: int) -> dict[str, Any]:
        """The parameters of such a store with another number of coordinates; full order stays full."""
        order = n_hypotheses if self.order == self._J else min(self.order, n_hypotheses)
        return {**self.parameters, "n_hypotheses": n_hypotheses, "order": order}

    @property
    def size(self) -> tuple[int, ...]:
        """What of two stores is the larger: that with the larger head."""
        return (self.limit,)

    def rows(self) -> NDArray[np.int8]:
        """The margins of the examples in the head, oldest first."""
        return rows_of(self.head, self.state.first, self.n_head)

    def solved(self) -> tuple[NDArray[np.float64], bool]:
        """α and whether it has diverged; whoever calls this holds the lock, and with it the workspace."""
        before = bool(self.counters[kernels.DIVERGED])
        if self.n_head == 0 and not self._decayed:
            return self.tail.alpha[0].copy(), before
        solution = self._workspace().solution
        diverged = solve(
            self.tail,
            self.order,
            self._code,
            self.head,
            self.counters[kernels.FIRST],
            self.counters[kernels.N],
            0,
            self._smoothing,
            self.now[0],
            self.counters[kernels.NOW_UNIT],
            solution,
            False,
        )
        return solution.alpha.copy(), before or bool(diverged)

    def tree(self) -> Tree:
        """What a file holds."""
        return sketch_tree(self.parameters, self.state)

    # Learning ---------------------------------------------------------------------------------------------

    def decay(self, factor: float) -> None:
        """Let everything so far weigh ``factor`` times as much: what comes weighs more."""
        value, unit = normal_number(factor, 0)
        now, shift = normal_number(self.now[0] / value, self.counters[kernels.NOW_UNIT] - unit)
        self._decayed = True
        self.now[0], self.counters[kernels.NOW_UNIT] = now, shift

    def take(
        self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int, publish: Publish
    ) -> None:
        """Take in examples, and fold whenever it is due; a long fold publishes α before anything changes."""
        keep = self.limit
        if not self.has_tail:
            self._make_room(keep)
            kernels.slide(
                self.tail, self.head, self.counters, self.now, rows, weights, keep, self._forgetting
            )
            return
        most = min(max(keep, batch_size), self.n_head + len(rows))
        if is_long(self._J, self.order, most - keep + (keep + 7) // 8):
            self._take_stepwise(rows, weights, batch_size, publish)
        else:  # all in one kernel: no Python between the examples
            self._make_room(most)
            kernels.ingest(
                self.tail,
                self.head,
                self.counters,
                self.now,
                rows,
                weights,
                batch_size,
                keep,
                self._forgetting,
                *self._folding(),
            )
        self._decayed = self._decayed and self.n_head > 0
        if self.head.words.shape[0] > blocks_for(keep) + self._spare:  # left by a large batch
            self._relay(blocks_for(self.n_head))
            self._work = None

    def _take_stepwise(
        self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int, publish: Publish
    ) -> None:
        """What `ingest` does, example for example; long folds are shared among threads and publish α."""
        limit = max(self.limit, batch_size)
        start = 0
        while start < len(rows):
            stop = min(start + limit - self.n_head, (start // batch_size + 1) * batch_size, len(rows))
            self._make_room(self.n_head + stop - start)
            kernels.append(
                self.head, self.counters, self.now, rows[start:stop], weights[start:stop], self._forgetting
            )
            start = stop
            end_of_batch = start % batch_size == 0 or start == len(rows)
            if self.n_head == limit or (end_of_batch and self.n_head >= self.limit):
                self._fold(publish)

    def _fold(self, publish: Publish | None = None) -> None:
        """Let the oldest examples leave, all but seven eighths of a head."""
        n_fold = self.n_head - self.limit + (self.limit + 7) // 8
        state = (self.tail, self.head, self.counters, self.now)
        if publish is not None and is_long(self._J, self.order, n_fold):
            work = self._workspace()
            fold_stepwise(*state, n_fold, self.order, self._code, self._smoothing, work, publish)
        else:
            kernels.fold(*state, n_fold, *self._folding())

    def folds_long(self, n: int, batch_size: int) -> bool:
        """Whether taking in n examples more brings a fold that takes long."""
        most = min(max(self.limit, batch_size), self.n_head + n)
        due = self.has_tail and most >= self.limit
        return due and is_long(self._J, self.order, most - self.limit + (self.limit + 7) // 8)

    def _folding(self) -> tuple[Any, ...]:
        """What the kernels that fold need besides the examples."""
        work = self._workspace()
        return self.order, self._code, self._smoothing, work.solution, work.newcomers, work.room, work.row

    def _workspace(self) -> Workspace:
        size = self.head.weight.size
        if self._work is None or self._work.n_examples < size:
            self._work = Workspace(self._J, size, size)
        return self._work

    def _make_room(self, n: int) -> None:
        """Let the ring hold n examples, growing by doubling but not beyond what it will ever need."""
        have, need = self.head.words.shape[0], blocks_for(n)
        if need > have:
            self._relay(max(need, min(2 * have, blocks_for(self.limit))))

    def _relay(self, n_blocks: int) -> None:
        counters = self.counters.copy()
        head = relaid(self.head, int(counters[kernels.FIRST]), self.n_head, n_blocks)
        counters[kernels.FIRST] &= 63
        self.head, self.counters = head, counters

    # Others of it -----------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """A store of its own with the same state."""
        other = type(self)(**self.parameters)
        other.state = self._copied()
        return other

    def _copied(self) -> SketchState:
        state, counters = self.state, self.counters.copy()
        counters[kernels.FIRST] &= 63
        head = relaid(state.head, state.first, state.n_head, state.head.words.shape[0])
        return SketchState(copy_tail(state.tail), head, counters, state.now.copy(), state.decayed)

    def as_newest(self, *, tail: bool) -> SketchState:
        """Its state, to go on with the newest examples; what was in a tail is gone without one."""
        state = self._copied()
        if tail and self.has_tail:
            return state
        state.counters[kernels.DIVERGED] = 0  # what had diverged is gone
        return state._replace(tail=empty_tail(self._J, self.order, pairs=tail), decayed=True)

    def as_heavy(self) -> HeavyState:
        """Its state, to go on with heavy examples, while nothing has been folded."""
        return heavy_of(self.state)

    def fill(self, old: Store) -> None:
        """Go on from another store's examples; more than there is room for are folded, or gone."""
        state = old.as_newest(tail=self.has_tail)
        keep = state.n_head if self.has_tail else min(state.n_head, self.limit)
        first = (state.first + state.n_head - keep) % state.head.weight.size
        state.counters[kernels.FIRST], state.counters[kernels.N] = first & 63, keep
        head = relaid(state.head, first, keep, blocks_for(max(keep, 1)))
        self.state = state._replace(head=head)
        if self.has_tail and keep >= self.limit:
            self._fold()
            self._decayed = self._decayed and self.n_head > 0

    def fill_appended(self, old: Self, rows: NDArray[np.int8]) -> None:
        """Go on with further coordinates, whose margins for the head's examples are ``rows``."""
        self.state = append_newest(old.state, self.order, rows, has_tail=self.has_tail)

    def fill_without(self, old: Self, keep: NDArray[np.int64]) -> None:
        """Go on with the coordinates of ``keep`` alone, which are in order."""
        self.state = drop_newest(old.state, self._code, keep, has_tail=self.has_tail)

    def fill_merged(self, a: Self, b: Self) -> None:
        """Go on from both, whichever is named first."""
        if a.n_seen == 0 or b.n_seen == 0:
            self.state = (b if a.n_seen == 0 else a)._copied()
            return
        self.state = merge_newest(
            a.state, b.state, self.limit, self.has_tail, self.order, self._code, self._smoothing
        )

    @staticmethod
    def read(fields: Fields) -> tuple[dict[str, Any], Any]:
        """Parameters and state from what a file holds; the parameters are the caller's to check."""
        return sketch_from_tree(fields)

    def resume(self, state: SketchState, fields: Fields) -> None:
        """Go on from what `read` found in a file."""
        full = self.limit - 1 if self.has_tail else self.limit  # a full head has been folded
        fields.require(state.n_head <= full, "its head holds more than it may")
        self.state = state
