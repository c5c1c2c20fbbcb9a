"""FilterBoost's filter and its test of an edge: which examples are hard, and whether a hypothesis knows them.

Bradley and Schapire, "FilterBoost: Regression and Classification on Large Datasets" (NIPS 2007).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .margins import as_number

CONFIDENCE_ADVICE = "It is the chance of being wrong that is accepted: 0.05 is one in twenty."
PRECISION_ADVICE = "It is how far the estimate may be off, relative to the edge; smaller takes more examples."


def acceptance(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance that the filter lets an example through, ``q = 1 / (1 + exp(y F(x)))``.

    The weight that logistic loss gives it: near one where F is sure and wrong, near zero where it is sure
    and right.

    >>> acceptance(np.array([-1000.0, 0.0, 1000.0]))
    array([1. , 0.5, 0. ])
    """
    small = np.exp(-np.abs(margins))
    return np.where(margins > 0.0, small, 1.0) / (1.0 + small)


class EdgeTest:
    """Estimates a hypothesis' edge, the share of right answers less ½, from as few examples as it takes.

    Nonmonotonic adaptive sampling (Watanabe; Domingo, Gavaldà and Watanabe), as FilterBoost uses it. After n
    examples, of which a share ½ + u was answered rightly, the sampling error is bounded by

        ρ_n = sqrt(log(n (n + 1) / δ) / (2 n))

    and the test ends when ``|u| >= ρ_n (1 + 1/τ)``. Then, with a chance of at least 1 - δ, the true edge γ
    lies within a relative τ of u: ``|u - γ| <= τ |γ|``, and ``u / (1 + τ)`` is an estimate that does not
    exceed it.
    An edge of γ ends it after about ``2 (1 + 1/τ)² log(1/(γδ)) / γ²`` examples; one of zero never does.

    Parameters
    ----------
    tau : float, default 0.5
        τ in (0, 1].
    delta : float, default 0.05
        δ in (0, 1]; 1 promises nothing.

    Attributes
    ----------
    n, right : int
        Examples so far, and how many of them were answered rightly.

    Examples
    --------
    >>> test = EdgeTest()
    >>> while not test.decided:
    ...     test.add(True)
    >>> test.n, round(test.edge, 3)
    (254, 0.333)
    """

    def __init__(self, *, tau: float = 0.5, delta: float = 0.05) -> None:
        self.tau = as_number(tau, "tau", 0.0, 1.0, PRECISION_ADVICE, low_open=True)
        self.delta = as_number(delta, "delta", 0.0, 1.0, CONFIDENCE_ADVICE, low_open=True)
        self.n = self.right = 0

    def add(self, is_right: bool) -> None:
        """One more example, answered rightly or not."""
        self.n += 1
        self.right += bool(is_right)

    @property
    def excess(self) -> float:
        """u, the share of right answers less ½."""
        return self.right / self.n - 0.5 if self.n else 0.0

    @property
    def bound(self) -> float:
        """ρ_n, how far u may be off."""
        return math.sqrt(math.log(self.n * (self.n + 1) / self.delta) / (2 * self.n)) if self.n else math.inf

    @property
    def decided(self) -> bool:
        """Whether u is known well enough."""
        return abs(self.excess) >= self.bound * (1.0 + 1.0 / self.tau)

    @property
    def edge(self) -> float:
        """``u / (1 + τ)``; once decided, it does not exceed the true edge (by a chance of 1 - δ)."""
        return self.excess / (1.0 + self.tau)
