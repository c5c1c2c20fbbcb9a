"""Merging two sketches: the sums of both re-based to the α of everything, and the examples of both heads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ocboost._kernels import fold as kernels
from ocboost._kernels.arrays import Floats, Head, Int8s, Ints, Light, Tail
from ocboost._kernels.bits import pack_rows, take_bits
from ocboost._kernels.fold import DIVERGED, N_COUNTERS, NOW_UNIT, SEEN, N
from ocboost._kernels.heavy import make_estimate
from ocboost._kernels.scaled import add_numbers, rescale
from ocboost._kernels.solve import Solution, make_solution, solve
from ocboost._kernels.tail import THEOREM
from ocboost.boosters.sketch.fold import Workspace, fold_pairs, join
from ocboost.boosters.sketch.heavy_fold import fold
from ocboost.boosters.sketch.settings import Capacity
from ocboost.boosters.sketch.state import (
    FOLDS,
    N_LIGHT,
    HeavyState,
    NewestState,
    blocks_of,
    copied,
    copied_arrays,
    empty_head,
    empty_light,
    empty_pairs,
    empty_tail,
    places_of,
    ring_blocks,
    rows_of,
)


def _at_present(numbers: tuple[tuple[Floats, Any], ...], now: Floats, counters: Ints) -> None:
    """Bring weights to those of the present, where an example of weight one weighs one."""
    for value, unit in numbers:
        units = unit.reshape(-1).astype(np.int64)
        rescale(value.reshape(-1), units, now[0], counters[NOW_UNIT])
        unit[...] = units.reshape(unit.shape)


# The newest examples --------------------------------------------------------------------------------------


class _Examples(NamedTuple):
    """A head's examples, oldest first, with the weights they have at present."""

    rows: Int8s
    weight: Floats
    unit: Ints


def merge_newest(
    a: NewestState, b: NewestState, keep: int, has_tail: bool, order: int, correction: int, smoothing: float
) -> NewestState:
    """Both sides together, in the weights of the present."""
    examples = _in_order(_examples_of(a), _examples_of(b))
    if not has_tail:
        examples = _Examples._make(array[-keep:] for array in examples)
    n, J = examples.rows.shape[0], a.tail.alpha.size
    head = empty_head(J, ring_blocks(max(n, 1)))
    if n:
        pack_rows(examples.rows, head.words, 0)
    head.weight[:n], head.weight_unit[:n] = examples.weight, examples.unit
    counters = np.zeros(N_COUNTERS, np.int64)
    counters[N] = n
    counters[SEEN] = a.counters[SEEN] + b.counters[SEEN]
    counters[DIVERGED] = max(a.counters[DIVERGED], b.counters[DIVERGED])
    if not has_tail:
        return _merged(copied_arrays(a.tail), head, counters)

    tails = [_tail_at_present(side) for side in (a, b) if side.tail.total[0] > 0.0]
    n_fold = n - keep + (keep + 7) // 8 if n >= keep else 0
    if len(tails) < 2 and n_fold == 0:
        return _merged(tails[0] if tails else empty_tail(J, order), head, counters)
    tails = tails or [empty_tail(J, order)]
    solution = make_solution(J, len(tails), n)
    stacked = Tail._make(np.concatenate(arrays) for arrays in zip(*tails, strict=True))
    diverged = solve(stacked, order, correction, head, 0, n, n_fold, smoothing, 1.0, 0, solution, False)
    if diverged:
        counters[DIVERGED] = 1
    work = Workspace(J, n, max(n_fold, 1))
    tail = _together(tails, order, correction, solution, work)
    fold_pairs(tail, head, 0, n_fold, order, THEOREM, work)
    if n_fold:
        kernels.end_fold(tail, head, counters, n_fold)
    return _merged(tail, head, counters)


def _merged(tail: Tail, head: Head, counters: Ints) -> NewestState:
    # "Decayed": the tail's α may be that of one side only.
    return NewestState(tail, head, counters, np.ones(1), True)


def _examples_of(side: NewestState) -> _Examples:
    places = places_of(side.head, side.first, side.n_head)
    weight, unit = side.head.weight[places], side.head.weight_unit[places].astype(np.int64)
    _at_present(((weight, unit),), side.now, side.counters)
    return _Examples(rows_of(side.head, side.first, side.n_head), weight, unit)


