"""Which examples a sketch keeps, and in how many bytes: what its parameters say together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._kernels.arrays import n_pairs
from ocboost._kernels.heavy import PAD
from ocboost._kernels.tail import CORRECTIONS
from ocboost.errors import InputError

HEAVY, NEWEST = "heavy", "newest"

HEAD_ADVICE = "It is the number of examples kept; 'auto' takes twice the bytes of the sums of all pairs."
MEMORY_ADVICE = "It is the number of bytes for sums and examples together."
ORDER_ADVICE = "None takes every earlier coordinate."
SLACK_WITH_PAIRS, SLACK = 4, 16  # a fold lets go of one example in so many; with pairs it costs more


# Bytes ----------------------------------------------------------------------------------------------------


def sum_bytes(n_hypotheses: int, order: int) -> int:
    """The bytes that W⁺ and W⁻ take, diagonal included: 2 · 8 for each pair.

    >>> sum_bytes(4, 4)
    160
    """
    return 16 * (n_pairs(n_hypotheses, order) + n_hypotheses)


def tail_bytes(n_hypotheses: int, order: int, *, pairs: bool = True) -> int:
    """The bytes that a tail takes in all.

    >>> from ocboost.boosters.sketch.state import empty_tail
    >>> tail_bytes(4, 4) == sum(array.nbytes for array in empty_tail(4, 4))
    True
    """
    return sum_bytes(n_hypotheses, order if pairs else 0) + 40 * n_hypotheses + 16


def example_bits(n_hypotheses: int) -> int:
    """What an example takes: a bit for each hypothesis, and a weight with its unit."""
    return n_hypotheses + 96


def pair_bytes(n_hypotheses: int) -> int:
    """What the pairs of light examples take: float16, two signs."""
    return 4 * n_pairs(n_hypotheses, n_hypotheses) + 4 * PAD


def row_bytes(n_hypotheses: int) -> int:
    """What L, A and the anchor of light examples take."""
    return 56 * n_hypotheses


def least_memory(n_hypotheses: int) -> int:
    """The bytes that two examples take, with the light sums."""
    return row_bytes(n_hypotheses) + (2 * example_bits(n_hypotheses) + 7) // 8


def automatic_head(n_hypotheses: int, order: int) -> int:
    """As many examples as the sums take bytes, at least one: what ``head="auto"`` means.

    An example takes a bit for each hypothesis, in words of 64, and a weight.
    """
    return max(1, sum_bytes(n_hypotheses, order) // (8 * ((n_hypotheses + 63) // 64) + 8))


def automatic_memory(n_hypotheses: int) -> int:
    """What a sketch that keeps the newest takes with ``head="auto"``: sums and examples, or the least.

    >>> automatic_memory(100)
    163267
    """
    J = n_hypotheses
    return max(least_memory(J), sum_bytes(J, J) + automatic_head(J, J) * example_bits(J) // 8)


class Capacity(NamedTuple):
    """How many heavy examples are kept, and whether there are pairs to correct the light ones' sample."""

    first: int  # examples until the first fold: there are no pairs yet
    head: int  # from then on
    pairs: bool

    @property
    def after_fold(self) -> int:
        """How many examples a fold leaves.

        >>> Capacity(100, 80, True).after_fold, Capacity(100, 80, False).after_fold
        (60, 75)
        """
        slack = SLACK_WITH_PAIRS if self.pairs else SLACK
        return self.head - (self.head + slack - 1) // slack


def capacity_in(n_hypotheses: int, memory: int) -> Capacity:
    """Split bytes into examples and pairs; these if they take at most half of what L and A leave.

    Examples are kept in blocks of 64, and the blocks fit in the memory; fewer than 64 take a block as well.

    >>> capacity_in(100, 100_000), capacity_in(100, 30_000)
    (Capacity(first=3840, head=3008, pairs=True), Capacity(first=960, head=960, pairs=False))
    """

    def examples_in(n_bytes: int) -> int:
        n = 8 * n_bytes // example_bits(n_hypotheses)
        return n - n % 64 if n >= 64 else max(2, n)

    left, for_pairs = memory - row_bytes(n_hypotheses), pair_bytes(n_hypotheses)
    pairs = 2 * for_pairs <= left
    return Capacity(examples_in(left), examples_in(left - for_pairs if pairs else left), pairs)


# What keep, head and memory mean together -----------------------------------------------------------------


class HeadPlan(NamedTuple):
    """Which examples a sketch keeps and how many; ``capacity`` is that of heavy ones, None of the newest."""

    keep: str
    head: int | None  # None where memory says it
    memory: int | None
    capacity: Capacity | None


