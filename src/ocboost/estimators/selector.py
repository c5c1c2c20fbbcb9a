"""One position of Oza and Russell's booster: base learners side by side, the best of which votes."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.estimators.base_learners import BaseLearner
from ocboost.streams.rows import Rows

MIN_SUM = sys.float_info.min  # in place of a sum of zero, where nothing smooths it
MAX_ADDED = 1e200  # by smoothing: by then nothing else matters
MAX_POISSON_MEAN = 1000.0  # a larger λ counts for this much in a draw


class Selector:
    """Base learners that all learn every example, and the one that has been right most often so far.

    With one base learner it is a member of Oza and Russell's ensemble. With several it is a selector of
    Grabner and Bischof, "On-line Boosting and Vision" (CVPR 2006): each of them has sums of its own, and that
    with the least error stands for all, in the vote and in the reweighting.
    """

    def __init__(self, candidates: list[BaseLearner]) -> None:
        self.candidates = candidates
        # λ_sc and λ_sw of each candidate: the weight of the examples that it answered rightly and wrongly.
        self.right = [0.0] * len(candidates)
        self.wrong = [0.0] * len(candidates)
        self.chosen = 0  # which of the candidates votes

    def decay(self, factor: float) -> None:
        """Multiply the weight of everything seen so far."""
        self.right = [factor * value for value in self.right]
        self.wrong = [factor * value for value in self.wrong]

    def take(
        self,
        example: Rows,
        code: int,
        weight: float,
        rng: np.random.Generator | None,
        smoothing: float,
        total: float,
    ) -> float:
        """Learn one example of weight λ > 0, judge the answers to it, and give the λ of the next position.

        ``rng`` draws how often to learn it; with None it is learnt once, with its weight. ``total`` is the
        sum of the sample weights so far, including this example.
        """
        times = -1 if rng is None else int(rng.poisson(min(weight, MAX_POISSON_MEAN)))
        least = math.inf
        was_right = False
        for i, learner in enumerate(self.candidates):
            if rng is None:
                learner.learn(example, code, weight)
            elif times > 0:
                learner.repeat(example, code, times)
            is_right = learner.answer(example) == code
            if is_right:
                self.right[i] += weight
            else:
                self.wrong[i] += weight
            if self.wrong[i] < least:  # all have seen the same weight, so this is the order of their errors
                least, self.chosen, was_right = self.wrong[i], i, is_right
        right, wrong = self.smoothed(smoothing, total)
        # λ is part of the sum it is divided by: in this order nothing exceeds a double's range.
        return weight / (2.0 * (right if was_right else wrong)) * (right + wrong)

    def smoothed(self, smoothing: float, total: float) -> tuple[float, float]:
        """λ_sc and λ_sw of the chosen one, each with ε (λ_sc + λ_sw) / Σw added to it."""
        right, wrong = self.right[self.chosen], self.wrong[self.chosen]
        extra = min(smoothing * ((right + wrong) / total), MAX_ADDED) if total > 0.0 else 0.0
        return right + extra, wrong + extra

    def error(self, smoothing: float, total: float) -> float:
        """ε_m of the chosen one; ½ where nothing has been seen."""
        right, wrong = self.smoothed(smoothing, total)
        return wrong / (right + wrong) if right + wrong > 0.0 else 0.5

    def alpha(self, smoothing: float, total: float) -> float:
        """½ log((1 - ε_m) / ε_m)."""
        right, wrong = self.smoothed(smoothing, total)
        if right == 0.0 and wrong == 0.0:
            return 0.0
        return 0.5 * (math.log(max(right, MIN_SUM)) - math.log(max(wrong, MIN_SUM)))

    def answers(self, X: NDArray[np.float64], names: list[object]) -> NDArray[np.int64]:
        """What the chosen one answers."""
        return self.candidates[self.chosen].answers(X, names)

    def probabilities(
        self, X: NDArray[np.float64], names: list[object], n_classes: int
    ) -> NDArray[np.float64]:
        """The probabilities of the chosen one, (n, K): rows that add up to one, or of zeros.

        They are normalised, as in MOA. Zeros stand for a member that has not learnt anything yet, or that
        gave numbers that are not probabilities, such as NaN.
        """
        learner = self.candidates[self.chosen]
        given = learner.probabilities(X, names)
        if given.shape != (len(X), n_classes):
            raise InputError(
                f"estimator must give a probability of each of the {n_classes} classes in each row, "
                f"{(len(X), n_classes)}; {type(learner.model).__name__} gave {given.shape}. "
                'votes="answers" does without.'
            )
        usable = (np.isfinite(given) & (given >= 0.0)).all(axis=1, keepdims=True)
        given = np.where(usable, given, 0.0)
        total = given.sum(axis=1, keepdims=True)
        result: NDArray[np.float64] = np.divide(given, total, out=given, where=total > 0.0)
        return result
