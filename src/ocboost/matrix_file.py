"""Rows of features in a file: an array where they are dense, three where they are sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from .fields import Fields


def matrix_tree(X: Any) -> Any:
    """A dense or a CSR matrix as a file holds it.

    >>> from scipy.sparse import csr_matrix
    >>> sorted(matrix_tree(csr_matrix([[0.0, 1.0]])))
    ['data', 'indices', 'indptr']
    """
    if isinstance(X, np.ndarray):
        return X
    return {"data": X.data, "indices": X.indices.astype(np.int64), "indptr": X.indptr.astype(np.int64)}


def matrix_from(fields: Fields, key: str, n: int, n_features: int) -> Any:
    """A matrix of n rows of what `matrix_tree` gave."""
    if fields.size(key) >= 0:
        X = fields.array(key, shape=(n, n_features))
        _require_numbers(fields, key, X)
        return X
    data, indices, indptr = fields.read(key, _three)
    _require_numbers(fields, key, data)
    fits = indptr.shape == (n + 1,) and data.shape == indices.shape
    fits = fits and indptr[0] == 0 and indptr[-1] == data.size and bool((np.diff(indptr) >= 0).all())
    inside = fits and bool(((indices >= 0) & (indices < n_features)).all())
    fields.require(inside, f"the rows of {key} do not fit")
    from scipy.sparse import csr_matrix

    return csr_matrix((data, indices, indptr), shape=(n, n_features))


def _three(fields: Fields) -> tuple[Any, Any, Any]:
    return (
        fields.array("data", shape=(None,)),
        fields.array("indices", np.int64, (None,)),
        fields.array("indptr", np.int64, (None,)),
    )


def _require_numbers(fields: Fields, key: str, values: Any) -> None:
    """NaN is a missing value, and may be there."""
    usable = values.dtype in (np.float32, np.float64) and not np.isinf(values).any()
    fields.require(usable, f"{key} must be finite numbers")
