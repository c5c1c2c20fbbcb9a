"""A sketch of heavy examples from parts that were found in several places.

`ocboost.boosters.sketch.heavy_fold.fold` chooses among examples that it has. Here they never come together:
each place knows α and the sums W of all, chooses heavy examples and a sample of the others by the same rule,
and adds the pairs of the others up. These sums, and the chosen examples, are all that a sketch needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ocboost._kernels import fold as kernels
from ocboost._kernels import heavy
from ocboost._kernels.arrays import Bytes, Floats, Head, Light, n_pairs
from ocboost._kernels.fold import SEEN, N
from ocboost._kernels.heavy_pairs import halves
from ocboost._kernels.shards import words_of_codes
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.fold import Workspace, join, row_ranges
from ocboost.boosters.sketch.heavy_fold import GOLDEN, MAX_WEIGHT_SCORE, moderate_exp, sums_at
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.boosters.sketch.state import (
    FOLDS,
    N_LIGHT,
    HeavyState,
    blocks_of,
    empty_head,
    empty_heavy,
    empty_pairs,
    empty_tail,
    logs,
    scaled,
)

# Scores are counted in bins, 32 to a doubling, from 2^-200 on. The threshold is an edge of a bin.
PER_DOUBLING, LEAST_DOUBLING, DOUBLINGS = 32, -200, 240
N_SCORE_BINS = PER_DOUBLING * DOUBLINGS


class Totals(NamedTuple):
    """What AdaBoost found over all examples, as scaled numbers (`ocboost._kernels.scaled`)."""

    alpha: Floats  # (J,)
    W: Floats  # (2, J): W⁺_j, W⁻_j
    W_unit: np.ndarray

    @classmethod
    def of(cls, alpha: Floats, log_W: Floats) -> Totals:
        """From the logarithms of the sums."""
        pairs = [scaled(log, 0) for log in log_W.ravel().tolist()]
        value, unit = (np.array(each).reshape(log_W.shape) for each in zip(*pairs, strict=True))
        return cls(alpha, value, unit.astype(np.int64))


class KeptExamples(NamedTuple):
    """Some examples: their margins as codes, eight hypotheses to a byte, and their weights."""

    codes: Bytes  # (groups, n)
    weight: Floats  # (n,), a scaled number with the next
    unit: np.ndarray
    is_sample: np.ndarray  # whether it stands for others as well

    @property
    def n(self) -> int:
        """How many there are."""
        return self.weight.size


def head_of(codes: Bytes, signed: Floats, weight: Floats, unit: np.ndarray, n_hypotheses: int) -> Head:
    """Examples as the kernels of a sketch take them; the signs of ``signed`` are the labels."""
    n = signed.size
    head = empty_head(n_hypotheses, max(1, blocks_of(n)))
    words_of_codes(codes, signed, head.words)
    head.weight[:n], head.weight_unit[:n] = weight, unit
    return head


def normal_weights(weights: Floats) -> tuple[Floats, np.ndarray]:
    """Positive weights as scaled numbers."""
    unit = np.floor_divide(np.frexp(weights)[1] + 128, 256)
    if not unit.any():
        return weights, unit
    return np.ldexp(weights, -256 * unit), unit


# What each place does ---------------------------------------------------------------------------------


def scores(head: Head, n: int, sums: Totals) -> Floats:
    """How much each example weighs (`ocboost._kernels.heavy.score`)."""
    J = sums.alpha.size
    estimate = heavy.make_estimate(J, 1, n)
    estimate.alpha[...], estimate.exp_alpha[...] = sums.alpha, moderate_exp(sums.alpha)
    both = np.logaddexp(*logs(sums.W, sums.W_unit))
    for j, log in enumerate(both.tolist()):
        estimate.W[j], estimate.W_unit[j] = scaled(log, 0)
    q = np.empty(64 * max(1, blocks_of(n)))
    heavy.score(head, n, estimate, q)
    result: Floats = np.minimum(q[:n], MAX_WEIGHT_SCORE)
    return result


def score_bins(q: Floats) -> np.ndarray:
    """The bin of each score; -1 for a score of zero, which is never chosen."""
    with np.errstate(divide="ignore"):
        place = np.floor((np.log2(q) - LEAST_DOUBLING) * PER_DOUBLING)
    return np.where(q > 0.0, np.clip(place, 0, N_SCORE_BINS - 1), -1).astype(np.int64)


def score_histogram(q: Floats) -> Floats:
    """(2, bins): how many scores there are in each bin, and their sum."""
    place = score_bins(q)
    some = place >= 0
    count = np.bincount(place[some], minlength=N_SCORE_BINS)
    return np.stack([count, np.bincount(place[some], q[some], minlength=N_SCORE_BINS)]).astype(np.float64)


class Threshold(NamedTuple):
    """Where heavy examples begin: at a bin, and the score that is its lower edge, τ."""

    bin: int
    tau: float

    @classmethod
    def of(cls, histogram: Floats, most: int) -> Threshold:
        """The lowest one that leaves at most ``most`` examples: Σ min(1, q/τ) over all of them."""
        counts, sums = histogram
        edges = 2.0 ** (LEAST_DOUBLING + np.arange(N_SCORE_BINS + 1) / PER_DOUBLING)
        above = np.append(np.cumsum(counts[::-1])[::-1], 0.0)
        below = np.append(0.0, np.cumsum(sums))
        fits = above + below / edges <= most
        at = int(np.argmax(fits)) if fits.any() else N_SCORE_BINS
        return cls(at, float(edges[at]))

    def light_chance(self, histogram: Floats) -> float:
        """The sum of the light ones' chances."""
        return float(histogram[1, : self.bin].sum()) / self.tau


