"""Neighbours by answers: how far the last rows are from a new one, counted in hypotheses that disagree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from ocboost._kernels.arrays import Floats, Int8s, Ints, Words
from ocboost._kernels.bits import ONE
from ocboost._kernels.compile import exact, instruction, kernel, plain

SMOOTH_MEAN = 0.1  # of the mean vote, that each class gets
SMOOTH_EACH = 0.02


@instruction
def count_bits(typing_context: Any, word: Any) -> tuple[Any, Any]:
    """The number of bits that are set in a word, by the processor's own instruction."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@exact
def _pack(answers: Int8s, slots: Ints, words: Words) -> None:
    for i in range(words.size):
        words[i] = np.uint64(0)
    for j in range(slots.size):
        slot = slots[j]
        words[slot >> 6] |= np.uint64(answers[j] > 0) << np.uint64(slot & 63)


@plain
def add_row(
    answers: Int8s,
    slots: Ints,
    code: int,
    weight: float,
    ring: Words,
    codes: Ints,
    weights: Floats,
    at: int,
    query: Words,
) -> None:
    """Write a row's answers into the ring, (words, rows); ``query`` is room for them."""
    _pack(answers, slots, query)
    for w in range(query.size):
        ring[w, at] = query[w]
    codes[at], weights[at] = code, weight


@kernel
def set_column(answers: Int8s, slot: int, ring: Words, first: int) -> None:
    """Write one hypothesis' answers to the rows of the ring, oldest first, from place ``first`` on."""
    words, shift = ring[slot >> 6], np.uint64(slot & 63)
    keep = ~(ONE << shift)
    for i in range(answers.size):
        at = first + i
        if at >= words.size:
            at -= words.size
        words[at] = (words[at] & keep) | (np.uint64(answers[i] > 0) << shift)


@exact
def _add_differences(words: Words, query: np.uint64, distances: Words) -> None:
    for i in range(words.size):
        distances[i] += count_bits(words[i] ^ query)


@exact
def _count(
    ring: Words,
    query: Words,
    codes: Ints,
    weights: Floats,
    start: int,
    stop: int,
    distances: Words,
    counts: Floats,
) -> None:
    """Add the rows start … stop - 1 of the ring to ``counts``, (K, J + 1) by class and distance."""
    own = distances[start:stop]
    own[:] = np.uint64(0)
    for w in range(query.size):
        _add_differences(ring[w, start:stop], query[w], own)
    for i in range(start, stop):
        counts[codes[i], distances[i]] += weights[i]


@kernel
def neighbour_scores(
    answers: Int8s,
    slots: Ints,
    ring: Words,
    codes: Ints,
    weights: Floats,
    at: int,
    n: int,
    windows: Ints,
    chosen: Ints,
    table: Floats,
    query: Words,
    distances: Words,
    counts: Floats,
    votes: Floats,
    out: Floats,
) -> None:
    """The scores of the classes by neighbours among the last rows.

    ``at`` is where the next row goes, ``n`` how many there are. ``windows`` are sizes, ascending; expert e
    has the window ``chosen[e, 0]`` and the kernel ``table[chosen[e, 1]]``, exp(-d / (τ J)). ``distances``,
    one for each place of the ring, ``counts`` (K, J + 1) and ``votes`` (kernels, K) are room.
    """
    size, K = ring.shape[1], counts.shape[0]
    _pack(answers, slots, query)
    counts[:] = 0.0
    n_kernels, J1 = table.shape
    done = 0
    for w in range(windows.size):
        reach = min(windows[w], n)
        # Ages done … reach - 1: places at - reach … at - done - 1, around the end of the ring.
        start, stop = at - reach, at - done
        if stop > 0:
            _count(ring, query, codes, weights, max(start, 0), stop, distances, counts)
        if start < 0:
            _count(ring, query, codes, weights, start + size, min(stop, 0) + size, distances, counts)
        done = reach
        votes[:] = 0.0
        for k in range(K):
            row = counts[k]
            for t in range(n_kernels):
                total = 0.0
                for d in range(J1):
                    total += row[d] * table[t, d]
                votes[t, k] = total
        for e in range(chosen.shape[0]):
            if chosen[e, 0] == w:
                v = votes[chosen[e, 1]]
                mean = 0.0
                for k in range(K):
                    mean += v[k]
                mean *= SMOOTH_MEAN / K
                for k in range(K):
                    out[e, k] = math.log(v[k] + mean + SMOOTH_EACH)
