"""A sketch that changes which examples it keeps: the state of one rule from that of the other."""

from __future__ import annotations

import numpy as np

from .carrying import HeavyState, blocks_of, empty_state
from .errors import InputError
from .head_ring import blocks_for, relaid, rows_of
from .kernels import fold as kernels
from .kernels.bits import pack_rows
from .light_tail import tail_of
from .sketch_file import SketchState
from .tails import empty_tail


def heavy_of(old: SketchState) -> HeavyState:
    """The newest examples, for a sketch that keeps heavy ones; only while nothing has been folded."""
    if old.tail.total[0] > 0.0:
        raise InputError(
            "keep can change from 'newest' to 'heavy' only while nothing has been folded; got a sketch with "
            "examples in its tail, which has sums and no sample of them. Begin anew with keep='heavy'."
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
    """Heavy examples, for a sketch that keeps the newest: the light ones become its tail.

    If the anchor is the present α, that stays as it is. Once some have left, the head no longer holds the
    last ones: a window begins empty then.
    """
    J, first = old.head.words.shape[1], old.n_light
    n = 0 if old.folds and not tail else old.n_head - first
    head = relaid(old.head, first, n, blocks_for(n))
    counters = old.counters[: kernels.N_COUNTERS].copy()
    counters[kernels.FIRST], counters[kernels.N] = first & 63, n
    sums = tail_of(old) if old.folds and tail else empty_tail(J, J, pairs=tail)
    return SketchState(sums, head, counters, old.now.copy(), True)
