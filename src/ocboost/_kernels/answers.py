"""The answers of weak hypotheses: from blocks into rows, and into votes; and a check of one row of features.

Hypotheses answer in blocks, (J, n) of ±1 for J hypotheses on n rows, so that every loop over rows is
contiguous. What keeps answers and learns from them has them as rows, (n, J).
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.compile import exact, kernel, plain


@kernel
def first_unusable(x: NDArray[Any], missing: bool) -> int:
    """The place of the first number that is infinite, or NaN where none may be missing; else -1."""
    for i in range(x.size):
        value = x[i]
        if math.isinf(value) or (not missing and math.isnan(value)):
            return i
    return -1


TILE = 64


@kernel
def block_to_rows(block: Int8s, out: Int8s) -> None:
    """Turn a block (J, n) into rows (n, J), tile by tile so that both sides stay in the cache."""
    J, n = block.shape
    for j0 in range(0, J, TILE):
        j1 = min(j0 + TILE, J)
        for i0 in range(0, n, TILE):
            i1 = min(i0 + TILE, n)
            for i in range(i0, i1):
                for j in range(j0, j1):
                    out[i, j] = block[j, i]


@exact
def _add_answers(answers: Int8s, up: float, down: float, total: Floats) -> None:
    for i in range(total.size):
        total[i] += up if answers[i] > 0 else down


@kernel
def tally(block: Int8s, up: Floats, down: Floats, total: Floats) -> None:
    """Add to each row's total ``up[j]`` where hypothesis j answered +1 and ``down[j]`` where -1.

    In the order of j and with every rounding as written, so that the sum is the one a plain loop over the
    hypotheses gives, to the last bit.
    """
    for j in range(up.size):
        _add_answers(block[j], up[j], down[j], total)


@exact
def _votes(row: Int8s, first: int, alpha: Floats) -> float:
    votes = 0.0
    for j in range(alpha.size):
        votes += alpha[j] if row[first + j] > 0 else -alpha[j]
    return votes


@plain
def tally_row(answers: Int8s, first: int, alpha: Floats) -> float:
    """Σ_j α_j h_j of the only row of answers, as `tally_rows` has it."""
    return _votes(answers[0], first, alpha)


@plain
def tally_rows(answers: Int8s, first: int, alpha: Floats, total: Floats) -> None:
    """Σ_j α_j h_j of each row of answers, from ``first`` on: `tally`'s sum to the last bit."""
    for i in range(answers.shape[0]):
        total[i] = _votes(answers[i], first, alpha)


@kernel
def margins_of(answers: Int8s, first: int, sign: Int8s, out: Int8s) -> None:
    """y·h: each row of answers, those of ``first`` and after, times that example's label, ±1."""
    for i in range(answers.shape[0]):
        s = sign[i]
        row, to = answers[i], out[i]
        for j in range(to.size):
            to[j] = row[first + j] * s
