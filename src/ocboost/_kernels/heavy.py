"""Keeping the heavy examples: the light ones' sums, carried by a weighted sample of them.

The examples that weigh are kept exactly. All others are *light*: of them the sketch has the sums L⁺_j and
L⁻_j at some α, the *anchor*, and a weighted sample. When α moves by D = α - anchor, the sample shows how the
sums move, and differences of pairs correct the sample:

    light^σ_j = L^σ_j · S^σ_j(α) / A^σ_j · exp(clip(-2σ Σ_{k<j} δ^σ_jk D_k, ±3))

S^σ_j(α) is the sample's weight with margin σ at j, A^σ_j the same at the anchor, and δ^σ_jk = P - p the
share of the light weight in row j that has margin σ at k as well, less what the sample says of it. The factor
is how π changes with p where D is small (the paper's equation 8). The light pair is then scaled to the light
weight that left coordinate j - 1, as in the balanced correction, and the exact examples are added.

Where the sample has no example with margin σ at j, those with the other margin stand in for it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import (
    Floats,
    Head,
    Ints,
    Light,
    Units,
    Whole,
    Words,
    floats_at,
    ints_at,
    row_start,
    zeros_on_lines,
)
from ocboost._kernels.codes import WIDTH, codes_of_few, score_tables
from ocboost._kernels.compile import exact, helper, kernel, unlikely
from ocboost._kernels.head import (
    MAX_DRIFT,
    N_BLOCKS,
    STATE_SIZE,
    UNIFORM,
    UNIT,
    Segment,
    make_room,
    open_segment,
    segment_at,
    settle,
    step,
    weight_of,
)
from ocboost._kernels.llvm_bits import dot_halves
from ocboost._kernels.llvm_codes import codes_of, score_by_codes
from ocboost._kernels.scaled import add, divide, exponential, multiply, normal, ratio
from ocboost._kernels.solve import half_log_ratio, share_and_floor, smoothed

PAD = 8  # places behind the last pair, so that a row can be read in whole groups
MOST_CHANGE = 3.0  # what the pairs may correct the sample by, as a logarithm
NO_UNIT = 1 << 40


class Estimate(NamedTuple):
    """What a solve with a light part finds out, and the room it needs (J coordinates, t light parts)."""

    alpha: Floats  # (J,)
    exp_alpha: Floats  # (J,)
    light: Floats  # (t, 2, J): the light sums at α
    light_unit: Ints
    S: Floats  # (t, 2, J): the samples' sums at α
    S_unit: Ints
    W: Floats  # (J,): W⁺_j + W⁻_j of everything
    W_unit: Ints
    change: Floats  # (t, J + PAD): D, zero where it is not known yet
    d: Floats  # the examples' weights, in whole blocks: each sample, then the exact ones
    unit: Units
    state: Ints  # (t + 1, STATE_SIZE)
    drift: Floats  # (t + 1,)
    room: Floats  # for the runs to work with
    T: Floats  # (t,): the light weight that enters the present coordinate
    T_unit: Ints


def make_estimate(n_hypotheses: int, n_lights: int, n_examples: int) -> Estimate:
    """Room for a solve over at most ``n_examples``."""
    J, t = n_hypotheses, n_lights
    places = 64 * ((n_examples + 63) // 64 + 2 * t + 2)  # every run may begin and end within a block
    return Estimate(
        alpha=np.zeros(J),
        exp_alpha=np.ones(J),
        light=np.zeros((t, 2, J)),
        light_unit=np.zeros((t, 2, J), np.int64),
        S=np.zeros((t, 2, J)),
        S_unit=np.zeros((t, 2, J), np.int64),
        W=np.zeros(J),
        W_unit=np.zeros(J, np.int64),
        change=np.zeros((t, J + PAD)),
        d=zeros_on_lines(places),
        unit=np.zeros(places, np.int32),
        state=np.zeros((t + 1, STATE_SIZE), np.int64),
        drift=np.zeros(t + 1),
        room=make_room(t + 1, n_examples, places),
        T=np.zeros(t),
        T_unit=np.zeros(t, np.int64),
    )


@kernel
def estimate_alpha(
    light: Light, head: Head, bounds: Ints, smoothing: float, now: float, now_unit: Whole, estimate: Estimate
) -> None:
    """Solve for α with the light parts and the exact examples.

    The examples bounds[t] … bounds[t + 1] - 1 of the head are the sample of light part t; those from the last
    bound but one to the last are exact. ``now`` is what an example of sample weight one weighs at present.
    """
    alphas, exp_alphas, lights, light_unit = (
        estimate.alpha,
        estimate.exp_alpha,
        estimate.light,
        estimate.light_unit,
    )
    S, S_unit, W, W_unit = estimate.S, estimate.S_unit, estimate.W, estimate.W_unit
    T, T_unit, change = estimate.T, estimate.T_unit, estimate.change
    L, L_unit, A, A_unit, anchor = light.L, light.L_unit, light.A, light.A_unit, light.anchor
    J, n_lights = alphas.size, anchor.shape[0]
    n_row, n_pairs = change.shape[1], light.delta.shape[2]
    delta_at, change_at = light.delta.ctypes.data, change.ctypes.data

    blocks = 0
    total, total_unit = 0.0, 0  # of the last run, the exact examples; the light ones have sums
    for r in range(n_lights + 1):
        run = segment_at(estimate, head, r, blocks)
        total, total_unit = open_segment(run, head, bounds[r], bounds[r + 1] - bounds[r], 0.0, 0)
        blocks += estimate.state[r, N_BLOCKS]
    for t in range(n_lights):
        change[t, :] = 0.0
        a, a_unit = L[t, 0, 0], np.int64(L_unit[t, 0, 0])
        b, b_unit = L[t, 1, 0], np.int64(L_unit[t, 1, 0])
        T[t], T_unit[t] = add(a, a_unit, b, b_unit)
        total, total_unit = add(total, total_unit, T[t], T_unit[t])
    share, share_unit, floor, floor_unit = share_and_floor(smoothing, now, now_unit, total, total_unit)

    alpha, if_right, if_wrong = 0.0, 1.0, 1.0
    for j in range(J):
        plus, plus_unit, minus, minus_unit = 0.0, 0, 0.0, 0
        blocks = 0
        for t in range(n_lights):
            run = segment_at(estimate, head, t, blocks)
            blocks += estimate.state[t, N_BLOCKS]
            a, a_unit, b, b_unit = step(run, j, alpha, if_right, if_wrong)
            S[t, 0, j], S_unit[t, 0, j], S[t, 1, j], S_unit[t, 1, j] = a, a_unit, b, b_unit
            both, both_unit = 0.0, 0
            for sign in range(2):
                value, unit = L[t, sign, j], np.int64(L_unit[t, sign, j])
                # Where the sample has none of this sign, the other stands in.
                of = sign if A[t, sign, j] > 0.0 else 1 - sign
                if A[t, of, j] > 0.0 and value > 0.0:
                    moved, moved_unit = divide(
                        S[t, of, j], S_unit[t, of, j], A[t, of, j], np.int64(A_unit[t, of, j])
                    )
                    value, unit = multiply(value, unit, moved, moved_unit)
                if j > 0 and n_pairs > 0 and value > 0.0:
                    row = 2 * ((2 * t + sign) * n_pairs + row_start(j, J))
                    shift = dot_halves(delta_at + row, change_at + 8 * t * n_row, (j + 7) >> 3)
                    shift *= -2.0 if sign == 0 else 2.0
                    moved = math.exp(min(max(shift, -MOST_CHANGE), MOST_CHANGE))
                    value, unit = normal(value * moved, unit)
                lights[t, sign, j], light_unit[t, sign, j] = value, unit
                both, both_unit = add(both, both_unit, value, unit)
            if both > 0.0:  # all light weight that left the coordinate before enters this one
                value, unit = divide(T[t], T_unit[t], both, both_unit)
                for sign in range(2):
                    lights[t, sign, j], light_unit[t, sign, j] = multiply(
                        lights[t, sign, j], light_unit[t, sign, j], value, unit
                    )
            plus, plus_unit = add(plus, plus_unit, lights[t, 0, j], light_unit[t, 0, j])
            minus, minus_unit = add(minus, minus_unit, lights[t, 1, j], light_unit[t, 1, j])
        run = segment_at(estimate, head, n_lights, blocks)
        a, a_unit, b, b_unit = step(run, j, alpha, if_right, if_wrong)
        plus, plus_unit = add(plus, plus_unit, a, a_unit)
        minus, minus_unit = add(minus, minus_unit, b, b_unit)
        W[j], W_unit[j] = add(plus, plus_unit, minus, minus_unit)

        plus, plus_unit, minus, minus_unit = smoothed(plus, plus_unit, minus, minus_unit, share, share_unit)
        alpha = half_log_ratio(plus, plus_unit, minus, minus_unit, floor, floor_unit)
        alphas[j] = alpha
        moderate = abs(alpha) < MAX_DRIFT
        if unlikely((not moderate) | (plus_unit != minus_unit) | (plus == 0.0) | (minus == 0.0)):
            if_wrong, if_right = (math.exp(alpha), math.exp(-alpha)) if moderate else (1.0, 1.0)
        else:  # exp(α) = √(W⁺ / W⁻) is cheaper than an exponential
            if_wrong, if_right = math.sqrt(plus / minus), math.sqrt(minus / plus)
        exp_alphas[j] = if_wrong
        right, right_unit = exponential(-alpha)
        wrong, wrong_unit = exponential(alpha)
        for t in range(n_lights):
            change[t, j] = alpha - anchor[t, j]
            a, a_unit = multiply(lights[t, 0, j], light_unit[t, 0, j], right, right_unit)
            b, b_unit = multiply(lights[t, 1, j], light_unit[t, 1, j], wrong, wrong_unit)
            T[t], T_unit[t] = add(a, a_unit, b, b_unit)


@exact
def _add_scaled(q: Floats, d: Floats, by: float) -> None:
    for i in range(64):
        q[i] += d[i] * by


class Tables(NamedTuple):
    """How eight coordinates at once add to the scores, for every eight."""

    table: Floats  # (eights, 64): those of `score_by_codes`
    unit: Ints  # (eights,): the unit that W⁺_j + W⁻_j has at all eight, `NO_UNIT` if they differ
    change: Floats  # (eights,): Σ|α_j|


@helper
def importance(j: int, n_hypotheses: int) -> float:
    """What coordinate j counts in a score: the later the more, as its weight lies on fewer examples."""
    return (j + 1.0) / n_hypotheses


@helper
def _score_tables(estimate: Estimate) -> Tables:
    alphas, exp_alphas, W, W_unit = estimate.alpha, estimate.exp_alpha, estimate.W, estimate.W_unit
    J = alphas.size
    n = (J + WIDTH - 1) // WIDTH
    tables = Tables(np.empty((n, 64)), np.empty(n, np.int64), np.empty(n))
    factors, share = np.empty(2 * WIDTH), np.empty(WIDTH)
    for g in range(n):
        start = WIDTH * g
        change, unit = 0.0, W_unit[start]
        for k in range(WIDTH):
            j = start + k
            factors[2 * k], factors[2 * k + 1], share[k] = 1.0, 1.0, 0.0
            if j < J:
                factors[2 * k], factors[2 * k + 1] = 1.0 / exp_alphas[j], exp_alphas[j]
                share[k] = importance(j, J) / W[j] if W[j] > 0.0 else 0.0
                change += abs(alphas[j])
                if W_unit[j] != unit or W[j] == 0.0:
                    unit = NO_UNIT
        tables.unit[g], tables.change[g] = unit, change
        score_tables(tables.table.ctypes.data + 512 * g, factors.ctypes.data, share.ctypes.data)
    return tables


@helper
def _score_one(run: Segment, n: int, W: float, W_unit: Whole, by: float, scores: Floats) -> None:
    """Add ``by`` times one coordinate's share of the scores of up to 64 examples, whose weights are at it."""
    state = ints_at(run.state, STATE_SIZE)
    if W > 0.0:
        if state[UNIFORM] and W_unit == state[UNIT]:
            _add_scaled(scores, floats_at(run.d, 64), by / W)
        else:
            for i in range(n):
                x, unit = weight_of(run, i)
                if x > 0.0:
                    scores[i] += by * ratio(x, unit, W, W_unit)


