"""A sketch as a tree for a file, and back only if some stream leads to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .fields import MOST_UNITS, Fields, Tree
from .head_ring import blocks_for, empty_head, relaid
from .keeping import NEWEST
from .kernels import fold as kernels
from .kernels.band import n_pairs
from .kernels.head import ROOM
from .kernels.scaled import LOG_UNIT
from .kernels.types import Head, Tail
from .tails import empty_tail

PARAMETERS = ("n_hypotheses", "order", "head", "tail", "smoothing", "forgetting", "correction")

LARGEST_ALPHA = MOST_UNITS * LOG_UNIT  # half the logarithm of the ratio of the largest sum to the smallest
# By how much two sums of the same weights may be apart, as a share of them: a digit for each example.
ROUNDING, MOST_ROUNDING = 1e-6, 1e-3


class SketchState(NamedTuple):
    """All that a sketch has learnt."""

    tail: Tail
    head: Head
    counters: NDArray[np.int64]
    now: NDArray[np.float64]
    decayed: bool  # whether α no longer is the tail's, though the head is empty

    @property
    def first(self) -> int:
        """The ring position of the head's oldest example."""
        return int(self.counters[kernels.FIRST])

    @property
    def n_head(self) -> int:
        """Examples in the head."""
        return int(self.counters[kernels.N])


def sketch_tree(parameters: dict[str, Any], state: SketchState) -> Tree:
    """What a file holds of a sketch; the head's ring is laid out anew, as small as it can be."""
    counters = state.counters.copy()
    counters[kernels.FIRST] &= 63
    head = relaid(state.head, state.first, state.n_head, blocks_for(state.n_head))
    arrays = {**state.tail._asdict(), **head._asdict(), "counters": counters, "now": state.now}
    return {"keep": NEWEST, **parameters, "decayed": state.decayed, **arrays}


def sketch_from_tree(fields: Fields) -> tuple[dict[str, Any], SketchState]:
    """A sketch's parameters and state from what a file holds; the parameters are the caller's to check."""
    parameters = {key: fields.plain(key) for key in PARAMETERS}
    state = _read_state(fields, parameters)
    _check(fields, state)
    return parameters, state


def _read_state(fields: Fields, parameters: dict[str, Any]) -> SketchState:
    J, K = parameters["n_hypotheses"], parameters["order"]
    # Before any memory is asked for: do the arrays have the size that J and K call for?
    fits = type(J) is int and type(K) is int and 1 <= K <= J <= fields.size("alpha")
    fields.require(fits, "n_hypotheses and order do not fit its arrays")
    pairs = n_pairs(J, K) if parameters["tail"] else 0
    fields.require(fields.size("p_plus") == pairs, "the number of pairs is wrong")
    tail = empty_tail(J, K, pairs=bool(parameters["tail"]))
    counters, now = np.zeros(kernels.N_COUNTERS, np.int64), np.ones(1)
    fields.fill({**tail._asdict(), "counters": counters, "now": now})
    n = int(counters[kernels.N])
    fields.require(0 <= n <= fields.size("weight"), "the head's count is wrong")
    head = empty_head(J, blocks_for(n))
    fields.fill(head._asdict())
    return SketchState(tail, head, counters, now, fields.flag("decayed"))


def _check(fields: Fields, state: SketchState) -> None:
    """Refuse a state that no stream of examples leads to."""
    tail, head, counters = state.tail, state.head, state.counters
    for key, p in (("p_plus", tail.p_plus), ("p_minus", tail.p_minus)):
        fields.require(((p >= 0.0) & (p <= 1.0)).all(), f"{key} must lie in [0, 1]")
    fields.require((np.abs(tail.alpha) < LARGEST_ALPHA).all(), "alpha must be finite")
    inside = (tail.share >= 0.0) & (tail.share <= kernels.MOST_SHARE)
    fields.require(inside.all(), "share is too large")
    usable = np.isfinite(tail.exp_alpha) & (tail.exp_alpha > 0.0)
    fields.require(usable.all(), "exp_alpha must be positive")
    moderate = np.where(np.abs(tail.alpha) < ROOM, tail.alpha, 0.0)
    agree = np.abs(np.log(tail.exp_alpha) - moderate) < 1e-9
    fields.require(agree.all(), "exp_alpha must be the exponential of alpha")
    fields.require_normal(
        W=(tail.W, tail.W_unit),
        total=(tail.total, tail.total_unit),
        weight=(head.weight, head.weight_unit),
        now=(state.now, counters[kernels.NOW_UNIT :][:1]),
    )
    fields.require(state.now[0] > 0.0, "now must be positive")
    first, n, now_unit, diverged, seen = (int(c) for c in counters)
    fits = 0 <= first < 64 and n <= seen < 1 << 60 and diverged in (0, 1)
    fields.require(fits, "its counters do not fit")
    # No example weighs more than the largest double does at present.
    fields.require((head.weight_unit <= now_unit + 5).all(), "weight is too large")
    if tail.p_plus.size == 0 and tail.alpha.size > 1:
        empty = not (tail.W.any() or tail.total.any() or tail.alpha.any())
        fields.require(empty, "a window has no tail")
    _check_first_row(fields, tail, seen)


def _check_first_row(fields: Fields, tail: Tail, n_seen: int) -> None:
    """All weight of the tail enters its first coordinate, or as much of it as the row says that it holds."""
    total = tail.total[0]
    if total == 0.0:
        fields.require(not tail.W.any(), "W does not fit total")
        return
    above = 256.0 * (tail.W_unit[0, :, 0] - tail.total_unit[0]).astype(np.float64)
    with np.errstate(over="ignore"):  # what is beyond all bounds is refused
        # A zero has no unit: it must not meet the power, which may be infinite.
        parts = [np.exp2(e) * W / total for W, e in zip(tail.W[0, :, 0], above, strict=True) if W > 0.0]
    held, share = min(float(sum(parts)), kernels.MOST_SHARE), float(tail.share[0, 0])
    apart = min(ROUNDING + n_seen * float(np.finfo(np.float64).eps), MOST_ROUNDING)
    fields.require(abs(held - share) < apart * max(1.0, share), "W does not fit total")
