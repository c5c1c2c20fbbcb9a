"""The light part of a sketch that keeps heavy examples, as the tail of one that keeps the newest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .carrying import HeavyState, blocks_of, moderate_exp
from .folding import Workspace, fold_pairs
from .kernels.band import n_pairs, row_start
from .kernels.carried import numbers
from .kernels.fold import add_numbers
from .kernels.tail import THEOREM
from .kernels.types import Light, Tail
from .tails import empty_tail


def tail_of(old: HeavyState) -> Tail:
    """The light examples as a tail of full order: W is L, and P what the sample and the differences say."""
    J, light = old.head.words.shape[1], old.light
    tail, work = empty_tail(J, J), Workspace(J, 64 * blocks_of(old.n_light), max(old.n_light, 1))
    # What a fold of the sample alone would leave, at the anchor.
    work.solution.alpha[...], work.solution.exp_alpha[...] = light.anchor[0], moderate_exp(light.anchor[0])
    work.solution.folded[...], work.solution.folded_unit[...] = light.A[0], light.A_unit[0]
    fold_pairs(tail, old.head, 0, old.n_light, J, THEOREM, work)
    _correct_pairs(tail, light)
    tail.W[...], tail.W_unit[...] = light.L, light.L_unit
    L, unit = light.L[0, :, :1], light.L_unit[0, :, :1].astype(np.int64)
    add_numbers(L[0], unit[0], L[1], unit[1], tail.total, tail.total_unit)
    return tail


def _correct_pairs(tail: Tail, light: Light) -> None:
    """Add the differences of pairs to the sample's; where it has none of a sign, the other stands in."""
    J = light.anchor.shape[1]
    pairs: tuple[NDArray[np.float64], ...] = (tail.p_plus[0], tail.p_minus[0])
    if light.delta.size:
        delta = np.empty(n_pairs(J, J))
        for sign, p in enumerate(pairs):
            numbers(light.delta[0, sign, : delta.size], delta)
            np.clip(p + delta, 0.0, 1.0, out=p)
    for sign, j in np.argwhere(light.A[0] == 0.0).tolist():
        row = slice(row_start(j, J), row_start(j, J) + j)
        pairs[sign][row] = 1.0 - pairs[1 - sign][row] if light.A[0, 1 - sign, j] > 0.0 else 0.5
