"""The store of a sketch that keeps heavy examples: exact ones, a sample of the others and their sums."""

from __future__ import annotations

from typing import Self

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats, Int8s, Ints
from ocboost._kernels.heavy import Estimate, make_estimate
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.files import heavy_from_tree, heavy_tree
from ocboost.boosters.sketch.fold import Publish, is_long
from ocboost.boosters.sketch.heavy_fold import fold, solve
from ocboost.boosters.sketch.merge import merge_heavy
from ocboost.boosters.sketch.reshape import append_heavy, drop_heavy, newest_of
from ocboost.boosters.sketch.settings import HeadPlan
from ocboost.boosters.sketch.state import HeavyState, NewestState, blocks_of, copied, empty_heavy
from ocboost.boosters.sketch.store import Store


class HeavyStore(Store):
    """Examples that weigh, a sample of the others, and the sums it carries (`ocboost._kernels.heavy`)."""

    state: HeavyState
    blocks = staticmethod(blocks_of)
    read = staticmethod(heavy_from_tree)

    def __init__(self, n_hypotheses: int, plan: HeadPlan, *, smoothing: float, forgetting: float) -> None:
        super().__init__(n_hypotheses, n_hypotheses, smoothing, forgetting)
        assert plan.capacity is not None
        self.plan, self.capacity = plan, plan.capacity
        self.state = empty_heavy(n_hypotheses)

    @property
    def limit(self) -> int:
        """At so many examples the head folds."""
        return self.capacity.head if self.state.folds else self.capacity.first

    @property
    def size(self) -> tuple[int, ...]:
        """By which two stores are compared: the larger keeps more examples in the long run."""
        capacity = self.capacity
        given = (self.plan.head or 0, self.plan.memory or 0)
        return (capacity.head, capacity.first, int(capacity.pairs), *given)

    def solved(self) -> tuple[Floats, bool]:
        """Solve for α, which cannot diverge; the caller holds the lock, and so the workspace."""
        estimate = self._room(self.n_head)
        solve(self.state, self.state.bounds, self._smoothing, estimate)
        return estimate.alpha.copy(), False

    # Learning ---------------------------------------------------------------------------------------------

    def take(self, rows: Int8s, weights: Floats, batch_size: int, publish: Publish) -> None:
        """Take in examples, and fold whenever it is due; a fold publishes α before anything changes."""
        self._take_stepwise(rows, weights, batch_size, publish)

    def fold(self, publish: Publish | None = None) -> None:
        """Let the lightest leave, all but as many as a fold keeps."""
        self.state = self._folded(self.state, self.capacity.after_fold, publish)

    def _folded(self, state: HeavyState, most: int, publish: Publish | None = None) -> HeavyState:
        estimate = self._room(state.n_head)
        return fold(state, state.bounds, self.capacity, most, self._smoothing, estimate, publish)

    def folds_long(self, n: int, batch_size: int) -> bool:
        """Whether taking in n examples more brings a fold that takes long."""
        most = min(max(self.limit, batch_size), self.n_head + n)
        return most >= self.limit and is_long(self._J, self._J if self.capacity.pairs else 1, most)

    def _room(self, n: int) -> Estimate:
        need = 64 * blocks_of(n) + 256
        if self._workspace is None or not need <= self._workspace.d.size <= 4 * need + 4096:
            self._workspace = make_estimate(self._J, 1, max(n, min(2 * n, self.limit)))
        estimate: Estimate = self._workspace
        return estimate

    # Stores made from others ------------------------------------------------------------------------------

    def as_newest(self, *, tail: bool) -> NewestState:
        """A state for a store of the newest examples: the light ones are its tail, at the present α."""
        state = self._anchored(copied(self.state)) if tail and self.state.folds else self.state
        return newest_of(state, tail=tail)

    def as_heavy(self) -> HeavyState:
        """A copy of its state, no larger than it need be."""
        return copied(self.state, max(1, blocks_of(self.n_head)))

    def fill(self, old: Store) -> None:
        """Take over another store's examples; the lightest are folded if there are too many."""
        self._settle(old.as_heavy())

    def fill_appended(self, old: Self, rows: Int8s) -> None:
        """Take over another store, with further coordinates, whose margins in the head are ``rows``."""
        self._settle(append_heavy(old.state, rows))

    def fill_without(self, old: Self, keep: Ints) -> None:
        """Take over the coordinates of ``keep`` alone, which are in order."""
        self._settle(drop_heavy(old.state, keep))

    def _merged(self, a: HeavyState, b: HeavyState) -> HeavyState:
        return merge_heavy(a, b, self.capacity, self._smoothing)

    def _settle(self, state: HeavyState) -> None:
        """Take over a state of another capacity: fewer examples, or no pairs, where this one is smaller."""
        self.state = state
        if state.n_head >= self.limit:
            self.fold()
        elif state.light.delta.size and not self.capacity.pairs:
            self.state = self._anchored(state)

    def _anchored(self, state: HeavyState) -> HeavyState:
        """The same examples with the light sums at the present α, where nothing corrects their moves."""
        return self._folded(state, state.n_head)

    # Files ------------------------------------------------------------------------------------------------

    def tree(self, arguments: Settings) -> Tree:
        """What a file holds: what makes the sketch, and the state."""
        return heavy_tree(arguments, self.state)

    def resume(self, state: HeavyState, fields: Fields) -> None:
        """Take over what `read` found in a file."""
        self.state = state
        fields.require(state.n_head < self.limit, "its head holds more than it may")
