"""One row at a time: for services and loops, a plain sequence of numbers in and a label out."""

from __future__ import annotations

from contextlib import suppress
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.answers import first_unusable
from ocboost.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

DOUBLE = np.dtype(np.float64)  # asked for by `is`, it takes nanoseconds


class OneRow:
    """`predict_one`, `predict_proba_one` and `learn_one` for a classifier, by its methods for many rows.

    A classifier that can do better replaces them.
    """

    classes_: NDArray[Any]
    n_features_in_: int

    def predict_one(self, row: Sequence[float]) -> Any:
        """The class of one row, as `predict` finds it.

        Parameters
        ----------
        row : sequence of n_features numbers
            A list, a tuple or an array; None and NaN are missing numbers.
        """
        return self.predict(self._one(row)).tolist()[0]  # type: ignore[attr-defined]

    def predict_proba_one(self, row: Sequence[float]) -> NDArray[np.float64]:
        """The probability of each class for one row, (K,), as `predict_proba` finds them."""
        shares: NDArray[np.float64] = self.predict_proba(self._one(row))[0]  # type: ignore[attr-defined]
        return shares

    def learn_one(self, row: Sequence[float], label: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row, as `partial_fit` would.

        Parameters
        ----------
        row : sequence of n_features numbers
        label : object
            Its class, one of those the classifier was begun with.
        sample_weight : float, default 1.0
            Not negative.
        """
        weight = as_one_weight(sample_weight)
        weights = None if weight == 1.0 else np.array([weight])
        self._learn_one(self._one(row), np.asarray([label]), weights)
        return self

    def _learn_one(self, x: NDArray[Any], label: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
        self.partial_fit(x, label, sample_weight=weight)  # type: ignore[attr-defined]

    def _one(self, row: Sequence[float]) -> NDArray[Any]:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return as_one_row(row, self.n_features_in_, missing=True)


def as_one_row(row: Any, n_features: int, *, missing: bool) -> NDArray[Any]:
    """Check one row of features, and give it as a matrix (1, n_features), float64, or float32 if it is that.

    >>> as_one_row([1, 2.5, None], 3, missing=True)
    array([[1. , 2.5, nan]])
    """
    try:
        x = row if type(row) is np.ndarray else np.asarray(row)
        if x.dtype is not DOUBLE and x.dtype not in (np.float64, np.float32):
            if x.dtype.kind not in "biuf" and not _is_numbers(x):
                raise ValueError("they are no numbers")
            x = x.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"row must be a sequence of {n_features} numbers; got {row!r:.80}. Encode text first."
        ) from None
    if x.shape != (n_features,):
        raise InputError(
            f"row must be a sequence of {n_features} numbers, one for each feature; got shape {x.shape}. "
            "Many rows at once are for predict and partial_fit."
        )
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    strange = first_unusable(x, missing)
    if strange >= 0:
        allowed = "numbers that are finite, or missing" if missing else "finite numbers"
        raise InputError(
            f"row must hold {allowed}; got {x[strange]} for feature {strange}. Leave such rows out, or fill "
            "the number in."
        )
    return x.reshape(1, n_features)


def as_one_weight(sample_weight: Any) -> float:
    """Check the weight of one row."""
    weight = np.nan
    if type(sample_weight) is float:
        weight = sample_weight
    elif isinstance(sample_weight, Real) and not isinstance(sample_weight, bool):
        with suppress(OverflowError):
            weight = float(sample_weight)
    if not 0.0 <= weight < np.inf:
        raise InputError(
            f"sample_weight must be a finite number that is not negative; got {sample_weight!r:.80}. "
            "Give 1.0 to an example that counts once."
        )
    return weight


def _is_numbers(x: NDArray[Any]) -> bool:
    """Whether objects are numbers, or None where one is missing."""
    return x.dtype == object and all(
        value is None or (isinstance(value, Real | np.number) and not isinstance(value, str))
        for value in x.ravel().tolist()
    )
