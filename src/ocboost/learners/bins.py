"""Features cut into bins once, so that every round of boosting can look at all of their cuts.

Dense features are held as one byte an entry. Of sparse ones only the stored entries are: the bin of zero gets
what the others leave of the total weight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.binning import EACH_ONCE, MISSING, bin_column, bin_sparse, edges_of
from ocboost._kernels.learn_stumps import (
    TIE,
    TO_LEFT,
    search_dense,
    search_dense_gini,
    search_sparse,
    search_sparse_gini,
)
from ocboost.errors import InputError
from ocboost.hypotheses.base import for_each

FEATURES_PER_TASK = 16  # that are laid out, sorted and binned at a time
MIN_ENTRIES_FOR_THREADS = 1 << 18
TASKS_PER_THREAD = 2  # so that a slow one does not hold up all

Values = NDArray[np.float64]


class Bins(ABC):
    """Binned features; m of them are kept, constant ones are left out."""

    n_rows: int
    n_features: int
    feature: NDArray[np.int64]  # which columns of X are kept, ascending
    n_bins: NDArray[np.int64]  # bins of values of each kept feature
    missing: NDArray[np.bool_]  # whether some of its values, but not all, are missing
    refresh: int  # after how many rounds a search must be given all weights again
    _edges: Values  # of all features
    _first_edge: NDArray[np.int64]

    @abstractmethod
    def column(self, f: int) -> NDArray[np.uint8]:
        """The bin of every example in the f-th kept feature."""

    @abstractmethod
    def search(self, n_threads: int, gini: NDArray[np.int8] | None = None) -> StumpSearch:
        """A search for the stump of least error or, where ``gini`` has the labels, of least Gini impurity."""

    def threshold(self, f: int, cut: int) -> float:
        """Where the f-th kept feature is cut after bin ``cut``; infinite after the last."""
        return float(self._edges[self._first_edge[f] + cut]) if cut < self.n_bins[f] - 1 else np.inf


class StumpSearch:
    """Finds the best stump of each round among m features.

    ``seek`` scores the features from one number to another; ``visits`` is how many entries it touches for
    each row whose weight has changed.
    """

    def __init__(self, m: int, visits: float, n_threads: int, seek: Callable[..., None]) -> None:
        self._score, self._cut = np.empty(m), np.empty(m, np.int64)
        self._visits, self._n_threads, self._seek = visits, n_threads, seek
        self._excluded: list[int] = []

    @property
    def n_left(self) -> int:
        """How many features are still searched."""
        return self._score.size - len(self._excluded)

    def exclude(self, f: int) -> None:
        """Do not search the f-th feature from now on."""
        self._excluded.append(f)

    def best(self, factor: float, rows: NDArray[np.uint32], values: Values) -> tuple[int, int, bool]:
        """The best feature, its cut, and whether the missing values go below it.

        Of equal ones it is the first feature, and its lowest threshold. What the search knows of the weights
        is multiplied by ``factor``, then the values are added to the signed weights of their rows.
        """
        m = self._score.size
        visits = self._visits * rows.size
        parallel = self._n_threads > 1 and visits >= MIN_ENTRIES_FOR_THREADS
        parts = min(m, self._n_threads * TASKS_PER_THREAD) if parallel else 1
        ends = np.linspace(0, m, parts + 1).astype(np.int64).tolist()

        def seek(part: int) -> None:
            self._seek(factor, rows, values, ends[part], ends[part + 1], self._score, self._cut)

        for_each(seek, range(parts))
        self._score[self._excluded] = -np.inf
        f = int(np.argmax(self._score >= self._score.max() - TIE))
        to_left, cut = divmod(int(self._cut[f]), TO_LEFT)
        return f, cut, bool(to_left)


class DenseBins(Bins):
    """A dense matrix, one byte an entry, feature by feature."""

    refresh = 32  # sums that are carried on collect rounding errors: at most so many rounds of them

    def __init__(
        self, X: NDArray[Any], max_bins: int, n_threads: int, given: Sequence[Values] | None = None
    ) -> None:
        self.n_rows, self.n_features = X.shape
        F = self.n_features
        bins = np.empty((F, self.n_rows), np.uint8)
        edges = np.full((F, MISSING), np.inf)
        n_bins, missing = np.empty(F, np.int64), np.empty(F, np.bool_)

        def cut(first: int) -> None:
            columns = np.ascontiguousarray(X[:, first : first + FEATURES_PER_TASK].T)
            for f, values in enumerate(columns, first):
                if given is None:
                    ordered = np.sort(values)  # NaN goes to the end
                    known = int(np.searchsorted(ordered, np.nan))
                    n_bins[f] = edges_of(ordered[:known], EACH_ONCE, 0, max_bins, edges[f]) + 1
                else:
                    known = int(np.count_nonzero(~np.isnan(values)))
                    n_bins[f] = given[f].size + 1
                    edges[f, : given[f].size] = given[f]
                missing[f] = bin_column(values, edges[f], bins[f]) and known > 0

        parallel = n_threads > 1 and X.size >= MIN_ENTRIES_FOR_THREADS
        for_each(cut, range(0, F, FEATURES_PER_TASK), parallel=parallel)
        self.feature = np.flatnonzero((n_bins > 1) | missing)
        if self.feature.size < F:
            bins, edges = bins[self.feature], edges[self.feature]
            n_bins, missing = n_bins[self.feature], missing[self.feature]
        self._bins, self.n_bins, self.missing = bins, n_bins, missing
        self._edges, self._first_edge = edges.reshape(-1), MISSING * np.arange(self.feature.size)

    def column(self, f: int) -> NDArray[np.uint8]:
        """The bin of every example in the f-th kept feature."""
        column: NDArray[np.uint8] = self._bins[f]
        return column

    def search(self, n_threads: int, gini: NDArray[np.int8] | None = None) -> StumpSearch:
        """A search that keeps each feature's histogram from round to round."""
        sums = np.zeros((self.feature.size, MISSING + 1 if gini is None else 2 * TO_LEFT))
        features = self._bins, self.n_bins, self.missing

        def seek(*what: Any) -> None:
            if gini is None:
                search_dense(*features, sums, *what)
            else:
                search_dense_gini(*features, gini, sums, *what)

        return StumpSearch(self.feature.size, self.feature.size, n_threads, seek)


