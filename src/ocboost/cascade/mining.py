"""Windows cut from whole pictures: faces with small shifts, and what a detector takes for faces.

Windows come from the sizes and places at which a detector looks at a picture, shrunk as it shrinks it: so
they look as they will look to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import Level, levels, scan_level
from ocboost.cascade.matching import MOSTLY, share_inside
from ocboost.cascade.pictures import Picture, overlaps
from ocboost.cascade.windows import has_contrast

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

SHIFT, GROWTH = 0.04, 0.06  # of a face's window, relative to its side
FAR = 0.25  # intersection over union below which a window does not show the face
SCALE_FACTOR = 1.1


class PyramidOf:
    """A picture at all sizes at which a cascade of this window looks at it; kept while it is used."""

    def __init__(self, cascade: Cascade, picture: Picture) -> None:
        self.cascade, self.picture = cascade, picture

    @cached_property
    def levels(self) -> list[Level]:
        """The sizes, the largest picture first."""
        return list(levels(self.cascade, self.picture.grey, SCALE_FACTOR))

    def faces(
        self, n_jittered: int, rng: np.random.Generator, *, mirrored: bool = True
    ) -> tuple[Pixels, NDArray[np.int64]]:
        """Windows of every face, and which face each shows: as it is, with small shifts, and mirrored.

        Boxes that are not square are taken as squares of the same middle and area. Faces that are smaller
        than the window of the cascade, or reach out of the picture, are left out.
        """
        found: list[Pixels] = []
        shown: list[int] = []
        scales = np.array([level.scale for level in self.levels], np.float64)
        for face, (x, y, w, h) in enumerate(self.picture.boxes.tolist()):
            side = float(np.sqrt(w * h))
            middle = np.array([x + w / 2.0, y + h / 2.0])
            for k in range(n_jittered + 1):
                grown = side * (np.exp(rng.uniform(-GROWTH, GROWTH)) if k else 1.0)
                shift = rng.uniform(-SHIFT, SHIFT, 2) * side if k else np.zeros(2)
                if not len(scales) or grown < 0.95 * self.cascade.width:
                    continue
                level = self.levels[int(np.abs(np.log(scales * self.cascade.width / grown)).argmin())]
                window = self._window_about(level, middle + shift)
                if window is not None:
                    found += [window, window[:, ::-1]] if mirrored else [window]
                    shown += [face, face] if mirrored else [face]
        windows = self._stacked(found)
        clear = has_contrast(windows)
        return windows[clear], np.array(shown, np.int64)[clear]

    def random(self, n: int, rng: np.random.Generator) -> Pixels:
        """So many windows of all sizes that show no face, fewer where there is little room."""
        return self._drawn(n, rng, self._shows_no_face)

    def sample(self, n: int, rng: np.random.Generator) -> Pixels:
        """So many windows of all sizes, whatever they show."""
        return self._drawn(n, rng, lambda _, places: np.ones(len(places), np.bool_))

    def _drawn(
        self,
        n: int,
        rng: np.random.Generator,
        wanted_at: Callable[[Level, NDArray[np.int32]], NDArray[np.bool_]],
    ) -> Pixels:
        counts = np.array([level.n_windows for level in self.levels])
        if not counts.sum():
            return self._stacked([])
        found: list[Pixels] = []
        for k, wanted in enumerate(rng.multinomial(n, counts / counts.sum()).tolist()):
            level = self.levels[k]
            columns, lines = -(-level.across // level.stride), -(-level.down // level.stride)
            if not wanted or not columns * lines:
                continue
            places = np.stack([rng.integers(columns, size=wanted), rng.integers(lines, size=wanted)], axis=1)
            places = (places * level.stride).astype(np.int32)
            found += self._cut(level, places[wanted_at(level, places)])
        windows = self._stacked(found)
        return windows[has_contrast(windows)]

    def passing(
        self, cascade: Cascade, most: int, rng: np.random.Generator | None = None, *, lowest: float = 0.0
    ) -> tuple[Pixels, Floats]:
        """Windows without a face that pass all stages, with their last stage's scores.

        At most so many: drawn at random, or without a generator those that score highest. With
        ``lowest=-np.inf`` the last stage rejects none.
        """
        found: list[tuple[Level, NDArray[np.int32], Floats]] = []
        for level in self.levels:
            places, scores = scan_level(cascade, level, lowest)
            free = self._shows_no_face(level, places)
            found.append((level, places[free], scores[free]))
        scores = np.concatenate([np.empty(0), *(own for _, _, own in found)])
        order = np.argsort(-scores, kind="stable") if rng is None else rng.permutation(len(scores))
        chosen = np.zeros(len(scores), np.bool_)
        chosen[order[:most]] = True
        windows: list[Pixels] = []
        start = 0
        for level, places, own in found:
            windows += self._cut(level, places[chosen[start : start + len(own)]])
            start += len(own)
        return self._stacked(windows), scores[chosen]

    def _window_about(self, level: Level, middle: Floats) -> Pixels | None:
        size = np.array([self.cascade.width, self.cascade.height])
        x, y = np.rint(middle / float(level.scale) - size / 2.0).astype(np.int64).tolist()
        rows, columns = level.image.shape
        if not (-1 <= x <= columns - size[0] + 1 and -1 <= y <= rows - size[1] + 1):
            return None
        x, y = min(max(x, 0), columns - int(size[0])), min(max(y, 0), rows - int(size[1]))
        return level.image[y : y + size[1], x : x + size[0]]

    def _shows_no_face(self, level: Level, places: NDArray[np.int32]) -> NDArray[np.bool_]:
        boxes, ignored = self.picture.boxes, self.picture.ignored
        rects = level.rects_at(self.cascade, places)
        far: NDArray[np.bool_] = np.all(overlaps(rects, np.concatenate([boxes, ignored])) < FAR, axis=1)
        far[(share_inside(rects, ignored) > MOSTLY).any(axis=1)] = False  # a crowd is larger than its faces
        return far

    def _cut(self, level: Level, places: NDArray[np.int32]) -> Iterator[Pixels]:
        width, height = self.cascade.width, self.cascade.height
        return (level.image[y : y + height, x : x + width] for x, y in places.tolist())

    def _stacked(self, windows: list[Pixels]) -> Pixels:
        empty = np.empty((0, self.cascade.height, self.cascade.width), np.uint8)
        return np.concatenate([empty, np.stack(windows)]) if windows else empty
