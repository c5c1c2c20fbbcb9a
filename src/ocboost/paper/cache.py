"""Keeps the results of long steps between runs: found again by what they were made from.

A step's key is a hash of its name, its version, the version of ocboost, its parameters and the contents of
its arrays, so that a changed input is another entry and nothing has to be declared stale. Entries are
the files of `ocboost._core.storage`: no pickle, a checksum, written beside their place and renamed. A
damaged one
counts as missing. A cache is a convenience: where nothing can be written the work is done without one,
and `Cache.note` says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

import ocboost
from ocboost._core import storage
from ocboost._core.codec import Fields, Tree, read, require
from ocboost.errors import InputError, ModelFileError

Arrays = dict[str, NDArray[Any]]
Result = tuple[dict[str, Any], Arrays]

_KIND = "CacheEntry"
_KEY = re.compile(r"[0-9a-f]{64}")
_ENTRY = re.compile(r"[0-9a-f]{64}\.ocb")
_HALF_WRITTEN = re.compile(r"\.[0-9a-f]{64}\.ocb\.[0-9a-f]+\.tmp")
_ABANDONED = 3600.0  # seconds after which nobody is still writing a file
_STORED = ("f8", "f4", "i8", "i4", "i1", "u8")
_BLOCK = 1 << 22


def default_folder() -> Path:
    """The user's folder for what can be made again; the environment variable OCBOOST_CACHE overrides it.

    Raises
    ------
    RuntimeError
        If the user has no home.
    """
    if chosen := os.environ.get("OCBOOST_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "ocboost" / "Cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "ocboost"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if os.path.isabs(shared) else _home() / ".cache") / "ocboost"


def _home() -> Path:
    if os.environ.get("HOME") == "":  # Path.home() would take the root of all files
        raise RuntimeError("HOME is empty")
    return Path.home()


class Entry(NamedTuple):
    """A result that is kept, with its key."""

    key: str
    parameters: dict[str, Any]
    arrays: Arrays

    def tree(self) -> Tree:
        """What a file holds."""
        return self._asdict()

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """An entry of what `tree` gave."""
        key, parameters, arrays = fields.text("key"), fields.take("parameters"), fields.take("arrays")
        fields.require(isinstance(parameters, dict), "it has no parameters")
        fits = isinstance(arrays, dict) and all(isinstance(array, np.ndarray) for array in arrays.values())
        fields.require(fits, "its arrays are not known")
        return cls(key, parameters, arrays)


class Cache:
    """Results of long steps, kept in a folder.

    Parameters
    ----------
    folder : path, optional
        Where to keep them; made where it does not exist. By default `default_folder`.

    Attributes
    ----------
    folder : Path or None
        None where nothing can be written: then every step is a miss and nothing is kept.
    note : str or None
        Why nothing is kept, a sentence to show once; None where all is well.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(folder)
    ...     for _ in range(2):
    ...         _, arrays = cache.fetch(
    ...             "squares", {"n": 3}, lambda: print("working") or ({}, {"squares": np.arange(3.0) ** 2})
    ...         )
    working
    >>> arrays["squares"]
    array([0., 1., 4.])
    """

    folder: Path | None
    note: str | None

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None
        self.note = None
        try:
            place = default_folder() if folder is None else Path(folder)
            place.mkdir(parents=True, exist_ok=True)
            probe = place / f".probe.{secrets.token_hex(4)}.tmp"
            try:
                probe.write_bytes(b"")
            finally:
                probe.unlink(missing_ok=True)
            self.folder = place
        except (OSError, RuntimeError) as error:
            self._say(error)

    def key(self, step: str, /, *, version: str = "1", **what: Any) -> str:
        """The name of an entry: differs where the step, a version, a parameter or an array's content does.

        Parameters
        ----------
        step : str
            The name of the step.
        version : str, default="1"
            The version of the step's code: change it whenever the same input would give another result.
        **what
            All that the result depends on: numbers, strings, None, arrays, and lists and dicts of them.
        """
        return _key(step, version, what)

    def get(self, key: str) -> Result | None:
        """The parameters and arrays of an entry, or None; a damaged entry is removed."""
        path = self._path(key)
        if path is None:
            return None
        try:
            entry = read(storage.load(path, _KIND), str(path), Entry.from_tree)
            require(entry.key == key, str(path), "it is the entry of another key")
        except ModelFileError:
            with suppress(OSError):
                path.unlink()
            return None
        except OSError:
            return None
        return entry.parameters, entry.arrays

    def put(self, key: str, parameters: dict[str, Any], arrays: Arrays) -> None:
        """Keep the result of a step, whole or not at all; where it cannot be written, `note` says so.

        Parameters
        ----------
        key : str
            From `key`.
        parameters : dict
            What JSON gives back as it was: no tuples, no NaN, no numpy scalars.
        arrays : dict of str to ndarray
            Of float64, float32, int64, int32, int8 or uint64. For margins see `pack_margins`.
        """
        path = self._path(key)
        _check_parameters(parameters)
        _check_arrays(arrays)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            storage.save(path, _KIND, Entry(key, parameters, arrays).tree())
        except OSError as error:
            if not path.is_file():  # another process may have put the same
                self._say(error)

    def fetch(
        self, step: str, what: Mapping[str, Any], make: Callable[[], Result], *, version: str = "1"
    ) -> Result:
        """The result of a step: kept from an earlier run, or made now and kept.

        The arrays come in C order and the machine's byte order either way, so that a result does not
        depend on whether it was kept.
        """
        key = _key(step, version, what)
        found = self.get(key)
        if found is not None:
            return found
        parameters, arrays = make()
        arrays = {
            name: np.asarray(a, dtype=a.dtype.newbyteorder("="), order="C") for name, a in arrays.items()
        }
        self.put(key, parameters, arrays)
        return parameters, arrays

    def size(self) -> int:
        """Bytes that the entries take, with what interrupted runs have left."""
        total = 0
        for path in self._files():
            with suppress(OSError):
                total += path.stat().st_size
        return total

    def clear(self) -> None:
        """Remove all entries; other files in the folder stay, and so does what is just being written."""
        for path in self._files():
            with suppress(OSError):
                if _ENTRY.fullmatch(path.name) or time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()

    def _path(self, key: str) -> Path | None:
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise InputError(f"key must be 64 hexadecimal digits; got {key!r:.80}. Make it with Cache.key.")
        return None if self.folder is None else self.folder / f"{key}.ocb"

    def _files(self) -> Iterator[Path]:
        if self.folder is None or not self.folder.is_dir():
            return
        for path in sorted(self.folder.iterdir()):
            if _ENTRY.fullmatch(path.name) or _HALF_WRITTEN.fullmatch(path.name):
                yield path

    def _say(self, error: Exception) -> None:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        self.note = self.note or (
            f"Nothing is kept for the next run, since the cache cannot be written ({reason}). "
            "Choose a folder with OCBOOST_CACHE."
        )


def pack_margins(margins: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Margins as bits, an eighth of their size: 64 hypotheses to a word, a row's last word filled with 0.

    Parameters
    ----------
    margins : ndarray of int8, shape (n, J)
        Only -1 and +1.

    Returns
    -------
    ndarray of uint64, shape (n, ceil(J / 64))
        Bit j % 64 of word j // 64 is set where the margin of hypothesis j is +1.

    Examples
    --------
    >>> pack_margins(np.array([[1, -1, 1], [-1, 1, -1]], np.int8))
    array([[5],
           [2]], dtype=uint64)
    """
    if margins.dtype != np.int8 or margins.ndim != 2 or not margins.shape[1]:
        raise InputError(
            "margins must be int8 of shape (n, J) with J at least 1; "
            f"got {margins.dtype} of shape {margins.shape}. Convert them with astype(np.int8)."
        )
    n, J = margins.shape
    words = np.empty((n, -(-J // 64)), np.uint64)
    step = max(1, _BLOCK // J)
    for start in range(0, n, step):
        block = margins[start : start + step]
        wrong = np.abs(block) != 1
        if wrong.any():
            i, j = (int(k) for k in np.argwhere(wrong)[0])
            raise InputError(
                f"margins must be -1 or +1; got {block[i, j]} at [{start + i}, {j}]. "
                "Replace it or leave its row out."
            )
        packed = np.zeros((len(block), 8 * words.shape[1]), np.uint8)
        packed[:, : -(-J // 8)] = np.packbits(block > 0, axis=1, bitorder="little")
        words[start : start + step] = packed.view("<u8")
    return words


def unpack_margins(words: NDArray[np.uint64], n_hypotheses: int) -> NDArray[np.int8]:
    """The margins that `pack_margins` has packed, or some of their rows.

    Parameters
    ----------
    words : ndarray of uint64, shape (n, ceil(n_hypotheses / 64))
        From `pack_margins`.
    n_hypotheses : int
        Columns of the margins.

    Returns
    -------
    ndarray of int8, shape (n, n_hypotheses)
    """
    width = -(-n_hypotheses // 64)
    if n_hypotheses < 1 or words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != width:
        raise InputError(
            f"words must be uint64 of shape (n, {width}) for {n_hypotheses} hypotheses, at least 1; "
            f"got {words.dtype} of shape {words.shape}. Give what pack_margins has returned."
        )
    used = n_hypotheses - 64 * (width - 1)
    if used < 64 and (words[:, -1] >> np.uint64(used)).any():
        raise InputError(
            f"words must have no bits set after hypothesis {n_hypotheses}; they have. "
            "Give the number of hypotheses that were packed."
        )
    margins = np.empty((len(words), n_hypotheses), np.int8)
    step = max(1, _BLOCK // n_hypotheses)
    for start in range(0, len(words), step):
        block = np.ascontiguousarray(words[start : start + step], "<u8").view(np.uint8)
        bits = np.unpackbits(block, axis=1, count=n_hypotheses, bitorder="little").view(np.int8)
        margins[start : start + step] = 2 * bits - 1
    return margins


def _key(step: str, version: str, what: Mapping[str, Any]) -> str:
    listed = ["entry 1", ocboost.__version__, step, version, _described(what, step)]
    return hashlib.sha256(json.dumps(listed, allow_nan=False).encode()).hexdigest()


def _described(value: Any, name: str) -> Any:
    """A value as JSON in which different ones never look the same: whatever is no scalar carries its kind."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return ["list", [_described(entry, f"{name}[{i}]") for i, entry in enumerate(value)]]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return ["dict", [[key, _described(value[key], f"{name}.{key}")] for key in sorted(value)]]
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        dtype = value.dtype.newbyteorder("<")
        if dtype.kind in "biufUS" and (dtype.kind in "US" or dtype.itemsize <= 8):
            flat = np.ascontiguousarray(value, dtype).reshape(-1)
            content = flat.view(np.uint8).data if flat.nbytes else b""
            return ["array", dtype.str, list(value.shape), hashlib.sha256(content).hexdigest()]
    raise InputError(
        f"{name} must be a finite number, a string, None, an array of numbers or strings, or a list or dict "
        f"of them; got {type(value).__name__} {value!r:.40}. Give what it is made from."
    )


def _check_parameters(parameters: dict[str, Any]) -> None:
    try:
        back = json.loads(json.dumps(parameters, allow_nan=False))
        same = isinstance(parameters, dict) and back == parameters
    except (TypeError, ValueError):
        same = False
    if not same:
        raise InputError(
            f"parameters must come back from JSON as they were; got {parameters!r:.80}. Use lists for "
            "tuples, strings for keys, Python's numbers for numpy's, and put arrays among the arrays."
        )


def _check_arrays(arrays: Arrays) -> None:
    for name, array in arrays.items():
        if f"{array.dtype.kind}{array.dtype.itemsize}" not in _STORED:
            raise InputError(
                f"arrays[{name!r}] must be float64, float32, int64, int32, int8 or uint64; "
                f"got {array.dtype}. Convert it to one of these."
            )
