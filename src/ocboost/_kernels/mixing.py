"""Mixing the predictions of experts online: calibrated logits, second-order mixers, fixed share, a last map.

Every prediction is kept as a *record*, (R, K), until its label comes; all learning here is from the record,
so that it is about what was predicted and not about what would be predicted by then. Its rows are

- 0 … E-1: the logits Z of the experts, as they are;
- E … 2E-1: the same after each expert's calibration map, C;
- then X = M + 2E rows of probabilities: of the mixers, of C and of Z;
- then four: the shared output, and the output after a temperature, a map, and a map of its largest entry;
- the last: the prediction itself.

Logits, and the maps that calibrate them, are those of `ocboost._kernels.calibration`.
"""

from __future__ import annotations

import math

import numpy as np

from ocboost._kernels.arrays import Floats
from ocboost._kernels.calibration import (
    binary_logit,
    calibrate,
    log_odds,
    logistic,
    mapped,
    normalise,
    softmax,
    teach_map,
    within,
)
from ocboost._kernels.compile import exact, plain

MIN_SCALE = 0.05
SCALE_ROWS = 2000.0  # over which |logit| is averaged
MIN_PROBABILITY = 1e-6  # that an expert's share is multiplied by
N_FINAL = 4  # rows of the last stage

# What each mixer of a track learns from: C or Z, and how fast it forgets.
N_MIXERS = 4  # of one track
GAMMA = np.array([0.9998, 0.9998, 0.995, 0.995])
RHO = np.array([10.0, 10.0, 30.0, 30.0])

FINAL_GAMMA = 0.999
FINAL_RHO = 20.0
FINAL_PRIOR_COUNT = 20.0
FINAL_LIMIT = 2000.0
PRIOR_COUNT = 5.0  # of a knot of an expert's map
COUNT_LIMIT = 500.0


@exact
def _mix(weights: Floats, z: Floats, out: Floats) -> None:
    """Σ_e w_e z_e of each class."""
    E, K = z.shape
    for k in range(K):
        out[k] = 0.0
    for e in range(E):
        for k in range(K):
            out[k] += weights[e] * z[e, k]
    for k in range(K):
        out[k] = within(out[k], 700.0)


@plain
def issue(
    record: Floats,
    n_experts: int,
    n_mixers: int,
    scales: Floats,
    levels: Floats,
    counts: Floats,
    weights: Floats,
    share: Floats,
    final: Floats,
    final_levels: Floats,
    final_counts: Floats,
    final_share: Floats,
    room: Floats,
    has_final: bool,
) -> None:
    """Complete a record whose first E rows are the experts' scores.

    ``scales`` (E, 2), ``levels`` and ``counts`` (E, n_maps, N_KNOTS) are the maps, ``weights`` (M, E) the
    mixers, ``share`` (X,); ``final`` is (temperature, its curvature, mean |logit| of the output and of its
    largest entry, their counts); ``final_levels`` and ``final_counts`` (n_maps + 1, N_KNOTS) its maps.
    ``room`` is (2, K).
    """
    E, M, K = n_experts, n_mixers, record.shape[1]
    first_p = 2 * E
    first_c, first_z = first_p + M, first_p + M + E
    first_final = first_z + E
    out = record[first_final]
    for k in range(K):
        out[k] = 0.0
    for e in range(E):
        z = record[e]
        for k in range(K):
            if not math.isfinite(z[k]):
                z[k] = 0.0
        normalise(z)
        softmax(z, record[first_z + e])
        calibrate(z, record[first_z + e], scales[e, 0], levels[e], counts[e], PRIOR_COUNT, record[E + e])
        softmax(record[E + e], record[first_c + e])
    for m in range(M):
        source = record[E : 2 * E] if m % 2 == 0 else record[:E]
        _mix(weights[m], source, room[0])
        softmax(room[0], record[first_p + m])
    for x in range(M + 2 * E):
        for k in range(K):
            out[k] += share[x] * record[first_p + x, k]
    _finish(record[first_final:], final, final_levels, final_counts, final_share, room, has_final)


