"""Decision trees of any depth, as flat arrays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.trees import NODE, WALKED, Plan, answer_trees, lay_out, mark_reached, measure_trees
from ocboost.errors import InputError
from ocboost.hypotheses.base import MOST_FEATURES, PRECISIONS, FeatureLines, Hypotheses, rounded_down
from ocboost.hypotheses.stumps import whole

MOST = 1 << 24  # columns, and more than a block of rows could be answered for
_INNER = 127  # inner nodes of the largest tree that is answered by operations; its leaves are int8
_PER_LEVEL = 20  # and that many for each of its levels, beyond which a walk is quicker
_TYPES: dict[str, Any] = {
    "root": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "answer": np.int8,
    "missing_left": np.int8,
}


class Trees(Hypotheses):
    """T decision trees, each walked once for G answers: J = T·G, and column g·T + t is answer g of tree t.

    At an inner node a row goes left where ``x[feature] <= threshold``, and right above. The answers are those
    of the leaf it comes to. With G > 1 the columns of one answer, say of one class, are consecutive.

    Parameters
    ----------
    root : array of shape (T,)
        The node each tree starts at. The same tree may be named more than once.
    feature : array of shape (nodes,)
        Which feature a node looks at; -1 at a leaf.
    threshold : array of shape (nodes,)
        Any number but NaN; not used at a leaf.
    left, right : arrays of shape (nodes,)
        The children, which come after their parent, and have one parent only; -1 at a leaf.
    answer : array of shape (nodes, G) or (nodes,) of ±1
        The answers of a leaf; not used elsewhere.
    missing_left : array of shape (nodes,) of 0 and 1, optional
        Whether a row goes left where its feature is NaN; by default right.
    n_features : int, optional
        Features of a row; by default as many as the trees need.
    precision : {"double", "single"}, default "double"
        "single" rounds features to float32 before they are compared, as scikit-learn's trees do.

    Examples
    --------
    +1 if the first feature is at most 1 and the second at most 5:

    >>> trees = Trees(
    ...     root=[0],
    ...     feature=[0, 1, -1, -1, -1],
    ...     threshold=[1, 5, 0, 0, 0],
    ...     left=[1, 2, -1, -1, -1],
    ...     right=[4, 3, -1, -1, -1],
    ...     answer=[1, 1, 1, -1, -1],
    ... )
    >>> trees.answers(np.array([[0.0, 5.0], [0.0, 6.0], [2.0, 5.0]]))
    array([[ 1],
           [-1],
           [-1]], dtype=int8)
    """

    kind = "Trees"
    accepts_missing = True
    accepts_sparse = True

    def __init__(
        self,
        root: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        answer: ArrayLike,
        missing_left: ArrayLike | None = None,
        *,
        n_features: int | None = None,
        precision: str = "double",
    ) -> None:
        self.root = _indices(root, "root")
        self.feature = _indices(feature, "feature")
        nodes, T = self.feature.size, self.root.size
        self.left = _indices(left, "left", nodes)
        self.right = _indices(right, "right", nodes)
        self.threshold = np.array(threshold, dtype=np.float64)
        if self.threshold.shape != (nodes,) or np.isnan(self.threshold).any():
            raise InputError(f"threshold must be {nodes} numbers, one for each node; got {threshold!r:.80}.")
        self.answer = _answers(answer, nodes)
        if T * self.answer.shape[1] > MOST:
            raise InputError(
                f"trees must give at most {MOST} answers; got {T} trees of {self.answer.shape[1]}."
            )
        self.missing_left = _flags(missing_left, nodes)
        if precision not in PRECISIONS:
            raise InputError(f"precision must be 'double' or 'single'; got {precision!r:.80}.")
        self.precision = precision
        least = max(1, int(self.feature.max()) + 1)
        self._n_features = least if n_features is None else int(n_features)
        if self.feature.min() < -1 or self._n_features < least:
            raise InputError(
                f"feature must lie between 0 and n_features - 1 = {self._n_features - 1}, or be -1 at a "
                f"leaf; got {int(self.feature.min())} to {least - 1}."
            )
        self._check_shape()
        self._lay_out()

    def _check_shape(self) -> None:
        """Children must come after their parents: whoever walks on comes to an end."""
        nodes, own = self.feature.size, np.arange(self.feature.size)
        leaf = self.feature < 0
        for name, child in (("left", self.left), ("right", self.right)):
            bad = np.where(leaf, child != -1, (child <= own) | (child >= nodes))
            if bad.any():
                v = int(np.argmax(bad))
                what = "-1, for it is a leaf" if leaf[v] else f"a node from {v + 1} to {nodes - 1}"
                raise InputError(f"{name} of node {v} must be {what}; got {int(child[v])}.")
        parents = np.bincount(np.concatenate([self.left[~leaf], self.right[~leaf]]), minlength=nodes)
        if (parents > 1).any():
            v = int(np.argmax(parents > 1))
            raise InputError(f"left and right must name each node once; got {int(parents[v])} times {v}.")
        if self.root.min() < 0 or self.root.max() >= nodes:
            raise InputError(
                f"root must lie between 0 and {nodes - 1}; "
                f"got {int(self.root.min())} to {int(self.root.max())}."
            )
        if parents[self.root].any():
            v = int(self.root[np.argmax(parents[self.root])])
            raise InputError(f"root must be nodes that are nobody's child; got {v}.")

    def _lay_out(self) -> None:
        depth, inner = np.empty((2, self.feature.size), np.int64)
        measure_trees(self.left, self.right, depth, inner)
        is_inner = self.feature >= 0
        used, line = np.unique(self.feature[is_inner], return_inverse=True)
        self._n_used = used.size
        self._features = FeatureLines(used.astype(np.int64), self._n_features, self.precision)
        lines = np.zeros(self.feature.size, np.int64)
        lines[is_inner] = line
        distinct, tree = np.unique(self.root.astype(np.int64), return_inverse=True)
        depth, inner = depth[distinct], inner[distinct]
        walked = (inner > _INNER) | (inner > _PER_LEVEL * depth)
        operations, walks = np.where(walked, 0, inner), np.where(walked, 2 * inner + 1, 0)
        n, G = int(operations.sum()), self.answer.shape[1]
        self._constants = 2 if G == 1 else int(operations.max()) + 1
        self._lines = self._constants + int(operations.max())
        first, leaf = np.where(walked, _before(walks), _before(operations)), _before(inner + 1)
        self._plan = Plan(
            tree=tree.astype(np.int64),
            first=first,
            last=np.where(walked, WALKED, first + operations),
            leaf=leaf,
            line=np.empty(n, np.int64),
            missing_left=np.empty(n, np.int8),
            yes=np.empty(n, np.int64),
            no=np.empty(n, np.int64),
            to=np.empty(n, np.int64),
            result=np.zeros(distinct.size, np.int64),
            node=np.empty(int(walks.sum()), NODE),
            answer=np.empty((int((inner + 1).sum()), G), np.int8),
        )
        self._limit = np.empty(n)
        lay_out(
            distinct,
            lines,
            self.threshold,
            self.left,
            self.right,
            self.missing_left,
            self.answer,
            self._constants,
            self._plan,
            self._limit,
        )
        self._single = rounded_down(self._limit)

    @property
    def n_hypotheses(self) -> int:
        """J: trees times answers of each."""
        return self.root.size * self.n_answers

    @property
    def n_answers(self) -> int:
        """G: answers of each tree."""
        return int(self.answer.shape[1])

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self._n_features

    def __repr__(self) -> str:
        each = f", {self.n_answers} answers each" if self.n_answers > 1 else ""
        return (
            f"<{self.root.size} trees of {self.feature.size} nodes{each}, "
            f"over {self._n_used} of {self._n_features} features>"
        )

    def __getitem__(self, members: Any) -> Self:
        T = self.root.size
        members = np.atleast_1d(np.arange(len(self))[members])
        if members.size == 0:
            raise InputError("members must name at least one hypothesis; got none.")
        group, tree = np.divmod(members, T)
        same = int(np.argmax(np.append(group != group[0], True)))  # how long the first answer goes on
        if members.size % same == 0:
            groups, trees = group.reshape(-1, same), tree.reshape(-1, same)
            if (groups == groups[:, :1]).all() and (trees == trees[0]).all():
                return self._made_of(self.root[trees[0]], groups[:, 0], 1)
        # Any other choice: one copy of the nodes for each answer, and one answer for each copy.
        groups, copy = np.unique(group, return_inverse=True)
        return self._made_of(self.root[tree] + copy * self.feature.size, groups, groups.size)

    def beside(self, other: Hypotheses) -> Self | None:
        """These and then the others, if they are trees of one answer each, as these are."""
        if not isinstance(other, Trees) or self.answer.shape[1] != 1 or other.answer.shape[1] != 1:
            return None
        if (self.precision, self._n_features) != (other.precision, other._n_features):
            return None
        n = self.feature.size
        left, right = (np.where(child < 0, -1, child + n) for child in (other.left, other.right))
        return type(self)(
            np.concatenate([self.root, other.root + n]),
            np.concatenate([self.feature, other.feature]),
            np.concatenate([self.threshold, other.threshold]),
            np.concatenate([self.left, left]),
            np.concatenate([self.right, right]),
            np.concatenate([self.answer, other.answer]),
            np.concatenate([self.missing_left, other.missing_left]),
            n_features=self._n_features,
            precision=self.precision,
        )

    def _made_of(self, root: NDArray[Any], groups: NDArray[Any], copies: int) -> Self:
        """The trees at ``root`` of so many copies of the nodes; nodes not needed are left out."""
        nodes = self.feature.size
        shift = np.repeat(np.arange(copies) * nodes, nodes)
        feature = np.tile(self.feature, copies)
        left = np.where(feature < 0, -1, np.tile(self.left, copies) + shift)
        right = np.where(feature < 0, -1, np.tile(self.right, copies) + shift)
        answer = self.answer[:, groups] if copies == 1 else self.answer[:, groups].T.reshape(-1, 1)
        root = _indices(root, "root")
        keep = mark_reached(root, _indices(left, "left"), _indices(right, "right"))
        to = np.append(np.cumsum(keep) - 1, -1)  # -1 stays -1
        return type(self)(
            to[root],
            feature[keep],
            np.tile(self.threshold, copies)[keep],
            to[left[keep]],
            to[right[keep]],
            answer[keep],
            np.tile(self.missing_left, copies)[keep],
            n_features=self._n_features,
            precision=self.precision,
        )

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        lines = self._features.gather(X)
        limit = self._single if lines.dtype == np.float32 else self._limit
        values = np.empty((self._lines, X.shape[0]), np.int8)
        answer_trees(lines, self._plan, limit, values, self._constants, block)

    def tree(self) -> Tree:
        """What a file holds."""
        arrays = {key: getattr(self, key) for key in _TYPES}
        return {"n_features": self._n_features, "precision": self.precision, **arrays}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Trees from what a file holds."""
        arrays = {
            key: fields.array(key, dtype, (None, None) if key == "answer" else (None,))
            for key, dtype in _TYPES.items()
        }
        return fields.make(
            cls,
            **arrays,
            n_features=fields.count("n_features", 1, MOST_FEATURES),
            precision=fields.text("precision"),
        )


