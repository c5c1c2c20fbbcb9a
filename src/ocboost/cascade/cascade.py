"""A cascade of boosted stages over Haar features, as OpenCV holds it, and what can be changed in one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, Tree
from ocboost._kernels.cascade import Parts
from ocboost.errors import InputError
from ocboost.hypotheses.boxes import MAX_SIDE
from ocboost.hypotheses.cascade_stumps import CascadeStumps, HaarFeatures, as_haar, as_singles, as_window_size

OPENCV_TOLERANCE = np.float32(1e-5)  # OpenCV lowers every stage's threshold by this
MAX_STAGES, MAX_NODES = 10_000, 200_000
MAX_SINGLE = float(np.finfo(np.float32).max)
# The arrays in ocboost's own files: their types, and how many axes they have.
_SAVED = {
    "rects": (np.int32, 3),
    "weights": (np.float32, 2),
    "tilted": (np.int8, 1),
    **dict.fromkeys(("node_feature", "node_left", "node_right"), (np.int32, 1)),
    **dict.fromkeys(("node_threshold", "leaf", "stage_threshold"), (np.float32, 1)),
    **dict.fromkeys(("tree_node", "tree_leaf", "stage_tree"), (np.int32, 1)),
}


@dataclass(frozen=True, eq=False, repr=False)
class Cascade:
    """Stages that a window must pass one after the other; each sums the leaves of its trees.

    The numbers are those of the file. Everything is checked when a cascade is made, and the arrays cannot be
    written to; `with_thresholds`, `with_leaves`, `pick`, `first` and `with_stage` give changed copies.

    Attributes
    ----------
    width, height : int
        Size of the window.
    rects : int32 (F, 3, 4)
        x, y, width and height of each feature's rectangles, zeros where unused.
    weights : float32 (F, 3)
        What each rectangle counts.
    tilted : bool (F,)
        Whether its rectangles are turned by 45 degrees.
    node_feature, node_threshold : (N,)
        The nodes of all trees, tree after tree: values below the threshold go left.
    node_left, node_right : int32 (N,)
        Above 0 a node, counted from the tree's first; else minus a leaf, counted from the tree's first.
    leaf : float32 (L,)
        What each leaf adds.
    tree_node, tree_leaf : int32 (T + 1,)
        Where each tree's nodes and leaves begin.
    stage_tree : int32 (S + 1,)
        Where each stage's trees begin.
    stage_threshold : float32 (S,)
        As written in the file. OpenCV rejects a sum below this minus 1e-5.
    stage_origin : int32 (S,), optional
        Which stage of the file each one comes from, -1 for a new one.
    """

    width: int
    height: int
    rects: NDArray[np.int32]
    weights: NDArray[np.float32]
    tilted: NDArray[np.bool_]
    node_feature: NDArray[np.int32]
    node_threshold: NDArray[np.float32]
    node_left: NDArray[np.int32]
    node_right: NDArray[np.int32]
    leaf: NDArray[np.float32]
    tree_node: NDArray[np.int32]
    tree_leaf: NDArray[np.int32]
    stage_tree: NDArray[np.int32]
    stage_threshold: NDArray[np.float32]
    stage_origin: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        kind = "stumps" if self.max_nodes == 1 else "trees"
        return (
            f"<cascade of {self.n_stages} stages, {self.n_trees} {kind}, for windows of {self.width} × "
            f"{self.height} pixels>"
        )

    @property
    def n_stages(self) -> int:
        """How many stages a window must pass."""
        return self.stage_threshold.size

    @property
    def n_trees(self) -> int:
        """How many weak classifiers all stages have together."""
        return self.tree_node.size - 1

    @property
    def n_features(self) -> int:
        """How many features the cascade holds, in use or not."""
        return int(self.weights.shape[0])

    @property
    def max_nodes(self) -> int:
        """How many nodes the largest tree has."""
        return int(np.diff(self.tree_node).max())

    @property
    def is_stumps(self) -> bool:
        """Whether every tree is a single node, and no feature is tilted."""
        return self.max_nodes == 1 and not self.tilted.any()

    @property
    def features(self) -> HaarFeatures:
        """All features."""
        return HaarFeatures(self.rects, self.weights, self.tilted)

    @property
    def leaf_pairs(self) -> NDArray[np.float32]:
        """Each stump's left and right leaf, (T, 2)."""
        self._require_stumps("leaf_pairs")
        return self.leaf.reshape(-1, 2)

    def trees_of(self, stage: int) -> slice:
        """Which trees a stage has: ``leaf_pairs[trees_of(0)]`` are the leaves of the first stage's stumps.

        Parameters
        ----------
        stage : int
            Its number, from 0.

        Returns
        -------
        slice
            Of the trees.
        """
        stage = as_count(stage, "stage", 0, self.n_stages - 1, "")
        return slice(int(self.stage_tree[stage]), int(self.stage_tree[stage + 1]))

    def stumps(self) -> CascadeStumps:
        """All stumps of all stages as weak hypotheses; +1 takes the right leaf.

        Returns
        -------
        CascadeStumps
            In the order of the cascade.
        """
        self._require_stumps("stumps()")
        at = self.node_feature
        return CascadeStumps(
            self.rects[at],
            self.weights[at],
            self.node_threshold,
            self.tilted[at],
            width=self.width,
            height=self.height,
        )

    def first(self, n_stages: int) -> Self:
        """Only the first stages.

        Parameters
        ----------
        n_stages : int
            How many.

        Returns
        -------
        Cascade
            A changed copy.
        """
        return self.pick(range(as_count(n_stages, "n_stages", 1, self.n_stages, "")))

    def pick(self, stages: Sequence[int]) -> Self:
        """Only these stages, in this order.

        Parameters
        ----------
        stages : sequence of int
            Their numbers, from 0.

        Returns
        -------
        Cascade
            A changed copy.

        Raises
        ------
        InputError
            If none is given.
        """
        chosen = [as_count(s, "stages", 0, self.n_stages - 1, "") for s in stages]
        if not chosen:
            raise InputError("stages must have at least one stage; got none.")
        trees = np.concatenate([np.arange(self.n_trees)[self.trees_of(s)] for s in chosen])
        nodes, leaves = _spans(self.tree_node, trees), _spans(self.tree_leaf, trees)
        return replace(
            self,
            node_feature=self.node_feature[nodes],
            node_threshold=self.node_threshold[nodes],
            node_left=self.node_left[nodes],
            node_right=self.node_right[nodes],
            leaf=self.leaf[leaves],
            tree_node=_starts(np.diff(self.tree_node)[trees]),
            tree_leaf=_starts(np.diff(self.tree_leaf)[trees]),
            stage_tree=_starts(np.diff(self.stage_tree)[chosen]),
            stage_threshold=self.stage_threshold[chosen],
            stage_origin=self._origin[chosen],
        )

    def with_thresholds(self, thresholds: ArrayLike) -> Self:
        """The same stages with other thresholds, one for each stage.

        Parameters
        ----------
        thresholds : array of shape (S,)
            One for each stage.

        Returns
        -------
        Cascade
            A changed copy.
        """
        return self._with(stage_threshold=as_singles(thresholds, (self.n_stages,), "thresholds", MAX_SINGLE))

    def with_leaves(self, leaf: ArrayLike) -> Self:
        """The same trees with other leaves.

        Parameters
        ----------
        leaf : array of shape (L,), or (T, 2) for stumps
            All leaves in order.

        Returns
        -------
        Cascade
            A changed copy.
        """
        given = np.array(leaf)
        if given.shape == (self.n_trees, 2) and self.max_nodes == 1:
            given = given.reshape(-1)
        return self._with(leaf=as_singles(given, (self.leaf.size,), "leaf"))

    def with_stage(
        self, feature: ArrayLike, threshold: ArrayLike, leaves: ArrayLike, *, stage_threshold: float
    ) -> Self:
        """A further stage at the end, of stumps over features that the cascade has.

        Parameters
        ----------
        feature : array of whole numbers, shape (n,)
            The features, as ``node_feature`` counts them.
        threshold : array of shape (n,)
            Values below take the left leaf.
        leaves : array of shape (n, 2)
            Left and right leaves.
        stage_threshold : float
            A sum below this minus 1e-5 is rejected.

        Returns
        -------
        Cascade
            A changed copy.

        Raises
        ------
        InputError
            If a feature does not exist, or the arrays differ in length.
        """
        at = np.array(feature)
        fits = at.ndim == 1 and at.size > 0 and at.dtype.kind in "iu"
        if not fits or at.min() < 0 or at.max() >= self.n_features:
            raise InputError(
                f"feature must be whole numbers from 0 to {self.n_features - 1}, at least one; got "
                f"{feature!r:.80}."
            )
        n = at.size
        last = as_singles([stage_threshold], (1,), "stage_threshold", MAX_SINGLE)
        return replace(
            self,
            node_feature=np.concatenate([self.node_feature, at.astype(np.int32)]),
            node_threshold=np.concatenate([self.node_threshold, as_singles(threshold, (n,), "threshold")]),
            node_left=np.concatenate([self.node_left, np.zeros(n, np.int32)]),
            node_right=np.concatenate([self.node_right, np.full(n, -1, np.int32)]),
            leaf=np.concatenate([self.leaf, as_singles(leaves, (n, 2), "leaves").reshape(-1)]),
            tree_node=_starts(np.append(np.diff(self.tree_node), np.ones(n, np.int32))),
            tree_leaf=_starts(np.append(np.diff(self.tree_leaf), np.full(n, 2, np.int32))),
            stage_tree=np.append(self.stage_tree, self.stage_tree[-1] + n).astype(np.int32),
            stage_threshold=np.append(self.stage_threshold, last),
            stage_origin=np.append(self._origin, np.int32(-1)).astype(np.int32),
        )

    def tree(self) -> Tree:
        """What a file of ocboost holds; OpenCV's are written by `CascadeFile.write`.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        arrays = {key: getattr(self, key).astype(dtype) for key, (dtype, _) in _SAVED.items()}
        return {"width": self.width, "height": self.height, **arrays, "stage_origin": self.stage_origin}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A cascade of what `tree` gave; one that could not be made is a `ModelFileError`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Cascade
            The same cascade.
        """
        return fields.make(
            cls,
            **{key: fields.count(key, most=MAX_SIDE) for key in ("width", "height")},
            **{key: fields.array(key, dtype, (None,) * axes) for key, (dtype, axes) in _SAVED.items()},
            stage_origin=None
            if fields.takes("stage_origin", None)
            else fields.array("stage_origin", np.int32, (None,)),
        )

    def _with(
        self, *, leaf: NDArray[np.float32] | None = None, stage_threshold: NDArray[np.float32] | None = None
    ) -> Self:
        """A copy with other numbers, checked; it shares whatever stays, as nobody can write to that."""
        made = copy(self)
        given = {"leaf": leaf, "stage_threshold": stage_threshold, "stage_origin": self._origin}
        for name, array in given.items():
            if array is not None:
                array.flags.writeable = False
                object.__setattr__(made, name, array)
        if (parts := vars(self).get("_window_parts")) is not None:
            vars(made)["_window_parts"] = parts._replace(leaf=made.leaf, bar=made._bar)
        return made

    @property
    def _bar(self) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.stage_threshold - OPENCV_TOLERANCE
        return found

    @property
    def _origin(self) -> NDArray[np.int32]:
        if self.stage_origin is None:
            return np.arange(self.n_stages, dtype=np.int32)
        return self.stage_origin

    @cached_property
    def _all_stumps(self) -> CascadeStumps:
        """What `stumps` gives, for those who change nothing in it."""
        return self.stumps()

    @cached_property
    def _window_parts(self) -> Parts:
        """The cascade for tables of single windows."""
        return self._parts(self.width, self.height)

    def _parts(self, width: int, height: int) -> Parts:
        """The cascade for the tables of an image of this size."""
        return Parts(
            self.features.corners(width, height),
            self.weights,
            self.node_feature,
            self.node_threshold,
            np.ascontiguousarray(np.stack([self.node_left, self.node_right], axis=1)),
            self.leaf,
            self.tree_node,
            self.tree_leaf,
            self.stage_tree,
            self._bar,
        )

    def _require_stumps(self, what: str) -> None:
        if self.max_nodes > 1:
            raise InputError(
                f"{what} must be asked of a cascade of stumps; this one has trees of up to {self.max_nodes} "
                "nodes. Take a cascade of stumps, such as haarcascade_frontalface_default."
            )


