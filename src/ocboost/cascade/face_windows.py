"""Windows of faces to build stages from, several of each face, in lights and noise of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ocboost.cascade.cascade import Cascade
from ocboost.cascade.mining import PyramidOf
from ocboost.cascade.pictures import Picture

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

LIGHT = 0.3  # by how much, at most, light may fall off towards a side
NOISE = 6.0  # grey values


class FaceWindows:
    """Windows of faces, which face each shows, and which have passed all stages so far.

    Parameters
    ----------
    shipped : Cascade
    pictures : sequence of Picture
    jittered : int
        Windows of each face besides the face itself.
    rng : numpy.random.Generator
    mirrored : bool
        Whether there is a mirrored window for each of them.
    varied : bool
        Whether windows get lights and noise of their own: few faces then teach more.
    """

    def __init__(
        self,
        shipped: Cascade,
        pictures: Sequence[Picture],
        jittered: int,
        rng: np.random.Generator,
        *,
        mirrored: bool,
        varied: bool,
    ) -> None:
        windows = [np.empty((0, shipped.height, shipped.width), np.uint8)]
        faces = [np.empty(0, np.int64)]
        self.n_faces = 0
        for picture in pictures:
            own, shown = PyramidOf(shipped, picture).faces(jittered, rng, mirrored=mirrored)
            windows.append(own)
            faces.append(shown + self.n_faces)
            self.n_faces += len(picture.boxes)
        self.plain, self._face = np.concatenate(windows), np.concatenate(faces)
        self.windows = vary(self.plain, rng) if varied else self.plain
        self.alive = np.ones(len(self.windows), np.bool_)

    def per_face(self, sums: Floats, some: NDArray[np.bool_]) -> Floats:
        """Of each face that has some of these windows, what half of them reach."""
        face, own = self._face[some], sums[some]
        order = np.lexsort((-own, face))
        face, own = face[order], own[order]
        starts = np.flatnonzero(np.append(True, np.diff(face) != 0)) if face.size else np.empty(0, np.int64)
        counts = np.diff(np.append(starts, face.size))
        found: Floats = own[starts + counts // 2]
        return found


def vary(windows: Pixels, rng: np.random.Generator) -> Pixels:
    """The windows with light that falls off to some side, and with noise: of each another amount."""
    n, height, width = windows.shape
    down = np.linspace(-1.0, 1.0, height)[:, None]
    across = np.linspace(-1.0, 1.0, width)[None, :]
    slopes = rng.uniform(-LIGHT, LIGHT, (2, n, 1, 1))
    noise = rng.normal(0.0, 1.0, windows.shape)  # in place from here on: they may be many
    noise *= rng.uniform(0.0, NOISE, (n, 1, 1))
    found = np.empty_like(windows)
    for k in range(n):
        seen = windows[k] * (1.0 + slopes[0, k] * down + slopes[1, k] * across) + noise[k]
        found[k] = np.rint(seen).clip(0, 255)
    return found
