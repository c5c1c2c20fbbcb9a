"""Adapters of cascades as subjects of `thread_stress`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ocboost
from ocboost.cascade import PictureAdapter, StageAdapter, WholeAdapter
from tests.support.quick_builds import build_quickly, small_cascade, small_picture, small_pictures
from tests.support.thread_stress import Subject, saved
from tests.support.toy_cascade import noisy, toy_cascade


def cascades() -> Iterator[Subject]:
    """Adapters of cascades."""
    faces, others = noisy(3, 200)
    order = np.random.default_rng(0).permutation(400)
    windows = np.concatenate([faces, others])[order]
    labels = np.repeat([1, -1], 200)[order]
    parts = [slice(i, i + 20) for i in range(0, 400, 20)]
    steps = [(lambda a, p=p: a.update(windows[p], labels[p])) for p in parts]

    def leaves(adapter: Any) -> Any:
        try:
            adapted = adapter.adapted()
        except ocboost.InputError as error:  # too few windows so far
            return str(error)
        return [adapted.leaf_pairs, adapted.stage_threshold]

    def scores(view: Any) -> Any:
        stand_in = WholeAdapter(toy_cascade())
        stand_in._guard._present = view
        return stand_in.score(windows[:5])

    yield Subject(
        "WholeAdapter",
        lambda: WholeAdapter(toy_cascade(), smoothing=100.0, batch_size=10, calibrate_on=60, head=20),
        steps,
        {
            "score": lambda a: a.score(windows[:5]),
            "alpha": lambda a: a.alpha,
            "n_held_out": lambda a: a.n_held_out,
            "adapted": leaves,
            "save": saved,
            "copy": lambda a: copy.copy(a).score(windows[:5]),
            "pickle": lambda a: pickle.loads(pickle.dumps(a)).score(windows[:5]),
        },
        saved,
        lambda view: {"alpha": view.alpha, "score": scores(view)} if hasattr(view, "scale") else {},
    )
    yield Subject(
        "StageAdapter",
        lambda: StageAdapter(toy_cascade(), smoothing=100.0, batch_size=10, least_others=40),
        steps,
        {
            "n_adapted": lambda a: a.n_adapted,
            "n_held_out": lambda a: a.n_held_out,
            "adapted": leaves,
            "save": saved,
        },
        saved,
    )
    yield from adapters_of_pictures(leaves)


def adapters_of_pictures(leaves: Callable[[Any], Any]) -> Iterator[Subject]:
    """One that is built while others read, and then learns on line."""

    def start() -> PictureAdapter:
        adapter = PictureAdapter(small_cascade(), smoothing=100.0)
        for picture in small_pictures(range(11)):
            adapter.add(picture)
        return adapter

    def shows(seed: int) -> Callable[[Any], Any]:
        return lambda adapter: adapter.add(small_picture(seed))

    yield Subject(
        "PictureAdapter",
        start,
        [
            shows(11),
            shows(12),
            build_quickly,
            *(shows(seed) for seed in range(13, 16)),
            lambda adapter: adapter.hold_out(small_picture(77)),
        ],
        {
            "counts": lambda a: list(a.facts().items()),
            "is_built": lambda a: a.is_built,
            "adapted": leaves,
            "save": saved,
            "deepcopy": lambda a: saved(copy.deepcopy(a)),
        },
        saved,
    )