@helper
def _score(head: Head, n: int, estimate: Estimate, tables: Tables, room: Words, q: Floats) -> None:
    alphas, exp_alphas, state, drift = estimate.alpha, estimate.exp_alpha, estimate.state, estimate.drift
    W, W_unit, words, units, changes = estimate.W, estimate.W_unit, head.words, tables.unit, tables.change
    J = alphas.size
    run = segment_at(estimate, head, 0, 0)
    d_at, q_at, bits_at = estimate.d.ctypes.data, q.ctypes.data, words.ctypes.data
    table_at, codes_at = tables.table.ctypes.data, room.ctypes.data
    for i in range(q.size):
        q[i] = 0.0
    for start in range(0, n, 64):
        here = min(64, n - start)
        open_segment(run, head, start, here, 0.0, 0)
        scores = floats_at(q_at + 8 * start, 64)
        alpha, if_right, if_wrong = 0.0, 1.0, 1.0  # what the weights have not been multiplied by yet
        for g in range(units.size):
            begin, end = WIDTH * g, min(WIDTH * g + WIDTH, J)
            if state[0, UNIFORM] and state[0, UNIT] == units[g] and changes[g] < MAX_DRIFT:
                if alpha != 0.0:
                    step(run, begin, alpha, if_right, if_wrong)
                    alpha, if_right, if_wrong = 0.0, 1.0, 1.0
                if drift[0] + changes[g] >= MAX_DRIFT:
                    settle(run)
                if state[0, UNIFORM] and state[0, UNIT] == units[g]:
                    row = bits_at + 8 * ((start >> 6) * J + begin)
                    if end - begin == WIDTH:
                        codes_of(row, codes_at)
                    else:
                        codes_of_few(row, end - begin, codes_at + 64, codes_at)
                    score_by_codes(d_at, q_at + 8 * start, codes_at, table_at + 512 * g)
                    drift[0] += changes[g]
                    continue
            for j in range(begin, end):
                step(run, j, alpha, if_right, if_wrong)
                _score_one(run, here, W[j], W_unit[j], importance(j, J), scores)
                alpha = alphas[j]
                if_wrong = exp_alphas[j]
                if_right = 1.0 / if_wrong


