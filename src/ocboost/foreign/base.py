"""What steps and models of other libraries have in common once they are in ocboost's own form.

A *portable step* turns (n, C) numbers into (n, D) numbers as a fitted transformer does, a *portable
classifier* turns them into (n, K) probabilities. Both are arrays and plain values: a file holds them without
pickle. Text comes as codes (`ocboost.foreign.columns`); NaN is a missing value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.kinds import FOREIGN, nested_reader, nested_tree
from ocboost.errors import InputError, NotSavableError

MAX_WIDTH = 1 << 20  # columns that a step may take or give
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class PortablePart(ABC):
    """Something made of arrays and plain values: a subclass names them once to be saved.

    The names in ``_entries`` are attributes, and arguments of the constructor, which checks all of them.
    """

    kind: ClassVar[str]
    _entries: ClassVar[tuple[str, ...]] = ()
    n_columns: int

    def tree(self) -> Tree:
        """What a file holds."""
        return {key: getattr(self, key) for key in self._entries}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The part that `tree` described; invalid contents raise `ModelFileError`."""
        return fields.make(cls, **{key: fields.take(key) for key in cls._entries})


class PortableStep(PortablePart):
    """A fitted transformer: (n, n_columns) numbers to (n, n_out)."""

    n_out: int
    thread_safe: bool = True

    @abstractmethod
    def __call__(self, X: Floats) -> Floats:
        """Transform rows; X stays as it is."""

    def missing_after(self, missing: Mask) -> Mask | None:
        """Which columns can be NaN afterwards, if these can before; None if the step refuses NaN there.

        Unless it is overridden, a step works on each column alone, and NaN stays NaN.
        """
        return missing

    def needs(self, wanted: Mask) -> Mask:
        """Which columns decide what comes out in the wanted ones."""
        return wanted


class PortableClassifier(PortablePart):
    """A fitted classifier: (n, n_columns) numbers to (n, n_classes) probabilities."""

    n_classes: int
    accepts_missing: bool = False
    scored: bool = False  # whether it has a ``decision_function``

    @abstractmethod
    def probabilities(self, X: Floats) -> Floats:
        """The probability of each class for each row."""

    def scores(self, X: Floats) -> Floats:
        """What ``decision_function`` gives, (n,) for two classes, if the model is ``scored``."""
        raise NotImplementedError

    def predict_codes(self, X: Floats) -> NDArray[np.int64]:
        """What ``predict`` gives, as an index into the classes."""
        return largest(self.probabilities(X))

    def needs(self) -> Mask:
        """Which columns it looks at."""
        return np.ones(self.n_columns, np.bool_)


def largest(shares: Floats) -> NDArray[np.int64]:
    """The column of the largest number in each row; of equal ones the first."""
    return np.asarray(np.argmax(shares, axis=1), dtype=np.int64)


# Models of any kind: those of `ocboost.foreign.trees` have fewer methods -----------------------------------


def is_scored(model: Any) -> bool:
    """Whether a model's ``decision_function`` is known."""
    if hasattr(model, "scores"):
        return bool(getattr(model, "scored", True))
    return getattr(model, "link", "") in ("logistic", "softmax", "adaboost")


def scores_of_model(model: Any, X: Floats) -> Floats:
    """A model's ``decision_function``: the sums of trees before the link."""
    if hasattr(model, "scores"):
        found: Floats = model.scores(X)
        return found
    sums = np.asarray(model._sums(X), dtype=np.float64)
    if model.link == "adaboost" and sums.shape[1] == 2:
        return sums[:, 1] - sums[:, 0]
    return sums[:, 0] if sums.shape[1] == 1 else sums


def codes_of_model(model: Any, X: Floats) -> NDArray[np.int64]:
    """What a model predicts, as an index into its classes."""
    own = getattr(model, "predict_codes", None)
    return largest(model.probabilities(X)) if own is None else np.asarray(own(X), dtype=np.int64)


def needs_of_model(model: Any) -> Mask:
    """Which columns a model looks at."""
    if hasattr(model, "needs"):
        return np.asarray(model.needs(), dtype=np.bool_)
    needed = np.zeros(model.n_columns, np.bool_)
    needed[list(getattr(model, "reads", range(model.n_columns)))] = True
    return needed


def n_classes_of(model: Any) -> int:
    """How many classes a model has probabilities for."""
    return int(model.n_classes) if hasattr(model, "n_classes") else len(model.classes)


