"""A sketch that keeps heavy examples, as parameters and arrays for a file, and back if it makes sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from .carrying import HeavyState, blocks_of, empty_state, sums_at
from .head_ring import empty_head
from .kernels.carried import PAD
from .kernels.fold import NOW_UNIT, N
from .light import empty_light, empty_pairs
from .scaled_logs import logs
from .sketch_file import LARGEST_ALPHA
from .storage import Arrays, fill, require, require_normal

PARAMETERS = {"n_hypotheses", "smoothing", "forgetting", "keep"}  # and head or memory
ONE = 0x3C00  # the bits of 1 as float16


def heavy_parts(parameters: dict[str, Any], state: HeavyState) -> tuple[dict[str, Any], Arrays]:
    """What a file holds: the head as small as it can be."""
    state = state.copy(blocks_of(state.n_head))
    arrays = {**state.light._asdict(), **state.head._asdict(), "counters": state.counters, "now": state.now}
    return parameters, arrays


def heavy_from_parts(
    parameters: dict[str, Any], arrays: Arrays, name: str
) -> tuple[dict[str, Any], HeavyState]:
    """Parameters and state from what a file holds; the parameters are the caller's to check."""
    arrays = dict(arrays)
    known = set(parameters) in (PARAMETERS | {"head"}, PARAMETERS | {"memory"})
    require(known, name, f"its parameters must be {', '.join(sorted(PARAMETERS))}, and head or memory")
    J = parameters["n_hypotheses"]
    fits = type(J) is int and "anchor" in arrays and 1 <= J == arrays["anchor"].size
    require(fits, name, "n_hypotheses does not fit its arrays")
    pairs = arrays["delta"].size if "delta" in arrays else -1
    require(pairs in (0, J * (J - 1) + 2 * PAD), name, "the number of pairs is wrong")
    light = empty_light(J)
    if pairs:
        light = light._replace(delta=empty_pairs(J))
    empty = empty_state(J)
    counters, now = empty.counters, empty.now
    for key, like in {**light._asdict(), "counters": counters, "now": now}.items():
        fill(like, arrays.pop(key, None), name, key)
    n = int(counters[N])
    held = arrays["weight"].size if "weight" in arrays else 0
    require(0 <= n <= held, name, "the head's count is wrong")
    head = empty_head(J, blocks_of(n))
    for key, like in head._asdict().items():
        fill(like, arrays.pop(key, None), name, key)
    require(not arrays, name, f"it holds unknown arrays: {', '.join(arrays)}")
    state = HeavyState(light, head, counters, now)
    _check(name, state)
    return parameters, state


def _check(name: str, state: HeavyState) -> None:
    """Refuse a state that no stream of examples leads to."""
    light, head, counters = state.light, state.head, state.counters
    first, n, now_unit, diverged, seen, n_light, folds = (int(c) for c in counters)
    fits = first == 0 and n <= seen < 1 << 60 and diverged == 0 and 0 <= n_light <= n and 0 <= folds <= seen
    require(fits, name, "its counters do not fit")
    require(bool((np.abs(light.anchor) < LARGEST_ALPHA).all()), name, "anchor must be finite")
    require(bool(((light.delta & 0x7FFF) <= ONE).all()), name, "delta must lie between -1 and 1")
    require_normal(
        name,
        L=(light.L, light.L_unit),
        A=(light.A, light.A_unit),
        weight=(head.weight, head.weight_unit),
        now=(state.now, counters[NOW_UNIT:][:1]),
    )
    require(bool(state.now[0] > 0.0), name, "now must be positive")
    exact = head.weight_unit[n_light:n]  # no example weighs more than the largest double does at present
    require(bool((exact <= now_unit + 5).all()), name, "weight is too large")
    require(not head.weight[n:].any(), name, "there are weights of no example")
    if folds == 0:
        empty = n_light == 0 and not (
            light.L.any() or light.A.any() or light.anchor.any() or light.delta.any()
        )
        require(empty, name, "nothing has been folded, and there are light sums")
        return
    _check_sums(name, state)


def _check_sums(name: str, state: HeavyState) -> None:
    """A is the sample's sums at the anchor, and all light weight that leaves a coordinate enters the next."""
    light = state.light
    expected, found = (
        logs(*sums_at(state.head, state.n_light, light.anchor[0])),
        logs(light.A[0], light.A_unit[0]),
    )
    L = logs(light.L[0], light.L_unit[0])
    with np.errstate(invalid="ignore", over="ignore"):
        agree = (found == expected) | (np.abs(found - expected) < 1e-6)
        require(bool(agree.all()), name, "A does not fit its sample")
        enters = np.logaddexp(L[0], L[1])
        leaves = np.logaddexp(L[0] - light.anchor[0], L[1] + light.anchor[0])
        flows = (leaves[:-1] == enters[1:]) | (np.abs(leaves[:-1] - enters[1:]) < 1e-6)
    require(bool(flows.all()), name, "L does not keep its total")
