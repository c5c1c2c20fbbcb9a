"""The threshold of an adapted cascade where nobody says how many false alarms are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.detect import Size, scored_candidates
from ocboost.cascade.picture_guard import judge
from ocboost.cascade.picture_threshold import HIGHEST_SCORES, cautious_threshold, counts_of_grouped
from ocboost.cascade.pictures import Picture

OF_SHIPPED = 1.0 / 3.0  # of its false alarms are aimed at
MOST_FALSE_ALARMS = 0.3  # a picture
KEPT_GAIN = 0.5  # of the faces found beyond the shipped cascade's; the rest is given for fewer false alarms
STEPS_DOWN = 20  # between the careful threshold and the loose one


def own_threshold(
    shipped: Cascade, cascade: Cascade, pictures: Sequence[Picture], min_size: Size | None = None
) -> float:
    """The last stage's threshold with fewer false alarms than the shipped cascade makes, and more faces.

    A third of the shipped cascade's false alarms is aimed at, on pictures with faces and on those without:
    other places bring two to three times as many as these pictures, which are like those learnt. The
    threshold is lower where that leaves less than half of the faces that are gained with 0.3 false alarms a
    picture.
    """
    kinds = [[p for p in pictures if bool(len(p.boxes)) == kind] for kind in (True, False)]
    careful = max(_third_of_shipped(shipped, cascade, own, min_size) for own in kinds if own)
    loose = cautious_threshold(cascade, pictures, MOST_FALSE_ALARMS, min_size)
    with_faces = kinds[0]
    if not with_faces or loose >= careful:
        return careful
    found = [
        scored_candidates(cascade, picture.grey, min_size=min_size, most=HIGHEST_SCORES)
        for picture in with_faces
    ]
    own = float(cascade.stage_threshold[-1]) + float(OPENCV_TOLERANCE)

    def hits(threshold: float) -> int:
        return sum(
            len(picture.boxes) - counts_of_grouped(rects[scores >= threshold - own], picture).misses
            for picture, (rects, scores) in zip(with_faces, found, strict=True)
        )

    before = judge(shipped, with_faces, min_size).hits
    wanted = before + KEPT_GAIN * (hits(loose) - before)
    steps = np.linspace(careful, loose, STEPS_DOWN, endpoint=False).tolist()
    return next((threshold for threshold in steps if hits(threshold) >= wanted), loose)


def _third_of_shipped(
    shipped: Cascade, cascade: Cascade, pictures: Sequence[Picture], min_size: Size | None
) -> float:
    made = min(judge(shipped, pictures, min_size).a_picture, MOST_FALSE_ALARMS)
    return cautious_threshold(cascade, pictures, OF_SHIPPED * made, min_size)
