"""What each shard gives to a sketch of all rows: heavy ones, a sample of the others, and sums of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ocboost._kernels.arrays import Bytes, Floats
from ocboost._kernels.shards import sign_weights
from ocboost._shards.chunks import Chunk, for_chunks
from ocboost._shards.collective import Collective
from ocboost._shards.plan import FitPlan
from ocboost._shards.weights import Weighted
from ocboost.boosters.sketch.gathered import (
    KeptExamples,
    PairSums,
    Threshold,
    Totals,
    choose,
    head_of,
    normal_weights,
    score_histogram,
    scores,
)

OnChunk = Callable[[int, int], None]  # chunks done, and how many times that there are


class ShardSketch:
    """Chooses among the rows of a shard for the sketch of one booster (`ocboost.boosters.sketch.gathered`).

    ``chosen`` are the examples of this shard, ``light`` the sums of all shards' others; None if there are
    none.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        booster: int,
        plan: FitPlan,
        weighted: Weighted,
        *,
        collective: Collective,
        n_threads: int,
        on_chunk: OnChunk | None = None,
    ) -> None:
        self._booster, self._plan = booster, plan
        self._J = weighted.alpha.size
        self.sums = Totals.of(weighted.alpha, weighted.logs + np.log(plan.total))
        self.light: Floats | None = None
        capacity = plan.sizes(self._J)
        if plan.n_rows < capacity.first:
            everything = [self._taken(chunk, np.arange(chunk.n), None) for chunk in chunks]
            self.chosen = _joined(everything, self._n_groups)
            return

        def score(chunk: Chunk, _: None) -> Floats:
            return score_histogram(self._scores(chunk))

        histograms = for_chunks(score, chunks, [None] * len(chunks), n_threads)
        own = sum(histograms, score_histogram(np.empty(0)))
        threshold = Threshold.of(collective.sum(own), capacity.after_fold)
        chances = [threshold.light_chance(each) for each in histograms]
        each_shard = np.zeros(collective.size)
        each_shard[collective.rank] = sum(chances)
        before = float(collective.sum(each_shard)[: collective.rank].sum())

        most = max((chunk.n for chunk in chunks), default=1)
        pairs = PairSums(self.sums, most, n_threads)
        chosen = []
        for k, (chunk, chance) in enumerate(zip(chunks, chances, strict=True)):
            heavy, sample, factor = choose(self._scores(chunk), threshold, before)
            before += chance
            chosen += [self._taken(chunk, heavy, None), self._taken(chunk, sample, factor)]
            self._add_pairs(chunk, heavy, pairs)
            if on_chunk is not None:
                on_chunk(k + 1, len(chunks))
        self.chosen = _joined(chosen, self._n_groups)
        self.light = collective.sum(pairs.result)

    @property
    def _n_groups(self) -> int:
        return (self._J + 7) // 8

    def _signed(self, chunk: Chunk) -> Floats:
        """The weights of a chunk's rows before the first coordinate, with their labels as signs."""
        plan, signed = self._plan, np.empty(chunk.n)
        target = plan.target(self._booster)
        sign_weights(chunk.codes(), target, chunk.weights(), plan.factors * plan.scale, signed)
        return signed

    def _scores(self, chunk: Chunk) -> Floats:
        signed = self._signed(chunk)
        head = head_of(chunk.answers(self._booster), signed, *normal_weights(np.abs(signed)), self._J)
        return scores(head, chunk.n, self.sums)

    def _add_pairs(self, chunk: Chunk, heavy: np.ndarray, pairs: PairSums) -> None:
        signed = self._signed(chunk)
        weight, unit = normal_weights(np.abs(signed))
        weight = weight.copy()
        weight[heavy] = 0.0
        pairs.take(head_of(chunk.answers(self._booster), signed, weight, unit, self._J), chunk.n)

    def _taken(self, chunk: Chunk, rows: np.ndarray, factor: Floats | None) -> KeptExamples:
        """Some rows of a chunk; with factors they are a sample, each counting for so many."""
        signed = self._signed(chunk)[rows]
        flip = np.where(signed < 0.0, np.uint8(0xFF), np.uint8(0))
        codes: Bytes = chunk.answers(self._booster)[:, rows] ^ flip
        weights = np.abs(signed) if factor is None else np.abs(signed) * factor
        return KeptExamples(codes, *normal_weights(weights), np.full(len(rows), factor is not None))


def _joined(parts: Sequence[KeptExamples], n_groups: int) -> KeptExamples:
    nothing = KeptExamples(
        np.empty((n_groups, 0), np.uint8), np.empty(0), np.empty(0, np.int64), np.empty(0, np.bool_)
    )
    return joined([nothing, *parts])


def joined(parts: Sequence[KeptExamples]) -> KeptExamples:
    """All of them, in order."""
    codes = np.concatenate([part.codes for part in parts], axis=1)
    rest = (np.concatenate(each) for each in zip(*(part[1:] for part in parts), strict=True))
    return KeptExamples(codes, *rest)