class SparseBins(Bins):
    """The stored entries of a sparse matrix, feature by feature."""

    refresh = 1  # every sum is recomputed in each round

    def __init__(self, X: Any, max_bins: int, n_threads: int) -> None:
        self.n_rows, self.n_features = X.shape
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        X = X.tocsc()
        F = self.n_features
        start, bins = X.indptr.astype(np.int64), np.empty(X.nnz, np.uint8)
        zero, n_bins, missing = np.empty(F, np.uint8), np.empty(F, np.int64), np.empty(F, np.bool_)
        features, n_edges = (bins, zero, n_bins, missing), np.empty(F, np.int64)
        ends = np.unique(np.linspace(0, F, max(n_threads * 8, F // 1024) + 1).astype(np.int64)).tolist()
        ordered = X.data
        if (ordered != ordered[:1]).any():
            ordered = ordered[np.lexsort((ordered, np.repeat(np.arange(F), np.diff(start))))]  # NaN last
        edges: list[Values] = [np.empty(0)] * (len(ends) - 1)

        def cut(part: int) -> None:
            first, last = ends[part], ends[part + 1]
            room = np.empty(int(np.minimum(np.diff(start[first : last + 1]) + 1, MISSING).sum()))
            made = bin_sparse(
                start, X.data, ordered, self.n_rows, max_bins, first, last, *features, room, n_edges
            )
            edges[part] = room[:made].copy()

        for_each(cut, range(len(edges)), parallel=n_threads > 1 and X.nnz >= MIN_ENTRIES_FOR_THREADS)
        several = (n_bins > 1) | missing
        self.feature = np.flatnonzero(several)
        keep = np.repeat(several, np.diff(start))
        first_edge = np.concatenate([[0], np.cumsum(n_edges)])[:-1]
        self._start = np.concatenate([[0], np.cumsum(np.diff(start)[self.feature])])
        self._rows, self._bins = X.indices.astype(np.int32)[keep], bins[keep]
        self._zero = zero[self.feature]
        self.n_bins, self.missing = n_bins[self.feature], missing[self.feature]
        self._edges, self._first_edge = np.concatenate(edges), first_edge[self.feature]

    def column(self, f: int) -> NDArray[np.uint8]:
        """The bin of every example in the f-th kept feature."""
        out = np.full(self.n_rows, self._zero[f])
        here = slice(self._start[f], self._start[f + 1])
        out[self._rows[here]] = self._bins[here]
        return out

    def search(self, n_threads: int, gini: NDArray[np.int8] | None = None) -> StumpSearch:
        """A search that visits the stored entries in every round."""
        entries = self._start, self._rows, self._bins, self._zero, self.n_bins, self.missing

        def seek(factor: float, rows: Any, values: Values, *where: Any) -> None:
            if gini is None:
                search_sparse(*entries, values, float(values.sum()), *where)
            else:
                minus, plus = -float(np.minimum(values, 0.0).sum()), float(np.maximum(values, 0.0).sum())
                search_sparse_gini(*entries, values, minus, plus, *where)

        return StumpSearch(self.feature.size, self._rows.size / self.n_rows, n_threads, seek)


def bins_of(X: Any, max_bins: int, n_threads: int, edges: Sequence[Values] | None = None) -> Bins:
    """Bin the features of a matrix that has been checked, at given edges if there are any."""
    if edges is not None and len(edges) != X.shape[1]:
        raise InputError(
            f"edges must be given for each of the {X.shape[1]} features; got {len(edges)} lists."
        )
    if isinstance(X, np.ndarray):
        return DenseBins(X, max_bins, n_threads, edges)
    if edges is not None:
        raise InputError("X must be a dense array where edges are given; got a sparse matrix.")
    if X.shape[0] >= 1 << 31:
        raise InputError(f"X must have fewer than 2³¹ rows; got {X.shape[0]}. Learn from a part of them.")
    return SparseBins(X, max_bins, n_threads)
