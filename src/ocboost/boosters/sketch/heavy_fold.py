"""Folding where heavy examples are kept: the lightest become part of the light sums and of their sample.

The sample is weighted and holds no chance: systematic sampling, with an offset that follows from a count.
"""

from __future__ import annotations

import math

import numpy as np

from ocboost._core.threads import get_num_threads, run
from ocboost._kernels import heavy as kernels
from ocboost._kernels import heavy_pairs
from ocboost._kernels.arrays import Flags, Floats, Halves, Head, Ints, Light
from ocboost._kernels.bits import take_bits
from ocboost._kernels.fold import NOW_UNIT, N
from ocboost._kernels.head import MAX_DRIFT
from ocboost._kernels.heavy import Estimate, make_estimate
from ocboost._kernels.heavy_pairs import Shift
from ocboost._kernels.scaled import add_numbers, reweight
from ocboost.boosters.sketch.fold import Publish, is_long, row_ranges
from ocboost.boosters.sketch.settings import Capacity
from ocboost.boosters.sketch.state import FOLDS, N_LIGHT, HeavyState, blocks_of, empty_head, empty_pairs, logs

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
MAX_LOG = 340.0  # e^340 and its square are doubles
MAX_WEIGHT_SCORE = 1e250  # of an example: their sum is finite; only a poor sample has any above J

ScaledSums = tuple[Floats, Ints]  # values and units, (2, J)


def ranked(q: Floats) -> Ints:
    """The places of scores in rising order, ties in the order of their places.

    Scores that differ by rounding alone are ties: 32 binary digits count.
    """
    return np.argsort((q.view(np.int64) + (1 << 19)) >> 20, kind="stable")


def choose(q: Floats, most: int, turn: int) -> tuple[Flags, Floats]:
    """Choose about ``most`` of some examples by their scores: which are heavy, and what the others count for.

    The chance of an example is min(1, q/τ), with τ such that the chances sum to ``most``. Those with a chance
    of one are *heavy* and stay. The others are gone through in the order of q, and one is taken whenever
    their chances sum to another whole number, beginning with an offset that differs from turn to turn. One
    that is taken counts for 1/chance of its kind, one that is not for 0. A score of zero is never chosen.

    >>> heavy, factor = choose(np.array([1.0, 8.0, 1.0, 1.0, 1.0, 0.0]), 3, 1)
    >>> heavy.tolist(), factor.tolist()
    ([False, True, False, False, False, False], [0.0, 1.0, 2.0, 0.0, 2.0, 0.0])
    """
    some = q > 0.0
    if np.count_nonzero(some) <= most:
        return some, some.astype(np.float64)
    order = ranked(q)
    rising = q[order]
    sums = np.cumsum(rising)[::-1][:most]  # of all, of all but the heaviest, of all but two …
    taus = sums / np.arange(most, 0, -1)
    fits = rising[::-1][:most] <= taus
    fits[-1] = True
    n_heavy = int(np.argmax(fits))
    heavy = np.zeros(q.size, np.bool_)
    heavy[order[q.size - n_heavy :]] = True
    factor = heavy.astype(np.float64)
    chance = np.minimum(rising[: q.size - n_heavy] / taus[n_heavy], 1.0)
    whole = np.floor(np.cumsum(np.concatenate([[(0.5 + turn * GOLDEN) % 1.0], chance])))
    taken = whole[1:] > whole[:-1]
    factor[order[: q.size - n_heavy][taken]] = 1.0 / chance[taken]
    return heavy, factor


def solve(state: HeavyState, bounds: Ints, smoothing: float, estimate: Estimate) -> None:
    """Solve for α, into the estimate."""
    now_unit = state.counters[NOW_UNIT]
    kernels.estimate_alpha(state.light, state.head, bounds, smoothing, state.now[0], now_unit, estimate)


def moderate_exp(alpha: Floats) -> Floats:
    """Exp(α) where it is moderate, else one: kernels reweight by it only there."""
    result: Floats = np.exp(np.where(np.abs(alpha) < MAX_DRIFT, alpha, 0.0))
    return result


def sums_at(head: Head, n: int, alpha: Floats) -> ScaledSums:
    """The weights at some α of a head's first n examples with margin +1 and -1."""
    estimate = make_estimate(alpha.size, 1, n)
    estimate.alpha[...], estimate.exp_alpha[...] = alpha, moderate_exp(alpha)
    return _sums(head, 0, n, estimate)


def _sums(head: Head, first: int, n: int, estimate: Estimate) -> ScaledSums:
    out, unit = np.zeros((2, estimate.alpha.size)), np.zeros((2, estimate.alpha.size), np.int64)
    kernels.sum_run(head, first, n, estimate, out, unit)
    return out, unit


