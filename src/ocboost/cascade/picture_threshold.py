"""The threshold of a cascade's last stage that makes as many false alarms a picture as are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.detect import Size, clipped, group_rectangles, scored_candidates
from ocboost.cascade.matching import counts_in
from ocboost.cascade.pictures import Boxes, Picture

MIN_NEIGHBORS = 3  # OpenCV's own default
HIGHEST_SCORES = 2000  # windows of a picture: grouping compares all pairs
STEPS = 200  # thresholds tried


def _false_alarms(rects: Boxes, picture: Picture) -> int:
    grouped, _ = group_rectangles(rects, MIN_NEIGHBORS)
    cut, inside = clipped(grouped, *picture.grey.shape)
    return counts_in(picture, cut[inside]).false_alarms


def threshold_on_pictures(
    cascade: Cascade, pictures: Sequence[Picture], wanted: float, min_size: Size | None = None
) -> float:
    """The lowest threshold of the last stage that makes at most so many false alarms a picture.

    From high thresholds down to the first that makes too many, so that no lucky one below is taken.
    """
    own = float(cascade.stage_threshold[-1])
    found = [
        scored_candidates(cascade, picture.grey, min_size=min_size, most=HIGHEST_SCORES)
        for picture in pictures
    ]
    scores = np.concatenate([np.empty(0), *(values for _, values in found)])
    if not scores.size:
        return own
    above = float(np.nextafter(np.float32(scores.max()), np.float32(np.inf)))
    tried = np.unique(np.quantile(scores, 1.0 - np.geomspace(1.0, 1.0 / max(scores.size, 2), STEPS)))[::-1]
    best = above
    allowed = int(np.floor(wanted * len(pictures) + 1e-9))
    for threshold in tried.tolist():
        made = 0
        for picture, (rects, values) in zip(pictures, found, strict=True):
            made += _false_alarms(rects[values >= threshold], picture)
            if made > allowed:
                break
        if made > allowed:
            break
        best = threshold
    return own + best + float(OPENCV_TOLERANCE)
