"""A fitted classifier that is a sum of trees, whatever library it is from."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.labels import classes_from, classes_tree
from ocboost._kernels.arrays import Floats
from ocboost._kernels.tree_values import add_leaf_values
from ocboost.errors import InputError
from ocboost.foreign.trees.nodes import TreeNodes, rows_of

MAX_LEAF = 1e30  # of a leaf's value: sums of such values are finite in single precision
LINKS = ("mean", "adaboost", "logistic", "softmax", "one against rest")


class PortableTrees:
    """Trees whose leaves are summed, and how the sums become probabilities.

    The sums start from ``start``, take the trees in order, and are divided by ``divisor``. Then

    - "mean": they are the probabilities;
    - "adaboost": they are the votes of scikit-learn's AdaBoostClassifier;
    - "logistic": the only one, times ``scale``, is the log-odds of the second class;
    - "softmax": they are the logarithms of the probabilities, up to a constant;
    - "one against rest": each, times ``scale``, is the log-odds of one class; their sum is not 1.

    Parameters
    ----------
    nodes : TreeNodes
    value : array of shape (leaves, V)
    classes : array of shape (K,)
    link : one of the five above
    group : array of shape (T,), optional
        The column of the sums at which the values of a tree begin; by default 0.
    start : array of shape (G,)
    divisor, scale : float
    zero_is_second : bool
        Whether log-odds of zero predict the second class, as scikit-learn's GradientBoostingClassifier does.
    single_sums : bool
        Whether every sum is rounded to single precision, as in XGBoost.
    by_column : bool
        Whether the sums of one class lie side by side in memory, which decides how those of many classes are
        rounded in a softmax.
    """

    kind: ClassVar[str] = "PortableTrees"

    def __init__(
        self,
        nodes: TreeNodes,
        value: ArrayLike,
        classes: NDArray[Any],
        link: str,
        *,
        group: ArrayLike | None = None,
        start: ArrayLike | None = None,
        divisor: float = 1.0,
        scale: float = 1.0,
        zero_is_second: bool = False,
        single_sums: bool = False,
        by_column: bool = False,
    ) -> None:
        self.nodes, self.classes, self.link = nodes, np.asarray(classes), link
        self.value = np.ascontiguousarray(value, dtype=np.float64)
        T, K = nodes.root.size, self.classes.size
        self.group = np.zeros(T, np.int32) if group is None else np.array(group, dtype=np.int32)
        self.n_sums = 1 if link == "logistic" else K
        self.start = np.zeros(self.n_sums) if start is None else np.array(start, dtype=np.float64)
        self.divisor, self.scale = float(divisor), float(scale)
        self.zero_is_second, self.single_sums = bool(zero_is_second), bool(single_sums)
        self.by_column = bool(by_column)
        self._check()

    def _check(self) -> None:
        if self.link not in LINKS:
            raise InputError(f"link must be one of {', '.join(LINKS)}; got {self.link!r:.80}.")
        K = self.classes.size
        if self.classes.ndim != 1 or K < 2 or (self.link == "logistic" and K != 2):
            raise InputError(
                f"classes must be at least two, and two for a logistic link; got {self.classes!r:.80}."
            )
        leaves, G = self.nodes.n_leaves, self.n_sums
        if self.value.ndim != 2 or self.value.shape[0] != leaves or not 0 < self.value.shape[1] <= G:
            raise InputError(
                f"value must be of shape ({leaves}, 1 to {G}), for the leaves; got {self.value.shape}."
            )
        if not (np.abs(self.value) <= MAX_LEAF).all():
            raise InputError(f"value must be finite, at most {MAX_LEAF:g}; got other numbers.")
        last = G - self.value.shape[1]
        if self.group.shape != self.nodes.root.shape or self.group.min() < 0 or self.group.max() > last:
            raise InputError(
                f"group must be a number from 0 to {last} for each tree; got {self.group!r:.80}."
            )
        if self.start.shape != (G,) or not (np.abs(self.start) <= MAX_LEAF).all():
            raise InputError(f"start must be {G} finite numbers; got {self.start!r:.80}.")
        for name, number in (("divisor", self.divisor), ("scale", self.scale)):
            if not 1.0 / MAX_LEAF <= number <= MAX_LEAF:
                raise InputError(f"{name} must be from {1 / MAX_LEAF:g} to {MAX_LEAF:g}; got {number}.")
        if self.link == "mean":
            whole = np.abs(self.value.sum(axis=1) - 1.0) < 1e-3
            fits = whole.all() and self.value.min() >= 0.0 and self.value.shape[1] == K
            if not fits or self.start.any() or self.divisor != self.nodes.root.size:
                raise InputError("value must be the probabilities of K classes if the link is 'mean'.")

    @property
    def n_columns(self) -> int:
        """Columns of a row."""
        return self.nodes.n_columns

    @property
    def vocabularies(self) -> dict[int, tuple[str, ...]]:
        """The texts of each column of texts; rows hold their places in them."""
        return self.nodes.vocabularies

    @property
    def reads(self) -> tuple[int, ...]:
        """The columns that any tree looks at."""
        return self.nodes.reads

    def __repr__(self) -> str:
        return (
            f"<{self.nodes.root.size} trees over {len(self.reads)} of {self.n_columns} columns, for "
            f"{self.classes.size} classes>"
        )

    def _sums(self, X: Any) -> NDArray[np.floating]:
        """The sums of leaves, (n, G), before the link."""
        nodes = self.nodes
        X = nodes.prepared(rows_of(X, nodes.n_columns))
        out = np.empty((X.shape[0], self.n_sums))
        out[:] = self.start
        add_leaf_values(X, nodes.node, nodes.words, nodes.root, self.group, self.value, self.single_sums, out)
        if self.divisor != 1.0:
            out /= self.divisor
        return out.astype(np.float32) if self.single_sums else out

    def probabilities(self, X: Any) -> Floats:
        """The probabilities of the classes for rows X, (n, K)."""
        sums = self._sums(X)
        if self.by_column:
            sums = np.asfortranarray(sums)
        if self.link == "mean":
            out = sums
        elif self.link == "adaboost":
            out = _of_votes(sums)
        elif self.link == "softmax":
            out = _softmax(sums)
        elif self.link == "one against rest":
            out = _expit(self.scale * sums)
        else:
            out = np.empty((sums.shape[0], 2), sums.dtype)
            out[:, 1] = _expit(self.scale * sums[:, 0] if self.scale != 1.0 else sums[:, 0])
            out[:, 0] = 1 - out[:, 1]
        return out.astype(np.float64, copy=False)

    def predict_codes(self, X: Any) -> NDArray[np.int64]:
        """What the model predicts for rows X, as places in ``classes``."""
        sums = self._sums(X)
        if self.link == "adaboost" and self.classes.size == 2:
            sums = (sums[:, 1] - sums[:, 0])[:, None]
        if sums.shape[1] > 1:
            return np.asarray(np.argmax(sums, axis=1), dtype=np.int64)
        second = sums[:, 0] >= 0.0 if self.zero_is_second else sums[:, 0] > 0.0
        return second.astype(np.int64)

    def tree(self) -> Tree:
        """The contents of a file."""
        return {
            "nodes": self.nodes.tree(),
            "classes": classes_tree(self.classes),
            **{name: getattr(self, name) for name in _MODEL_FIELDS},
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The inverse of `tree`."""
        nodes = fields.read("nodes", TreeNodes.from_tree)
        classes = fields.read("classes", classes_from)
        return fields.make(
            cls,
            nodes,
            classes=classes,
            **{name: take(fields, name) for name, take in _MODEL_FIELDS.items()},
        )


def _positive(fields: Fields, key: str) -> float:
    return fields.number(key, 1.0 / MAX_LEAF, 2.0 * MAX_LEAF)


_MODEL_FIELDS: dict[str, Any] = {
    "value": lambda fields, key: fields.array(key, np.float64, (None, None)),
    "link": Fields.text,
    "group": lambda fields, key: fields.array(key, np.int32, (None,)),
    "start": lambda fields, key: fields.array(key, np.float64, (None,)),
    "divisor": _positive,
    "scale": _positive,
    "zero_is_second": Fields.flag,
    "single_sums": Fields.flag,
    "by_column": Fields.flag,
}


def _expit(x: NDArray[np.floating]) -> Any:
    from scipy.special import expit

    return expit(x)


def _softmax(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """As scikit-learn computes it, to the last bit."""
    out: NDArray[np.floating] = scores - scores.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


def _of_votes(votes: NDArray[np.floating]) -> NDArray[np.floating]:
    """Probabilities of AdaBoostClassifier's votes for K classes."""
    K = votes.shape[1]
    if K > 2:
        return _softmax(votes / (K - 1))
    decision = votes[:, 1] - votes[:, 0]
    return _softmax(np.stack([-decision, decision], axis=1) / 2.0)
