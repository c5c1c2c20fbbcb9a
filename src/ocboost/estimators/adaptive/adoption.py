"""The hypotheses that an adopted model brings along."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocboost.hypotheses import Hypotheses


def leading(hypotheses: Hypotheses, n_boosters: int, most: int) -> Hypotheses:
    """At most so many of each class's hypotheses, the first ones; classes have equal parts of them."""
    own = len(hypotheses) // n_boosters
    if own <= most:
        return hypotheses
    return hypotheses[np.concatenate([np.arange(most) + k * own for k in range(n_boosters)])]
