"""AdaBoost on top of an offset in plain logarithms, for weights of any size."""

from __future__ import annotations

import numpy as np


def adaboost_in_logarithms(margins, log_w, smoothing):
    """The twin of `adaboost_weights` for weights of any size."""
    d, alpha = log_w.astype(float).copy(), []
    total = np.logaddexp.reduce(d)
    for m in margins.T:
        both = np.logaddexp.reduce(d)
        extra = np.log(smoothing) + both - total
        right, wrong = (np.logaddexp.reduce(np.append(d[m == s], extra)) for s in (1, -1))
        alpha.append(0.5 * (right - wrong))
        d = d - alpha[-1] * m
    return np.array(alpha)
