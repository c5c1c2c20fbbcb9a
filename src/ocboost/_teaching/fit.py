"""One detector of all that was taught: stages relaxed as far as marked faces need it, a last stage refitted.

The last stage's score begins with the base's own. Ridge logistic regression on its stumps' answers corrects
it, as when stages are built. What a click says and the detector still does not do gets more weight, a few
times. The same lessons, frames and seed give the same detector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._teaching.base import Base
from ocboost._teaching.examples import (
    Counted,
    Found,
    LabelledWindows,
    ScannedFrame,
    Taught,
    counted,
    easiest,
    examples_of,
    needed,
    sure_finds,
    wrong_windows,
)
from ocboost._teaching.frames import Frame
from ocboost._teaching.guard import mistakes
from ocboost._teaching.scanned import Windows, grouped, passing
from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.detect import group_rectangles
from ocboost.cascade.last_stage import ridge_logistic
from ocboost.cascade.matching import IOU
from ocboost.cascade.picture_threshold import MIN_NEIGHBORS
from ocboost.cascade.pictures import Boxes, overlaps
from ocboost.cascade.windows import stage_sums
from ocboost.offsets.fitting import scale_and_shift

Floats = NDArray[np.float64]

PENALTY = 0.05
ITERATIONS = 40  # of each round
ROUNDS = 4  # of learning, each with more weight on what does not hold yet
MORE = 3.0  # times as much weight
ENOUGH = MIN_NEIGHBORS + 3  # windows of a marked face that should pass
FURTHEST = 4.0  # deviations: no stage is relaxed further, not even for a marked face
BELOW = 0.02  # half log-odds between the threshold and what must be accepted, or rejected
MORE_IF_CAREFUL = 1.15  # times as many boxes
FEW_COUNTED = 4  # faces in frames that were spared; with fewer, all frames are counted
MOST_MORE = 1.3  # times as many boxes as there should be, for the sake of a face that was marked
MANY_TAUGHT = 10  # frames that were clicked on; with fewer, all that was marked is found
KEPT_FINDS = 0.95  # of the sure finds
HALVINGS = 7  # of the range of thresholds


class Fitted(NamedTuple):
    """A detector, and how the last stage scores windows."""

    cascade: Cascade
    reach: Floats
    shift: float
    threshold: float

    def scores(self, windows: Windows) -> Floats:
        """By how much windows clear the last stage, in half log-odds."""
        last = self.cascade.n_stages - 1
        found: Floats = stage_sums(self.cascade, windows.pixels, [last])[:, 0]
        return found - float(self.cascade.stage_threshold[last] - OPENCV_TOLERANCE)


def fit(
    base: Base, taught: Sequence[Taught], others: Sequence[ScannedFrame], seed: int, *, careful: bool = False
) -> Fitted:
    """Learn all of it; if ``careful``, what the shipped detector finds weighs more, and all is kept."""
    # What was learnt from scores too high to set a threshold by, so every second frame is spared.
    examples = examples_of(base, taught, others[1::2], seed)
    known = counted(base, taught, others[::2])
    if sum(n for _, n in known) < FEW_COUNTED:
        known = counted(base, taught, others, clicked=True)
    sure = sure_finds(taught, others, wrong_windows(base, taught))
    more = MORE_IF_CAREFUL if careful else 1.0
    thresholds = relaxed(base, taught)
    answers = base.answers(examples.pixels)
    weights = examples.weights.copy()
    if careful:
        weights[(examples.lesson < 0) & (examples.labels > 0)] *= MORE
    start = np.zeros(answers.shape[1] + 1)
    last = base.last
    sums = answers @ last.reach + last.middle.sum()
    a, b, _ = scale_and_shift(sums, examples.labels.astype(np.float64), _balanced(examples, weights))
    offset = a * sums + b
    for rounds in range(ROUNDS):
        shares = _balanced(examples, weights)
        start = ridge_logistic(
            answers, examples.labels, shares / shares.sum(), offset, PENALTY, start, ITERATIONS
        )
        reach = a / 2.0 * last.reach + start[:-1] / 2.0
        shift = float(a / 2.0 * last.middle.sum() + b / 2.0 + start[-1] / 2.0)
        fitted = _at_threshold(
            base, thresholds, reach, shift, taught, known, sure, more, rounds == ROUNDS - 1
        )
        missing = unlearnt(fitted, taught)
        if not missing:
            break
        weights[np.isin(examples.lesson, missing)] *= MORE
    return fitted


def _balanced(examples: LabelledWindows, weights: Floats) -> Floats:
    """Weights of either kind that sum to one."""
    found = weights.copy()
    for label in (1, -1):
        own = examples.labels == label
        if own.any():
            found[own] /= found[own].sum()
    return found


def relaxed(base: Base, taught: Sequence[Taught]) -> Floats:
    """Thresholds so low that enough windows of every marked face pass, and no lower."""
    far = np.zeros(len(base.thresholds))
    for each in taught:
        for marked in each.marked:
            chosen = easiest(base, marked.windows, ENOUGH)
            need = needed(base, marked.windows)[chosen]
            if len(need):
                far = np.maximum(far, np.minimum(need.max(axis=0), FURTHEST))
    return base.thresholds - far * base.spread - 1e-6 * (far > 0.0) * base.spread


def _at_threshold(
    base: Base,
    thresholds: Floats,
    reach: Floats,
    shift: float,
    taught: Sequence[Taught],
    known: Sequence[Counted],
    sure: Sequence[Found],
    more: float,
    final: bool,
) -> Fitted:
    """The last threshold that finds as many boxes as the shipped detector finds, clicks counted in.

    So what is found better is not paid for by false alarms. In the ``final`` round it gives way where what
    was marked is not found, or what was rejected is.
    """
    leaves = base.stages.leaf_pairs.astype(np.float64)
    last = base.stages.n_stages - 1
    own = base.stages.trees_of(last)
    leaves[own, 0], leaves[own, 1] = -reach, reach
    open_stages = base.with_thresholds(thresholds, 0.0).with_leaves(leaves)

    def scored(windows: Windows) -> tuple[NDArray[np.bool_], Floats]:
        return passing(open_stages, windows), stage_sums(open_stages, windows.pixels, [last])[:, 0] + shift

    wanted: list[float] = []
    unwanted: list[float] = []
    for each in taught:
        for marked in each.marked:
            passes, values = scored(marked.windows)
            wanted += _reached(values[passes])
        passes, values = scored(each.windows)
        for k in range(len(each.lesson.wrong)):
            about = passes & (overlaps(each.windows.rects, each.lesson.wrong[k : k + 1])[:, 0] >= IOU)
            unwanted += _reached(values[about])
        if each.lesson.free:
            unwanted += _highest_group(each.windows.rects[passes], values[passes])
    found = []
    for windows, _ in known:
        passes, values = scored(windows)
        found.append((windows.rects[passes], values[passes]))
    target = more * sum(n for _, n in known)
    threshold = min(_lowest_with(found, target), _of_sure_finds(scored, sure))
    most, least = min(wanted, default=np.inf) - BELOW, max(unwanted, default=-np.inf) + BELOW
    if final or not known or not target:
        low = _lowest_with(found, MOST_MORE * target) if len(taught) >= MANY_TAUGHT and target else -np.inf
        threshold = max(min(max(threshold, min(least, most)), most), low)
    if not np.isfinite(threshold):
        threshold = 0.0
    cascade = open_stages.with_thresholds([*thresholds, threshold - shift])
    return Fitted(cascade, reach, shift, threshold)


def _of_sure_finds(
    scored: Callable[[Windows], tuple[NDArray[np.bool_], Floats]], sure: Sequence[Found]
) -> float:
    """The highest threshold with which nearly all sure finds of the shipped detector are found."""
    reached: list[float] = []
    for windows, boxes in sure:
        passes, values = scored(windows)
        near = overlaps(windows.rects, boxes) >= 0.6
        for k in range(len(boxes)):
            reached += _reached(values[passes & near[:, k]])
    return float(np.quantile(reached, 1.0 - KEPT_FINDS)) - BELOW if reached else np.inf


def _lowest_with(found: Sequence[tuple[Boxes, Floats]], target: float) -> float:
    """The lowest threshold, about, with which at most so many boxes are found."""
    values = np.concatenate([np.empty(0), *(own for _, own in found)])
    if not values.size:
        return np.inf
    low, high = np.quantile(values, 0.2), values.max() + 1e-6
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        n = sum(len(group_rectangles(rects[own >= middle], MIN_NEIGHBORS)[0]) for rects, own in found)
        low, high = (middle, high) if n > target else (low, middle)
    return float(high)


def _reached(values: Floats) -> list[float]:
    """What so many windows reach that they make a box; nothing where there are too few."""
    if len(values) <= MIN_NEIGHBORS:
        return []
    return [float(np.sort(values)[-MIN_NEIGHBORS - 1])]


def _highest_group(rects: Boxes, values: Floats) -> list[float]:
    """The highest threshold at which these windows make a box."""
    order = np.argsort(-values, kind="stable")
    low, high = 0, len(order)
    if not len(group_rectangles(rects, MIN_NEIGHBORS)[0]):
        return []
    while high - low > 1:
        middle = (low + high) // 2
        if len(group_rectangles(rects[order[:middle]], MIN_NEIGHBORS)[0]):
            high = middle
        else:
            low = middle
    return [float(values[order[high - 1]])]


def boxes_of(fitted: Fitted, windows: Windows, frame: Frame) -> Boxes:
    """What the detector finds among the windows of a frame."""
    accepted = passing(fitted.cascade, windows) & (fitted.scores(windows) >= 0.0)
    return grouped(windows.rects[accepted], frame).boxes


def unlearnt(fitted: Fitted, taught: Sequence[Taught]) -> list[int]:
    """Which lessons the detector does not do yet."""
    return [
        k
        for k, each in enumerate(taught)
        if mistakes(each.lesson, boxes_of(fitted, each.windows, each.lesson.frame))
    ]
