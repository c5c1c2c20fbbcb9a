"""What each feature has in the votes of hypotheses: each vote is shared among the features it looks at.

A stump's is its feature's. A tree's is shared equally among the conditions on the way of the row, up to where
all leaves below agree; without a row, all ways count, each branch as often as the other. A tree with splits
by category has it shared among all of its conditions. A box filter's is shared among the pixels of its
rectangles. After preprocessing, what a column has is shared among those it was made of. A ball looks at all
features alike, and what a Python function looks at is not known: theirs is shared by all. A hypothesis that
always answers the same has no feature.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.hypotheses.balls import Balls
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.boxes import Boxes
from ocboost.hypotheses.cascade_stumps import CascadeStumps
from ocboost.hypotheses.category_trees import CategoryTrees
from ocboost.hypotheses.joined import Joined
from ocboost.hypotheses.origins import sources
from ocboost.hypotheses.stumps import Stumps
from ocboost.hypotheses.transformed import Transformed
from ocboost.hypotheses.trees import Trees

Floats = NDArray[np.float64]


@singledispatch
def features_share(hypotheses: Hypotheses, amounts: Floats, row: Floats | None = None) -> Floats:
    """Share an amount of each hypothesis, (J,), among the features: (F,).

    >>> features_share(Stumps([1, 0, 1], [0.5, 0.2, 2.0], [1, 1, -1]), np.array([0.7, 0.2, -0.1]))
    array([0.2, 0.6])
    """
    F = hypotheses.n_features
    return np.full(F, amounts.sum() / F)


@features_share.register
def _(hypotheses: Joined, amounts: Floats, row: Floats | None = None) -> Floats:
    total, at = np.zeros(hypotheses.n_features), 0
    for each in hypotheses.sets:
        total += features_share(each, amounts[at : at + len(each)], row)
        at += len(each)
    return total


@features_share.register
def _(hypotheses: Stumps, amounts: Floats, row: Floats | None = None) -> Floats:
    # With an infinite threshold all numbers get the same answer, and a missing one may get another.
    below = np.where(hypotheses.threshold > 0.0, hypotheses.left, -hypotheses.left)
    constant = np.isinf(hypotheses.threshold) & (below == hypotheses.missing)
    total = np.zeros(hypotheses.n_features)
    np.add.at(total, hypotheses.feature, np.where(constant, 0.0, amounts))
    return total


@features_share.register
def _(hypotheses: Trees, amounts: Floats, row: Floats | None = None) -> Floats:
    total = np.zeros(hypotheses.n_features)
    T = hypotheses.root.size
    for group, own in enumerate(amounts.reshape(hypotheses.n_answers, T)):
        settled = hypotheses.settled(group)
        if row is None:
            _share_of_all_ways(hypotheses, own, settled, total)
        else:
            _share_of_one_way(hypotheses, own, settled, row, total)
    return total


@features_share.register
def _(hypotheses: CategoryTrees, amounts: Floats, row: Floats | None = None) -> Floats:
    total = np.zeros(hypotheses.n_features)
    for j, amount in enumerate(amounts.tolist()):
        feature = hypotheses.nodes.taken(np.array([j]))[0].feature
        inner = feature[feature >= 0]
        if inner.size and amount:
            np.add.at(total, inner, amount / inner.size)
    return total


@features_share.register
def _(hypotheses: Transformed, amounts: Floats, row: Floats | None = None) -> Floats:
    step = hypotheses.step
    after = None if row is None else step(np.ascontiguousarray(row[None], dtype=np.float64))[0]
    inner = features_share(hypotheses.hypotheses, amounts, after)
    total = np.zeros(hypotheses.n_features)
    for d in np.flatnonzero(inner).tolist():
        before = sources(step, d)
        if before.size:
            total[before] += inner[d] / before.size
    return total


@features_share.register
def _(hypotheses: Balls, amounts: Floats, row: Floats | None = None) -> Floats:
    varying = float(amounts[hypotheses.theta > 0.0].sum())
    return np.full(hypotheses.n_features, varying / hypotheses.n_features)


@features_share.register
def _(hypotheses: Boxes, amounts: Floats, row: Floats | None = None) -> Floats:
    return _among_pixels(hypotheses.rects, hypotheses.weight, amounts, hypotheses.side, hypotheses.side)


@features_share.register
def _(hypotheses: CascadeStumps, amounts: Floats, row: Floats | None = None) -> Floats:
    upright = ~hypotheses.tilted.astype(np.bool_)
    rects, weights = hypotheses.rects[upright], hypotheses.weights[upright]
    total = _among_pixels(rects, weights, amounts[upright], hypotheses.width, hypotheses.height)
    total += amounts[~upright].sum() / hypotheses.n_features
    return total


def _among_pixels(
    rects: NDArray[Any], weights: NDArray[Any], amounts: Floats, width: int, height: int
) -> Floats:
    """Share amounts of filters among the pixels of their rectangles."""
    total = np.zeros((height, width))
    for own, weight, amount in zip(rects.tolist(), weights.tolist(), amounts.tolist(), strict=True):
        looked_at = np.zeros((height, width), np.bool_)
        for (x, y, w, h), counts in zip(own, weight, strict=True):
            if counts:
                looked_at[y : y + h, x : x + w] = True
        n = int(looked_at.sum())
        if n:
            total[looked_at] += amount / n
    return total.ravel()


# Trees -----------------------------------------------------------------------------------------------------


def _share_of_one_way(
    trees: Trees, amounts: Floats, settled: NDArray[np.int8], row: Floats, total: Floats
) -> None:
    """Share the amount of each tree equally among the conditions that the row has met."""
    x = row.astype(np.float32).astype(np.float64) if trees.precision == "single" else row
    at, steps = trees.root.astype(np.int64), []
    active = np.flatnonzero(settled[at] == 0)
    while active.size:
        nodes = at[active]
        feature = trees.feature[nodes]
        steps.append((active, feature))
        value = x[feature]
        to_left = np.where(np.isnan(value), trees.missing_left[nodes] > 0, value <= trees.threshold[nodes])
        at[active] = np.where(to_left, trees.left[nodes], trees.right[nodes])
        active = active[settled[at[active]] == 0]
    if not steps:
        return
    trees_met = np.concatenate([active for active, _ in steps])
    features = np.concatenate([feature for _, feature in steps])
    met = np.bincount(trees_met, minlength=amounts.size)
    np.add.at(total, features, amounts[trees_met] / met[trees_met])


def _share_of_all_ways(trees: Trees, amounts: Floats, settled: NDArray[np.int8], total: Floats) -> None:
    """Share the amount of each tree by all ways, as if each branch were taken as often as the other."""
    inner = np.flatnonzero((trees.feature >= 0) & (settled == 0)).tolist()
    left, right = trees.left.tolist(), trees.right.tolist()
    depth, ends = [0] * trees.feature.size, settled.tolist()
    for v in inner:
        depth[left[v]] = depth[right[v]] = depth[v] + 1
    # A way of d conditions is taken 2^-d of the time, and gives a d-th to each.
    worth = [0.5**d / d if end and d else 0.0 for d, end in zip(depth, ends, strict=True)]
    for v in reversed(inner):
        worth[v] = worth[left[v]] + worth[right[v]]
    amount_of = np.zeros(trees.feature.size)
    np.add.at(amount_of, trees.root, amounts)
    for v in inner:
        amount_of[left[v]] = amount_of[right[v]] = amount_of[v]
    places = np.array(inner, np.int64)
    if places.size:
        np.add.at(total, trees.feature[places], amount_of[places] * np.array(worth)[places])