def _before(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each one starts if they lie one after the other."""
    return np.cumsum(counts) - counts


def _indices(values: ArrayLike, name: str, n: int | None = None) -> NDArray[np.int32]:
    array = whole(values, name)
    if array.ndim != 1 or array.size == 0 or n not in (None, array.size):
        many = "at least one whole number" if n is None else f"{n} whole numbers, one for each node"
        raise InputError(f"{name} must be a list of {many}; got shape {array.shape}.")
    if array.min() < -1 or array.max() >= np.iinfo(np.int32).max:
        raise InputError(
            f"{name} must be at least -1 and less than 2**31 - 1; "
            f"got {int(array.min())} to {int(array.max())}."
        )
    return array.astype(np.int32)


def _answers(values: ArrayLike, nodes: int) -> NDArray[np.int8]:
    array = np.array(values)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != nodes or array.shape[1] == 0 or not np.isin(array, (-1, 1)).all():
        raise InputError(
            f"answer must be -1 and +1, of shape ({nodes}, answers of each leaf); got {values!r:.80}."
        )
    return np.ascontiguousarray(array, dtype=np.int8)


def _flags(values: ArrayLike | None, nodes: int) -> NDArray[np.int8]:
    if values is None:
        return np.zeros(nodes, np.int8)
    array = np.array(values)
    if array.shape != (nodes,) or not np.isin(array, (0, 1)).all():
        raise InputError(f"missing_left must be {nodes} times 0 or 1, one for each node; got {values!r:.80}.")
    return array.astype(np.int8)
