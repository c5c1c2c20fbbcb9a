"""The threshold of a cascade's last stage that makes as many false alarms a picture as are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.detect import Size, clipped, group_rectangles, scored_candidates
from ocboost.cascade.matching import Counts, counts_in
from ocboost.cascade.pictures import Boxes, Picture

MIN_NEIGHBORS = 3  # OpenCV's own default
HIGHEST_SCORES = 2000  # windows of a picture: grouping compares all pairs
STEPS = 200  # thresholds tried
TAIL, FEWEST_IN_TAIL = 10, 3  # false alarms that tell how many there would be with a higher threshold
CAUTION = 1.0  # pictures: with so many, half of what is wanted is aimed at
LEAST = 0.1  # false alarms in all pictures, where none are wanted


def counts_of_grouped(rects: Boxes, picture: Picture) -> Counts:
    """What windows that were found in a picture come to, once they are grouped as OpenCV groups them."""
    grouped, _ = group_rectangles(rects, MIN_NEIGHBORS)
    cut, inside = clipped(grouped, *picture.grey.shape)
    return counts_in(picture, cut[inside])


def threshold_on_pictures(
    cascade: Cascade, pictures: Sequence[Picture], wanted: float, min_size: Size | None = None
) -> float:
    """The lowest threshold of the last stage that makes at most so many false alarms a picture.

    From high thresholds down to the first that makes too many, so that no lucky one below is taken.
    """
    allowed = int(np.floor(wanted * len(pictures) + 1e-9))
    return _lowest_of_each(cascade, pictures, allowed, min_size)[-1]


def cautious_threshold(
    cascade: Cascade, pictures: Sequence[Picture], wanted: float, min_size: Size | None = None
) -> float:
    """The same, and steadier where few pictures tell little.

    If the wanted rate allows fewer than ten false alarms in all these pictures, how they become fewer is
    read from the first ten: as if their thresholds were exponentially distributed. Of a few pictures less
    is taken than is wanted.
    """
    n = len(pictures)
    allowed = int(np.floor(wanted * n + 1e-9))
    lowest = _lowest_of_each(cascade, pictures, max(allowed, TAIL), min_size)
    plain = lowest[min(allowed, len(lowest) - 1)]
    made = len(lowest) - 1
    if allowed >= TAIL or made < FEWEST_IN_TAIL:
        return plain
    decline = float(np.mean(np.array(lowest[:-1]) - lowest[-1]))
    aim = max(wanted * n / (1.0 + CAUTION / n), LEAST)
    return lowest[-1] + decline * float(np.log(made / aim))


def _lowest_of_each(
    cascade: Cascade, pictures: Sequence[Picture], most: int, min_size: Size | None
) -> list[float]:
    """The lowest thresholds, from the top, that make at most 0, 1, … false alarms in all; up to ``most``.

    Shorter where the lowest threshold of all makes fewer.
    """
    own = float(cascade.stage_threshold[-1])
    found = [
        scored_candidates(cascade, picture.grey, min_size=min_size, most=HIGHEST_SCORES)
        for picture in pictures
    ]
    scores = np.concatenate([np.empty(0), *(values for _, values in found)])
    if not scores.size:
        return [own]
    above = float(np.nextafter(np.float32(scores.max()), np.float32(np.inf)))
    tried = np.unique(np.quantile(scores, 1.0 - np.geomspace(1.0, 1.0 / max(scores.size, 2), STEPS)))[::-1]
    lowest = [above]
    for threshold in tried.tolist():
        made = 0
        for picture, (rects, values) in zip(pictures, found, strict=True):
            made += counts_of_grouped(rects[values >= threshold], picture).false_alarms
            if made > most:
                break
        lowest += [lowest[-1]] * (min(made, most + 1) - len(lowest) + 1)
        if made > most:
            break
        lowest[made:] = [threshold] * (len(lowest) - made)
    return [own + threshold + float(OPENCV_TOLERANCE) for threshold in lowest[: most + 1]]
