"""Adapters of cascades, and windows they learn, drawn at random for `sequences`."""

from __future__ import annotations

import contextlib
import functools

import numpy as np

import ocboost
from ocboost.cascade import CascadeAdapter, PictureAdapter
from tests.support.quick_builds import build_quickly, small_cascade, small_picture, small_pictures
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


class OfPictureAdapters:
    """`PictureAdapter`: pictures with faces and without, shown, held out or kept for later, and builds."""

    load = staticmethod(CascadeAdapter.load)

    @staticmethod
    def start(draw):
        model = PictureAdapter(
            small_cascade(),
            pass_rate=draw.one((0.998, 0.9)),
            smoothing=draw.one((100.0, 0.0, 1e15)),
            time=draw.one((None, 1.0)),
            seed=draw.one((0, 2**70)),
        )
        for picture in small_pictures(range(draw.one((0, 11, 11)))):
            model.add(picture)
        if model.n_pictures and draw.whole(0, 1):
            build_quickly(model)
        return model

    @staticmethod
    def step(draw, model):
        what = draw.one(("add", "add", "add", "later", "hold_out", "build", "read"))
        picture = small_picture(draw.whole(0, 40), draw.one((0, 1, 2)))
        shown = {
            "add": lambda model: model.add(picture),
            "later": lambda model: model.add(picture, learn=False),
            "hold_out": lambda model: model.hold_out(picture),
            "build": build_quickly,
            "read": lambda model: model.adapted(),
        }[what]

        def act(model):
            with contextlib.suppress(ocboost.InputError):  # held out before, too few faces, not built
                shown(model)

        return Step(f"{what}({picture.name})", act)


@functools.cache
def some_windows():
    """Windows and their labels, mixed."""
    order = np.random.default_rng(0).permutation(800)
    return np.concatenate(noisy(5, 400))[order], np.repeat([1, -1], 400)[order]
