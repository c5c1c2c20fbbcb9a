"""Before and after, on the frames that were clicked on: figures as ``cascade evaluate`` gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ocboost._teaching.base import Base
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.crossed import PARTS
from ocboost._teaching.learner import ClickLearner
from ocboost._teaching.partly import picture_of
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import detect
from ocboost.cascade.picture_measure import PictureMeasurement, bootstrap_difference, measure_on_pictures
from ocboost.cascade.pictures import as_boxes

Progress = Callable[[str, int, int], None]


def judged(
    shipped: Cascade,
    shown: Cascade,
    base: Base,
    seed: int,
    said: Sequence[Lesson],
    progress: Progress | None,
) -> dict[str, Any]:
    """Figures on all frames that were clicked on, and on the same frames held out, a quarter at a time."""
    if not said:
        return {"held_out": None, "all": None}
    parts = [part.tolist() for part in np.array_split(np.arange(len(said)), min(PARTS, len(said)))]
    total = len(parts) + 1
    tell = progress or (lambda *_: None)
    tell("frames clicked on", 0, total)
    everything = _part([(shown, list(said))], shipped)
    held_out = None
    if len(parts) > 1:
        learner = ClickLearner(shipped, seed)
        pairs = []
        for k, part in enumerate(parts):
            tell("frames held out", k + 1, total)
            others = [each for place, each in enumerate(said) if place not in part]
            fitted, _, _ = learner.candidate(base, others, [])
            pairs.append((fitted.cascade, [said[place] for place in part]))
        held_out = _part(pairs, shipped)
    tell("frames held out", total, total)
    return {"held_out": held_out, "all": everything}


def _part(pairs: Sequence[tuple[Cascade, Sequence[Lesson]]], shipped: Cascade) -> dict[str, Any]:
    """Figures of detectors, each on frames of its own, beside the shipped one on all of them."""
    before, after = [], []
    for taught, said in pairs:
        pictures = []
        for lesson in said:
            found = [as_boxes(detect(each, lesson.frame.grey)) for each in (shipped, taught)]
            pictures.append(picture_of(lesson, found[0][:0], found))
        before.append(measure_on_pictures("shipped", shipped, pictures, most=1))
        after.append(measure_on_pictures("shown", taught, pictures, most=1))
    one, other = _joined(before), _joined(after)
    return {
        "frames": one.n_pictures,
        "faces": one.n_faces,
        "shipped": _figures(one),
        "shown": _figures(other),
        "difference": bootstrap_difference(one, other).as_dict(),
    }


def _joined(parts: Sequence[PictureMeasurement]) -> PictureMeasurement:
    return replace(
        parts[-1],
        pictures=tuple(name for part in parts for name in part.pictures),
        faces=np.concatenate([part.faces for part in parts]),
        misses=np.concatenate([part.misses for part in parts]),
        false_alarms=np.concatenate([part.false_alarms for part in parts]),
        windows=np.concatenate([part.windows for part in parts]),
    )


def _figures(measured: PictureMeasurement) -> dict[str, Any]:
    found = measured.as_dict()
    del found["curve"]
    return found
