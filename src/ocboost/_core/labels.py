"""Labels and sample weights, as an estimator needs them: codes of classes, weights on a scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost.errors import InputError

MOST_CLASSES = 1000  # more are numbers, or the names of rows


def sorted_classes(y: NDArray[Any]) -> NDArray[Any]:
    """The different labels, in order."""
    try:
        classes: NDArray[Any] = np.unique(y)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        raise InputError(
            f"y must hold labels of one type; got {', '.join(kinds)!s:.80}. Convert them, and leave out "
            "examples whose label is not known."
        ) from None
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise InputError(
            f"classes must be finite; got {classes.tolist()!s:.80}. Leave out examples without a label."
        )
    return classes


def require_class_labels(y: NDArray[Any], name: str) -> None:
    """Refuse labels that are numbers to be guessed, or the names of rows; ``name`` says whose they are."""
    classes = sorted_classes(y)
    some = ", ".join(f"{label!r:.22}" for label in classes[:3].tolist())
    advice = "Is it the right column? Else cut the numbers into classes first, such as high and low."
    if y.dtype.kind == "f" and (classes != np.rint(classes)).any():
        raise InputError(f"{name} must hold classes; it holds numbers with fractions: {some}, … {advice}")
    if len(classes) > MOST_CLASSES or (len(classes) > 20 and 2 * len(classes) > len(y)):
        raise InputError(
            f"{name} must hold classes, at most {MOST_CLASSES:,} and each in several rows; it holds "
            f"{len(classes):,} values in {len(y):,} rows: {some}, … {advice}"
        )


def require_same(given: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse classes that are not those a classifier has begun with."""
    if not np.array_equal(given, classes):
        raise InputError(
            f"classes must be those of the first call, {classes.tolist()!s:.80}; got "
            f"{given.tolist()!s:.80}. Leave it out, or fit anew."
        )


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each label in the sorted classes.

    >>> codes_of(np.array([3.0, 1.0]), np.array([1, 2, 3]))
    array([2, 0])
    """
    codes = np.searchsorted(classes, y) if classes.dtype.kind == y.dtype.kind else _looked_up(y, classes)
    codes = np.minimum(codes, len(classes) - 1)
    strange = classes[codes] != y
    if np.any(strange):
        row = int(np.argmax(strange))
        raise InputError(
            f"y must hold the classes {classes.tolist()!s:.80}; got {y.tolist()[row]!r:.80} in row {row}. "
            "Leave such examples out, or fit anew with that class."
        )
    return codes.astype(np.int64)


def weights_to_fit(sample_weight: ArrayLike | None, X: Any) -> NDArray[np.float64]:
    """Weights of examples to fit, as scikit-learn checks them.

    Weights that do not count at all leave nothing to learn from. scikit-learn says so itself since 1.9.
    """
    from sklearn.utils.validation import _check_sample_weight

    with np.errstate(over="ignore"):
        weights: NDArray[np.float64] = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    if not weights.any():
        raise InputError(
            "Sample weights must contain at least one non-zero number. Give 1.0 to examples that count."
        )
    return weights


def scale_of(weights: NDArray[np.float64]) -> float:
    """What brings weights that sum to less than their number to a mean of 1; 1 for all others."""
    with np.errstate(over="ignore"):
        total, n = float(weights.sum()), int(np.count_nonzero(weights))
        scale = n / total if 0.0 < total < n else 1.0
    if scale == np.inf:
        raise InputError(f"sample_weight must not be as small as this; it sums to {total}. Multiply it.")
    return scale


def _looked_up(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Codes of labels whose type is another than the classes' (1.0 for 1); strange ones get 0."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([place.get(label, 0) for label in y.tolist()], dtype=np.int64)
