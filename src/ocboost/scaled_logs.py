"""Scaled numbers (`ocboost.kernels.scaled`) as logarithms, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels.scaled import LOG_UNIT, normal_number


def logs(value: Any, unit: Any) -> NDArray[np.float64]:
    """The logarithms of scaled numbers, -∞ for zero.

    >>> logs(np.array([1.0, 0.0]), np.array([0, 0])).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        result: NDArray[np.float64] = np.log(value) + unit * LOG_UNIT
    return result


def scaled(log: float, unit: int) -> tuple[float, int]:
    """What a logarithm, counted from a unit, is of, as a scaled number.

    >>> scaled(0.0, 3), scaled(-np.inf, 3)
    ((1.0, 3), (0.0, 0))
    """
    if log == -np.inf:
        return 0.0, 0
    more = round(log / LOG_UNIT)
    return normal_number(float(np.exp(log - more * LOG_UNIT)), unit + more)
