"""A sketch that keeps heavy examples, as a tree for a file, and back if it makes sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from .carrying import HeavyState, blocks_of, empty_state, sums_at
from .fields import Fields, Tree
from .head_ring import empty_head
from .kernels.carried import PAD
from .kernels.fold import NOW_UNIT, N
from .light import empty_light, empty_pairs
from .scaled_logs import logs
from .sketch_file import LARGEST_ALPHA

PARAMETERS = ("n_hypotheses", "smoothing", "forgetting")  # and head or memory
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
    parameters = {key: fields.plain(key) for key in (*PARAMETERS, size)}
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
    _check(fields, state)
    return parameters, state


def _check(fields: Fields, state: HeavyState) -> None:
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
