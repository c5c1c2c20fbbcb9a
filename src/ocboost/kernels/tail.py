"""Re-basing a row of the tail: the products π and the changes of p that follow a change of α.

When α_k moves by Δ_k, a share p of the weight in a row has margin σ at k and moves by exp(-σΔ_k), the
rest by exp(σΔ_k) (the paper's theorem; its listing has exp(∓Δ) for both signs, see `LISTING`):

    t^σ_jk = p^σ_jk · exp(-σ Δ_k) + (1 - p^σ_jk) · exp(σ Δ_k),        π^σ_j = Π_k t^σ_jk
"""

from __future__ import annotations

import math

from .compile import helper
from .scaled import exponential, multiply, normal
from .types import Floats

LISTING, THEOREM, OWN, BALANCED = range(4)
CORRECTIONS = {"listing": LISTING, "theorem": THEOREM, "own": OWN, "balanced": BALANCED}

# A share of a row below this is zero. It could be seen in t only if some |Δ| were beyond 200, and numbers
# below the normal range of a double make the processor ten times slower.
NOTHING = 1e-200

# A product of terms between exp(-|Δ|) and exp(|Δ|) stays a double while Σ|Δ| is below this.
SAFE = 300.0
PIECE = 64


@helper
def _product(p: Floats, same: Floats, other: Floats) -> float:
    value = 1.0
    for k in range(p.size):
        value *= p[k] * same[k] + (1.0 - p[k]) * other[k]
    return value


@helper
def _log_product(p: Floats, delta: Floats, sign: float) -> float:
    """Σ_k log t, for changes so large that the product itself, or an exponential, would overflow."""
    total = 0.0
    for k in range(p.size):
        x = sign * delta[k]
        if p[k] == 0.0:
            total += x
        elif p[k] == 1.0:
            total -= x
        else:
            size = abs(x)
            total += size + math.log(p[k] * math.exp(-x - size) + (1.0 - p[k]) * math.exp(x - size))
    return total


@helper
def pi(
    p: Floats, same: Floats, other: Floats, delta: Floats, sign: float, change: float
) -> tuple[float, int]:
    """π^σ_j as a scaled number; ``same`` is exp(-σΔ), ``other`` exp(σΔ), ``change`` is Σ|Δ_k|."""
    if change < SAFE:
        return normal(_product(p, same, other), 0)
    value, unit = 1.0, 0
    for start in range(0, p.size, PIECE):  # a product for each piece, as long as it stays a double
        stop = min(start + PIECE, p.size)
        change = 0.0
        for k in range(start, stop):
            change += abs(delta[k])
        if change < SAFE:
            x, u = normal(_product(p[start:stop], same[start:stop], other[start:stop]), 0)
        else:
            x, u = exponential(_log_product(p[start:stop], delta[start:stop], sign))
        value, unit = multiply(value, unit, x, u)
    return value, unit


@helper
def exponentials(delta: float) -> tuple[float, float]:
    """``exp(-Δ), exp(Δ)``; past `SAFE`, both divided by the larger, as only their ratio is used then."""
    if -SAFE < delta < SAFE:
        return math.exp(-delta), math.exp(delta)
    size = abs(delta)
    return math.exp(-delta - size), math.exp(delta - size)


@helper
def _own(p: float, same: float, other: float) -> float:
    """The own coordinate: all of W_jk has margin σ at k, so its factor is exp(-σΔ_k) exactly.

    p · exp(-σΔ) / t, which no rounding can push out of [0, 1].
    """
    right = p * same
    both = right + (1.0 - p) * other
    return right / both if both > 0.0 else p


@helper
def _share(p: float) -> float:
    """Keep rounding from pushing a share past one, and drop what is as good as zero."""
    return 0.0 if p < NOTHING else (1.0 if p > 1.0 else p)


@helper
def own(p: Floats, same: Floats, other: Floats, keep: float) -> None:
    """Give each pair its own factor, then ``keep`` as its share of the row's new weight."""
    for k in range(p.size):
        p[k] = _share(_own(p[k], same[k], other[k]) * keep)


@helper
def own_mix(p: Floats, same: Floats, other: Floats, keep: float, come: float, member: Floats) -> None:
    """`own`, then one new example whose share of the row's weight is ``come``."""
    for k in range(p.size):
        p[k] = _share(_own(p[k], same[k], other[k]) * keep + come * member[k])


@helper
def mix(p: Floats, keep: float, come: float, member: Floats) -> None:
    """One new example joins the row: p ← keep · p + come · [margin σ at k]."""
    for k in range(p.size):
        p[k] = _share(p[k] * keep + come * member[k])


@helper
def shrink(p: Floats, keep: float) -> None:
    """Make room in a row: p ← keep · p."""
    for k in range(p.size):
        p[k] *= keep


@helper
def tidy(sums: Floats, p: Floats) -> None:
    """Take sums of shares over as shares."""
    for k in range(p.size):
        p[k] = _share(sums[k])
