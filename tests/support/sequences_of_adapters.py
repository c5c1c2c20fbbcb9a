"""Adapters of cascades, and windows they learn, drawn at random for `sequences`."""

from __future__ import annotations

import contextlib
import functools

import numpy as np

import ocboost
from ocboost.cascade import CascadeAdapter
from tests.support.sequence_draws import Step, seeded
from tests.support.toy_cascade import noisy, toy_cascade


class OfAdapters:
    """An adapter of a small cascade: windows in batches and one by one, weights, and turned labels."""

    load = staticmethod(CascadeAdapter.load)

    def __init__(self, kind, **settings):
        self.kind, self.settings = kind, settings

    def start(self, draw):
        common = {
            "face_weight": (1.0, 3.0, 1e-6),
            "smoothing": (100.0, 0.0, 1e15),
            "forgetting": (1.0, 0.99, 1e-3),
            "batch_size": (1, 7, 500),
        }
        drawn = {name: draw.one(options) for name, options in {**common, **self.settings}.items()}
        return self.kind(toy_cascade(), **drawn)

    @staticmethod
    def step(draw, model):
        windows, labels = some_windows()
        n, at = draw.one((1, 2, 9, 45, 120)), draw.whole(0, len(labels) - 121)
        X, y = windows[at : at + n], labels[at : at + n]
        y = draw.one((y, y, y, y, np.abs(y), -y))
        weights = draw.one((None, seeded(draw).choice([0.0, 1e-6, 1.0, 1e6], n)))

        def act(model):
            with contextlib.suppress(ocboost.InputError):  # labels that are turned round
                model.update(X, y, weights)
            with contextlib.suppress(ocboost.InputError):  # too few windows so far
                model.adapted()

        return Step(f"update({n} from {at}, {y[:3]}, {'no ' * (weights is None)}weights)", act)


@functools.cache
def some_windows():
    """Windows and their labels, mixed."""
    order = np.random.default_rng(0).permutation(800)
    return np.concatenate(noisy(5, 400))[order], np.repeat([1, -1], 400)[order]
