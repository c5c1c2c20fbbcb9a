"""Small pictures with drawn faces, and builds of small stages from them: a fraction of a second each."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ocboost.cascade import Cascade, Picture, PictureAdapter, build_stages
from ocboost.datasets.faces import draw_toys
from tests.support.toy_cascade import boosted

QUICK = {
    "SIZES": (4, 8, 12),
    "LAST_STUMPS": 24,
    "RANDOM_A_PICTURE": 80,
    "JITTERED_OF_FEW": 5,
    "SURVIVORS": 300,
    "ENOUGH_SURVIVORS": 150,
    "MAX_FROM_A_PICTURE": 20,
    "LAST_SURVIVORS": 600,
    "LAST_FIRST": 150,
    "LAST_MORE": 100,
}
PLACES = ((3, 2), (62, 4), (5, 56), (60, 54))


@contextmanager
def quick_builds() -> Iterator[None]:
    """Few stumps and few windows in every build."""
    before = {name: getattr(build_stages, name) for name in QUICK}
    for name, value in QUICK.items():
        setattr(build_stages, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(build_stages, name, value)


def build_quickly(adapter: PictureAdapter) -> None:
    """Build small stages."""
    with quick_builds():
        adapter.build()


@functools.cache
def small_picture(seed: int, n_faces: int = 2) -> Picture:
    """A picture of 114 × 108 pixels with faces of 36 or 48; what holds no face holds an empty oval."""
    rng = np.random.default_rng([seed, 9])
    faces, others = draw_toys(6, seed=2000 + seed)
    grey = rng.normal(115, 20, (108, 114))
    boxes = []
    for k, place in enumerate(rng.permutation(4).tolist()):
        x, y = (int(at + rng.integers(0, 5)) for at in PLACES[place])
        window = faces[k] if k < n_faces else others[2]
        window = np.kron(window, np.ones((2, 2)))
        if rng.random() < 0.5:  # three quarters as large
            window = np.kron(window, np.ones((3, 3))).reshape(36, 4, 36, 4).mean(axis=(1, 3))
        side = len(window)
        grey[y : y + side, x : x + side] = window
        if k < n_faces:
            boxes.append((x, y, side, side))
    grey = np.rint(grey + rng.normal(0, 8, grey.shape)).clip(0, 255).astype(np.uint8)
    return Picture(f"{seed}.png", grey, np.array(boxes, np.int64).reshape(-1, 4))


def small_pictures(seeds: range) -> list[Picture]:
    """Pictures of these seeds, every third without a face."""
    return [small_picture(seed, 0 if seed % 3 == 2 else 2) for seed in seeds]


@functools.cache
def small_cascade() -> Cascade:
    """A cascade of three stages that rejects most of such pictures, and finds some of their faces."""
    rng = np.random.default_rng(0)
    faces = np.rint(draw_toys(200, seed=1)[0] + rng.normal(0, 40, (200, 24, 24))).clip(0, 255)
    cuts = []
    for seed in range(500, 520):
        grey = small_picture(seed, 0).grey
        grey = np.ascontiguousarray(grey[::2, ::2])
        windows = np.lib.stride_tricks.sliding_window_view(grey, (24, 24)).reshape(-1, 24, 24)
        cuts.append(windows[rng.permutation(len(windows))[:30]])
    return boosted((6, 12, 18), faces.astype(np.uint8), np.concatenate(cuts))