def _in_order(a: _Examples, b: _Examples) -> _Examples:
    """Both heads in one row by age, counted from the newest.

    Of two examples equally old, the one with the smaller contents goes first: so the order does not
    depend on which side is named first, and the sums agree to the last bit.
    """
    contents = [
        np.concatenate(
            [
                side.weight.astype(">f8").view(np.uint8).reshape(-1, 8),
                side.unit.astype(">i8").view(np.uint8).reshape(-1, 8),
                np.packbits(side.rows > 0, axis=1),
            ],
            axis=1,
        )
        for side in (a, b)
    ]
    keys = [tuple(c.tobytes() for c in side) for side in contents]
    order = sorted(
        [(-(len(keys[s]) - i), keys[s][i], s, i) for s in (0, 1) for i in range(len(keys[s]))],
        key=lambda entry: entry[:2],
    )
    places = np.array([i + s * len(keys[0]) for _, _, s, i in order], dtype=np.int64)
    return _Examples._make(np.concatenate([x, y])[places] for x, y in zip(a, b, strict=True))


def _tail_at_present(side: NewestState) -> Tail:
    tail = copied_arrays(side.tail)
    _at_present(((tail.W, tail.W_unit), (tail.total, tail.total_unit)), side.now, side.counters)
    return tail


def _together(tails: list[Tail], order: int, correction: int, solution: Solution, work: Workspace) -> Tail:
    """Re-base each tail to the new α and add them; the solution in ``work`` then speaks of the sum."""
    own, J = work.solution, solution.alpha.size
    work.newcomers.size[0] = 0
    for t, tail in enumerate(tails):
        own.base[0], own.base_unit[0] = solution.base[t], solution.base_unit[t]
        own.fall[0], own.rise[0] = solution.fall[t], solution.rise[t]
        own.folded[...] = 0.0
        join(tail, order, correction, work, [(0, J)], rebase=True, last=True)
    result = empty_tail(J, order)
    result.share[tails[0].share != 1.0] = 0.0  # found again when the tail is settled
    if len(tails) == 2:
        result.share[tails[1].share != 1.0] = 0.0
        for sign, key in enumerate(("p_plus", "p_minus")):
            p, q, out = (getattr(t, key)[0] for t in (*tails, result))
            kernels.blend(p, q, order, solution.base, solution.base_unit, sign, out)
        a, b = ((solution.base[t], solution.base_unit[t]) for t in range(2))
        add_numbers(*a, *b, own.base[0], own.base_unit[0])
        a, b = ((tail.total, tail.total_unit) for tail in tails)
        add_numbers(*a, *b, result.total, result.total_unit)
    else:
        result = tails[0]
    own.alpha[...], own.exp_alpha[...] = solution.alpha, solution.exp_alpha
    own.folded[...], own.folded_unit[...] = solution.folded, solution.folded_unit
    return result


# Heavy examples -------------------------------------------------------------------------------------------


def merge_heavy(a: HeavyState, b: HeavyState, capacity: Capacity, smoothing: float) -> HeavyState:
    """Both sides together, in the weights of the present; the heaviest of both are kept.

    The sides are put in an order that their contents give, so that it does not matter which is named first.
    """
    sides = sorted((_heavy_at_present(a), _heavy_at_present(b)), key=_contents)
    both, bounds = _side_by_side(*sides)
    folds = both.folds > 0
    n, limit = both.n_head, capacity.head if folds else capacity.first
    if n < limit and bounds.size == 3:
        return both
    estimate = make_estimate(both.light.anchor.shape[1], bounds.size - 2, n)
    return fold(both, bounds, capacity, capacity.after_fold if n >= limit else n, smoothing, estimate)


def _heavy_at_present(side: HeavyState) -> HeavyState:
    state = copied(side, max(1, blocks_of(side.n_head)))
    light, head = state.light, state.head
    numbers = ((light.L, light.L_unit), (light.A, light.A_unit), (head.weight, head.weight_unit))
    _at_present(numbers, state.now, state.counters)
    state.now[0], state.counters[NOW_UNIT] = 1.0, 0
    return state


def _contents(side: HeavyState) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in (side.counters, *side.head, *side.light))


def _side_by_side(a: HeavyState, b: HeavyState) -> tuple[HeavyState, Ints]:
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
    lights = lights or [empty_light(J)]
    light = Light._make(np.concatenate(arrays) for arrays in zip(*lights, strict=True))
    sizes = [side.n_light for side in (a, b) if side.folds] or [0]
    bounds = np.array([0, *np.cumsum(sizes).tolist(), n])
    counters = a.counters.copy()
    counters[N], counters[N_LIGHT] = n, sum(sizes)
    counters[SEEN], counters[FOLDS] = a.counters[SEEN] + b.counters[SEEN], max(a.folds, b.folds)
    return HeavyState(light, head, counters, np.ones(1)), bounds
