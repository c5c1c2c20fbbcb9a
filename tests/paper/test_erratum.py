"""The sign error of the paper's listing, shown at work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ocboost import BoostingSketch, adaboost_weights
from ocboost.paper import erratum
from ocboost.paper.synthetic import ORDERS


def alpha_of(sums, n):
    """½ log of the smoothed sums, as in the paper's equation with a smoothing of one example."""
    total = sums[1] + sums[-1]
    return 0.5 * np.log((sums[1] + total / n) / (sums[-1] + total / n))


def test_one_term_by_hand():
    """The sums of coordinate 2, re-based exactly and as printed, without the package."""
    first = np.array(erratum.FIRST, float)
    a = 0.5 * np.log((5 + 1) / (3 + 1))  # five right, three wrong, smoothed by one
    for step in erratum.steps():
        rows = np.vstack([first, step.margins])
        up = (rows[:, 0] == 1).sum()
        new = 0.5 * np.log((up + 1) / (len(rows) - up + 1))
        d = np.exp(-new * rows[:, 0])
        exact = {s: d[rows[:, 1] == s].sum() for s in (1, -1)}
        assert step.retrained == pytest.approx(alpha_of(exact, len(rows)), abs=1e-12)
        assert step.theorem == pytest.approx(step.retrained, abs=1e-12)
        old = np.exp(-a * first[:, 0])
        printed = {}
        for s in (1, -1):
            of = first[:, 1] == s
            p = old[of & (first[:, 0] == s)].sum() / old[of].sum()
            t = p * np.exp(-(new - a)) + (1 - p) * np.exp(new - a)
            printed[s] = old[of].sum() * t + d[-1] * (step.margins[1] == s)
        assert step.listing == pytest.approx(alpha_of(printed, len(rows)), abs=1e-12)
        assert abs(step.listing - step.retrained) > 0.005


def test_table_and_words():
    steps = erratum.steps()
    table = erratum.small_table(steps)
    assert table.rows[0].cells[:2] == ("margins +1, +1", f"{steps[0].retrained:.6f}")
    assert table.rows[2].cells[4] == f"{steps[2].listing - steps[2].retrained:+.6f}"
    assert "is AdaBoost's but for rounding" in erratum.in_words(steps)
    off = [replace(step, theorem=step.retrained + 0.25) for step in steps]
    assert "the theorem's update is off by up to 0.25" in erratum.in_words(off)


def test_orders():
    errors = {"oza-russell": 0.035}
    for rank, order in enumerate(ORDERS):
        errors[f"ocb-order-{order}"] = 0.04 - 0.01 * rank
        errors["ocb-listing" if order == 20 else f"ocb-listing-order-{order}"] = 0.04 + 0.02 * rank
    table = erratum.orders_table(errors)
    assert [row.cells for row in table.rows] == [
        ("order 1", "0.0400", "0.0400", "1.0"),
        ("order 5", "0.0300", "0.0600", "2.0"),
        ("order 10", "0.0200", "0.0800", "4.0"),
        ("order 20", "0.0100", "0.1000", "10.0"),
    ]
    assert "0.0350" in table.caption


def test_balanced_is_not_what_is_shown():
    """The steps must come from the corrections they are named after."""
    first = np.array(erratum.FIRST, np.int8)
    for name in ("theorem", "listing"):
        sketch = BoostingSketch.from_margins(first, correction=name)
        sketch.update(np.array(erratum.NEXT[1], np.int8))
        assert sketch.alpha[1] == getattr(erratum.steps()[1], name)
    rows = np.vstack([first, erratum.NEXT[1]]).astype(np.int8)
    assert erratum.steps()[1].retrained == adaboost_weights(rows)[1]