def plan_head(
    n_hypotheses: int,
    *,
    keep: object,
    memory: object,
    head: object,
    order: object,
    tail: bool,
    correction: str,
) -> HeadPlan:
    """Check ``keep``, ``memory`` and ``head``, and resolve what they leave open."""
    J = n_hypotheses
    if isinstance(head, str) and head != "auto":
        raise InputError(f"head must be a whole number of at least 1, or 'auto'; got {head!r}. {HEAD_ADVICE}")
    count = 0 if isinstance(head, str) else as_count(head, "head", 1, MAX_SETTING, HEAD_ADVICE)
    size = None if memory is None else as_count(memory, "memory", 1, MAX_SETTING, MEMORY_ADVICE)
    if size is not None and count != 1:
        raise InputError(
            f"head and memory exclude each other; got head={head!r:.40} and memory={size}. Give the "
            "number of examples, or the bytes they and the sums may take."
        )
    if keep is not None and (not isinstance(keep, str) or keep not in (HEAVY, NEWEST)):
        raise InputError(
            f"keep must be 'heavy' or 'newest'; got {keep!r:.80}. 'heavy' keeps the examples that weigh, "
            "'newest' the last ones."
        )
    obstacle = _obstacle_to_heavy(memory=size, head=count, order=order, tail=tail, correction=correction)
    if keep == HEAVY and obstacle:
        raise InputError(f"keep='heavy' needs {obstacle}. Leave that to its default, or take keep='newest'.")
    if keep == NEWEST or obstacle:
        K = J if order is None else as_count(order, "order", 1, J, ORDER_ADVICE)
        return HeadPlan(NEWEST, _newest_head(J, K, count, size, tail=tail), None, None)
    if size is not None and size < least_memory(J):
        raise InputError(
            f"memory must be at least {least_memory(J)} bytes for {J} hypotheses; got {size}. Two examples "
            "and the light sums take that."
        )
    if count == 0:
        size = automatic_memory(J)
    if size is not None:
        return HeadPlan(HEAVY, None, size, capacity_in(J, size))
    # No pairs for fewer examples than hypotheses: those that so few leave behind correct the sample by more
    # than they know of it.
    return HeadPlan(HEAVY, count, None, Capacity(count, count, count >= J))


def _obstacle_to_heavy(*, memory: int | None, head: int, order: object, tail: bool, correction: str) -> str:
    """What would have to be different for heavy examples to be kept; nothing if they can be."""
    if not tail:
        return "a tail; got tail=False, a window of the last examples"
    if order is not None:
        return f"every earlier coordinate; got order={order!r:.40}"
    if correction != "balanced":
        return f"correction='balanced'; got {correction!r}"
    if memory is None and head == 1:
        return "a head of more than one example; got head=1, the paper's algorithm"
    return ""


def _newest_head(J: int, K: int, head: int, memory: int | None, *, tail: bool) -> int:
    if head == 0:  # "auto"
        return automatic_head(J, K)
    if memory is None:
        return head
    bytes_left = memory - tail_bytes(J, K, pairs=tail)
    if 8 * bytes_left < example_bits(J):
        least = memory - bytes_left + (example_bits(J) + 7) // 8
        raise InputError(
            f"memory must be at least {least} bytes for the sums and one example; got {memory}. Give "
            "more, or a smaller order."
        )
    blocks = bytes_left // (8 * example_bits(J))  # of 64 examples; a ring takes one more than it fills
    return 64 * (blocks - 1) if blocks > 1 else min(64, 8 * bytes_left // example_bits(J))


def order_within(n_hypotheses: int, order: object) -> int | None:
    """An order, or all hypotheses where there are fewer of them; None is every earlier coordinate."""
    if order is None:
        return None
    return min(as_count(order, "order", 1, None, ORDER_ADVICE), n_hypotheses)


def check_tail(tail: object, *types: type) -> bool:
    """True or False, of one of these types; by default Python's or NumPy's."""
    if not isinstance(tail, types or (bool, np.bool_)):
        raise InputError(f"tail must be True or False; got {tail!r:.80}. False makes a window.")
    return bool(tail)


def check_correction(correction: object) -> str:
    """One of the names that a correction has."""
    if not isinstance(correction, str) or correction not in CORRECTIONS:
        names = ", ".join(f"'{name}'" for name in CORRECTIONS)
        raise InputError(
            f"correction must be one of {names}; got {correction!r:.80}. 'balanced' is the usual choice."
        )
    return correction
