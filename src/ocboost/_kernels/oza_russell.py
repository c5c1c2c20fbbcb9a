"""Oza and Russell's online boosting over fixed hypotheses."""

from __future__ import annotations

from typing import NamedTuple

from ocboost._kernels.arrays import Floats, Int8s, Ints, Whole
from ocboost._kernels.compile import helper, kernel
from ocboost._kernels.scaled import add, divide, multiply, normal
from ocboost._kernels.solve import half_log_ratio, share_and_floor, smoothed


class Sums(NamedTuple):
    """What the booster keeps, as scaled numbers (`ocboost._kernels.scaled`)."""

    W: Floats  # (2, J): W⁺, W⁻
    W_unit: Ints
    total: Floats  # (1,): Σw
    total_unit: Ints
    now: Floats  # (1,): the weight an example of sample weight one has at present
    now_unit: Ints


@helper
def _factor(a: float, ua: Whole, b: float, ub: Whole, share: float, share_unit: Whole) -> tuple[float, Whole]:
    """(W⁺ + W⁻) / (2 W^σ), a being W^σ: the mean of 1 and exp(-2 α m), with both sums smoothed."""
    a, ua, b, ub = smoothed(a, ua, b, ub, share, share_unit)
    if a == 0.0:
        return 0.0, 0
    total, total_unit = add(a, ua, b, ub)
    return divide(0.5 * total, total_unit, a, ua)


@kernel
def oza_batches(
    rows: Int8s,
    weights: Floats,
    batch_size: int,
    smoothing: float,
    forgetting: float,
    sums: Sums,
    d: Floats,
    d_unit: Ints,
) -> None:
    """Take in examples, ``batch_size`` at once: at each coordinate all are added, then reweighted."""
    W, W_unit, total, total_unit, now, now_unit = sums
    n, J = rows.shape
    for start in range(0, n, batch_size):
        stop = min(start + batch_size, n)
        for i in range(stop - start):
            if forgetting != 1.0:
                factor, factor_unit = normal(forgetting, 0)
                now[0], now_unit[0] = divide(now[0], now_unit[0], factor, factor_unit)
            x, u = normal(weights[start + i], 0)
            x, u = multiply(x, u, now[0], now_unit[0])
            d[i], d_unit[i] = x, u
            total[0], total_unit[0] = add(total[0], total_unit[0], x, u)
        share, share_unit, _, _ = share_and_floor(smoothing, now[0], now_unit[0], total[0], total_unit[0])
        for j in range(J):
            plus, plus_unit = W[0, j], W_unit[0, j]
            minus, minus_unit = W[1, j], W_unit[1, j]
            for i in range(stop - start):
                if rows[start + i, j] > 0:
                    plus, plus_unit = add(plus, plus_unit, d[i], d_unit[i])
                else:
                    minus, minus_unit = add(minus, minus_unit, d[i], d_unit[i])
            W[0, j], W_unit[0, j] = plus, plus_unit
            W[1, j], W_unit[1, j] = minus, minus_unit
            right, right_unit = _factor(plus, plus_unit, minus, minus_unit, share, share_unit)
            wrong, wrong_unit = _factor(minus, minus_unit, plus, plus_unit, share, share_unit)
            for i in range(stop - start):
                if rows[start + i, j] > 0:
                    d[i], d_unit[i] = multiply(d[i], d_unit[i], right, right_unit)
                else:
                    d[i], d_unit[i] = multiply(d[i], d_unit[i], wrong, wrong_unit)
        if now_unit[0] > 1000:  # exact, and keeps the counts small under forgetting
            for j in range(J):
                W_unit[0, j] -= now_unit[0]
                W_unit[1, j] -= now_unit[0]
            total_unit[0] -= now_unit[0]
            now_unit[0] = 0


@kernel
def oza_alpha(smoothing: float, sums: Sums, alpha: Floats) -> None:
    """α_j = ½ log((W⁺_j + ε_j) / (W⁻_j + ε_j))."""
    W, W_unit, total, total_unit, now, now_unit = sums
    share, share_unit, floor, floor_unit = share_and_floor(
        smoothing, now[0], now_unit[0], total[0], total_unit[0]
    )
    for j in range(alpha.size):
        plus, plus_unit, minus, minus_unit = smoothed(
            W[0, j], W_unit[0, j], W[1, j], W_unit[1, j], share, share_unit
        )
        alpha[j] = half_log_ratio(plus, plus_unit, minus, minus_unit, floor, floor_unit)
