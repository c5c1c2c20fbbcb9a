"""Solving for α: tails re-based, the head summed exactly, one coordinate after the other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import (
    Floats,
    Head,
    Ints,
    Tail,
    Units,
    Whole,
    first_column,
    floats_at,
    row_start,
    zeros_on_lines,
)
from ocboost._kernels.compile import helper, kernel, out_of_line, seldom, unlikely
from ocboost._kernels.head import MAX_DRIFT, STATE_SIZE, make_room, open_segment, segment_at, step
from ocboost._kernels.llvm_bits import prefetch
from ocboost._kernels.scaled import add, divide, exponential, log, multiply, normal, ratio
from ocboost._kernels.tail import (
    AS_PRINTED,
    KEEPS_TOTAL,
    OWN_FACTOR,
    SAFE,
    exponentials,
    mix,
    own,
    own_mix,
    pi,
)

# Where an unbalanced correction is said to have diverged: |α| past 1,000, or, as smoothing bounds α
# for any sums, a row that claims so many times the weight its examples began with. In AdaBoost
# the total never grows; as long as the correction works no row has been seen to pass 1.
SATURATED = 1000.0
TOO_MUCH = 10.0
SMALLEST = float(np.finfo(np.float64).tiny)


class Solution(NamedTuple):
    """What a solve finds out, and the room it needs (J coordinates, t tails)."""

    alpha: Floats  # (J,)
    exp_alpha: Floats  # (J,)
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
    drift: Floats  # (2,)
    room: Floats  # for the segments to work with
    T: Floats  # (t,): what entered the present coordinate from each tail
    T_unit: Ints


def make_solution(n_hypotheses: int, n_tails: int, n_examples: int) -> Solution:
    """Room for a solve over a head of at most ``n_examples``."""
    J = n_hypotheses
    places = 64 * ((n_examples + 63) // 64 + 3)  # both segments may begin and end within a block
    return Solution(
        alpha=np.zeros(J),
        exp_alpha=np.ones(J),
        base=np.zeros((n_tails, 2, J)),
        base_unit=np.zeros((n_tails, 2, J), np.int64),
        folded=np.zeros((2, J)),
        folded_unit=np.zeros((2, J), np.int64),
        delta=np.zeros((n_tails, J)),
        fall=np.ones((n_tails, J)),
        rise=np.ones((n_tails, J)),
        change=np.zeros((n_tails, J)),
        d=zeros_on_lines(places),
        unit=np.zeros(places, np.int32),
        member=np.zeros((2, J)),
        state=np.zeros((2, STATE_SIZE), np.int64),
        drift=np.zeros(2),
        room=make_room(2, n_examples, places),
        T=np.zeros(n_tails),
        T_unit=np.zeros(n_tails, np.int64),
    )


@helper
def share_and_floor(
    smoothing: float, now: float, now_unit: Whole, total: float, total_unit: Whole
) -> tuple[float, Whole, float, Whole]:
    """``ε / Σw`` and the smallest normal float, both in the weights of the present (``now``)."""
    share, share_unit = 0.0, 0
    if smoothing > 0.0 and total > 0.0:
        share, share_unit = normal(smoothing, 0)
        share, share_unit = multiply(share, share_unit, now, now_unit)
        share, share_unit = divide(share, share_unit, total, total_unit)
    floor, floor_unit = normal(SMALLEST, 0)
    floor, floor_unit = multiply(floor, floor_unit, now, now_unit)
    return share, share_unit, floor, floor_unit


@helper
def smoothed(
    plus: float, plus_unit: Whole, minus: float, minus_unit: Whole, share: float, share_unit: Whole
) -> tuple[float, Whole, float, Whole]:
    """``W⁺ + ε_j`` and ``W⁻ + ε_j``, ε_j = share · (W⁺ + W⁻) = ε (W⁺ + W⁻) / Σw."""
    if share > 0.0:
        total, total_unit = add(plus, plus_unit, minus, minus_unit)
        extra, extra_unit = multiply(share, share_unit, total, total_unit)
        plus, plus_unit = add(plus, plus_unit, extra, extra_unit)
        minus, minus_unit = add(minus, minus_unit, extra, extra_unit)
    return plus, plus_unit, minus, minus_unit


@seldom
def _half_log_ratio_apart(
    plus: float, plus_unit: Whole, minus: float, minus_unit: Whole, floor: float, floor_unit: Whole
) -> float:
    out_of_line()
    if plus > 0.0 and minus > 0.0:
        return 0.5 * (log(plus, plus_unit) - log(minus, minus_unit))
    if plus > 0.0:
        return 0.5 * max(log(plus, plus_unit) - log(floor, floor_unit), 0.0)
    if minus > 0.0:
        return 0.5 * min(log(floor, floor_unit) - log(minus, minus_unit), 0.0)
    return 0.0


@helper
def half_log_ratio(
    plus: float, plus_unit: Whole, minus: float, minus_unit: Whole, floor: float, floor_unit: Whole
) -> float:
    """α = ½ log(W⁺ / W⁻), the paper's equation 5, both sums smoothed already.

    0/0 gives 0, and a one-sided row takes ``floor`` for the side that is missing.
    """
    if unlikely((plus_unit != minus_unit) | (plus == 0.0) | (minus == 0.0)):
        return _half_log_ratio_apart(plus, plus_unit, minus, minus_unit, floor, floor_unit)
    return 0.5 * math.log(plus / minus)


@seldom
def _factors(alpha: float) -> tuple[float, float]:
    """``exp(α), exp(-α)``, or ones where α is so large that only `exponential` will do."""
    out_of_line()
    return (math.exp(alpha), math.exp(-alpha)) if abs(alpha) < MAX_DRIFT else (1.0, 1.0)


@seldom
def _exceeds(a: float, ua: Whole, b: float, ub: Whole) -> bool:
    """Whether a is more than b."""
    out_of_line()
    return a > 0.0 and (b == 0.0 or ratio(a, ua, b, ub) > 1.0)


@seldom
def _scaled_factor(x: float) -> tuple[float, Whole]:
    out_of_line()
    return exponential(x)


@helper
def _move_row(
    joined: int,
    other: int,
    size: int,
    correction: int,
    right: bool,
    fall: int,
    rise: int,
    member: int,
    keep: float,
    come: float,
) -> None:
    """Fold a single example into a row: ``joined`` are the pairs of its sign, ``other`` of the other."""
    if not correction & OWN_FACTOR:
        mix(floats_at(joined, size), keep, come, floats_at(member, size))
        return
    falls, rises = floats_at(fall, size), floats_at(rise, size)
    if right:
        own_mix(floats_at(joined, size), falls, rises, keep, come, floats_at(member, size))
        own(floats_at(other, size), rises, falls, 1.0)
    else:
        own_mix(floats_at(joined, size), rises, falls, keep, come, floats_at(member, size))
        own(floats_at(other, size), falls, rises, 1.0)


@kernel
def solve(
    tail: Tail,
    order: int,
    correction: int,
    head: Head,
    first: int,
    n: int,
    n_fold: int,
    smoothing: float,
    now: float,
    now_unit: Whole,
    solution: Solution,
    move: bool,
) -> bool:
    """Solve for α, and say whether an unbalanced correction has diverged.

    ``first`` is the ring position of the head's oldest example, ``n`` how many there are, ``n_fold`` how
    many of the oldest are about to be folded: their sums are kept apart. ``now`` is the weight that an
    example of sample weight one has at present (it grows under forgetting). With ``move``, the single
    example to be folded enters the pairs of the only tail on the way, while each row is in the cache.
    """
    # The fields by name, once: reaching into a tuple of arrays counts references.
    alphas, base, base_unit = solution.alpha, solution.base, solution.base_unit
    exp_alphas, exp_old = solution.exp_alpha, tail.exp_alpha
    folded, folded_unit, changes = solution.folded, solution.folded_unit, solution.change
    deltas, falls, rises = solution.delta, solution.fall, solution.rise
    T, T_unit = solution.T, solution.T_unit
    W, W_unit, old, words, shares = tail.W, tail.W_unit, tail.alpha, head.words, tail.share
    J, n_tails = alphas.size, old.shape[0]
    p_plus, p_minus = tail.p_plus.ctypes.data, tail.p_minus.ctypes.data
    delta_at, fall_at, rise_at = deltas.ctypes.data, falls.ctypes.data, rises.ctypes.data
    member_at = solution.member.ctypes.data
    row_of_pairs = 8 * tail.p_plus.shape[1]

    blocks = ((first & 63) + n_fold + 63) >> 6 if n_fold else 0
    position = (first + n_fold) % (64 * words.shape[0])
    leaving = segment_at(solution, head, 0, 0)
    staying = segment_at(solution, head, 1, blocks)

    total, total_unit = 0.0, 0
    for t in range(n_tails):
        T[t], T_unit[t] = tail.total[t], tail.total_unit[t]
        total, total_unit = add(total, total_unit, T[t], T_unit[t])
    total, total_unit = open_segment(leaving, head, first, n_fold, total, total_unit)
    total, total_unit = open_segment(staying, head, position, n - n_fold, total, total_unit)
    share, share_unit, floor, floor_unit = share_and_floor(smoothing, now, now_unit, total, total_unit)

    diverged = False
    alpha, if_right, if_wrong = 0.0, 1.0, 1.0
    for j in range(J):
        low = first_column(j, order)
        size = j - low
        start = 8 * row_start(j, order)
        plus, plus_unit, minus, minus_unit = 0.0, 0, 0.0, 0
        for t in range(n_tails):
            # The tail's row re-based: W^σ_jj · π^σ_j (equation 8).
            a, a_unit, b, b_unit = W[t, 0, j], W_unit[t, 0, j], W[t, 1, j], W_unit[t, 1, j]
            row = start + t * row_of_pairs
            if size > 0 and (a > 0.0 or b > 0.0) and changes[t, j - 1] > 0.0:
                change = changes[t, j - 1] - (changes[t, low - 1] if low > 0 else 0.0)
                shift = 8 * (t * J + low)
                delta, fall, rise = delta_at + shift, fall_at + shift, rise_at + shift
                value, unit = pi(p_plus + row, fall, rise, delta, size, 1.0, change)
                a, a_unit = multiply(a, a_unit, value, unit)
                if correction & AS_PRINTED:  # exp(∓Δ) for both signs
                    value, unit = pi(p_minus + row, fall, rise, delta, size, 1.0, change)
                else:
                    value, unit = pi(p_minus + row, rise, fall, delta, size, -1.0, change)
                b, b_unit = multiply(b, b_unit, value, unit)
            both, both_unit = add(a, a_unit, b, b_unit)
            if not correction & KEEPS_TOTAL:  # T[t] is still T₀ then
                if unlikely((both_unit != T_unit[t]) | (both > TOO_MUCH * T[t])):
                    diverged |= _exceeds(both, both_unit, TOO_MUCH * T[t], T_unit[t])
            else:
                if unlikely(shares[t, j] != 1.0):  # a latecomer: of what left the one before, so much
                    value, unit = normal(shares[t, j], 0)
                    T[t], T_unit[t] = multiply(T[t], T_unit[t], value, unit)
                if both > 0.0:  # all that left the coordinate before enters this one
                    value, unit = divide(T[t], T_unit[t], both, both_unit)
                    a, a_unit = multiply(a, a_unit, value, unit)
                    b, b_unit = multiply(b, b_unit, value, unit)
            base[t, 0, j], base_unit[t, 0, j] = a, a_unit
            base[t, 1, j], base_unit[t, 1, j] = b, b_unit
            # The next row comes from memory during the arithmetic between the rows.
            for line in range(row + 8 * size, row + 16 * size, 64):
                prefetch(p_plus + line)
                prefetch(p_minus + line)
            plus, plus_unit = add(plus, plus_unit, a, a_unit)
            minus, minus_unit = add(minus, minus_unit, b, b_unit)

        a, a_unit, b, b_unit = step(leaving, j, alpha, if_right, if_wrong)
        folded[0, j], folded_unit[0, j] = a, a_unit
        folded[1, j], folded_unit[1, j] = b, b_unit
        plus, plus_unit = add(plus, plus_unit, a, a_unit)
        minus, minus_unit = add(minus, minus_unit, b, b_unit)
        if move and size > 0:
            is_right = a > 0.0
            sign = 0 if is_right else 1
            x, unit = (a, a_unit) if is_right else (b, b_unit)
            keep, come = 1.0, 0.0
            if x > 0.0:
                after, after_unit = add(base[0, sign, j], base_unit[0, sign, j], x, unit)
                keep = ratio(base[0, sign, j], base_unit[0, sign, j], after, after_unit)
                come = ratio(x, unit, after, after_unit)
            joined, other = (p_plus, p_minus) if is_right else (p_minus, p_plus)
            member = member_at + 8 * (sign * J + low)
            fall, rise = fall_at + 8 * low, rise_at + 8 * low
            joined, other = joined + start, other + start
            _move_row(joined, other, size, correction, is_right, fall, rise, member, keep, come)
        a, a_unit, b, b_unit = step(staying, j, alpha, if_right, if_wrong)
        plus, plus_unit = add(plus, plus_unit, a, a_unit)
        minus, minus_unit = add(minus, minus_unit, b, b_unit)

        plus, plus_unit, minus, minus_unit = smoothed(plus, plus_unit, minus, minus_unit, share, share_unit)
        alpha = half_log_ratio(plus, plus_unit, minus, minus_unit, floor, floor_unit)
        if unlikely((correction & KEEPS_TOTAL == 0) & (abs(alpha) > SATURATED)):
            alpha = math.copysign(SATURATED, alpha)
            diverged = True
        alphas[j] = alpha
        moderate = abs(alpha) < MAX_DRIFT
        if unlikely((not moderate) | (plus_unit != minus_unit) | (plus == 0.0) | (minus == 0.0)):
            if_wrong, if_right = _factors(alpha)
            wrong, wrong_unit = _scaled_factor(alpha)
            right, right_unit = _scaled_factor(-alpha)
        else:  # exp(α) = √(W⁺ / W⁻) is cheaper than an exponential
            if_wrong, if_right = math.sqrt(plus / minus), math.sqrt(minus / plus)
            wrong, wrong_unit = normal(if_wrong, 0)
            right, right_unit = normal(if_right, 0)
        exp_alphas[j] = if_wrong
        for t in range(n_tails):
            change = alpha - old[t, j]
            deltas[t, j] = change
            if unlikely((not moderate) | (abs(old[t, j]) >= MAX_DRIFT) | (abs(change) >= SAFE)):
                falls[t, j], rises[t, j] = exponentials(change)
            else:
                falls[t, j], rises[t, j] = exp_old[t, j] * if_right, if_wrong / exp_old[t, j]
            changes[t, j] = abs(change) + (changes[t, j - 1] if j > 0 else 0.0)
            if correction & KEEPS_TOTAL:  # T_{j+1} = W⁺_jj e^{-α_j} + W⁻_jj e^{α_j}
                a, a_unit = multiply(base[t, 0, j], base_unit[t, 0, j], right, right_unit)
                b, b_unit = multiply(base[t, 1, j], base_unit[t, 1, j], wrong, wrong_unit)
                T[t], T_unit[t] = add(a, a_unit, b, b_unit)
    return diverged
