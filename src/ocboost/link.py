"""From votes to probabilities: AdaBoost's logistic link."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each class's probability, (n, K), from the votes F: (n,) for two classes, (n, K) for more.

    The minimiser of E exp(-y F) is half the log-odds, so two classes have P(+1) = 1 / (1 + exp(-2 F))
    (Friedman, Hastie and Tibshirani 2000). More classes, boosted one against the rest, share in proportion to
    exp(2 F_c), which keeps the order of their votes.

    >>> probabilities(np.array([0.0, 1.0])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    >>> probabilities(np.array([[1.0, 1.0, 2.0]])).round(3)
    array([[0.107, 0.107, 0.787]])
    """
    if scores.ndim == 1:
        scores = np.stack([np.zeros_like(scores), scores], axis=1)
    twice = 2.0 * (scores - scores.max(axis=1, keepdims=True))
    share: NDArray[np.float64] = np.exp(twice)
    share /= share.sum(axis=1, keepdims=True)
    return share
