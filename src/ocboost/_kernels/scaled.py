"""Numbers with a wide exponent: ``value · 2^(256·unit)``.

The weights d and the sums W span hundreds of orders of magnitude when there are many hypotheses, more
than a double holds. A positive scaled number keeps its value in [2⁻¹²⁸, 2¹²⁸) and counts units of
2²⁵⁶ beside it. Changing units is exact, and costs nothing while all units are equal, as they nearly
always are.
"""

from __future__ import annotations

import math

import numpy as np

from ocboost._kernels.arrays import Floats, Ints, Units, Whole
from ocboost._kernels.compile import helper, kernel, out_of_line, seldom, unlikely

UP = 2.0**256
DOWN = 2.0**-256
HIGH = 2.0**128
LOW = 2.0**-128
LOG_UNIT = 256.0 * math.log(2.0)


@seldom
def _made_normal(value: float, unit: Whole) -> tuple[float, Whole]:
    out_of_line()
    if value == 0.0:
        return 0.0, 0
    for _ in range(5):  # enough for any double, and the end of it for one that is none
        if value >= HIGH:
            value *= DOWN
            unit += 1
        elif value < LOW:
            value *= UP
            unit -= 1
    return value, unit


@helper
def normal(value: float, unit: Whole) -> tuple[float, Whole]:
    """Bring a non-negative value into [2⁻¹²⁸, 2¹²⁸); zero is ``(0, 0)``."""
    if unlikely((value < LOW) | (value >= HIGH)):
        return _made_normal(value, unit)
    return value, unit


@seldom
def _add_apart(a: float, ua: Whole, b: float, ub: Whole) -> tuple[float, Whole]:
    out_of_line()
    if ua < ub:
        a, ua, b, ub = b, ub, a, ua
    if ua - ub == 1:
        return normal(a + b * DOWN, ua)
    return a, ua


@helper
def add(a: float, ua: Whole, b: float, ub: Whole) -> tuple[float, Whole]:
    """The sum of two normal numbers; what lies two units below cannot reach the last digit."""
    if a == 0.0:
        return b, ub
    if b == 0.0:
        return a, ua
    if unlikely(ua != ub):
        return _add_apart(a, ua, b, ub)
    return normal(a + b, ua)


@helper
def multiply(a: float, ua: Whole, b: float, ub: Whole) -> tuple[float, Whole]:
    """The product of two normal numbers."""
    return normal(a * b, ua + ub)


@helper
def divide(a: float, ua: Whole, b: float, ub: Whole) -> tuple[float, Whole]:
    """The quotient of two normal numbers, the second not zero."""
    return normal(a / b, ua - ub)


@seldom
def _exponential_far(x: float) -> tuple[float, Whole]:
    out_of_line()
    unit = round(x / LOG_UNIT)
    return normal(math.exp(x - unit * LOG_UNIT), unit)


@helper
def exponential(x: float) -> tuple[float, Whole]:
    """``exp(x)`` for any finite x."""
    if unlikely(abs(x) >= 80.0):
        return _exponential_far(x)
    return math.exp(x), 0


@helper
def to_float(value: float, unit: Whole) -> float:
    """The plain double nearest to a normal number: it may round to zero or to infinity."""
    while unit > 0 and value < math.inf:
        value *= UP
        unit -= 1
    while unit < 0 and value > 0.0:
        value *= DOWN
        unit += 1
    return value


@seldom
def _ratio_apart(a: float, ua: Whole, b: float, ub: Whole) -> float:
    out_of_line()
    value, unit = divide(a, ua, b, ub)
    return to_float(value, unit)


@helper
def ratio(a: float, ua: Whole, b: float, ub: Whole) -> float:
    """``a / b`` as a plain double, b not zero."""
    if unlikely(ua != ub):
        return _ratio_apart(a, ua, b, ub)
    return a / b


@helper
def log(value: float, unit: Whole) -> float:
    """The natural logarithm of a positive normal number."""
    return math.log(value) + float(unit) * LOG_UNIT


@kernel
def normal_number(value: float, unit: Whole) -> tuple[float, Whole]:
    """`normal`, to be called from Python."""
    return normal(value, unit)


@kernel
def rescale(value: Floats, unit: Ints, by: float, by_unit: Whole) -> None:
    """Divide an array of scaled numbers by another number."""
    for i in range(value.size):
        value[i], unit[i] = normal(value[i] / by, unit[i] - by_unit)


@kernel
def add_numbers(a: Floats, ua: Ints, b: Floats, ub: Ints, out: Floats, out_unit: Ints) -> None:
    """The sums of two arrays of scaled numbers."""
    for i in range(a.size):
        out.flat[i], out_unit.flat[i] = add(a.flat[i], ua.flat[i], b.flat[i], ub.flat[i])


@kernel
def reweight(weight: Floats, unit: Units, factor: Floats) -> None:
    """Multiply scaled weights by factors of any size."""
    for i in range(weight.size):
        if factor[i] != 1.0:
            value, by = normal(factor[i], 0)
            a, a_unit = normal(weight[i], np.int64(unit[i]))
            weight[i], unit[i] = multiply(a, a_unit, value, by)
