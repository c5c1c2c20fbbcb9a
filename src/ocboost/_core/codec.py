"""What a file holds of one thing: entries by name, each checked as it is taken.

A file is a tree of plain values and arrays (`ocboost._core.storage`). Whoever makes a thing of a part of it
takes
the entries that it knows; what does not fit, is missing or is left over is a `ModelFileError` that names the
file.

>>> tree = {"n": 2, "weights": np.array([0.5, 0.25])}
>>> read(tree, "a file", lambda fields: fields.array("weights", np.float64, (fields.count("n"),)).sum())
np.float64(0.75)
>>> read({**tree, "n": -1}, "a file", lambda fields: fields.count("n"))
Traceback (most recent call last):
ocboost.errors.ModelFileError: a file is not a valid model: n must be a whole number from 0 to 115...

Rows of features in a file: an array where they are dense, three where they are sparse.

The state of a generator of random numbers in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ocboost.errors import InputError, ModelFileError

Tree = dict[str, Any]
Made = TypeVar("Made")

MOST = (1 << 60) - 1  # that anything is counted to
# Units of 2²⁵⁶ that a scaled number may count, up or down: λ = 1e-300 takes 10¹¹ examples to get there.
MOST_UNITS = 1 << 40


def refusal(name: str, what: str) -> ModelFileError:
    """The error for a file whose contents cannot be a model's, however well its checksum fits."""
    return ModelFileError(f"{name} is not a valid model: {what}. It was not written by ocboost.")


def require(condition: bool, name: str, what: str) -> None:
    """Refuse a file unless this holds."""
    if not condition:
        raise refusal(name, what)


def is_plain(value: object) -> bool:
    """Whether it is a single value that a file can hold.

    >>> [is_plain(value) for value in (None, 1, "one", [1], np.float64(1))]
    [True, True, True, False, False]
    """
    return value is None or type(value) in (bool, int, float, str)


def read(tree: object, name: str, make: Callable[[Fields], Made]) -> Made:
    """What a function makes of the tree of the file ``name``; it must take every entry."""
    fields = Fields(tree, name)
    made = make(fields)
    fields._done()
    return made


