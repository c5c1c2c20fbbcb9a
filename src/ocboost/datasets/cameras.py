"""Simulated cameras: what one fixed camera does to all windows that a detector behind it will ever see.

A detector is trained on pictures from everywhere. Behind one camera all windows share its light, its optics
and its noise. Each camera here changes windows of grey values in one such way. Randomness comes from the
generator given, so that a seed gives the same windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ocboost.datasets.images import Pixels
from ocboost.errors import InputError

Floats = NDArray[np.float32]
WINDOWS_AT_ONCE = 8192
ROLL = 14.0  # degrees


@dataclass(frozen=True)
class Camera:
    """One camera.

    Parameters
    ----------
    name : str
    about : str
        What it does, in words.
    change : callable
        From grey values as float32 of shape (n, height, width) and a generator to grey values of that shape.
    angle : float, default 0
        By how many degrees it turns a picture, counter-clockwise.
    """

    name: str
    about: str
    change: Callable[[Floats, np.random.Generator], Floats]
    angle: float = 0.0

    def __call__(self, windows: Pixels, rng: np.random.Generator) -> Pixels:
        """The windows as this camera sees them.

        Parameters
        ----------
        windows : ndarray of uint8, shape (n, height, width)
        rng : numpy.random.Generator
            For what differs from window to window.
        """
        if windows.dtype != np.uint8 or windows.ndim != 3:
            raise InputError(
                f"windows must be uint8 of shape (n, height, width); got {windows.dtype} of shape "
                f"{windows.shape}. Convert grey values with astype(np.uint8)."
            )
        seen = np.empty_like(windows)
        for start in range(0, len(windows), WINDOWS_AT_ONCE):
            block = slice(start, start + WINDOWS_AT_ONCE)
            changed = self.change(windows[block].astype(np.float32), rng)
            seen[block] = np.rint(changed).clip(0, 255).astype(np.uint8)
        return seen


def _noise(x: Floats, rng: np.random.Generator, size: float) -> Floats:
    return x + np.float32(size) * rng.standard_normal(x.shape, dtype=np.float32)


def _blur(x: Floats, rng: np.random.Generator) -> Floats:
    from scipy.ndimage import gaussian_filter

    blurred: Floats = gaussian_filter(x, (0.0, 1.4, 1.4), mode="nearest")
    return _noise(blurred, rng, 2.0)


def _dark(x: Floats, rng: np.random.Generator) -> Floats:
    return _noise(140.0 * (x / 255.0) ** np.float32(1.5) + 6.0, rng, 6.0)


def _backlight(x: Floats, rng: np.random.Generator) -> Floats:
    """A bright window behind: what is near the middle lies in shadow, one side is flooded with light."""
    n, height, width = x.shape
    across = np.linspace(-1.0, 1.0, width, dtype=np.float32)
    down = np.linspace(-1.0, 1.0, height, dtype=np.float32)
    shadow = 0.25 + 0.25 * np.maximum(np.abs(across)[None, :], np.abs(down)[:, None]) ** 2
    flood = 150.0 / (1.0 + np.exp(-8.0 * (across - 0.45)))
    strength = rng.uniform(0.6, 1.0, (n, 1, 1)).astype(np.float32)
    seen = np.asarray(shadow * x + strength * flood[None, None, :], np.float32)
    return _noise(seen, rng, 3.0)


def _grainy(x: Floats, rng: np.random.Generator) -> Floats:
    return _noise(x, rng, 28.0)


def _fog(x: Floats, rng: np.random.Generator) -> Floats:
    from scipy.ndimage import gaussian_filter

    veil = 150.0 + 40.0 * rng.random((len(x), 1, 1), dtype=np.float32)
    soft: Floats = gaussian_filter(x, (0.0, 0.7, 0.7), mode="nearest")
    return _noise(0.55 * soft + 0.45 * veil, rng, 3.0)


def _roll(x: Floats, rng: np.random.Generator) -> Floats:
    from scipy.ndimage import rotate

    turned: Floats = rotate(x, ROLL, axes=(1, 2), reshape=False, order=1, mode="nearest")
    return turned


CAMERAS = {
    camera.name: camera
    for camera in (
        Camera("blur", "out of focus: a Gaussian of 1.4 pixels", _blur),
        Camera("dark", "little light: half of the range, noise of 6 grey values", _dark),
        Camera("backlight", "a bright window behind: the middle in shadow, one side flooded", _backlight),
        Camera("fog", "a veil that leaves half of the contrast, soft edges", _fog),
        Camera("roll", "mounted askew by 14 degrees", _roll, ROLL),
        Camera("grain", "a bad sensor: noise of 28 grey values", _grainy),
    )
}
