"""The light part of a sketch that keeps heavy examples: its arrays, and how a budget is split."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernels.band import n_pairs
from .kernels.carried import PAD
from .kernels.types import Light
from .tails import automatic_head, sum_bytes

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
