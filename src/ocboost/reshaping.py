"""More coordinates, or fewer, for a sketch that has already learnt something.

A coordinate appended later has margins for the examples in the head alone. Its row of the sums begins with
those: what had been folded before is not in it, and the tail's `share` says so. As coordinates are only ever
appended, every example of a row has margins at all coordinates before it, and the corrections hold as they
are.

A coordinate that is taken out has α = 0 from then on, a change of Δ = -α like any other: the rows behind it
follow by the same π (the paper's theorem), and the total that reaches them is the one that entered it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .head_ring import blocks_for, relaid, widened
from .kernels import fold as kernels
from .kernels.band import first_column, n_pairs, row_start
from .kernels.tail import BALANCED, LISTING
from .kernels.types import Head, Tail
from .scaled_logs import logs, scaled
from .sketch_file import SketchState
from .tails import empty_tail

Numbers = NDArray[np.float64]
LOG_MOST_SHARE = float(np.log(kernels.MOST_SHARE))


def append(state: SketchState, order: int, margins: NDArray[np.int8], *, has_tail: bool) -> SketchState:
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
    head, counters = _laid_out(state)
    head = widened(head, int(counters[kernels.FIRST]), margins)
    return SketchState(tail, head, counters, state.now.copy(), True)


def drop(state: SketchState, correction: int, keep: NDArray[np.int64], *, has_tail: bool) -> SketchState:
    """Only the coordinates of ``keep``, which are in order; the sums are those of the full order."""
    tail = dropped(state.tail, correction, keep, has_tail=has_tail)
    head, counters = _laid_out(state)
    head = head._replace(words=np.ascontiguousarray(head.words[:, keep]))
    return SketchState(tail, head, counters, state.now.copy(), True)


def dropped(old: Tail, correction: int, keep: NDArray[np.int64], *, has_tail: bool = True) -> Tail:
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


def _rebase(old: Tail, tail: Tail, correction: int, keep: NDArray[np.int64], gone: NDArray[np.int64]) -> None:
    """Bring the diagonal of the rows behind those that are gone to an α of zero for these.

    Logarithms are counted from the unit of the total, so that the first row keeps its digits.
    """
    J, unit = old.alpha.size, int(old.total_unit[0])
    alpha, share = old.alpha[0], old.share[0]
    left = T = float(
        logs(old.total[0], 0)
    )  # what leaves the coordinate kept last, and enters the present one
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
                σ = 1.0 if sign == 0 or correction == LISTING else -1.0
                row[sign] += _log_pi(p[0, start + before], -σ * alpha[before])
            most = row.max()
            if most > -np.inf:
                within = row - most
                both = np.logaddexp(*within)
                if correction == BALANCED:
                    row = within - both + T
                else:  # the row may hold more or less now than came to it
                    more = most + both - left
                    part = float(np.exp(more)) if more < LOG_MOST_SHARE else kernels.MOST_SHARE
            for sign in range(2):
                tail.W[0, sign, place], tail.W_unit[0, sign, place] = scaled(float(row[sign]), unit)
        tail.share[0, place], part = min(part, kernels.MOST_SHARE), 1.0
        left = T = np.logaddexp(row[0] - alpha[j], row[1] + alpha[j])
        place += 1


def _log_pi(p: Numbers, delta: Numbers) -> float:
    """The logarithm of π, Σ log(p exp(-Δ) + (1 - p) exp(Δ)), without overflow; ``delta`` is σΔ."""
    size = np.abs(delta)
    with np.errstate(divide="ignore"):
        terms = np.log(p * np.exp(-delta - size) + (1.0 - p) * np.exp(delta - size))
    # Where p is zero or one, only one of the two is there.
    terms = np.where(p == 0.0, delta - size, np.where(p == 1.0, -delta - size, terms))
    return float(np.sum(size + terms))


def _laid_out(state: SketchState) -> tuple[Head, NDArray[np.int64]]:
    """The head's ring with its oldest example in the first block, and the counters that fit it."""
    counters = state.counters.copy()
    head = relaid(state.head, state.first, state.n_head, blocks_for(max(state.n_head, 1)))
    counters[kernels.FIRST] &= 63
    return head, counters
