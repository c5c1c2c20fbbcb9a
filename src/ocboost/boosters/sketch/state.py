"""The state of a sketch as arrays: the head's examples, and the sums of all others.

`NewestState` has a ring of the newest examples and a tail of sums; `HeavyState` has the heavy examples, and
the sums of the light ones with a sample of them. Functions here make, copy and lay out both.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from ocboost._kernels.arrays import Floats, Halves, Head, Int8s, Ints, Light, Tail, n_pairs, zeros_on_lines
from ocboost._kernels.bits import unpack_row
from ocboost._kernels.fold import FIRST, N_COUNTERS, N
from ocboost._kernels.heavy import PAD
from ocboost._kernels.scaled import LOG_UNIT, normal_number

# The counters of a `HeavyState` behind those of a `NewestState`.
N_LIGHT, FOLDS = N_COUNTERS, N_COUNTERS + 1
N_HEAVY_COUNTERS = N_COUNTERS + 2


class NewestState(NamedTuple):
    """All that a sketch has learnt that keeps the newest examples."""

    tail: Tail
    head: Head
    counters: Ints
    now: Floats
    decayed: bool  # whether α no longer is the tail's, though the head is empty

    @property
    def first(self) -> int:
        """The ring position of the head's oldest example."""
        return int(self.counters[FIRST])

    @property
    def n_head(self) -> int:
        """Examples in the head."""
        return int(self.counters[N])


class HeavyState(NamedTuple):
    """All that a sketch has learnt that keeps heavy examples.

    The head's first ``n_light`` examples are the sample of the light ones, those after them are exact; each
    run is in the order of age.
    """

    light: Light
    head: Head
    counters: Ints
    now: Floats

    @property
    def first(self) -> int:
        """Where the head begins: always at 0."""
        return 0

    @property
    def n_head(self) -> int:
        """Examples in the head."""
        return int(self.counters[N])

    @property
    def n_light(self) -> int:
        """How many of them are a sample of the light ones."""
        return int(self.counters[N_LIGHT])

    @property
    def folds(self) -> int:
        """How often light examples have left the head."""
        return int(self.counters[FOLDS])

    @property
    def bounds(self) -> Ints:
        """Where the runs of examples begin and end."""
        return np.array([0, self.n_light, self.n_head])


State = TypeVar("State", NewestState, HeavyState)
Arrays = TypeVar("Arrays", Tail, Head, Light)


def resized(state: State, n_blocks: int) -> State:
    """The same state with a head of its own of so many blocks, the oldest example in the first one."""
    counters = state.counters.copy()
    counters[FIRST] &= 63
    head = resized_head(state.head, state.first, state.n_head, n_blocks)
    return state._replace(head=head, counters=counters)


def copied(state: State, n_blocks: int | None = None) -> State:
    """A state of its own; ``n_blocks``: with a head of so many blocks."""
    sums: Any = copied_arrays(state[0])
    result = resized(state, state.head.words.shape[0] if n_blocks is None else n_blocks)
    return result._replace(**{state._fields[0]: sums}, now=state.now.copy())


def copied_arrays(arrays: Arrays) -> Arrays:
    """A tail, head or light part of its own."""
    made: Any = type(arrays)
    result: Arrays = made._make(array.copy() for array in arrays)
    return result


# Scaled numbers (`ocboost._kernels.scaled`) as logarithms -------------------------------------------------


