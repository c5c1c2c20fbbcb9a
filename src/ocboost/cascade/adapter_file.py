"""Labelled windows that wait to be learnt, as a file holds them: batch by batch, as they were shown."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost.cascade.adapt_base import MAX_WINDOW_WEIGHT, MIN_WEIGHT, Floats, Signs

Batch = tuple[NDArray[Any], Signs, Floats]  # windows or what stumps answer to them, labels, weights


def batches_tree(batches: Sequence[Batch]) -> Tree | None:
    """All batches one after the other, and how large each is; None if there are none.

    Where one ends matters: the windows of a batch are folded together.
    """
    filled = [batch for batch in batches if len(batch[1])]
    if not filled:
        return None
    rows, labels, weights = (np.concatenate(column) for column in zip(*filled, strict=True))
    sizes = np.array([len(y) for _, y, _ in filled], np.int64)
    return {"rows": rows, "labels": labels, "weights": weights, "sizes": sizes}


def batches_from(
    fields: Fields, key: str, dtype: DTypeLike, shape: tuple[int, ...], face_weight: float
) -> list[Batch]:
    """What `batches_tree` gave, of rows of this type and shape."""
    return fields.read_optional(key, lambda each: _batches(each, dtype, shape, face_weight)) or []


def _batches(fields: Fields, dtype: DTypeLike, shape: tuple[int, ...], face_weight: float) -> list[Batch]:
    rows = fields.array("rows", dtype, (None, *shape))
    n = len(rows)
    labels, weights = fields.array("labels", np.int8, (n,)), fields.array("weights", np.float64, (n,))
    sizes = fields.array("sizes", np.int64, (None,))
    fits = n > 0 and bool(((sizes > 0) & (sizes <= n)).all()) and sum(sizes.tolist()) == n
    fields.require(fits, f"sizes must be those of batches of {n} windows in all")
    fields.require((np.abs(labels) == 1).all(), "labels must be -1 and +1")
    times = np.where(labels > 0, face_weight, 1.0)
    inside = (weights >= times * MIN_WEIGHT) & (weights <= times * MAX_WINDOW_WEIGHT)
    fields.require(inside.all(), "weights must be those that windows can have")
    ends = [0, *np.cumsum(sizes).tolist()]
    return [(rows[a:b], labels[a:b], weights[a:b]) for a, b in itertools.pairwise(ends)]
