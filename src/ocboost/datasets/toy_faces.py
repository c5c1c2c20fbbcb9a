"""Drawn faces for where there are no photographs: enough to try an experiment, not to report one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .images import Pixels

Floats = NDArray[np.float64]

SIDE = 24


def draw_toys(n: int, *, seed: int) -> tuple[Pixels, Pixels]:
    """Draw n faces, and n windows that are noise, slopes and ovals without eyes in turn.

    >>> faces, others = draw_toys(3, seed=0)
    >>> faces.shape, others.shape
    ((3, 24, 24), (3, 24, 24))
    """
    rng = np.random.default_rng(seed)
    faces = _slopes(n, rng) + _ovals(n, rng, features=True)
    others = _slopes(n, rng)
    others[0::3] += rng.normal(0, 45, others[0::3].shape)
    others[2::3] += _ovals(len(others[2::3]), rng, features=False)
    return _as_pixels(faces, rng), _as_pixels(others, rng)


def _slopes(n: int, rng: np.random.Generator) -> Floats:
    """Backgrounds that are brighter to one side."""
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    level, down, right = rng.uniform(60, 160, (n, 1, 1)), *rng.uniform(-40, 40, (2, n, 1, 1))
    return np.asarray(level + down * y + right * x)


def _ovals(n: int, rng: np.random.Generator, *, features: bool) -> Floats:
    """Bright ovals, a little off the middle; with features, two dark eyes and a dark mouth in them."""
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    y, x = y + rng.uniform(-0.1, 0.1, (n, 1, 1)), x + rng.uniform(-0.1, 0.1, (n, 1, 1))
    shade = rng.uniform(30, 80, (n, 1, 1)) * ((x / 0.75) ** 2 + (y / 0.95) ** 2 < 1)
    if features:
        eyes = ((np.abs(x) - 0.33) / 0.18) ** 2 + ((y + 0.22) / 0.11) ** 2 < 1
        mouth = (x / 0.35) ** 2 + ((y - 0.5) / 0.1) ** 2 < 1
        shade = shade - rng.uniform(40, 90, (n, 1, 1)) * eyes - rng.uniform(20, 60, (n, 1, 1)) * mouth
    return np.asarray(shade)


def _as_pixels(drawn: Floats, rng: np.random.Generator) -> Pixels:
    return np.clip(np.rint(drawn + rng.normal(0, 10, drawn.shape)), 0, 255).astype(np.uint8)