@kernel
def score(head: Head, n: int, estimate: Estimate, q: Floats) -> None:
    """``q_i = Σ_j j/J · d_ij / (W⁺_j + W⁻_j)``, j from 1 to J: how much example i weighs.

    Late coordinates count more: their weight lies on fewer examples, and on those it matters which are kept.
    ``q`` has a place for each of the head's, in whole blocks of 64. Eight coordinates are taken at once where
    one unit fits all of their numbers.
    """
    # Arrays that are reached by address belong to the caller: in the function that makes them they would be
    # given back before it ends.
    _score(head, n, estimate, _score_tables(estimate), np.empty(16, np.uint64), q)


@kernel
def sum_run(head: Head, first: int, n: int, estimate: Estimate, out: Floats, out_unit: Ints) -> None:
    """The weights at α of a run of examples with margin +1 and -1, at each coordinate: (2, J)."""
    alphas, exp_alphas = estimate.alpha, estimate.exp_alpha
    run = segment_at(estimate, head, 0, 0)
    open_segment(run, head, first, n, 0.0, 0)
    alpha, if_right, if_wrong = 0.0, 1.0, 1.0
    for j in range(alphas.size):
        a, a_unit, b, b_unit = step(run, j, alpha, if_right, if_wrong)
        out[0, j], out_unit[0, j], out[1, j], out_unit[1, j] = a, a_unit, b, b_unit
        alpha = alphas[j]
        if_wrong = exp_alphas[j]
        if_right = 1.0 / if_wrong
