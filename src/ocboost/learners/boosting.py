"""AdaBoost's step from one hypothesis to the next, and AdaBoost with sampling.

With sampling, a hypothesis is looked for in a sample drawn by the weights, and judged by all examples.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.learn_stumps import reweigh, weigh
from ocboost.hypotheses import Hypotheses
from ocboost.learners.base import CheckedExamples, Learner

MIN_EDGE = 1e-9  # a hypothesis this little better than chance, relative to the total weight, is useless
MAX_FAILED_SAMPLES = 10  # in a row that gave nothing better than chance, before learning stops


def worth_of_one(weights: NDArray[np.float64]) -> float:
    """ε_j of `ocboost.adaboost_weights` with ε = 1: what one example is worth, the total being one.

    Departs from it where the weights sum to less than their number, as weights that sum to one do: an
    example is then worth its share, or α would be almost zero and one hypothesis would come again and again.
    """
    return 1.0 / max(float(weights.sum()), float(np.count_nonzero(weights)))


def alpha_of(right: float, wrong: float, one: float) -> float:
    """α_j = ½ log((W⁺_j + ε_j) / (W⁻_j + ε_j))."""
    ε = one * (right + wrong)
    return 0.5 * math.log((right + ε) / (wrong + ε))


def step(right: float, wrong: float, one: float) -> tuple[float, float]:
    """What the weights of right and of wrong examples are multiplied by, so that all sum to one."""
    α = alpha_of(right, wrong, one)
    up, down = math.exp(-α), math.exp(α)
    total = right * up + wrong * down
    return up / total, down / total


Found = tuple[int, float]  # what a hypothesis is made of, and its threshold
Taken = set[Hashable]


def draw(
    d: NDArray[np.float64], n_sample: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows drawn by their weights with replacement: each row once, and how often it was drawn."""
    reach = np.cumsum(d)
    drawn = np.searchsorted(reach, rng.random(n_sample) * reach[-1], side="right")
    rows, times = np.unique(np.minimum(drawn, d.size - 1), return_counts=True)
    return rows, times.astype(np.float64)


class SampleSearch(Protocol):
    """Looks for the best hypothesis in samples of some examples."""

    def find(
        self, rows: NDArray[np.int64], times: NDArray[np.float64], rng: np.random.Generator, taken: Taken
    ) -> tuple[Found, Hashable] | None:
        """The hypothesis that errs least on a sample, with either sign, and its key, not taken yet."""

    def answers(self, found: Found) -> NDArray[np.int8]:
        """What a hypothesis says to all examples, (n,) of ±1; the caller may change it."""

    def hypotheses(self, found: Sequence[Found], signs: Sequence[int]) -> Hypotheses:
        """All that were found, with their signs."""


class SamplingLearner(Learner, ABC):
    """AdaBoost with sampling. A subclass says how to search a sample."""

    n_sample: int

    @abstractmethod
    def _search(self, X: NDArray[Any], y: NDArray[np.int8]) -> SampleSearch: ...

    def _learn(self, examples: CheckedExamples, n_hypotheses: int, rng: np.random.Generator) -> Hypotheses:
        X, y, weights = examples
        search = self._search(X, y)
        n, one = y.size, worth_of_one(weights)
        d, unused = weights / weights.sum(), (np.empty(n, np.uint32), np.empty(n))
        members: list[tuple[Found, int]] = []
        taken: Taken = set()
        failed = 0
        while len(members) < n_hypotheses and failed < MAX_FAILED_SAMPLES:
            best = search.find(*draw(d, self.n_sample, rng), rng, taken)
            if best is None:
                failed += 1
                continue
            found, key = best
            answers = search.answers(found)
            right, wrong, _ = weigh(answers, y, d)
            turned = right < wrong
            if turned:
                np.negative(answers, out=answers)
                right, wrong = wrong, right
            better = right - wrong > MIN_EDGE * (right + wrong)
            failed = 0 if better else failed + 1
            if not better and (members or failed < MAX_FAILED_SAMPLES):
                continue
            members.append((found, -1 if turned else 1))
            taken.add(key)
            if not better:
                break
            reweigh(answers, y, d, *step(right, wrong, one), False, *unused)
        return search.hypotheses(*zip(*members, strict=True))
