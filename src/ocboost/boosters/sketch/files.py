"""A sketch as a tree for a file, and back only if some stream leads to it.

A sketch that keeps heavy examples, as a tree for a file, and back if it makes sense.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import MAX_SCALE_UNITS, Fields, Tree
from ocboost._kernels import fold as kernels
from ocboost._kernels.fold import NOW_UNIT, N
from ocboost._kernels.head import ROOM
from ocboost._kernels.heavy import PAD
from ocboost._kernels.memory import Head, Tail, n_pairs
from ocboost._kernels.scaled import LOG_UNIT
from ocboost.boosters.sketch.heavy_fold import HeavyState, blocks_of, empty_state, sums_at
from ocboost.boosters.sketch.settings import NEWEST
from ocboost.boosters.sketch.state import (
    blocks_for,
    empty_head,
    empty_light,
    empty_pairs,
    empty_tail,
    logs,
    relaid,
)

PARAMETERS = ("n_hypotheses", "order", "head", "tail", "smoothing", "forgetting", "correction")

LARGEST_ALPHA = (
    MAX_SCALE_UNITS * LOG_UNIT
)  # half the logarithm of the ratio of the largest sum to the smallest
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


HEAVY_PARAMETERS = ("n_hypotheses", "smoothing", "forgetting")  # and head or memory
ONE = 0x3C00  # the bits of 1 as float16


def heavy_tree(parameters: dict[str, Any], state: HeavyState) -> Tree:
    """What a file holds: the head as small as it can be."""
    state = state.copy(blocks_of(state.n_head))
    return {
        **parameters,
        **state.light._asdict(),
        **state.head._asdict(),
        "counters": state.counters,
        "now": state.now,
    }


def heavy_from_tree(fields: Fields) -> tuple[dict[str, Any], HeavyState]:
    """Parameters and state from what a file holds; the parameters are the caller's to check."""
    size = "memory" if "memory" in fields else "head"
    parameters = {key: fields.plain(key) for key in (*HEAVY_PARAMETERS, size)}
    fields.require(parameters[size] is not None, f"{size} must be a number")
    J = parameters["n_hypotheses"]
    fits = type(J) is int and 1 <= J == fields.size("anchor")
    fields.require(fits, "n_hypotheses does not fit its arrays")
    pairs = fields.size("delta")
    fields.require(pairs in (0, J * (J - 1) + 2 * PAD), "the number of pairs is wrong")
    light = empty_light(J)
    if pairs:
        light = light._replace(delta=empty_pairs(J))
    empty = empty_state(J)
    counters, now = empty.counters, empty.now
    fields.fill({**light._asdict(), "counters": counters, "now": now})
    n = int(counters[N])
    fields.require(0 <= n <= fields.size("weight"), "the head's count is wrong")
    head = empty_head(J, blocks_of(n))
    fields.fill(head._asdict())
    state = HeavyState(light, head, counters, now)
    _check_heavy(fields, state)
    return parameters, state


def _check_heavy(fields: Fields, state: HeavyState) -> None:
    """Refuse a state that no stream of examples leads to."""
    light, head, counters = state.light, state.head, state.counters
    first, n, now_unit, diverged, seen, n_light, folds = (int(c) for c in counters)
    fits = first == 0 and n <= seen < 1 << 60 and diverged == 0 and 0 <= n_light <= n and 0 <= folds <= seen
    fields.require(fits, "its counters do not fit")
    fields.require((np.abs(light.anchor) < LARGEST_ALPHA).all(), "anchor must be finite")
    fields.require(((light.delta & 0x7FFF) <= ONE).all(), "delta must lie between -1 and 1")
    fields.require_normal(
        L=(light.L, light.L_unit),
        A=(light.A, light.A_unit),
        weight=(head.weight, head.weight_unit),
        now=(state.now, counters[NOW_UNIT:][:1]),
    )
    fields.require(state.now[0] > 0.0, "now must be positive")
    exact = head.weight_unit[n_light:n]  # no example weighs more than the largest double does at present
    fields.require((exact <= now_unit + 5).all(), "weight is too large")
    fields.require(not head.weight[n:].any(), "there are weights of no example")
    if folds == 0:
        empty = n_light == 0 and not (
            light.L.any() or light.A.any() or light.anchor.any() or light.delta.any()
        )
        fields.require(empty, "nothing has been folded, and there are light sums")
        return
    _check_sums(fields, state)


def _check_sums(fields: Fields, state: HeavyState) -> None:
    """A is the sample's sums at the anchor, and all light weight that leaves a coordinate enters the next."""
    light = state.light
    expected, found = (
        logs(*sums_at(state.head, state.n_light, light.anchor[0])),
        logs(light.A[0], light.A_unit[0]),
    )
    L = logs(light.L[0], light.L_unit[0])
    with np.errstate(invalid="ignore", over="ignore"):
        agree = (found == expected) | (np.abs(found - expected) < 1e-6)
        fields.require(agree.all(), "A does not fit its sample")
        enters = np.logaddexp(L[0], L[1])
        leaves = np.logaddexp(L[0] - light.anchor[0], L[1] + light.anchor[0])
        flows = (leaves[:-1] == enters[1:]) | (np.abs(leaves[:-1] - enters[1:]) < 1e-6)
    fields.require(flows.all(), "L does not keep its total")
