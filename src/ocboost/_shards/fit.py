"""A fit over shards: stumps, their weights, and a sketch that goes on from there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ocboost._kernels.arrays import Floats
from ocboost._shards.chunks import Chunk
from ocboost._shards.collective import Collective
from ocboost._shards.plan import FitPlan
from ocboost._shards.sketch import ShardSketch, joined
from ocboost._shards.stumps import REFRESH, FoundStump, ShardSearch, put_answers, stumps_of
from ocboost._shards.weights import Weighted, weigh_hypotheses
from ocboost.boosters.sketch.gathered import KeptExamples, Totals, gathered_sketch
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.hypotheses import Stumps

Progress = Callable[
    [str, int, int, int], None
]  # what is done, for which booster, how much of it, of how much


class Memory(Protocol):
    """Where stumps are kept that were found before a stop."""

    def recall(self, booster: int) -> tuple[list[FoundStump], list[float], bool]:
        """The stumps of a booster, what the weights were divided by, and whether they are all of them."""

    def keep(
        self, booster: int, found: Sequence[FoundStump], totals: Sequence[float], *, complete: bool
    ) -> None:
        """Keep them."""


class BoosterPart(NamedTuple):
    """What a shard found for one booster; all but ``chosen`` is the same on every shard."""

    found: list[FoundStump]
    weighted: Weighted
    sums: Totals
    chosen: KeptExamples  # of this shard's rows
    light: Floats | None

    @property
    def digest(self) -> str:
        """What all shards must agree on: the stumps, to the last bit, and α but for rounding."""
        text = repr([stump[:5] for stump in self.found])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def fit_shard(
    chunks: Sequence[Chunk],
    plan: FitPlan,
    collective: Collective,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
    memory: Memory | None = None,
) -> list[BoosterPart]:
    """Fit this shard's rows together with those of all others."""
    progress = progress or (lambda what, booster, done, total: None)
    parts = []
    for k in range(plan.n_boosters):
        found = _stumps(chunks, plan, k, collective, n_threads, progress, memory)
        n = plan.n_hypotheses if plan.features is None else max(1, len(found))
        progress("weighing", k, 0, 1)
        weighted = weigh_hypotheses(
            chunks,
            k,
            plan.target(k),
            n,
            plan.factors * plan.scale,
            total=plan.total,
            smoothing=plan.settings["smoothing"],
            collective=collective,
            n_threads=n_threads,
        )

        def on_chunk(done: int, total: int, k: int = k) -> None:
            progress("summing pairs", k, done, total)

        how = {"collective": collective, "n_threads": n_threads, "on_chunk": on_chunk}
        sketch = ShardSketch(chunks, k, plan, weighted, **how)  # type: ignore[arg-type]
        parts.append(BoosterPart(found, weighted, sketch.sums, sketch.chosen, sketch.light))
    return parts


def _stumps(
    chunks: Sequence[Chunk],
    plan: FitPlan,
    booster: int,
    collective: Collective,
    n_threads: int,
    progress: Progress,
    memory: Memory | None,
) -> list[FoundStump]:
    """The stumps of a booster, whose answers the chunks keep then; none where hypotheses are given."""
    if plan.features is None:
        return []
    target, majority = plan.target(booster), plan.majority(booster)
    before, totals, complete = ([], [], False) if memory is None else memory.recall(booster)
    if not complete:
        search = ShardSearch(
            chunks,
            plan.features,
            target,
            plan.factors,
            one=plan.one,
            both=0 < plan.counts[target] < plan.n_rows,
            gini=plan.gini,
            collective=collective,
            n_threads=n_threads,
        )
        search.replay(before, totals)

        def on_round(n: int) -> None:
            progress("finding stumps", booster, n, plan.n_hypotheses)
            if memory is not None and n % REFRESH == 0:
                memory.keep(booster, search.found, search.totals, complete=False)

        search.find(plan.n_hypotheses, on_round)
        before = search.found
        if memory is not None:
            memory.keep(booster, before, search.totals, complete=True)
    put_answers(chunks, booster, before, plan.features, majority, n_threads)
    return before


def sketches_of(plan: FitPlan, shards: Sequence[Sequence[BoosterPart]]) -> list[BoostingSketch]:
    """A sketch for each booster, from what every shard found for each."""
    sketches = []
    for parts in zip(*shards, strict=True):
        first = parts[0]
        chosen = joined([part.chosen for part in parts])
        n = first.weighted.alpha.size
        sketches.append(gathered_sketch(n, plan.settings, chosen, first.sums, first.light, plan.n_rows))
    return sketches


def stumps_in(plan: FitPlan, parts: Sequence[BoosterPart]) -> list[Stumps]:
    """The stumps of each booster."""
    assert plan.features is not None
    return [stumps_of(part.found, plan.features, plan.majority(k)) for k, part in enumerate(parts)]


def agree(shards: Sequence[Sequence[BoosterPart]]) -> bool:
    """Whether all shards found the same."""
    first = shards[0]
    return all(
        part.digest == own.digest
        and np.allclose(part.weighted.alpha, own.weighted.alpha, rtol=0.0, atol=1e-9)
        for parts in shards[1:]
        for part, own in zip(parts, first, strict=True)
    )
