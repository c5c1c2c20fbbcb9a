"""What every offset has in common, and the one that is a Python function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, NotSavableError
from ..fields import Tree
from ..quiet import without_warning
from .scores import LARGEST

_NO_NAMES = "X does not have valid feature names"


class Offset(ABC):
    """A score F₀: a function of rows X that gives (n,) numbers for two classes, (n, K) for more.

    Attributes
    ----------
    classes : array or None
        The classes that the columns stand for, where the scorer knows them; of two, the second is where F₀
        is positive.
    """

    kind: ClassVar[str]  # its name in files
    classes: NDArray[Any] | None = None

    @abstractmethod
    def __call__(self, X: Any) -> Any:
        """The scores of rows X."""

    @abstractmethod
    def tree(self) -> Tree:
        """What a file holds: plain values and arrays by name."""


class GivenOffset(Offset):
    """A score that is a Python function.

    No file holds it: a classifier is saved without it, and it is given again when that is loaded.
    """

    kind = "GivenOffset"

    def __init__(self, function: Any, classes: NDArray[Any] | None = None) -> None:
        self.function = function
        self.classes = classes

    def __call__(self, X: Any) -> Any:
        """The scores of rows X."""
        with without_warning(_NO_NAMES):
            return self.function(X)

    def tree(self) -> NoReturn:
        """A function has no form in a file: this raises `NotSavableError`."""
        raise not_savable()


def not_savable() -> NotSavableError:
    """The error for an offset that has no form in a file."""
    return NotSavableError(
        "offset must be made of numbers to be saved; this one holds Python code, a function or a model, "
        "which no file does, and nothing was written. Use one of ocboost.offsets, such as "
        "LinearOffset.from_sklearn(fitted) or VotedOffset; or save the classifier without it, "
        "clf.save(path, without_offset=True), and give it again, OCBClassifier.load(path, offset=scorer)."
    )


def numbers(value: ArrayLike, name: str, dimensions: tuple[int, ...]) -> NDArray[np.float64]:
    """Check finite numbers of so many dimensions, and give them as float64."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    usable = array.dtype.kind in "iuf" and array.ndim in dimensions
    if not usable or not (np.abs(array) < LARGEST).all():
        raise InputError(
            f"{name} must be finite numbers, of {' or '.join(map(str, dimensions))} dimensions; got "
            f"{value!r:.80}."
        )
    return array.astype(np.float64)
