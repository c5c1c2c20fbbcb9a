"""The transition from a deployed model's weights to the sketch's own."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost.hypotheses.adaboost import MAX_WEIGHT


class DeployedWeights:
    """The weights a model was deployed with, fading as the examples that it was started from do.

    A sketch started from a model's training data solves for weights of its own, close to the deployed ones
    but not the same (smoothing, a learning rate). The difference is added to the sketch's weights in
    proportion to the share that those first examples still have in all that the sketch remembers: 1 before
    any new example, n₀ / (n₀ + n) after n of them, and 0 once a window has passed them.

    A window that begins empty, since the examples before it were not the last ones, has no weights of its own
    at first. There the sketch's weights replace the earlier ones in proportion to how much of the window is
    filled: the weights of a few examples alone would be far too large.

    ``deployed`` is the deployed α of each booster, ``started`` the α of the boosters when they had been
    started (None if they begin empty), ``weight`` the Σw of the first examples, and ``total`` what
    scikit-learn divides the deployed votes by, as it rounds it (None if they were not scikit-learn's).
    """

    def __init__(
        self,
        deployed: list[NDArray[np.float64]],
        started: list[NDArray[np.float64]] | None,
        weight: float,
        total: float | None,
    ) -> None:
        self.deployed = deployed
        self.started = started
        self.total = total
        self._old = weight  # of the first examples: their weight, or in a window their number
        self._new = 0.0  # of all others
        self._n = 0  # examples since
        self._size: int | None = None  # of the window, if it is one

    @property
    def untouched(self) -> bool:
        """Whether no example has come since."""
        return self._n == 0

    @property
    def share(self) -> float:
        """The share of the first examples in what is remembered."""
        return self._old / (self._old + self._new) if self._old > 0.0 else 0.0

    def count_examples(self, weights: NDArray[np.float64], forgetting: float) -> None:
        """More examples have been learnt, of these weights."""
        n = weights.size
        self._n += n
        if self._size is not None:
            self._slide(self._size, self._old, self._new + n)
            return
        factor = float(forgetting)
        for weight in weights.tolist():  # one by one: the sum does not depend on how the stream is cut
            self._old *= factor
            self._new = self._new * factor + weight

    def count_merged(self, n: int, weight: float) -> None:
        """So many examples more, of this Σw, have been learnt beside those before and merged with them."""
        assert self._size is None  # windows are not merged
        self._n += n
        self._new += weight

    def enter_window(self, size: int, held: int) -> None:
        """From now on the sketch is a window of that size, which holds so many examples."""
        if self.started is None:  # the empty part of the window stands for the earlier examples
            held = size if self._old > 0.0 else 0
        new = min(self._n, held)
        self._size = size
        self._slide(size, held - new, new)

    def leave_window(self) -> None:
        """From now on nothing is dropped; each example that the window held counts with weight 1."""
        self._size = None

    def _slide(self, size: int, old: float, new: float) -> None:
        self._new = float(min(new, size))
        self._old = float(max(0.0, min(old, size - self._new)))

    def alpha(self, own: NDArray[np.float64], booster: int) -> NDArray[np.float64]:
        """The weights to vote with, from those of the sketch itself."""
        if self.untouched:
            return self.deployed[booster]
        before = own if self.started is None else self.started[booster]
        return own + self.share * (self.deployed[booster] - before)

    def replace_hypotheses(self, booster: int, keep: NDArray[np.intp], n_new: int) -> None:
        """Keep some of a booster's hypotheses, and append new ones that were never deployed."""
        self.deployed = _replaced(self.deployed, booster, keep, n_new)
        if self.started is not None:
            self.started = _replaced(self.started, booster, keep, n_new)

    def tree(self) -> Tree:
        """What a file holds."""
        numbers = {"old": self._old, "new": self._new, "n": self._n, "size": self._size}
        return {**numbers, "total": self.total, "deployed": self.deployed, "started": self.started}

    @classmethod
    def from_tree(cls, fields: Fields, sizes: list[int]) -> Self:
        """From what `tree` gave, for boosters of these numbers of hypotheses."""
        old, new = (fields.number(key, 0.0, np.inf) for key in ("old", "new"))
        total = None if fields.takes("total", None) else fields.number("total", 0.0, np.inf)
        fields.require(total is None or total > 0.0, "total must be above 0")
        deployed = _weights(fields, "deployed", sizes)
        started = None if fields.takes("started", None) else _weights(fields, "started", sizes)
        fields.require((started is None) == (total is None), "started and total belong together")
        weights = cls(deployed, started, old, total)
        weights._new, weights._n = new, fields.count("n")
        weights._size = None if fields.takes("size", None) else fields.count("size")
        return weights


def _weights(fields: Fields, key: str, sizes: list[int]) -> list[NDArray[np.float64]]:
    """Finite weights for each booster."""
    found = fields.items(key, len(sizes))
    for weights, J in zip(found, sizes, strict=True):
        fits = isinstance(weights, np.ndarray) and weights.dtype == np.float64 and weights.shape == (J,)
        fields.require(fits and (np.abs(weights) < MAX_WEIGHT).all(), f"{key} must be {J} finite weights")
    return found


def _replaced(
    weights: list[NDArray[np.float64]], booster: int, keep: NDArray[np.intp], n_new: int
) -> list[NDArray[np.float64]]:
    """Of one booster those of ``keep`` and zeros; another list, as copies may share this one."""
    result = list(weights)
    result[booster] = np.append(weights[booster][keep], np.zeros(n_new))
    return result
