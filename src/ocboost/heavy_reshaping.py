"""More coordinates, or fewer, for a sketch that keeps heavy examples.

While all examples are kept this is a matter of their margins. Once some have left:

A coordinate appended later has margins for the examples in the head alone. Of the light ones it is their
sample that says how their weight is split, and there are no differences of pairs yet.

A coordinate that is taken out has α = 0 from then on. A change of α as large as that the light sums follow
as a tail does, by the paper's π (`ocboost.reshaping`), with the pairs that the sample and the differences
say: closer than the sample alone where several are taken out at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .carrying import HeavyState, blocks_of, relaid, sums_at
from .head_ring import widened
from .kernels.band import n_pairs, row_start
from .kernels.carried import PAD
from .kernels.tail import BALANCED
from .kernels.types import Light
from .light import empty_light, empty_pairs
from .light_tail import tail_of
from .reshaping import dropped
from .scaled_logs import logs, scaled


def append(state: HeavyState, margins: NDArray[np.int8]) -> HeavyState:
    """New coordinates at the end, with the margins (n_head, k) of the examples in the head."""
    n, J, k = state.n_head, state.head.words.shape[1], margins.shape[1]
    head = widened(relaid(state.head, n, max(1, blocks_of(n))), 0, margins)
    light, old = empty_light(J + k), state.light
    if state.folds:
        for name in ("L", "L_unit", "A", "A_unit", "anchor"):
            getattr(light, name)[..., :J] = getattr(old, name)
        A, A_unit = sums_at(head, state.n_light, light.anchor[0])
        light.A[0, :, J:], light.A_unit[0, :, J:] = A[:, J:], A_unit[:, J:]
        _split_light(light, J)
        if old.delta.size:
            delta, size = empty_pairs(J + k), n_pairs(J, J)
            delta[..., :size] = old.delta[..., :size]
            light = light._replace(delta=delta)
    return HeavyState(light, head, state.counters.copy(), state.now.copy())


def _split_light(light: Light, first: int) -> None:
    """Split the light weight that leaves the coordinate before as the sample does, from ``first`` on."""
    unit = int(light.L_unit[0, :, 0].max())
    L, alpha = (
        logs(light.L[0, :, first - 1], light.L_unit[0, :, first - 1] - unit),
        light.anchor[0, first - 1],
    )
    T = np.logaddexp(L[0] - alpha, L[1] + alpha)
    for j in range(first, light.anchor.shape[1]):
        A = logs(light.A[0, :, j], light.A_unit[0, :, j])
        both = np.logaddexp(*A)
        parts = A - both if both > -np.inf else np.full(2, -np.log(2.0))  # no sample: nothing is known
        for sign in range(2):
            light.L[0, sign, j], light.L_unit[0, sign, j] = scaled(float(T + parts[sign]), unit)


def drop(state: HeavyState, keep: NDArray[np.int64]) -> HeavyState:
    """Only the coordinates of ``keep``, which are in order."""
    n = state.n_head
    head = relaid(state.head, n, max(1, blocks_of(n)))
    head = head._replace(words=np.ascontiguousarray(head.words[:, keep]))
    light, old = empty_light(keep.size), state.light
    if state.folds:
        light.anchor[...] = old.anchor[:, keep]
        A, A_unit = sums_at(head, state.n_light, light.anchor[0])
        light.A[0], light.A_unit[0] = A, A_unit
        sums = dropped(tail_of(state), BALANCED, keep)
        light.L[...], light.L_unit[...] = sums.W, sums.W_unit
        if old.delta.size:
            J = old.anchor.shape[1]
            rows = [row_start(j, J) + keep[:place] for place, j in enumerate(keep.tolist())]
            light = light._replace(delta=_with_pad(old.delta[..., np.concatenate(rows)]))
    return HeavyState(light, head, state.counters.copy(), state.now.copy())


def _with_pad(pairs: NDArray[np.uint16]) -> NDArray[np.uint16]:
    return np.concatenate([pairs, np.zeros((*pairs.shape[:2], PAD), np.uint16)], axis=2)
