"""Hypotheses that were found one after the other, with the edge that each was found to have."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..hypotheses import Ballot, Hypotheses, join


class Voters:
    """F = Σ α_t h_t with ``α_t = ½ ln((½ + γ_t) / (½ - γ_t))``; nothing in it ever changes.

    Parameters
    ----------
    hypotheses : Hypotheses, optional
        None while there are none; F is zero then.
    edges : tuple of float
        γ_t of each, between -½ and ½.

    Examples
    --------
    >>> from ocboost.hypotheses import Stumps
    >>> voters = Voters().with_one_more(Stumps([0], [1.0], [1]), 0.25)
    >>> voters.alpha.round(3)
    array([0.549])
    >>> voters.scores_of(np.array([[0.0], [2.0]])).ravel().round(3)
    array([ 0.549, -0.549])
    """

    def __init__(self, hypotheses: Hypotheses | None = None, edges: tuple[float, ...] = ()) -> None:
        self.hypotheses = hypotheses
        self.edges = edges
        self.alpha = np.array([0.5 * math.log((0.5 + edge) / (0.5 - edge)) for edge in edges])

    def __len__(self) -> int:
        return len(self.edges)

    def with_one_more(self, hypothesis: Hypotheses, edge: float) -> Self:
        """The same and one hypothesis more, after all others."""
        sets = [hypothesis] if self.hypotheses is None else [self.hypotheses, hypothesis]
        return type(self)(join(sets), (*self.edges, edge))

    def scores_of(self, X: Any) -> NDArray[np.float64]:
        """F of each row, (n, 1), added up in the order of t."""
        if self.hypotheses is None:
            return np.zeros((X.shape[0], 1))
        return self.hypotheses.votes(X, [Ballot.of(self.alpha)])
