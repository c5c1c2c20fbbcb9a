"""Features cut into bins by edges that are known, the same wherever the rows lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.arrays import Bytes, Flags, Floats, Ints
from ocboost._kernels.binning import MISSING, bin_column
from ocboost.hypotheses.base import for_each
from ocboost.learners.bins import FEATURES_PER_TASK, MIN_ENTRIES_FOR_THREADS

ROWS_LAID_OUT = 1 << 16  # by feature, at a time


class BinnedFeatures(NamedTuple):
    """How m features are binned; constant ones are left out."""

    feature: Ints  # (m,): their columns in X
    n_bins: Ints  # (m,): bins of values
    missing: Flags  # (m,): whether some values are missing
    padded: Floats  # (m, 255): edges, the unused ones infinite
    n_features: int  # columns of X

    @classmethod
    def of(cls, edges: Sequence[Floats], missing: Flags) -> Self:
        """From the edges of every feature, and whether it is missing in some rows."""
        n_bins = np.array([each.size + 1 for each in edges], np.int64)
        feature = np.flatnonzero((n_bins > 1) | missing)
        padded = np.full((feature.size, MISSING), np.inf)
        for row, f in zip(padded, feature.tolist(), strict=True):
            row[: edges[f].size] = edges[f]
        return cls(feature, n_bins[feature], missing[feature], padded, len(edges))

    def threshold(self, f: int, cut: int) -> float:
        """Where the f-th binned feature is cut after bin ``cut``; infinite after the last."""
        return float(self.padded[f, cut]) if cut < self.n_bins[f] - 1 else np.inf

    def bin_rows(self, X: NDArray[Any], out: Bytes | None = None) -> Bytes:
        """The bins of rows, feature by feature: (m, n)."""
        n, m = X.shape[0], self.feature.size
        bins = np.empty((m, n), np.uint8) if out is None else out

        def cut(first: int) -> None:
            columns = self.feature[first : first + FEATURES_PER_TASK]
            for start in range(0, n, ROWS_LAID_OUT):
                rows = slice(start, min(start + ROWS_LAID_OUT, n))
                values = np.ascontiguousarray(X[rows, columns].T)
                for f, column in enumerate(values, first):
                    bin_column(column, self.padded[f], bins[f, rows])

        for_each(cut, range(0, m, FEATURES_PER_TASK), parallel=m * n >= MIN_ENTRIES_FOR_THREADS)
        return bins