@exact
def _finish(
    rows: Floats,
    final: Floats,
    levels: Floats,
    counts: Floats,
    share: Floats,
    room: Floats,
    has_final: bool,
) -> None:
    """The last stage: rows 1 … 3 and the prediction, from the shared output in row 0."""
    p, K = rows[0], rows.shape[1]
    last = rows[N_FINAL]
    total = 0.0
    for k in range(K):
        total += p[k]
    for k in range(K):
        p[k] /= total
        last[k] = p[k]
    if not has_final:
        for i in range(1, N_FINAL):
            for k in range(K):
                rows[i, k] = p[k]
        return
    z = room[0]
    for k in range(K):
        z[k] = math.log(max(p[k], MIN_PROBABILITY))
    normalise(z)
    for k in range(K):
        room[1, k] = final[0] * z[k]
    softmax(room[1], rows[1])
    calibrate(z, p, final[2], levels, counts, FINAL_PRIOR_COUNT, room[1])
    softmax(room[1], rows[2])
    for k in range(K):
        rows[3, k] = p[k]
    if K > 2:
        best = 0
        for k in range(1, K):
            if p[k] > p[best]:
                best = k
        n = levels.shape[0]
        sure = logistic(mapped(log_odds(p[best]), final[3], levels[n - 1], counts[n - 1], FINAL_PRIOR_COUNT))
        others = 0.0
        for k in range(K):
            if k != best:
                others += p[k]
        others = max(others, 1e-12)
        for k in range(K):
            rows[3, k] = p[k] * (1.0 - sure) / others
        rows[3, best] = sure
    total = 0.0
    for k in range(K):
        last[k] = 0.0
        for i in range(N_FINAL):
            last[k] += share[i] * rows[i, k]
        total += last[k]
    for k in range(K):
        last[k] /= total


@exact
def _multiply_shares(
    share: Floats, prior: Floats, rows: Floats, code: int, power: float, rate: float
) -> None:
    """Fixed share: v ∝ v · p(y)^power, then a part ``rate`` goes back to the prior."""
    total = 0.0
    for x in range(share.size):
        share[x] *= math.exp(power * math.log(max(rows[x, code], MIN_PROBABILITY)))
        total += share[x]
    if not total > 0.0:
        for x in range(share.size):
            share[x] = prior[x]
        return
    for x in range(share.size):
        share[x] = (1.0 - rate) * share[x] / total + rate * prior[x]


@exact
def _times(P: Floats, u: Floats, out: Floats) -> None:
    """P u of a symmetric P, row by row, so that the inner loop is vectorised as it is written."""
    E = u.size
    for i in range(E):
        out[i] = 0.0
    for j in range(E):
        factor, row = u[j], P[j]
        for i in range(E):
            out[i] += factor * row[i]


@exact
def _subtract_square(P: Floats, u: Floats, scale: float) -> None:
    """P - scale · u uᵀ, in place; u is scaled.

    P stays symmetric to the last bit: what rounding adds to its antisymmetric part would grow by 1/γ a step.
    """
    E, root = u.size, math.sqrt(scale)
    for i in range(E):
        u[i] *= root
    for i in range(E):
        factor, row = u[i], P[i]
        for j in range(E):
            row[j] -= factor * u[j]


@exact
def _add_rank_one(P: Floats, u: Floats, factor: float, Pu: Floats) -> None:
    """The inverse of A + factor · u uᵀ, P being that of A (Sherman and Morrison)."""
    _times(P, u, Pu)
    bend = 0.0
    for i in range(u.size):
        bend += Pu[i] * u[i]
    _subtract_square(P, Pu, factor / (1.0 + factor * bend))


@exact
def _add_coordinate(P: Floats, i: int, amount: float, Pu: Floats) -> None:
    """The same for amount · e_i e_iᵀ."""
    for j in range(Pu.size):
        Pu[j] = P[i, j]
    _subtract_square(P, Pu, amount / (1.0 + amount * Pu[i]))


