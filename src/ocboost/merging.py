"""Merging two sketches: both tails re-based to the α of everything, and both heads, oldest first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .folding import Workspace, fold_pairs, join
from .head_ring import blocks_for, empty_head, rows_of
from .kernels import fold as kernels
from .kernels.bits import pack_rows
from .kernels.scaled import rescale
from .kernels.solve import Solution, make_solution, solve
from .kernels.tail import THEOREM
from .kernels.types import Head, Tail
from .sketch_file import SketchState
from .tails import copy_tail, empty_tail, stacked


class _Examples(NamedTuple):
    """A head's examples, oldest first, with the weights they have at present."""

    rows: NDArray[np.int8]
    weight: NDArray[np.float64]
    unit: NDArray[np.int64]


def merge(
    a: SketchState, b: SketchState, keep: int, has_tail: bool, order: int, correction: int, smoothing: float
) -> SketchState:
    """Both sides together, in the weights of the present."""
    examples = _in_order(_examples_of(a), _examples_of(b))
    if not has_tail:
        examples = _Examples._make(array[-keep:] for array in examples)
    n, J = examples.rows.shape[0], a.tail.alpha.size
    head = empty_head(J, blocks_for(max(n, 1)))
    if n:
        pack_rows(examples.rows, head.words, 0)
    head.weight[:n], head.weight_unit[:n] = examples.weight, examples.unit
    counters = np.zeros(kernels.N_COUNTERS, np.int64)
    counters[kernels.N] = n
    counters[kernels.SEEN] = a.counters[kernels.SEEN] + b.counters[kernels.SEEN]
    counters[kernels.DIVERGED] = max(a.counters[kernels.DIVERGED], b.counters[kernels.DIVERGED])
    if not has_tail:
        return _merged(copy_tail(a.tail), head, counters)

    tails = [_at_present(side) for side in (a, b) if side.tail.total[0] > 0.0]
    n_fold = n - keep + (keep + 7) // 8 if n >= keep else 0
    if len(tails) < 2 and n_fold == 0:
        return _merged(tails[0] if tails else empty_tail(J, order), head, counters)
    tails = tails or [empty_tail(J, order)]
    solution = make_solution(J, len(tails), n)
    diverged = solve(
        stacked(tails), order, correction, head, 0, n, n_fold, smoothing, 1.0, 0, solution, False
    )
    if diverged:
        counters[kernels.DIVERGED] = 1
    work = Workspace(J, n, max(n_fold, 1))
    tail = _together(tails, order, correction, solution, work)
    fold_pairs(tail, head, 0, n_fold, order, THEOREM, work)
    if n_fold:
        kernels.end_fold(tail, head, counters, n_fold)
    return _merged(tail, head, counters)


def _merged(tail: Tail, head: Head, counters: NDArray[np.int64]) -> SketchState:
    # "Decayed": the tail's α may be that of one side only.
    return SketchState(tail, head, counters, np.ones(1), True)


def _examples_of(side: SketchState) -> _Examples:
    places = (side.first + np.arange(side.n_head)) % side.head.weight.size
    weight, unit = side.head.weight[places], side.head.weight_unit[places].astype(np.int64)
    rescale(weight, unit, side.now[0], side.counters[kernels.NOW_UNIT])
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


def _at_present(side: SketchState) -> Tail:
    """A tail whose weights are those of the present, where an example of weight one weighs one."""
    tail = copy_tail(side.tail)
    for value, unit in ((tail.W, tail.W_unit), (tail.total, tail.total_unit)):
        rescale(value.reshape(-1), unit.reshape(-1), side.now[0], side.counters[kernels.NOW_UNIT])
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
        kernels.add_numbers(
            solution.base[0],
            solution.base_unit[0],
            solution.base[1],
            solution.base_unit[1],
            own.base[0],
            own.base_unit[0],
        )
        kernels.add_numbers(
            tails[0].total,
            tails[0].total_unit,
            tails[1].total,
            tails[1].total_unit,
            result.total,
            result.total_unit,
        )
    else:
        result = tails[0]
    own.alpha[...], own.exp_alpha[...] = solution.alpha, solution.exp_alpha
    own.folded[...], own.folded_unit[...] = solution.folded, solution.folded_unit
    return result
