"""The scores F₀ of an offset, checked, and the weights w·exp(-y F₀) that examples begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

LARGEST = 1e100  # scores whose sums and doubles are finite
MOST = 690.0  # |log| of a weight w·exp(-y F₀): from 1e-299 to 1e299, so that sums of them are finite


def checked_scores(offset: Any, X: Any) -> NDArray[np.float64]:
    """The scores of rows X, (n,) or (n, K), if they are finite numbers."""
    try:
        given = offset(X)
    except InputError:
        raise
    except Exception as error:
        error.add_note(f"It was raised by the offset, {getattr(offset, 'function', offset)!r:.80}.")
        raise
    try:
        scores = np.asarray(given)
    except ValueError:
        scores = np.asarray(None)
    if np.ma.is_masked(given) or scores.dtype.kind not in "iuf":
        raise InputError(
            f"offset must give numbers; got {type(given).__name__} of dtype {scores.dtype}. Give an array of "
            "float64."
        )
    if scores.ndim not in (1, 2) or scores.shape[0] != X.shape[0]:
        raise InputError(
            f"offset must give one score, or one for each class, to each of the {X.shape[0]} rows; got shape "
            f"{scores.shape}."
        )
    scores = scores.astype(np.float64)
    bad = ~(np.abs(scores) < LARGEST)
    if bad.any():
        row = int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))
        raise InputError(
            f"offset must be finite, below {LARGEST:g}; got {scores[row].tolist()!s:.80} for row {row}. "
            "Leave such rows out, or bound the score."
        )
    return scores


def scores_of(offset: Any, X: Any, n_boosters: int) -> NDArray[np.float64]:
    """The scores of rows X with a column for each booster, (n, n_boosters)."""
    scores = checked_scores(offset, X)
    wanted = (X.shape[0],) if n_boosters == 1 else (X.shape[0], n_boosters)
    if scores.shape != wanted:
        which = "two classes" if n_boosters == 1 else f"{n_boosters} classes"
        raise InputError(
            f"offset must give scores of shape {wanted} for {which}; got shape {scores.shape}. With two it "
            "is one score, positive for the second; with more it is one for each, against the rest."
        )
    return scores.reshape(X.shape[0], n_boosters)


def require_classes(offset: Any, classes: NDArray[Any]) -> None:
    """Refuse an offset whose scorer knows other classes, or has them in another order."""
    known = getattr(offset, "classes", None)
    if known is not None and known.tolist() != classes.tolist():
        raise InputError(
            f"offset must score the classes {classes.tolist()!s:.80}, in that order; got a scorer of "
            f"{known.tolist()!s:.80}. Give a function that puts its columns in that order."
        )


def require_range(weights: NDArray[np.float64], scores: NDArray[np.float64] | None) -> None:
    """Refuse to learn from examples whose weights w·exp(-y F₀) a double does not hold."""
    if scores is None:
        return
    with np.errstate(divide="ignore"):
        size = np.abs(scores).max(axis=1) + np.where(weights > 0.0, np.abs(np.log(weights)), -np.inf)
    if (size > MOST).any():
        i = int(np.argmax(size))
        raise InputError(
            f"offset must keep sample_weight·exp(-y F₀) between 1e-299 and 1e299 to be learnt on top of; got "
            f"F₀ = {scores[i].tolist()!s:.80} with sample_weight {weights[i]:g} in row {i}. Put it on the "
            "scale of half the log-odds with ocboost.offsets.fit_offset."
        )


def reweighted(
    weights: NDArray[np.float64], labels: NDArray[np.int8], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weights that examples begin with, w·exp(-y F₀).

    >>> reweighted(np.ones(2), np.array([1, -1], np.int8), np.array([0.0, np.log(2)])).tolist()
    [1.0, 2.0]
    """
    result: NDArray[np.float64] = weights * np.exp(-(labels * scores))
    return result
