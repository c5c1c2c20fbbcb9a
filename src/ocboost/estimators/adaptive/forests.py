"""Three rolling forests: trees built from the latest rows of a stream, by the hundred."""

from __future__ import annotations

from typing import Self

import numpy as np

from ocboost._core.codec import MAX_COUNT, Fields, Tree
from ocboost._kernels.arrays import Floats, Ints
from ocboost._kernels.forest_trees import (
    DEPTH,
    EDGES,
    EVERY,
    FIRST_LEAF,
    FIRST_NODE,
    FORESTS,
    KEPT,
    MOST_LEAVES,
    MOST_NODES,
    NODE,
    TREES,
    code_rows,
)
from ocboost._kernels.forests import HEAVIEST, forest_logits, learn_rows

FIRST_ROOM = 125  # rows; doubled until all that are kept have room
_MOST_COUNT = 1e12  # in a leaf: more than any window holds


class RollingForests:
    """Three forests of ten trees each, of the last 4000, 1000 and 300 rows.

    Every 200, 50 and 20 rows a forest builds a tree of depth 8, 8 and 6 in the place of its oldest: from a
    sample with replacement of its window, by the Gini index, a few random features at each node. Between
    that, leaves keep counting the rows that fall into them and fade by 1 % each time.

    Arguments are not checked: this is a part of classifiers that do. Features are float64, finite or NaN.
    Weights count as 10⁶ at most when trees are built, and as one at most in leaves; rows of weight zero are
    passed over. The same seed and rows give the same bits, however the rows are split into calls.

    Parameters
    ----------
    n_features, n_classes : int
    seed : int, default 0
        From 0 to 2⁶⁴ - 1.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> forests = RollingForests(2, 2)
    >>> forests.learn_many(X, (X[:, 0] * X[:, 1] > 0).astype(np.int64))
    >>> logits = np.empty((3, 2))
    >>> forests.logits(np.array([1.0, 1.0]), logits)
    >>> logits.argmax(axis=1), forests.n_trees
    (array([1, 1, 1]), (2, 10, 10))
    """

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes = n_features, n_classes
        self._clock = np.array([seed, 0], np.uint64)
        self._edges = np.full((n_features, EDGES), np.inf)
        self._splits = np.zeros(n_features, np.int8)
        self._nodes = np.zeros(FIRST_NODE[-1], NODE)
        self._nodes["left"] = -1
        self._counts = np.zeros((FIRST_LEAF[-1], n_classes))
        self._make_room(FIRST_ROOM)
        self._one_code, self._one_weight = np.zeros(1, np.int64), np.zeros(1)  # arguments of `learn`

    def _make_room(self, n: int) -> None:
        self._rows = np.zeros((n, self.n_features))
        self._labels = np.zeros(n, np.int32)
        self._weights = np.zeros(n)
        self._codes = np.zeros((self.n_features, n), np.uint8)

    def _grow(self, n: int) -> None:
        """Make room for n more rows, or all that are ever kept."""
        room = before = self._labels.size
        while room < min(self.n_seen + n, KEPT):
            room = min(2 * room, KEPT)
        if room > before:
            rows, labels, weights, codes = self._rows, self._labels, self._weights, self._codes
            self._make_room(room)
            self._rows[:before], self._labels[:before] = rows, labels
            self._weights[:before], self._codes[:, :before] = weights, codes

    # Use --------------------------------------------------------------------------------------------------

    @property
    def n_seen(self) -> int:
        """How many rows it has learnt from."""
        return int(self._clock[1])

    @property
    def n_trees(self) -> tuple[int, ...]:
        """How many trees each forest has."""
        return tuple(min(TREES, self.n_seen // every) for every in EVERY)

    def logits(self, x: Floats, out: Floats) -> None:
        """Each forest's logarithms of the probabilities of the classes for one row, into (3, K)."""
        forest_logits(x[None], self._clock, self._nodes, self._counts, out[None])

    def logits_many(self, X: Floats, out: Floats) -> None:
        """The same for a matrix of rows, into (n, 3, K)."""
        forest_logits(X, self._clock, self._nodes, self._counts, out)

    def learn(self, x: Floats, code: int, weight: float = 1.0) -> None:
        """Take in one row: count it in its leaves, keep it, build trees that are due."""
        self._one_code[0], self._one_weight[0] = code, weight
        self.learn_many(x[None], self._one_code, self._one_weight)

    def learn_many(self, X: Floats, codes: Ints, weights: Floats | None = None) -> None:
        """The same as row by row, bit for bit; trees that would be replaced on the way are not built."""
        if self._labels.size < KEPT:
            self._grow(len(X))
        learn_rows(
            X,
            codes,
            np.ones(len(X)) if weights is None else weights,
            self._clock,
            self._rows,
            self._labels,
            self._weights,
            self._codes,
            self._edges,
            self._splits,
            self._nodes,
            self._counts,
        )

    def importances(self) -> Floats:
        """By how much the splits on each feature lower the Gini index of the rows in the leaves: (3, F)."""
        found = np.zeros((FORESTS, self.n_features))
        each = np.arange(TREES)
        for f in range(FORESTS):
            nodes = self._nodes[FIRST_NODE[f] : FIRST_NODE[f + 1]].reshape(TREES, -1)
            counts = self._counts[FIRST_LEAF[f] : FIRST_LEAF[f + 1]].reshape(TREES, -1, self.n_classes)
            left, n = nodes["left"], MOST_NODES[f]
            reached = np.zeros((TREES, n), np.bool_)
            reached[:, 0] = True
            for v in range(n):
                inner = each[reached[:, v] & (left[:, v] >= 0)]
                reached[inner, left[inner, v]] = reached[inner, left[inner, v] + 1] = True
            below = np.zeros((TREES, n, self.n_classes))
            for v in range(n - 1, -1, -1):  # children come after their parents
                leaf, inner = each[reached[:, v] & (left[:, v] < 0)], each[reached[:, v] & (left[:, v] >= 0)]
                below[leaf, v] = counts[leaf, -1 - left[leaf, v]]
                below[inner, v] = below[inner, left[inner, v]] + below[inner, left[inner, v] + 1]
            pure = (below**2).sum(axis=2) / np.maximum(below.sum(axis=2), 1e-300)  # Σ n²/n of each node
            tree, node = np.nonzero(reached & (left >= 0))
            child = left[tree, node]
            gain = pure[tree, child] + pure[tree, child + 1] - pure[tree, node]
            np.add.at(found[f], nodes["feature"][tree, node], np.maximum(gain, 0.0))
        return found

    @property
    def nbytes(self) -> int:
        """How much memory its arrays take."""
        return sum(array.nbytes for array in vars(self).values() if isinstance(array, np.ndarray))

    def copy(self) -> Self:
        """An independent copy, which continues as this one."""
        other = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, np.ndarray) else value)
        return other

    # Files ------------------------------------------------------------------------------------------------

    def tree(self) -> Tree:
        """What a file holds of it: all but the codes, which follow from the rows and the edges."""
        kept = min(self.n_seen, KEPT)
        return {
            "clock": self._clock.copy(),
            "rows": self._rows[:kept].copy(),
            "labels": self._labels[:kept].copy(),
            "weights": self._weights[:kept].copy(),
            "edges": self._edges.copy(),
            "splits": self._splits.copy(),
            **{name: self._nodes[name].copy() for name in NODE.names or ()},
            "counts": self._counts.copy(),
        }

    @classmethod
    def from_tree(cls, fields: Fields, n_features: int, n_classes: int) -> Self:
        """The forests that `tree` described, every entry checked."""
        forests = cls(n_features, n_classes)
        fields.fill({"clock": forests._clock})
        fields.require(forests._clock[1] <= MAX_COUNT, "it has seen too many rows")
        kept = min(forests.n_seen, KEPT)
        rows = fields.array("rows", np.float64, (kept, n_features))
        labels = fields.array("labels", np.int32, (kept,))
        weights = fields.array("weights", np.float64, (kept,))
        fields.require(not np.isinf(rows).any(), "its rows must be finite numbers, or NaN")
        fields.require(((labels >= 0) & (labels < n_classes)).all(), "its labels must be among the classes")
        fields.require(((weights > 0) & (weights <= HEAVIEST)).all(), "its weights must be positive")
        forests._grow(0)
        forests._rows[:kept], forests._labels[:kept], forests._weights[:kept] = rows, labels, weights
        forests._fill(fields)
        code_rows(forests._rows[:kept], forests._edges, forests._codes)
        return forests

    def _fill(self, fields: Fields) -> None:
        """Take the edges and the trees of a file."""
        nodes = self._nodes
        fields.fill({"edges": self._edges, "splits": self._splits, "counts": self._counts})
        fields.fill({name: nodes[name] for name in NODE.names or ()})
        ordered = (self._edges[:, 1:] >= self._edges[:, :-1]).all() and (self._edges[:, -1] == np.inf).all()
        fields.require(ordered, "its edges must be in order, and the last infinite")
        fields.require(((self._splits >> 1) == 0).all(), "its splits must be 0 or 1")
        possible = (self._counts >= 0.0) & (self._counts <= _MOST_COUNT)
        fields.require(possible.all(), "its counts must be finite and not negative")
        fields.require(not np.isnan(nodes["threshold"]).any(), "a threshold must not be NaN")
        inside = (nodes["feature"] >= 0) & (nodes["feature"] < self.n_features)
        fields.require(inside.all(), "a feature of its nodes does not exist")
        for f in range(FORESTS):
            left = nodes["left"][FIRST_NODE[f] : FIRST_NODE[f + 1]].reshape(TREES, -1)
            child = (left > np.arange(MOST_NODES[f])) & (left < MOST_NODES[f] - 1)
            leaf = (left < 0) & (left >= -MOST_LEAVES[f])
            fields.require((child | leaf).all(), "the children of a node must come after it, in its tree")
            tree, at = np.arange(TREES), np.zeros(TREES, np.int64)
            for _ in range(DEPTH[f]):
                inner = left[tree, at] >= 0
                tree, at = tree[inner], left[tree, at][inner]
                tree, at = np.concatenate([tree, tree]), np.concatenate([at, at + 1])
            fields.require((left[tree, at] < 0).all(), "a tree is too deep")