@exact
def _teach_mixer(
    w: Floats,
    P: Floats,
    z: Floats,
    code: int,
    weight: float,
    gamma: float,
    rho: float,
    turn: int,
    room: Floats,
    p: Floats,
) -> None:
    """A step of online Newton: A ← γA + (1-γ)ρI + Cov_p(z), w += A⁻¹ [z_y - E_p z - (1-γ)ρ(w - w0)].

    P is A⁻¹. The prior's part goes to one coordinate at a time, E times as much. Of more than two classes
    those of less than 1e-9 are left out of the covariance.
    """
    E, K = z.shape
    pull = (1.0 - gamma) * rho
    _mix(w, z, room[2, :K])
    softmax(room[2, :K], p)
    u, Pu, g = room[0, :E], room[1, :E], room[3, :E]
    growth = 1.0 / gamma
    for i in range(E):
        row = P[i]
        for j in range(E):
            row[j] *= growth
    _add_coordinate(P, turn % E, pull * E, Pu)
    if K == 2:
        q = p[1]
        for e in range(E):
            u[e] = z[e, 1] - z[e, 0]
            g[e] = weight * (code - q) * u[e] - pull * (w[e] - 1.0 / E)
        _add_rank_one(P, u, weight * p[0] * q, Pu)
    else:
        for e in range(E):
            mean = 0.0
            for k in range(K):
                mean += p[k] * z[e, k]
            room[4, e] = mean
            g[e] = weight * (z[e, code] - mean) - pull * (w[e] - 1.0 / E)
        for k in range(K):
            if p[k] > 1e-9:
                for e in range(E):
                    u[e] = z[e, k] - room[4, e]
                _add_rank_one(P, u, weight * p[k], Pu)
    _times(P, g, Pu)
    finite = True
    for i in range(E):
        Pu[i] += w[i]
        finite = finite and math.isfinite(Pu[i]) and P[i, i] > 0.0
    if finite:
        for i in range(E):
            w[i] = Pu[i]
    else:  # rounding has spoilt it: begin again
        for i in range(E):
            w[i] = 1.0 / E
            for j in range(E):
                P[i, j] = 1.0 / rho if i == j else 0.0


@plain
def learn_issued(
    record: Floats,
    code: int,
    weight: float,
    eta: float,
    n_experts: int,
    n_mixers: int,
    turn: int,
    scales: Floats,
    rates: Floats,
    levels: Floats,
    counts: Floats,
    weights: Floats,
    inverses: Floats,
    share: Floats,
    prior: Floats,
    share_rate: float,
    final: Floats,
    final_rates: Floats,
    final_levels: Floats,
    final_counts: Floats,
    final_share: Floats,
    final_prior: Floats,
    final_share_rate: float,
    recent: Floats,
    room: Floats,
    has_final: bool,
) -> None:
    """Learn from a record whose label has come: shares, the issued track of mixers, maps, the last stage.

    ``eta`` is less than 1 for a late label. ``recent`` (E + 1, 3) has running means for each expert, and for
    the prediction: right or wrong, log-loss, and their count.
    """
    E, M, K = n_experts, n_mixers, record.shape[1]
    first_p = 2 * E
    first_z = first_p + M + E
    first_final = first_z + E
    step = eta * min(weight, 1.0)
    _note(recent[E], record[first_final + N_FINAL], code)
    for e in range(E):
        _note(recent[e], record[first_z + e], code)
    _multiply_shares(share, prior, record[first_p:first_final], code, eta * weight, share_rate * step)
    if has_final:
        rows = record[first_final:]
        _teach_final(rows, code, weight * eta, final, final_rates, final_levels, final_counts, room)
        _multiply_shares(
            final_share, final_prior, rows[:N_FINAL], code, eta * weight, final_share_rate * step
        )
    p = room[5, :K]
    for m in range(N_MIXERS):
        z = record[E : 2 * E] if m % 2 == 0 else record[:E]
        _teach_mixer(weights[m], inverses[m], z, code, weight, GAMMA[m], RHO[m], turn, room, p)
    n_maps = counts.shape[1]
    for e in range(E):
        z, pz = record[e], record[first_z + e]
        for k in range(n_maps):
            own = 1 if n_maps == 1 else k
            u = binary_logit(z, pz, own)
            hit = 1.0 if code == own else 0.0
            teach_map(
                u,
                hit,
                weight,
                scales[e, 0],
                rates[e, k],
                levels[e, k],
                counts[e, k],
                PRIOR_COUNT,
                COUNT_LIMIT,
            )
            scales[e, 1] = min(scales[e, 1] + 1.0, SCALE_ROWS)
            scales[e, 0] += (abs(u) - scales[e, 0]) / scales[e, 1]
        scales[e, 0] = max(scales[e, 0], MIN_SCALE)


