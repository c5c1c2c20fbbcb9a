"""A weighted sample that holds no chance: systematic sampling, with an offset that follows from a count.

Folding where heavy examples are kept: the lightest become part of the light sums and of their sample.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.threads import get_num_threads, run
from ocboost._kernels import heavy as kernels
from ocboost._kernels.fold import N_COUNTERS, NOW_UNIT, N
from ocboost._kernels.head import ROOM
from ocboost._kernels.heavy import Estimate, Shift, make_estimate
from ocboost._kernels.memory import Head, Light
from ocboost.boosters.sketch.fold import Publish, is_long, row_ranges
from ocboost.boosters.sketch.state import Room, copy_light, empty_head, empty_light, empty_pairs, logs

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def ranked(q: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of scores in rising order, ties in the order of their places.

    Scores that differ by rounding alone are ties: 32 binary digits count.
    """
    return np.argsort((q.view(np.int64) + (1 << 19)) >> 20, kind="stable")


def choose(q: NDArray[np.float64], most: int, turn: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
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


# The counters behind those of a sketch that keeps the newest.
N_LIGHT, FOLDS = N_COUNTERS, N_COUNTERS + 1
N_HEAVY_COUNTERS = N_COUNTERS + 2

FURTHEST = 340.0  # e^340 and its square are doubles
HIGHEST_SCORE = 1e250  # so that scores can be added up; above J only where a sample has gone astray

Numbers = NDArray[np.float64]


class HeavyState(NamedTuple):
    """All that a sketch has learnt that keeps heavy examples.

    The head's first ``N_LIGHT`` examples are the sample of the light ones, those after them are exact; each
    run is in the order of age.
    """

    light: Light
    head: Head
    counters: NDArray[np.int64]
    now: Numbers

    @property
    def n_head(self) -> int:
        """Examples in the head."""
        return int(self.counters[N])

    @property
    def n_light(self) -> int:
        """How many of them are a sample of the light ones."""
        return int(self.counters[N_LIGHT])

    @property
    def folds(self) -> int:
        """How often light examples have left the head."""
        return int(self.counters[FOLDS])

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Where the runs of examples begin and end."""
        return np.array([0, self.n_light, self.n_head])

    def copy(self, n_blocks: int | None = None) -> HeavyState:
        """A state of its own; ``n_blocks``: in a head of so many blocks."""
        blocks = self.head.words.shape[0] if n_blocks is None else n_blocks
        head = relaid_state(self.head, self.n_head, blocks)
        return HeavyState(copy_light(self.light), head, self.counters.copy(), self.now.copy())


def blocks_of(n: int) -> int:
    """Blocks of 64 examples that n examples fill."""
    return (n + 63) // 64


def empty_state(n_hypotheses: int) -> HeavyState:
    """Nothing seen yet."""
    counters = np.zeros(N_HEAVY_COUNTERS, np.int64)
    return HeavyState(empty_light(n_hypotheses), empty_head(n_hypotheses, 1), counters, np.ones(1))


def relaid_state(head: Head, n: int, n_blocks: int) -> Head:
    """The same n examples in a head of another size."""
    result = empty_head(head.words.shape[1], n_blocks)
    used = blocks_of(n)
    result.words[:used] = head.words[:used]
    result.weight[:n], result.weight_unit[:n] = head.weight[:n], head.weight_unit[:n]
    return result


def solve(state: HeavyState, bounds: NDArray[np.int64], smoothing: float, estimate: Estimate) -> None:
    """Solve for α; the estimate holds it then."""
    now_unit = state.counters[NOW_UNIT]
    kernels.estimate_alpha(state.light, state.head, bounds, smoothing, state.now[0], now_unit, estimate)


def moderate_exp(alpha: Numbers) -> Numbers:
    """Exp(α) where it is moderate, else one: kernels reweight by it only there."""
    result: Numbers = np.exp(np.where(np.abs(alpha) < ROOM, alpha, 0.0))
    return result


def sums_at(head: Head, n: int, alpha: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """The weights at some α of a head's first n examples with margin +1 and -1: (2, J)."""
    estimate = make_estimate(alpha.size, 1, n)
    estimate.alpha[...], estimate.exp_alpha[...] = alpha, moderate_exp(alpha)
    out, unit = np.zeros((2, alpha.size)), np.zeros((2, alpha.size), np.int64)
    kernels.sum_run(head, 0, n, estimate, out, unit)
    return out, unit


def fold(
    state: HeavyState,
    bounds: NDArray[np.int64],
    room: Room,
    most: int,
    smoothing: float,
    estimate: Estimate,
    publish: Publish | None = None,
) -> HeavyState:
    """Keep about ``most`` examples; the lightest of the others join the light sums.

    There may be several light parts, with their samples between the ``bounds``: they become one. ``publish``
    gets α, solved with everything, before anything changes. The old state is used up: its pairs are the new
    one's.
    """
    n, n_light, turn = int(bounds[-1]), int(bounds[-2]), state.folds + 1
    solve(state, bounds, smoothing, estimate)
    if publish is not None:
        publish((estimate.alpha.copy(), False))
    light, head, J = state.light, state.head, estimate.alpha.size
    q = np.empty(64 * blocks_of(n))
    kernels.score(head, n, estimate, q)
    np.minimum(q, HIGHEST_SCORE, out=q)
    heavy, factor = choose(q[:n], most, turn)
    heavy[:n_light] = False  # of the light ones the sample is all there is
    sample = np.flatnonzero((factor > 0.0) & ~heavy)
    places = np.concatenate([sample, np.flatnonzero(heavy)])
    fresh = _taken(head, places, factor[places], max(places.size, min(room.head, n)))

    joining = head._replace(
        weight=np.where(np.append(heavy, np.zeros(head.weight.size - n, bool)), 0.0, head.weight)
    )
    come, come_unit = np.zeros((2, J)), np.zeros((2, J), np.int64)
    kernels.sum_run(joining, n_light, n - n_light, estimate, come, come_unit)
    A, A_unit = np.zeros((2, J)), np.zeros((2, J), np.int64)
    kernels.sum_run(fresh, 0, sample.size, estimate, A, A_unit)
    L, L_unit = come.copy(), come_unit.copy()
    for t in range(light.anchor.shape[0]):
        kernels.add_to(L, L_unit, estimate.light[t], estimate.light_unit[t])

    delta = light.delta[:1]
    if room.pairs:
        before = light.delta if light.delta.size else empty_pairs(J, light.anchor.shape[0])
        shift = _shift(estimate, joining, bounds, factor, (come, come_unit), (A, A_unit))
        delta = before[:1]
        _shift_pairs(joining, bounds, shift, before, delta)
    elif delta.size:
        delta = empty_light(J).delta
    off = int(
        state.counters[NOW_UNIT]
    )  # units of weight that are taken off everything, so that they stay few
    for value, unit in ((L, L_unit), (A, A_unit), (fresh.weight, fresh.weight_unit)):
        unit[value > 0.0] -= off
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


def _shift_pairs(
    joining: Head,
    bounds: NDArray[np.int64],
    shift: Shift,
    before: NDArray[np.uint16],
    after: NDArray[np.uint16],
) -> None:
    """The pairs' share of a fold, a range of rows to a thread: whole numbers, so the same bit for bit."""
    J, n_threads = shift.right.size, get_num_threads()
    if n_threads == 1 or not is_long(J, J, shift.d.size):
        kernels.shift_pairs(joining, bounds, shift, before, after, 0, J)
        return

    def task(rows: tuple[int, int]) -> None:
        own = shift._replace(d=shift.d.copy())
        kernels.shift_pairs(joining, bounds, own, before, after, *rows)

    run(task, row_ranges(J, J, n_threads))


def _taken(head: Head, places: NDArray[np.int64], factor: Numbers, n_room: int) -> Head:
    """The examples at some places of a head, each of ``factor`` times the weight, with room for so many."""
    result = empty_head(head.words.shape[1], max(1, blocks_of(n_room)))
    kernels.take_bits(head.words, places, result.words, np.empty(head.weight.size, np.uint64))
    n = places.size
    result.weight[:n], result.weight_unit[:n] = head.weight[places], head.weight_unit[places]
    kernels.reweight(result.weight[:n], result.weight_unit[:n], factor)
    return result


def _exponentials(logs: Numbers) -> Numbers:
    """Exp, held within the range of a double; nothing (-∞ - -∞) is zero."""
    result: Numbers = np.exp(np.clip(np.where(np.isnan(logs), -np.inf, logs), -np.inf, FURTHEST))
    return result


def _shift(
    estimate: Estimate,
    joining: Head,
    bounds: NDArray[np.int64],
    factor: Numbers,
    come: tuple[Numbers, NDArray[np.int64]],
    A: tuple[Numbers, NDArray[np.int64]],
) -> Shift:
    """How pairs move in a fold: P' = (Σ light · P + pairs of those that join) / L', less the new sample's.

    Where a part's sample has none of a sign, nothing is known of the pairs there, and it does not count.
    """
    n, W = int(bounds[-1]), logs(estimate.W, estimate.W_unit)
    light, S = logs(estimate.light, estimate.light_unit), logs(estimate.S, estimate.S_unit)
    light = np.where(-np.inf < S, light, -np.inf)
    joins, sample = logs(*come), logs(*A)
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
    whole[:n] = np.minimum(factor, np.exp(FURTHEST))
    return Shift(d, whole, right, wrong, old, new, keep)
