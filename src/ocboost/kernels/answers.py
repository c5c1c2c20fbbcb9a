"""What weak hypotheses answered, laid out hypothesis by hypothesis: into rows, and into votes.

A block holds the answers of J hypotheses on n rows, (J, n) of ±1, so that every loop over rows is contiguous.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compile import exact, kernel

TILE = 64


@kernel
def block_to_rows(block: NDArray[np.int8], out: NDArray[np.int8]) -> None:
    """Turn a block (J, n) into rows (n, J), tile by tile so that both sides stay in the cache."""
    J, n = block.shape
    for j0 in range(0, J, TILE):
        j1 = min(j0 + TILE, J)
        for i0 in range(0, n, TILE):
            i1 = min(i0 + TILE, n)
            for i in range(i0, i1):
                for j in range(j0, j1):
                    out[i, j] = block[j, i]


@kernel
def rows_to_block(rows: NDArray[np.int8], out: NDArray[np.int8]) -> None:
    """Turn rows (n, J) into a block (J, n)."""
    block_to_rows(rows, out)


@exact
def _add_answers(answers: NDArray[np.int8], up: float, down: float, total: NDArray[np.float64]) -> None:
    for i in range(total.size):
        total[i] += up if answers[i] > 0 else down


@kernel
def tally(
    block: NDArray[np.int8], up: NDArray[np.float64], down: NDArray[np.float64], total: NDArray[np.float64]
) -> None:
    """Add to each row's total ``up[j]`` where hypothesis j answered +1 and ``down[j]`` where -1.

    In the order of j and with every rounding as written, so that the sum is the one a plain loop over the
    hypotheses gives, to the last bit.
    """
    for j in range(up.size):
        _add_answers(block[j], up[j], down[j], total)


@kernel
def margins_of(answers: NDArray[np.int8], sign: NDArray[np.int8], out: NDArray[np.int8]) -> None:
    """y·h: each row of answers times that example's label, ±1."""
    for i in range(answers.shape[0]):
        s = sign[i]
        row, to = answers[i], out[i]
        for j in range(row.size):
            to[j] = row[j] * s
