"""Checks of arguments: margins, sample weights, numbers. Public methods check first, then change anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost.errors import InputError

_MEANING = "A margin is y·h(x): +1 where hypothesis and label agree, -1 where they differ."
MAX_SETTING = 1 << 40  # the largest head, window or batch that can be asked for
_ENTRIES_AT_ONCE = 1 << 20  # converted to int8, so that a large matrix needs little memory on the way


@cache
def _kernel() -> Callable[[NDArray[np.int8]], int]:
    """The search for what is no margin, imported when first needed: commands check names before that."""
    from ocboost._kernels.bits import first_not_a_margin

    return first_not_a_margin


def as_margins(margins: ArrayLike, n_hypotheses: int | None = None) -> NDArray[np.int8]:
    """Check a matrix of margins, (n, J) of -1 and +1, and return it as contiguous int8.

    >>> as_margins([[1, -1], [1.0, 1.0]])
    array([[ 1, -1],
           [ 1,  1]], dtype=int8)
    """
    array = _as_numbers(margins)
    if array.ndim != 2:
        raise InputError(
            f"margins must be a matrix of shape (examples, hypotheses); got shape {array.shape}. "
            "A single example is a matrix of one row: margins.reshape(1, -1)."
        )
    if array.shape[0] == 0:
        raise InputError(
            f"margins must hold at least one example; got shape {array.shape}. Leave out empty batches."
        )
    return _as_int8(array, n_hypotheses)


def as_row(row: ArrayLike, n_hypotheses: int) -> NDArray[np.int8]:
    """Check one example's margins, (J,) of -1 and +1, and return them as a (1, J) matrix of int8."""
    array = _as_numbers(row)
    if array.ndim != 1:
        raise InputError(
            f"row must be one example's margins, of shape ({n_hypotheses},); got shape {array.shape}. "
            "For several examples use update_many(margins)."
        )
    if array.size != n_hypotheses:
        raise InputError(
            f"row must have one margin for each of the {n_hypotheses} hypotheses; got {array.size}. "
            "Give them in the order of the hypotheses."
        )
    return _as_int8(array.reshape(1, -1), n_hypotheses)


