"""What `sequences` draws: numbers, margins, weights, and steps that are the same for every model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMOOTHING = (1.0, 0.0, 1e-300, 1e300)
FORGETTING = (1.0, 0.9, 1e-5, 1e-300)
WEIGHTS = ((1.0,), (0.0, 1.0), (1e300, 1e-300, 1.0, 0.0), (0.5, 2.0), (1e300,), (1e-300,), (0.0,))
FACTORS = (1.0, 0.5, 1e-10, 1e-300, 5e-324)


class NumpyDraw:
    """Draws by numpy."""

    def __init__(self, rng):
        self._rng = rng

    def whole(self, low, high):
        return int(self._rng.integers(low, high + 1))

    def one(self, options):
        return options[self.whole(0, len(options) - 1)]


def seeded(draw):
    return np.random.default_rng(draw.whole(0, 1 << 20))


def some_margins(draw, n, J):
    """Margins of one of several temperaments: by chance, all right, all wrong, all alike."""
    rng, how = seeded(draw), draw.one(("chance", "chance", "alike", "right", "wrong"))
    if how == "alike":
        return np.repeat(rng.choice([-1, 1], (n, 1)), J, axis=1)
    chance = {"chance": rng.uniform(0.05, 0.95, J), "right": np.ones(J), "wrong": np.zeros(J)}[how]
    return np.where(rng.random((n, J)) < chance, 1, -1)


def some_weights(draw, n, heaviest=np.inf):
    weights = seeded(draw).choice(draw.one(WEIGHTS), n)
    return np.minimum(weights, heaviest)


def some_size(draw):
    return draw.one((1, 1, 2, 3, 7, 20, 70, 150))


@dataclass
class Step:
    """Something to be done, with all that it needs: the same for every model it is done to."""

    name: str
    act: object  # a function of a model that gives the model to continue with

    def __call__(self, model):
        result = self.act(model)
        return model if result is None else result
