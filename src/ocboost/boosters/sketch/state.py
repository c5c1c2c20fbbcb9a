"""Scaled numbers (`ocboost._kernels.scaled`) as logarithms, and back.

The head as a ring that grows when it must: the most recent examples, as bits.

The tail as arrays: making an empty one, and reading its sums.

The light part of a sketch that keeps heavy examples: its arrays, and how a budget is split.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.bits import unpack_row
from ocboost._kernels.heavy import PAD
from ocboost._kernels.memory import Head, Light, Tail, n_pairs, zeros_on_lines
from ocboost._kernels.scaled import LOG_UNIT, normal_number


def logs(value: Any, unit: Any) -> NDArray[np.float64]:
    """The logarithms of scaled numbers, -∞ for zero.

    >>> logs(np.array([1.0, 0.0]), np.array([0, 0])).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        result: NDArray[np.float64] = np.log(value) + unit * LOG_UNIT
    return result


def scaled(log: float, unit: int) -> tuple[float, int]:
    """What a logarithm, counted from a unit, is of, as a scaled number.

    >>> scaled(0.0, 3), scaled(-np.inf, 3)
    ((1.0, 3), (0.0, 0))
    """
    if log == -np.inf:
        return 0.0, 0
    more = round(log / LOG_UNIT)
    return normal_number(float(np.exp(log - more * LOG_UNIT)), unit + more)


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


SLACK_WITH_PAIRS, SLACK = 4, 16  # a fold lets go of one example in so many; with pairs it costs more


class Room(NamedTuple):
    """How many examples are kept, and whether there are pairs to correct the light ones' sample."""

    first: int  # examples until the first fold: there are no pairs yet
    head: int  # from then on
    pairs: bool

    @property
    def after_fold(self) -> int:
        """How many examples a fold leaves.

        >>> Room(100, 80, True).after_fold, Room(100, 80, False).after_fold
        (60, 75)
        """
        slack = SLACK_WITH_PAIRS if self.pairs else SLACK
        return self.head - (self.head + slack - 1) // slack


def example_bits(n_hypotheses: int) -> int:
    """What an example takes: a bit for each hypothesis, and a weight with its unit."""
    return n_hypotheses + 96


def pair_bytes(n_hypotheses: int) -> int:
    """What the pairs take: float16, two signs."""
    return 4 * n_pairs(n_hypotheses, n_hypotheses) + 4 * PAD


def row_bytes(n_hypotheses: int) -> int:
    """What L, A and the anchor take."""
    return 56 * n_hypotheses


def least_memory(n_hypotheses: int) -> int:
    """The bytes that two examples take, with the light sums."""
    return row_bytes(n_hypotheses) + (2 * example_bits(n_hypotheses) + 7) // 8


def room_in(n_hypotheses: int, memory: int) -> Room:
    """Split bytes into examples and pairs; these if they take at most half of what L and A leave.

    Examples are kept in blocks of 64, and the blocks fit in the memory; fewer than 64 take a block as well.

    >>> room_in(100, 100_000), room_in(100, 30_000)
    (Room(first=3840, head=3008, pairs=True), Room(first=960, head=960, pairs=False))
    """
    left = memory - row_bytes(n_hypotheses)
    pairs = 2 * pair_bytes(n_hypotheses) <= left
    bits = example_bits(n_hypotheses)
    first = _in_whole_blocks(8 * left // bits)
    head = _in_whole_blocks(8 * (left - pair_bytes(n_hypotheses)) // bits) if pairs else first
    return Room(first, head, pairs)


def _in_whole_blocks(n: int) -> int:
    return n - n % 64 if n >= 64 else max(2, n)


def room_for(n_hypotheses: int, head: int) -> Room:
    """A head of so many examples, with pairs unless there are fewer examples than hypotheses.

    The pairs that so few leave behind correct the sample by more than they know of it.
    """
    return Room(head, head, head >= n_hypotheses)


def automatic_memory(n_hypotheses: int) -> int:
    """What a sketch that keeps the newest takes with ``head="auto"``: sums and examples, or the least.

    >>> automatic_memory(100)
    163267
    """
    J = n_hypotheses
    return max(least_memory(J), sum_bytes(J, J) + automatic_head(J, J) * example_bits(J) // 8)


def empty_light(n_hypotheses: int, n_lights: int = 1) -> Light:
    """A light part of no examples, and with no pairs."""
    J, t = n_hypotheses, n_lights
    return Light(
        L=np.zeros((t, 2, J)),
        L_unit=np.zeros((t, 2, J), np.int32),
        A=np.zeros((t, 2, J)),
        A_unit=np.zeros((t, 2, J), np.int32),
        anchor=np.zeros((t, J)),
        delta=np.zeros((t, 2, 0), np.uint16),
    )


def empty_pairs(n_hypotheses: int, n_lights: int = 1) -> np.ndarray[tuple[int, ...], np.dtype[np.uint16]]:
    """No difference between any pair of the sample and of the light examples."""
    return np.zeros((n_lights, 2, n_pairs(n_hypotheses, n_hypotheses) + PAD), np.uint16)


def copy_light(light: Light) -> Light:
    """A light part of its own with the same sums."""
    return Light._make(array.copy() for array in light)
