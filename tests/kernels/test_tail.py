"""The products π and the shares of pairs, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ocboost._kernels import scaled, tail
from tests.naive.kernels import log_pi, owned_share
from tests.support.compiled import as_in_kernels


@as_in_kernels
def call_pi(p, delta, sign):
    """log π by the kernel, with Δ prepared as `solve` does."""
    same, other = np.empty(p.size), np.empty(p.size)
    change = 0.0
    for k in range(p.size):
        fall, rise = tail.exponentials(delta[k])
        same[k], other[k] = (fall, rise) if sign > 0 else (rise, fall)
        change += abs(delta[k])
    value, unit = tail.pi(
        p.ctypes.data, same.ctypes.data, other.ctypes.data, delta.ctypes.data, p.size, sign, change
    )
    return scaled.log(value, unit)


def way_through_pi(delta):
    """Which of its three ways `pi` takes, by its own constants."""
    if np.abs(delta).sum() < tail.SAFE:
        return {"fast"}
    pieces = [
        np.abs(delta[i : i + tail.PAIRS_PER_PRODUCT]).sum()
        for i in range(0, delta.size, tail.PAIRS_PER_PRODUCT)
    ]
    return {"pieces" if piece < tail.SAFE else "log" for piece in pieces}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_pi_on_each_of_its_ways(sign):
    rng = np.random.default_rng(205)
    taken = set()
    for size in (1, 2, 7, 63, 64, 65, 130, 200):
        for scale in (0.0, 1e-9, 0.1, 1.0, 3.0, 30.0, 1e3, 1e5):
            delta = rng.normal(0.0, scale, size)
            p = rng.uniform(0.0, 1.0, size)
            p[rng.random(size) < 0.2] = 0.0
            p[rng.random(size) < 0.2] = 1.0
            p[rng.random(size) < 0.1] = 1e-190
            p[rng.random(size) < 0.1] = 1.0 - 2.0**-53
            taken |= way_through_pi(delta)
            tolerance = 1e-14 * (size + 10 * np.abs(delta).sum())
            assert call_pi(p, delta, sign) == pytest.approx(log_pi(p, delta, sign), rel=0, abs=tolerance)
    # One large change among small ones: a piece by logarithms beside a piece by products.
    delta = rng.normal(0.0, 0.1, 130)
    delta[70] = -800.0
    taken |= way_through_pi(delta)
    p = rng.uniform(0.0, 1.0, 130)
    assert call_pi(p, delta, sign) == pytest.approx(log_pi(p, delta, sign), rel=1e-12)
    assert taken == {"fast", "pieces", "log"}


@given(st.integers(0, 2**32 - 1), st.integers(1, 90), st.floats(-6, 5))
def test_pi_lies_between_the_extremes_of_its_terms(seed, size, magnitude):
    rng = np.random.default_rng(seed)
    p, delta = rng.uniform(0, 1, size), rng.normal(0, 10.0**magnitude, size)
    change = np.abs(delta).sum()
    assert abs(call_pi(p, delta, 1.0)) <= change * (1 + 1e-12) + 1e-13 * size
    # Turning both the sign and Δ round changes nothing.
    assert call_pi(p, delta, 1.0) == pytest.approx(call_pi(p, -delta, -1.0), rel=1e-12, abs=1e-12)


@as_in_kernels
def call_moves(p, delta, sign, keep, come, member):
    same, other = np.empty(p.size), np.empty(p.size)
    for k in range(p.size):
        fall, rise = tail.exponentials(delta[k])
        same[k], other[k] = (fall, rise) if sign > 0 else (rise, fall)
    owned, mixed, both = p.copy(), p.copy(), p.copy()
    tail.own(owned, same, other, keep)
    tail.mix(mixed, keep, come, member)
    tail.own_mix(both, same, other, keep, come, member)
    return owned, mixed, both


shares = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 5e-324, 1e-200, 0.5, 1.0 - 2.0**-53]))
changes = st.one_of(st.floats(-2, 2), st.floats(-400, 400), st.floats(-1e6, 1e6))


@given(
    st.lists(st.tuples(shares, changes, st.booleans()), min_size=1, max_size=20),
    st.sampled_from([1.0, -1.0]),
    st.floats(0.0, 1e300),
    st.floats(1e-300, 1e300),
)
def test_shares_stay_shares(row, sign, old, new):
    assume(math.isfinite(old + new))
    keep, come = old / (old + new), new / (old + new)
    p, delta, member = (np.array([float(entry[i]) for entry in row]) for i in range(3))
    owned, mixed, both = call_moves(p, delta, sign, keep, come, member)
    for found in (owned, mixed, both):
        assert ((found >= 0.0) & (found <= 1.0)).all()  # which NaN is not
    for k in range(len(row)):
        alone = owned_share(p[k], sign * delta[k])
        # The odds change by exp(2Δ), so a digit of Δ is worth 2|Δ| digits of the share.
        exact = {"rel": 1e-14 * (10 + abs(delta[k])), "abs": 2 * tail.NOTHING}
        assert owned[k] == pytest.approx(alone * keep, **exact)
        assert both[k] == pytest.approx(alone * keep + come * member[k], **exact)
        assert mixed[k] == pytest.approx(p[k] * keep + come * member[k], **exact)