def _starts(counts: NDArray[Any]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def _spans(starts: NDArray[np.int32], members: NDArray[np.int64]) -> NDArray[np.int64]:
    """All places from each member's start to the next one's."""
    counts = np.diff(starts)[members]
    first = np.repeat(starts[members] - _starts(counts)[:-1], counts)
    return first + np.arange(first.size)


def _check(cascade: Cascade) -> None:
    """Check all numbers of a cascade, and make its arrays read-only."""
    as_window_size(cascade.width, cascade.height)
    checked = dict(as_haar(*cascade.features, cascade.width, cascade.height)._asdict())
    S = np.size(cascade.stage_threshold)
    for starts, low, most, total in (
        ("stage_tree", 1, MAX_STAGES, MAX_NODES),
        ("tree_node", 1, MAX_NODES, MAX_NODES),
        ("tree_leaf", 2, MAX_NODES, 2 * MAX_NODES),
    ):
        checked[starts] = _as_starts(getattr(cascade, starts), starts, low, most, total)
    T, N, L = (int(checked[starts][-1]) for starts in ("stage_tree", "tree_node", "tree_leaf"))
    _require(checked["stage_tree"].size == S + 1, f"stage_tree must be {S + 1} numbers for {S} stages")
    for starts in ("tree_node", "tree_leaf"):
        _require(checked[starts].size == T + 1, f"{starts} must be {T + 1} numbers for {T} trees")
    nodes = np.diff(checked["tree_node"])
    _require((np.diff(checked["tree_leaf"]) == nodes + 1).all(), "a tree must have one leaf more than nodes")
    checked["stage_threshold"] = as_singles(cascade.stage_threshold, (S,), "stage_threshold", MAX_SINGLE)
    checked["node_threshold"] = as_singles(cascade.node_threshold, (N,), "node_threshold")
    checked["leaf"] = as_singles(cascade.leaf, (L,), "leaf")
    tree = np.repeat(np.arange(T), nodes)
    own = np.arange(N) - checked["tree_node"][tree]
    last = nodes[tree]
    F = checked["weights"].shape[0]
    checked["node_feature"] = _as_places(cascade.node_feature, N, "node_feature")
    inside = (checked["node_feature"] >= 0) & (checked["node_feature"] < F)
    _require(inside.all(), f"node_feature must be from 0 to {F - 1}, the features there are")
    for side in ("node_left", "node_right"):
        child = checked[side] = _as_places(getattr(cascade, side), N, side)
        inside = (child >= -last) & (child < last)
        _require(inside.all(), f"{side} must be a node or a leaf of its tree")
        later = (child <= 0) | (child > own)
        _require(later.all(), f"{side} must lead to later nodes of its tree or to leaves")
    if nodes.max() == 1:  # OpenCV then takes the two leaves in their order and ignores the node's children
        plain = (checked["node_left"] == 0) & (checked["node_right"] == -1)
        _require(plain.all(), "node_left and node_right of stumps must be 0 and -1")
    if cascade.stage_origin is not None:
        checked["stage_origin"] = _as_places(cascade.stage_origin, S, "stage_origin")
    for name, array in checked.items():
        array.flags.writeable = False
        object.__setattr__(cascade, name, array)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise InputError(f"{what}. The cascade is not one that OpenCV could have written.")


def _as_places(values: Any, n: int, name: str) -> NDArray[np.int32]:
    found = np.array(values)
    fits = found.shape == (n,) and found.dtype.kind in "iu"
    if not fits or (n and np.abs(found.astype(np.int64)).max() > MAX_NODES):
        raise InputError(
            f"{name} must be {n} whole numbers, at most {MAX_NODES:,} in size; got {values!r:.80}."
        )
    return found.astype(np.int32)


def _as_starts(values: Any, name: str, low: int, most: int, total: int) -> NDArray[np.int32]:
    """Check where at most ``most`` things begin: each has at least ``low`` parts, all ``total`` at most."""
    found = np.array(values)
    if found.ndim != 1 or found.size < 2 or found.dtype.kind not in "iu" or found[0] != 0:
        raise InputError(f"{name} must be whole numbers that begin with 0; got {values!r:.80}.")
    starts = found.astype(np.int64)
    if np.diff(starts).min() < low or starts.size - 1 > most or starts[-1] > total:
        raise InputError(
            f"{name} must rise by at least {low} each, for at most {most:,} of them, to at most {total:,}; "
            f"got {values!r:.80}."
        )
    return starts.astype(np.int32)
