"""The tail as arrays: making an empty one, and reading its sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kernels.band import n_pairs
from .kernels.scaled import LOG_UNIT
from .kernels.types import Tail


def empty_tail(n_hypotheses: int, order: int, *, pairs: bool = True) -> Tail:
    """A tail of no examples; ``pairs=False`` leaves out the rows, for where no example will ever come."""
    size = n_pairs(n_hypotheses, order) if pairs else 0
    return Tail(
        p_plus=np.zeros((1, size)),
        p_minus=np.zeros((1, size)),
        W=np.zeros((1, 2, n_hypotheses)),
        W_unit=np.zeros((1, 2, n_hypotheses), np.int64),
        alpha=np.zeros((1, n_hypotheses)),
        exp_alpha=np.ones((1, n_hypotheses)),
        share=np.ones((1, n_hypotheses)),
        total=np.zeros(1),
        total_unit=np.zeros(1, np.int64),
    )


def copy_tail(tail: Tail) -> Tail:
    """A tail of its own with the same sums."""
    return Tail._make(array.copy() for array in tail)


def stacked(tails: list[Tail]) -> Tail:
    """Several tails as one array each, copied."""
    return Tail._make(np.concatenate(arrays) for arrays in zip(*tails, strict=True))


def sum_bytes(n_hypotheses: int, order: int) -> int:
    """The bytes that W⁺ and W⁻ take, diagonal included: 2 · 8 for each pair.

    >>> sum_bytes(4, 4)
    160
    """
    return 16 * (n_pairs(n_hypotheses, order) + n_hypotheses)


def tail_bytes(n_hypotheses: int, order: int, *, pairs: bool = True) -> int:
    """The bytes that a tail takes in all.

    >>> tail_bytes(4, 4) == sum(array.nbytes for array in empty_tail(4, 4))
    True
    """
    return sum_bytes(n_hypotheses, order if pairs else 0) + 40 * n_hypotheses + 16


def automatic_head(n_hypotheses: int, order: int) -> int:
    """As many examples as the sums take bytes, at least one: what ``head="auto"`` means.

    An example takes a bit for each hypothesis, in words of 64, and a weight.
    """
    return max(1, sum_bytes(n_hypotheses, order) // (8 * ((n_hypotheses + 63) // 64) + 8))


def dense_sums(tail: Tail, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """W⁺ and W⁻ as (J, J) matrices, zero outside the band."""
    J = tail.alpha.size
    with np.errstate(over="ignore", under="ignore"):
        diagonal = tail.W[0] * np.exp(tail.W_unit[0] * LOG_UNIT)
    result = []
    for sign, pairs in enumerate((tail.p_plus, tail.p_minus)):
        W = np.zeros((J, J))
        start = 0
        for j in range(J):
            length = min(j, order)
            W[j, j - length : j] = pairs[0, start : start + length] * diagonal[sign, j]
            W[j, j] = diagonal[sign, j]
            start += length
        result.append(W)
    return result[0], result[1]
