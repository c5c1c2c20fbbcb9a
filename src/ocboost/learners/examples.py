"""What a learner is given, checked once: examples, labels, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..hypotheses.features import as_features
from ..margins import as_weights


def as_examples(
    X: Any, sample_weight: ArrayLike | None, *, sparse: bool, what: str
) -> tuple[Any, NDArray[np.float64]]:
    """Check rows of features and their weights; gives float32 or float64, C-contiguous, or CSR."""
    X = as_features(X, sparse=sparse, what=what)
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(
            f"X must be a matrix of at least one example and one feature; got shape {X.shape}. "
            "One example alone is X.reshape(1, -1)."
        )
    weights = as_weights(sample_weight, X.shape[0])
    total = float(weights.sum())
    if not 0.0 < total < np.inf:
        raise InputError(
            f"sample_weight must have a finite sum above zero; got {total}. Give 1.0 to each example."
        )
    return X, weights


def as_labels(y: ArrayLike, n: int) -> NDArray[np.int8]:
    """Check labels, (n,) of -1 and +1, and give them as int8."""
    given = np.asarray(y)
    if given.shape != (n,):
        raise InputError(
            f"y must have one label for each of the {n} examples, shape ({n},); got shape {given.shape}."
        )
    if given.dtype.kind not in "iuf" or not np.isin(given, (-1, 1)).all():
        raise InputError(
            f"y must be -1 and +1; got {np.unique(given)[:5]!r:.80}. Convert with np.where(positive, 1, -1)."
        )
    return np.ascontiguousarray(given, dtype=np.int8)