# Files ------------------------------------------------------------------------------------------------------


def part_tree(part: Any) -> Tree:
    """The tree of a step or a model inside another one."""
    return nested_tree(part, FOREIGN)


def step_from(fields: Fields) -> PortableStep:
    """The step that `part_tree` described."""
    part = nested_reader(FOREIGN)(fields)
    fields.require(isinstance(part, PortableStep), "it must be a step")
    step: PortableStep = part
    return step


def model_from(fields: Fields) -> Any:
    """The model that `part_tree` described."""
    part = nested_reader(FOREIGN)(fields)
    fields.require(hasattr(part, "probabilities") and hasattr(part, "n_columns"), "it must be a model")
    return part


def not_portable(what: str, advice: str = "docs/adopt.md lists what can be.") -> NotSavableError:
    """The error that names the part of a model that has no form in a file."""
    return NotSavableError(f"a fitted model must be made of arrays to be saved; got {what}. {advice}")


# Checks -----------------------------------------------------------------------------------------------------


def numbers(value: Any, name: str, *shape: int | None, missing: bool = False) -> Floats:
    """Check an array of float64, with None for any length; NaN only where ``missing`` allows it."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or not _fits(value, shape):
        raise InputError(f"{name} must be numbers of shape {shape}; got {_named(value)}.")
    if not (np.isfinite(value) | (np.isnan(value) if missing else False)).all():
        raise InputError(f"{name} must be finite; got {value!r:.80}. Fit the model on finite numbers.")
    return value


def integers(value: Any, name: str, *shape: int | None, least: int, most: int) -> NDArray[np.int64]:
    """Check an array of whole numbers from ``least`` to ``most``."""
    if not isinstance(value, np.ndarray) or value.dtype != np.int64 or not _fits(value, shape):
        raise InputError(f"{name} must be whole numbers of shape {shape}; got {_named(value)}.")
    if value.size and (value.min() < least or value.max() > most):
        raise InputError(f"{name} must lie between {least} and {most}; got {value.min()} to {value.max()}.")
    return value


def offsets(value: Any, name: str, total: int) -> NDArray[np.int64]:
    """Check where each of several parts of an array begins, and where the last one ends."""
    found = integers(value, name, None, least=0, most=total)
    if found.size < 2 or found[0] != 0 or found[-1] != total or (np.diff(found) < 0).any():
        raise InputError(f"{name} must rise from 0 to {total}; got {found!r:.80}.")
    return found


def width(value: Any, name: str) -> int:
    """Check a number of columns."""
    if type(value) is not int or not 0 <= value <= MAX_WIDTH:
        raise InputError(f"{name} must be a number of columns, at most {MAX_WIDTH:,}; got {_named(value)}.")
    return value


def choice(value: Any, name: str, allowed: tuple[str, ...]) -> str:
    """Check a word."""
    if type(value) is not str or value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}; got {_named(value)}.")
    return value


def flag(value: Any, name: str) -> bool:
    """Check a truth value."""
    if type(value) is not bool:
        raise InputError(f"{name} must be true or false; got {_named(value)}.")
    return value


def require_present(X: Floats, what: str) -> None:
    """Refuse missing values and infinities where a step or model has no answer to them."""
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"X must be finite for {what}; got {X[row, column]} in row {row}, column {column} of what it is "
            "given. Fill missing values, with a SimpleImputer before it."
        )


def _fits(array: NDArray[Any], shape: tuple[int | None, ...]) -> bool:
    if array.ndim != len(shape):
        return False
    return all(n in (None, size) for n, size in zip(shape, array.shape, strict=True))


def _named(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return f"{value!r:.40}" if isinstance(value, int | float | str | None) else f"a {type(value).__name__}"


# Reading fitted estimators ----------------------------------------------------------------------------------


def as_floats(value: ArrayLike, *shape: int) -> Floats:
    """An attribute of a fitted estimator as float64, broadcast to a shape if one is given."""
    array = np.array(value, dtype=np.float64)
    return np.ascontiguousarray(np.broadcast_to(array, shape)) if shape else array


def is_missing(value: Any) -> bool:
    """Whether a single value stands for a missing one: None, NaN, pandas' NA and NaT.

    >>> [is_missing(value) for value in (None, float("nan"), "nan", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


Make = Callable[[], Any]
