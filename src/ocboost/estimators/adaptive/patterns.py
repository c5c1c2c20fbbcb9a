"""Label patterns: how frequent each class has been lately, and which class follows which."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields
from ocboost._kernels.arrays import Floats
from ocboost._kernels.label_patterns import learn_pattern, pattern_scores
from ocboost.estimators.adaptive.members import Member, OneRow

MEMORIES = (0.98, 0.8)  # of the running frequencies
FADING = 0.995  # of the counts of what followed a label


class LabelPatterns(Member):
    """Running frequencies of the classes over about 50 and 5 labels, and P(class | the label before).

    A label counts as following the newest one that was known when its row was predicted: so with late labels
    it learns what can be known by then.
    """

    group = "labels"

    def __init__(self, n_classes: int) -> None:
        self._memories = np.array(MEMORIES)
        self._rates = np.full((len(MEMORIES), n_classes), 1.0 / n_classes)
        self._follows = np.zeros((n_classes + 1, n_classes))
        self._first_context = n_classes

    @property
    def experts(self) -> tuple[str, ...]:
        """Two running frequencies, and what follows which."""
        return ("labels-50", "labels-5", "labels-after-last")

    def scores(self, row: OneRow, out: Floats) -> None:
        """The log of the frequencies."""
        pattern_scores(self._rates, self._follows, row.last, out)

    def learn(self, row: OneRow, code: int, weight: float) -> None:
        """Count the label."""
        learn_pattern(self._rates, self._memories, self._follows, FADING, row.last, code, weight)

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {"rates": self._rates, "follows": self._follows}

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        super().resume(fields)
        fits = (self._rates >= 0.0).all() and (self._follows >= 0.0).all()
        fields.require(fits, "frequencies must not be negative")
        fits = (self._rates <= 1.0 + 1e-9).all() and (self._follows <= 1.0 / (1.0 - FADING) + 1.0).all()
        fields.require(fits, "frequencies must be possible")
