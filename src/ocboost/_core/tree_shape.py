"""Decision trees as flat arrays of nodes: what their shape must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_integers
from ocboost.errors import InputError


def as_nodes(values: ArrayLike, name: str, n: int | None = None) -> NDArray[np.int32]:
    """Check a list of nodes or features, of which each is -1 or more."""
    array = as_integers(values, name)
    if array.ndim != 1 or array.size == 0 or n not in (None, array.size):
        many = "at least one whole number" if n is None else f"{n} whole numbers, one for each node"
        raise InputError(f"{name} must be a list of {many}; got shape {array.shape}.")
    if array.min() < -1 or array.max() >= np.iinfo(np.int32).max:
        raise InputError(
            f"{name} must be at least -1 and less than 2**31 - 1; "
            f"got {int(array.min())} to {int(array.max())}."
        )
    return array.astype(np.int32)


def as_flags(values: ArrayLike | None, nodes: int, name: str = "missing_left") -> NDArray[np.int8]:
    """Check a 0 or 1 for each node; None is all 0."""
    if values is None:
        return np.zeros(nodes, np.int8)
    array = np.array(values)
    if array.shape != (nodes,) or not np.isin(array, (0, 1)).all():
        raise InputError(f"{name} must be {nodes} times 0 or 1, one for each node; got {values!r:.80}.")
    return array.astype(np.int8)


def check_shape(
    root: NDArray[np.int32], feature: NDArray[np.int32], left: NDArray[np.int32], right: NDArray[np.int32]
) -> None:
    """Children must come after their parents, so that every walk ends."""
    nodes, own = feature.size, np.arange(feature.size)
    leaf = feature < 0
    for name, child in (("left", left), ("right", right)):
        bad = np.where(leaf, child != -1, (child <= own) | (child >= nodes))
        if bad.any():
            v = int(np.argmax(bad))
            what = "-1, for it is a leaf" if leaf[v] else f"a node from {v + 1} to {nodes - 1}"
            raise InputError(f"{name} of node {v} must be {what}; got {int(child[v])}.")
    parents = np.bincount(np.concatenate([left[~leaf], right[~leaf]]), minlength=nodes)
    if (parents > 1).any():
        v = int(np.argmax(parents > 1))
        raise InputError(f"left and right must name each node once; got {int(parents[v])} times {v}.")
    if root.min() < 0 or root.max() >= nodes:
        raise InputError(
            f"root must lie between 0 and {nodes - 1}; got {int(root.min())} to {int(root.max())}."
        )
    if parents[root].any():
        v = int(root[np.argmax(parents[root])])
        raise InputError(f"root must be nodes that are no node's child; got {v}.")
