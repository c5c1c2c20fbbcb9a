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
MAX_DISTANCE = 32  # predictions since the last label came that are told apart
MAX_COUNTS = 20_000  # of what followed a label, by distance


class LabelPatterns(Member):
    """Running frequencies of the classes over about 50 and 5 labels, and P(class | the label before).

    A label counts as following the newest one that was known when its row was predicted: so with late labels
    it learns what can be known by then. Where several rows are predicted before their labels come, the last
    one also counts separately by the predictions since the last label.
    """

    group = "labels"

    def __init__(self, n_classes: int) -> None:
        self._memories = np.array(MEMORIES)
        self._rates = np.full((len(MEMORIES), n_classes), 1.0 / n_classes)
        self._follows = np.zeros((n_classes + 1, n_classes))
        distances = max(1, min(MAX_DISTANCE, MAX_COUNTS // ((n_classes + 1) * n_classes)))
        self._by_distance = np.zeros((distances, n_classes + 1, n_classes))
        self._stepped = np.zeros(1, np.int64)  # whether rows have been predicted several at a time
        self._first_context = n_classes

    @property
    def experts(self) -> tuple[str, ...]:
        """Two running frequencies, what follows which, and the same by distance."""
        return ("labels-50", "labels-5", "labels-after-last", "labels-by-distance")

    def scores(self, row: OneRow, out: Floats) -> None:
        """The log of the frequencies."""
        counts = (self._rates, self._follows, self._by_distance)
        pattern_scores(*counts, row.last, row.since, self._stepped[0] > 0, out)

    def learn(self, row: OneRow, code: int, weight: float) -> None:
        """Count the label."""
        if row.since > 0:
            self._stepped[0] = 1
        counts = (self._follows, self._by_distance)
        learn_pattern(self._rates, self._memories, *counts, FADING, row.last, row.since, code, weight)

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {
            "rates": self._rates,
            "follows": self._follows,
            "by_distance": self._by_distance,
            "stepped": self._stepped,
        }

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        super().resume(fields)
        for counts in (self._rates, self._follows, self._by_distance, self._stepped):
            fields.require(bool((counts >= 0).all()), "frequencies must not be negative")
        most = 1.0 / (1.0 - FADING) + 1.0
        fits = (self._rates <= 1.0 + 1e-9).all() and (self._stepped <= 1).all()
        fits = fits and max(self._follows.max(), self._by_distance.max()) <= most
        fields.require(bool(fits), "frequencies must be possible")
