"""Merging two sketches that keep heavy examples: both light parts re-based to the α of everything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .carrying import FOLDS, N_LIGHT, HeavyState, blocks_of, fold
from .head_ring import empty_head
from .kernels.carried import make_estimate, take_bits
from .kernels.fold import NOW_UNIT, SEEN, N
from .kernels.scaled import rescale
from .kernels.types import Light
from .light import Room, empty_light, empty_pairs


def merge(a: HeavyState, b: HeavyState, room: Room, smoothing: float) -> HeavyState:
    """Both sides together, in the weights of the present; the heaviest of both are kept.

    The sides are put in an order that their contents give, so that it does not matter which is named first.
    """
    sides = sorted((_at_present(a), _at_present(b)), key=_contents)
    both, bounds = _side_by_side(*sides)
    folds = both.folds > 0
    n, limit = both.n_head, room.head if folds else room.first
    if n < limit and bounds.size == 3:
        return both
    estimate = make_estimate(both.light.anchor.shape[1], bounds.size - 2, n)
    return fold(both, bounds, room, room.after_fold if n >= limit else n, smoothing, estimate)


def _at_present(side: HeavyState) -> HeavyState:
    """The same with the weights that everything has at present, where an example of weight one weighs one."""
    state = side.copy(max(1, blocks_of(side.n_head)))
    now, now_unit = state.now[0], state.counters[NOW_UNIT]
    light, head = state.light, state.head
    for value, unit in (
        (light.L, light.L_unit),
        (light.A, light.A_unit),
        (head.weight, head.weight_unit),
    ):
        units = unit.reshape(-1).astype(np.int64)
        rescale(value.reshape(-1), units, now, now_unit)
        unit[...] = units.reshape(unit.shape)
    state.now[0], state.counters[NOW_UNIT] = 1.0, 0
    return state


def _contents(side: HeavyState) -> tuple[bytes, ...]:
    arrays: tuple[NDArray[Any], ...] = (side.counters, *side.head, *side.light)
    return tuple(array.tobytes() for array in arrays)


def _side_by_side(a: HeavyState, b: HeavyState) -> tuple[HeavyState, NDArray[np.int64]]:
    """Both samples, then both sides' exact examples by age, counted from the newest; and where they begin."""
    words = np.concatenate([a.head.words, b.head.words])
    weight = np.concatenate([a.head.weight, b.head.weight])
    unit = np.concatenate([a.head.weight_unit, b.head.weight_unit])
    samples, exact, ages = [], [], []
    for side, start in ((a, 0), (b, a.head.weight.size)):
        samples.append(start + np.arange(side.n_light))
        exact.append(start + np.arange(side.n_light, side.n_head))
        ages.append(np.arange(side.n_head - side.n_light, 0, -1))
    by_age = np.argsort(-np.concatenate(ages), kind="stable")
    places = np.concatenate([*samples, np.concatenate(exact)[by_age]])
    n = places.size
    head = empty_head(words.shape[1], max(1, blocks_of(n)))
    take_bits(words, places, head.words, np.empty(weight.size, np.uint64))
    head.weight[:n], head.weight_unit[:n] = weight[places], unit[places]

    lights = [side.light for side in (a, b) if side.folds]
    J = words.shape[1]
    if len(lights) == 2 and any(light.delta.size for light in lights):
        lights = [x if x.delta.size else x._replace(delta=empty_pairs(J)) for x in lights]
    light = (
        Light._make(np.concatenate(arrays) for arrays in zip(*lights, strict=True))
        if lights
        else empty_light(J)
    )
    sizes = [side.n_light for side in (a, b) if side.folds] or [0]
    bounds = np.array([0, *np.cumsum(sizes).tolist(), n])
    counters = a.counters.copy()
    counters[N], counters[N_LIGHT] = n, sum(sizes)
    counters[SEEN], counters[FOLDS] = a.counters[SEEN] + b.counters[SEEN], max(a.folds, b.folds)
    return HeavyState(light, head, counters, np.ones(1)), bounds
