"""Numbers with a wide exponent, against exact arithmetic."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ocboost._kernels import scaled
from tests.support.compiled import as_in_kernels


@as_in_kernels
def call_arithmetic(a, ua, b, ub):
    return (
        scaled.add(a, ua, b, ub),
        scaled.multiply(a, ua, b, ub),
        scaled.divide(a, ua, b, ub) if b > 0.0 else (0.0, 0),
        scaled.ratio(a, ua, b, ub) if b > 0.0 else 0.0,
    )


@as_in_kernels
def call_functions(value, unit, x):
    return scaled.log(value, unit), scaled.exponential(x), scaled.to_float(value, unit)


HALF_A_DIGIT = Fraction(1, 2**53)
MAX_DOUBLE = Fraction(np.finfo(np.float64).max)

positives = st.builds(math.ldexp, st.floats(1.0, 2.0, exclude_max=True), st.integers(-128, 127))
units = st.integers(-30, 30)  # beyond 2^±7000, while a double ends at 2^±1074


@st.composite
def operands(draw):
    """Two scaled numbers, often equal or neighbouring in unit, sometimes zero."""
    a, b = (draw(st.one_of(st.just(0.0), positives, positives, positives)) for _ in range(2))
    ua = draw(units)
    ub = draw(st.one_of(st.just(ua), st.integers(ua - 2, ua + 2), units))
    return a, ua if a else 0, b, ub if b else 0


def exactly(value, unit):
    return Fraction(value) * Fraction(2) ** (256 * unit)


def assert_rounded_once(number, exact):
    value, unit = number
    if exact == 0:
        assert (value, unit) == (0.0, 0)
        return
    assert 2.0**-128 <= value < 2.0**128
    assert abs(exactly(value, unit) - exact) <= exact * HALF_A_DIGIT


def assert_nearly_the_double(found, exact):
    """One rounding, and a second one where the result is below the normal range."""
    if exact > MAX_DOUBLE * (1 + HALF_A_DIGIT):
        assert found == math.inf
    else:
        error = exact * HALF_A_DIGIT + Fraction(1, 2**1074)
        assert found == math.inf or abs(Fraction(found) - exact) <= error
        assert found < math.inf or exact > MAX_DOUBLE * (1 - HALF_A_DIGIT)


def check_arithmetic(a, ua, b, ub):
    A, B = exactly(a, ua), exactly(b, ub)
    total, product, quotient, ratio = call_arithmetic(a, ua, b, ub)
    assert_rounded_once(total, A + B)
    assert call_arithmetic(b, ub, a, ua)[0] == total
    assert_rounded_once(product, A * B)
    if b > 0:
        assert_rounded_once(quotient, A / B)
        assert_nearly_the_double(ratio, A / B)


@given(operands())
def test_scaled_arithmetic_is_exact_but_for_one_rounding(case):
    check_arithmetic(*case)


def test_scaled_arithmetic_at_the_ends_of_its_range():
    # There numbers of neighbouring units are near enough to add up.
    low, high = 2.0**-128, 2.0**128
    ends = [low, 1.37 * low, 2.0**-100, 1.0, math.pi, 2.0**100, 0.61 * high, math.nextafter(high, 0.0)]
    for a in ends:
        for b in ends:
            for ub in range(-3, 4):
                check_arithmetic(a, 0, b, ub)
                check_arithmetic(a, 12, b, 12 + ub)


@given(st.floats(0.0, allow_infinity=False), units)
def test_normal_changes_units_and_nothing_else(value, unit):
    found = scaled.normal_number(value, unit)
    assert exactly(*found) == exactly(value, unit)
    assert found == (0.0, 0) or 2.0**-128 <= found[0] < 2.0**128


@pytest.mark.parametrize(
    "value", [0.0, 5e-324, 2.0**-128, np.nextafter(2.0**-128, 0), 2.0**128, np.nextafter(2.0**128, 0), 1e308]
)
def test_normal_at_the_ends_of_its_range(value):
    found, unit = scaled.normal_number(value, 7)
    assert exactly(found, unit) == exactly(value, 7)
    assert (found, unit) == (0.0, 0) if value == 0.0 else 2.0**-128 <= found < 2.0**128


def in_decimal(value, unit):
    return decimal.Decimal(value) * decimal.Decimal(2) ** (256 * unit)


@given(positives, units, st.one_of(st.floats(-90, 90), st.floats(-2e4, 2e4)))
@example(1.0, 0, 88.73)  # just beyond 2¹²⁸ and 2⁻¹²⁸
@example(1.0, 0, -88.73)
@example(2.0**-128, 1, 88.72)
@example(2.0**-128, -1, -88.72)
@example(1.5, 30, 80.0)
def test_scaled_log_and_exponential(value, unit, x):
    log, exponential, plain = call_functions(value, unit, x)
    assert_nearly_the_double(plain, exactly(value, unit))
    with decimal.localcontext(prec=50, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        expected = in_decimal(value, unit).ln()
        # Both parts of a sum that may cancel are rounded: a digit of the larger one is what can be had.
        assert abs(decimal.Decimal(log) - expected) <= decimal.Decimal(4e-16 * (180 * abs(unit) + 90))
        exact = decimal.Decimal(x).exp()
        error = abs(in_decimal(*exponential) - exact) / exact
        assert error <= decimal.Decimal(4e-16 * (1 + abs(x)))
    assert 2.0**-128 <= exponential[0] < 2.0**128