@exact
def _note(means: Floats, p: Floats, code: int) -> None:
    """Count a prediction in running means over about 1,000."""
    right = 1.0
    for k in range(p.size):
        if p[k] > p[code] or (p[k] == p[code] and k < code):
            right = 0.0
    means[2] = min(means[2] + 1.0, 1000.0)
    means[0] += (right - means[0]) / means[2]
    means[1] += (-math.log(max(p[code], MIN_PROBABILITY)) - means[1]) / means[2]


@exact
def _teach_final(
    rows: Floats,
    code: int,
    weight: float,
    final: Floats,
    rates: Floats,
    levels: Floats,
    counts: Floats,
    room: Floats,
) -> None:
    """The temperature by a step of Newton, the maps by counting."""
    p, K = rows[0], rows.shape[1]
    z, q = room[0, :K], room[1, :K]
    for k in range(K):
        z[k] = math.log(max(p[k], MIN_PROBABILITY))
    normalise(z)
    for k in range(K):
        q[k] = final[0] * z[k]
    softmax(q, room[2, :K])
    mean, square = 0.0, 0.0
    for k in range(K):
        mean += room[2, k] * z[k]
        square += room[2, k] * z[k] * z[k]
    pull = (1.0 - FINAL_GAMMA) * FINAL_RHO
    final[1] = FINAL_GAMMA * final[1] + pull + weight * max(square - mean * mean, 0.0)
    final[0] += (weight * (z[code] - mean) - pull * (final[0] - 1.0)) / final[1]
    final[0] = min(max(final[0], 0.1), 10.0)
    n = levels.shape[0]
    for k in range(n - 1):
        own = 1 if n == 2 else k
        u = binary_logit(z, p, own)
        hit = 1.0 if code == own else 0.0
        teach_map(u, hit, weight, final[2], rates[k], levels[k], counts[k], FINAL_PRIOR_COUNT, FINAL_LIMIT)
        final[4] = min(final[4] + 1.0, SCALE_ROWS)
        final[2] += (abs(u) - final[2]) / final[4]
    final[2] = max(final[2], MIN_SCALE)
    if K > 2:
        best = 0
        for k in range(1, K):
            if p[k] > p[best]:
                best = k
        u = log_odds(p[best])
        hit = 1.0 if code == best else 0.0
        teach_map(
            u,
            hit,
            weight,
            final[3],
            rates[n - 1],
            levels[n - 1],
            counts[n - 1],
            FINAL_PRIOR_COUNT,
            FINAL_LIMIT,
        )
        final[5] = min(final[5] + 1.0, SCALE_ROWS)
        final[3] += (abs(u) - final[3]) / final[5]
        final[3] = max(final[3], MIN_SCALE)


@plain
def learn_fresh(
    record: Floats,
    code: int,
    weight: float,
    n_experts: int,
    turn: int,
    weights: Floats,
    inverses: Floats,
    room: Floats,
) -> None:
    """Let the second track of mixers learn from a record that was made when the label came."""
    E, K = n_experts, record.shape[1]
    for m in range(N_MIXERS):
        z = record[E : 2 * E] if m % 2 == 0 else record[:E]
        _teach_mixer(
            weights[N_MIXERS + m],
            inverses[N_MIXERS + m],
            z,
            code,
            weight,
            GAMMA[m],
            RHO[m],
            turn,
            room,
            room[5, :K],
        )
