"""What every shard must know of all rows before the fit begins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ocboost._kernels.arrays import Floats, Ints
from ocboost._shards.features import BinnedFeatures
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.settings import Capacity, plan_head


@dataclass(frozen=True)
class FitPlan:
    """What is to be fitted, and what the facts of all rows say.

    Parameters
    ----------
    counts, weights : arrays of shape (K,)
        The rows of each class, and their weight.
    features : BinnedFeatures or None
        None where the hypotheses are given, and their answers lie with the rows.
    n_hypotheses : int
        The most for each booster, or how many are given.
    settings : dict
        Those of the sketches.
    balanced : bool
        Whether all classes get the same total weight.
    gini : bool
        Whether stumps are chosen by Gini impurity.
    """

    counts: Ints
    weights: Floats
    features: BinnedFeatures | None
    n_hypotheses: int
    settings: Settings
    balanced: bool = False
    gini: bool = False

    @property
    def n_rows(self) -> int:
        """Rows there are."""
        return int(self.counts.sum())

    @property
    def n_boosters(self) -> int:
        """One for two classes, otherwise one for each."""
        return 1 if self.counts.size == 2 else self.counts.size

    def target(self, booster: int) -> int:
        """The class whose rows are positive for a booster."""
        return 1 if self.n_boosters == 1 else booster

    @cached_property
    def factors(self) -> Floats:
        """(K,): what the weights of each class are multiplied by to balance them, as in `OCBClassifier`."""
        if not self.balanced:
            return np.ones(self.counts.size)
        shown = self.weights > 0.0
        share = self.weights.sum() / (np.count_nonzero(shown) * np.where(shown, self.weights, 1.0))
        return np.where(shown, share, 1.0)

    @cached_property
    def _total(self) -> float:
        return float(self.weights @ self.factors)

    @property
    def one(self) -> float:
        """What one row is worth while stumps are found (`ocboost.learners.boosting.worth_of_one`)."""
        return 1.0 / max(self._total, float(self.n_rows))

    @property
    def scale(self) -> float:
        """What brings weights with a mean below 1 to a mean of 1 (`ocboost._core.labels.scale_of`)."""
        return self.n_rows / self._total if self._total < self.n_rows else 1.0

    @property
    def total(self) -> float:
        """The weight of all rows, balanced and scaled."""
        return self._total * self.scale

    def majority(self, booster: int) -> int:
        """±1: whether the target of a booster has at least half of the weight."""
        balanced = self.weights * self.factors
        own = float(balanced[self.target(booster)])
        return 1 if 2.0 * own >= float(balanced.sum()) else -1

    def sizes(self, n_hypotheses: int) -> Capacity:
        """How many examples a sketch of so many hypotheses keeps."""
        wanted: Any = ("keep", "memory", "head", "order", "tail", "correction")
        capacity = plan_head(n_hypotheses, **{name: self.settings[name] for name in wanted}).capacity
        assert capacity is not None  # heavy examples: no other settings are taken
        return capacity