def logs(value: Any, unit: Any) -> Floats:
    """The logarithms of scaled numbers, -∞ for zero.

    >>> logs(np.array([1.0, 0.0]), np.array([0, 0])).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        result: Floats = np.log(value) + unit * LOG_UNIT
    return result


def scaled(log: float, unit: int) -> tuple[float, int]:
    """The scaled number with this logarithm, which is counted from a unit.

    >>> scaled(0.0, 3), scaled(-np.inf, 3)
    ((1.0, 3), (0.0, 0))
    """
    if log == -np.inf:
        return 0.0, 0
    more = round(log / LOG_UNIT)
    return normal_number(float(np.exp(log - more * LOG_UNIT)), unit + more)


# The head: examples as bits in blocks of 64, for the newest in a ring that grows when it must -------------


def blocks_of(n: int) -> int:
    """Blocks of 64 examples that n examples fill."""
    return (n + 63) // 64


def ring_blocks(n: int) -> int:
    """Blocks that a ring needs for n examples: one more, so that newest and oldest never share a block."""
    return (n + 63) // 64 + 1


def empty_head(n_hypotheses: int, n_blocks: int) -> Head:
    """A head of so many blocks with nothing in it."""
    return Head(
        words=zeros_on_lines((n_blocks, n_hypotheses), np.uint64),
        weight=np.zeros(64 * n_blocks),
        weight_unit=np.zeros(64 * n_blocks, np.int32),
    )


def places_of(head: Head, first: int, n: int) -> Ints:
    """The ring positions of n examples, oldest first."""
    places: Ints = (first + np.arange(n)) % head.weight.size
    return places


def resized_head(head: Head, first: int, n: int, n_blocks: int) -> Head:
    """The same n examples in a ring of another size, the oldest in its first block at the same bit."""
    result = empty_head(head.words.shape[1], n_blocks)
    used = blocks_of((first & 63) + n) if n else 0
    result.words[:used] = head.words[(first // 64 + np.arange(used)) % head.words.shape[0]]
    places, span = places_of(head, first, n), slice(first & 63, (first & 63) + n)
    result.weight[span], result.weight_unit[span] = head.weight[places], head.weight_unit[places]
    return result


def rows_of(head: Head, first: int, n: int) -> Int8s:
    """The margins of the head's examples, oldest first, as (n, J) of -1 and +1."""
    rows = np.empty((n, head.words.shape[1]), np.int8)
    for i in range(n):
        unpack_row(head.words, (first + i) % head.weight.size, rows[i])
    return rows


def widened(head: Head, first: int, margins: Int8s) -> Head:
    """A head whose examples have further margins (n, k); its oldest is at ``first``, in its first block."""
    k = margins.shape[1]
    bits = np.zeros((head.weight.size, k), bool)
    bits[first : first + len(margins)] = margins > 0
    words = np.packbits(bits.reshape(-1, 64, k).transpose(0, 2, 1), axis=2, bitorder="little")
    columns = np.ascontiguousarray(words).view("<u8")[..., 0].astype(np.uint64)
    return head._replace(words=np.ascontiguousarray(np.concatenate([head.words, columns], axis=1)))


def with_columns(head: Head, keep: Ints) -> Head:
    """A head with the margins of some coordinates only."""
    return head._replace(words=np.ascontiguousarray(head.words[:, keep]))


# The tail of the newest, and the light sums of the heavy --------------------------------------------------


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


def dense_sums(tail: Tail, order: int) -> tuple[Floats, Floats]:
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


def empty_light(n_hypotheses: int) -> Light:
    """A light part of no examples, and with no pairs."""
    J = n_hypotheses
    return Light(
        L=np.zeros((1, 2, J)),
        L_unit=np.zeros((1, 2, J), np.int32),
        A=np.zeros((1, 2, J)),
        A_unit=np.zeros((1, 2, J), np.int32),
        anchor=np.zeros((1, J)),
        delta=np.zeros((1, 2, 0), np.uint16),
    )


def empty_pairs(n_hypotheses: int, n_lights: int = 1) -> Halves:
    """No difference between any pair of the sample and of the light examples."""
    return np.zeros((n_lights, 2, n_pairs(n_hypotheses, n_hypotheses) + PAD), np.uint16)


def empty_heavy(n_hypotheses: int) -> HeavyState:
    """Nothing seen yet."""
    counters = np.zeros(N_HEAVY_COUNTERS, np.int64)
    return HeavyState(empty_light(n_hypotheses), empty_head(n_hypotheses, 1), counters, np.ones(1))
