"""The boosting sketch: AdaBoost's weights over fixed hypotheses, example by example, without the data."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import heavy_merging, merging, reshaping
from .booster import SummingBooster
from .carrying import HeavyState, blocks_of, empty_state
from .errors import InputError, ModelFileError
from .folding import Workspace, fold_stepwise, is_long
from .guard import locks_of, reads, writes, written
from .head_ring import blocks_for, empty_head, relaid, rows_of
from .heavy_file import heavy_from_parts, heavy_parts
from .heavy_store import HeavyStore
from .interrupts import uninterrupted
from .keeping import HEAVY, Kept, check_correction, what_is_kept
from .kernels import fold as kernels
from .kernels.band import n_pairs
from .kernels.bits import pack_rows
from .kernels.scaled import normal_number
from .kernels.solve import solve
from .kernels.tail import BALANCED, CORRECTIONS
from .light import Room
from .margins import as_array, as_count, as_margins, as_number
from .sketch_file import SketchState, sketch_from_parts, sketch_parts
from .storage import Arrays, require
from .tails import copy_tail, empty_tail

# So many pairs may be visited in one call of the kernel, about a tenth of a second: then Ctrl-C is heard, and
# readers who wait are.
PIECE = 100_000_000


class BoostingSketch(SummingBooster):
    """Online Coordinate Boosting over the margins of J fixed hypotheses.

    A **head** keeps the most recent examples exactly, as bits. A **tail** keeps the sums W⁺ and W⁻ of all
    earlier ones, with the α they were taken at (the paper's algorithm 1, its sign error mended and the
    total weight kept). While the stream fits in the head, the weights are AdaBoost's own.

    With ``keep="heavy"`` the head keeps the examples that weigh instead, and a weighted sample carries the
    rest (`ocboost.kernels.carried`): AdaBoost's weight lies on few examples, so the same bytes come far
    closer to it.

    Parameters
    ----------
    n_hypotheses : int
        J, the number of weak hypotheses; their order is the order of boosting.
    order : int, optional
        K: how many earlier coordinates each correction looks back to, all of them if left out. Memory is
        ``2 (J K - K²/2) 8`` bytes.
    head : int or "auto", default 1
        How many examples are kept. 1 is the paper's algorithm. "auto" keeps as many as the
        sums take bytes: twice the memory for a tenth of the error, or none while the stream fits in.
        ``keep="heavy"`` then has the same number of bytes.
    tail : bool, default True
        False makes a window: AdaBoost on the last ``head`` examples and nothing else.
    smoothing : float, default 1.0
        ε, in units of sample weight: with weights of one it is worth so many examples.
        ``α_j = ½ log((W⁺_jj + ε_j) / (W⁻_jj + ε_j))``, ``ε_j = ε (W⁺_jj + W⁻_jj) / Σw``. Weights that sum to
        one want a smaller ε.
    forgetting : float, default 1.0
        λ in (0, 1]: at time n example i weighs ``w_i λ^(n-i)``. 1 forgets nothing.
    correction : {"balanced", "own", "theorem", "listing"}, default "balanced"
        How the tail follows a change of α. "listing" is the paper's listing as printed, for study;
        "theorem" mends its sign; "own" gives each pair sum its own factor exactly; "balanced" does so too
        and keeps the total weight, which bounds every α by ``½ log(1 + Σw/ε)`` from a cold start on.
    keep : {"heavy", "newest"}, optional
        Which examples the head keeps. "newest", the default, keeps the last ones. "heavy" keeps those that
        weigh most over all coordinates, exactly, and a weighted sample of the others; it needs a tail, every
        earlier coordinate, the balanced correction and a head of more than one example.
    memory : int, optional
        Bytes for sums and examples, instead of ``head``. Of heavy examples a share goes to differences of
        pairs, ``2 J²`` bytes, if these take at most half of it; until the first fold all of it holds
        examples. A fold takes about 40 bytes an example, and the examples once more, while it lasts. With a
        ``head`` in examples there are pairs if it holds at least J.

    Notes
    -----
    The head folds at ``max(head, batch_size)`` examples, and at the end of a batch if it holds ``head`` or
    more: a ``batch_size`` up to ``head`` never changes the result, which is that of ``update`` in a loop bit
    for bit; a larger one adds that many at once, and pays the corrections once for them. All of them at
    once, for an empty sketch, is batch AdaBoost, and that is what ``from_margins`` does: rows that fit stay
    in the head; otherwise the oldest go to the tail as AdaBoost's exact sums, and seven eighths of the head
    are kept.

    ``update`` and ``update_many`` never solve for α but when the head is folded into the tail; reading
    ``alpha`` does, changes nothing, and is cached until the next example. A read costs about
    0.2 ns · J · (examples in the head) + 0.3 ns · (pairs): 1.3 ms at J = 400 and 25 ms at J = 1520 with
    an automatic head, next to nothing with ``head=1``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> margins = np.where(rng.random((2000, 5)) < [0.8, 0.7, 0.6, 0.55, 0.5], 1, -1)
    >>> sketch = BoostingSketch(5)
    >>> sketch.update(margins[0])
    >>> sketch.update_many(margins[1:], batch_size=50)
    >>> sketch.alpha.round(2)
    array([ 0.69,  0.44,  0.22,  0.08, -0.04])

    >>> started = BoostingSketch.from_margins(margins[:200], order=1)
    >>> from ocboost import adaboost_weights
    >>> bool(np.allclose(started.alpha, adaboost_weights(margins[:200])))
    True
    """

    kind = "BoostingSketch"

    def __init__(
        self,
        n_hypotheses: int,
        *,
        order: int | None = None,
        head: int | str = 1,
        tail: bool = True,
        smoothing: float = 1.0,
        forgetting: float = 1.0,
        correction: str = "balanced",
        keep: str | None = None,
        memory: int | None = None,
    ) -> None:
        super().__init__(n_hypotheses, smoothing=smoothing, forgetting=forgetting)
        J = self._J
        K = J if order is None else as_count(order, "order", 1, J, "None takes every earlier coordinate.")
        if not isinstance(tail, bool | np.bool_):
            raise InputError(f"tail must be True or False; got {tail!r:.80}. False makes a window.")
        self._order = K
        self._has_tail = bool(tail)
        self._correction = check_correction(correction)
        kept = what_is_kept(
            J, keep=keep, memory=memory, head=head, order=order, tail=self._has_tail, correction=correction
        )
        self._kept = kept
        self._keep = kept.head or 0  # of the newest
        self._heavy: HeavyStore | None = None  # in the place of head and tail
        if kept.room is not None:
            self._heavy = HeavyStore(J, kept.room, smoothing=self._smoothing, forgetting=self._forgetting)
        self._tail = empty_tail(J, K, pairs=self._has_tail and self._heavy is None)
        self._head = empty_head(J, blocks_for(1))
        self._counters = np.zeros(kernels.N_COUNTERS, np.int64)
        self._now = np.ones(1)
        self._n_seen = 0
        self._decayed = False  # whether α no longer is the tail's, though the head is empty
        self._work: Workspace | None = None

    # What it was made with -------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """K: how many earlier coordinates each correction looks back to."""
        return self._order

    @property
    def head(self) -> int:
        """How many examples may be kept; of heavy ones in a given memory fewer once the first have left."""
        return self._keep if self._heavy is None else self._heavy.limit

    @property
    def keep(self) -> str:
        """Which examples the head keeps, "heavy" or "newest"."""
        return self._kept.keep

    @property
    def kept(self) -> Kept:
        """What ``keep``, ``head`` and ``memory`` mean together."""
        return self._kept

    @property
    def memory(self) -> int | None:
        """The bytes that heavy examples and their sums may take, if they were given so."""
        return self._kept.memory

    @property
    def tail(self) -> bool:
        """Whether examples that leave the head live on in the sums."""
        return self._has_tail

    @property
    def correction(self) -> str:
        """How the tail follows a change of α."""
        return self._correction

    @property
    def _state(self) -> SketchState:
        return SketchState(self._tail, self._head, self._counters, self._now, self._decayed)

    @_state.setter
    def _state(self, state: SketchState) -> None:
        """Only while it is made: nobody has seen it yet."""
        self._tail, self._head, self._counters, self._now, self._decayed = state
        self._n_seen = int(self._counters[kernels.SEEN])

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """All that it writes to."""
        if self._heavy is not None:
            return self._heavy.arrays
        return (*self._tail, *self._head, self._counters, self._now)

    @property
    def _parameters(self) -> dict[str, Any]:
        if self._heavy is not None:
            return {
                "n_hypotheses": self._J,
                **({"head": self._kept.head} if self._kept.memory is None else {"memory": self._kept.memory}),
                "smoothing": self._smoothing,
                "forgetting": self._forgetting,
                "keep": HEAVY,
            }
        return {
            "n_hypotheses": self._J,
            "order": self._order,
            "head": self._keep,
            "tail": self._has_tail,
            "smoothing": self._smoothing,
            "forgetting": self._forgetting,
            "correction": self._correction,
        }

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self._parameters.items() if k != "n_hypotheses")
        return f"BoostingSketch({self._J}, {given})"

    # What it holds ---------------------------------------------------------------------------------------

    @property
    def n_seen(self) -> int:
        """Examples taken in."""
        return self._n_seen

    @property
    @reads
    def n_head(self) -> int:
        """Examples in the head now."""
        return self._n_head

    @property
    def _n_head(self) -> int:
        return int(self._counters[kernels.N]) if self._heavy is None else self._heavy.state.n_head

    @property
    @reads
    def nbytes(self) -> int:
        """Bytes of the sums and of the head."""
        if self._heavy is not None:
            return self._heavy.nbytes
        return sum(array.nbytes for array in (*self._tail, *self._head))

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The weights of the hypotheses, (J,) float64, always finite.

        Solved on reading and cached until the next example; reading changes no state.
        """
        return self._view()[0].copy()

    @property
    def diverged(self) -> bool:
        """Whether an unbalanced correction has left its range, so that the weights mean nothing any more.

        Some |α| would have passed 1,000 and was held there, or the sums of some row have grown to ten times
        the weight of all examples, which AdaBoost's never do. "balanced" cannot diverge.
        """
        if CORRECTIONS[self._correction] == BALANCED:
            return False
        return self._view()[1]

    def _view(self) -> tuple[NDArray[np.float64], bool]:
        view: tuple[NDArray[np.float64], bool] = self._guard.view(self._solved)
        return view

    def _solved(self) -> tuple[NDArray[np.float64], bool]:
        """α and whether it has diverged; whoever calls this holds the lock, and with it the workspace."""
        if self._heavy is not None:
            return self._heavy.solved(), False
        before = bool(self._counters[kernels.DIVERGED])
        if self._n_head == 0 and not self._decayed:
            return self._tail.alpha[0].copy(), before
        solution = self._workspace().solution
        diverged = solve(
            self._tail,
            self._order,
            CORRECTIONS[self._correction],
            self._head,
            self._counters[kernels.FIRST],
            self._counters[kernels.N],
            0,
            self._smoothing,
            self._now[0],
            self._counters[kernels.NOW_UNIT],
            solution,
            False,
        )
        return solution.alpha.copy(), before or bool(diverged)

    # Learning --------------------------------------------------------------------------------------------

    @writes
    def decay(self, factor: float) -> None:
        """Let everything seen so far weigh ``factor`` times as much, 0 < factor <= 1."""
        factor = as_number(factor, "factor", 0.0, 1.0, "0.5 halves the weight of the past.", low_open=True)
        if self._heavy is not None:
            with uninterrupted():
                self._heavy.decay(factor)
            return
        value, unit = normal_number(factor, 0)
        now, shift = normal_number(self._now[0] / value, self._counters[kernels.NOW_UNIT] - unit)
        with uninterrupted():
            self._decayed = True
            self._now[0], self._counters[kernels.NOW_UNIT] = now, shift

    def _take(self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int) -> None:
        # What `guard.writes` does, by hand: here it is paid for every example.
        guard = self._guard
        lock = guard.lock
        if lock._is_owned() or guard._wanted:
            written(self, partial(self._take_all, rows, weights, batch_size))
            return
        with lock:
            guard._before = guard._present
            guard._present = None
            try:
                self._take_all(rows, weights, batch_size)
            finally:
                guard._before = None

    def _take_all(self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int) -> None:
        """Take in examples in pieces of whole batches; between the pieces Ctrl-C is heard."""
        cost = n_pairs(self._J, self._order) + 40 * self._J
        piece = max(1, PIECE // cost // batch_size) * batch_size
        for start in range(0, len(rows), piece):
            with uninterrupted():
                self._take_piece(rows[start : start + piece], weights[start : start + piece], batch_size)
                self._n_seen += min(piece, len(rows) - start)
            if start + piece < len(rows) and self._guard.wanted:
                self._guard.publish(self._solved())

    def _take_piece(self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int) -> None:
        if self._heavy is not None:
            self._heavy.take(rows, weights, batch_size, self._guard.publish)
            return
        if not self._has_tail:
            self._make_room(self._keep)
            kernels.slide(
                self._tail, self._head, self._counters, self._now, rows, weights, self._keep, self._forgetting
            )
            return
        most = min(max(self._keep, batch_size), self._n_head + len(rows))
        if is_long(self._J, self._order, most - self._keep + (self._keep + 7) // 8):
            self._take_stepwise(rows, weights, batch_size)
        else:  # all in one kernel: no Python between the examples
            self._make_room(most)
            kernels.ingest(
                self._tail,
                self._head,
                self._counters,
                self._now,
                rows,
                weights,
                batch_size,
                self._keep,
                self._forgetting,
                *self._folding(),
            )
        self._decayed = self._decayed and self._n_head > 0
        if self._head.words.shape[0] > 64 + 2 * blocks_for(self._keep):  # left by a large batch
            self._relay(blocks_for(self._n_head))
            self._work = None

    def _take_stepwise(self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int) -> None:
        """What `ingest` does, example for example; long folds are shared among threads and publish α."""
        limit = max(self._keep, batch_size)
        start = 0
        while start < len(rows):
            stop = min(start + limit - self._n_head, (start // batch_size + 1) * batch_size, len(rows))
            self._make_room(self._n_head + stop - start)
            kernels.append(
                self._head, self._counters, self._now, rows[start:stop], weights[start:stop], self._forgetting
            )
            start = stop
            kept = self._n_head
            end_of_batch = start % batch_size == 0 or start == len(rows)
            if kept == limit or (end_of_batch and kept >= self._keep):
                n_fold = kept - self._keep + (self._keep + 7) // 8
                state = (self._tail, self._head, self._counters, self._now)
                if is_long(self._J, self._order, n_fold):
                    code, publish = CORRECTIONS[self._correction], self._guard.publish
                    fold_stepwise(
                        *state, n_fold, self._order, code, self._smoothing, self._workspace(), publish
                    )
                else:
                    kernels.fold(*state, n_fold, *self._folding())

    def folds_long(self, n: int, batch_size: int = 1) -> bool:
        """Whether taking in n examples more brings a fold that is long (`ocboost.folding.is_long`)."""
        if self._heavy is not None:
            return self._heavy.folds_long(n, batch_size)
        most = min(max(self._keep, batch_size), self.n_head + n)
        due = self._has_tail and most >= self._keep
        return due and is_long(self._J, self._order, most - self._keep + (self._keep + 7) // 8)

    def _folding(self) -> tuple[Any, ...]:
        """What the kernels that fold need besides the examples."""
        work = self._workspace()
        code = CORRECTIONS[self._correction]
        return self._order, code, self._smoothing, work.solution, work.newcomers, work.room, work.row

    def _workspace(self) -> Workspace:
        size = self._head.weight.size
        if self._work is None or self._work.n_examples < size:
            self._work = Workspace(self._J, size, size)
        return self._work

    def _make_room(self, n: int) -> None:
        """Let the ring hold n examples, growing by doubling but not beyond what it will ever need."""
        have, need = self._head.words.shape[0], blocks_for(n)
        if need > have:
            self._relay(max(need, min(2 * have, blocks_for(self._keep))))

    def _relay(self, n_blocks: int) -> None:
        counters = self._counters.copy()
        head = relaid(self._head, int(counters[kernels.FIRST]), self._n_head, n_blocks)
        counters[kernels.FIRST] &= 63
        self._head, self._counters = head, counters

    # Copies ----------------------------------------------------------------------------------------------

    @reads
    def copy(self) -> Self:
        """A sketch of its own with the same state."""
        other = type(self)(**self._parameters)
        if self._heavy is not None:
            other._set_heavy(self._heavy.state.copy())
            return other
        state = self._state
        counters = state.counters.copy()
        counters[kernels.FIRST] &= 63
        head = relaid(state.head, state.first, state.n_head, state.head.words.shape[0])
        other._state = SketchState(copy_tail(state.tail), head, counters, state.now.copy(), state.decayed)
        return other

    @reads
    def remade(self, **changes: Any) -> Self:
        """A sketch of the same examples that goes on with another head, tail, smoothing or forgetting.

        A window keeps what it needs of the head; whatever was in the tail is gone then. A smaller head folds
        its oldest examples into the tail. ``memory`` in the place of ``head``, or another ``keep``, can be
        given too; the latter only as long as nothing has been folded.

        Examples
        --------
        >>> sketch = BoostingSketch.from_margins([[1, -1], [1, 1], [-1, 1]], head=10)
        >>> sketch.remade(head=2, tail=False).n_head
        2
        """
        fixed = sorted(set(changes) - {"head", "tail", "smoothing", "forgetting", "keep", "memory"})
        if fixed:
            raise InputError(
                "only head, tail, smoothing, forgetting, keep and memory can change; got "
                f"{', '.join(fixed)}. Begin anew for others."
            )
        other = type(self)(**self._changed(changes))
        if other._heavy is not None:
            other._set_heavy(self._as_heavy())
            if other._heavy.state.n_head >= other._heavy.limit:
                other._heavy.fold()
            return other
        state = self._state if self._heavy is None else self._as_newest()
        keep = state.n_head if other._has_tail else min(state.n_head, other._keep)
        first = (state.first + state.n_head - keep) % state.head.weight.size
        counters = state.counters.copy()
        counters[kernels.FIRST], counters[kernels.N] = first & 63, keep
        head = relaid(state.head, first, keep, blocks_for(max(keep, 1)))
        both = self._has_tail and other._has_tail and self._heavy is None
        tail = copy_tail(state.tail) if both else other._tail
        if not both:  # what had diverged is gone
            counters[kernels.DIVERGED] = 0
        other._state = SketchState(tail, head, counters, state.now.copy(), state.decayed or not both)
        if other._has_tail and keep >= other._keep:
            n_fold = keep - other._keep + (other._keep + 7) // 8
            kernels.fold(other._tail, other._head, counters, other._now, n_fold, *other._folding())
            other._decayed = other._decayed and other.n_head > 0
        return other

    def _changed(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Its parameters with changes: head and memory take each other's place, and a rule brings its own."""
        known = self._parameters
        rule = changes.get("keep") or (self.keep if changes.get("tail", True) else "newest")
        if rule != self.keep:
            for name in ("keep", "memory", "order" if self._order == self._J else ""):
                known.pop(name, None)
            known["head"] = self.head
        if "memory" in changes:
            known.pop("head", None)
        elif "head" in changes:
            known.pop("memory", None)
        return {**known, **changes, **({"keep": rule} if rule == HEAVY or "keep" in changes else {})}

    def _set_heavy(self, state: HeavyState) -> None:
        """Only while it is made: nobody has seen it yet."""
        assert self._heavy is not None
        self._heavy.state = state
        self._n_seen = int(state.counters[kernels.SEEN])

    def _as_heavy(self) -> HeavyState:
        """Its examples, for one that keeps heavy ones."""
        if self._heavy is not None:
            return self._heavy.state.copy()
        if self._tail.total[0] > 0.0:
            raise InputError(
                "keep can change only while nothing has been folded; got a sketch with examples in its tail, "
                "which has sums and no sample of them. Begin anew with keep='heavy'."
            )
        n, old = self._n_head, self._state
        state = empty_state(self._J).copy(max(1, blocks_of(n)))
        if n:
            pack_rows(rows_of(old.head, old.first, n), state.head.words, 0)
            places = (old.first + np.arange(n)) % old.head.weight.size
            state.head.weight[:n] = old.head.weight[places]
            state.head.weight_unit[:n] = old.head.weight_unit[places]
        state.counters[: kernels.N_COUNTERS] = old.counters
        state.counters[kernels.FIRST] = state.counters[kernels.DIVERGED] = 0
        state.now[...] = old.now
        return state

    def _as_newest(self) -> SketchState:
        """Its examples, for one that keeps the newest."""
        self._need_all_examples("keep or tail can change")
        assert self._heavy is not None
        old = self._heavy.state
        head = relaid(old.head, 0, old.n_head, blocks_for(old.n_head))
        return SketchState(self._tail, head, old.counters[: kernels.N_COUNTERS].copy(), old.now.copy(), True)

    def _need_all_examples(self, what: str) -> None:
        if self._heavy is not None and self._heavy.state.folds:
            raise InputError(
                f"with keep='heavy' {what} only while all examples are kept; here some have left, and a "
                "sample stands for them. Take keep='newest', or a larger head."
            )

    # More and fewer hypotheses ----------------------------------------------------------------------------

    @reads
    def appended(self, margins: ArrayLike) -> Self:
        """A sketch of the same examples with further hypotheses behind those it has.

        The examples in the head count for the new ones, and all that come from now on; what is in the tail
        is not known of them. While nothing has been folded it is as if they had been there from the start.
        At full order it stays full.

        Parameters
        ----------
        margins : array of shape (n_head, k)
            The margins of the k new hypotheses for the examples in the head, oldest first.

        Examples
        --------
        >>> margins = np.where(np.random.default_rng(0).random((50, 3)) < [0.8, 0.7, 0.6], 1, -1)
        >>> sketch = BoostingSketch.from_margins(margins[:, :2], head=100).appended(margins[:, 2:])
        >>> bool(np.allclose(sketch.alpha, BoostingSketch.from_margins(margins, head=100).alpha))
        True
        """
        self._need_all_examples("hypotheses can be appended")
        given = as_array(margins)
        if given.ndim != 2 or given.shape[0] != self.n_head or given.shape[1] == 0:
            raise InputError(
                f"margins must be one row for each of the {self.n_head} examples in the head and one column "
                f"for each new hypothesis; got shape {given.shape}. Let the new hypotheses answer the last "
                f"{self.n_head} examples, oldest first."
            )
        rows = as_margins(given) if self.n_head else np.empty(given.shape, np.int8)
        J = self._J + rows.shape[1]
        if self._heavy is not None:
            return self._reshaped(J, np.concatenate([self._rows(), rows], axis=1))
        order = J if self._order == self._J else self._order
        other = type(self)(**{**self._parameters, "n_hypotheses": J, "order": order})
        other._state = reshaping.append(self._state, order, rows, has_tail=self._has_tail)
        return other

    @reads
    def without(self, members: ArrayLike) -> Self:
        """A sketch without some of the hypotheses, as if their weights had become zero.

        Exact for the examples in the head; the tail follows by the same correction as any change of α, so
        it loses little where the weights were small.

        Parameters
        ----------
        members : array of int
            Which to leave out; one must stay.

        Examples
        --------
        >>> margins = np.where(np.random.default_rng(0).random((50, 3)) < [0.8, 0.7, 0.6], 1, -1)
        >>> sketch = BoostingSketch.from_margins(margins, head=100).without([1])
        >>> bool(np.allclose(sketch.alpha, BoostingSketch.from_margins(margins[:, [0, 2]], head=100).alpha))
        True
        """
        self._need_all_examples("hypotheses can be left out")
        gone = np.atleast_1d(as_array(members))
        if gone.size and (gone.dtype.kind not in "iu" or gone.min() < 0 or gone.max() >= self._J):
            raise InputError(
                f"members must be whole numbers from 0 to {self._J - 1}; got {members!r:.80}. Name "
                "hypotheses by their places, as in [0, 2]."
            )
        keep = np.setdiff1d(np.arange(self._J), gone)
        if keep.size == 0:
            raise InputError(
                f"members must leave at least one hypothesis; got all {self._J}. Take one out of the list, "
                "or make a new sketch."
            )
        if self._heavy is not None:
            return self._reshaped(keep.size, self._rows()[:, keep])
        if self._order != self._J and self._has_tail:
            raise InputError(
                f"hypotheses can be left out at full order only; got order {self._order} of {self._J}. Make "
                "the sketch with order=None."
            )
        order = min(self._order, keep.size)
        other = type(self)(**{**self._parameters, "n_hypotheses": keep.size, "order": order})
        code = CORRECTIONS[self._correction]
        other._state = reshaping.drop(self._state, code, keep, has_tail=self._has_tail)
        return other

    def _rows(self) -> NDArray[np.int8]:
        """The margins of all heavy examples, while none has left."""
        assert self._heavy is not None
        return rows_of(self._heavy.state.head, 0, self._heavy.state.n_head)

    def _reshaped(self, n_hypotheses: int, rows: NDArray[np.int8]) -> Self:
        """The same heavy examples with other margins, while none has left."""
        assert self._heavy is not None
        other = type(self)(**{**self._parameters, "n_hypotheses": n_hypotheses})
        old, n = self._heavy.state, len(rows)
        head = empty_head(n_hypotheses, max(1, blocks_of(n)))
        if n:
            pack_rows(np.ascontiguousarray(rows), head.words, 0)
        head.weight[:n], head.weight_unit[:n] = old.head.weight[:n], old.head.weight_unit[:n]
        light = empty_state(n_hypotheses).light
        other._set_heavy(HeavyState(light, head, old.counters.copy(), old.now.copy()))
        if other._heavy is not None and n >= other._heavy.limit:  # an example takes more bytes now
            other._heavy.fold()
        return other

    # Merging ---------------------------------------------------------------------------------------------

    def merge(self, other: BoostingSketch) -> Self:
        """A new sketch of both streams; ``self + other`` is the same.

        Everything but ``head`` must match; the larger head is taken. Two sketches whose examples all fit
        in it merge exactly. Otherwise the result is an approximation, close when the streams are alike
        and no better than averaging the weights when there are many hypotheses and the streams differ.
        The order of the two does not matter, to the last bit.
        """
        if not isinstance(other, BoostingSketch):
            raise InputError(
                f"other must be a BoostingSketch; got {type(other).__name__}. Make one with BoostingSketch."
            )
        if self.keep != other.keep:
            raise InputError(
                f"other must have the same keep to be merged: {self.keep!r} here, {other.keep!r} there. "
                "Sketches that are to be merged are made with the same parameters, head aside."
            )
        mine, others = self._parameters, other._parameters
        sizes: list[dict[str, int]] = [
            {str(name): each.pop(name) for name in ("head", "memory") if name in each}
            for each in (mine, others)
        ]
        for name, value in mine.items():
            if others[name] != value:
                raise InputError(
                    f"other must have the same {name} to be merged: {value!r} here, {others[name]!r} there. "
                    "Sketches that are to be merged are made with the same parameters, head aside."
                )
        first, second = locks_of(self, other)
        with first, second:
            if self._heavy is not None and other._heavy is not None:
                _, larger = max(
                    (_rank(self._heavy.room, sizes[0]), 0), (_rank(other._heavy.room, sizes[1]), 1)
                )
                return self._merged_heavy(other, {**mine, **sizes[larger]})
            keep = max(sizes[0]["head"], sizes[1]["head"])
            if self.n_seen == 0 or other.n_seen == 0:
                result = (other if self.n_seen == 0 else self).copy()
                result._keep = keep
                return result  # type: ignore[return-value]
            result = type(self)(head=keep, **mine)
            result._state = merging.merge(
                self._state,
                other._state,
                keep,
                self._has_tail,
                self._order,
                CORRECTIONS[self._correction],
                self._smoothing,
            )
        return result

    def _merged_heavy(self, other: BoostingSketch, parameters: dict[str, Any]) -> Self:
        assert self._heavy is not None
        assert other._heavy is not None
        result = type(self)(**parameters)
        assert result._heavy is not None
        if self.n_seen == 0 or other.n_seen == 0:
            side = other._heavy if self.n_seen == 0 else self._heavy
            result._set_heavy(side.state.copy())
            return result
        room = result._heavy.room
        result._set_heavy(heavy_merging.merge(self._heavy.state, other._heavy.state, room, self._smoothing))
        return result

    # Saving ----------------------------------------------------------------------------------------------

    @reads
    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """What a file holds: parameters for JSON, and arrays."""
        if self._heavy is not None:
            return heavy_parts(self._parameters, self._heavy.state)
        return sketch_parts(self._parameters, self._state)

    @classmethod
    def from_parts(cls, parameters: dict[str, Any], arrays: Arrays, name: str) -> Self:
        """A sketch of what `parts` gave; it goes on exactly as the one that gave it would have."""
        heavy: HeavyState | None = None
        state: SketchState | None = None
        if parameters.get("keep") == HEAVY:
            parameters, heavy = heavy_from_parts(parameters, arrays, name)
        else:
            parameters, state = sketch_from_parts(parameters, arrays, name)
        try:
            sketch = cls(**parameters)
        except InputError as error:
            raise ModelFileError(f"{name} is not a valid model: {error}") from None
        if heavy is not None:
            sketch._set_heavy(heavy)
            require(heavy.n_head < sketch.head, name, "its head holds more than it may")
            return sketch
        assert state is not None
        full = sketch.head - 1 if sketch.tail else sketch.head  # a full head has been folded
        require(state.n_head <= full, name, "its head holds more than it may")
        sketch._state = state
        return sketch


def _rank(room: Room, size: dict[str, int]) -> tuple[int, ...]:
    """What of two rooms is the larger one: that which keeps more examples in the long run."""
    return (room.head, room.first, int(room.pairs), size.get("head", 0), size.get("memory", 0))