class Fields:
    """The entries of one thing, to be taken.

    Parameters
    ----------
    tree : dict
        Anything else is refused.
    name : str
        The file's.
    path : str
        Where in the file this is, for errors.
    """

    def __init__(self, tree: object, name: str, path: str = "") -> None:
        if not isinstance(tree, dict):
            raise refusal(name, f"{path or 'what it holds'} must be entries with names")
        self.name = name
        self._path = path
        self._left = dict(tree)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def require(self, condition: bool | np.bool_, what: str) -> None:
        """Refuse the file unless this holds."""
        if not condition:
            raise refusal(self.name, f"{self._path}: {what}" if self._path else what)

    def _place(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def take(self, key: str) -> Any:
        """An entry, whatever it is."""
        if key not in self._left:
            raise refusal(self.name, f"{self._place(key)} is missing")
        return self._left.pop(key)

    def _not(self, what: str, key: str, value: object) -> ModelFileError:
        came = f"{value!r:.40}" if is_plain(value) else f"a {type(value).__name__}"
        return refusal(self.name, f"{self._place(key)} must be {what}; it is {came}")

    # Plain values -----------------------------------------------------------------------------------------

    def count(self, key: str, least: int = 0, most: int = MOST) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self.take(key)
        if type(value) is int and least <= value <= most:
            return value
        raise self._not(f"a whole number from {least} to {most}", key, value)

    def number(self, key: str, low: float, high: float) -> float:
        """A number of floating point, at least ``low`` and less than ``high``."""
        value = self.take(key)
        if type(value) is float and low <= value < high:
            return value
        raise self._not(f"a number from {low:g} to less than {high:g}", key, value)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.take(key)
        if type(value) is bool:
            return value
        raise self._not("true or false", key, value)

    def text(self, key: str, most: int = 1000) -> str:
        """A text of at most so many characters."""
        value = self.take(key)
        if type(value) is str and len(value) <= most:
            return value
        raise self._not(f"a text of at most {most} characters", key, value)

    def plain(self, key: str) -> Any:
        """A single value, of whatever kind: its taker checks it."""
        value = self.take(key)
        if is_plain(value):
            return value
        raise self._not("a single value", key, value)

    def rest(self) -> Tree:
        """All that is left, each a single value."""
        return {key: self.plain(key) for key in list(self._left)}

    def takes(self, key: str, value: str | None) -> bool:
        """Whether an entry is this value; it is taken then."""
        found = self._left.get(key, self)
        if not is_plain(found) or found != value:
            return False
        del self._left[key]
        return True

    # Arrays -----------------------------------------------------------------------------------------------

    def array(
        self, key: str, dtype: DTypeLike | None = None, shape: tuple[int | None, ...] | None = None
    ) -> NDArray[Any]:
        """An array of this type and shape; None in a shape is any number."""
        found = self.take(key)
        if (
            isinstance(found, np.ndarray)
            and (dtype is None or found.dtype == dtype)
            and (shape is None or _is_of(found, shape))
        ):
            return found
        raise refusal(self.name, f"the array {self._place(key)} has the wrong shape or type")

    def size(self, key: str) -> int:
        """The entries of an array that is still to be taken; -1 if there is none."""
        found = self._left.get(key)
        return found.size if isinstance(found, np.ndarray) else -1

    def fill(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy arrays of the file into a model's of the same names, shapes and types."""
        for key, like in arrays.items():
            like[...] = self.array(key, like.dtype, like.shape)

    # What is within -----------------------------------------------------------------------------------------

    def items(self, key: str, n: int | None = None, most: int = MOST) -> list[Any]:
        """A list, of n things or of at most so many."""
        value = self.take(key)
        if isinstance(value, list) and (len(value) <= most if n is None else len(value) == n):
            return value
        raise self._not(f"a list of at most {most}" if n is None else f"a list of {n}", key, value)

    def read(self, key: str, make: Callable[[Fields], Made]) -> Made:
        """What a function makes of the entries of an entry; it must take all of them."""
        return self._read(self.take(key), self._place(key), make)

    def read_all(self, key: str, make: Callable[[Fields], Made], n: int | None = None) -> list[Made]:
        """The same for each of a list."""
        return [self._read(one, f"{self._place(key)}[{i}]", make) for i, one in enumerate(self.items(key, n))]

    def read_any(self, key: str, make: Callable[[Fields], Made]) -> Made | None:
        """The same for an entry that may be None."""
        return None if self.takes(key, None) else self.read(key, make)

    def _read(self, tree: object, path: str, make: Callable[[Fields], Made]) -> Made:
        fields = Fields(tree, self.name, path)
        made = make(fields)
        fields._done()
        return made

    def _done(self) -> None:
        if self._left:
            self.require(
                False, f"it holds entries that are not known: {', '.join(map(repr, self._left)):.80}"
            )

    # Making -------------------------------------------------------------------------------------------------

    def make(self, make: Callable[..., Made], *args: Any, **named: Any) -> Made:
        """What a function makes of entries that it checks itself: its `InputError` is the file's fault."""
        try:
            return make(*args, **named)
        except InputError as error:
            raise ModelFileError(f"{self.name} is not a valid model: {error}") from None

    def require_normal(self, **numbers: tuple[NDArray[np.float64], NDArray[Any]]) -> None:
        """Refuse what is no normal scaled number (`ocboost._kernels.scaled`): NaN and infinity too."""
        for key, (value, unit) in numbers.items():
            most = min(MOST_UNITS, np.iinfo(unit.dtype).max // 2)
            inside = (value >= 2.0**-128) & (value < 2.0**128) & (unit > -most) & (unit < most)
            self.require((inside | (value == 0.0)).all(), f"{key} must be a normal scaled number")


def _is_of(array: NDArray[Any], shape: tuple[int | None, ...]) -> bool:
    sizes = zip(shape, array.shape, strict=False)
    return array.shape == shape or (array.ndim == len(shape) and all(n in (None, size) for n, size in sizes))


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


def generator_tree(rng: np.random.Generator) -> Tree:
    """What a file holds of NumPy's usual generator; its words of 128 bits in hexadecimal digits."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    return {
        **{key: f"{word:x}" for key, word in state["state"].items()},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


def generator_from(fields: Fields) -> np.random.Generator:
    """One that goes on as the one that was saved.

    >>> from ocboost._core.codec import read
    >>> rng = np.random.default_rng(0)
    >>> again = read(generator_tree(rng), "a file", generator_from)
    >>> bool(again.random() == rng.random())
    True
    """
    words = {key: _word(fields, key) for key in ("state", "inc")}
    fields.require(words["inc"] % 2 == 1, "the increment of its random numbers must be odd")
    bits: Any = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": words,
        "has_uint32": fields.count("has_uint32", 0, 1),
        "uinteger": fields.count("uinteger", 0, (1 << 32) - 1),
    }
    return np.random.Generator(bits)


def _word(fields: Fields, key: str) -> int:
    digits = fields.text(key, 32)
    fields.require(
        bool(digits) and set(digits) <= set("0123456789abcdef"), f"{key} must be hexadecimal digits"
    )
    return int(digits, 16)
