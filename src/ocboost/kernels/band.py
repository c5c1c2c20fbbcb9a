"""How the pair sums lie in memory: row after row of a lower triangle, or of a band of it.

Row j holds the coordinates k from max(0, j - K) to j - 1, K being the order. All rows together take
J·K - K(K+1)/2 places for each sign, and nothing of size J × J exists when K is far below J.
"""

from __future__ import annotations

from .compile import helper


@helper
def row_start(j: int, order: int) -> int:
    """The place of row j's first pair."""
    if j <= order:
        return j * (j - 1) // 2
    return order * (order + 1) // 2 + (j - 1 - order) * order


@helper
def first_column(j: int, order: int) -> int:
    """The first coordinate k of row j."""
    return max(0, j - order)


def n_pairs(n_hypotheses: int, order: int) -> int:
    """How many pairs all rows hold.

    >>> n_pairs(5, 5), n_pairs(5, 2)
    (10, 7)
    """
    return n_hypotheses * order - order * (order + 1) // 2
