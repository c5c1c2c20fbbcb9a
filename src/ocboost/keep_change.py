"""A sketch that changes which examples it keeps: the state of one rule from that of the other."""

from __future__ import annotations

import numpy as np

from .carrying import HeavyState, blocks_of, empty_state
from .errors import InputError
from .head_ring import blocks_for, relaid, rows_of
from .kernels import fold as kernels
from .kernels.bits import pack_rows
from .sketch_file import SketchState
from .tails import empty_tail


def heavy_of(old: SketchState) -> HeavyState:
    """The newest examples, for a sketch that keeps heavy ones; only while nothing has been folded."""
    if old.tail.total[0] > 0.0:
        raise InputError(
            "keep can change only while nothing has been folded; got a sketch with examples in its tail, "
            "which has sums and no sample of them. Begin anew with keep='heavy'."
        )
    n = old.n_head
    state = empty_state(old.tail.alpha.size).copy(max(1, blocks_of(n)))
    if n:
        pack_rows(rows_of(old.head, old.first, n), state.head.words, 0)
        places = (old.first + np.arange(n)) % old.head.weight.size
        state.head.weight[:n] = old.head.weight[places]
        state.head.weight_unit[:n] = old.head.weight_unit[places]
    state.counters[: kernels.N_COUNTERS] = old.counters
    state.counters[kernels.FIRST] = state.counters[kernels.DIVERGED] = 0
    state.now[...] = old.now
    return state


def newest_of(old: HeavyState, *, tail: bool) -> SketchState:
    """Heavy examples, for a sketch that keeps the newest."""
    J = old.head.words.shape[1]
    head = relaid(old.head, 0, old.n_head, blocks_for(old.n_head))
    counters = old.counters[: kernels.N_COUNTERS].copy()
    return SketchState(empty_tail(J, J, pairs=tail), head, counters, old.now.copy(), True)