def as_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Check sample weights, (n,) finite and not negative; None means all ones.

    >>> as_weights(None, 2)
    array([1., 1.])
    """
    if sample_weight is None:
        return np.ones(n)
    given = as_array(sample_weight)
    if given.dtype.kind not in "iuf":
        raise InputError(
            f"sample_weight must be numbers; got {sample_weight!r:.80}. Give 1.0 to each example."
        )
    if given.shape != (n,):
        raise InputError(
            f"sample_weight must have one weight for each of the {n} examples, shape ({n},); "
            f"got shape {given.shape}. For one weight for all use np.full({n}, weight)."
        )
    weights = np.ascontiguousarray(given, dtype=np.float64)
    bad = ~(np.isfinite(weights) & (weights >= 0.0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"sample_weight must be finite and not negative; got {weights[i]} for example {i}. "
            "Give 0 to an example that should not count."
        )
    return weights


def as_weight(sample_weight: object) -> NDArray[np.float64]:
    """Check the sample weight of one example, and return it as an array of one."""
    if not _is_real(sample_weight):
        raise InputError(
            f"sample_weight must be a number that is not negative; got {sample_weight!r:.80}. Give "
            "1.0 to an example that counts once."
        )
    return as_weights(np.array([sample_weight], dtype=np.float64), 1)


def as_array(value: ArrayLike) -> NDArray[Any]:
    """Like `numpy.asarray`, but an array without a length where rows differ in length, instead of an error.

    >>> as_array([[1, 2], [3]]).shape
    ()
    """
    try:
        return np.asarray(value)
    except ValueError:
        return np.asarray(None)


def as_count(value: object, name: str, low: int, high: int | None, advice: str) -> int:
    """Check a whole number between two bounds.

    >>> as_count(3, "order", 1, 5, "")
    3
    """
    span = f"from {low} to {high}" if high is not None and high < MAX_SETTING else f"of at least {low}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise InputError(f"{name} must be a whole number {span}; got {value!r:.80}. {advice}".rstrip())
    number = int(value)
    if number < low or (high is not None and number > high):
        span = f"of at most {high}" if high is not None and number > high >= MAX_SETTING else span
        raise InputError(f"{name} must be a whole number {span}; got {number}. {advice}".rstrip())
    return number


def as_number(
    value: object, name: str, low: float, high: float, advice: str, *, low_open: bool = False
) -> float:
    """Check a finite number between two bounds."""
    span = f"{'more than' if low_open else 'at least'} {low:g}"
    if high < np.inf:
        span += f" and at most {high:g}"
    if not _is_real(value):
        raise InputError(f"{name} must be a number of {span}; got {value!r:.80}. {advice}".rstrip())
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond a double's range
        number = np.inf
    if not np.isfinite(number) or number < low or number > high or (low_open and number == low):
        raise InputError(f"{name} must be a finite number of {span}; got {number}. {advice}".rstrip())
    return number


def as_remaining(members: ArrayLike, n_hypotheses: int) -> NDArray[np.int64]:
    """The indices of the hypotheses that remain when ``members`` are removed."""
    gone = np.atleast_1d(as_array(members))
    if gone.size and (gone.dtype.kind not in "iu" or gone.min() < 0 or gone.max() >= n_hypotheses):
        raise InputError(
            f"members must be whole numbers from 0 to {n_hypotheses - 1}; got {members!r:.80}. Name "
            "hypotheses by their places, as in [0, 2]."
        )
    keep: NDArray[np.int64] = np.setdiff1d(np.arange(n_hypotheses), gone)
    if keep.size == 0:
        raise InputError(
            f"members must leave at least one hypothesis; got all {n_hypotheses}. Take one out of the list, "
            "or make a new sketch."
        )
    return keep


def _is_real(value: object) -> bool:
    return isinstance(value, Real | np.number) and not isinstance(value, bool | np.bool_)


def _as_numbers(margins: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(margins)
    except ValueError:
        raise InputError(
            "margins must be a rectangular array of -1 and +1; got rows of different lengths. "
            "Give each example one margin for each hypothesis."
        ) from None
    if np.ma.is_masked(margins):
        raise InputError(
            "margins must all be known; got a masked array. Leave out the examples with masked entries."
        )
    if array.dtype.kind == "b":
        raise InputError(
            f"margins must be numbers, -1 and +1; got booleans. {_MEANING} "
            "Convert with np.where(right, 1, -1)."
        )
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"margins must be numbers, -1 and +1; got an array of dtype {array.dtype}. {_MEANING}"
        )
    return array


def _as_int8(array: NDArray[Any], n_hypotheses: int | None) -> NDArray[np.int8]:
    n, width = array.shape
    if n_hypotheses is not None and width != n_hypotheses:
        raise InputError(
            f"margins must have one column for each of the {n_hypotheses} hypotheses; got {width} columns. "
            "Give each example one margin for each hypothesis, in the same order."
        )
    if width == 0:
        raise InputError(
            f"margins must have at least one column; got shape {array.shape}. Give one for each hypothesis."
        )
    if array.dtype == np.int8:
        result = np.ascontiguousarray(array)
        bad_at = int(_kernel()(result.reshape(-1)))
        if bad_at >= 0:
            raise _not_a_margin(array, *divmod(bad_at, width))
        return result
    result = np.empty((n, width), np.int8)
    n_rows = max(1, _ENTRIES_AT_ONCE // width)
    for start in range(0, n, n_rows):
        block = array[start : start + n_rows]
        right = block == 1
        bad = ~right & (block != -1)
        if bad.any():
            row, column = divmod(int(np.argmax(bad)), width)
            raise _not_a_margin(array, start + row, column)
        result[start : start + n_rows] = np.where(right, np.int8(1), np.int8(-1))
    return result


def _not_a_margin(array: NDArray[Any], row: int, column: int) -> InputError:
    return InputError(
        f"margins must be -1 and +1; got {array[row, column]} at row {row}, column {column}. {_MEANING}"
    )


def as_integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Check whole numbers, and return them as int64."""
    array = np.array(values)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers; got {values!r:.80}.")
    return array.astype(np.int64)
