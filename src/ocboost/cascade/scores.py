"""Scores of windows: a number behind a cascade's yes or no, so that a ROC curve can be drawn.

A score is measured from what OpenCV compares with, the threshold of the file lowered by 1e-5 in single
precision: the cascade accepts a window exactly where its score is at least 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .camera_windows import has_contrast
from .cascade import SLACK, Cascade
from .windows import as_windows, passed, stage_sums

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Kind = Literal["slack", "last stage"]

AT_ONCE = 1 << 16  # windows whose sums are held together


def slack_scores(cascade: Cascade, windows: Pixels) -> Floats:
    """By how much a window clears the stage that it clears least, (n,): at least 0 where it is accepted.

    Lowering the thresholds of all stages by a common slack t accepts the windows whose score is at least -t.
    Windows that OpenCV does not look at, for want of contrast, get -∞.

    Parameters
    ----------
    cascade : Cascade
    windows : uint8, shape (n, height, width)
    """
    windows = as_windows(cascade, windows)
    bars = _bars(cascade)
    scores = np.empty(len(windows))
    for some in _blocks(len(windows)):
        scores[some] = (stage_sums(cascade, windows[some]) - bars).min(axis=1)
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
    bar = _bars(cascade)[last]
    for some in _blocks(comes.size):
        rows = comes[some]
        scores[rows] = stage_sums(cascade, windows[rows], [last])[:, 0] - bar
    return scores


def leaf_sums(cascade: Cascade, windows: Pixels) -> Floats:
    """The sum of all leaves of all stages, (n,): what an adapter starts from. No stage rejects."""
    windows = as_windows(cascade, windows)
    sums = np.empty(len(windows))
    for some in _blocks(len(windows)):
        sums[some] = stage_sums(cascade, windows[some]).sum(axis=1)
    return sums


def fitting_kind(cascade: Cascade) -> Kind:
    """Which score tells most: the last stage's if it asks all that the stages before it ask, else the slack.

    A cascade that `WholeAdapter` has made has all stumps once more in its last stage. From outside it cannot
    be told with certainty; so whoever shows the score should say which it is.
    """
    asked = list(zip(cascade.node_feature.tolist(), cascade.node_threshold.tolist(), strict=True))
    before = int(cascade.tree_node[cascade.stage_tree[-2]])
    return "last stage" if set(asked[:before]) <= set(asked[before:]) else "slack"


def scores_of(cascade: Cascade, windows: Pixels, kind: Kind | None = None) -> Floats:
    """The scores of a kind, by default of the fitting one."""
    kind = fitting_kind(cascade) if kind is None else kind
    return (slack_scores if kind == "slack" else last_stage_scores)(cascade, windows)


def evaluated(cascade: Cascade, windows: Pixels) -> NDArray[np.int64]:
    """How many trees each window costs, (n,): those of all stages up to the one that rejects it."""
    windows = as_windows(cascade, windows)
    stages = np.minimum(passed(cascade, windows) + 1, cascade.n_stages)
    cost: NDArray[np.int64] = cascade.stage_tree[stages].astype(np.int64)
    cost[~has_contrast(windows)] = 0
    return cost


def _bars(cascade: Cascade) -> Floats:
    bars: Floats = (cascade.stage_threshold - SLACK).astype(np.float64)
    return bars


def _blocks(n: int) -> Iterator[slice]:
    return (slice(at, at + AT_ONCE) for at in range(0, n, AT_ONCE))
