"""The boosting sketch: AdaBoost's weights over fixed hypotheses, example by example, without the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_array, as_count, as_margins, as_remaining
from ocboost._core.codec import Fields, Tree
from ocboost._core.locks import locks_of, reads, written
from ocboost._ctrl_c import uninterrupted
from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.tail import CORRECTIONS, KEEPS_TOTAL
from ocboost.boosters.base import Settings, SummingBooster
from ocboost.boosters.sketch.heavy import HeavyStore
from ocboost.boosters.sketch.newest import NewestStore
from ocboost.boosters.sketch.settings import (
    HEAVY,
    NEWEST,
    ORDER_ADVICE,
    check_correction,
    check_tail,
    order_within,
    plan_head,
)
from ocboost.boosters.sketch.store import Store
from ocboost.errors import InputError


class BoostingSketch(SummingBooster):
    """Online Coordinate Boosting over the margins of J fixed hypotheses.

    A **head** keeps some examples exactly, as bits. A **tail** keeps the sums W⁺ and W⁻ of all others, with
    the α they were taken at. While the stream fits in the head, the weights are AdaBoost's own. With
    ``head=1`` this is the paper's algorithm 1, its sign error mended and the total weight kept.

    A larger head keeps the examples that weigh, and a weighted sample carries the sums of the rest
    (``ocboost._kernels.heavy``): AdaBoost's weight lies on few examples, so this comes far closer to it than
    the newest examples in the same bytes (``keep="newest"``).

    Parameters
    ----------
    n_hypotheses : int
        J, the number of weak hypotheses; their order is the order of boosting.
    order : int, optional
        K: how many earlier coordinates each correction looks back to, all of them if left out. Memory is
        ``2 (J K - K²/2) 8`` bytes.
    head : int or "auto", default 1
        How many examples are kept. 1 is the paper's algorithm. "auto" takes twice the bytes of the sums of
        all pairs: 160 kB at J = 100, 2.5 MB at 400, 37 MB at 1,520. Of the newest, these are the sums and as
        many examples as take the same.
    tail : bool, default True
        False makes a window: AdaBoost on the last ``head`` examples and nothing else.
    smoothing : float, default 1.0
        ε, in units of sample weight: with weights of one it is worth so many examples.
        ``α_j = ½ log((W⁺_jj + ε_j) / (W⁻_jj + ε_j))``, ``ε_j = ε (W⁺_jj + W⁻_jj) / Σw``. Weights that sum to
        one need a smaller ε.
    forgetting : float, default 1.0
        λ in (0, 1]: at time n example i weighs ``w_i λ^(n-i)``. 1 forgets nothing.
    correction : {"balanced", "own", "theorem", "listing"}, default "balanced"
        How the tail follows a change of α. "listing" is the paper's listing as printed, for study;
        "theorem" mends its sign; "own" gives each pair sum its own factor exactly; "balanced" does so too
        and keeps the total weight, which bounds every α by ``½ log(1 + Σw/ε)`` from a cold start on.
    keep : {"heavy", "newest"}, optional
        Which examples the head keeps. "heavy" keeps those that weigh most over all coordinates, exactly, and
        a weighted sample of the others; it needs a tail, every earlier coordinate (``order=None``), the
        balanced correction and a head of more than one example. "newest" keeps the last ones. Left out, it is
        "heavy" wherever that can be.
    memory : int, optional
        Bytes for sums and examples, instead of ``head``. With heavy examples a share goes to differences of
        pairs, ``2 J²`` bytes, if these take at most half of it; until the first fold all of it holds
        examples. With a ``head`` in examples there are pairs if it holds at least J. While a fold lasts it
        takes more: with an automatic head about 4.8 times as much again at J = 100, 2.4 times at 400 and 1.4
        times at 1,520 (of the newest 2.7, 1.2 and 0.8 times).

    Notes
    -----
    The head folds at ``max(head, batch_size)`` examples, and at the end of a batch if it holds ``head`` or
    more: a ``batch_size`` up to ``head`` never changes the result, which is that of ``update`` in a loop bit
    for bit; a larger one adds that many at once, and pays the corrections once for them. All of them at
    once, for an empty sketch, is batch AdaBoost, and that is what ``from_margins`` does: rows that fit stay
    in the head; otherwise some go to the tail as AdaBoost's exact sums: of the newest the oldest, and an
    eighth of the head; of the heavy the lightest, and a quarter, or a sixteenth where there are no pairs.

    ``update`` and ``update_many`` never solve for α but when the head is folded into the tail; reading
    ``alpha`` does, changes nothing, and is cached until the next example. A read costs about 0.1 ns · J ·
    (examples in the head) and little for the pairs: 1 ms at J = 400 and 18 ms at J = 1520 with an automatic
    head, next to nothing with ``head=1``.

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
    settings = ("order", "head", "memory", "keep", "tail", "smoothing", "forgetting", "correction")
    can_grow = True
    can_correct = True

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
        K = J if order is None else as_count(order, "order", 1, J, ORDER_ADVICE)
        self._order, self._has_tail, self._correction = K, check_tail(tail), check_correction(correction)
        self._given: Settings = {"order": order, "head": head, "memory": memory, "keep": keep}
        self._plan = plan_head(J, **self._given, tail=self._has_tail, correction=correction)
        past: Settings = {"smoothing": self._smoothing, "forgetting": self._forgetting}
        self._store: Store
        if self._plan.capacity is not None:
            self._store = HeavyStore(J, self._plan, **past)
        else:
            how: Settings = {"order": K, "tail": self._has_tail, "correction": correction}
            self._store = NewestStore(J, self._plan.head or 0, **how, **past)

    # What it was made with -------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """K: how many earlier coordinates each correction looks back to."""
        return self._order

    @property
    def head(self) -> int:
        """How many examples may be kept; of heavy ones in a given memory fewer once the first have left."""
        return self._store.limit

    @property
    def keep(self) -> str:
        """Which examples the head keeps, "heavy" or "newest"."""
        return self._plan.keep

    @property
    def memory(self) -> int | None:
        """The bytes that heavy examples and their sums may take, if they were given so."""
        return self._plan.memory

    @property
    def tail(self) -> bool:
        """Whether examples that leave the head live on in the sums."""
        return self._has_tail

    @property
    def correction(self) -> str:
        """How the tail follows a change of α."""
        return self._correction

    @property
    def window_size(self) -> int | None:
        """The size of a window; None where there is a tail."""
        return None if self._has_tail else self.head

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self._store.arrays

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self._arguments.items() if k != "n_hypotheses")
        return f"BoostingSketch({self._J}, {given})"

    @property
    def _arguments(self) -> Settings:
        """What makes such a sketch: `merge` compares it, and files hold it."""
        names = _names_of_arguments(self.keep, has_memory=self.memory is not None)
        rule = {"keep": HEAVY} if self.keep == HEAVY else {}
        return {"n_hypotheses": self._J, **{name: getattr(self, name) for name in names}, **rule}

    def _arguments_for(self, n_hypotheses: int) -> Settings:
        """The same for another number of hypotheses; full order stays full."""
        arguments = {**self._arguments, "n_hypotheses": n_hypotheses}
        if "order" in arguments:
            full = self._order == self._J
            arguments["order"] = n_hypotheses if full else min(self._order, n_hypotheses)
        return arguments

    # What it holds ---------------------------------------------------------------------------------------

    @property
    @reads
    def n_head(self) -> int:
        """Examples in the head now; among heavy ones is the sample of those that have left."""
        return self._store.n_head

    @property
    @reads
    def head_margins(self) -> Int8s:
        """The margins of the examples in the head, (n_head, J), in the order that `appended` wants.

        The newest are in the order of age, oldest first. Of heavy ones those that are a sample of the light
        ones go first, then those kept exactly, each oldest first.
        """
        return self._store.rows()

    @property
    @reads
    def nbytes(self) -> int:
        """Bytes of the sums and of the head."""
        return self._store.nbytes

    @property
    def diverged(self) -> bool:
        """Whether an unbalanced correction has left its range, so that the weights are meaningless.

        Some ``|α|`` would have passed 1,000 and was held there, or the sums of some row have grown to ten
        times the weight of all examples, which AdaBoost's never do. "balanced" cannot diverge.
        """
        if CORRECTIONS[self._correction] & KEEPS_TOTAL:
            return False
        diverged: bool = self._guard.view(self._weights)[1]
        return diverged

    def _weights(self) -> tuple[Floats, bool]:
        """α, and whether it has diverged."""
        return self._store.solved()

    @staticmethod
    def _alpha_of(view: Any) -> Floats:
        alpha: Floats = view[0]
        return alpha

    # Learning --------------------------------------------------------------------------------------------

    def _decay(self, factor: float) -> None:
        self._store.decay(factor)

    def advance(self, rows: Int8s, weights: Floats, labels: Int8s | None) -> Floats:
        """Take in examples that have been checked, one by one, and give α, which must not be changed.

        Parameters
        ----------
        rows : int8 array of shape (n, J)
            Margins.
        weights : float64 array of shape (n,)
            Sample weights.
        labels : int8 array of shape (n,) or None
            The classes, ±1.

        Returns
        -------
        array of shape (J,)
            The weights after the last one.
        """
        alpha = self._store.advance(rows, weights, self._guard.publish)
        self._n += len(rows)
        self._guard._present = None
        return alpha

    def _take(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        # What `writes` does, by hand: its cost would be that of every single example.
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

    def _take_all(self, rows: Int8s, weights: Floats, batch_size: int) -> None:
        store, publish = self._store, self._guard.publish
        if len(rows) == 1:  # without what several need
            with uninterrupted():
                store.take(rows, weights, batch_size, publish)
                self._n += 1
            return

        def learn(part: slice) -> None:
            store.take(rows[part], weights[part], batch_size, publish)

        self._in_calls(len(rows), batch_size, store.cost, learn)

    def folds_long(self, n: int, batch_size: int = 1) -> bool:
        """Whether taking in n examples more brings a fold that is long (``fold.is_long``).

        Parameters
        ----------
        n : int
            How many.
        batch_size : int, default 1
            Examples added at once.

        Returns
        -------
        bool
            Whether readers should not wait for it.
        """
        return self._store.folds_long(n, batch_size)

    # Copies ----------------------------------------------------------------------------------------------

    @reads
    def copy(self) -> Self:
        """A sketch of its own with the same state.

        Returns
        -------
        BoostingSketch
            It learns by itself.
        """
        other = type(self)(**{"keep": self.keep, **self._arguments})
        other._store, other._given, other._n = self._store.copy(), self._given, self._store.n_seen
        return other

    def emptied(self) -> Self:
        """A sketch made alike that has learnt nothing, to be merged with this one later.

        Returns
        -------
        BoostingSketch
            With the same parameters.
        """
        return type(self)(**{"keep": self.keep, **self._arguments})

    def _changed(self, parameters: dict[str, Any], fill: Callable[[Any], None]) -> Self:
        """A new sketch, of the same rule unless the parameters say another, with its store filled."""
        other = type(self)(**{"keep": self.keep, **parameters})
        fill(other._store)
        other._n = other._store.n_seen
        return other

    def with_state(self, state: Any) -> Self:
        """The sketch itself, which has learnt nothing so far, with a state that was found elsewhere.

        Parameters
        ----------
        state : object
            A state of the store.

        Returns
        -------
        BoostingSketch
            This object.
        """
        self._store.state = state
        self._n = self._store.n_seen
        return self

    @reads
    def remade(self, **changes: Any) -> Self:
        """A sketch of the same examples with another head, tail, smoothing or forgetting.

        A window keeps what it needs of the head, and what was in the tail is lost. A smaller head folds its
        oldest or lightest examples. ``memory`` instead of ``head``, or another ``keep``, can be given too:
        from heavy to newest the light examples become the tail, and α is unchanged; from newest to heavy only
        while nothing has been folded. Heavy examples are not the last ones: a window of a sketch that kept
        them begins empty, unless it still held all. ``head=1`` keeps the newest.

        Parameters
        ----------
        **changes : object
            Parameters of `BoostingSketch` by name: ``head``, ``memory``, ``keep``, ``tail``, ``smoothing``,
            ``forgetting``.

        Returns
        -------
        BoostingSketch
            A copy; this one is not changed.

        Raises
        ------
        InputError
            If a parameter cannot be changed, or not to this value.

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
                f"{', '.join(fixed)}. Make a new sketch for others."
            )
        return self._changed(self._with_changes(changes), lambda store: store.fill(self._store))

    def _with_changes(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Its parameters with changes: head and memory replace each other, and a rule brings its own."""
        known = self._arguments
        rule = self.keep if changes.get("keep") is None else changes["keep"]
        alone = changes.get("head") == 1 and changes.get("memory") is None
        if changes.get("keep") is None and (alone or not changes.get("tail", True)):
            rule = NEWEST
        if rule != self.keep:
            for name in ("keep", "memory", "order" if self._order == self._J else ""):
                known.pop(name, None)
            known["head"] = self.head
        if "memory" in changes:
            known.pop("head", None)
        elif "head" in changes:
            known.pop("memory", None)
        return {**known, **changes, "keep": rule}

    # Settings, as a classifier has them --------------------------------------------------------------------

    @classmethod
    def create(cls, n_hypotheses: int, settings: Settings) -> Self:
        """A new one; where there are fewer hypotheses than ``order`` it looks back to all of them.

        Parameters
        ----------
        n_hypotheses : int
            J.
        settings : dict
            Parameters by name.

        Returns
        -------
        Booster
            It has learnt nothing.
        """
        sketch = cls(n_hypotheses, **{**settings, "order": order_within(n_hypotheses, settings["order"])})
        sketch._given["order"] = settings["order"]
        return sketch

    @classmethod
    def check_settings(cls, settings: Settings, n_hypotheses: int = 1) -> None:
        """Refuse settings that no sketch of so many hypotheses can have; unknown ones are ignored.

        Parameters
        ----------
        settings : dict
            Parameters by name.
        n_hypotheses : int, default 1
            J.
        """
        cls._of(settings, n_hypotheses)

    @classmethod
    def _of(cls, settings: Settings, n_hypotheses: int) -> Self:
        """One with these settings that takes little memory: for the newest examples a window."""
        given = {key: settings[key] for key in cls.settings}
        given["order"] = order_within(n_hypotheses, given["order"])
        check_tail(given["tail"], bool)
        check_correction(given["correction"])
        wanted = ("order", "head", "memory", "keep", "tail", "correction")
        plan = plan_head(n_hypotheses, **{key: given[key] for key in wanted})
        if plan.keep != HEAVY:
            given |= {"tail": False, "keep": NEWEST, "memory": None, "head": plan.head}
        return cls(n_hypotheses, **given)

    @property
    def given_settings(self) -> Settings:
        """Its settings by name, as they were given."""
        return {name: self._given.get(name, getattr(self, name)) for name in self.settings}

    def has_settings(self, settings: Settings) -> bool:
        """Whether it has these settings; without ``keep``, any rule will do.

        Parameters
        ----------
        settings : dict
            Parameters by name.

        Returns
        -------
        bool
            True if no parameter differs.
        """
        if set(settings) != set(self.settings) or type(settings["tail"]) is not bool:
            return False
        keep = self.keep if settings["keep"] is None else settings["keep"]
        try:
            expected = self._of({**settings, "keep": keep}, self._J)
        except InputError:
            return False
        heavy = self.keep == HEAVY
        sizes = expected._plan.capacity == self._plan.capacity if heavy else expected.head == self.head
        names = [name for name in self.settings if name not in ("head", "tail")]
        same = all(getattr(expected, name) == getattr(self, name) for name in names)
        return settings["tail"] == self.tail and sizes and same

    def with_settings(self, settings: Settings, before: Settings) -> Self:
        """A sketch of the same examples with other settings, where that is possible (`remade`).

        Parameters
        ----------
        settings : dict
            Parameters by name.
        before : dict
            Those it was made with.

        Returns
        -------
        Booster
            A copy; this one is not changed.
        """
        self.check_settings(settings, self._J)
        changes = {k: v for k, v in settings.items() if isinstance(v, np.ndarray) or v != before[k]}
        # Their meaning depends on each other and on the rest.
        changes |= {"head": settings["head"], "memory": settings["memory"]}
        return self.remade(**changes)

    # More and fewer hypotheses ----------------------------------------------------------------------------

    @reads
    def appended(self, margins: ArrayLike) -> Self:
        """A sketch of the same examples with further hypotheses after those it has.

        The new ones learn from the examples in the head, and all later ones; of those in the tail nothing is
        known, and of light examples what their sample says. While nothing has been folded the
        result is the same as with them from the start. Full order stays full.

        Parameters
        ----------
        margins : array of shape (n_head, k)
            The margins of the k new hypotheses for the examples in the head, in the order of `head_margins`:
            of the newest, oldest first.

        Returns
        -------
        BoostingSketch
            A copy; this one is not changed.

        Raises
        ------
        InputError
            If the margins are not those of the head.

        Examples
        --------
        >>> margins = np.where(np.random.default_rng(0).random((50, 3)) < [0.8, 0.7, 0.6], 1, -1)
        >>> sketch = BoostingSketch.from_margins(margins[:, :2], head=100).appended(margins[:, 2:])
        >>> bool(np.allclose(sketch.alpha, BoostingSketch.from_margins(margins, head=100).alpha))
        True
        """
        given = as_array(margins)
        if given.ndim != 2 or given.shape[0] != self.n_head or given.shape[1] == 0:
            raise InputError(
                f"margins must be one row for each of the {self.n_head} examples in the head and one column "
                f"for each new hypothesis; got shape {given.shape}. Let the new hypotheses answer these "
                "examples, in the order of head_margins."
            )
        rows = as_margins(given) if self.n_head else np.empty(given.shape, np.int8)
        J = self._J + rows.shape[1]
        return self._changed(self._arguments_for(J), lambda store: store.fill_appended(self._store, rows))

    @reads
    def without(self, members: ArrayLike) -> Self:
        """A sketch without some of the hypotheses, as if their weights had become zero.

        Exact for the examples in the head; the tail, or the light sums, follow as they do a change of α, so
        it loses little where the weights were small.

        Parameters
        ----------
        members : array of int
            Which to leave out; one must stay.

        Returns
        -------
        BoostingSketch
            A copy; this one is not changed.

        Raises
        ------
        InputError
            If there are no such hypotheses, or none would stay.

        Examples
        --------
        >>> margins = np.where(np.random.default_rng(0).random((50, 3)) < [0.8, 0.7, 0.6], 1, -1)
        >>> sketch = BoostingSketch.from_margins(margins, head=100).without([1])
        >>> bool(np.allclose(sketch.alpha, BoostingSketch.from_margins(margins[:, [0, 2]], head=100).alpha))
        True
        """
        keep = as_remaining(members, self._J)
        if self._order != self._J and self._has_tail:
            raise InputError(
                f"hypotheses can be left out at full order only; got order {self._order} of {self._J}. Make "
                "the sketch with order=None."
            )
        arguments = self._arguments_for(keep.size)
        return self._changed(arguments, lambda store: store.fill_without(self._store, keep))

    # Merging ---------------------------------------------------------------------------------------------

    def merge(self, other: BoostingSketch) -> Self:
        """A new sketch of both streams; ``self + other`` is the same.

        Everything but ``head`` and ``memory`` must match; the larger of them is taken. Two sketches whose
        examples all fit in it merge exactly. Otherwise the result is an approximation: heavy examples keep it
        close; of the newest it is close when the streams are alike, and no better than averaging the weights
        when there are many hypotheses and the streams differ. The order of the two does not matter, to the
        last bit.

        Parameters
        ----------
        other : BoostingSketch
            Of other examples of the same hypotheses.

        Returns
        -------
        BoostingSketch
            Neither of the two is changed.

        Raises
        ------
        InputError
            If the other is no sketch, or differs in a parameter that must match.
        """
        if not isinstance(other, BoostingSketch):
            raise InputError(
                f"other must be a BoostingSketch; got {type(other).__name__}. Make one with BoostingSketch."
            )
        if self.keep != other.keep:
            raise _do_not_match("keep", self.keep, other.keep)
        mine, others = self._arguments, other._arguments
        sizes: list[dict[str, Any]] = [
            {name: each.pop(name) for name in ("head", "memory") if name in each} for each in (mine, others)
        ]
        for name, value in mine.items():
            if others[name] != value:
                raise _do_not_match(name, value, others[name])
        first, second = locks_of(self, other)
        with first, second:
            larger = sizes[0 if self._store.size > other._store.size else 1]
            stores = (self._store, other._store)
            return self._changed({**mine, **larger}, lambda store: store.fill_merged(*stores))

    # Saving ----------------------------------------------------------------------------------------------

    @reads
    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return self._store.tree(self._arguments)

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A sketch of what `tree` gave, which learns on exactly as that one would have.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Booster
            It learns on exactly as that one would have.
        """
        keep = fields.text("keep")
        fields.require(keep in (HEAVY, NEWEST), f"keep must be {HEAVY!r} or {NEWEST!r}")
        names = _names_of_arguments(keep, has_memory="memory" in fields)
        arguments = {"n_hypotheses": fields.plain("n_hypotheses"), **cls.read_settings(fields, names)}
        state = (HeavyStore if keep == HEAVY else NewestStore).read(fields, arguments)
        sketch = fields.make(cls, **arguments, keep=keep)
        sketch._store.resume(state, fields)
        sketch._n = sketch._store.n_seen
        return sketch


def _names_of_arguments(keep: str, *, has_memory: bool) -> list[str]:
    """Which settings make a sketch of this rule, besides ``keep``; it fixes the others."""
    fixed = {"keep", "memory"}
    if keep == HEAVY:
        fixed = {"keep", "order", "tail", "correction", "head" if has_memory else "memory"}
    return [name for name in BoostingSketch.settings if name not in fixed]


def _do_not_match(name: str, here: object, there: object) -> InputError:
    return InputError(
        f"other must have the same {name} to be merged: {here!r} here, {there!r} there. Sketches that are to "
        "be merged are made with the same parameters, head and memory aside."
    )
