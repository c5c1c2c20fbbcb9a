"""One detector of all that was taught: stages relaxed as far as it is worth it, a last stage refitted.

The last stage's score begins with the base's own. Ridge logistic regression on its stumps' answers corrects
it, the less the fewer clicks there are. What a click says and the detector still does not do gets more
weight, a few times. The same lessons, frames and seed give the same detector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ocboost._teaching.alike import Rows
from ocboost._teaching.base import RELAXED, Base
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.crossed import crossed_logistic, parts_of
from ocboost._teaching.examples import (
    LabelledWindows,
    ScannedFrame,
    Taught,
    easiest,
    examples_of,
    expected,
    marked_again,
    needed,
    sure_boxes,
    wrong_windows,
)
from ocboost._teaching.frames import Frame
from ocboost._teaching.guard import n_said
from ocboost._teaching.last_threshold import FEW, SPARE, ScoredFrame, last_threshold, unlearnt
from ocboost._teaching.scanned import Finds, Windows, grouped, passing
from ocboost._teaching.turned import ScoredTurned, Turned
from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.picture_threshold import MIN_NEIGHBORS
from ocboost.cascade.pictures import Boxes, overlaps
from ocboost.offsets.fitting import scale_and_shift

Floats = NDArray[np.float64]

PENALTY = 0.008  # of one click, for each stump; with more clicks it falls
CAREFUL = 4.0  # times the penalty
UNKNOWN = 15.0  # weight of what nobody knows, against what is known, with one click; with more it falls
LEAST_UNKNOWN = 3.0
ITERATIONS = 40  # of the first round
MORE_ITERATIONS = 20  # of each further one
ROUNDS = 7  # of learning, each with more weight on what does not hold yet
PUSHED = 3  # of these, after which only what was clicked last gets more
MORE = 3.0  # times as much weight
ENOUGH = MIN_NEIGHBORS + 1 + SPARE  # windows of a marked face that should pass
TRIED, ALIKE = 12, 0.7  # windows about which they may lie, and how much they must overlap
FURTHEST = 2.5  # deviations: no stage is relaxed further, not even for a marked face
MANY = 80  # faces with which all stages are relaxed as far as they may be; below `FEW` for marked faces only


class Fitted(NamedTuple):
    """A detector, how the last stage scores windows, and what one would find in frames it has not learnt."""

    cascade: Cascade
    reach: Floats
    threshold: float
    further: bool  # whether stages are relaxed further than frames were searched for windows
    unseen: dict[int, Boxes]  # in each frame, by a model of the other parts; empty where frames are too few

    def scores(self, windows: Windows) -> Floats:
        """By how much windows clear the last stage, in half log-odds."""
        found = windows.scores(self.reach.astype(np.float32)).astype(np.float64)
        return found - self.threshold + OPENCV_TOLERANCE


def fit(
    base: Base,
    taught: Sequence[Taught],
    others: Sequence[ScannedFrame],
    seed: int,
    *,
    turned: Mapping[int, Sequence[Turned]] | None = None,
    last: int | None = None,
    careful: bool = False,
) -> Fitted:
    """Learn all of it; if ``careful``, the base is corrected less. ``last`` is the frame clicked in last.

    ``turned`` has some of the frames, by their ids, as `turned` gives them.

    After a few rounds only what was clicked last is still pushed; where that never holds, the threshold gives
    way to it in the end.
    """
    again = marked_again(base, taught, others)
    wrong = wrong_windows(base, taught)
    faces, neighbours = expected(taught, others, again, wrong)
    share = 0.0 if base.number or faces < FEW else min(faces / MANY, 1.0)
    thresholds = relaxed(base, taught, share)
    examples = examples_of(base, taught, others, again, wrong, seed)
    clicks = max(sum(n_said(each.lesson) for each in taught), 1)
    penalty = PENALTY * len(base.last.reach) / clicks * (CAREFUL if careful else 1.0)
    unknown = max(UNKNOWN / clicks, LEAST_UNKNOWN)

    stumps = base.last
    sums = examples.answers.astype(np.float32) @ stumps.reach.astype(np.float32) + np.float32(
        stumps.middle.sum()
    )
    known = examples.labels != 0
    weights = examples.weights.copy()
    balanced = _balanced(examples, weights, unknown)
    a, b, _ = scale_and_shift(
        sums[known].astype(np.float64), examples.labels[known].astype(np.float64), balanced[known]
    )
    offset = a * sums.astype(np.float64) + b
    chances = np.where(known, examples.labels > 0, expit(offset))

    scanned = [(each.lesson.frame.id, each.windows) for each in taught]
    scanned += [(each.frame.id, each.windows) for each in others]
    parts = parts_of([frame for frame, _ in scanned])
    n_models = 1 + max(parts.values(), default=0)
    part = np.array([parts.get(frame, 0) for frame in examples.frame.tolist()], np.int64)
    theta = np.zeros((len(stumps.reach) + 1, n_models))
    columns = np.stack(
        [
            _balanced(examples, np.where((part == k) & (k > 0), 0.0, weights), unknown)
            for k in range(n_models)
        ],
        axis=1,
    )
    passed = _passed(base, thresholds, taught, others, parts, wrong)
    stages = base.with_thresholds(thresholds, 0.0)
    on_side = [(parts[frame], each) for frame, own in (turned or {}).items() for each in own]
    on_side = [(part, _passing(stages, each)) for part, each in on_side]
    for rounds in range(ROUNDS):
        theta = crossed_logistic(
            examples.answers,
            chances,
            columns,
            offset,
            penalty,
            theta,
            MORE_ITERATIONS if rounds else ITERATIONS,
        )
        reach = a / 2.0 * stumps.reach[:, None] + theta[:-1] / 2.0
        shift = a / 2.0 * stumps.middle.sum() + b / 2.0 + theta[-1] / 2.0
        scored = [each.scored(reach.astype(np.float32), shift) for each in passed]
        threshold = last_threshold(
            scored,
            faces,
            neighbours,
            turned=_scored_turned(on_side, reach.astype(np.float32), shift),
            final=rounds == ROUNDS - 1,
            by_boxes=base.number > 0,
        )
        missing = unlearnt(scored, threshold, few=faces < FEW)
        if rounds >= PUSHED:
            missing = [k for k in missing if taught[k].lesson.frame.id == last]
        if not missing:
            break
        columns[np.isin(examples.lesson, missing)] *= MORE
    frames = [each.lesson.frame for each in taught] + [each.frame for each in others]
    unseen = {
        frame.id: grouped(own.rects[own.unseen >= threshold], frame).boxes
        for frame, own, place in zip(frames, scored, passed, strict=True)
        if place.part
    }
    return _with_last(base, thresholds, reach[:, 0], threshold - shift[0], unseen)


def _balanced(examples: LabelledWindows, weights: Floats, unknown: float) -> Floats:
    """Weights of faces and others that sum to a half each, and beside them those of what nobody knows."""
    found = weights.copy()
    for label, share in ((1, 0.5), (-1, 0.5), (0, unknown)):
        own = examples.labels == label
        total = found[own].sum()
        if total > 0.0:
            found[own] *= share / total
    return found


def relaxed(base: Base, taught: Sequence[Taught], share: float) -> Floats:
    """Thresholds a share of the way down, and so low that enough windows of marked faces pass."""
    far = np.full(len(base.thresholds), share * RELAXED)
    for each in taught:
        for marked in each.marked:
            need = needed(base, marked.windows)[_easiest_box(base, marked.windows)]
            if len(need):
                far = np.maximum(far, np.minimum(need.max(axis=0), FURTHEST))
    return base.thresholds - far * base.spread - 1e-6 * (far > 0.0) * base.spread


def _easiest_box(base: Base, windows: Windows) -> NDArray[np.int64]:
    """Windows that make a box together, and need the stages to be relaxed least."""
    order = easiest(base, windows, len(windows.rects))
    need = needed(base, windows).max(axis=1, initial=0.0)
    found, least = order[:0], np.inf
    for first in order[:TRIED].tolist():
        alike = overlaps(windows.rects[order], windows.rects[first : first + 1])[:, 0] >= ALIKE
        chosen = order[alike][:ENOUGH]
        far = float(need[chosen].max())
        if len(chosen) > MIN_NEIGHBORS and far < least:
            found, least = chosen, far
    return found


def _with_last(
    base: Base, thresholds: Floats, reach: Floats, threshold: float, unseen: dict[int, Boxes]
) -> Fitted:
    """The base with these thresholds, and what its last stage's stumps count."""
    leaves = base.stages.leaf_pairs.astype(np.float64)
    own = base.stages.trees_of(base.stages.n_stages - 1)
    leaves[own, 0], leaves[own, 1] = -reach, reach
    cascade = base.with_thresholds(thresholds, threshold).with_leaves(leaves)
    further = bool((thresholds < base.lowest - 1e-3 * base.spread).any())
    return Fitted(cascade, reach, threshold, further, unseen)


