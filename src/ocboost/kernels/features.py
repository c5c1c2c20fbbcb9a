"""Looks at the numbers of one row."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from .compile import kernel


@kernel
def first_unusable(x: NDArray[Any], missing: bool) -> int:
    """The place of the first number that is infinite, or NaN where none may be missing; else -1."""
    for i in range(x.size):
        value = x[i]
        if math.isinf(value) or (not missing and math.isnan(value)):
            return i
    return -1
