"""What clicks are learnt on top of: stages that may be relaxed, and a last stage that may be corrected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost.cascade.adapt_base import AdaptedStumps
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.last_stage import stumps_of_last
from ocboost.cascade.windows import has_contrast, stage_sums
from ocboost.datasets.faces import draw_toys
from ocboost.errors import InputError

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

DRAWN = 200  # faces that the first detectors learn from besides those of the camera
RELAXED = 1.0  # how far the thresholds of stages may fall, in standard deviations of faces' sums
LOWEST = -1e6  # a last threshold that rejects nothing


class Base(NamedTuple):
    """Stages, the last of which is corrected, and how far the thresholds of the others may fall."""

    number: int  # 0 is the shipped detector, others are builds
    stages: Cascade
    last: AdaptedStumps
    spread: Floats  # of each stage but the last: what faces' sums deviate by
    drawn: Pixels  # faces that the detector finds wherever it is used

    @property
    def wide(self) -> Cascade:
        """The stages with thresholds as low as they may be, the last one rejects nothing."""
        return self.with_thresholds(self.lowest, LOWEST)

    @property
    def lowest(self) -> Floats:
        """The lowest thresholds of all stages but the last."""
        return self.thresholds - RELAXED * self.spread

    @property
    def thresholds(self) -> Floats:
        """The thresholds of all stages but the last."""
        found: Floats = self.stages.stage_threshold[:-1].astype(np.float64)
        return found

    def with_thresholds(self, thresholds: Floats, last: float) -> Cascade:
        """The stages with other thresholds."""
        return self.stages.with_thresholds([*thresholds, last])

    def packed_answers(self, pixels: Pixels) -> Pixels:
        """What the last stage's stumps answer, a bit each."""
        size = self.stages.height * self.stages.width
        return np.packbits(self.last.stumps.answers(pixels.reshape(len(pixels), size)) > 0, axis=1)


def shipped_base(cascade: Cascade) -> Base:
    """The shipped cascade with all its stumps once more in a last stage."""
    if cascade.max_nodes > 1:
        raise InputError(
            f"the detector must consist of stumps to be taught by clicks; this one has trees of up to "
            f"{cascade.max_nodes} nodes. Take another one, such as haarcascade_frontalface_default."
        )
    if cascade.tilted.all():
        raise InputError(
            "the detector must have features that are not tilted to be taught by clicks; this one has "
            "none. Take another one, such as haarcascade_frontalface_default."
        )
    stages = cascade.with_stage(
        cascade.node_feature.astype(np.int64),
        cascade.node_threshold,
        cascade.leaf_pairs.astype(np.float64),
        stage_threshold=LOWEST,
    )
    return base_of(0, stages, drawn_faces(cascade))


def base_of(number: int, stages: Cascade, drawn: Pixels) -> Base:
    """A base of stages, with how far faces' sums deviate."""
    sums = stage_sums(stages, drawn, range(stages.n_stages - 1))
    spread = np.maximum(sums.std(axis=0), 1e-6)
    return Base(number, stages, stumps_of_last(stages), spread, drawn)


def drawn_faces(cascade: Cascade) -> Pixels:
    """Drawn faces of the cascade's size."""
    faces, _ = draw_toys(DRAWN, seed=0)
    if (cascade.height, cascade.width) != faces.shape[1:]:
        from scipy.ndimage import zoom

        scale = (1.0, cascade.height / faces.shape[1], cascade.width / faces.shape[2])
        grown = zoom(faces.astype(np.float32), scale, order=1, mode="nearest", grid_mode=True)
        faces = np.rint(grown).clip(0, 255).astype(np.uint8)
    return faces[has_contrast(faces)]
