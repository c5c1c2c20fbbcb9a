"""Which examples a sketch keeps, and in how many bytes: what its parameters say together."""

from __future__ import annotations

from typing import NamedTuple

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._kernels.tail import CORRECTIONS
from ocboost.boosters.sketch.state import (
    Room,
    automatic_head,
    automatic_memory,
    example_bits,
    least_memory,
    room_for,
    room_in,
    tail_bytes,
)
from ocboost.errors import InputError

HEAVY, NEWEST = "heavy", "newest"
DEFAULT = HEAVY  # where keep is left out and both would do

HEAD_ADVICE = "It is the number of examples kept; 'auto' takes twice the bytes of the sums of all pairs."
MEMORY_ADVICE = "It is the number of bytes for sums and examples together."


class Kept(NamedTuple):
    """What is kept: by ``newest``, so many examples; by ``heavy``, a room in examples or in bytes."""

    keep: str
    head: int | None  # None where memory says it
    memory: int | None
    room: Room | None  # of heavy examples


def what_is_kept(
    n_hypotheses: int,
    *,
    keep: object,
    memory: object,
    head: object,
    order: object,
    tail: bool,
    correction: str,
) -> Kept:
    """Resolve ``keep``, ``memory`` and ``head``, and check them; ``head`` is 1 where it is left out."""
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
    rule = resolved(keep, memory=size, head=count, order=order, tail=tail, correction=correction)
    if rule == NEWEST:
        K = J if order is None else as_count(order, "order", 1, J, "None takes every earlier coordinate.")
        return Kept(NEWEST, _newest_head(J, K, count, size, tail=tail), None, None)
    if size is not None and size < least_memory(J):
        raise InputError(
            f"memory must be at least {least_memory(J)} bytes for {J} hypotheses; got {size}. Two examples "
            "and the light sums take that."
        )
    if count == 0:
        size = automatic_memory(J)
    return Kept(HEAVY, count, None, room_for(J, count)) if size is None else _in_bytes(J, size)


def _in_bytes(J: int, memory: int) -> Kept:
    return Kept(HEAVY, None, memory, room_in(J, memory))


def resolved(
    keep: object, *, memory: int | None, head: int, order: object, tail: bool, correction: str
) -> str:
    """Which rule is meant: left out, the default if the others allow it. A head of 0 is "auto"."""
    if keep is not None and (not isinstance(keep, str) or keep not in (HEAVY, NEWEST)):
        raise InputError(
            f"keep must be 'heavy' or 'newest'; got {keep!r:.80}. 'heavy' keeps the examples that weigh, "
            "'newest' the last ones."
        )
    against = _against_heavy(memory=memory, head=head, order=order, tail=tail, correction=correction)
    if keep is None:
        return NEWEST if against else DEFAULT
    if keep == HEAVY and against:
        raise InputError(f"keep='heavy' needs {against}. Leave that to its default, or take keep='newest'.")
    return str(keep)


def _against_heavy(*, memory: int | None, head: int, order: object, tail: bool, correction: str) -> str:
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
    if memory is not None:
        bytes_left = memory - tail_bytes(J, K, pairs=tail)
        if 8 * bytes_left < example_bits(J):
            least = memory - bytes_left + (example_bits(J) + 7) // 8
            raise InputError(
                f"memory must be at least {least} bytes for the sums and one example; got {memory}. Give "
                "more, or a smaller order."
            )
        blocks = bytes_left // (8 * example_bits(J))  # of 64 examples; a ring takes one more than it fills
        return 64 * (blocks - 1) if blocks > 1 else min(64, 8 * bytes_left // example_bits(J))
    return head


def check_correction(correction: object) -> str:
    """One of the names that a correction has."""
    if not isinstance(correction, str) or correction not in CORRECTIONS:
        names = ", ".join(f"'{name}'" for name in reversed(CORRECTIONS))
        raise InputError(
            f"correction must be one of {names}; got {correction!r:.80}. 'balanced' is the usual choice."
        )
    return correction
