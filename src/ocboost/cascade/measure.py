"""How a cascade does on windows that it has not seen, by a score behind its yes or no.

A score is measured from what OpenCV compares with, the threshold of the file lowered by 1e-5 in single
precision: the cascade accepts a window exactly where its score is at least 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ocboost.cascade.bounds import share_bounds
from ocboost.cascade.cascade import OPENCV_TOLERANCE, Cascade
from ocboost.cascade.roc import RATES, Roc, one_minus_auc, roc
from ocboost.cascade.windows import as_windows, has_contrast, passed, stage_sums

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Kind = Literal["slack", "last stage"]

WINDOWS_PER_BLOCK = 1 << 16  # whose sums are held together


def slack_scores(cascade: Cascade, windows: Pixels) -> Floats:
    """By how much a window clears the stage that it clears least, (n,): at least 0 where it is accepted.

    Lowering the thresholds of all stages by a common slack t accepts the windows whose score is at least -t.
    Windows that OpenCV does not look at, for want of contrast, get -∞.
    """
    windows = as_windows(cascade, windows)
    thresholds = _lowered_thresholds(cascade)
    scores = np.empty(len(windows))
    for some in _blocks(len(windows)):
        scores[some] = (stage_sums(cascade, windows[some]) - thresholds).min(axis=1)
        scores[some][~has_contrast(windows[some])] = -np.inf
    return scores


def last_stage_scores(cascade: Cascade, windows: Pixels) -> Floats:
    """By how much a window clears the last stage, (n,); -∞ where it does not come that far.

    For cascades as `WholeAdapter` makes them: the last stage is the classifier, those before only save work.
    """
    windows = as_windows(cascade, windows)
    last = cascade.n_stages - 1
    scores = np.full(len(windows), -np.inf)
    comes = np.flatnonzero(has_contrast(windows) if last == 0 else passed(cascade, windows) >= last)
    threshold = _lowered_thresholds(cascade)[last]
    for some in _blocks(comes.size):
        rows = comes[some]
        scores[rows] = stage_sums(cascade, windows[rows], [last])[:, 0] - threshold
    return scores


def leaf_sums(cascade: Cascade, windows: Pixels) -> Floats:
    """The sum of all leaves of all stages, (n,): what an adapter is calibrated on. No stage rejects."""
    windows = as_windows(cascade, windows)
    sums = np.empty(len(windows))
    for some in _blocks(len(windows)):
        sums[some] = stage_sums(cascade, windows[some]).sum(axis=1)
    return sums


def fitting_kind(cascade: Cascade) -> Kind:
    """Which score tells most: the last stage's if it asks all that the stages before it ask, else the slack.

    A cascade that `WholeAdapter` has made has all stumps once more in its last stage. From outside it cannot
    be known with certainty, so reports say which score it is.
    """
    questions = list(zip(cascade.node_feature.tolist(), cascade.node_threshold.tolist(), strict=True))
    before = int(cascade.tree_node[cascade.stage_tree[-2]])
    return "last stage" if set(questions[:before]) <= set(questions[before:]) else "slack"


def scores_of(cascade: Cascade, windows: Pixels, kind: Kind | None = None) -> Floats:
    """The scores of a kind, by default of the fitting one."""
    kind = fitting_kind(cascade) if kind is None else kind
    return (slack_scores if kind == "slack" else last_stage_scores)(cascade, windows)


def trees_evaluated(cascade: Cascade, windows: Pixels) -> NDArray[np.int64]:
    """How many trees each window costs, (n,): those of all stages up to the one that rejects it."""
    windows = as_windows(cascade, windows)
    stages = np.minimum(passed(cascade, windows) + 1, cascade.n_stages)
    cost: NDArray[np.int64] = cascade.stage_tree[stages].astype(np.int64)
    cost[~has_contrast(windows)] = 0
    return cost


def _lowered_thresholds(cascade: Cascade) -> Floats:
    lowered: Floats = (cascade.stage_threshold - OPENCV_TOLERANCE).astype(np.float64)
    return lowered


def _blocks(n: int) -> Iterator[slice]:
    return (slice(at, at + WINDOWS_PER_BLOCK) for at in range(0, n, WINDOWS_PER_BLOCK))


@dataclass(frozen=True, eq=False)
class Measurement:
    """How one cascade does."""

    name: str
    n_stages: int
    n_trees: int
    kind: Kind  # of the score that the curve is drawn from
    hits: float  # share of the faces accepted with the cascade's own thresholds
    false_positives: float  # and of the other windows
    curve: Roc
    one_minus_auc: float  # share of pairs of a face and another window that the score puts in the wrong order
    cost: float  # stumps, or trees, evaluated per window without a face, on average

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON can hold them; of the curve, what a figure needs."""
        drawn = self.curve.thinned()
        n = self.curve.n_others
        return {
            "name": self.name,
            "stages": self.n_stages,
            "trees": self.n_trees,
            "score": self.kind,
            "hits": self.hits,
            "false_positives": self.false_positives,
            "false_positives_bounds": list(share_bounds(round(self.false_positives * n), n)),
            "misses_at": {f"{rate:g}": self.curve.misses_at(rate) for rate in RATES},
            "one_minus_auc": self.one_minus_auc,
            "trees_per_window": self.cost,
            "curve": {"false_positives": drawn.rates.tolist(), "misses": drawn.misses.tolist()},
        }


def measure_cascade(
    name: str, cascade: Cascade, faces: Pixels, others: Pixels, kind: Kind | None = None
) -> Measurement:
    """Measure a cascade on windows of both kinds, at least one of each; by default with the fitting score."""
    kind = fitting_kind(cascade) if kind is None else kind
    scores = np.concatenate([scores_of(cascade, windows, kind) for windows in (faces, others)])
    are_faces = np.repeat([True, False], [len(faces), len(others)])
    return Measurement(
        name=name,
        n_stages=cascade.n_stages,
        n_trees=cascade.n_trees,
        kind=kind,
        hits=float((scores[are_faces] >= 0).mean()),
        false_positives=float((scores[~are_faces] >= 0).mean()),
        curve=roc(scores, are_faces),
        one_minus_auc=one_minus_auc(scores, are_faces),
        cost=float(trees_evaluated(cascade, others).mean()),
    )
