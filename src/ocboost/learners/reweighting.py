"""AdaBoost's step from one hypothesis to the next: its weight α, and the examples' new weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

CHANCE = 1e-9  # a hypothesis this little better than chance, relative to the total weight, is none


def worth_of_one(weights: NDArray[np.float64]) -> float:
    """ε_j of `ocboost.adaboost_weights` with ε = 1: what one example is worth, the total being one.

    Departs from it where the weights sum to less than their number, as weights that sum to one do: an
    example is then worth its share, or α would be almost zero and one hypothesis would come again and again.
    """
    return 1.0 / max(float(weights.sum()), float(np.count_nonzero(weights)))


def alpha_of(right: float, wrong: float, one: float) -> float:
    """α_j = ½ log((W⁺_j + ε_j) / (W⁻_j + ε_j))."""
    ε = one * (right + wrong)
    return 0.5 * math.log((right + ε) / (wrong + ε))


def step(right: float, wrong: float, one: float) -> tuple[float, float]:
    """What the weights of right and of wrong examples are multiplied by, so that all sum to one."""
    α = alpha_of(right, wrong, one)
    up, down = math.exp(-α), math.exp(α)
    total = right * up + wrong * down
    return up / total, down / total
