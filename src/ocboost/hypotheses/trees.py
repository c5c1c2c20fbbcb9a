"""Decision trees of any depth, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.tree_shape import as_flags, as_nodes, check_shape
from ocboost._kernels.trees import NODE, WALKED, Plan, answer_trees, lay_out, mark_reached, measure_trees
from ocboost.errors import InputError
from ocboost.hypotheses.base import (
    SINGLE_FEATURE_SETTINGS,
    ArrayHypotheses,
    FeatureLines,
    Hypotheses,
    as_thresholds,
    rounded_down,
)

MAX_ANSWERS = 1 << 24  # columns: a block of rows would not fit into memory beyond
_MAX_INNER_NODES = 127  # of the largest tree that is answered by operations; its leaves are int8
_MAX_INNER_PER_LEVEL = 20  # of such a tree: beyond that many a level, a walk is quicker


class Trees(ArrayHypotheses):
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
    _arrays: ClassVar = {
        "root": (np.int32, (None,)),
        "feature": (np.int32, (None,)),
        "threshold": (np.float64, (None,)),
        "left": (np.int32, (None,)),
        "right": (np.int32, (None,)),
        "answer": (np.int8, (None, None)),
        "missing_left": (np.int8, (None,)),
    }
    _settings: ClassVar = SINGLE_FEATURE_SETTINGS

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
        self.root = as_nodes(root, "root")
        self.feature = as_nodes(feature, "feature")
        nodes, T = self.feature.size, self.root.size
        self.left = as_nodes(left, "left", nodes)
        self.right = as_nodes(right, "right", nodes)
        self.threshold = as_thresholds(threshold, nodes, "node")
        self.answer = _as_answers(answer, nodes)
        self.n_answers = int(self.answer.shape[1])
        if T * self.n_answers > MAX_ANSWERS:
            raise InputError(
                f"trees must give at most {MAX_ANSWERS} answers; got {T} trees of {self.n_answers}."
            )
        self.missing_left = as_flags(missing_left, nodes)
        self._features = FeatureLines(self.feature, n_features, precision, leaves=True)
        self.n_hypotheses = T * self.n_answers
        self.n_features, self.precision = self._features.n_features, precision
        self._settled: dict[int, NDArray[np.int8]] = {}
        check_shape(self.root, self.feature, self.left, self.right)
        self._lay_out()

    def _lay_out(self) -> None:
        depth, inner = np.empty((2, self.feature.size), np.int64)
        measure_trees(self.left, self.right, depth, inner)
        distinct, tree = np.unique(self.root.astype(np.int64), return_inverse=True)
        depth, inner = depth[distinct], inner[distinct]
        walked = (inner > _MAX_INNER_NODES) | (inner > _MAX_INNER_PER_LEVEL * depth)
        operations, walks = np.where(walked, 0, inner), np.where(walked, 2 * inner + 1, 0)
        n, G = int(operations.sum()), self.n_answers
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
            self._features.lines,
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

    def __repr__(self) -> str:
        each = f", {self.n_answers} answers each" if self.n_answers > 1 else ""
        return f"<{self.root.size} trees of {self.feature.size} nodes{each}, over {self._features}>"

    def __getitem__(self, members: Any) -> Self:
        at = self._indices(members)
        if at.size == 0:
            raise InputError("members must name at least one hypothesis; got none.")
        group, tree = np.divmod(at, self.root.size)
        same = int(np.argmax(np.append(group != group[0], True)))  # how many in a row have the first answer
        if at.size % same == 0:
            groups, trees = group.reshape(-1, same), tree.reshape(-1, same)
            if (groups == groups[:, :1]).all() and (trees == trees[0]).all():
                return self._made_of(self.root[trees[0]], groups[:, 0], 1)
        # Any other choice: one copy of the nodes for each answer, and one answer for each copy.
        groups, copy = np.unique(group, return_inverse=True)
        return self._made_of(self.root[tree] + copy * self.feature.size, groups, groups.size)

    @classmethod
    def concatenated(cls, sets: Sequence[Hypotheses]) -> Self | None:
        """All trees of several sets as one, if they are trees of one answer each.

        Parameters
        ----------
        sets : sequence of Hypotheses
            In their order.

        Returns
        -------
        Hypotheses or None
            None where they differ.
        """
        same = [each for each in sets if type(each) is cls and each.n_answers == 1]
        if len(same) < len(sets) or any(each._own_settings() != same[0]._own_settings() for each in same):
            return None
        arrays: dict[str, Any] = {
            key: np.concatenate([getattr(each, key) for each in same]) for key in cls._arrays
        }
        nodes = np.array([each.feature.size for each in same])
        arrays["root"] = arrays["root"] + np.repeat(_before(nodes), [each.root.size for each in same])
        for key in ("left", "right"):
            arrays[key] = np.where(arrays[key] < 0, -1, arrays[key] + np.repeat(_before(nodes), nodes))
        return cls(**arrays, **same[0]._own_settings())

    def _made_of(self, root: NDArray[Any], groups: NDArray[Any], copies: int) -> Self:
        """The trees at ``root`` of some copies of the nodes; nodes not needed are left out."""
        nodes = self.feature.size
        shift = np.repeat(np.arange(copies) * nodes, nodes)
        feature = np.tile(self.feature, copies)
        left = np.where(feature < 0, -1, np.tile(self.left, copies) + shift)
        right = np.where(feature < 0, -1, np.tile(self.right, copies) + shift)
        answer = self.answer[:, groups] if copies == 1 else self.answer[:, groups].T.reshape(-1, 1)
        root = as_nodes(root, "root")
        keep = mark_reached(root, as_nodes(left, "left"), as_nodes(right, "right"))
        to = np.append(np.cumsum(keep) - 1, -1)  # -1 stays -1
        return type(self)(
            to[root],
            feature[keep],
            np.tile(self.threshold, copies)[keep],
            to[left[keep]],
            to[right[keep]],
            answer[keep],
            np.tile(self.missing_left, copies)[keep],
            **self._own_settings(),
        )

    def settled(self, group: int) -> NDArray[np.int8]:
        """For each node answer ``group`` of all leaves below it, 0 where they differ; computed once.

        Parameters
        ----------
        group : int
            Which of the answers.

        Returns
        -------
        int8 array
            One for each node.
        """
        known = self._settled
        if group not in known:
            found = self.answer[:, group].tolist()
            left, right = self.left.tolist(), self.right.tolist()
            for v in np.flatnonzero(self.feature >= 0)[::-1].tolist():  # children come after their parents
                a, b = found[left[v]], found[right[v]]
                found[v] = a if a == b else 0
            # Another dictionary: somebody may be copying this one.
            known = self._settled = {**known, group: np.array(found, np.int8)}
        return known[group]

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        lines = self._features.gather(X)
        limit = self._single if lines.dtype == np.float32 else self._limit
        values = np.empty((self._lines, X.shape[0]), np.int8)
        answer_trees(lines, self._plan, limit, values, self._constants, block)


def _before(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each one starts if they lie one after the other."""
    return np.cumsum(counts) - counts


def _as_answers(values: ArrayLike, nodes: int) -> NDArray[np.int8]:
    array = np.array(values)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != nodes or array.shape[1] == 0 or not np.isin(array, (-1, 1)).all():
        raise InputError(
            f"answer must be -1 and +1, of shape ({nodes}, answers of each leaf); got {values!r:.80}."
        )
    return np.ascontiguousarray(array, dtype=np.int8)
