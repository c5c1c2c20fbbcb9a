"""A sketch's state as a tree for a file, and back, but only if some stream of examples leads to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import MAX_SCALE_UNITS, Fields, Tree
from ocboost._kernels.arrays import Floats, Head, Ints, Tail, n_pairs
from ocboost._kernels.fold import MOST_SHARE, N_COUNTERS, NOW_UNIT, N
from ocboost._kernels.head import MAX_DRIFT
from ocboost._kernels.heavy import PAD
from ocboost._kernels.scaled import LOG_UNIT
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.heavy_fold import sums_at
from ocboost.boosters.sketch.settings import NEWEST
from ocboost.boosters.sketch.state import (
    HeavyState,
    NewestState,
    State,
    blocks_of,
    empty_head,
    empty_heavy,
    empty_pairs,
    empty_tail,
    logs,
    resized,
    ring_blocks,
)

# Half the logarithm of the ratio of the largest sum to the smallest.
LARGEST_ALPHA = MAX_SCALE_UNITS * LOG_UNIT
# By how much two sums of the same weights may differ, as a share of them: a digit for each example.
ROUNDING, MOST_ROUNDING = 1e-6, 1e-3
HALF_ONE = 0x3C00  # the bits of 1 as float16


def _tree(arguments: Settings, state: State, n_blocks: int) -> Tree:
    """What a file holds of either state; the head is as small as it can be."""
    sums, head, counters, now = resized(state, n_blocks)[:4]
    return {**arguments, **sums._asdict(), **head._asdict(), "counters": counters, "now": now}


def _read_head(
    fields: Fields, J: int, sums: dict[str, NDArray[Any]], counters: Ints, blocks: Callable[[int], int]
) -> tuple[Head, Floats]:
    """Fill the sums and counters, and read as many examples as these say and what one weighs at present."""
    now = np.ones(1)
    fields.fill({**sums, "counters": counters, "now": now})
    n = int(counters[N])
    fields.require(0 <= n <= fields.size("weight"), "the head's count is wrong")
    head = empty_head(J, blocks(n))
    fields.fill(head._asdict())
    return head, now


def _check_weights(fields: Fields, state: State, heaviest: NDArray[np.int32]) -> None:
    """No example weighs more than the largest double does at present."""
    _, head, counters, now = state[:4]
    fields.require_normal(
        weight=(head.weight, head.weight_unit), now=(now, counters[NOW_UNIT : NOW_UNIT + 1])
    )
    fields.require(now[0] > 0.0, "now must be positive")
    fields.require((heaviest <= int(counters[NOW_UNIT]) + 5).all(), "weight is too large")


# The newest examples --------------------------------------------------------------------------------------


def newest_tree(arguments: Settings, state: NewestState) -> Tree:
    """What a file holds of a sketch that keeps the newest examples."""
    start = {"keep": NEWEST, **arguments, "decayed": state.decayed}
    return _tree(start, state, ring_blocks(state.n_head))


def newest_from_tree(fields: Fields, arguments: Settings) -> NewestState:
    """The state from what a file holds; the caller checks what makes the sketch."""
    J, K, has_tail = arguments["n_hypotheses"], arguments["order"], bool(arguments["tail"])
    # Before any memory is asked for: do the arrays have the size that J and K call for?
    fits = type(J) is int and type(K) is int and 1 <= K <= J <= fields.size("alpha")
    fields.require(fits, "n_hypotheses and order do not fit its arrays")
    pairs = n_pairs(J, K) if has_tail else 0
    fields.require(fields.size("p_plus") == pairs, "the number of pairs is wrong")
    tail, counters = empty_tail(J, K, pairs=has_tail), np.zeros(N_COUNTERS, np.int64)
    head, now = _read_head(fields, J, tail._asdict(), counters, ring_blocks)
    state = NewestState(tail, head, counters, now, fields.flag("decayed"))
    _check_newest(fields, state)
    return state


def _check_newest(fields: Fields, state: NewestState) -> None:
    """Refuse a state that no stream of examples leads to."""
    tail, head = state.tail, state.head
    for key, p in (("p_plus", tail.p_plus), ("p_minus", tail.p_minus)):
        fields.require(((p >= 0.0) & (p <= 1.0)).all(), f"{key} must lie in [0, 1]")
    fields.require((np.abs(tail.alpha) < LARGEST_ALPHA).all(), "alpha must be finite")
    inside = (tail.share >= 0.0) & (tail.share <= MOST_SHARE)
    fields.require(inside.all(), "share is too large")
    usable = np.isfinite(tail.exp_alpha) & (tail.exp_alpha > 0.0)
    fields.require(usable.all(), "exp_alpha must be positive")
    moderate = np.where(np.abs(tail.alpha) < MAX_DRIFT, tail.alpha, 0.0)
    agree = np.abs(np.log(tail.exp_alpha) - moderate) < 1e-9
    fields.require(agree.all(), "exp_alpha must be the exponential of alpha")
    fields.require_normal(W=(tail.W, tail.W_unit), total=(tail.total, tail.total_unit))
    first, n, _, diverged, seen = (int(c) for c in state.counters)
    fits = 0 <= first < 64 and n <= seen < 1 << 60 and diverged in (0, 1)
    fields.require(fits, "its counters do not fit")
    _check_weights(fields, state, head.weight_unit)
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
    held, share = min(float(sum(parts)), MOST_SHARE), float(tail.share[0, 0])
    apart = min(ROUNDING + n_seen * float(np.finfo(np.float64).eps), MOST_ROUNDING)
    fields.require(abs(held - share) < apart * max(1.0, share), "W does not fit total")


# Heavy examples -------------------------------------------------------------------------------------------


def heavy_tree(arguments: Settings, state: HeavyState) -> Tree:
    """What a file holds of a sketch that keeps heavy examples."""
    return _tree(arguments, state, blocks_of(state.n_head))


def heavy_from_tree(fields: Fields, arguments: Settings) -> HeavyState:
    """The state from what a file holds; the caller checks what makes the sketch."""
    J, size = arguments["n_hypotheses"], "memory" if "memory" in arguments else "head"
    fields.require(arguments[size] is not None, f"{size} must be a number")
    fits = type(J) is int and 1 <= J == fields.size("anchor")
    fields.require(fits, "n_hypotheses does not fit its arrays")
    pairs = fields.size("delta")
    fields.require(pairs in (0, J * (J - 1) + 2 * PAD), "the number of pairs is wrong")
    light, _, counters, _ = empty_heavy(J)
    if pairs:
        light = light._replace(delta=empty_pairs(J))
    head, now = _read_head(fields, J, light._asdict(), counters, blocks_of)
    state = HeavyState(light, head, counters, now)
    _check_heavy(fields, state)
    return state


def _check_heavy(fields: Fields, state: HeavyState) -> None:
    """Refuse a state that no stream of examples leads to."""
    light, head = state.light, state.head
    first, n, _, diverged, seen, n_light, folds = (int(c) for c in state.counters)
    fits = first == 0 and n <= seen < 1 << 60 and diverged == 0 and 0 <= n_light <= n and 0 <= folds <= seen
    fields.require(fits, "its counters do not fit")
    fields.require((np.abs(light.anchor) < LARGEST_ALPHA).all(), "anchor must be finite")
    fields.require(((light.delta & 0x7FFF) <= HALF_ONE).all(), "delta must lie between -1 and 1")
    fields.require_normal(L=(light.L, light.L_unit), A=(light.A, light.A_unit))
    _check_weights(fields, state, head.weight_unit[n_light:n])
    fields.require(not head.weight[n:].any(), "there are weights of no example")
    if folds == 0:
        some = n_light or light.L.any() or light.A.any() or light.anchor.any() or light.delta.any()
        fields.require(not some, "nothing has been folded, and there are light sums")
        return
    _check_sums(fields, state)


def _check_sums(fields: Fields, state: HeavyState) -> None:
    """A is the sample's sums at the anchor, and all light weight that leaves a coordinate enters the next."""
    light, anchor = state.light, state.light.anchor[0]
    expected, found = logs(*sums_at(state.head, state.n_light, anchor)), logs(light.A[0], light.A_unit[0])
    L = logs(light.L[0], light.L_unit[0])
    with np.errstate(invalid="ignore", over="ignore"):
        agree = (found == expected) | (np.abs(found - expected) < 1e-6)
        fields.require(agree.all(), "A does not fit its sample")
        enters = np.logaddexp(L[0], L[1])
        leaves = np.logaddexp(L[0] - anchor, L[1] + anchor)
        flows = (leaves[:-1] == enters[1:]) | (np.abs(leaves[:-1] - enters[1:]) < 1e-6)
    fields.require(flows.all(), "L does not keep its total")
