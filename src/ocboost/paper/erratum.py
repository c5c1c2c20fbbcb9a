"""The sign error in the paper's listing, at work on a handful of examples.

With two hypotheses and one new example the theorem's update is exact: its one term for coordinate 2 is the
weighted mean of exp(-Δ₁m₁) over the old examples. So what differs from AdaBoost retrained on all of them
is the listing's sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ocboost import BoostingSketch, adaboost_weights
from ocboost._report.tables import Row, Table
from ocboost.paper.synthetic import ORDERS, listing_key, theorem_key

EXPLANATION = (
    "The listing of the paper (Algorithm 1) has a sign error. For the sums of margin -1 its W⁻_jk counts "
    "examples whose margin at k is -1 as well, so W⁻_jk / W⁻_jj is the chance of margin -1; yet it "
    "multiplies that chance by exp(-Δ_k), the factor of margin +1, as for the other sign. The paper's "
    "theorem asks for the chance of margin +1 there.",
    "By the theorem, for each sign σ: t^σ_jk = p^σ_jk exp(-σΔ_k) + (1 - p^σ_jk) exp(σΔ_k), where "
    "p^σ_jk = W^σ_jk / W^σ_jj; the old sums of coordinate j are multiplied by the product of these terms. "
    "The listing has exp(-Δ_k) and exp(Δ_k) for both signs.",
)
FIRST = ((1, 1), (1, 1), (1, -1), (-1, 1), (-1, 1), (1, 1), (1, -1), (-1, -1))
NEXT = ((1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True)
class Step:
    """The weight of the second hypothesis after one more example: retrained, and updated in two ways."""

    margins: tuple[int, int]
    retrained: float
    theorem: float
    listing: float


def steps() -> list[Step]:
    """Add each of the four possible examples to eight of two hypotheses.

    >>> all(abs(step.theorem - step.retrained) < 1e-12 for step in steps())
    True
    >>> min(abs(step.listing - step.retrained) for step in steps()) > 0.005
    True
    """
    first = np.array(FIRST, np.int8)
    found = []
    for margins in NEXT:
        row = np.array(margins, np.int8)
        alphas = [adaboost_weights(np.vstack([first, row]))]
        for correction in ("theorem", "listing"):
            sketch = BoostingSketch.from_margins(first, correction=correction)
            sketch.update(row)
            alphas.append(sketch.alpha)
        found.append(Step(margins, *(float(alpha[1]) for alpha in alphas)))
    return found


def small_table(found: list[Step]) -> Table:
    """The weight α₂ after one more example: retrained, by the theorem, as printed."""
    rows = []
    for step in found:
        weights = [f"{alpha:.6f}" for alpha in (step.retrained, step.theorem, step.listing)]
        margins = "margins {:+d}, {:+d}".format(*step.margins)
        rows.append(Row((margins, *weights, f"{step.listing - step.retrained:+.6f}")))
    return Table(
        "α₂ after one more example",
        ("new example", "AdaBoost retrained", "by the theorem", "as printed", "as printed, off by"),
        tuple(rows),
        f"Two hypotheses, {len(FIRST)} examples to start from, then one more of each kind in turn.",
    )


def in_words(found: list[Step]) -> str:
    """What the table shows; follows from its numbers."""
    theorem = max(abs(step.theorem - step.retrained) for step in found)
    listing = max(abs(step.listing - step.retrained) for step in found)
    exact = "is AdaBoost's but for rounding" if theorem < 1e-12 else f"is off by up to {theorem:.2g}"
    return f"Here the theorem's update {exact}; the listing's is off by up to {listing:.2g}."


def orders_table(errors: Mapping[str, float]) -> Table:
    """Mean errors of the synthetic experiment for each order, by the theorem and as printed."""
    rows = []
    for order in ORDERS:
        theorem, listing = errors[theorem_key(order)], errors[listing_key(order)]
        ratio = f"{listing / theorem:.1f}" if theorem > 0.0 else "–"
        rows.append(Row((f"order {order}", f"{theorem:.4f}", f"{listing:.4f}", ratio)))
    return Table(
        "Synthetic data: mean approximation error",
        ("", "by the theorem", "as printed", "as printed / theorem"),
        tuple(rows),
        f"Oza and Russell, without any correction: {errors['oza-russell']:.4f}.",
    )
