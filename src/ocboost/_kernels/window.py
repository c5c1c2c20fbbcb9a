"""AdaBoost over a short window of examples, for whoever wants α after each of them.

The margins are kept as numbers, a row for each hypothesis: with a few dozen examples that is quicker than
bits. The result is that of `ocboost._kernels.solve` up to rounding.
"""

from __future__ import annotations

import math

from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.compile import helper, kernel

LARGE = 1e100  # sums of weights beyond this, or below its inverse, are scaled to 1


@helper
def _edge(margins: Floats, d: Floats) -> float:
    """Σ_i d_i m_i."""
    total = 0.0
    for i in range(d.size):
        total += d[i] * margins[i]
    return total


@helper
def _reweight(margins: Floats, d: Floats, right: float, wrong: float) -> float:
    """Multiply d by ``right`` where the margin is +1 and by ``wrong`` where it is -1; gives the new sum."""
    total = 0.0
    for i in range(d.size):
        d[i] *= right if margins[i] > 0.0 else wrong
        total += d[i]
    return total


@kernel
def advance_window(
    row: Int8s,
    weight: float,
    place: int,
    smoothing: float,
    margins: Floats,
    weights: Floats,
    d: Floats,
    alpha: Floats,
) -> bool:
    """Put an example in its place of the window and solve for α; False if all weights are 0.

    ``margins`` is (J, places), ``weights`` (places,), 0 where there is no example; ``d`` is room. With ε > 0:
    α_j = ½ log((W⁺ + e) / (W⁻ + e)), e = ε (W⁺ + W⁻) / Σw, in the order of j (the paper's equation 5).
    """
    J = row.size
    for j in range(J):
        margins[j, place] = row[j]
    weights[place] = weight
    total = 0.0
    for i in range(d.size):
        d[i] = weights[i]
        total += weights[i]
    if not total > 0.0:
        return False
    share = smoothing / total
    for j in range(J):
        edge = _edge(margins[j], d)
        extra = share * total
        plus, minus = max(0.5 * (total + edge), 0.0) + extra, max(0.5 * (total - edge), 0.0) + extra
        alpha[j] = 0.5 * math.log(plus / minus)
        wrong = math.sqrt(plus / minus)  # exp(α)
        total = _reweight(margins[j], d, 1.0 / wrong, wrong)
        if total > LARGE or total < 1.0 / LARGE:
            for i in range(d.size):
                d[i] /= total
            total = 1.0
    return True
