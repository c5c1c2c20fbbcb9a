"""Re-basing a row of the tail: the products π and the changes of p that follow a change of α.

When α_k moves by Δ_k, a share p of the weight in a row has margin σ at k and moves by exp(-σΔ_k), the
rest by exp(σΔ_k) (the paper's theorem; its listing has exp(∓Δ) for both signs, see `AS_PRINTED`):

    t^σ_jk = p^σ_jk · exp(-σ Δ_k) + (1 - p^σ_jk) · exp(σ Δ_k),        π^σ_j = Π_k t^σ_jk
"""

from __future__ import annotations

import math

from ocboost._kernels.arrays import Floats, Whole, floats_at
from ocboost._kernels.compile import exact, helper, out_of_line, seldom, unlikely
from ocboost._kernels.scaled import exponential, multiply, normal

# What a correction does. AS_PRINTED: the paper's listing, with exp(∓Δ) for both signs. OWN_FACTOR: each pair
# gets the factor of its own coordinate exactly. KEEPS_TOTAL: a row holds what left the one before.
AS_PRINTED, OWN_FACTOR, KEEPS_TOTAL = 1, 2, 4
THEOREM, BALANCED = 0, OWN_FACTOR | KEEPS_TOTAL
CORRECTIONS = {"balanced": BALANCED, "own": OWN_FACTOR, "theorem": THEOREM, "listing": AS_PRINTED}

# A share of a row below this is zero. It could be seen in t only if some |Δ| were beyond 200, and numbers
# below the normal range of a double make the processor ten times slower.
NOTHING = 1e-200

# A product of terms between exp(-|Δ|) and exp(|Δ|) stays a double while Σ|Δ| is below this.
SAFE = 300.0
PAIRS_PER_PRODUCT = 64


@exact
def _term(p: float, same: float, other: float) -> float:
    """t, as written: regrouped to other + p (same - other) it would lose all digits for p near 1."""
    return p * same + (1.0 - p) * other


@helper
def _product(p: Floats, same: Floats, other: Floats) -> float:
    value = 1.0
    for k in range(p.size):
        value *= _term(p[k], same[k], other[k])
    return value


@seldom
def _log_product(p: Floats, delta: Floats, sign: float) -> float:
    """Σ_k log t, for changes so large that the product itself, or an exponential, would overflow."""
    out_of_line()
    total = 0.0
    for k in range(p.size):
        x = sign * delta[k]
        if p[k] == 0.0:
            total += x
        elif p[k] == 1.0:
            total -= x
        else:
            size = abs(x)
            total += size + math.log(_term(p[k], math.exp(-x - size), math.exp(x - size)))
    return total


@seldom
def _pi_in_pieces(p: int, same: int, other: int, delta: int, size: int, sign: float) -> tuple[float, Whole]:
    """π where it may leave the range of a double: a product for each piece as long as that one does not."""
    out_of_line()
    value, unit = 1.0, 0
    for start in range(0, size, PAIRS_PER_PRODUCT):
        n, skip = min(PAIRS_PER_PRODUCT, size - start), 8 * start
        deltas = floats_at(delta + skip, n)
        change = 0.0
        for k in range(n):
            change += abs(deltas[k])
        if change < SAFE:
            x = _product(floats_at(p + skip, n), floats_at(same + skip, n), floats_at(other + skip, n))
            x, u = normal(x, 0)
        else:
            x, u = exponential(_log_product(floats_at(p + skip, n), deltas, sign))
        value, unit = multiply(value, unit, x, u)
    return value, unit


@helper
def pi(
    p: int, same: int, other: int, delta: int, size: int, sign: float, change: float
) -> tuple[float, Whole]:
    """π^σ_j as a scaled number; ``same`` is exp(-σΔ), ``other`` exp(σΔ), ``change`` is Σ|Δ_k|.

    The row of pairs and the three vectors are given by their addresses.
    """
    if unlikely(change >= SAFE):
        return _pi_in_pieces(p, same, other, delta, size, sign)
    # The last Δ was stored a moment ago: read by itself it comes at once, read as part of a vector it
    # would have to wait for the store.
    n = size - 1
    share, end = floats_at(p, size)[n], 8 * n
    last = _term(share, floats_at(same + end, 1)[0], floats_at(other + end, 1)[0])
    value = _product(floats_at(p, n), floats_at(same, n), floats_at(other, n))
    return normal(value * last, 0)


@seldom
def exponentials(delta: float) -> tuple[float, float]:
    """``exp(-Δ), exp(Δ)``; past `SAFE`, both divided by the larger, as only their ratio is used then."""
    out_of_line()
    if -SAFE < delta < SAFE:
        return math.exp(-delta), math.exp(delta)
    size = abs(delta)
    return math.exp(-delta - size), math.exp(delta - size)


@exact
def _own(p: float, same: float, other: float) -> float:
    """The own coordinate: all of W_jk has margin σ at k, so its factor is exp(-σΔ_k) exactly.

    p · exp(-σΔ) / t, which no rounding can push out of [0, 1].
    """
    right = p * same
    both = right + (1.0 - p) * other
    return right / both if both > 0.0 else p


@exact
def _share(p: float, full: float) -> float:
    """A share of a row: dropped where it is as good as zero, and one where it is ``full``.

    ``full`` is what the same additions make of a pair that has margin σ wherever the row has. Rounding
    leaves it a digit off one, and such a pair would then seem to have a few examples with the other
    margin, whose weight a large Δ brings up by exp(2Δ).
    """
    return 0.0 if p < NOTHING else (1.0 if p >= full else p)


@exact
def own(p: Floats, same: Floats, other: Floats, keep: float) -> None:
    """Give each pair its own factor, then ``keep`` as its share of the row's new weight."""
    for k in range(p.size):
        share = _own(p[k], same[k], other[k]) * keep
        p[k] = 0.0 if share < NOTHING else share


@exact
def own_mix(p: Floats, same: Floats, other: Floats, keep: float, come: float, member: Floats) -> None:
    """`own`, then one new example whose share of the row's weight is ``come``."""
    full = min(keep + come, 1.0)
    for k in range(p.size):
        p[k] = _share(_own(p[k], same[k], other[k]) * keep + come * member[k], full)


@exact
def mix(p: Floats, keep: float, come: float, member: Floats) -> None:
    """One new example joins the row: p ← keep · p + come · [margin σ at k]."""
    full = min(keep + come, 1.0)
    for k in range(p.size):
        p[k] = _share(p[k] * keep + come * member[k], full)


@exact
def shrink(p: Floats, keep: float) -> None:
    """Make room in a row: p ← keep · p."""
    for k in range(p.size):
        p[k] *= keep


@exact
def tidy(p: Floats, full: float) -> None:
    """Take sums of shares over as shares."""
    full = min(full, 1.0)
    for k in range(p.size):
        p[k] = _share(p[k], full)