class _Passed(NamedTuple):
    """A frame's windows that pass the stages, and what does not change while the last one is learnt."""

    part: int
    windows: Windows
    strict: NDArray[np.bool_]  # which of them pass stages that are not relaxed
    lesson: Lesson | None
    shipped: Boxes
    marked: list[Windows]

    def scored(self, reach: NDArray[np.float32], shift: Floats) -> ScoredFrame:
        """With scores by the model of all frames, and by the one that has not learnt this frame's part."""
        chosen = [0, self.part]
        scores = self.windows.scores(reach[:, chosen]).astype(np.float64) + shift[chosen]
        marked = [
            (each.rects, each.scores(reach[:, :1])[:, 0].astype(np.float64) + shift[0])
            for each in self.marked
        ]
        own = (self.windows.rects, self.strict, scores[:, 0], scores[:, 1])
        return ScoredFrame(*own, self.lesson, self.shipped, marked)


def _passed(
    base: Base,
    thresholds: Floats,
    taught: Sequence[Taught],
    others: Sequence[ScannedFrame],
    parts: dict[int, int],
    wrong: Rows,
) -> list[_Passed]:
    """All frames."""
    stages = base.with_thresholds(thresholds, 0.0)

    def frame(
        number: int, windows: Windows, shipped: Finds, lesson: Lesson | None, marked: list[Windows]
    ) -> _Passed:
        kept, *faces = (each.some(passing(stages, each)) for each in (windows, *marked))
        found = sure_boxes(windows, shipped, lesson, wrong, 0)
        return _Passed(parts[number], kept, passing(base.stages, kept), lesson, found, faces)

    clicked = [
        frame(e.lesson.frame.id, e.windows, e.shipped, e.lesson, [face.windows for face in e.marked])
        for e in taught
    ]
    return clicked + [frame(e.frame.id, e.windows, e.shipped, None, []) for e in others]


def _passing(stages: Cascade, own: Turned) -> Turned:
    return own._replace(windows=own.windows.some(passing(stages, own.windows)))


def _scored_turned(
    turned: Sequence[tuple[int, Turned]], reach: NDArray[np.float32], shift: Floats
) -> ScoredTurned:
    """Turned frames with their scores, by models that have not learnt the parts that they are in."""
    frames = [
        (each.windows.rects, each.windows.scores(reach[:, part]).astype(np.float64) + shift[part])
        for part, each in turned
    ]
    return ScoredTurned(frames, sum(each.n_shipped for _, each in turned))


def boxes_of(fitted: Fitted, windows: Windows, frame: Frame) -> Boxes:
    """About what the detector finds in a frame: OpenCV skips some windows beside those that fail early."""
    kept = windows.some(passing(fitted.cascade, windows))
    return grouped(kept.rects[fitted.scores(kept) >= 0.0], frame).boxes
