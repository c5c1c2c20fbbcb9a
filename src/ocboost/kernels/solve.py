"""Solving for α: tails re-based, the head summed exactly, one coordinate after the other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .band import first_column, row_start
from .compile import helper, kernel
from .head import ROOM, STATE_SIZE, open_segment, step
from .scaled import add, divide, exponential, log, multiply, normal, ratio
from .tail import BALANCED, LISTING, OWN, exponentials, mix, own, own_mix, pi
from .types import Floats, Head, Ints, Tail, Units

SATURATED = 1000.0  # where an unbalanced correction is said to have diverged
SMALLEST = float(np.finfo(np.float64).tiny)


class Solution(NamedTuple):
    """What a solve finds out, and the room it needs (J coordinates, t tails)."""

    alpha: Floats  # (J,)
    base: Floats  # (t, 2, J): W⁺_jj, W⁻_jj of each tail, re-based to α
    base_unit: Ints
    folded: Floats  # (2, J): what the examples to be folded add to them
    folded_unit: Ints
    delta: Floats  # (t, J): Δ, exp(-Δ), exp(Δ) and Σ_{l<=k} |Δ_l| of each tail
    fall: Floats
    rise: Floats
    change: Floats
    d: Floats  # the head's weights, in whole blocks: the examples to be folded, then the others
    unit: Units
    member: Floats  # (2, J): margins of a single example to be folded, as 1 where they are +1, -1
    state: Ints  # (2, STATE_SIZE): of the two segments of the head, with their drifts
    drift: Floats  # (2, 1)
    sums: Floats  # (2,)
    T: Floats  # (t,): what entered the present coordinate from each tail
    T_unit: Ints


def make_solution(n_hypotheses: int, n_tails: int, n_examples: int) -> Solution:
    """Room for a solve over a head of at most ``n_examples``."""
    J = n_hypotheses
    places = 64 * ((n_examples + 63) // 64 + 3)  # both segments may begin and end within a block
    return Solution(
        alpha=np.zeros(J),
        base=np.zeros((n_tails, 2, J)),
        base_unit=np.zeros((n_tails, 2, J), np.int64),
        folded=np.zeros((2, J)),
        folded_unit=np.zeros((2, J), np.int64),
        delta=np.zeros((n_tails, J)),
        fall=np.ones((n_tails, J)),
        rise=np.ones((n_tails, J)),
        change=np.zeros((n_tails, J)),
        d=np.zeros(places),
        unit=np.zeros(places, np.int32),
        member=np.zeros((2, J)),
        state=np.zeros((2, STATE_SIZE), np.int64),
        drift=np.zeros((2, 1)),
        sums=np.zeros(2),
        T=np.zeros(n_tails),
        T_unit=np.zeros(n_tails, np.int64),
    )


@helper
def half_log_ratio(
    plus: float,
    plus_unit: int,
    minus: float,
    minus_unit: int,
    share: float,
    share_unit: int,
    floor: float,
    floor_unit: int,
) -> float:
    """α = ½ log((W⁺ + ε_j) / (W⁻ + ε_j)), ε_j = share · (W⁺ + W⁻); the paper's equation 5.

    Without smoothing, 0/0 gives 0 and a one-sided row takes ``floor`` for the side that is missing.
    """
    total, total_unit = add(plus, plus_unit, minus, minus_unit)
    if total == 0.0:
        return 0.0
    if share > 0.0:
        smooth, smooth_unit = multiply(share, share_unit, total, total_unit)
        plus, plus_unit = add(plus, plus_unit, smooth, smooth_unit)
        minus, minus_unit = add(minus, minus_unit, smooth, smooth_unit)
    if minus == 0.0:
        return 0.5 * max(log(plus, plus_unit) - log(floor, floor_unit), 0.0)
    if plus == 0.0:
        return 0.5 * min(log(floor, floor_unit) - log(minus, minus_unit), 0.0)
    if plus_unit != minus_unit:
        return 0.5 * (log(plus, plus_unit) - log(minus, minus_unit))
    if plus >= minus:
        return 0.5 * math.log1p((plus - minus) / minus)
    return -0.5 * math.log1p((minus - plus) / plus)


@helper
def _rebase_row(
    tail: Tail, t: int, j: int, order: int, correction: int, solution: Solution
) -> tuple[float, int, float, int]:
    """W^σ_jj · π^σ_j of one tail for both signs (equation 8)."""
    plus, plus_unit = tail.W[0, j], tail.W_unit[0, j]
    minus, minus_unit = tail.W[1, j], tail.W_unit[1, j]
    if plus == 0.0 and minus == 0.0:
        return plus, plus_unit, minus, minus_unit
    low = first_column(j, order)
    if low == j or solution.change[t, j - 1] == 0.0:
        return plus, plus_unit, minus, minus_unit
    change = solution.change[t, j - 1] - (solution.change[t, low - 1] if low > 0 else 0.0)
    start = row_start(j, order)
    stop = start + j - low
    delta, fall, rise = solution.delta[t, low:j], solution.fall[t, low:j], solution.rise[t, low:j]
    value, unit = pi(tail.p_plus[start:stop], fall, rise, delta, 1.0, change)
    plus, plus_unit = multiply(plus, plus_unit, value, unit)
    if correction == LISTING:
        value, unit = pi(tail.p_minus[start:stop], fall, rise, delta, 1.0, change)
    else:
        value, unit = pi(tail.p_minus[start:stop], rise, fall, delta, -1.0, change)
    minus, minus_unit = multiply(minus, minus_unit, value, unit)
    return plus, plus_unit, minus, minus_unit


@helper
def _move_row(
    tail: Tail, j: int, order: int, correction: int, solution: Solution, right: bool, d: float, d_unit: int
) -> None:
    """Fold a single example, weighing d at coordinate j, into row j of the only tail."""
    low = first_column(j, order)
    if low == j:
        return
    start = row_start(j, order)
    stop = start + j - low
    sign = 0 if right else 1
    before, before_unit = solution.base[0, sign, j], solution.base_unit[0, sign, j]
    after, after_unit = add(before, before_unit, d, d_unit)
    keep, come = 1.0, 0.0
    if d > 0.0:
        keep = ratio(before, before_unit, after, after_unit)
        come = ratio(d, d_unit, after, after_unit)
    member = solution.member[sign, low:j]
    fall, rise = solution.fall[0, low:j], solution.rise[0, low:j]
    joined = tail.p_plus[start:stop] if right else tail.p_minus[start:stop]
    if correction < OWN:
        mix(joined, keep, come, member)
    elif right:
        own_mix(joined, fall, rise, keep, come, member)
        own(tail.p_minus[start:stop], rise, fall, 1.0)
    else:
        own_mix(joined, rise, fall, keep, come, member)
        own(tail.p_plus[start:stop], fall, rise, 1.0)


@kernel
def solve(
    tails: tuple[Tail, ...],
    order: int,
    correction: int,
    head: Head,
    first: int,
    n: int,
    n_fold: int,
    smoothing: float,
    now: float,
    now_unit: int,
    solution: Solution,
    move: bool,
) -> bool:
    """Solve for α, and say whether an unbalanced correction has diverged.

    ``first`` is the ring position of the head's oldest example, ``n`` how many there are, ``n_fold`` how
    many of the oldest are about to be folded: their sums are kept apart. ``now`` is the weight that an
    example of sample weight one has at present (it grows under forgetting). With ``move``, the single
    example to be folded enters the pairs of the only tail on the way, while each row is in the cache.
    """
    J = solution.alpha.size
    state, drift, sums = solution.state, solution.drift, solution.sums
    T, T_unit = solution.T, solution.T_unit
    blocks = ((first & 63) + n_fold + 63) >> 6 if n_fold else 0
    position = (first + n_fold) % (64 * head.words.shape[0])
    others = ((position & 63) + n - n_fold + 63) >> 6 if n > n_fold else 0
    d0, unit0 = solution.d[: 64 * blocks], solution.unit[: 64 * blocks]
    d1 = solution.d[64 * blocks : 64 * (blocks + others)]
    unit1 = solution.unit[64 * blocks : 64 * (blocks + others)]
    open_segment(head, first, n_fold, d0, unit0, state[0], drift[0])
    open_segment(head, position, n - n_fold, d1, unit1, state[1], drift[1])

    # ε_j = ε · (W⁺_jj + W⁻_jj) / Σw, and the smallest normal float, both in the weights of the present.
    total, total_unit = 0.0, 0
    for tail in tails:
        total, total_unit = add(total, total_unit, tail.total[0], tail.total_unit[0])
    for i in range(n):
        place = (first + i) % head.weight.size
        value, unit = normal(head.weight[place], np.int64(head.weight_unit[place]))
        total, total_unit = add(total, total_unit, value, unit)
    share, share_unit = 0.0, 0
    if smoothing > 0.0 and total > 0.0:
        share, share_unit = normal(smoothing, 0)
        share, share_unit = multiply(share, share_unit, now, now_unit)
        share, share_unit = divide(share, share_unit, total, total_unit)
    floor, floor_unit = normal(SMALLEST, 0)
    floor, floor_unit = multiply(floor, floor_unit, now, now_unit)

    for t in range(len(tails)):
        T[t], T_unit[t] = tails[t].total[0], tails[t].total_unit[0]

    diverged = False
    alpha, if_right, if_wrong = 0.0, 1.0, 1.0
    for j in range(J):
        plus, plus_unit, minus, minus_unit = 0.0, 0, 0.0, 0
        for t in range(len(tails)):
            a, a_unit, b, b_unit = _rebase_row(tails[t], t, j, order, correction, solution)
            if correction == BALANCED:
                both, both_unit = add(a, a_unit, b, b_unit)
                if both > 0.0:  # all that left the coordinate before enters this one
                    factor, factor_unit = divide(T[t], T_unit[t], both, both_unit)
                    a, a_unit = multiply(a, a_unit, factor, factor_unit)
                    b, b_unit = multiply(b, b_unit, factor, factor_unit)
            solution.base[t, 0, j], solution.base_unit[t, 0, j] = a, a_unit
            solution.base[t, 1, j], solution.base_unit[t, 1, j] = b, b_unit
            plus, plus_unit = add(plus, plus_unit, a, a_unit)
            minus, minus_unit = add(minus, minus_unit, b, b_unit)

        a, a_unit, b, b_unit = step(
            d0, unit0, state[0], drift[0], head.words, j, alpha, if_right, if_wrong, sums
        )
        solution.folded[0, j], solution.folded_unit[0, j] = a, a_unit
        solution.folded[1, j], solution.folded_unit[1, j] = b, b_unit
        plus, plus_unit = add(plus, plus_unit, a, a_unit)
        minus, minus_unit = add(minus, minus_unit, b, b_unit)
        if move:
            if a > 0.0:
                _move_row(tails[0], j, order, correction, solution, True, a, a_unit)
            else:
                _move_row(tails[0], j, order, correction, solution, False, b, b_unit)
        a, a_unit, b, b_unit = step(
            d1, unit1, state[1], drift[1], head.words, j, alpha, if_right, if_wrong, sums
        )
        plus, plus_unit = add(plus, plus_unit, a, a_unit)
        minus, minus_unit = add(minus, minus_unit, b, b_unit)

        alpha = half_log_ratio(
            plus, plus_unit, minus, minus_unit, share, share_unit, floor, floor_unit
        )
        if correction != BALANCED and abs(alpha) > SATURATED:
            alpha = math.copysign(SATURATED, alpha)
            diverged = True
        solution.alpha[j] = alpha
        if abs(alpha) < ROOM:
            if_wrong = math.exp(alpha)
            if_right = 1.0 / if_wrong
            right, right_unit = normal(if_right, 0)
            wrong, wrong_unit = normal(if_wrong, 0)
        else:
            right, right_unit = exponential(-alpha)
            wrong, wrong_unit = exponential(alpha)
        for t in range(len(tails)):
            delta = alpha - tails[t].alpha[j]
            solution.delta[t, j] = delta
            solution.fall[t, j], solution.rise[t, j] = exponentials(delta)
            solution.change[t, j] = abs(delta) + (solution.change[t, j - 1] if j > 0 else 0.0)
            if correction == BALANCED:
                # T_{j+1} = W⁺_jj e^{-α_j} + W⁻_jj e^{α_j}
                a, a_unit = multiply(
                    solution.base[t, 0, j], solution.base_unit[t, 0, j], right, right_unit
                )
                b, b_unit = multiply(
                    solution.base[t, 1, j], solution.base_unit[t, 1, j], wrong, wrong_unit
                )
                T[t], T_unit[t] = add(a, a_unit, b, b_unit)
    return diverged
