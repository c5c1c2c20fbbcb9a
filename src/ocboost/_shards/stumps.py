"""Stumps by AdaBoost over rows that lie in several places: those that `StumpLearner` finds with these edges.

Each round takes two sums over all shards: of the histograms, and of the weights on each side of the cut that
they show to be best. Every shard decides alike, as it sees the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ocboost._core.threads import run
from ocboost._kernels.arrays import Bytes, Floats, Ints, UInt32s
from ocboost._kernels.learn_stumps import TIE, TO_LEFT, add_to_histograms, scan_histograms
from ocboost._kernels.shards import pack_stumps, reweigh_rows, sign_weights, signs_of, weigh_sides
from ocboost._shards.chunks import Chunk, for_chunks
from ocboost._shards.collective import Collective
from ocboost._shards.features import BinnedFeatures
from ocboost.hypotheses import Stumps
from ocboost.learners.bins import MIN_ENTRIES_FOR_THREADS
from ocboost.learners.boosting import MIN_EDGE, step
from ocboost.learners.stumps import answers_of_least_error, answers_of_sides

REFRESH = 32  # rounds after which all histograms are made anew, as sums that are carried on collect rounding

Listed = list[tuple[UInt32s, Floats]]  # rows and their values


class FoundStump(NamedTuple):
    """A stump over binned features, and what it did to the weights."""

    feature: int  # among the binned ones
    cut: int  # the last bin on its left
    left: int  # its answers: at or below the cut, above, to a missing value
    right: int
    missing: int
    if_right: float = 1.0  # what the weights of right and of wrong rows were multiplied by
    if_wrong: float = 1.0

    @property
    def is_perfect(self) -> bool:
        """Whether it was right on every row, and left the weights as they were."""
        return self.if_right == self.if_wrong == 1.0


class ShardSearch:
    """Finds stumps for one target: a class against the others.

    ``factors`` are what each class's weights are multiplied by, ``one`` is what one row is worth, as a share
    of all weight (`ocboost.learners.boosting.worth_of_one`). ``both`` says whether there are rows of the
    target and others.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        features: BinnedFeatures,
        target: int,
        factors: Floats,
        *,
        one: float,
        both: bool,
        gini: bool,
        collective: Collective,
        n_threads: int,
    ) -> None:
        self.found: list[FoundStump] = []
        self.totals: list[float] = []  # by which the weights were divided, at each refresh
        self._chunks, self._features, self._one, self._both, self._gini = chunks, features, one, both, gini
        self._collective, self._n_threads = collective, n_threads
        self._ended = False
        self._excluded: list[int] = []
        m = features.feature.size
        self._sums = np.zeros((m, 2 * TO_LEFT if gini else TO_LEFT))
        self._score, self._cut = np.empty(m), np.empty(m, np.int64)
        self._signed = [np.empty(chunk.n) for chunk in chunks]
        most = max((chunk.n for chunk in chunks), default=0)
        self._rows, self._values = np.empty(most, np.uint32), np.empty(most)

        def begin(chunk: Chunk, signed: Floats) -> None:
            sign_weights(chunk.codes(), target, chunk.weights(), factors, signed)

        for_chunks(begin, chunks, self._signed, n_threads)

    @property
    def can_go_on(self) -> bool:
        """Whether there may be another stump."""
        return not self._ended and len(self._excluded) < self._score.size

    # Rounds --------------------------------------------------------------------------------------------

    def find(self, n_hypotheses: int, on_round: Callable[[int], None] | None = None) -> None:
        """Find stumps until there are so many, or no other is better than chance."""
        while len(self.found) < n_hypotheses and self.can_go_on:
            self._round()
            if on_round is not None:
                on_round(len(self.found))

    def _round(self) -> None:
        if len(self.found) % REFRESH == 0:
            self._refresh()
        f, cut, to_left = self._best()
        weighed, counts = self._weigh(f, cut)
        below, above, other = (weighed[:, 1] - weighed[:, 0]).tolist()
        if self._gini:
            left, right, missing = answers_of_sides(below, above, other, to_left)
            cut = cut if left != right else int(self._features.n_bins[f]) - 1
        else:
            left, missing = answers_of_least_error(below, above, other)
            right = -left
        is_right = [[answer < 0, answer > 0] for answer in (left, right, missing)]
        W_plus, W_minus = float(weighed[is_right].sum()), float(weighed[~np.array(is_right)].sum())
        if self.found and W_plus - W_minus <= MIN_EDGE * (W_plus + W_minus):
            self._ended = True
            return
        stump = FoundStump(f, cut, left, right, missing)
        if W_minus == 0.0:
            self.found.append(stump)
            self._excluded.append(f)
            self._ended = not self._both  # there is nothing to tell apart
            return
        up, down = step(W_plus, W_minus, self._one)
        stump = stump._replace(if_right=up, if_wrong=down)
        self.found.append(stump)
        n_wrong = int(counts[~np.array(is_right)].sum())
        self._reweigh(stump, listed=2 * n_wrong > counts.sum())

    def _refresh(self) -> None:
        """Make the weights of all shards sum to one, and the histograms anew."""
        own = for_chunks(lambda _, signed: float(np.abs(signed).sum()), *self._work)
        total = float(self._collective.sum(np.array([sum(own)]))[0])
        self._divide(total)
        self._sums[...] = 0.0
        rows = np.arange(self._rows.size, dtype=np.uint32)
        for chunk, signed in zip(self._chunks, self._signed, strict=True):
            self._add(chunk, signed, [(rows[: chunk.n], signed)])

    def _divide(self, total: float) -> None:
        self.totals.append(total)
        for signed in self._signed:
            signed /= total

    def _best(self) -> tuple[int, int, bool]:
        """The best feature, its cut, and whether missing values go below it; see `StumpLearner`."""
        sums = self._collective.sum(self._sums)
        scan_histograms(sums, self._features.n_bins, self._features.missing, self._score, self._cut)
        self._score[self._excluded] = -np.inf
        f = int(np.argmax(self._score >= self._score.max() - TIE))
        to_left, cut = divmod(int(self._cut[f]), TO_LEFT)
        return f, cut, bool(to_left)

    def _weigh(self, f: int, cut: int) -> tuple[Floats, Ints]:
        """The weight of each side of a cut with label -1 and +1, on all shards, and the rows of this one."""

        def weigh(chunk: Chunk, signed: Floats) -> tuple[Floats, Ints]:
            weight, count = np.zeros((3, 2)), np.zeros((3, 2), np.int64)
            weigh_sides(chunk.bins()[f], cut, signed, weight, count)
            return weight, count

        found = for_chunks(weigh, *self._work)
        weights, counts = np.zeros((3, 2)), np.zeros((3, 2), np.int64)
        for weight, count in found:
            weights += weight
            counts += count
        return self._collective.sum(weights), counts

    def _reweigh(self, stump: FoundStump, *, listed: bool) -> None:
        """Reweight the rows, and let the histograms follow by the rows of one kind, the fewer."""
        self._sums *= stump.if_wrong if listed else stump.if_right
        for chunk, signed in zip(self._chunks, self._signed, strict=True):
            self._add(chunk, signed, self._reweighed(chunk.bins()[stump.feature], signed, stump, listed))

    def _reweighed(self, column: Bytes, signed: Floats, stump: FoundStump, listed: bool) -> Listed:
        """Reweight the rows of a chunk, a part to a thread; which of them changed otherwise, and by what."""
        ends = np.linspace(0, column.size, self._n_threads + 1).astype(int).tolist()
        lists: Listed = [(self._rows[:0], self._values[:0])] * self._n_threads

        def part(k: int) -> None:
            rows = slice(ends[k], ends[k + 1])
            how = (*stump[1:5], signed[rows], stump.if_right, stump.if_wrong, listed, ends[k])
            n = reweigh_rows(column[rows], *how, self._rows[rows], self._values[rows])
            lists[k] = self._rows[rows][:n], self._values[rows][:n]

        self._each(part, self._n_threads, column.size)
        return lists

    def _add(self, chunk: Chunk, signed: Floats, lists: Listed) -> None:
        """Add rows with their values to the histograms, some features to a thread."""
        bins, m = chunk.bins(), self._score.size
        y = np.empty(chunk.n if self._gini else 0, np.int8)
        if self._gini:
            signs_of(signed, y)
        ends = np.linspace(0, m, 2 * self._n_threads + 1).astype(int).tolist()

        def part(k: int) -> None:
            for rows, values in lists:
                add_to_histograms(bins, y, self._sums, rows, values, ends[k], ends[k + 1])

        self._each(part, 2 * self._n_threads, m * sum(rows.size for rows, _ in lists))

    def _each(self, part: Callable[[int], None], n: int, work: int) -> None:
        if self._n_threads > 1 and work >= MIN_ENTRIES_FOR_THREADS:
            run(part, range(n))
        else:
            for k in range(n):
                part(k)

    @property
    def _work(self) -> tuple[Sequence[Chunk], list[Floats], int]:
        return self._chunks, self._signed, self._n_threads

    # Going on after a stop -----------------------------------------------------------------------------

    def replay(self, found: Sequence[FoundStump], totals: Sequence[float]) -> None:
        """Lead the weights through stumps that were found before, a multiple of `REFRESH` of them."""
        for k, stump in enumerate(found):
            if k % REFRESH == 0:
                self._divide(totals[k // REFRESH])
            self.found.append(stump)
            if stump.is_perfect:
                self._excluded.append(stump.feature)
                continue

            def lead(chunk: Chunk, signed: Floats, stump: FoundStump = stump) -> None:
                room = np.empty(chunk.n, np.uint32), np.empty(chunk.n)
                how = (*stump[1:5], signed, stump.if_right, stump.if_wrong, False, 0)
                reweigh_rows(chunk.bins()[stump.feature], *how, *room)

            for_chunks(lead, *self._work)


def stumps_of(found: Sequence[FoundStump], features: BinnedFeatures, majority: int) -> Stumps:
    """The stumps that were found; if there are none, one that always answers ``majority``."""
    if not found:
        return Stumps([0], [np.inf], [majority], [majority], n_features=features.n_features)
    thresholds = [features.threshold(each.feature, each.cut) for each in found]
    feature = [int(features.feature[each.feature]) for each in found]
    left, missing = [each.left for each in found], [each.missing for each in found]
    return Stumps(feature, thresholds, left, missing, n_features=features.n_features)


def put_answers(
    chunks: Sequence[Chunk],
    booster: int,
    found: Sequence[FoundStump],
    features: BinnedFeatures,
    majority: int,
    n_threads: int,
) -> None:
    """Let each chunk keep what the stumps answer, eight to a byte."""
    stumps = found or [FoundStump(0, 0, majority, majority, majority)]
    n_groups = (len(stumps) + 7) // 8

    def put(chunk: Chunk, _: None) -> None:
        bins = chunk.bins() if found else np.zeros((1, chunk.n), np.uint8)
        packed = np.empty(chunk.n, np.uint8)
        for group in range(n_groups):
            eight = np.array([each[:5] for each in stumps[8 * group : 8 * group + 8]], np.int64)
            pack_stumps(bins, eight, packed)
            chunk.put_answers(booster, n_groups, group, packed)

    for_chunks(put, chunks, [None] * len(chunks), n_threads)