def choose(q: Floats, threshold: Threshold, before: float) -> tuple[np.ndarray, np.ndarray, Floats]:
    """Heavy examples, a sample of the others, and what each of the sample counts for.

    As `heavy_fold.choose`: light examples in the order of their scores, one whenever their chances sum to
    another whole number; ``before`` is the sum of those in other places.
    """
    place = score_bins(q)
    heavy_ones = np.flatnonzero(place >= threshold.bin)
    light = np.flatnonzero((place >= 0) & (place < threshold.bin))
    light = light[np.argsort(q[light], kind="stable")]
    chance = np.minimum(q[light] / threshold.tau, 1.0)
    start = (0.5 + GOLDEN) % 1.0 + before
    whole = np.floor(np.cumsum(np.append(start, chance)))
    taken = whole[1:] > whole[:-1]
    return heavy_ones, light[taken], 1.0 / chance[taken]


class PairSums:
    """Pairs of examples at α, added up: p^σ_jk = Σ d_ij [m_ij = σ][m_ik = σ] / W^σ_j."""

    def __init__(self, sums: Totals, most: int, n_threads: int = 1) -> None:
        J = sums.alpha.size
        self._sums, self._tail = sums, empty_tail(J, J)
        self._ranges = row_ranges(J, J, 2 * n_threads) if n_threads > 1 else [(0, J)]
        self._work = work = Workspace(J, most, most)
        work.newcomers.full[...] = 0.0
        solution = work.solution
        solution.alpha[...], solution.exp_alpha[...] = sums.alpha, moderate_exp(sums.alpha)
        solution.folded[...], solution.folded_unit[...] = sums.W, sums.W_unit

    def take(self, head: Head, n: int) -> None:
        """Add the pairs of a head's first n examples."""
        J, done = self._sums.alpha.size, 0
        while done < n:
            done += kernels.gather(head, done, n - done, self._work.solution, self._work.newcomers)
            join(self._tail, J, 0, self._work, self._ranges, rebase=False, last=False)

    @property
    def result(self) -> Floats:
        """(2, J + pairs): for each sign the sums Σ d_ij / W^σ_j themselves, then the pairs."""
        pairs = self._tail.p_plus[0], self._tail.p_minus[0]
        return np.stack([np.append(*both) for both in zip(self._work.newcomers.full, pairs, strict=True)])


# What is made of it -----------------------------------------------------------------------------------


def gathered_sketch(
    n_hypotheses: int,
    settings: Settings,
    chosen: KeptExamples,
    sums: Totals,
    light: Floats | None,
    n_seen: int,
) -> BoostingSketch:
    """A sketch of all examples, from those that were chosen and from the `PairSums` of the light ones.

    ``light`` is None if all examples were chosen.
    """
    J = n_hypotheses
    sketch = BoostingSketch.create(J, settings)
    state, n = empty_heavy(J), chosen.n
    order = np.argsort(~chosen.is_sample, kind="stable")  # the sample first
    codes = np.ascontiguousarray(chosen.codes[:, order])
    n_sample = int(chosen.is_sample.sum())
    head = head_of(codes, np.ones(n), chosen.weight[order], chosen.unit[order], J)
    counters = state.counters.copy()
    counters[N], counters[SEEN], counters[N_LIGHT] = n, n_seen, n_sample
    part = state.light
    if light is not None:
        counters[FOLDS] = 1
        capacity = sketch._plan.capacity
        assert capacity is not None
        part = _light(sums, light, head, n_sample, pairs=capacity.pairs)
    return sketch.with_state(HeavyState(part, head, counters, state.now))


def _light(sums: Totals, light: Floats, head: Head, n_sample: int, *, pairs: bool) -> Light:
    J = sums.alpha.size
    share, P = light[:, :J], light[:, J:]
    with np.errstate(divide="ignore"):
        log_L = np.log(share) + logs(sums.W, sums.W_unit)
    L = Totals.of(sums.alpha, log_L)
    A, A_unit = sums_at(head, n_sample, sums.alpha)
    delta = np.zeros((1, 2, 0), np.uint16)
    if pairs:
        of_sample = PairSums(Totals(sums.alpha, A, A_unit), n_sample)
        of_sample.take(head, n_sample)
        use = np.repeat((share > 0.0) & (A > 0.0), np.arange(J), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = P / np.repeat(share, np.arange(J), axis=1) - of_sample.result[:, J:]
        delta = empty_pairs(J)
        for sign in range(2):
            numbers = np.where(use[sign], np.clip(difference[sign], -1.0, 1.0), 0.0)
            halves(numbers, delta[0, sign, : n_pairs(J, J)])
    return Light(
        L=L.W[None],
        L_unit=L.W_unit[None].astype(np.int32),
        A=A[None],
        A_unit=A_unit[None].astype(np.int32),
        anchor=sums.alpha[None].copy(),
        delta=delta,
    )
