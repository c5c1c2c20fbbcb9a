"""AdaBoost's step from one hypothesis to the next: its weight α, and the examples' new weights.

AdaBoost with sampling: a hypothesis is sought in a sample drawn by the weights, and judged by all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.learn_stumps import reweigh, weigh

CHANCE = 1e-9  # a hypothesis this little better than chance, relative to the total weight, is none


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


TRIES = 10  # samples drawn in a row that gave nothing better than chance, before learning stops

Taken = set[Hashable]
Find = Callable[[NDArray[np.float64], Taken], tuple[Any, Hashable] | None]


def draw(
    d: NDArray[np.float64], n_sample: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows drawn by their weights with replacement, each once, and how often it came."""
    reach = np.cumsum(d)
    drawn = np.searchsorted(reach, rng.random(n_sample) * reach[-1], side="right")
    rows, times = np.unique(np.minimum(drawn, d.size - 1), return_counts=True)
    return rows, times.astype(np.float64)


def boost(
    y: NDArray[np.int8],
    weights: NDArray[np.float64],
    n_hypotheses: int,
    find: Find,
    answer: Callable[[Any], NDArray[np.int8]],
) -> list[tuple[Any, int]]:
    """At most so many hypotheses, and at least one, each with its sign.

    Parameters
    ----------
    y : array of shape (n,) of ±1
    weights : array of shape (n,)
        Of the examples, to begin with.
    n_hypotheses : int
    find : callable
        Gets the weights of the moment and what is taken already, draws a sample, and gives the hypothesis
        that does best on it with what it is known as; None if it finds nothing that is not taken.
    answer : callable
        What a hypothesis says to all examples, (n,) of ±1; it may be changed afterwards.

    Returns
    -------
    list of (hypothesis, sign)
        One that turned out worse than chance on all examples has the sign -1. It ends early when ten samples
        in a row gave nothing new that is better than chance.
    """
    n, one = y.size, worth_of_one(weights)
    d, nowhere = weights / weights.sum(), (np.empty(n, np.uint32), np.empty(n))
    members: list[tuple[Any, int]] = []
    taken: Taken = set()
    tries = 0
    while len(members) < n_hypotheses and tries < TRIES:
        found = find(d, taken)
        if found is None:
            tries += 1
            continue
        hypothesis, known_as = found
        answers = answer(hypothesis)
        right, wrong, _ = weigh(answers, y, d)
        turned = right < wrong
        if turned:
            np.negative(answers, out=answers)
            right, wrong = wrong, right
        better = right - wrong > CHANCE * (right + wrong)
        tries = 0 if better else tries + 1
        if not better and (members or tries < TRIES):
            continue
        members.append((hypothesis, -1 if turned else 1))
        taken.add(known_as)
        if not better:
            break
        reweigh(answers, y, d, *step(right, wrong, one), False, *nowhere)
    return members
