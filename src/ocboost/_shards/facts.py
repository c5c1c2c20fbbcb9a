"""What must be known of all rows before the first is binned: their classes, and where features are cut.

A feature of at most 255 distinct values is counted exactly. Of any other the Apache DataSketches library
keeps a KLL sketch: some thousand values that stand for all of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Tree
from ocboost._core.threads import get_num_threads
from ocboost._kernels.arrays import Floats, Ints
from ocboost._kernels.binning import EACH_ONCE, MAX_BINS, count_values, edges_of
from ocboost._shards.features import ROWS_LAID_OUT
from ocboost.errors import InputError, MissingExtraError
from ocboost.hypotheses.base import for_each
from ocboost.learners.bins import FEATURES_PER_TASK

K = 1000  # of KLL: ranks are off by about 0.1 %, and a bin of 255 holds 0.4 %
RANKS = 1 << 14  # at which a sketch is read
VALUES_AT_ONCE = 1 << 20


def require_sketches() -> None:
    """Refuse to begin without the library of sketches."""
    _new_sketch()


def _new_sketch() -> Any:
    try:
        from datasketches import kll_doubles_sketch
    except ImportError as error:
        raise MissingExtraError("datasketches", "folder", "cutting features of many values") from error
    return kll_doubles_sketch(K)


class Quantiles:
    """The distribution of one feature's values.

    >>> some = Quantiles()
    >>> some.take(np.array([3.0, 1.0, np.nan, 3.0]))
    >>> some.edges(255), some.n_known, some.n_missing
    (array([2.]), 3, 1)
    """

    def __init__(self) -> None:
        self.n_known = self.n_missing = 0
        self._values, self._counts = np.empty(MAX_BINS), np.empty(MAX_BINS, np.int64)
        self._n = 0  # distinct values, while they are counted
        self._sketch: Any = None

    def take(self, column: Floats) -> None:
        """Count more values; missing ones are NaN."""
        if self._sketch is None:
            self._n, end, missing = count_values(column, self._values, self._counts, self._n)
            self.n_known, self.n_missing = self.n_known + end - missing, self.n_missing + missing
            column = column[end:]
            if not column.size:
                return
            self._begin_sketch()
        known = column[~np.isnan(column)]
        self.n_known, self.n_missing = self.n_known + known.size, self.n_missing + column.size - known.size
        self._sketch.update(known)

    def _begin_sketch(self) -> None:
        """Let a sketch stand for what was counted so far."""
        self._sketch = _new_sketch()
        for value, count in zip(self._values[: self._n], self._counts[: self._n].tolist(), strict=True):
            for start in range(0, count, VALUES_AT_ONCE):
                self._sketch.update(np.full(min(VALUES_AT_ONCE, count - start), value))
        self._n = 0

    def merge(self, other: Self) -> None:
        """Take in what another one has seen."""
        self.n_known, self.n_missing = self.n_known + other.n_known, self.n_missing + other.n_missing
        if self._sketch is None and other._sketch is None:
            mine, theirs = self._counted, other._counted
            values, place = np.unique(np.concatenate([mine[0], theirs[0]]), return_inverse=True)
            if values.size <= MAX_BINS:
                counts = np.zeros(values.size, np.int64)
                np.add.at(counts, place, np.concatenate([mine[1], theirs[1]]))
                self._n, self._values[: values.size], self._counts[: values.size] = (
                    values.size,
                    values,
                    counts,
                )
                return
        if self._sketch is None:
            self._begin_sketch()
        if other._sketch is None:
            other._begin_sketch()
        self._sketch.merge(other._sketch)

    @property
    def _counted(self) -> tuple[Floats, Ints]:
        return self._values[: self._n], self._counts[: self._n]

    def edges(self, most: int) -> Floats:
        """Edges that cut the values into at most ``most`` bins, as `StumpLearner` cuts them."""
        values, counts = self._counted
        if self._sketch is not None:
            ranks = (np.arange(RANKS) + 0.5) / RANKS
            values, counts = np.asarray(self._sketch.get_quantiles(ranks), np.float64), EACH_ONCE
        room = np.empty(MAX_BINS)
        return room[: edges_of(values, counts, 0, most, room)].copy()

    def tree(self) -> Tree:
        """What a file holds."""
        values, counts = self._counted
        sketch = b"" if self._sketch is None else self._sketch.serialize()
        seen = np.array([self.n_known, self.n_missing])
        return {"values": values, "counts": counts, "seen": seen, "sketch": np.frombuffer(sketch, np.int8)}

    @classmethod
    def from_tree(cls, tree: Tree) -> Self:
        """What `tree` gave."""
        made = cls()
        made.n_known, made.n_missing = tree["seen"].tolist()
        made._n = tree["values"].size
        made._values[: made._n], made._counts[: made._n] = tree["values"], tree["counts"]
        if tree["sketch"].size:
            made._sketch = _new_sketch().deserialize(tree["sketch"].tobytes())
        return made

    def __getstate__(self) -> dict[str, Any]:
        sketch = None if self._sketch is None else self._sketch.serialize()
        return {**self.__dict__, "_sketch": sketch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._sketch is not None:
            self._sketch = _new_sketch().deserialize(self._sketch)


class Facts:
    """What is known of some rows: how many, each class's number and weight, and each feature's quantiles.

    Rows without weight do not count at all.
    """

    def __init__(self, n_features: int, *, quantiles: bool = True) -> None:
        self.n_features, self.n_rows = n_features, 0
        self.features = [Quantiles() for _ in range(n_features if quantiles else 0)]
        self.counts: Counter[Any] = Counter()
        self.weights: Counter[Any] = Counter()

    def take(self, X: NDArray[Any], labels: NDArray[Any], weights: Floats | None = None) -> None:
        """Take in rows that have been checked."""
        if weights is not None and not weights.all():
            used = weights > 0.0
            X, labels, weights = X[used], labels[used], weights[used]
        self.n_rows += len(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        count = np.bincount(codes, minlength=len(classes))
        weight = count if weights is None else np.bincount(codes, weights, minlength=len(classes))
        for label, c, w in zip(classes.tolist(), count.tolist(), weight.tolist(), strict=True):
            self.counts[label] += c
            self.weights[label] += w
        if self.features:
            self._take_features(X)

    def _take_features(self, X: NDArray[Any]) -> None:
        parallel = get_num_threads() > 1 and X.size >= VALUES_AT_ONCE

        def take(first: int) -> None:
            last = first + FEATURES_PER_TASK
            for start in range(0, len(X), ROWS_LAID_OUT):
                columns = np.ascontiguousarray(X[start : start + ROWS_LAID_OUT, first:last].T, np.float64)
                for feature, column in zip(self.features[first:last], columns, strict=True):
                    feature.take(column)

        for_each(take, range(0, self.n_features, FEATURES_PER_TASK), parallel=parallel)

    def merge(self, other: Self) -> None:
        """Take in what another one knows of other rows."""
        if other.n_features != self.n_features:
            raise InputError(
                f"X must have the same number of features everywhere; got {self.n_features} and "
                f"{other.n_features}."
            )
        self.n_rows += other.n_rows
        self.counts.update(other.counts)
        self.weights.update(other.weights)
        for mine, theirs in zip(self.features, other.features, strict=True):
            mine.merge(theirs)

    def tree(self) -> Tree:
        """What a file holds; the labels must be numbers or texts."""
        labels = list(self.counts)
        return {
            "n_rows": self.n_rows,
            "labels": labels,
            "counts": [self.counts[label] for label in labels],
            "weights": [float(self.weights[label]) for label in labels],
            "features": [feature.tree() for feature in self.features],
        }

    @classmethod
    def from_tree(cls, tree: Tree) -> Self:
        """What `tree` gave."""
        made = cls(len(tree["features"]))
        made.n_rows = tree["n_rows"]
        made.features = [Quantiles.from_tree(each) for each in tree["features"]]
        made.counts = Counter(dict(zip(tree["labels"], tree["counts"], strict=True)))
        made.weights = Counter(dict(zip(tree["labels"], tree["weights"], strict=True)))
        return made

    def edges(self, most: int) -> list[Floats]:
        """The edges of each feature."""
        return [feature.edges(most) for feature in self.features]

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Whether some of a feature's values, but not all, are missing."""
        return np.array([each.n_missing > 0 and each.n_known > 0 for each in self.features], np.bool_)