def fold(
    state: HeavyState,
    bounds: Ints,
    capacity: Capacity,
    most: int,
    smoothing: float,
    estimate: Estimate,
    publish: Publish | None = None,
) -> HeavyState:
    """Keep about ``most`` examples; the lightest of the others join the light sums.

    There may be several light parts, with their samples between the ``bounds``: they become one. ``publish``
    gets α, solved with everything, before anything changes. The old state must not be used again: its pairs
    are the new one's.
    """
    n, n_light, turn = int(bounds[-1]), int(bounds[-2]), state.folds + 1
    solve(state, bounds, smoothing, estimate)
    if publish is not None:
        publish((estimate.alpha.copy(), False))
    light, head, J = state.light, state.head, estimate.alpha.size
    q = np.empty(64 * blocks_of(n))
    kernels.score(head, n, estimate, q)
    np.minimum(q, MAX_WEIGHT_SCORE, out=q)
    heavy, factor = choose(q[:n], most, turn)
    heavy[:n_light] = False  # of the light ones the sample is all there is
    sample = np.flatnonzero((factor > 0.0) & ~heavy)
    places = np.concatenate([sample, np.flatnonzero(heavy)])
    fresh = _taken(head, places, factor[places], max(places.size, min(capacity.head, n)))

    joining = head._replace(
        weight=np.where(np.append(heavy, np.zeros(head.weight.size - n, bool)), 0.0, head.weight)
    )
    joined = _sums(joining, n_light, n - n_light, estimate)
    A, A_unit = _sums(fresh, 0, sample.size, estimate)
    L, L_unit = joined[0].copy(), joined[1].copy()
    for t in range(light.anchor.shape[0]):
        add_numbers(L, L_unit, estimate.light[t], estimate.light_unit[t], L, L_unit)

    delta = light.delta[:1]
    if capacity.pairs:
        before = light.delta if light.delta.size else empty_pairs(J, light.anchor.shape[0])
        shift = _shift(estimate, joining, bounds, factor, joined, (A, A_unit))
        delta = before[:1]
        _shift_pairs(joining, bounds, shift, before, delta)
    elif delta.size:
        delta = np.zeros((1, 2, 0), np.uint16)
    # Taken off everything, so that units stay few.
    for value, unit in ((L, L_unit), (A, A_unit), (fresh.weight, fresh.weight_unit)):
        unit[value > 0.0] -= int(state.counters[NOW_UNIT])
    counters = state.counters.copy()
    counters[NOW_UNIT], counters[FOLDS] = 0, turn
    counters[N_LIGHT], counters[N] = sample.size, places.size
    after = Light(
        L=L[None],
        L_unit=L_unit[None].astype(np.int32),
        A=A[None],
        A_unit=A_unit[None].astype(np.int32),
        anchor=estimate.alpha[None].copy(),
        delta=np.ascontiguousarray(delta),
    )
    return HeavyState(after, fresh, counters, state.now.copy())


def _shift_pairs(joining: Head, bounds: Ints, shift: Shift, before: Halves, after: Halves) -> None:
    """The pairs' share of a fold, a range of rows to a thread: whole numbers, so the same bit for bit."""
    J, n_threads = shift.right.size, get_num_threads()
    if n_threads == 1 or not is_long(J, J, shift.d.size):
        heavy_pairs.shift_pairs(joining, bounds, shift, before, after, 0, J)
        return

    def task(rows: tuple[int, int]) -> None:
        own = shift._replace(d=shift.d.copy())
        heavy_pairs.shift_pairs(joining, bounds, own, before, after, *rows)

    run(task, row_ranges(J, J, n_threads))


def _taken(head: Head, places: Ints, factor: Floats, n_room: int) -> Head:
    """The examples at some places of a head, each of ``factor`` times the weight, with room for so many."""
    result = empty_head(head.words.shape[1], max(1, blocks_of(n_room)))
    take_bits(head.words, places, result.words, np.empty(head.weight.size, np.uint64))
    n = places.size
    result.weight[:n], result.weight_unit[:n] = head.weight[places], head.weight_unit[places]
    reweight(result.weight[:n], result.weight_unit[:n], factor)
    return result


def _exponentials(logs: Floats) -> Floats:
    """Exp, held within the range of a double; nothing (-∞ - -∞) is zero."""
    result: Floats = np.exp(np.clip(np.where(np.isnan(logs), -np.inf, logs), -np.inf, MAX_LOG))
    return result


def _shift(
    estimate: Estimate, joining: Head, bounds: Ints, factor: Floats, joined: ScaledSums, A: ScaledSums
) -> Shift:
    """How pairs move in a fold: P' = (Σ light · P + pairs of those that join) / L', less the new sample's.

    Where a part's sample has none of a sign, nothing is known of the pairs there, and it does not count.
    """
    n, W = int(bounds[-1]), logs(estimate.W, estimate.W_unit)
    light, S = logs(estimate.light, estimate.light_unit), logs(estimate.S, estimate.S_unit)
    light = np.where(-np.inf < S, light, -np.inf)
    joins, sample = logs(*joined), logs(*A)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        known = np.logaddexp.reduce(np.concatenate([light, joins[None]]), axis=0)
        use = (known > -np.inf) & (sample > -np.inf)
        keep = np.where(use, _exponentials(light - known), 0.0)
        old = np.where(
            use, _exponentials(np.concatenate([light - S, np.zeros_like(joins)[None]]) + W - known), 0.0
        )
        old = np.where(np.isfinite(old), old, 0.0)
        new = np.where(use, _exponentials(W - sample), 0.0)
        fall = np.append(W[:-1] - W[1:], 0.0)
        right, wrong = _exponentials(fall - estimate.alpha), _exponentials(fall + estimate.alpha)
        d, first = np.zeros(64 * blocks_of(n)), estimate.W[0]
        if first > 0.0:
            units = 256 * (joining.weight_unit[:n].astype(np.int64) - estimate.W_unit[0])
            d[:n] = np.ldexp(joining.weight[:n] / first, np.clip(units, -4000, 4000).astype(np.int32))
    whole = np.zeros(d.size)
    whole[:n] = np.minimum(factor, np.exp(MAX_LOG))
    return Shift(d, whole, right, wrong, old, new, keep)
