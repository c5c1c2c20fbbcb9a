"""Reading what a file holds: each entry is checked as it is taken.

A file is a tree of plain values and arrays (`ocboost._core.file_format`). A class's ``from_tree(fields)``
takes the entries that it knows. An entry that does not fit, is missing or is left over is a `ModelFileError`
that names the file.

>>> tree = {"n": 2, "weights": np.array([0.5, 0.25])}
>>> read(tree, "a file", lambda fields: fields.array("weights", np.float64, (fields.count("n"),)).sum())
np.float64(0.75)
>>> read({**tree, "n": -1}, "a file", lambda fields: fields.count("n"))
Traceback (most recent call last):
ocboost.errors.ModelFileError: a file is not a valid model: n must be a whole number from 0 to 115...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ocboost.errors import InputError, ModelFileError

Tree = dict[str, Any]
Made = TypeVar("Made")

MAX_COUNT = (1 << 60) - 1  # the largest number of examples, rows or bytes in a file
# Units of 2²⁵⁶ that a scaled number may count, up or down: λ = 1e-300 takes 10¹¹ examples to get there.
MAX_SCALE_UNITS = 1 << 40


def refusal(name: str, what: str) -> ModelFileError:
    """The error for a file whose checksum fits and whose contents no model can have."""
    return ModelFileError(f"{name} is not a valid model: {what}. It was not written by ocboost.")


def require(condition: bool, name: str, what: str) -> None:
    """Refuse the file ``name`` unless this holds."""
    if not condition:
        raise refusal(name, what)


def is_plain(value: object) -> bool:
    """Whether it is a single value that a file can hold.

    >>> [is_plain(value) for value in (None, 1, "one", [1], np.float64(1))]
    [True, True, True, False, False]
    """
    return value is None or type(value) in (bool, int, float, str)


def read(tree: object, name: str, make: Callable[[Fields], Made], path: str = "") -> Made:
    """What ``make`` builds from a tree of the file ``name``; it must take every entry."""
    fields = Fields(tree, name, path)
    made = make(fields)
    left = ", ".join(map(repr, fields._remaining))
    fields.require(not left, f"it holds entries that are not known: {left:.80}")
    return made


class Fields:
    """The entries of one tree, to be taken one by one.

    ``name`` is the file's; ``path`` says where in the file the tree is, for errors.
    """

    def __init__(self, tree: object, name: str, path: str = "") -> None:
        if not isinstance(tree, dict):
            raise refusal(name, f"{path or 'what it holds'} must be entries with names")
        self.name = name
        self._path = path
        self._remaining = dict(tree)

    def __contains__(self, key: str) -> bool:
        return key in self._remaining

    def require(self, condition: bool | np.bool_, what: str) -> None:
        """Refuse the file unless this holds."""
        if not condition:
            raise refusal(self.name, f"{self._path}: {what}" if self._path else what)

    def _full_key(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def take(self, key: str) -> Any:
        """An entry, unchecked."""
        if key not in self._remaining:
            raise refusal(self.name, f"{self._full_key(key)} is missing")
        return self._remaining.pop(key)

    def _wrong(self, key: str, value: object, expected: str) -> ModelFileError:
        found = f"{value!r:.40}" if is_plain(value) else f"a {type(value).__name__}"
        return refusal(self.name, f"{self._full_key(key)} must be {expected}; it is {found}")

    # Plain values -----------------------------------------------------------------------------------------

    def count(self, key: str, least: int = 0, most: int = MAX_COUNT) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self.take(key)
        if type(value) is int and least <= value <= most:
            return value
        raise self._wrong(key, value, f"a whole number from {least} to {most}")

    def number(self, key: str, low: float, high: float) -> float:
        """A float of at least ``low`` and less than ``high``."""
        value = self.take(key)
        if type(value) is float and low <= value < high:
            return value
        raise self._wrong(key, value, f"a number from {low:g} to less than {high:g}")

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.take(key)
        if type(value) is bool:
            return value
        raise self._wrong(key, value, "true or false")

    def text(self, key: str, most: int = 1000) -> str:
        """A text of at most so many characters."""
        value = self.take(key)
        if type(value) is str and len(value) <= most:
            return value
        raise self._wrong(key, value, f"a text of at most {most} characters")

    def plain(self, key: str) -> Any:
        """A single value of any type; the caller checks it."""
        value = self.take(key)
        if is_plain(value):
            return value
        raise self._wrong(key, value, "a single value")

    def rest(self) -> Tree:
        """All that is left, each a single value."""
        return {key: self.plain(key) for key in list(self._remaining)}

    def takes(self, key: str, value: str | None) -> bool:
        """Whether an entry is this value; if so, it is taken."""
        found = self._remaining.get(key, self)
        if not is_plain(found) or found != value:
            return False
        del self._remaining[key]
        return True

    def shape(self, *path: str | int) -> tuple[int, ...] | None:
        """The shape of an array further inside, before anything is made of it; None if there is none."""
        found: Any = self._remaining
        for key in path:
            inside = dict(enumerate(found)) if isinstance(found, list) else found
            found = inside.get(key) if isinstance(inside, dict) else None
        return found.shape if isinstance(found, np.ndarray) else None

    # Arrays -----------------------------------------------------------------------------------------------

    def array(
        self, key: str, dtype: DTypeLike | None = None, shape: tuple[int | None, ...] | None = None
    ) -> NDArray[Any]:
        """An array of this type and shape; None in a shape stands for any length."""
        found = self.take(key)
        if (
            isinstance(found, np.ndarray)
            and (dtype is None or found.dtype == dtype)
            and (shape is None or _has_shape(found, shape))
        ):
            return found
        raise refusal(self.name, f"the array {self._full_key(key)} has the wrong shape or type")

    def size(self, key: str) -> int:
        """How many numbers an array holds that is not taken yet; -1 if there is no such array."""
        found = self._remaining.get(key)
        return found.size if isinstance(found, np.ndarray) else -1

    def fill(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy arrays of the file into a model's of the same names, shapes and types."""
        for key, target in arrays.items():
            target[...] = self.array(key, target.dtype, target.shape)

    # Trees within this one ----------------------------------------------------------------------------------

    def items(self, key: str, n: int | None = None, most: int = MAX_COUNT) -> list[Any]:
        """A list, of exactly n or of at most so many."""
        value = self.take(key)
        if isinstance(value, list) and (len(value) <= most if n is None else len(value) == n):
            return value
        raise self._wrong(key, value, f"a list of at most {most}" if n is None else f"a list of {n}")

    def read(self, key: str, make: Callable[[Fields], Made]) -> Made:
        """What ``make`` builds from the tree at an entry; it must take all of it."""
        return read(self.take(key), self.name, make, self._full_key(key))

    def read_each(self, make: Callable[[Fields], Made]) -> dict[str, Made]:
        """The same for every entry that is left."""
        return {key: self.read(key, make) for key in list(self._remaining)}

    def read_all(self, key: str, make: Callable[[Fields], Made], n: int | None = None) -> list[Made]:
        """The same for each tree of a list."""
        path = self._full_key(key)
        return [read(one, self.name, make, f"{path}[{i}]") for i, one in enumerate(self.items(key, n))]

    def read_optional(self, key: str, make: Callable[[Fields], Made]) -> Made | None:
        """The same for an entry that may be None."""
        return None if self.takes(key, None) else self.read(key, make)

    # Checks that a class does itself ------------------------------------------------------------------------

    def make(self, make: Callable[..., Made], *args: Any, **named: Any) -> Made:
        """Call a function that checks its arguments: its `InputError` is the file's fault."""
        try:
            return make(*args, **named)
        except InputError as error:
            raise ModelFileError(f"{self.name} is not a valid model: {error}") from None

    def require_normal(self, **numbers: tuple[NDArray[np.float64], NDArray[Any]]) -> None:
        """Refuse what is no normal scaled number (`ocboost._kernels.scaled`), NaN and infinity included."""
        for key, (value, unit) in numbers.items():
            most = min(MAX_SCALE_UNITS, np.iinfo(unit.dtype).max // 2)
            inside = (value >= 2.0**-128) & (value < 2.0**128) & (unit > -most) & (unit < most)
            self.require((inside | (value == 0.0)).all(), f"{key} must be a normal scaled number")


def _has_shape(array: NDArray[Any], shape: tuple[int | None, ...]) -> bool:
    if array.ndim != len(shape):
        return False
    return all(n in (None, size) for n, size in zip(shape, array.shape, strict=True))


# Matrices and random generators -----------------------------------------------------------------------------


def matrix_tree(X: Any) -> Any:
    """A dense or a CSR matrix as a file holds it: one array, or three.

    >>> from scipy.sparse import csr_matrix
    >>> sorted(matrix_tree(csr_matrix([[0.0, 1.0]])))
    ['data', 'indices', 'indptr']
    """
    if isinstance(X, np.ndarray):
        return X
    return {"data": X.data, "indices": X.indices.astype(np.int64), "indptr": X.indptr.astype(np.int64)}


def matrix_from(fields: Fields, key: str, n: int, n_features: int) -> Any:
    """The matrix of n rows that `matrix_tree` described; NaN stands for a missing value."""
    if fields.size(key) >= 0:
        X = fields.array(key, shape=(n, n_features))
        _require_numbers(fields, key, X)
        return X
    data, indices, indptr = fields.read(
        key,
        lambda parts: (
            parts.array("data", shape=(None,)),
            parts.array("indices", np.int64, (None,)),
            parts.array("indptr", np.int64, (None,)),
        ),
    )
    _require_numbers(fields, key, data)
    fits = indptr.shape == (n + 1,) and data.shape == indices.shape
    fits = fits and indptr[0] == 0 and indptr[-1] == data.size and bool((np.diff(indptr) >= 0).all())
    inside = fits and bool(((indices >= 0) & (indices < n_features)).all())
    fields.require(inside, f"the rows of {key} do not fit")
    from scipy.sparse import csr_matrix

    return csr_matrix((data, indices, indptr), shape=(n, n_features))


def _require_numbers(fields: Fields, key: str, values: NDArray[Any]) -> None:
    usable = values.dtype in (np.float32, np.float64) and not np.isinf(values).any()
    fields.require(usable, f"{key} must be finite numbers")


def generator_tree(rng: np.random.Generator) -> Tree:
    """The state of NumPy's default generator; its words of 128 bits as hexadecimal digits."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    return {
        **{key: f"{word:x}" for key, word in state["state"].items()},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


def generator_from(fields: Fields) -> np.random.Generator:
    """A generator that continues where the saved one was.

    >>> rng = np.random.default_rng(0)
    >>> again = read(generator_tree(rng), "a file", generator_from)
    >>> bool(again.random() == rng.random())
    True
    """
    words = {}
    for key in ("state", "inc"):
        digits = fields.text(key, 32)
        is_hexadecimal = bool(digits) and set(digits) <= set("0123456789abcdef")
        fields.require(is_hexadecimal, f"{key} must be hexadecimal digits")
        words[key] = int(digits, 16)
    fields.require(words["inc"] % 2 == 1, "the increment of its random numbers must be odd")
    bits: Any = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": words,
        "has_uint32": fields.count("has_uint32", 0, 1),
        "uinteger": fields.count("uinteger", 0, (1 << 32) - 1),
    }
    return np.random.Generator(bits)
