"""AdaBoost's weights of given hypotheses over rows that lie in several places, eight coordinates at a time.

The examples of one code (`ocboost._kernels.shards`) keep their ratio through its eight coordinates. So each
shard sends 256 sums, and all eight α follow from these. The result is that of `ocboost.adaboost_weights` but
for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import Bytes, Floats, Units
from ocboost._kernels.shards import (
    N_CODES,
    TINY,
    add_by_code,
    add_scaled_by_code,
    reweigh_by_code,
    reweigh_scaled_by_code,
    sign_weights,
)
from ocboost._shards.chunks import Chunk, for_chunks
from ocboost._shards.collective import Collective

WIDTH = 8
LEAST_SMOOTHING = 1e-6  # with less, α can be so large that eight of them are no double
_MARGINS = np.where(np.arange(N_CODES)[:, None] & (0x80 >> np.arange(WIDTH)), 1.0, -1.0)  # of each code


class Weighted(NamedTuple):
    """AdaBoost's weights, and the sums they come from."""

    alpha: Floats  # (J,)
    logs: Floats  # (2, J): log W⁺_j and log W⁻_j, as shares of the total weight before the first coordinate


class ChunkWeights:
    """The weights of a chunk's rows on their way through the coordinates, as shares of all weight."""

    def __init__(self, signed: Floats) -> None:
        self.signed = signed
        self._unit: Units | None = None  # of each weight, once one unit does not fit all
        self._settle(float(np.abs(signed).min()) if signed.size else 1.0)

    def _settle(self, least: float) -> None:
        if least < TINY:
            exponent = np.frexp(self.signed)[1]
            unit = np.floor_divide(exponent + 128, 256)
            self.signed = np.ldexp(self.signed, -256 * unit)
            self._unit = unit.astype(np.int32)

    def sums(self, packed: Bytes) -> Floats:
        """Their sums by code."""
        sums = np.zeros(N_CODES)
        if self._unit is None:
            add_by_code(packed, self.signed, sums)
        else:
            add_scaled_by_code(packed, self.signed, self._unit, sums)
        return sums

    def reweigh(self, packed: Bytes, factor: Floats) -> None:
        """Multiply each by its code's factor."""
        if self._unit is None:
            self._settle(reweigh_by_code(packed, self.signed, factor))
        else:
            reweigh_scaled_by_code(packed, self.signed, self._unit, factor)


def weigh_hypotheses(
    chunks: Sequence[Chunk],
    booster: int,
    target: int,
    n_hypotheses: int,
    factors: Floats,
    *,
    total: float,
    smoothing: float,
    collective: Collective,
    n_threads: int,
) -> Weighted:
    """AdaBoost's weights of a booster's hypotheses, whose answers the chunks keep.

    ``factors`` are what each class's weights are multiplied by, ``total`` is then the weight of all rows on
    all shards, in the units of ``smoothing``.
    """

    def begin(chunk: Chunk, _: None) -> ChunkWeights:
        signed = np.empty(chunk.n)
        sign_weights(chunk.codes(), target, chunk.weights(), factors / total, signed)
        return ChunkWeights(signed)

    weights = for_chunks(begin, chunks, [None] * len(chunks), n_threads)
    alpha, logs = np.empty(n_hypotheses), np.empty((2, n_hypotheses))
    factor, log_scale = np.empty(0), 0.0
    for first in range(0, n_hypotheses, WIDTH):
        width, group, now = min(WIDTH, n_hypotheses - first), first // WIDTH, factor

        def pass_through(chunk: Chunk, own: ChunkWeights, group: int = group, now: Floats = now) -> Floats:
            answers = chunk.answers(booster)
            if group > 0:
                own.reweigh(answers[group - 1], now)
            return own.sums(answers[group])

        sums = np.zeros(N_CODES)
        for own in for_chunks(pass_through, chunks, weights, n_threads):
            sums += own
        here = slice(first, first + width)
        sums = collective.sum(sums)
        alpha[here], logs[:, here], factor, change = eight(sums, width, smoothing / total)
        logs[:, here] += log_scale
        log_scale += change
    return Weighted(alpha, logs)


def eight(sums: Floats, width: int, share: float) -> tuple[Floats, Floats, Floats, float]:
    """The α of ``width`` coordinates, at most eight, from the weights by code.

    ``share`` is ε / Σw. Gives α, the logarithms of W⁺ and W⁻, each code's factor, by which the weights sum to
    one again, and the logarithm of what they summed to.

    >>> sums = np.zeros(256)
    >>> sums[0b10000000], sums[0b00000000] = 0.75, 0.25
    >>> eight(sums, 1, 0.0)[0].round(3)
    array([0.549])
    """
    alpha, logs = np.empty(width), np.empty((2, width))
    left = sums  # the weights by the coordinates that are still to come
    for k in range(width):
        wrong, right = left.reshape(2, -1)
        plus, minus = float(right.sum()), float(wrong.sum())
        ε = share * (plus + minus)
        alpha[k] = 0.5 * np.log((plus + ε) / (minus + ε))
        with np.errstate(divide="ignore"):
            logs[:, k] = np.log([plus, minus])
        left = wrong * np.exp(alpha[k]) + right * np.exp(-alpha[k])
    total = float(left.sum())
    factor: Floats = np.exp(-_MARGINS[:, :width] @ alpha) / total
    return alpha, logs, factor, float(np.log(total))
