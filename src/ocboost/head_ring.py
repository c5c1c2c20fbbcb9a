"""The head as a ring that grows when it must: the most recent examples, as bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kernels.bits import unpack_row
from .kernels.types import Head
from .kernels.views import zeros_on_lines


def blocks_for(n: int) -> int:
    """Blocks of 64 examples that a ring needs for n examples.

    One more than they fill, so that the newest never share a block with the oldest.
    """
    return (n + 63) // 64 + 1


def empty_head(n_hypotheses: int, n_blocks: int) -> Head:
    """A ring of so many blocks with nothing in it."""
    return Head(
        words=zeros_on_lines((n_blocks, n_hypotheses), np.uint64),
        weight=np.zeros(64 * n_blocks),
        weight_unit=np.zeros(64 * n_blocks, np.int32),
    )


def relaid(head: Head, first: int, n: int, n_blocks: int) -> Head:
    """The same n examples in a ring of another size, the oldest in its first block at the same bit."""
    result = empty_head(head.words.shape[1], n_blocks)
    used = ((first & 63) + n + 63) // 64 if n else 0
    blocks = (first // 64 + np.arange(used)) % head.words.shape[0]
    result.words[:used] = head.words[blocks]
    positions = (first + np.arange(n)) % head.weight.size
    span = slice(first & 63, (first & 63) + n)
    result.weight[span] = head.weight[positions]
    result.weight_unit[span] = head.weight_unit[positions]
    return result


def rows_of(head: Head, first: int, n: int) -> NDArray[np.int8]:
    """The margins of the head's examples, oldest first, as (n, J) of -1 and +1."""
    rows = np.empty((n, head.words.shape[1]), np.int8)
    for i in range(n):
        unpack_row(head.words, (first + i) % head.weight.size, rows[i])
    return rows


def widened(head: Head, first: int, margins: NDArray[np.int8]) -> Head:
    """A head whose examples have further margins (n, k); its oldest is at ``first``, in its first block."""
    k = margins.shape[1]
    bits = np.zeros((head.weight.size, k), bool)
    bits[first : first + len(margins)] = margins > 0
    words = np.packbits(bits.reshape(-1, 64, k).transpose(0, 2, 1), axis=2, bitorder="little")
    columns = np.ascontiguousarray(words).view("<u8")[..., 0].astype(np.uint64)
    return head._replace(words=np.ascontiguousarray(np.concatenate([head.words, columns], axis=1)))
