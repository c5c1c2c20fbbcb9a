"""The nodes of trees of other libraries, as flat arrays: splits by threshold or by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.tree_shape import as_flags, as_nodes, check_shape
from ocboost._kernels.arrays import Floats
from ocboost._kernels.tree_values import MISSING_LEFT, TREE_NODE, ZERO_MISSING, code_columns
from ocboost._kernels.trees import mark_reached
from ocboost.errors import InputError

MAX_CATEGORIES = 1 << 16  # of a column
MAX_TREE_COLUMNS = 1 << 24
MAX_TREES = 1 << 24
_NO_SET = -1


class TreeNodes:
    """T trees over C columns; the leaves are numbered in the order of their nodes.

    At an inner node a row goes left where ``x[feature] <= threshold``, or where x is in the node's set of
    categories. Where x is NaN, ``missing_left`` decides; where ``zero_missing`` is 1, for zero too.

    Parameters
    ----------
    root : array of shape (T,)
    feature, threshold, left, right, missing_left : arrays of shape (nodes,)
        As those of `ocboost.hypotheses.Trees`.
    zero_missing : array of shape (nodes,) of 0 and 1, optional
        Whether zero counts as missing, as LightGBM can be told.
    category : array of shape (nodes,), optional
        Which of the sets of categories a node splits by; -1 for none.
    sets : list of arrays of uint32
        For each set, words whose bit c says whether category c is in it.
    n_columns : int
        Columns of a row.
    precision : {"double", "single"}
        "single" rounds x to float32 before it is compared.
    missing : float
        A number that stands for missing besides NaN; NaN if there is none.
    codes : dict of column: values
        The values of a column of categories. They are replaced by their places in this list before the trees
        see them, and all other values are missing.
    vocabularies : dict of column: texts
        The same for texts: a row holds their places in this list.
    """

    def __init__(
        self,
        root: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        missing_left: ArrayLike | None = None,
        zero_missing: ArrayLike | None = None,
        category: ArrayLike | None = None,
        sets: Sequence[NDArray[np.uint32]] = (),
        *,
        n_columns: int,
        precision: str = "double",
        missing: float = float("nan"),
        codes: Mapping[int, ArrayLike] | None = None,
        vocabularies: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self.root = as_nodes(root, "root")
        self.feature = as_nodes(feature, "feature")
        nodes = self.feature.size
        self.left, self.right = as_nodes(left, "left", nodes), as_nodes(right, "right", nodes)
        self.threshold = np.array(threshold, dtype=np.float64)
        if self.threshold.shape != (nodes,) or np.isnan(self.threshold).any():
            raise InputError(f"threshold must be {nodes} numbers, one for each node; got {threshold!r:.80}.")
        self.missing_left = as_flags(missing_left, nodes)
        self.zero_missing = as_flags(zero_missing, nodes, "zero_missing")
        self.category = (
            np.full(nodes, _NO_SET, np.int32) if category is None else as_nodes(category, "category", nodes)
        )
        self.sets = [np.array(words, dtype=np.uint32) for words in sets]
        self.n_columns, self.precision, self.missing = int(n_columns), precision, float(missing)
        self.codes = {int(c): np.array(values, dtype=np.float64) for c, values in (codes or {}).items()}
        self.vocabularies = {int(c): tuple(texts) for c, texts in (vocabularies or {}).items()}
        self._check()
        self.n_leaves = int((self.feature < 0).sum())
        self.node, self.words = self._packed()
        self._coding = self._coding_arrays()

    def _check(self) -> None:
        check_shape(self.root, self.feature, self.left, self.right)
        if self.root.size > MAX_TREES:
            raise InputError(f"there must be at most {MAX_TREES} trees; got {self.root.size}.")
        if self.precision not in ("double", "single"):
            raise InputError(f"precision must be 'double' or 'single'; got {self.precision!r:.80}.")
        if not 0 < self.n_columns <= MAX_TREE_COLUMNS or self.feature.max() >= self.n_columns:
            raise InputError(
                f"n_columns must be from {int(self.feature.max()) + 1}, the last that the trees look at, to "
                f"{MAX_TREE_COLUMNS}; got {self.n_columns}."
            )
        if self.category.max() >= len(self.sets) or (self.category[self.feature < 0] != _NO_SET).any():
            raise InputError(
                f"category must be one of the {len(self.sets)} sets of categories, or -1, and -1 at a leaf."
            )
        if any(not 0 < words.size <= MAX_CATEGORIES or words.ndim != 1 for words in self.sets):
            raise InputError(f"sets must each have from 1 to {MAX_CATEGORIES} words; got others.")
        for column, listed in (*self.codes.items(), *self.vocabularies.items()):
            if not 0 <= column < self.n_columns or (column in self.codes) == (column in self.vocabularies):
                raise InputError(
                    f"codes and vocabularies must be of different columns from 0 to {self.n_columns - 1}; "
                    f"got column {column}."
                )
            if len(listed) > MAX_CATEGORIES or len(set(listed)) < len(listed):
                raise InputError(
                    f"the categories of column {column} must be different, and at most {MAX_CATEGORIES}; got "
                    f"{len(listed)}. Group the rare ones."
                )
        if any(values.ndim != 1 or not np.isfinite(values).all() for values in self.codes.values()):
            raise InputError("codes must be lists of finite numbers; got others.")

    def _packed(self) -> tuple[NDArray[np.void], NDArray[np.uint32]]:
        """The nodes as the kernel reads them, and the words of all sets."""
        leaf, split = self.feature < 0, self.category >= 0
        sizes = np.array([words.size for words in self.sets], dtype=np.int64)
        node = np.zeros(self.feature.size, TREE_NODE)
        node["threshold"], node["feature"] = self.threshold, self.feature
        node["left"] = np.where(leaf, np.cumsum(leaf) - 1, self.left)
        node["right"] = self.right
        node["flags"] = MISSING_LEFT * self.missing_left + ZERO_MISSING * self.zero_missing
        node["first"][split] = (np.cumsum(sizes) - sizes)[self.category[split]]
        node["bits"][split] = 32 * sizes[self.category[split]]
        return node, np.concatenate([*self.sets, np.zeros(1, np.uint32)])

    def _coding_arrays(self) -> tuple[Any, ...] | None:
        listed = {**self.codes, **{c: np.arange(float(len(t))) for c, t in self.vocabularies.items()}}
        if not listed and np.isnan(self.missing):
            return None
        order = [np.argsort(values) for values in listed.values()]
        first = np.cumsum([0] + [values.size for values in listed.values()])
        none = np.empty(0)
        value = np.concatenate([none, *(v[at] for v, at in zip(listed.values(), order, strict=True))])
        code = np.concatenate([none, *order]).astype(np.float64)
        missing = float(np.float32(self.missing)) if self.precision == "single" else self.missing
        return missing, np.array(list(listed), dtype=np.int64), first, value, code

    @property
    def reads(self) -> tuple[int, ...]:
        """The columns that any tree looks at."""
        return tuple(np.unique(self.feature[self.feature >= 0]).tolist())

    @property
    def is_plain(self) -> bool:
        """Whether every split is by a threshold and only NaN is missing."""
        by_threshold = (self.category == _NO_SET).all() and not self.zero_missing.any()
        return bool(by_threshold) and self._coding is None

    def prepared(self, X: NDArray[Any]) -> NDArray[Any]:
        """Rows (n, C) as the kernels take them: coded, and in the precision of the comparisons."""
        if self._coding is not None:
            X = np.array(X, dtype=np.float64, order="C")
            if self.precision == "single":
                with np.errstate(over="ignore"):
                    X = X.astype(np.float32).astype(np.float64)
            code_columns(X, *self._coding)
        if self.precision == "single":
            with np.errstate(over="ignore"):
                return np.ascontiguousarray(X, dtype=np.float32)
        return np.ascontiguousarray(X, dtype=np.float64)

    def taken(self, at: NDArray[np.int64]) -> tuple[Self, NDArray[np.bool_]]:
        """Some of the trees without the nodes of the others, and which leaves are left."""
        root = self.root[at]
        keep = mark_reached(root, self.left, self.right)
        to = np.append(np.cumsum(keep) - 1, -1)  # -1 stays -1
        used, category = np.unique(np.append(self.category[keep], _NO_SET), return_inverse=True)
        fewer = type(self)(
            to[root],
            self.feature[keep],
            self.threshold[keep],
            to[self.left[keep]],
            to[self.right[keep]],
            self.missing_left[keep],
            self.zero_missing[keep],
            category[:-1] - 1,
            [self.sets[s] for s in used[1:]],
            **self._settings(),
        )
        return fewer, keep[self.feature < 0]

    def _settings(self) -> dict[str, Any]:
        return {
            "n_columns": self.n_columns,
            "precision": self.precision,
            "missing": self.missing,
            "codes": self.codes,
            "vocabularies": self.vocabularies,
        }

    def tree(self) -> Tree:
        """The contents of a file."""
        sizes = np.array([words.size for words in self.sets], dtype=np.int64)
        return {
            **{name: getattr(self, name) for name in _NODE_ARRAYS},
            "set_sizes": sizes,
            "set_words": self.words[:-1].view(np.int32),
            "n_columns": self.n_columns,
            "precision": self.precision,
            "missing": None if np.isnan(self.missing) else self.missing,
            "codes": [{"column": c, "values": values} for c, values in self.codes.items()],
            "vocabularies": [{"column": c, "texts": list(texts)} for c, texts in self.vocabularies.items()],
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The inverse of `tree`."""
        arrays = {name: fields.array(name, dtype, (None,)) for name, dtype in _NODE_ARRAYS.items()}
        sizes = fields.array("set_sizes", np.int64, (None,))
        words = fields.array("set_words", np.int32, (None,)).view(np.uint32)
        fits = not sizes.size or (sizes.min() > 0 and sizes.max() <= words.size)
        fits = fits and int(sizes.astype(object).sum() if sizes.size else 0) == words.size
        fields.require(fits, "its sets of categories do not fit")
        n = fields.count("n_columns", 1, MAX_TREE_COLUMNS)
        missing = float("nan") if fields.takes("missing", None) else fields.number("missing", -np.inf, np.inf)
        codes = fields.read_all("codes", lambda one: _listed_from(one, n, texts=False))
        texts = fields.read_all("vocabularies", lambda one: _listed_from(one, n, texts=True))
        different = len(dict(codes)) == len(codes) and len(dict(texts)) == len(texts)
        fields.require(different, "its columns of categories must differ")
        return fields.make(
            cls,
            **arrays,
            sets=np.split(words, np.cumsum(sizes)[:-1]) if sizes.size else [],
            n_columns=n,
            precision=fields.text("precision"),
            missing=missing,
            codes=dict(codes),
            vocabularies=dict(texts),
        )


_NODE_ARRAYS: dict[str, Any] = {
    "root": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.int8,
    "zero_missing": np.int8,
    "category": np.int32,
}


def _listed_from(fields: Fields, n_columns: int, *, texts: bool) -> tuple[int, Any]:
    """A column, and its values or its texts."""
    column = fields.count("column", 0, n_columns - 1)
    if not texts:
        return column, fields.array("values", np.float64, (None,))
    found = fields.items("texts", most=MAX_CATEGORIES)
    fields.require(all(isinstance(text, str) for text in found), "texts must be texts")
    return column, tuple(found)


def rows_of(X: Any, n_columns: int) -> Floats:
    """Check rows for a portable model: (n, n_columns) of float64."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != n_columns:
        raise InputError(
            f"X must have shape (rows, {n_columns}), one column for each that the model was fitted on; got "
            f"shape {X.shape}."
        )
    rows: Floats = X
    return rows
