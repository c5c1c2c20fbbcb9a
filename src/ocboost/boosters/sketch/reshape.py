"""More coordinates, or fewer, for a sketch that has already learnt something; and the other store's state.

A coordinate appended later has margins for the examples in the head alone. In a tail its row of the sums
begins with those: what had been folded before is not in it, and the tail's `share` says so. As coordinates
are only ever appended, every example of a row has margins at all coordinates before it, and the corrections
hold as they are. Of light examples it is their sample that says how their weight is split, and there are no
differences of pairs yet.

A coordinate that is taken out has α = 0 from then on, a change of Δ = -α like any other: the rows behind it
follow by the same π (the paper's theorem), and the total that reaches them is the one that entered it. Light
sums follow a change as large as that in the same way, with the pairs that the sample and the differences
say: closer than the sample alone where several are taken out at once.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Floats, Int8s, Ints, Light, Tail, first_column, n_pairs, row_start
from ocboost._kernels.bits import pack_rows
from ocboost._kernels.fold import DIVERGED, FIRST, MOST_SHARE, N_COUNTERS, N
from ocboost._kernels.heavy_pairs import numbers
from ocboost._kernels.scaled import add_numbers
from ocboost._kernels.tail import AS_PRINTED, BALANCED, KEEPS_TOTAL, THEOREM
from ocboost.boosters.sketch.fold import Workspace, fold_pairs
from ocboost.boosters.sketch.heavy_fold import moderate_exp, sums_at
from ocboost.boosters.sketch.state import (
    HeavyState,
    NewestState,
    blocks_of,
    empty_head,
    empty_heavy,
    empty_light,
    empty_pairs,
    empty_tail,
    logs,
    places_of,
    resized,
    resized_head,
    ring_blocks,
    rows_of,
    scaled,
    widened,
    with_columns,
)
from ocboost.errors import InputError

LOG_MOST_SHARE = float(np.log(MOST_SHARE))


def append_newest(state: NewestState, order: int, margins: Int8s, *, has_tail: bool) -> NewestState:
    """New coordinates at the end, with the margins (n_head, k) of the examples in the head.

    ``order`` is that of the result.
    """
    old = state.tail
    J, k = old.alpha.size, margins.shape[1]
    tail = empty_tail(J + k, order, pairs=has_tail)
    size = n_pairs(J, min(order, J)) if has_tail else 0
    for name in Tail._fields:
        to, known = getattr(tail, name), getattr(old, name)
        if name in ("p_plus", "p_minus"):
            to[:, :size] = known
        elif name in ("total", "total_unit"):
            to[...] = known
        else:
            to[..., :J] = known
    if old.W[0, :, -1].any():  # what the row before holds of the tail, this one does not
        tail.share[0, J] = 0.0
    state = resized(state, ring_blocks(max(state.n_head, 1)))
    head = widened(state.head, state.first, margins)
    return state._replace(tail=tail, head=head, now=state.now.copy(), decayed=True)


def drop_newest(state: NewestState, correction: int, keep: Ints, *, has_tail: bool) -> NewestState:
    """Only the coordinates of ``keep``, which are in order; the sums are those of the full order."""
    tail = dropped(state.tail, correction, keep, has_tail=has_tail)
    state = resized(state, ring_blocks(max(state.n_head, 1)))
    head = with_columns(state.head, keep)
    return state._replace(tail=tail, head=head, now=state.now.copy(), decayed=True)


def dropped(old: Tail, correction: int, keep: Ints, *, has_tail: bool = True) -> Tail:
    """A tail of full order, or an empty one, with the coordinates of ``keep`` alone."""
    J = old.alpha.size
    tail = empty_tail(keep.size, keep.size, pairs=has_tail)
    for name in ("W", "W_unit", "alpha", "exp_alpha", "share"):
        getattr(tail, name)[...] = getattr(old, name)[..., keep]
    tail.total[...], tail.total_unit[...] = old.total, old.total_unit
    if has_tail:
        gone = np.setdiff1d(np.arange(J), keep)
        for place, j in enumerate(keep.tolist()):
            theirs, ours = row_start(j, J), row_start(place, keep.size)
            for name in ("p_plus", "p_minus"):
                getattr(tail, name)[0, ours : ours + place] = getattr(old, name)[0, theirs + keep[:place]]
        _rebase(old, tail, correction, keep, gone)
    return tail


def _rebase(old: Tail, tail: Tail, correction: int, keep: Ints, gone: Ints) -> None:
    """Bring the diagonal of the rows behind those that are gone to an α of zero for these.

    Logarithms are counted from the unit of the total, so that the first row keeps its digits.
    """
    J, unit = old.alpha.size, int(old.total_unit[0])
    alpha, share = old.alpha[0], old.share[0]
    # What leaves the coordinate kept last, and enters the present one.
    left = T = float(logs(old.total[0], 0))
    part, place = 1.0, 0
    for j in range(J):
        part *= share[j]
        with np.errstate(divide="ignore"):
            T += np.log(share[j])
        if j not in keep:
            continue  # α is zero: all that enters leaves again
        before = gone[gone < j]
        row = logs(old.W[0, :, j], old.W_unit[0, :, j] - unit)
        if before.size:
            start = row_start(j, J) - first_column(j, J)
            for sign, p in enumerate((old.p_plus, old.p_minus)):
                σ = 1.0 if sign == 0 or correction & AS_PRINTED else -1.0
                row[sign] += _log_pi(p[0, start + before], -σ * alpha[before])
            most = row.max()
            if most > -np.inf:
                within = row - most
                both = np.logaddexp(*within)
                if correction & KEEPS_TOTAL:
                    row = within - both + T
                else:  # the row may hold more or less now than came to it
                    more = most + both - left
                    part = float(np.exp(more)) if more < LOG_MOST_SHARE else MOST_SHARE
            for sign in range(2):
                tail.W[0, sign, place], tail.W_unit[0, sign, place] = scaled(float(row[sign]), unit)
        tail.share[0, place], part = min(part, MOST_SHARE), 1.0
        left = T = np.logaddexp(row[0] - alpha[j], row[1] + alpha[j])
        place += 1


def _log_pi(p: Floats, delta: Floats) -> float:
    """The logarithm of π, Σ log(p exp(-Δ) + (1 - p) exp(Δ)), without overflow; ``delta`` is σΔ."""
    size = np.abs(delta)
    with np.errstate(divide="ignore"):
        terms = np.log(p * np.exp(-delta - size) + (1.0 - p) * np.exp(delta - size))
    # Where p is zero or one, only one of the two is there.
    terms = np.where(p == 0.0, delta - size, np.where(p == 1.0, -delta - size, terms))
    return float(np.sum(size + terms))


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
    pairs: tuple[Floats, ...] = (tail.p_plus[0], tail.p_minus[0])
    if light.delta.size:
        delta = np.empty(n_pairs(J, J))
        for sign, p in enumerate(pairs):
            numbers(light.delta[0, sign, : delta.size], delta)
            np.clip(p + delta, 0.0, 1.0, out=p)
    for sign, j in np.argwhere(light.A[0] == 0.0).tolist():
        row = slice(row_start(j, J), row_start(j, J) + j)
        pairs[sign][row] = 1.0 - pairs[1 - sign][row] if light.A[0, 1 - sign, j] > 0.0 else 0.5


def append_heavy(state: HeavyState, margins: Int8s) -> HeavyState:
    """New coordinates at the end, with the margins (n_head, k) of the examples in the head."""
    J, k = state.head.words.shape[1], margins.shape[1]
    state = resized(state, max(1, blocks_of(state.n_head)))
    head, light, old = widened(state.head, 0, margins), empty_light(J + k), state.light
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
    return state._replace(light=light, head=head, now=state.now.copy())


def _split_light(light: Light, first: int) -> None:
    """Split the light weight that leaves the coordinate before as the sample does, from ``first`` on."""
    unit = int(light.L_unit[0, :, 0].max())
    L = logs(light.L[0, :, first - 1], light.L_unit[0, :, first - 1] - unit)
    alpha = light.anchor[0, first - 1]
    T = np.logaddexp(L[0] - alpha, L[1] + alpha)
    for j in range(first, light.anchor.shape[1]):
        A = logs(light.A[0, :, j], light.A_unit[0, :, j])
        both = np.logaddexp(*A)
        parts = A - both if both > -np.inf else np.full(2, -np.log(2.0))  # no sample: nothing is known
        for sign in range(2):
            light.L[0, sign, j], light.L_unit[0, sign, j] = scaled(float(T + parts[sign]), unit)


def drop_heavy(state: HeavyState, keep: Ints) -> HeavyState:
    """Only the coordinates of ``keep``, which are in order."""
    state = resized(state, max(1, blocks_of(state.n_head)))
    head, light, old = with_columns(state.head, keep), empty_light(keep.size), state.light
    if state.folds:
        light.anchor[...] = old.anchor[:, keep]
        A, A_unit = sums_at(head, state.n_light, light.anchor[0])
        light.A[0], light.A_unit[0] = A, A_unit
        sums = dropped(tail_of(state), BALANCED, keep)
        light.L[...], light.L_unit[...] = sums.W, sums.W_unit
        if old.delta.size:
            J = old.anchor.shape[1]
            rows = [row_start(j, J) + keep[:place] for place, j in enumerate(keep.tolist())]
            delta = empty_pairs(keep.size)
            delta[..., : n_pairs(keep.size, keep.size)] = old.delta[..., np.concatenate(rows)]
            light = light._replace(delta=delta)
    return state._replace(light=light, head=head, now=state.now.copy())


def heavy_of(old: NewestState) -> HeavyState:
    """The newest examples, for a sketch that keeps heavy ones; only while nothing has been folded."""
    if old.tail.total[0] > 0.0:
        raise InputError(
            "keep can change from 'newest' to 'heavy' only while nothing has been folded; got a sketch with "
            "examples in its tail, which has sums and no sample of them. Make a new one with keep='heavy'."
        )
    n, J = old.n_head, old.tail.alpha.size
    head, state = empty_head(J, max(1, blocks_of(n))), empty_heavy(J)
    if n:
        pack_rows(rows_of(old.head, old.first, n), head.words, 0)
        places = places_of(old.head, old.first, n)
        head.weight[:n], head.weight_unit[:n] = old.head.weight[places], old.head.weight_unit[places]
    state.counters[:N_COUNTERS] = old.counters
    state.counters[FIRST] = state.counters[DIVERGED] = 0
    state.now[...] = old.now
    return state._replace(head=head)


def newest_of(old: HeavyState, *, tail: bool) -> NewestState:
    """Heavy examples, for a sketch that keeps the newest: the light ones become its tail.

    If the anchor is the present α, that stays as it is. Once some have left, the head no longer holds the
    last ones: a window begins empty then.
    """
    J, first = old.head.words.shape[1], old.n_light
    n = 0 if old.folds and not tail else old.n_head - first
    head = resized_head(old.head, first, n, ring_blocks(n))
    counters = old.counters[:N_COUNTERS].copy()
    counters[FIRST], counters[N] = first & 63, n
    sums = tail_of(old) if old.folds and tail else empty_tail(J, J, pairs=tail)
    return NewestState(sums, head, counters, old.now.copy(), True)
