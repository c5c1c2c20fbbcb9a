"""The votes of several weightings of the same hypotheses, on one row."""

from __future__ import annotations

from ocboost._kernels.arrays import Floats, Int8s, Ints
from ocboost._kernels.compile import kernel


@kernel
def scores_of_weights(weights: Floats, answers: Int8s, spans: Ints, out: Floats) -> None:
    """Twice the votes, 2 Σ_j α_j h_j, of each weighting for each class; of two classes the first has 0.

    ``spans`` is (boosters, 3): where a booster's weights begin, where its answers begin, how many there are.
    """
    n, n_boosters = weights.shape[0], spans.shape[0]
    for m in range(n):
        if n_boosters == 1:
            out[m, 0] = 0.0
        for b in range(n_boosters):
            at, first, size = spans[b, 0], spans[b, 1], spans[b, 2]
            total = 0.0
            for j in range(size):
                total += weights[m, at + j] * answers[first + j]
            out[m, b if n_boosters > 1 else 1] = 2.0 * total
