"""Class labels as codes and in files, and the sample weights that estimators are fitted with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost.errors import InputError

MAX_CLASSES_IN_COLUMN = 1000  # a column of more values holds numbers, or the names of rows
MAX_SAVED_CLASSES = 10_000
MAX_NAME_CHARACTERS = 1 << 26  # in the names of all classes, each as long as the longest
_CLASS_TYPES = {"i": int, "u": int, "f": float, "b": bool, "U": str, "O": str}
_CLASS_SIZES = {"i": "1248", "u": "1248", "f": "248", "b": "1"}


def sorted_classes(y: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted."""
    try:
        classes: NDArray[Any] = np.unique(y)
    except TypeError:
        types = sorted({type(label).__name__ for label in y.tolist()})
        raise InputError(
            f"y must hold labels of one type; got {', '.join(types)!s:.80}. Convert them, and leave out "
            "examples whose label is not known."
        ) from None
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise InputError(
            f"classes must be finite; got {classes.tolist()!s:.80}. Leave out examples without a label."
        )
    return classes


def require_class_labels(y: NDArray[Any], name: str) -> None:
    """Refuse labels that are measurements or row names, not classes; errors call them ``name``."""
    classes = sorted_classes(y)
    examples = ", ".join(f"{label!r:.22}" for label in classes[:3].tolist())
    advice = "Is it the right column? Else cut the numbers into classes first, such as high and low."
    if y.dtype.kind == "f" and (classes != np.rint(classes)).any():
        raise InputError(f"{name} must hold classes; it holds numbers with fractions: {examples}, … {advice}")
    if len(classes) > MAX_CLASSES_IN_COLUMN or (len(classes) > 20 and 2 * len(classes) > len(y)):
        raise InputError(
            f"{name} must hold classes, at most {MAX_CLASSES_IN_COLUMN:,} and each in several rows; it holds "
            f"{len(classes):,} values in {len(y):,} rows: {examples}, … {advice}"
        )


def require_same(given: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse classes that differ from those of the first call."""
    if not np.array_equal(given, classes):
        raise InputError(
            f"classes must be those of the first call, {classes.tolist()!s:.80}; got "
            f"{given.tolist()!s:.80}. Leave it out, or fit again."
        )


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The index of each label in the sorted classes.

    >>> codes_of(np.array([3.0, 1.0]), np.array([1, 2, 3]))
    array([2, 0])
    """
    if classes.dtype.kind == y.dtype.kind:
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    else:  # labels of another type than the classes, such as 1.0 for 1; unknown ones get 0
        index = {label: code for code, label in enumerate(classes.tolist())}
        codes = np.array([index.get(label, 0) for label in y.tolist()], dtype=np.int64)
    unknown = classes[codes] != y
    if np.any(unknown):
        row = int(np.argmax(unknown))
        raise InputError(
            f"y must hold the classes {classes.tolist()!s:.80}; got {y.tolist()[row]!r:.80} in row {row}. "
            "Leave such examples out, or fit again with that class."
        )
    return codes.astype(np.int64)


def weights_to_fit(sample_weight: ArrayLike | None, X: Any) -> NDArray[np.float64]:
    """Sample weights as scikit-learn checks them; at least one must not be 0.

    scikit-learn has refused weights that are all 0 itself since 1.9.
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
    """The factor that brings weights with a mean below 1 to a mean of 1; 1 for all others."""
    with np.errstate(over="ignore"):
        total, n = float(weights.sum()), int(np.count_nonzero(weights))
        scale = n / total if 0.0 < total < n else 1.0
    if scale == np.inf:
        raise InputError(f"sample_weight must not be as small as this; it sums to {total}. Multiply it.")
    return scale


# Files ------------------------------------------------------------------------------------------------


def classes_tree(classes: NDArray[Any]) -> Tree:
    """The classes as a file holds them."""
    kind, values = classes.dtype.kind, classes.tolist()
    if len(values) > MAX_SAVED_CLASSES:
        raise InputError(
            f"classes must be at most {MAX_SAVED_CLASSES:,} to be saved; got {len(values):,}. Group the rare "
            "ones."
        )
    if kind == "U" or (kind == "O" and all(isinstance(value, str) for value in values)):
        if not _fit_in_memory(values):
            raise InputError(
                f"classes must have names that are short enough to be saved; the longest has "
                f"{max(map(len, values)):,} letters. Shorten it."
            )
        return {"type": kind, "values": values}
    if f"{classes.dtype.itemsize}" not in _CLASS_SIZES.get(kind, ""):
        raise InputError(
            f"classes must be numbers or text to be saved; got {classes.dtype}. Convert the labels first."
        )
    return {"type": f"{kind}{classes.dtype.itemsize}", "values": values}


def classes_from(fields: Fields) -> NDArray[Any]:
    """The sorted classes that `classes_tree` described."""
    code, values = fields.text("type"), fields.items("values", most=MAX_SAVED_CLASSES)
    known = {"U", "O", *(f"{kind}{size}" for kind, sizes in _CLASS_SIZES.items() for size in sizes)}
    fields.require(code in known, "their type is not known")
    fields.require(len(values) >= 2, "there must be at least two")
    type_ = _CLASS_TYPES[code[0]]
    fields.require(all(type(v) is type_ for v in values), "they must be of one type")
    if type_ is str:
        fields.require(_fit_in_memory(values), "they are too large")
    if type_ is int:  # before NumPy sees them: 1.26 makes 2⁶⁴ - 1 of a -1
        limits = np.iinfo(code)
        inside = all(limits.min <= value <= limits.max for value in values)
        fields.require(inside, "they are too large or too small for their type")
    with np.errstate(over="ignore"):
        classes: NDArray[Any] = np.array(values, dtype=code)
    fields.require(code[0] != "f" or np.isfinite(classes).all(), "they must be finite")
    fields.require((classes[1:] > classes[:-1]).all(), "they must be sorted")
    return classes


def _fit_in_memory(names: list[str]) -> bool:
    """Whether an array of text holds these names; each takes as much as the longest."""
    return max(map(len, names)) * len(names) <= MAX_NAME_CHARACTERS
